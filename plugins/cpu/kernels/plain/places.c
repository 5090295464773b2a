/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators over the places of images and sound, channels innermost: pool, resize. Parts: places of y, whose channels
 * are computed side by side. Bound: bytes.
 */
#include "plain.h"

/* Extents of places of a value of rank 3 or 4. */
struct extents {
    uint64_t height, width;
};

static struct extents extents_of(const struct sdk_tensor *value)
{
    return (struct extents){value->rank == 4 ? value->dims[1] : 1, value->dims[value->rank - 2]};
}

/* Limits a window that begins `before` places ahead of `at` to those of an axis: from .. to. */
static void window_of(uint64_t at, uint64_t before, uint64_t kernel, uint64_t extent, uint64_t *from, uint64_t *to)
{
    *from = at > before ? at - before : 0;
    *to = at + kernel > before ? least(at + kernel - before, extent) : 0;
}

void CPU_NAME(pool)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_pool *at = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const struct extents in = extents_of(x), out = extents_of(call->outputs[0]);

    for (uint64_t place = begin; place < end; place++) {
        const uint64_t image = place / (out.height * out.width), channels = x->width;
        float *y = (float *)call->outputs[0]->planes[0] + place * channels, factor = 1;
        uint64_t top, bottom, left, right, seen = 0;

        window_of(place / out.width % out.height * at->stride[0], at->before[0], at->kernel[0], in.height, &top,
                  &bottom);
        window_of(place % out.width * at->stride[1], at->before[1], at->kernel[1], in.width, &left, &right);
        memset(y, 0, channels * sizeof(*y));
        for (uint64_t h = top; h < bottom; h++) {
            for (uint64_t w = left; w < right; w++) {
                const float *from = (const float *)x->planes[0] + ((image * in.height + h) * in.width + w) * channels;

                if (seen++ == 0)
                    memcpy(y, from, channels * sizeof(*y));
                else if (at->kind == ACCEL_POOL_MAX)
                    for (uint64_t c = 0; c < channels; c++)
                        y[c] = from[c] > y[c] ? from[c] : y[c];
                else
                    for (uint64_t c = 0; c < channels; c++)
                        y[c] += from[c];
            }
        }
        if (at->kind == ACCEL_POOL_AVERAGE && seen != 0)
            factor = 1 / (float)(at->count_outside ? (uint64_t)at->kernel[0] * at->kernel[1] : seen);
        for (uint64_t c = 0; factor != 1 && c < channels; c++)
            y[c] *= factor;
    }
}

/* Places of x on one axis that a place of y is made of, and their weights. */
struct taps {
    uint32_t count;
    uint64_t at[4];
    float weight[4];
};

/* Returns the weight of cubic convolution at a distance, a = -0.75. */
static float cubic(float x)
{
    const float a = -0.75f;

    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static struct taps taps_of(const struct accel_resize *attributes, uint64_t place, uint64_t in, uint64_t out)
{
    const double along = ((double)place + 0.5) * (double)in / (double)out;
    const double edges = out > 1 ? (double)place * (double)(in - 1) / (double)(out - 1) : 0;
    const double at = attributes->align_corners ? edges : along - 0.5, whole = floor(at);
    const float part = (float)(at - whole);
    struct taps taps = {.count = attributes->mode == ACCEL_RESIZE_CUBIC ? 4 : 2};

    if (attributes->mode == ACCEL_RESIZE_NEAREST || in == 1)
        return (struct taps){.count = 1, .at = {least((2 * place + 1) * in / (2 * out), in - 1)}, .weight = {1}};
    for (uint32_t i = 0; i < taps.count; i++) {
        const double index = whole + i - (taps.count == 4);
        const float distance = fabsf((float)i - (float)(taps.count == 4) - part);

        taps.at[i] = index < 0 ? 0 : least((uint64_t)index, in - 1);
        taps.weight[i] = taps.count == 4 ? cubic(distance) : 1 - distance;
    }
    return taps;
}

void CPU_NAME(resize)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct sdk_tensor *x = call->inputs[0];
    const struct extents in = extents_of(x), out = extents_of(call->outputs[0]);
    const uint64_t channels = x->width;

    for (uint64_t place = begin; place < end; place++) {
        const struct taps down = taps_of(call->attributes, place / out.width % out.height, in.height, out.height);
        const struct taps across = taps_of(call->attributes, place % out.width, in.width, out.width);
        const float *image =
            (const float *)x->planes[0] + place / (out.height * out.width) * in.height * in.width * channels;
        float *y = (float *)call->outputs[0]->planes[0] + place * channels;

        for (uint32_t i = 0; i < down.count * across.count; i++) {
            const float weight = down.weight[i / across.count] * across.weight[i % across.count];
            const float *from = image + (down.at[i / across.count] * in.width + across.at[i % across.count]) * channels;

            if (down.count * across.count == 1)
                memcpy(y, from, channels * sizeof(*y));
            else if (i == 0)
                for (uint64_t c = 0; c < channels; c++)
                    y[c] = weight * from[c];
            else
                for (uint64_t c = 0; c < channels; c++)
                    y[c] += weight * from[c];
        }
    }
}
