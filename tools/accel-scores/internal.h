/* SPDX-License-Identifier: Apache-2.0 */
/* Internal interface of the files of this folder: the table of scores (csv.c), its measures, the formula and its
 * tuning. */
#ifndef ACCEL_SCORES_INTERNAL_H
#define ACCEL_SCORES_INTERNAL_H

#include <stdbool.h>

#include "tools/accel-scores/scores.h"

enum { SCORES_BINS = 10 };

/* Fills in AUC and information of all columns. */
int32_t scores_describe(struct accel_scores *scores, struct accel_error *error);

/* The values of a column [rows]. */
static inline const double *scores_values(const struct accel_scores *scores, uint32_t column)
{
    return scores->values + (uint64_t)column * scores->facts.rows;
}

/* ---- measures over an order ---- */

/* A score with its label, to be sorted. */
struct scores_pair {
    double score;
    uint8_t label;
};

/* Sorts by score, ascending. */
void scores_sort(struct scores_pair *pairs, uint64_t count);
/* AUC of sorted pairs; -1 where one label is missing. */
double scores_auc_sorted(const struct scores_pair *pairs, uint64_t count);
/* The largest F1 of sorted pairs. */
void scores_sweep_sorted(const struct scores_pair *pairs, uint64_t count, struct accel_scores_threshold *out_best);

/* Mutual information of sorted pairs and their labels, in nats. */
double scores_information_sorted(const struct scores_pair *pairs, uint64_t count, uint32_t bins);

/* ---- formula on some of the groups ---- */

/** Part of the groups: those of the fold `held`, or all others. */
struct scores_part {
    const uint32_t *fold; /* [groups], or NULL: all groups */
    uint32_t held;
    uint32_t inside; /* 1: the fold itself */
};

static inline bool scores_in(const struct scores_part *part, uint32_t group)
{
    return part->fold == NULL || (part->fold[group] == part->held) == (part->inside != 0);
}

/** Columns of a table, chosen and in order. */
struct scores_choice {
    uint32_t *external; /* [external] of the table, the best first */
    uint32_t *parametric;
};

/** Scores of all rows, and of all groups as the means of their rows. */
struct scores_sum {
    double *rows;   /* [rows] */
    double *groups; /* [groups] */
};

int32_t scores_sum_make(const struct accel_scores *scores, struct scores_sum *out_sum, struct accel_error *error);
void scores_sum_free(struct scores_sum *sum);
/* Adds up `count` columns, and maps the sum by the range that it has in the rows of `part`. */
void scores_sum_fill(const struct accel_scores *scores, const struct scores_part *part, const uint32_t *columns,
                     uint32_t count, struct scores_sum *sum);

int32_t scores_choice_make(const struct accel_scores *scores, struct scores_choice *out_choice,
                           struct accel_error *error);
void scores_choice_free(struct scores_choice *choice);
/* Ranks the columns by AUC over the rows of `part`, or by information where `bins` is not 0. */
int32_t scores_choice_rank(const struct accel_scores *scores, const struct scores_part *part, uint32_t bins,
                           struct scores_choice *choice, struct accel_error *error);

/* Fills the groups from the rows. */
void scores_sum_average(const struct accel_scores *scores, struct scores_sum *sum);
/* Maps [rows] or [groups] to [0, 1] by their range in the part; maps all to 0 if that range is empty. */
void scores_map(const struct accel_scores *scores, const struct scores_part *part, uint32_t by_row, double *values);

/* Collects and sorts the pairs of `values` ([groups], or [rows] if `by_row`) in the part; answers their number. */
uint64_t scores_collect(const struct accel_scores *scores, const struct scores_part *part, const double *values,
                        uint32_t by_row, struct scores_pair *pairs);

/* Checks a formula of a caller, and copies it. */
int32_t scores_formula_take(const struct accel_scores_formula *given, struct accel_scores_formula *out_formula,
                            struct accel_error *error);
/* Computes the scores of a formula with the first columns of a choice, fitted to a part. */
int32_t scores_formula_fit(const struct accel_scores *scores, const struct scores_part *part,
                           const struct accel_scores_formula *formula, const struct scores_choice *choice,
                           struct scores_sum *out, struct accel_error *error);
/* AUC of a formula, fitted to all rows. */
int32_t scores_quality_of(const struct accel_scores *scores, const struct accel_scores_formula *formula,
                          struct accel_scores_quality *out_quality, struct accel_error *error);
uint32_t scores_least(uint32_t a, uint32_t b);

#endif
