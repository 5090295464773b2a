/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the vector kernels: exp, tanh, erf and the element-wise functions of accel/ops.h on vectors of floats.
 * Errors, measured by the tests over all exponents: exp 2 units in the last place, tanh and erf 3e-7 absolute.
 */
#ifndef CPU_VECTOR_FUNCTIONS_H
#define CPU_VECTOR_FUNCTIONS_H

#include "vec.h"

/* Computes e^x as 2^n * e^r with |r| <= ln 2 / 2 and the polynomial of the Cephes library. Overflow gives infinity,
 * underflow denormals. */
CPU_INLINE vf v_exp(vf x)
{
    x = v_max(v_set(-150), v_min(v_set(150), x));
    vf n = v_round(x * 1.44269504f);
    vf r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    vf p = v_fma(v_set(1.9875691500e-4f), r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    p = v_fma(p, r * r, r) + 1.0f;
    /* Multiplies with 2^n in two factors, since 2^n may overflow where the result does not. A NaN is in p already, so
     * its conversion is replaced by 0. */
    vi whole = __builtin_convertvector(v_select(n == n, n, v_set(0)), vi);
    vi half = whole >> 1;
    return p * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
}

CPU_INLINE vf v_tanh(vf x)
{
    vf a = v_abs(x), z = x * x;
    vf p = v_fma(v_set(-5.70498872745e-3f), z, v_set(2.06390887954e-2f));
    p = v_fma(p, z, v_set(-5.37397155531e-2f));
    p = v_fma(p, z, v_set(1.33314422036e-1f));
    p = v_fma(p, z, v_set(-3.33332819422e-1f));
    vf near = v_fma(p * z, x, x);
    vf far = 1.0f - 2.0f / (v_exp(a + a) + 1.0f);
    far = (vf)((vi)far | ((vi)x & (vi)v_set(-0.0f)));
    return v_select(a < 0.625f, near, v_select(x == x, far, x));
}

/* Approximates erf by a rational function on [-4, 4], beyond which erf is 1 within half a unit in the last place. */
CPU_INLINE vf v_erf(vf x)
{
    x = v_max(v_set(-4), v_min(v_set(4), x));
    vf z = x * x;
    vf p = v_fma(v_set(-2.72614225801306e-10f), z, v_set(2.77068142495902e-08f));
    p = v_fma(p, z, v_set(-2.10102402082508e-06f));
    p = v_fma(p, z, v_set(-5.69250639462346e-05f));
    p = v_fma(p, z, v_set(-7.34990630326855e-04f));
    p = v_fma(p, z, v_set(-2.95459980854025e-03f));
    p = v_fma(p, z, v_set(-1.60960333262415e-02f));
    vf q = v_fma(v_set(-1.45660718464996e-05f), z, v_set(-2.13374055278905e-04f));
    q = v_fma(q, z, v_set(-1.68282697438203e-03f));
    q = v_fma(q, z, v_set(-7.37332916720468e-03f));
    q = v_fma(q, z, v_set(-1.42647390514189e-02f));
    return x * p / q;
}

/* Applies an element-wise function of accel/ops.h. Callers pass `function` as a constant in loops. */
CPU_INLINE vf v_function(uint32_t function, vf x)
{
    switch (function) {
    case ACCEL_FN_RELU:
        return v_max(v_set(0), x);
    case ACCEL_FN_GELU:
        return 0.5f * x * (1.0f + v_erf(x * 0.70710678f));
    case ACCEL_FN_GELU_TANH:
        return 0.5f * x * (1.0f + v_tanh(0.79788456f * v_fma(0.044715f * x * x, x, x)));
    case ACCEL_FN_GELU_QUICK:
        return x / (1.0f + v_exp(-1.702f * x));
    case ACCEL_FN_SILU:
        return x / (1.0f + v_exp(-x));
    case ACCEL_FN_SIGMOID:
        return 1.0f / (1.0f + v_exp(-x));
    case ACCEL_FN_TANH:
        return v_tanh(x);
    default:
        return x;
    }
}

#endif
