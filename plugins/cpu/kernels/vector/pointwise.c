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
#define CASE(f)                                                                                                        \
    case f:                                                                                                            \
        apply(f, x, up, y, begin, end);                                                                                \
        return;
    switch (function) {
        CASE(ACCEL_FN_RELU)
        CASE(ACCEL_FN_GELU)
        CASE(ACCEL_FN_GELU_TANH)
        CASE(ACCEL_FN_GELU_QUICK)
        CASE(ACCEL_FN_SILU)
        CASE(ACCEL_FN_SIGMOID)
        CASE(ACCEL_FN_TANH)
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
