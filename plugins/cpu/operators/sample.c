/* SPDX-License-Identifier: Apache-2.0 */
/* Draws tokens. Parts: rows. Bound: instructions, some twenty for the weight of a token. */
#include <accel/driver/sample.h>

#include "plugins/cpu/operators/operators.h"

void cpu_sample_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct sdk_tensor *logits = call->inputs[0], *recent = call->inputs[3];

    for (uint64_t r = begin; r < end; r++) {
        struct accel_sample row = {
            .logits = (const float *)logits->planes[0] + r * logits->width,
            .settings = (const float *)call->inputs[1]->planes[0] + r * ACCEL_SAMPLE_SETTINGS,
            .draw = (const int32_t *)call->inputs[2]->planes[0] + r * ACCEL_SAMPLE_DRAW,
            .recent = recent == NULL ? NULL : (const int32_t *)recent->planes[0] + r * recent->width,
            .count = (uint32_t)logits->width,
            .recent_count = recent == NULL ? 0 : (uint32_t)recent->width,
        };

        ((int32_t *)call->outputs[0]->planes[0])[r] = accel_sample_row(&row);
    }
}
