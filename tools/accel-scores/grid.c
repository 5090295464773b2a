/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the grid of formulas: finds the points that can differ, and the best of them on some groups. */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "tools/accel-scores/internal.h"
#include "tools/accel-scores/tune.h"

static const double alphas[] = {0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6};
static const double ms[] = {0.5, 0.75, 1.0, 1.25, 1.5};

enum { ALPHAS = sizeof(alphas) / sizeof(*alphas), MS = sizeof(ms) / sizeof(*ms) };
_Static_assert(ALPHAS *MS == GRID_RATIOS, "a ratio for each pair");

/* Collects the counts from 1 to GRID_COUNTS that differ after a limit of `most`. */
static uint32_t distinct_counts(uint32_t most, uint32_t out[GRID_COUNTS])
{
    uint32_t taken = 0;

    for (uint32_t count = 1; count <= GRID_COUNTS; count++)
        if (taken == 0 || scores_least(out[taken - 1], most) != scores_least(count, most))
            out[taken++] = count;
    return taken;
}

/* Returns whether two grid points rank rows alike: the order of scores depends on alpha / m alone. */
static bool same_ratio(const struct weights *a, double alpha, double m)
{
    double one = a->alpha * m, other = alpha * a->m;

    return fabs(one - other) <= 1e-12 * (fabs(one) + fabs(other));
}

static void make_ratios(struct grid *grid)
{
    for (uint32_t i = 0; i < GRID_RATIOS; i++) {
        const struct weights point = {alphas[i / MS], ms[i % MS]};
        uint32_t seen = 0;

        while (seen < grid->ratio_count && !same_ratio(&grid->ratios[seen], point.alpha, point.m))
            seen++;
        if (seen == grid->ratio_count)
            grid->ratios[grid->ratio_count++] = point;
    }
}

int32_t grid_make(const struct accel_scores *scores, struct grid *grid, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    grid->points = (uint64_t)GRID_COUNTS * GRID_COUNTS * GRID_RATIOS;
    grid->top_n_count = distinct_counts(scores->facts.external, grid->top_n);
    grid->top_k_count = distinct_counts(scores->facts.parametric, grid->top_k);
    make_ratios(grid);
    for (uint32_t i = 0; i < grid->top_n_count && code == ACCEL_OK; i++)
        code = scores_sum_make(scores, &grid->external[i], error);
    for (uint32_t i = 0; i < grid->top_k_count && code == ACCEL_OK; i++)
        code = scores_sum_make(scores, &grid->parametric[i], error);
    return code;
}

void grid_free(struct grid *grid)
{
    for (uint32_t i = 0; i < GRID_COUNTS; i++) {
        scores_sum_free(&grid->external[i]);
        scores_sum_free(&grid->parametric[i]);
    }
}

/* Returns the AUC over the groups of a part. */
static double auc_of(const struct accel_scores *scores, const struct scores_part *part,
                     const struct scores_sum *external, const struct scores_sum *parametric,
                     const struct weights *weights, struct scores_pair *pairs)
{
    uint64_t taken = 0;

    for (uint32_t i = 0; i < scores->facts.groups; i++)
        if (scores_in(part, i))
            pairs[taken++] = (struct scores_pair){
                weights->m * parametric->groups[i] - weights->alpha * external->groups[i], scores->group_labels[i]};
    scores_sort(pairs, taken);
    return scores_auc_sorted(pairs, taken);
}

void grid_search(const struct accel_scores *scores, const struct scores_part *fit, const struct scores_choice *choice,
                 struct grid *grid, struct scores_pair *pairs, struct accel_scores_formula *out_best)
{
    double most = -1;

    for (uint32_t n = 0; n < grid->top_n_count; n++)
        scores_sum_fill(scores, fit, choice->external, scores_least(grid->top_n[n], scores->facts.external),
                        &grid->external[n]);
    for (uint32_t k = 0; k < grid->top_k_count; k++)
        scores_sum_fill(scores, fit, choice->parametric, scores_least(grid->top_k[k], scores->facts.parametric),
                        &grid->parametric[k]);
    for (uint32_t n = 0; n < grid->top_n_count; n++)
        for (uint32_t k = 0; k < grid->top_k_count; k++)
            for (uint32_t r = 0; r < grid->ratio_count; r++) {
                double auc = auc_of(scores, fit, &grid->external[n], &grid->parametric[k], &grid->ratios[r], pairs);

                if (auc <= most)
                    continue;
                most = auc;
                *out_best = (struct accel_scores_formula){.top_n = grid->top_n[n],
                                                          .top_k = grid->top_k[k],
                                                          .alpha = grid->ratios[r].alpha,
                                                          .m = grid->ratios[r].m};
            }
}
