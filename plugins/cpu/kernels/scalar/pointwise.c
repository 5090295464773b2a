/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise kernels in plain C, with functions of the C library: references of the vector kernels. Layout: flat.
 * Tile: one value. Bound: operations for the transcendental functions, bytes for the others.
 */
#include "scalar.h"

#include <math.h>

float cpu_function_scalar(uint32_t function, float x)
{
    switch (function) {
    case ACCEL_FN_RELU:
        return x > 0 ? x : 0;
    case ACCEL_FN_GELU:
        return 0.5f * x * (1 + erff(x * 0.70710678f));
    case ACCEL_FN_GELU_TANH:
        return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case ACCEL_FN_GELU_QUICK:
        return x / (1 + expf(-1.702f * x));
    case ACCEL_FN_SILU:
        return x / (1 + expf(-x));
    case ACCEL_FN_SIGMOID:
        return 1 / (1 + expf(-x));
    case ACCEL_FN_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

void cpu_activation_scalar(uint32_t function, const float *x, float *y, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        y[i] = cpu_function_scalar(function, x[i]);
}

void cpu_gate_scalar(uint32_t function, const float *gate, const float *up, float *y, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        y[i] = cpu_function_scalar(function, gate[i]) * up[i];
}
