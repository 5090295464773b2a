/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the formula m * P - alpha * E: chooses columns, sums them, and maps the sums to [0, 1] by the rows of
 * a fit. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tools/accel-scores/internal.h"

static int32_t no_memory(const struct accel_scores *scores, struct accel_error *error)
{
    return accel_error_no_memory(error, "for the scores of %llu rows", (unsigned long long)scores->facts.rows);
}

/* ---- sums ---- */

int32_t scores_sum_make(const struct accel_scores *scores, struct scores_sum *out_sum, struct accel_error *error)
{
    out_sum->rows = calloc((size_t)scores->facts.rows, sizeof(*out_sum->rows));
    out_sum->groups = calloc((size_t)scores->facts.groups, sizeof(*out_sum->groups));
    return out_sum->rows == NULL || out_sum->groups == NULL ? no_memory(scores, error) : ACCEL_OK;
}

void scores_sum_free(struct scores_sum *sum)
{
    free(sum->rows);
    free(sum->groups);
    *sum = (struct scores_sum){0};
}

void scores_map(const struct accel_scores *scores, const struct scores_part *part, uint32_t by_row, double *values)
{
    uint64_t count = by_row ? scores->facts.rows : scores->facts.groups;
    double least = INFINITY, most = -INFINITY;

    for (uint64_t i = 0; i < count; i++) {
        if (!scores_in(part, by_row ? scores->groups[i] : (uint32_t)i))
            continue;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    for (uint64_t i = 0; i < count; i++)
        values[i] = most > least ? (values[i] - least) / (most - least) : 0;
}

void scores_sum_average(const struct accel_scores *scores, struct scores_sum *sum)
{
    for (uint64_t i = 0; i < scores->facts.groups; i++)
        sum->groups[i] = 0;
    for (uint64_t row = 0; row < scores->facts.rows; row++)
        sum->groups[scores->groups[row]] += sum->rows[row];
    for (uint64_t i = 0; i < scores->facts.groups; i++)
        sum->groups[i] /= (double)scores->group_rows[i];
}

void scores_sum_fill(const struct accel_scores *scores, const struct scores_part *part, const uint32_t *columns,
                     uint32_t count, struct scores_sum *sum)
{
    for (uint64_t row = 0; row < scores->facts.rows; row++)
        sum->rows[row] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double *values = scores_values(scores, columns[i]);

        for (uint64_t row = 0; row < scores->facts.rows; row++)
            sum->rows[row] += values[row];
    }
    scores_map(scores, part, 1, sum->rows);
    scores_sum_average(scores, sum);
}

/* Makes m * parametric - alpha * external of two sums. */
static void scores_sum_join(const struct accel_scores *scores, const struct scores_sum *external,
                            const struct scores_sum *parametric, double alpha, double m, struct scores_sum *out)
{
    for (uint64_t i = 0; i < scores->facts.rows; i++)
        out->rows[i] = m * parametric->rows[i] - alpha * external->rows[i];
    for (uint64_t i = 0; i < scores->facts.groups; i++)
        out->groups[i] = m * parametric->groups[i] - alpha * external->groups[i];
}

uint64_t scores_collect(const struct accel_scores *scores, const struct scores_part *part, const double *values,
                        uint32_t by_row, struct scores_pair *pairs)
{
    uint64_t count = by_row ? scores->facts.rows : scores->facts.groups, taken = 0;
    const uint8_t *labels = by_row ? scores->labels : scores->group_labels;

    for (uint64_t i = 0; i < count; i++)
        if (scores_in(part, by_row ? scores->groups[i] : (uint32_t)i))
            pairs[taken++] = (struct scores_pair){values[i], labels[i]};
    scores_sort(pairs, taken);
    return taken;
}

/* ---- choice of columns ---- */

int32_t scores_choice_make(const struct accel_scores *scores, struct scores_choice *out_choice,
                           struct accel_error *error)
{
    out_choice->external = calloc((size_t)scores->facts.external + 1, sizeof(*out_choice->external));
    out_choice->parametric = calloc((size_t)scores->facts.parametric + 1, sizeof(*out_choice->parametric));
    return out_choice->external == NULL || out_choice->parametric == NULL ? no_memory(scores, error) : ACCEL_OK;
}

void scores_choice_free(struct scores_choice *choice)
{
    free(choice->external);
    free(choice->parametric);
    *choice = (struct scores_choice){0};
}

struct ranked {
    double merit;
    uint32_t column;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;

    if (one->merit != other->merit)
        return one->merit > other->merit ? -1 : 1;
    return one->column < other->column ? -1 : one->column > other->column;
}

/* Returns the merit of a column: its AUC in the direction of the formula, or its mutual information. */
static double merit_of(const struct accel_scores *scores, const struct scores_part *part, uint32_t column,
                       uint32_t bins, struct scores_pair *pairs)
{
    uint64_t count = scores_collect(scores, part, scores_values(scores, column), 1, pairs);
    double auc;

    if (bins != 0)
        return scores_information_sorted(pairs, count, bins);
    auc = scores_auc_sorted(pairs, count);
    return column < scores->facts.external ? 1 - auc : auc;
}

int32_t scores_choice_rank(const struct accel_scores *scores, const struct scores_part *part, uint32_t bins,
                           struct scores_choice *choice, struct accel_error *error)
{
    uint32_t external = scores->facts.external, count = external + scores->facts.parametric;
    struct scores_pair *pairs = calloc((size_t)scores->facts.rows, sizeof(*pairs));
    struct ranked *list = calloc(count, sizeof(*list));
    int32_t code = pairs == NULL || list == NULL ? no_memory(scores, error) : ACCEL_OK;

    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        list[i] = (struct ranked){merit_of(scores, part, i, bins, pairs), i};
    if (code == ACCEL_OK) {
        qsort(list, external, sizeof(*list), compare_ranked);
        qsort(list + external, count - external, sizeof(*list), compare_ranked);
        for (uint32_t i = 0; i < count; i++)
            *(i < external ? &choice->external[i] : &choice->parametric[i - external]) = list[i].column;
    }
    free(pairs);
    free(list);
    return code;
}

int32_t scores_describe(struct accel_scores *scores, struct accel_error *error)
{
    struct scores_pair *pairs = calloc((size_t)scores->facts.rows, sizeof(*pairs));
    const struct scores_part all = {0};

    scores->group_rows = calloc((size_t)scores->facts.groups, sizeof(*scores->group_rows));
    if (pairs == NULL || scores->group_rows == NULL) {
        free(pairs);
        return no_memory(scores, error);
    }
    for (uint64_t row = 0; row < scores->facts.rows; row++)
        scores->group_rows[scores->groups[row]]++;
    for (uint32_t i = 0; i < scores->facts.external + scores->facts.parametric; i++) {
        scores->columns[i].auc = merit_of(scores, &all, i, 0, pairs);
        scores->columns[i].information = merit_of(scores, &all, i, SCORES_BINS, pairs);
    }
    free(pairs);
    return ACCEL_OK;
}

/* ---- the formula ---- */

int32_t scores_formula_take(const struct accel_scores_formula *given, struct accel_scores_formula *out_formula,
                            struct accel_error *error)
{
    *out_formula = *given;
    if (!(given->alpha >= 0 && given->m >= 0 && isfinite(given->alpha) && isfinite(given->m) &&
          given->alpha + given->m > 0))
        return accel_error_set(error, ACCEL_E_INVALID, "alpha %g and m %g: neither may be negative, nor both be zero",
                               given->alpha, given->m);
    return ACCEL_OK;
}

uint32_t scores_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

int32_t scores_formula_fit(const struct accel_scores *scores, const struct scores_part *part,
                           const struct accel_scores_formula *formula, const struct scores_choice *choice,
                           struct scores_sum *out, struct accel_error *error)
{
    struct scores_sum external = {0}, parametric = {0};
    int32_t code = scores_sum_make(scores, &external, error);

    if (code == ACCEL_OK)
        code = scores_sum_make(scores, &parametric, error);
    if (code == ACCEL_OK) {
        scores_sum_fill(scores, part, choice->external, scores_least(formula->top_n, scores->facts.external),
                        &external);
        scores_sum_fill(scores, part, choice->parametric, scores_least(formula->top_k, scores->facts.parametric),
                        &parametric);
        scores_sum_join(scores, &external, &parametric, formula->alpha, formula->m, out);
    }
    scores_sum_free(&external);
    scores_sum_free(&parametric);
    return code;
}

int32_t scores_quality_of(const struct accel_scores *scores, const struct accel_scores_formula *formula,
                          struct accel_scores_quality *out_quality, struct accel_error *error)
{
    const struct scores_part all = {0};
    struct scores_pair *pairs = calloc((size_t)scores->facts.rows, sizeof(*pairs));
    struct scores_choice choice = {0};
    struct scores_sum sum = {0};
    int32_t code = pairs == NULL ? no_memory(scores, error) : scores_choice_make(scores, &choice, error);

    if (code == ACCEL_OK)
        code = scores_sum_make(scores, &sum, error);
    if (code == ACCEL_OK)
        code = scores_choice_rank(scores, &all, 0, &choice, error);
    if (code == ACCEL_OK)
        code = scores_formula_fit(scores, &all, formula, &choice, &sum, error);
    if (code == ACCEL_OK) {
        *out_quality = (struct accel_scores_quality){};
        out_quality->row_auc = scores_auc_sorted(pairs, scores_collect(scores, &all, sum.rows, 1, pairs));
        out_quality->group_auc = scores_auc_sorted(pairs, scores_collect(scores, &all, sum.groups, 0, pairs));
    }
    scores_sum_free(&sum);
    scores_choice_free(&choice);
    free(pairs);
    return code;
}
