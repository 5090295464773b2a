/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on single elements: scale, clamp. Parts: elements. Bound: bytes. */
#include "plain.h"

void CPU_NAME(scale)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_scale *attributes = call->attributes;
    const float scale = attributes->scale, add = attributes->add, *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0];

    for (uint64_t i = begin; i < end; i++)
        y[i] = x[i] * scale + add;
}

void CPU_NAME(clamp)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_clamp *attributes = call->attributes;
    const float low = attributes->low, high = attributes->high, *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0];

    for (uint64_t i = begin; i < end; i++) {
        const float above = x[i] > low ? x[i] : low;

        y[i] = above < high ? above : high;
    }
}
