/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the grid of formulas: finds the points that can differ, and the best of them on some groups. */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/accel-scores/internal.h"
#include "tools/accel-scores/tune.h"

enum { POINTS_MOST = 100000 };

static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7};
static const double alphas[] = {0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6};
static const double ms[] = {0.5, 0.75, 1.0, 1.25, 1.5};

static const struct accel_scores_grid documents_grid = {.top_n_count = 7,
                                                        .top_k_count = 7,
                                                        .alpha_count = 8,
                                                        .m_count = 5,
                                                        .top_n = counts,
                                                        .top_k = counts,
                                                        .alpha = alphas,
                                                        .m = ms};

static int32_t take(const struct accel_scores_grid *given, struct accel_scores_grid *out_grid,
                    struct accel_error *error)
{
    uint64_t points = 1;

    *out_grid = documents_grid;
    if (given == NULL)
        return ACCEL_OK;
    *out_grid = *given;
    if (out_grid->top_n == NULL) {
        out_grid->top_n = counts;
        out_grid->top_n_count = documents_grid.top_n_count;
    }
    if (out_grid->top_k == NULL) {
        out_grid->top_k = counts;
        out_grid->top_k_count = documents_grid.top_k_count;
    }
    if (out_grid->alpha == NULL) {
        out_grid->alpha = alphas;
        out_grid->alpha_count = documents_grid.alpha_count;
    }
    if (out_grid->m == NULL) {
        out_grid->m = ms;
        out_grid->m_count = documents_grid.m_count;
    }
    const uint32_t lengths[] = {out_grid->top_n_count, out_grid->top_k_count, out_grid->alpha_count, out_grid->m_count};
    for (int i = 0; i < 4; i++) {
        if (lengths[i] == 0)
            return accel_error_set(error, ACCEL_E_INVALID, "a list of the grid is empty");
        if (lengths[i] > POINTS_MOST || (points *= lengths[i]) > POINTS_MOST)
            return accel_error_set(error, ACCEL_E_LIMIT, "the grid has more than %d points", POINTS_MOST);
    }
    return ACCEL_OK;
}

/* Collects the distinct values after a limit of `most`, in the order of the list. */
static uint32_t distinct_counts(const uint32_t *list, uint32_t count, uint32_t most, uint32_t *out)
{
    uint32_t taken = 0, seen;

    for (uint32_t i = 0; i < count; i++) {
        for (seen = 0; seen < taken; seen++)
            if (scores_least(out[seen], most) == scores_least(list[i], most))
                break;
        if (seen == taken)
            out[taken++] = list[i];
    }
    return taken;
}

/* Returns whether two grid points rank rows alike: the order of scores depends on alpha / m alone. */
static bool same_ratio(const struct weights *a, double alpha, double m)
{
    double one = a->alpha * m, other = alpha * a->m;

    return fabs(one - other) <= 1e-12 * (fabs(one) + fabs(other));
}

static int32_t make_ratios(const struct accel_scores_grid *given, struct grid *grid, struct accel_error *error)
{
    for (uint32_t i = 0; i < given->alpha_count; i++)
        for (uint32_t j = 0; j < given->m_count; j++) {
            const struct accel_scores_formula given_point = {.alpha = given->alpha[i], .m = given->m[j]};
            struct accel_scores_formula formula;
            uint32_t seen = 0;
            int32_t code = scores_formula_take(&given_point, &formula, error);

            if (code != ACCEL_OK)
                return code;
            while (seen < grid->ratio_count && !same_ratio(&grid->ratios[seen], formula.alpha, formula.m))
                seen++;
            if (seen == grid->ratio_count)
                grid->ratios[grid->ratio_count++] = (struct weights){formula.alpha, formula.m};
        }
    return ACCEL_OK;
}

static int32_t make_sums(const struct accel_scores *scores, uint32_t count, struct scores_sum **out_sums,
                         struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    *out_sums = calloc(count, sizeof(**out_sums));
    if (*out_sums == NULL)
        return accel_error_no_memory(error, "for the grid");
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        code = scores_sum_make(scores, &(*out_sums)[i], error);
    return code;
}

int32_t grid_make(const struct accel_scores *scores, const struct accel_scores_grid *given, struct grid *grid,
                  struct accel_error *error)
{
    struct accel_scores_grid wanted;
    int32_t code = take(given, &wanted, error);

    if (code != ACCEL_OK)
        return code;
    grid->points = (uint64_t)wanted.top_n_count * wanted.top_k_count * wanted.alpha_count * wanted.m_count;
    grid->top_n = calloc(wanted.top_n_count, sizeof(*grid->top_n));
    grid->top_k = calloc(wanted.top_k_count, sizeof(*grid->top_k));
    grid->ratios = calloc((size_t)wanted.alpha_count * wanted.m_count, sizeof(*grid->ratios));
    if (grid->top_n == NULL || grid->top_k == NULL || grid->ratios == NULL)
        return accel_error_no_memory(error, "for the grid");
    grid->top_n_count = distinct_counts(wanted.top_n, wanted.top_n_count, scores->facts.external, grid->top_n);
    grid->top_k_count = distinct_counts(wanted.top_k, wanted.top_k_count, scores->facts.parametric, grid->top_k);
    code = make_ratios(&wanted, grid, error);
    if (code == ACCEL_OK)
        code = make_sums(scores, grid->top_n_count, &grid->external, error);
    if (code == ACCEL_OK)
        code = make_sums(scores, grid->top_k_count, &grid->parametric, error);
    return code;
}

void grid_free(struct grid *grid)
{
    for (uint32_t i = 0; grid->external != NULL && i < grid->top_n_count; i++)
        scores_sum_free(&grid->external[i]);
    for (uint32_t i = 0; grid->parametric != NULL && i < grid->top_k_count; i++)
        scores_sum_free(&grid->parametric[i]);
    free(grid->external);
    free(grid->parametric);
    free(grid->top_n);
    free(grid->top_k);
    free(grid->ratios);
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
