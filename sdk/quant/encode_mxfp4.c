/* SPDX-License-Identifier: Apache-2.0 */
/* MXFP4: 32 digits of a sign, two bits of exponent and one of fraction, under a power of two. */
#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"

#include <math.h>

const signed char quant_mxfp4_levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The nearest level to a value in units of the scale; of two that are as near the smaller one. */
static int nearest(float scaled)
{
    static const float halfway[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f};
    const float magnitude = fabsf(scaled);
    int digit = 0;
    while (digit < 7 && magnitude > halfway[digit])
        digit++;
    return scaled < 0 && digit > 0 ? digit + 8 : digit;
}

/* The exponent byte whose largest level, 6, is the power of two of the largest magnitude or just above it, as other
 * tools and the format's own text have it. */
static int exponent_of(float most)
{
    int exponent;
    if (most == 0)
        return 0;
    (void)frexpf(most, &exponent);
    exponent += 124;
    return exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
}

/* What the scale `byte` loses: the weighted sum of squared errors. */
static double loss(const float *values, const float *weight, int byte)
{
    const float d = quant_read_exponent((uint8_t)byte), inverse = quant_reciprocal(d);
    double sum = 0;
    for (int j = 0; j < 32; j++) {
        double error = (double)values[j] - (double)(d * (float)quant_mxfp4_levels[nearest(values[j] * inverse)]);
        sum += weight ? weight[j] * error * error : error * error;
    }
    return sum;
}

/* Among neighbours, as a lower scale clips a few large values and halves the error of the rest. */
static int search_exponent(const float *values, const float *weight, int first)
{
    int best = first;
    double least = loss(values, weight, first);
    for (int byte = first < 2 ? 0 : first - 2; byte <= first + 1 && byte < 255; byte++) {
        double here = loss(values, weight, byte);
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
        block[1 + j] = (uint8_t)(nearest(values[j] * inverse) | nearest(values[j + 16] * inverse) << 4);
}
