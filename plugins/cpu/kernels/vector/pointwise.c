/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise kernels on vectors.
 * Layout: flat. Tile: one vector. Bound: operations for the transcendental functions (about 20 per vector), bytes for
 * the rest.
 */
#include "functions.h"

/* y = function(x), times `up` where there is one. */
CPU_INLINE void apply(const uint32_t function, const float *x, const float *up, float *y, size_t begin, size_t end)
{
    size_t i = begin;
    for (; i + VN <= end; i += VN) {
        vf value = v_function(function, v_load(x + i));
        v_store(y + i, up ? value * v_load(up + i) : value);
    }
    if (i < end) {
        vf value = v_function(function, v_load_part(x + i, end - i));
        v_store_part(y + i, up ? value * v_load_part(up + i, end - i) : value, end - i);
    }
}

/* One loop per function, without branches inside. */
static void choose(uint32_t function, const float *x, const float *up, float *y, size_t begin, size_t end)
{
    switch (function) {
    case ACCEL_FN_RELU:
        apply(ACCEL_FN_RELU, x, up, y, begin, end);
        break;
    case ACCEL_FN_GELU:
        apply(ACCEL_FN_GELU, x, up, y, begin, end);
        break;
    case ACCEL_FN_GELU_TANH:
        apply(ACCEL_FN_GELU_TANH, x, up, y, begin, end);
        break;
    case ACCEL_FN_GELU_QUICK:
        apply(ACCEL_FN_GELU_QUICK, x, up, y, begin, end);
        break;
    case ACCEL_FN_SILU:
        apply(ACCEL_FN_SILU, x, up, y, begin, end);
        break;
    case ACCEL_FN_SIGMOID:
        apply(ACCEL_FN_SIGMOID, x, up, y, begin, end);
        break;
    case ACCEL_FN_TANH:
        apply(ACCEL_FN_TANH, x, up, y, begin, end);
        break;
    default:
        apply(ACCEL_FN_NONE, x, up, y, begin, end);
    }
}

void CPU_NAME(activation)(uint32_t function, const float *x, float *y, size_t begin, size_t end)
{
    choose(function, x, NULL, y, begin, end);
}

void CPU_NAME(gate)(uint32_t function, const float *gate, const float *up, float *y, size_t begin, size_t end)
{
    choose(function, gate, up, y, begin, end);
}

CPU_INLINE vf operate(int multiply, vf a, vf b)
{
    return multiply ? a * b : a + b;
}

/* Computes a span in which b does not repeat. */
CPU_INLINE void binary_span(int multiply, const float *a, const float *b, float *y, size_t count)
{
    size_t i = 0;
    for (; i + VN <= count; i += VN)
        v_store(y + i, operate(multiply, v_load(a + i), v_load(b + i)));
    if (i < count) {
        vf value = operate(multiply, v_load_part(a + i, count - i), v_load_part(b + i, count - i));
        v_store_part(y + i, value, count - i);
    }
}

CPU_INLINE void binary(int multiply, const float *a, const float *b, size_t period, float *y, size_t begin, size_t end)
{
    while (begin < end) {
        size_t at = begin % period, count = least(period - at, end - begin);
        binary_span(multiply, a + begin, b + at, y + begin, count);
        begin += count;
    }
}

void CPU_NAME(add)(const float *a, const float *b, size_t period, float *y, size_t begin, size_t end)
{
    binary(0, a, b, period, y, begin, end);
}

void CPU_NAME(mul)(const float *a, const float *b, size_t period, float *y, size_t begin, size_t end)
{
    binary(1, a, b, period, y, begin, end);
}
