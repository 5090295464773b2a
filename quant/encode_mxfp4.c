/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder of MXFP4: 32 codes of a sign, two bits of exponent and one of fraction, under a power of two. */
#include <math.h>

#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"

const signed char quant_mxfp4_codebook[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Returns the code of the entry nearest to a magnitude in units of the scale, the smaller one of a tie. Sums of
 * comparisons instead of a search, so that 32 values are few vectors. */
static inline int nearest(float magnitude)
{
    return (magnitude > 0.5f) + (magnitude > 1.5f) + (magnitude > 2.5f) + (magnitude > 3.5f) + (magnitude > 5.0f) +
           (magnitude > 7.0f) + (magnitude > 10.0f);
}

/* Returns the entry nearest to a magnitude: steps of one, two and four. */
static inline float nearest_magnitude(float magnitude)
{
    return (float)((magnitude > 0.5f) + (magnitude > 1.5f) + (magnitude > 2.5f) + (magnitude > 3.5f) +
                   2 * ((magnitude > 5.0f) + (magnitude > 7.0f)) + 4 * (magnitude > 10.0f));
}

static int code_of(float scaled)
{
    const int code = nearest(fabsf(scaled));
    return scaled < 0 && code > 0 ? code + 8 : code;
}

/* Returns the exponent byte whose largest entry, 6, is the power of two of the largest magnitude or just above it, as
 * the format's specification and other tools define it. */
static int exponent_of(float most)
{
    int exponent;
    if (most == 0)
        return 0;
    (void)frexpf(most, &exponent);
    exponent += 124;
    return exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
}

/* Returns the error of scale `byte`: the weighted sum of squared errors. Eight parallel sums give the same result on
 * every machine. */
static float loss(const float *values, const float *weight, int byte)
{
    const float d = quant_read_exponent((uint8_t)byte), inverse = quant_reciprocal(d);
    float sums[8] = {0};
    for (int j = 0; j < 32; j += 8) {
        for (int l = 0; l < 8; l++) {
            const float magnitude = fabsf(values[j + l]);
            const float error = magnitude - d * nearest_magnitude(magnitude * inverse);
            sums[l] += weight ? weight[j + l] * (error * error) : error * error;
        }
    }
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/* Searches neighbouring scales: a lower one clips a few large values and halves the error of the rest. */
static int search_exponent(const float *values, const float *weight, int first)
{
    int best = first;
    float least = loss(values, weight, first);
    for (int byte = first < 2 ? 0 : first - 2; byte <= first + 1 && byte < 255; byte++) {
        float here = loss(values, weight, byte);
        if (here < least) {
            least = here;
            best = byte;
        }
    }
    return best;
}

void quant_encode_mxfp4(const float *values, const float *weight, int search, uint8_t *block)
{
    int byte = exponent_of(fabsf(quant_extreme(values, 32)));
    if (search && byte > 0)
        byte = search_exponent(values, weight, byte);
    const float inverse = quant_reciprocal(quant_read_exponent((uint8_t)byte));
    block[0] = (uint8_t)byte;
    for (int j = 0; j < 16; j++)
        block[1 + j] = (uint8_t)(code_of(values[j] * inverse) | code_of(values[j + 16] * inverse) << 4);
}
