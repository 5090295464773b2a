/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary positions. Parts: tokens, or elements of the only one, in whole heads. The sines and cosines come from the C
 * library, once per token for all heads. Bound: bytes.
 */
#include "plain.h"

#define PAIRS 64u /* pairs whose sines and cosines are computed together */

/* Rotates `count` elements of a head, `step` (a constant) apart, with those that lie `apart` behind them. */
static inline void rotate(const size_t step, const float *x, float *y, size_t apart, size_t count, const float *cosine,
                          const float *sine)
{
    EACH for (size_t i = 0; i < count; i++)
    {
        const float a = x[i * step], b = x[i * step + apart];

        y[i * step] = add_product(a, cosine[i], -(b * sine[i]));
        y[i * step + apart] = add_product(b, cosine[i], a * sine[i]);
    }
}

void CPU_NAME(rotary)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_rotary *attributes = call->attributes;
    const struct sdk_tensor *in = call->inputs[0];
    const int32_t *position = call->inputs[1]->planes[0];
    const float *frequency = call->inputs[2]->planes[0];
    const size_t heads = in->dims[1], size = in->dims[2], pairs = call->inputs[2]->width;
    const size_t first = in->dims[0] == 1 ? begin / size : 0, last = in->dims[0] == 1 ? end / size : heads;

    for (size_t t = in->dims[0] == 1 ? 0 : begin; t < (in->dims[0] == 1 ? 1 : end); t++) {
        const float *x = (const float *)in->planes[0] + t * heads * size;
        float *y = (float *)call->outputs[0]->planes[0] + t * heads * size;

        for (size_t lo = 0; lo < pairs; lo += PAIRS) {
            const size_t count = least(PAIRS, pairs - lo);
            float cosine[PAIRS], sine[PAIRS];

            for (size_t i = 0; i < count; i++) {
                const float angle = (float)position[t] * frequency[lo + i];

                cosine[i] = cosf(angle) * attributes->scale;
                sine[i] = sinf(angle) * attributes->scale;
            }
            for (size_t h = first; h < last; h++) {
                if (attributes->pairing == ACCEL_PAIR_HALVES)
                    rotate(1, x + h * size + lo, y + h * size + lo, pairs, count, cosine, sine);
                else
                    rotate(2, x + h * size + 2 * lo, y + h * size + 2 * lo, 1, count, cosine, sine);
            }
        }
        for (size_t h = first; h < last && x != y; h++)
            memcpy(y + h * size + 2 * pairs, x + h * size + 2 * pairs, (size - 2 * pairs) * sizeof(float));
    }
}
