/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements of BF16 instructions, which plugins/cpu/kernels/vector/simd_bf16.h includes under SIMD_EMULATE. */
#ifndef KERNELS_SIMD_BF16_EMULATED_H
#define KERNELS_SIMD_BF16_EMULATED_H

#include "simd_flush.h"

static inline __attribute__((unused)) __m512i simd_cvtne2ps(__m512 high, __m512 low)
{
    float v[32];
    uint16_t out[32];
    _mm512_storeu_ps(v, low);
    _mm512_storeu_ps(v + 16, high);
    for (int i = 0; i < 32; i++) {
        const float x = simd_flush(v[i]);
        uint32_t bits;
        memcpy(&bits, &x, sizeof(bits));
        out[i] = (uint16_t)(x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    return _mm512_loadu_si512(out);
}

/* SIMDe sums in another order. The processor adds the odd pair first, each fused, and has no subnormal numbers. */
static inline __attribute__((unused)) __m512 simd_dpbf16(__m512 sums, __m512i a, __m512i b)
{
    float s[16];
    uint32_t v[16], w[16];
    _mm512_storeu_ps(s, sums);
    _mm512_storeu_si512(v, a);
    _mm512_storeu_si512(w, b);
    for (int i = 0; i < 16; i++) {
        for (int j = 1; j >= 0; j--) {
            const uint32_t x = j ? v[i] & 0xffff0000u : v[i] << 16, y = j ? w[i] & 0xffff0000u : w[i] << 16;
            float f, g;
            memcpy(&f, &x, sizeof(f));
            memcpy(&g, &y, sizeof(g));
            s[i] = simd_flush(__builtin_fmaf(simd_flush(f), simd_flush(g), simd_flush(s[i])));
        }
    }
    return _mm512_loadu_ps(s);
}

#endif
