/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas and parameter names follow the rope utilities of Hugging Face transformers. */
#include "model/family/rope.h"

#include <math.h>

#define PI 3.14159265358979323846

static double plain(double base, uint32_t dims, uint32_t pair)
{
    return pow(base, -2.0 * pair / dims);
}

static double dynamic_base(const struct accel_rope_config *rope, uint64_t length)
{
    double original = rope->original_context;
    double ratio = (double)length / original;

    if (ratio <= 1.0 || rope->dims <= 2)
        return rope->base;
    return rope->base * pow(rope->factor * ratio - (rope->factor - 1.0), rope->dims / (rope->dims - 2.0));
}

/* Returns the dimension whose wave makes `turns` turns within the original context. */
static double yarn_dimension(const struct accel_rope_config *rope, double turns)
{
    return rope->dims * log(rope->original_context / (turns * 2.0 * PI)) / (2.0 * log(rope->base));
}

/* Returns how much of a pair's frequency is interpolated: 0 below the ramp, 1 above it. */
static double yarn_ramp(const struct accel_rope_config *rope, uint32_t pair)
{
    double low = yarn_dimension(rope, rope->beta_fast);
    double high = yarn_dimension(rope, rope->beta_slow);
    double place;

    if (rope->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0.0);
    high = fmin(high, rope->dims - 1.0);
    if (low == high)
        high += 0.001;
    place = (pair - low) / (high - low);
    return fmin(fmax(place, 0.0), 1.0);
}

static double llama3(const struct accel_rope_config *rope, double frequency)
{
    double wavelength = 2.0 * PI / frequency;
    double low = rope->original_context / rope->low_frequency_factor;
    double high = rope->original_context / rope->high_frequency_factor;
    double smooth;

    if (wavelength < high)
        return frequency;
    if (wavelength > low)
        return frequency / rope->factor;
    smooth = (rope->original_context / wavelength - rope->low_frequency_factor) /
             (rope->high_frequency_factor - rope->low_frequency_factor);
    return (1.0 - smooth) * frequency / rope->factor + smooth * frequency;
}

static double scaled(const struct accel_rope_config *rope, uint64_t length, uint32_t pair)
{
    double frequency = plain(rope->base, rope->dims, pair);
    double ramp;

    switch (rope->kind) {
    case ACCEL_ROPE_LINEAR:
        return frequency / rope->factor;
    case ACCEL_ROPE_DYNAMIC:
        return plain(dynamic_base(rope, length), rope->dims, pair);
    case ACCEL_ROPE_YARN:
        ramp = yarn_ramp(rope, pair);
        return frequency / rope->factor * ramp + frequency * (1.0 - ramp);
    case ACCEL_ROPE_LLAMA3:
        return llama3(rope, frequency);
    case ACCEL_ROPE_LONG:
        return frequency / (length > rope->original_context ? rope->long_divisors : rope->short_divisors)[pair];
    case ACCEL_ROPE_PLAIN:
        break;
    }
    return frequency;
}

bool rope_changes(const struct accel_rope_config *rope)
{
    return rope->kind == ACCEL_ROPE_DYNAMIC || rope->kind == ACCEL_ROPE_LONG;
}

void rope_frequencies(const struct accel_rope_config *rope, uint64_t length, const float *divisors, float *out)
{
    for (uint32_t pair = 0; pair < rope->dims / 2; pair++) {
        double frequency = scaled(rope, length, pair);

        out[pair] = (float)(divisors == NULL ? frequency : frequency / divisors[pair]);
    }
}
