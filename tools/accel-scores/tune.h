/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of the tools that are tuned on some groups and measured on others: the grid, and its driver (tune.c). */
#ifndef ACCEL_SCORES_TUNE_H
#define ACCEL_SCORES_TUNE_H

#include "tools/accel-scores/internal.h"

struct weights {
    double alpha, m;
};

enum { GRID_COUNTS = 7, GRID_RATIOS = 40 };

/** Grid points that can differ, and the sums that they consist of. Zeroed before grid_make; grid_free in any case. */
struct grid {
    uint64_t points; /* of the documents' lists */
    uint32_t top_n[GRID_COUNTS], top_k[GRID_COUNTS];
    struct weights ratios[GRID_RATIOS];
    uint32_t top_n_count, top_k_count, ratio_count;
    struct scores_sum external[GRID_COUNTS], parametric[GRID_COUNTS];
};

int32_t grid_make(const struct accel_scores *scores, struct grid *grid, struct accel_error *error);
void grid_free(struct grid *grid);
/* Finds the point with the largest AUC over the groups of `fit`; of equal ones the first. `pairs` [groups] is
 * scratch memory. */
void grid_search(const struct accel_scores *scores, const struct scores_part *fit, const struct scores_choice *choice,
                 struct grid *grid, struct scores_pair *pairs, struct accel_scores_formula *out_best);

#endif
