/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of the tools that are tuned on some groups and measured on others: the grid, and its driver (tune.c). */
#ifndef ACCEL_SCORES_TUNE_H
#define ACCEL_SCORES_TUNE_H

#include "tools/accel-scores/internal.h"

struct weights {
    double alpha, m;
};

/** Grid points that can differ, and the sums that they consist of. Zeroed before grid_make; grid_free in any case. */
struct grid {
    uint64_t points;        /* as they were given */
    uint32_t *top_n;        /* [top_n_count] */
    uint32_t *top_k;        /* [top_k_count] */
    struct weights *ratios; /* [ratio_count] */
    uint32_t top_n_count, top_k_count, ratio_count;
    struct scores_sum *external;   /* [top_n_count] */
    struct scores_sum *parametric; /* [top_k_count] */
};

int32_t grid_make(const struct accel_scores *scores, const struct accel_scores_grid *given, struct grid *grid,
                  struct accel_error *error);
void grid_free(struct grid *grid);
/* Finds the point with the largest AUC over the groups of `fit`; of equal ones the first. `pairs` [groups] is
 * scratch memory. */
void grid_search(const struct accel_scores *scores, const struct scores_part *fit, const struct scores_choice *choice,
                 struct grid *grid, struct scores_pair *pairs, struct accel_scores_formula *out_best);

#endif
