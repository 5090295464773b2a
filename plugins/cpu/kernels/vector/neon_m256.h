/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the aarch64 kernels: vectors of 128 bits, and of 256 bits as two registers, under Intel's names of the
 * operations, so that vector/ has one source. Only operations in use are here, and only for the operands in use: bytes
 * that are multiplied as unsigned are below 128, byte shuffles have indices 0 .. 15 or 128 and above, and elements that
 * Intel leaves undefined above a widened vector are zero. A row of M_BOTH or M_FLOATS defines an operation for both
 * widths: that of 256 bits is that of 128 bits on each half.
 */
#ifndef CPU_NEON_M256_H
#define CPU_NEON_M256_H

#include "plugins/cpu/kernels/vector/neon_dot.h"

typedef float32x4_t __m128;
typedef int8x16_t __m128i;

typedef struct {
    float32x4_t a, b;
} __m256;

typedef struct {
    int8x16_t a, b;
} __m256i;

#define M_OP static inline __attribute__((always_inline, unused))

/* ---- operations on halves ---- */

/* Defines two functions of v and w, whose result is made of a and b, their elements of a type. */
#define M_NAMED(name128, name256, elements, ...)                                                                       \
    M_OP __m128i name128(__m128i v, __m128i w)                                                                         \
    {                                                                                                                  \
        const elements a = (elements)v, b = (elements)w;                                                               \
        return (__m128i)(__VA_ARGS__);                                                                                 \
    }                                                                                                                  \
    M_OP __m256i name256(__m256i v, __m256i w)                                                                         \
    {                                                                                                                  \
        return (__m256i){name128(v.a, w.a), name128(v.b, w.b)};                                                        \
    }
#define M_BOTH(name, elements, ...) M_NAMED(_mm_##name, _mm256_##name, elements, __VA_ARGS__)

/* The same for a vector and a number of bits. */
#define M_SHIFT(name, elements, ...)                                                                                   \
    M_OP __m128i _mm_##name(__m128i v, int count)                                                                      \
    {                                                                                                                  \
        const elements a = (elements)v;                                                                                \
        return (__m128i)(__VA_ARGS__);                                                                                 \
    }                                                                                                                  \
    M_OP __m256i _mm256_##name(__m256i v, int count)                                                                   \
    {                                                                                                                  \
        return (__m256i){_mm_##name(v.a, count), _mm_##name(v.b, count)};                                              \
    }

/* The same for floats. */
#define M_FLOATS(name, ...)                                                                                            \
    M_OP __m128 _mm_##name(__m128 a, __m128 b)                                                                         \
    {                                                                                                                  \
        return __VA_ARGS__;                                                                                            \
    }                                                                                                                  \
    M_OP __m256 _mm256_##name(__m256 v, __m256 w)                                                                      \
    {                                                                                                                  \
        return (__m256){_mm_##name(v.a, w.a), _mm_##name(v.b, w.b)};                                                   \
    }

M_NAMED(_mm_and_si128, _mm256_and_si256, int8x16_t, vandq_s8(a, b))
M_NAMED(_mm_or_si128, _mm256_or_si256, int8x16_t, vorrq_s8(a, b))
M_NAMED(_mm_xor_si128, _mm256_xor_si256, int8x16_t, veorq_s8(a, b))
M_BOTH(add_epi8, int8x16_t, vaddq_s8(a, b))
M_BOTH(sub_epi8, int8x16_t, vsubq_s8(a, b))
M_BOTH(cmpeq_epi8, int8x16_t, vceqq_s8(a, b))
M_BOTH(add_epi16, int16x8_t, vaddq_s16(a, b))
M_BOTH(sub_epi16, int16x8_t, vsubq_s16(a, b))
M_BOTH(add_epi32, int32x4_t, vaddq_s32(a, b))
M_BOTH(sub_epi32, int32x4_t, vsubq_s32(a, b))
M_BOTH(hadd_epi32, int32x4_t, vpaddq_s32(a, b))
M_BOTH(madd_epi16, int16x8_t, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)))
M_BOTH(maddubs_epi16, int8x16_t, vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)))
M_BOTH(packs_epi32, int32x4_t, vqmovn_high_s32(vqmovn_s32(a), b))
M_BOTH(packs_epi16, int16x8_t, vqmovn_high_s16(vqmovn_s16(a), b))
M_BOTH(shuffle_epi8, int8x16_t, vqtbl1q_s8(a, (uint8x16_t)b))
M_BOTH(srlv_epi32, uint32x4_t, vshlq_u32(a, vnegq_s32((int32x4_t)b)))
M_BOTH(srlv_epi64, uint64x2_t, vshlq_u64(a, vnegq_s64((int64x2_t)b)))
M_BOTH(unpacklo_epi8, int8x16_t, vzip1q_s8(a, b))
M_BOTH(unpackhi_epi8, int8x16_t, vzip2q_s8(a, b))
M_BOTH(unpacklo_epi16, int16x8_t, vzip1q_s16(a, b))
M_BOTH(unpackhi_epi16, int16x8_t, vzip2q_s16(a, b))
M_BOTH(unpacklo_epi64, int64x2_t, vzip1q_s64(a, b))
M_BOTH(unpackhi_epi64, int64x2_t, vzip2q_s64(a, b))
M_SHIFT(srli_epi16, uint16x8_t, a >> (uint16_t)count)
M_SHIFT(slli_epi16, uint16x8_t, a << (uint16_t)count)
M_SHIFT(srli_epi32, uint32x4_t, a >> (uint32_t)count)
M_SHIFT(slli_epi32, uint32x4_t, a << (uint32_t)count)
M_SHIFT(srai_epi32, int32x4_t, a >> count)
M_FLOATS(add_ps, a + b)
M_FLOATS(sub_ps, a - b)
M_FLOATS(mul_ps, a *b)
M_FLOATS(max_ps, vmaxq_f32(a, b))
M_FLOATS(unpacklo_ps, vzip1q_f32(a, b))
M_FLOATS(unpackhi_ps, vzip2q_f32(a, b))
M_FLOATS(and_ps, (float32x4_t)vandq_u32((uint32x4_t)a, (uint32x4_t)b))
M_FLOATS(or_ps, (float32x4_t)vorrq_u32((uint32x4_t)a, (uint32x4_t)b))
M_FLOATS(andnot_ps, (float32x4_t)vbicq_u32((uint32x4_t)b, (uint32x4_t)a))

/* Only the first element is used. */
#define _mm_add_ss(a, b) _mm_add_ps(a, b)
#define _mm_max_ss(a, b) _mm_max_ps(a, b)

#define M_SHUFFLE(a, b, i) __builtin_shufflevector(a, b, (i)&3, (i) >> 2 & 3, ((i) >> 4 & 3) + 4, ((i) >> 6 & 3) + 4)
#define _mm_shuffle_epi32(v, i) ((__m128i)M_SHUFFLE((int32x4_t)(v), (int32x4_t)(v), i))
#define _mm256_shuffle_epi32(v, i) ((__m256i){_mm_shuffle_epi32((v).a, i), _mm_shuffle_epi32((v).b, i)})
#define _mm256_shuffle_ps(v, w, i) ((__m256){M_SHUFFLE((v).a, (w).a, i), M_SHUFFLE((v).b, (w).b, i)})
#define _MM_SHUFFLE(d, c, b, a) ((d) << 6 | (c) << 4 | (b) << 2 | (a))

/* ---- 128 bits ---- */

#define _mm_loadu_si128(p) vld1q_s8((const int8_t *)(p))
#define _mm_loadl_epi64(p) vcombine_s8(vld1_s8((const int8_t *)(p)), vdup_n_s8(0))
#define _mm_storeu_si128(p, v) vst1q_s8((int8_t *)(p), v)
#define _mm_storel_epi64(p, v) vst1_s8((int8_t *)(p), vget_low_s8(v))
#define _mm_loadu_ps(p) vld1q_f32(p)
#define _mm_broadcast_ss(p) vld1q_dup_f32(p)
#define _mm_setzero_si128() vdupq_n_s8(0)
#define _mm_set1_epi8(x) vdupq_n_s8((int8_t)(x))
#define _mm_set1_epi16(x) ((__m128i)vdupq_n_s16(x))
#define _mm_setr_epi8(...) ((int8x16_t){__VA_ARGS__})
#define _mm_setr_epi32(...) ((__m128i)(int32x4_t){__VA_ARGS__})
#define _mm_cvtsi32_si128(x) ((__m128i)vsetq_lane_s32(x, vdupq_n_s32(0), 0))
#define _mm_cvtsi64_si128(x) ((__m128i)vsetq_lane_s64(x, vdupq_n_s64(0), 0))
#define _mm_cvtsi128_si32(v) vgetq_lane_s32((int32x4_t)(v), 0)
#define _mm_cvtss_f32(v) vgetq_lane_f32(v, 0)
#define _mm_extract_epi16(v, i) ((int)vgetq_lane_u16((uint16x8_t)(v), i))
#define _mm_srli_si128(v, bytes) vextq_s8(v, vdupq_n_s8(0), bytes)
#define _mm_movehl_ps(a, b) vcombine_f32(vget_high_f32(b), vget_high_f32(a))
#define _mm_movehdup_ps(v) vtrn2q_f32(v, v)
#define _mm_cvtph_ps(v) vcvt_f32_f16(vget_low_f16((float16x8_t)(v)))

M_OP float _cvtsh_ss(unsigned short half)
{
    __fp16 value;
    memcpy(&value, &half, sizeof(value));
    return (float)value;
}

M_OP unsigned short _cvtss_sh(float x, int unused)
{
    const __fp16 value = (__fp16)x;
    unsigned short half;
    (void)unused;
    memcpy(&half, &value, sizeof(half));
    return half;
}

/* ---- 256 bits: memory, constants, halves ---- */

M_OP __m256i _mm256_loadu_si256(const __m256i *p)
{
    return (__m256i){vld1q_s8((const int8_t *)p), vld1q_s8((const int8_t *)p + 16)};
}

M_OP void _mm256_storeu_si256(__m256i *p, __m256i v)
{
    vst1q_s8((int8_t *)p, v.a);
    vst1q_s8((int8_t *)p + 16, v.b);
}

M_OP __m256 _mm256_loadu_ps(const float *p)
{
    return (__m256){vld1q_f32(p), vld1q_f32(p + 4)};
}

M_OP void _mm256_storeu_ps(float *p, __m256 v)
{
    vst1q_f32(p, v.a);
    vst1q_f32(p + 4, v.b);
}

M_OP __m256 _mm256_broadcastss_ps(__m128 v)
{
    return (__m256){vdupq_laneq_f32(v, 0), vdupq_laneq_f32(v, 0)};
}

M_OP __m256i _mm256_broadcastsi128_si256(__m128i v)
{
    return (__m256i){v, v};
}

#define _mm256_set1_ps(x) _mm256_broadcastss_ps(vdupq_n_f32(x))
#define _mm256_broadcast_ss(p) _mm256_set1_ps(*(p))
#define _mm256_setzero_ps() _mm256_set1_ps(0)
#define _mm256_setzero_si256() _mm256_broadcastsi128_si256(_mm_setzero_si128())
#define _mm256_set1_epi8(x) _mm256_broadcastsi128_si256(_mm_set1_epi8(x))
#define _mm256_set1_epi16(x) _mm256_broadcastsi128_si256(_mm_set1_epi16(x))
#define _mm256_set1_epi32(x) _mm256_broadcastsi128_si256((__m128i)vdupq_n_s32(x))
#define _mm256_set1_epi64x(x) _mm256_broadcastsi128_si256((__m128i)vdupq_n_s64(x))
#define _mm256_setr_epi32(a, b, c, d, e, f, g, h) ((__m256i){_mm_setr_epi32(a, b, c, d), _mm_setr_epi32(e, f, g, h)})
#define _mm256_setr_epi64x(a, b, c, d) ((__m256i){(__m128i)(int64x2_t){a, b}, (__m128i)(int64x2_t){c, d}})
#define _mm256_set_m128(high, low) ((__m256){low, high})
#define _mm256_castps256_ps128(v) ((v).a)
#define _mm256_extractf128_ps(v, i) ((i) ? (v).b : (v).a)
#define _mm256_castsi256_si128(v) ((v).a)
#define _mm256_extracti128_si256(v, i) ((i) ? (v).b : (v).a)
#define _mm256_castps128_ps256(v) ((__m256){v, vdupq_n_f32(0)})
#define _mm256_castsi128_si256(v) ((__m256i){v, vdupq_n_s8(0)})

/* Replaces the upper half. */
M_OP __m256i _mm256_inserti128_si256(__m256i v, __m128i high, int unused)
{
    (void)unused;
    return (__m256i){v.a, high};
}

M_OP __m256 _mm256_castsi256_ps(__m256i v)
{
    return (__m256){(__m128)v.a, (__m128)v.b};
}

M_OP __m256i _mm256_castps_si256(__m256 v)
{
    return (__m256i){(__m128i)v.a, (__m128i)v.b};
}

/* Blends whole halves: the upper one of b. */
#define _mm256_blend_epi32(v, w, halves) ((__m256i){(v).a, (w).b})
#define M_HALF(v, w, i) ((i) == 0 ? (v).a : (i) == 1 ? (v).b : (i) == 2 ? (w).a : (w).b)
#define _mm256_permute2f128_ps(v, w, i) ((__m256){M_HALF(v, w, (i)&3), M_HALF(v, w, (i) >> 4 & 3)})
#define _mm256_permute2x128_si256(v, w, i) ((__m256i){M_HALF(v, w, (i)&3), M_HALF(v, w, (i) >> 4 & 3)})

/* ---- 256 bits: other operations ---- */

M_OP __m256 _mm256_fmadd_ps(__m256 a, __m256 b, __m256 c)
{
    return (__m256){vfmaq_f32(c.a, a.a, b.a), vfmaq_f32(c.b, a.b, b.b)};
}

M_OP __m256 _mm256_fnmadd_ps(__m256 a, __m256 b, __m256 c)
{
    return (__m256){vfmsq_f32(c.a, a.a, b.a), vfmsq_f32(c.b, a.b, b.b)};
}

/* Selects b if the sign of the mask is set. */
M_OP __m256 _mm256_blendv_ps(__m256 a, __m256 b, __m256 mask)
{
    const uint32x4_t low = vcltq_s32((int32x4_t)mask.a, vdupq_n_s32(0));
    const uint32x4_t high = vcltq_s32((int32x4_t)mask.b, vdupq_n_s32(0));
    return (__m256){vbslq_f32(low, b.a, a.a), vbslq_f32(high, b.b, a.b)};
}

M_OP __m256i _mm256_abs_epi8(__m256i v)
{
    return (__m256i){vabsq_s8(v.a), vabsq_s8(v.b)};
}

M_OP __m256 _mm256_cvtepi32_ps(__m256i v)
{
    return (__m256){vcvtq_f32_s32((int32x4_t)v.a), vcvtq_f32_s32((int32x4_t)v.b)};
}

M_OP __m256i _mm256_cvtps_epi32(__m256 v)
{
    return (__m256i){(__m128i)vcvtnq_s32_f32(v.a), (__m128i)vcvtnq_s32_f32(v.b)};
}

M_OP __m256i _mm256_cvttps_epi32(__m256 v)
{
    return (__m256i){(__m128i)vcvtq_s32_f32(v.a), (__m128i)vcvtq_s32_f32(v.b)};
}

M_OP __m256 _mm256_cvtph_ps(__m128i v)
{
    const float16x8_t halves = (float16x8_t)v;
    return (__m256){vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
}

M_OP __m256i _mm256_cvtepi8_epi16(__m128i v)
{
    return (__m256i){(__m128i)vmovl_s8(vget_low_s8(v)), (__m128i)vmovl_high_s8(v)};
}

M_OP __m256i _mm256_cvtepi8_epi32(__m128i v)
{
    const int16x8_t wide = vmovl_s8(vget_low_s8(v));
    return (__m256i){(__m128i)vmovl_s16(vget_low_s16(wide)), (__m128i)vmovl_high_s16(wide)};
}

M_OP __m256i _mm256_cvtepu8_epi32(__m128i v)
{
    const uint16x8_t wide = vmovl_u8(vget_low_u8((uint8x16_t)v));
    return (__m256i){(__m128i)vmovl_u16(vget_low_u16(wide)), (__m128i)vmovl_high_u16(wide)};
}

M_OP __m256 _mm256_permutevar8x32_ps(__m256 v, __m256i places)
{
    const uint8x16x2_t table = {{(uint8x16_t)v.a, (uint8x16_t)v.b}};
    const uint32x4_t four = vdupq_n_u32(0x04040404), within = vdupq_n_u32(0x03020100), seven = vdupq_n_u32(7);
    const uint32x4_t low = vmlaq_u32(within, vandq_u32((uint32x4_t)places.a, seven), four);
    const uint32x4_t high = vmlaq_u32(within, vandq_u32((uint32x4_t)places.b, seven), four);
    return (__m256){(__m128)vqtbl2q_u8(table, (uint8x16_t)low), (__m128)vqtbl2q_u8(table, (uint8x16_t)high)};
}

#define _mm256_permutevar8x32_epi32(v, places)                                                                         \
    _mm256_castps_si256(_mm256_permutevar8x32_ps(_mm256_castsi256_ps(v), places))

#endif
