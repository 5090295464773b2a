/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers recommended sequences to what memory holds: no recommended value makes a model not fit. */
#include <inttypes.h>
#include <stdio.h>

#include "model/plan/internal.h"

/* Plans again with `sequences`. Several do not fit if one allocation exceeds the limit of the device, either. */
static int32_t try_sequences(struct accel_model_plan *plan, uint64_t sequences, bool *out_fits,
                             struct accel_error *error)
{
    int32_t code;

    plan->sequences = sequences;
    accel_error_clear(error);
    code = model_plan_remake(plan, error);
    *out_fits = code == ACCEL_OK && model_plan_verdict(plan).fits;
    return code == ACCEL_E_LIMIT && sequences > 1 ? ACCEL_OK : code;
}

int32_t model_plan_lower_sequences(struct accel_model_plan *plan, int32_t code, struct accel_error *error)
{
    uint64_t low = 1, high = (uint64_t)plan->settings.sequences->number;
    bool fits;

    if ((code == ACCEL_OK && model_plan_verdict(plan).fits) || high <= 1 ||
        !accel_plan_is_recommended(plan->plan, "sequences"))
        return code;
    code = try_sequences(plan, low, &fits, error);
    if (code != ACCEL_OK || !fits)
        return code;
    /* Bisects: `low` sequences fit, `high` do not. */
    while (code == ACCEL_OK && high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        code = try_sequences(plan, middle, &fits, error);
        *(fits ? &low : &high) = middle;
    }
    return code == ACCEL_OK && plan->sequences != low ? try_sequences(plan, low, &fits, error) : code;
}

int32_t model_plan_decline_sequences(struct accel_model_plan *plan, struct accel_error *error)
{
    char value[24];

    if (plan->sequences == 0)
        return ACCEL_OK;
    snprintf(value, sizeof(value), "%" PRIu64, plan->sequences);
    return accel_plan_decline(plan->plan, "sequences", value, "the memory budget holds fewer", error);
}
