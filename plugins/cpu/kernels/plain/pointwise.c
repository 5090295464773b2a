/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on single elements: add, mul, scale, clamp, sums of products. Parts: elements. Bound: bytes. */
#include "plain.h"

void CPU_NAME(add)(const float *a, const float *b, size_t period, float *y, size_t begin, size_t end)
{
    for (size_t at = begin, count; at < end; at += count) {
        const float *from = b + at % period;

        count = least(period - at % period, end - at);
        EACH for (size_t i = 0; i < count; i++) y[at + i] = a[at + i] + from[i];
    }
}

void CPU_NAME(mul)(const float *a, const float *b, size_t period, float *y, size_t begin, size_t end)
{
    for (size_t at = begin, count; at < end; at += count) {
        const float *from = b + at % period;

        count = least(period - at % period, end - at);
        EACH for (size_t i = 0; i < count; i++) y[at + i] = a[at + i] * from[i];
    }
}

void CPU_NAME(scale)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_scale *attributes = call->attributes;
    const float scale = attributes->scale, add = attributes->add, *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0];

    EACH for (uint64_t i = begin; i < end; i++) y[i] = x[i] * scale + add;
}

void CPU_NAME(clamp)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_clamp *attributes = call->attributes;
    const float low = attributes->low, high = attributes->high, *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0];

    EACH for (uint64_t i = begin; i < end; i++)
    {
        const float above = x[i] > low ? x[i] : low;

        y[i] = above < high ? above : high;
    }
}

void CPU_NAME(add_products)(const float *x, const float *w, size_t each, size_t count, float *y)
{
    for (size_t i = 0; each == 1 && i < count; i++)
        y[i] += x[i] * w[i];
    for (size_t i = 0; each != 1 && i < count; i++)
        y[i] += x[i / each] * w[i];
}
