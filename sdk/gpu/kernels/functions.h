/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of accel/ops.h. Exponents are clamped, since GLSL leaves larger ones undefined. */

/* erf by a quotient of polynomials, within some units in the last place: GLSL has none. */
FN float erf_of(float x)
{
    const float a = fmin(fmax(x, -3.8f), 3.8f), s = a * a;
    float over = -2.72614225801306e-10f, under = -1.45660718464996e-05f;
    over = over * s + 2.77068142495902e-08f;
    over = over * s - 2.10102402082508e-06f;
    over = over * s - 5.69250639462346e-05f;
    over = over * s - 7.34990630326855e-04f;
    over = over * s - 2.95459980854025e-03f;
    over = over * s - 1.60960333262415e-02f;
    under = under * s - 2.13374055278905e-04f;
    under = under * s - 1.68282697438203e-03f;
    under = under * s - 7.37332916720468e-03f;
    under = under * s - 1.42647390514189e-02f;
    return x > 3.8f ? 1.0f : x < -3.8f ? -1.0f : a * over / under;
}

FN float exp_of(float x)
{
    return exp(fmin(fmax(x, -87.0f), 88.0f));
}

FN float tanh_of(float x)
{
    const float e = exp_of(-2.0f * fabs(x)), s = x * x;
    /* Near zero the difference would cancel. */
    const float y = fabs(x) < 0.1f ? fabs(x) * (1.0f + s * (-0.33333334f + s * (0.13333334f - s * 0.053968254f)))
                                   : (1.0f - e) / (1.0f + e);
    return x < 0.0f ? -y : y;
}

FN float function_of(uint function, float x)
{
    if (function == FN_RELU)
        return fmax(x, 0.0f);
    if (function == FN_GELU)
        return 0.5f * x * (1.0f + erf_of(x * 0.70710678f));
    if (function == FN_GELU_TANH)
        return 0.5f * x * (1.0f + tanh_of(0.79788456f * (x + 0.044715f * x * x * x)));
    if (function == FN_GELU_QUICK)
        return x / (1.0f + exp_of(-1.702f * x));
    if (function == FN_SILU)
        return x / (1.0f + exp_of(-x));
    if (function == FN_SIGMOID)
        return 1.0f / (1.0f + exp_of(-x));
    if (function == FN_TANH)
        return tanh_of(x);
    return x;
}
