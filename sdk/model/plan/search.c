/* SPDX-License-Identifier: Apache-2.0 */
/* The farthest value of a setting that fits, found by planning again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sdk/model/plan/internal.h"

/* What is known of one value: `at` steps from the end that takes least memory. */
struct point {
    uint64_t at;
    uint64_t needed;
    uint64_t budget;
    uint32_t fits;
    uint32_t is_over; /* a single thing is larger than the device takes: no sum is known */
};

static int32_t plan_point(const struct accel_model_plan *plan, const struct plan_range *range, uint64_t at,
                          struct point *out_point, struct accel_error *error)
{
    char value[48];
    struct accel_given given = {range->key, value, "tried"};
    struct accel_model_plan *tried = NULL;
    struct accel_plan_fit fit;
    int32_t code;

    plan_range_value(range, at, value, sizeof value);
    code = model_plan_vary(plan, &given, 1, &tried, error);
    if (code == ACCEL_E_LIMIT) {
        accel_error_clear(error);
        *out_point = (struct point){.at = at, .is_over = 1};
        return ACCEL_OK;
    }
    if (code != ACCEL_OK)
        return code;
    fit = model_plan_verdict(tried);
    *out_point = (struct point){.at = at, .needed = fit.needed, .budget = fit.budget, .fits = fit.fits};
    accel_model_plan_free(tried);
    return ACCEL_OK;
}

/* Where the line through two points meets the budget: exact where memory grows evenly, and within the bounds anyhow. */
static uint64_t guess(const struct point *low, const struct point *high)
{
    double slope, at;

    if (high->is_over)
        return low->at + (high->at - low->at) / 2;
    slope = ((double)high->needed - (double)low->needed) / (double)(high->at - low->at);
    at = slope <= 0 ? 0 : (double)low->at + ((double)low->budget - (double)low->needed) / slope;

    if (at <= (double)low->at + 1)
        return low->at + 1;
    return at >= (double)high->at ? high->at - 1 : (uint64_t)at;
}

/* What the machine has left moves while the search goes on: the budget of its first plan counts for all. Where several
 * devices have budgets of their own there is no such sum, and each plan's own verdict counts. */
static void judge(struct point *point, const struct point *first)
{
    if (point->is_over || first->fits != (first->budget == 0 || first->needed <= first->budget))
        return;
    point->budget = first->budget;
    point->fits = point->budget == 0 || point->needed <= point->budget;
}

void plan_range_value(const struct plan_range *range, uint64_t at, char *value, size_t bytes)
{
    snprintf(value, bytes, "%" PRIu64 "%s", range->smallest ? range->high - at : range->low + at, range->unit);
}

int32_t model_plan_search(const struct accel_model_plan *plan, const struct plan_range *range, uint64_t *out_at,
                          uint32_t *out_fits, struct accel_error *error)
{
    struct point low, high, middle;
    uint32_t tries = 0;
    int32_t code = plan_point(plan, range, 0, &low, error);

    *out_at = 0;
    *out_fits = 0;
    if (code != ACCEL_OK || !low.fits)
        return code;
    code = plan_point(plan, range, range->high - range->low, &high, error);
    if (code != ACCEL_OK)
        return code;
    judge(&high, &low);
    while (!high.fits && high.at - low.at > 1) {
        /* Halving now and then bounds the number of plans where memory does not grow evenly. */
        uint64_t at = tries++ % 4 == 3 ? low.at + (high.at - low.at) / 2 : guess(&low, &high);

        code = plan_point(plan, range, at, &middle, error);
        if (code != ACCEL_OK)
            return code;
        judge(&middle, &low);
        if (middle.fits)
            low = middle;
        else
            high = middle;
    }
    *out_at = high.fits ? high.at : low.at;
    *out_fits = 1;
    return ACCEL_OK;
}

int32_t accel_model_plan_max_context(const struct accel_model_plan *plan, uint64_t *out_tokens,
                                     struct accel_error *error)
{
    struct plan_range range = {"context", "tok", 1, model_plan_longest(plan), 0};
    uint64_t at;
    uint32_t fits;
    int32_t code;

    *out_tokens = 0;
    if (range.high == 0)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: nothing says how long its sequences may be",
                               plan->options.path);
    code = model_plan_search(plan, &range, &at, &fits, error);
    if (code == ACCEL_OK && fits)
        *out_tokens = range.low + at;
    return code;
}
