/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the extreme value of a setting that fits, by planning again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/plan/internal.h"
#include "model/session/context.h"

/* Largest value of the setting context (accel/keys.def). */
enum { CONTEXT_MOST = 16777216 };

/* Result for one value, `at` steps from the end that needs least memory. */
struct point {
    uint64_t at;
    uint64_t needed;
    uint64_t budget;
    uint64_t short_by;
    uint32_t runs; /* of layers on one device: plans over other devices have other budgets */
    bool fits;
    bool is_over; /* a single buffer exceeds the device's limit: the sum is unknown */
};

/* Returns the value that is `at` steps from the end that needs least memory. */
static uint64_t value_at(const struct accel_model_plan_range *range, uint64_t at)
{
    return range->smallest ? range->high - at : range->low + at;
}

/* Counts the runs of layers on one device. */
static uint32_t count_runs(const struct accel_plan *plan)
{
    uint32_t count = 1;

    for (uint32_t i = 1; i < accel_plan_layer_count(plan); i++)
        count += strcmp(accel_plan_layer_get(plan, i)->device, accel_plan_layer_get(plan, i - 1)->device) != 0;
    return count;
}

static int32_t plan_point(const struct accel_model_plan *plan, const struct accel_model_plan_range *range, uint64_t at,
                          struct point *out_point, struct accel_error *error)
{
    char value[48];
    struct accel_named_value tried_value = {range->key, value, "tried"};
    struct accel_model_plan *tried = NULL;
    struct accel_plan_fit fit;
    int32_t code;

    snprintf(value, sizeof(value), "%" PRIu64 "%s", value_at(range, at), range->unit);
    code = accel_model_plan_vary(plan, &tried_value, 1, &tried, error);
    if (code == ACCEL_E_LIMIT) {
        accel_error_clear(error);
        *out_point = (struct point){.at = at, .short_by = UINT64_MAX, .is_over = true};
        return ACCEL_OK;
    }
    if (code != ACCEL_OK)
        return code;
    fit = model_plan_verdict(tried);
    *out_point = (struct point){.at = at,
                                .needed = fit.needed,
                                .budget = fit.budget,
                                .short_by = fit.short_by,
                                .runs = count_runs(accel_model_plan_plan(tried)),
                                .fits = fit.fits};
    accel_model_plan_free(tried);
    return ACCEL_OK;
}

/* Interpolates linearly between two points to the budget: exact if memory grows linearly, and always within the
 * bounds. */
static uint64_t interpolate(const struct point *low, const struct point *high)
{
    double slope, at;

    if (high->is_over || high->needed <= low->needed)
        return low->at + (high->at - low->at) / 2;
    slope = ((double)high->needed - (double)low->needed) / (double)(high->at - low->at);
    at = (double)low->at + ((double)low->budget - (double)low->needed) / slope;
    if (at <= (double)low->at + 1)
        return low->at + 1;
    /* Another limit than the sum of all budgets bounds the value: bisects. */
    return at >= (double)high->at ? low->at + (high->at - low->at) / 2 : (uint64_t)at;
}

/* Returns whether the sum of all budgets decided: one of several devices may lack memory although the sum suffices. */
static bool is_decided_by_sum(const struct point *point)
{
    return point->fits == (point->budget == 0 || point->needed <= point->budget);
}

/* Decides whether a point fits the budget of the first plan, since free memory changes during the search. The point's
 * own verdict counts if it has other devices than the first, or if the sum of their budgets did not decide. */
static void apply_budget(struct point *point, const struct point *first)
{
    if (point->is_over || point->runs != first->runs || !is_decided_by_sum(first) || !is_decided_by_sum(point))
        return;
    point->budget = first->budget;
    point->fits = point->budget == 0 || point->needed <= point->budget;
}

/* Replaces *low, the first point, by one that fits or that lacks least if that lies between the ends: layers that leave
 * one device need memory of another, so that both ends may lack memory, and what a plan lacks has one minimum. */
static int32_t find_minimum(const struct accel_model_plan *plan, const struct accel_model_plan_range *range,
                            struct point *low, struct accel_error *error)
{
    uint64_t left = 0, right = range->high - range->low;
    struct point here = *low, next;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && left < right && !low->fits) {
        code = plan_point(plan, range, here.at + 1, &next, error);
        if (code != ACCEL_OK || next.runs < 2)
            return code;
        if (next.short_by < here.short_by)
            left = next.at;
        else
            right = here.at;
        if (here.short_by < low->short_by)
            *low = here;
        if (next.short_by < low->short_by)
            *low = next;
        if (left < right)
            code = plan_point(plan, range, left + (right - left) / 2, &here, error);
    }
    return code;
}

int32_t accel_model_plan_search(const struct accel_model_plan *plan, const struct accel_model_plan_range *range,
                                uint64_t *out_value, uint32_t *out_fits, struct accel_error *error)
{
    struct point low, high, middle;
    uint32_t tries = 0;
    int32_t code;

    if (plan == NULL || range == NULL || range->key == NULL || range->unit == NULL || out_value == NULL ||
        out_fits == NULL)
        return model_refuse_null(__func__, error);
    if (range->zero != 0 || range->smallest > 1)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "%s: zero is %" PRIu32 " and not 0, or smallest %" PRIu32 " and neither 0 nor 1",
                               __func__, range->zero, range->smallest);
    *out_value = value_at(range, 0);
    *out_fits = 0;
    if (range->low > range->high)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: low %" PRIu64 " is above high %" PRIu64, __func__,
                               range->low, range->high);
    code = plan_point(plan, range, 0, &low, error);
    if (code == ACCEL_OK && !low.fits)
        code = find_minimum(plan, range, &low, error);
    *out_value = value_at(range, low.at);
    if (code != ACCEL_OK || !low.fits)
        return code;
    code = plan_point(plan, range, range->high - range->low, &high, error);
    if (code != ACCEL_OK)
        return code;
    apply_budget(&high, &low);
    while (!high.fits && high.at - low.at > 1) {
        /* Periodic bisection bounds the number of plans if memory does not grow linearly. */
        uint64_t at = tries++ % 4 == 3 ? low.at + (high.at - low.at) / 2 : interpolate(&low, &high);

        code = plan_point(plan, range, at, &middle, error);
        if (code != ACCEL_OK)
            return code;
        apply_budget(&middle, &low);
        if (middle.fits)
            low = middle;
        else
            high = middle;
    }
    *out_value = value_at(range, high.fits ? high.at : low.at);
    *out_fits = 1;
    return ACCEL_OK;
}

/* Returns the bound of a search for the longest context: the length that the model was trained for or, if longer ones
 * are allowed and memory has a limit, the largest value of the setting. A table of positions has no more rows. */
static uint64_t find_bound(const struct accel_model_plan *plan)
{
    const struct accel_model *model = plan->subject->model;

    if (model_plan_verdict(plan).budget == 0 || !setting_is_on(plan->settings.context_beyond_training) ||
        (model != NULL && session_has_table(model)))
        return model_plan_longest(plan);
    return CONTEXT_MOST;
}

int32_t accel_model_plan_max_context(const struct accel_model_plan *plan, uint64_t *out_tokens,
                                     struct accel_error *error)
{
    struct accel_model_plan_range range = {"context", "tok", 1, 0, 0, 0};
    uint64_t value;
    uint32_t fits;
    int32_t code;

    if (plan == NULL || out_tokens == NULL)
        return model_refuse_null(__func__, error);
    *out_tokens = 0;
    range.high = find_bound(plan);
    if (range.high == 0)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: the maximum length of its sequences is unknown",
                               plan->options.path);
    code = accel_model_plan_search(plan, &range, &value, &fits, error);
    if (code == ACCEL_OK && fits)
        *out_tokens = value;
    return code;
}
