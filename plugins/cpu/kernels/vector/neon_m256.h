/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the aarch64 kernels: vectors of 128 bits, and of 256 bits as two registers, under Intel's names of the
 * operations, so that vector/ has one source. Only operations in use are here, and only for the operands in use: bytes
 * that are multiplied as unsigned are below 128, byte shuffles have indices 0 .. 15 or 128 and above, and elements that
 * Intel leaves undefined above a widened vector are zero.
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
#define M_PAIR(f, v, ...) ((__m256i){f((v).a, __VA_ARGS__), f((v).b, __VA_ARGS__)})

/* Reinterprets the bytes as elements of other widths. */
#define B_S16(v) vreinterpretq_s16_s8(v)
#define B_S32(v) vreinterpretq_s32_s8(v)
#define B_S64(v) vreinterpretq_s64_s8(v)
#define B_U8(v) vreinterpretq_u8_s8(v)
#define B_U16(v) vreinterpretq_u16_s8(v)
#define B_U32(v) vreinterpretq_u32_s8(v)
#define B_U64(v) vreinterpretq_u64_s8(v)
#define B_F32(v) vreinterpretq_f32_s8(v)

/* ---- 128 bits: memory, constants, casts ---- */

M_OP __m128i _mm_loadu_si128(const __m128i *p)
{
    return vld1q_s8((const int8_t *)p);
}

M_OP __m128i _mm_loadl_epi64(const __m128i *p)
{
    return vcombine_s8(vld1_s8((const int8_t *)p), vdup_n_s8(0));
}

M_OP void _mm_storeu_si128(__m128i *p, __m128i v)
{
    vst1q_s8((int8_t *)p, v);
}

M_OP __m128 _mm_loadu_ps(const float *p)
{
    return vld1q_f32(p);
}

M_OP __m128 _mm_broadcast_ss(const float *p)
{
    return vld1q_dup_f32(p);
}

M_OP __m128i _mm_setzero_si128(void)
{
    return vdupq_n_s8(0);
}

M_OP __m128i _mm_set1_epi8(char x)
{
    return vdupq_n_s8((int8_t)x);
}

M_OP __m128i _mm_set1_epi16(short x)
{
    return vreinterpretq_s8_s16(vdupq_n_s16(x));
}

#define _mm_setr_epi8(...) ((int8x16_t){__VA_ARGS__})
#define _mm_setr_epi32(...) vreinterpretq_s8_s32((int32x4_t){__VA_ARGS__})

M_OP __m128i _mm_cvtsi32_si128(int x)
{
    return vreinterpretq_s8_s32(vsetq_lane_s32(x, vdupq_n_s32(0), 0));
}

M_OP __m128i _mm_cvtsi64_si128(long long x)
{
    return vreinterpretq_s8_s64(vsetq_lane_s64(x, vdupq_n_s64(0), 0));
}

M_OP int _mm_cvtsi128_si32(__m128i v)
{
    return vgetq_lane_s32(B_S32(v), 0);
}

M_OP float _mm_cvtss_f32(__m128 v)
{
    return vgetq_lane_f32(v, 0);
}

#define _mm_extract_epi16(v, i) ((int)vgetq_lane_u16(B_U16(v), i))

/* ---- 128 bits: arithmetic ---- */

M_OP __m128i _mm_and_si128(__m128i a, __m128i b)
{
    return vandq_s8(a, b);
}

M_OP __m128i _mm_or_si128(__m128i a, __m128i b)
{
    return vorrq_s8(a, b);
}

M_OP __m128i _mm_sub_epi8(__m128i a, __m128i b)
{
    return vsubq_s8(a, b);
}

M_OP __m128i _mm_add_epi16(__m128i a, __m128i b)
{
    return vreinterpretq_s8_s16(vaddq_s16(B_S16(a), B_S16(b)));
}

M_OP __m128i _mm_sub_epi16(__m128i a, __m128i b)
{
    return vreinterpretq_s8_s16(vsubq_s16(B_S16(a), B_S16(b)));
}

M_OP __m128i _mm_add_epi32(__m128i a, __m128i b)
{
    return vreinterpretq_s8_s32(vaddq_s32(B_S32(a), B_S32(b)));
}

M_OP __m128i _mm_hadd_epi32(__m128i a, __m128i b)
{
    return vreinterpretq_s8_s32(vpaddq_s32(B_S32(a), B_S32(b)));
}

M_OP __m128i _mm_srli_epi16(__m128i v, int count)
{
    return vreinterpretq_s8_u16(B_U16(v) >> (uint16_t)count);
}

M_OP __m128i _mm_slli_epi16(__m128i v, int count)
{
    return vreinterpretq_s8_u16(B_U16(v) << (uint16_t)count);
}

M_OP __m128i _mm_srlv_epi32(__m128i v, __m128i counts)
{
    return vreinterpretq_s8_u32(vshlq_u32(B_U32(v), vnegq_s32(B_S32(counts))));
}

#define _mm_srli_si128(v, bytes) vextq_s8(v, vdupq_n_s8(0), bytes)

M_OP __m128i _mm_shuffle_epi8(__m128i v, __m128i places)
{
    return vqtbl1q_s8(v, B_U8(places));
}

#define _mm_shuffle_epi32(v, i)                                                                                        \
    vreinterpretq_s8_s32(                                                                                              \
        __builtin_shufflevector(B_S32(v), B_S32(v), (i)&3, (i) >> 2 & 3, ((i) >> 4 & 3) + 4, ((i) >> 6 & 3) + 4))

M_OP __m128i _mm_unpacklo_epi8(__m128i a, __m128i b)
{
    return vzip1q_s8(a, b);
}

M_OP __m128i _mm_unpackhi_epi8(__m128i a, __m128i b)
{
    return vzip2q_s8(a, b);
}

M_OP __m128i _mm_unpackhi_epi64(__m128i a, __m128i b)
{
    return vreinterpretq_s8_s64(vzip2q_s64(B_S64(a), B_S64(b)));
}

M_OP __m128i _mm_packs_epi32(__m128i a, __m128i b)
{
    return vreinterpretq_s8_s16(vqmovn_high_s32(vqmovn_s32(B_S32(a)), B_S32(b)));
}

M_OP __m128i _mm_packs_epi16(__m128i a, __m128i b)
{
    return vqmovn_high_s16(vqmovn_s16(B_S16(a)), B_S16(b));
}

M_OP __m128i _mm_madd_epi16(__m128i a, __m128i b)
{
    const int32x4_t low = vmull_s16(vget_low_s16(B_S16(a)), vget_low_s16(B_S16(b)));
    return vreinterpretq_s8_s32(vpaddq_s32(low, vmull_high_s16(B_S16(a), B_S16(b))));
}

M_OP __m128i m_maddubs(__m128i a, __m128i b)
{
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    return vreinterpretq_s8_s16(vpaddq_s16(low, vmull_high_s8(a, b)));
}

M_OP __m128 _mm_add_ps(__m128 a, __m128 b)
{
    return vaddq_f32(a, b);
}

M_OP __m128 _mm_max_ps(__m128 a, __m128 b)
{
    return vmaxq_f32(a, b);
}

/* Only the first element is used. */
#define _mm_add_ss(a, b) _mm_add_ps(a, b)
#define _mm_max_ss(a, b) _mm_max_ps(a, b)

M_OP __m128 _mm_movehl_ps(__m128 a, __m128 b)
{
    return vcombine_f32(vget_high_f32(b), vget_high_f32(a));
}

M_OP __m128 _mm_movehdup_ps(__m128 v)
{
    return vtrn2q_f32(v, v);
}

M_OP __m128 _mm_cvtph_ps(__m128i v)
{
    return vcvt_f32_f16(vget_low_f16(vreinterpretq_f16_s8(v)));
}

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

M_OP __m256 _mm256_set1_ps(float x)
{
    return (__m256){vdupq_n_f32(x), vdupq_n_f32(x)};
}

M_OP __m256 _mm256_broadcast_ss(const float *p)
{
    return _mm256_set1_ps(*p);
}

M_OP __m256 _mm256_setzero_ps(void)
{
    return _mm256_set1_ps(0);
}

M_OP __m256i _mm256_broadcastsi128_si256(__m128i v)
{
    return (__m256i){v, v};
}

M_OP __m256i _mm256_setzero_si256(void)
{
    return _mm256_broadcastsi128_si256(vdupq_n_s8(0));
}

M_OP __m256i _mm256_set1_epi8(char x)
{
    return _mm256_broadcastsi128_si256(vdupq_n_s8((int8_t)x));
}

M_OP __m256i _mm256_set1_epi16(short x)
{
    return _mm256_broadcastsi128_si256(vreinterpretq_s8_s16(vdupq_n_s16(x)));
}

M_OP __m256i _mm256_set1_epi32(int x)
{
    return _mm256_broadcastsi128_si256(vreinterpretq_s8_s32(vdupq_n_s32(x)));
}

M_OP __m256i _mm256_set1_epi64x(long long x)
{
    return _mm256_broadcastsi128_si256(vreinterpretq_s8_s64(vdupq_n_s64(x)));
}

#define _mm256_setr_epi32(a, b, c, d, e, f, g, h)                                                                      \
    ((__m256i){vreinterpretq_s8_s32((int32x4_t){a, b, c, d}), vreinterpretq_s8_s32((int32x4_t){e, f, g, h})})
#define _mm256_setr_epi64x(a, b, c, d)                                                                                 \
    ((__m256i){vreinterpretq_s8_s64((int64x2_t){a, b}), vreinterpretq_s8_s64((int64x2_t){c, d})})

M_OP __m256 _mm256_broadcastss_ps(__m128 v)
{
    return (__m256){vdupq_laneq_f32(v, 0), vdupq_laneq_f32(v, 0)};
}

M_OP __m256 _mm256_set_m128(__m128 high, __m128 low)
{
    return (__m256){low, high};
}

#define _mm256_castps256_ps128(v) ((v).a)
#define _mm256_extractf128_ps(v, i) ((i) ? (v).b : (v).a)
#define _mm256_castsi256_si128(v) ((v).a)
#define _mm256_extracti128_si256(v, i) ((i) ? (v).b : (v).a)

M_OP __m256 _mm256_castps128_ps256(__m128 v)
{
    return (__m256){v, vdupq_n_f32(0)};
}

M_OP __m256i _mm256_castsi128_si256(__m128i v)
{
    return (__m256i){v, vdupq_n_s8(0)};
}

/* Replaces the upper half. */
M_OP __m256i _mm256_inserti128_si256(__m256i v, __m128i high, int unused)
{
    (void)unused;
    return (__m256i){v.a, high};
}

M_OP __m256 _mm256_castsi256_ps(__m256i v)
{
    return (__m256){B_F32(v.a), B_F32(v.b)};
}

M_OP __m256i _mm256_castps_si256(__m256 v)
{
    return (__m256i){vreinterpretq_s8_f32(v.a), vreinterpretq_s8_f32(v.b)};
}

/* ---- 256 bits: floats ---- */

M_OP __m256 _mm256_add_ps(__m256 a, __m256 b)
{
    return (__m256){a.a + b.a, a.b + b.b};
}

M_OP __m256 _mm256_sub_ps(__m256 a, __m256 b)
{
    return (__m256){a.a - b.a, a.b - b.b};
}

M_OP __m256 _mm256_mul_ps(__m256 a, __m256 b)
{
    return (__m256){a.a * b.a, a.b * b.b};
}

M_OP __m256 _mm256_max_ps(__m256 a, __m256 b)
{
    return (__m256){vmaxq_f32(a.a, b.a), vmaxq_f32(a.b, b.b)};
}

M_OP __m256 _mm256_fmadd_ps(__m256 a, __m256 b, __m256 c)
{
    return (__m256){vfmaq_f32(c.a, a.a, b.a), vfmaq_f32(c.b, a.b, b.b)};
}

M_OP __m256 _mm256_fnmadd_ps(__m256 a, __m256 b, __m256 c)
{
    return (__m256){vfmsq_f32(c.a, a.a, b.a), vfmsq_f32(c.b, a.b, b.b)};
}

M_OP __m256 _mm256_andnot_ps(__m256 a, __m256 b)
{
    const uint32x4_t low = vbicq_u32(vreinterpretq_u32_f32(b.a), vreinterpretq_u32_f32(a.a));
    const uint32x4_t high = vbicq_u32(vreinterpretq_u32_f32(b.b), vreinterpretq_u32_f32(a.b));
    return (__m256){vreinterpretq_f32_u32(low), vreinterpretq_f32_u32(high)};
}

M_OP __m256 _mm256_cvtepi32_ps(__m256i v)
{
    return (__m256){vcvtq_f32_s32(B_S32(v.a)), vcvtq_f32_s32(B_S32(v.b))};
}

M_OP __m256i _mm256_cvtps_epi32(__m256 v)
{
    return (__m256i){vreinterpretq_s8_s32(vcvtnq_s32_f32(v.a)), vreinterpretq_s8_s32(vcvtnq_s32_f32(v.b))};
}

M_OP __m256 _mm256_cvtph_ps(__m128i v)
{
    const float16x8_t halves = vreinterpretq_f16_s8(v);
    return (__m256){vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
}

/* Selects b if the sign of the mask is set. */
M_OP __m256 _mm256_blendv_ps(__m256 a, __m256 b, __m256 mask)
{
    const uint32x4_t low = vcltq_s32(vreinterpretq_s32_f32(mask.a), vdupq_n_s32(0));
    const uint32x4_t high = vcltq_s32(vreinterpretq_s32_f32(mask.b), vdupq_n_s32(0));
    return (__m256){vbslq_f32(low, b.a, a.a), vbslq_f32(high, b.b, a.b)};
}

#define M_SHUFFLE(a, b, i) __builtin_shufflevector(a, b, (i)&3, (i) >> 2 & 3, ((i) >> 4 & 3) + 4, ((i) >> 6 & 3) + 4)
#define _mm256_shuffle_ps(v, w, i) ((__m256){M_SHUFFLE((v).a, (w).a, i), M_SHUFFLE((v).b, (w).b, i)})
#define _MM_SHUFFLE(d, c, b, a) ((d) << 6 | (c) << 4 | (b) << 2 | (a))

M_OP __m256 _mm256_unpacklo_ps(__m256 a, __m256 b)
{
    return (__m256){vzip1q_f32(a.a, b.a), vzip1q_f32(a.b, b.b)};
}

M_OP __m256 _mm256_unpackhi_ps(__m256 a, __m256 b)
{
    return (__m256){vzip2q_f32(a.a, b.a), vzip2q_f32(a.b, b.b)};
}

#define M_HALF(v, w, i) ((i) == 0 ? (v).a : (i) == 1 ? (v).b : (i) == 2 ? (w).a : (w).b)
#define _mm256_permute2f128_ps(v, w, i) ((__m256){M_HALF(v, w, (i)&3), M_HALF(v, w, (i) >> 4 & 3)})
#define _mm256_permute2x128_si256(v, w, i) ((__m256i){M_HALF(v, w, (i)&3), M_HALF(v, w, (i) >> 4 & 3)})

M_OP __m256i _mm256_permutevar8x32_epi32(__m256i v, __m256i places)
{
    const uint8x16x2_t table = {{B_U8(v.a), B_U8(v.b)}};
    const uint32x4_t four = vdupq_n_u32(0x04040404), within = vdupq_n_u32(0x03020100);
    const uint32x4_t seven = vdupq_n_u32(7);
    const uint8x16_t low = vreinterpretq_u8_u32(vmlaq_u32(within, vandq_u32(B_U32(places.a), seven), four));
    const uint8x16_t high = vreinterpretq_u8_u32(vmlaq_u32(within, vandq_u32(B_U32(places.b), seven), four));
    return (__m256i){vreinterpretq_s8_u8(vqtbl2q_u8(table, low)), vreinterpretq_s8_u8(vqtbl2q_u8(table, high))};
}

M_OP __m256 _mm256_permutevar8x32_ps(__m256 v, __m256i places)
{
    return _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(_mm256_castps_si256(v), places));
}

/* ---- 256 bits: integers ---- */

M_OP __m256i _mm256_and_si256(__m256i a, __m256i b)
{
    return (__m256i){vandq_s8(a.a, b.a), vandq_s8(a.b, b.b)};
}

M_OP __m256i _mm256_or_si256(__m256i a, __m256i b)
{
    return (__m256i){vorrq_s8(a.a, b.a), vorrq_s8(a.b, b.b)};
}

M_OP __m256i _mm256_xor_si256(__m256i a, __m256i b)
{
    return (__m256i){veorq_s8(a.a, b.a), veorq_s8(a.b, b.b)};
}

M_OP __m256i _mm256_add_epi8(__m256i a, __m256i b)
{
    return (__m256i){vaddq_s8(a.a, b.a), vaddq_s8(a.b, b.b)};
}

M_OP __m256i _mm256_sub_epi8(__m256i a, __m256i b)
{
    return (__m256i){vsubq_s8(a.a, b.a), vsubq_s8(a.b, b.b)};
}

M_OP __m256i _mm256_cmpeq_epi8(__m256i a, __m256i b)
{
    return (__m256i){vreinterpretq_s8_u8(vceqq_s8(a.a, b.a)), vreinterpretq_s8_u8(vceqq_s8(a.b, b.b))};
}

M_OP __m256i _mm256_add_epi16(__m256i a, __m256i b)
{
    return (__m256i){_mm_add_epi16(a.a, b.a), _mm_add_epi16(a.b, b.b)};
}

M_OP __m256i _mm256_add_epi32(__m256i a, __m256i b)
{
    return (__m256i){_mm_add_epi32(a.a, b.a), _mm_add_epi32(a.b, b.b)};
}

M_OP __m256i _mm256_sub_epi32(__m256i a, __m256i b)
{
    return (__m256i){vreinterpretq_s8_s32(vsubq_s32(B_S32(a.a), B_S32(b.a))),
                     vreinterpretq_s8_s32(vsubq_s32(B_S32(a.b), B_S32(b.b)))};
}

M_OP __m256i _mm256_hadd_epi32(__m256i a, __m256i b)
{
    return (__m256i){_mm_hadd_epi32(a.a, b.a), _mm_hadd_epi32(a.b, b.b)};
}

M_OP __m256i _mm256_madd_epi16(__m256i a, __m256i b)
{
    return (__m256i){_mm_madd_epi16(a.a, b.a), _mm_madd_epi16(a.b, b.b)};
}

M_OP __m256i _mm256_maddubs_epi16(__m256i a, __m256i b)
{
    return (__m256i){m_maddubs(a.a, b.a), m_maddubs(a.b, b.b)};
}

#define _mm256_srli_epi16(v, count) M_PAIR(_mm_srli_epi16, v, count)
#define _mm256_slli_epi16(v, count) M_PAIR(_mm_slli_epi16, v, count)

M_OP __m256i _mm256_srli_epi32(__m256i v, int count)
{
    return (__m256i){vreinterpretq_s8_u32(B_U32(v.a) >> (uint32_t)count),
                     vreinterpretq_s8_u32(B_U32(v.b) >> (uint32_t)count)};
}

M_OP __m256i _mm256_slli_epi32(__m256i v, int count)
{
    return (__m256i){vreinterpretq_s8_u32(B_U32(v.a) << (uint32_t)count),
                     vreinterpretq_s8_u32(B_U32(v.b) << (uint32_t)count)};
}

M_OP __m256i _mm256_srai_epi32(__m256i v, int count)
{
    return (__m256i){vreinterpretq_s8_s32(B_S32(v.a) >> count), vreinterpretq_s8_s32(B_S32(v.b) >> count)};
}

M_OP __m256i _mm256_srlv_epi32(__m256i v, __m256i counts)
{
    return (__m256i){_mm_srlv_epi32(v.a, counts.a), _mm_srlv_epi32(v.b, counts.b)};
}

M_OP __m256i _mm256_srlv_epi64(__m256i v, __m256i counts)
{
    return (__m256i){vreinterpretq_s8_u64(vshlq_u64(B_U64(v.a), vnegq_s64(B_S64(counts.a)))),
                     vreinterpretq_s8_u64(vshlq_u64(B_U64(v.b), vnegq_s64(B_S64(counts.b))))};
}

M_OP __m256i _mm256_shuffle_epi8(__m256i v, __m256i places)
{
    return (__m256i){_mm_shuffle_epi8(v.a, places.a), _mm_shuffle_epi8(v.b, places.b)};
}

#define _mm256_shuffle_epi32(v, i) ((__m256i){_mm_shuffle_epi32((v).a, i), _mm_shuffle_epi32((v).b, i)})

/* Blends whole halves: the upper one of b. */
#define _mm256_blend_epi32(v, w, halves) ((__m256i){(v).a, (w).b})

#define M_ZIP(name, zip, width, cast)                                                                                  \
    M_OP __m256i name(__m256i a, __m256i b)                                                                            \
    {                                                                                                                  \
        return (__m256i){cast(zip(B_S##width(a.a), B_S##width(b.a))), cast(zip(B_S##width(a.b), B_S##width(b.b)))};    \
    }
M_ZIP(_mm256_unpacklo_epi16, vzip1q_s16, 16, vreinterpretq_s8_s16)
M_ZIP(_mm256_unpackhi_epi16, vzip2q_s16, 16, vreinterpretq_s8_s16)
M_ZIP(_mm256_unpacklo_epi32, vzip1q_s32, 32, vreinterpretq_s8_s32)
M_ZIP(_mm256_unpackhi_epi32, vzip2q_s32, 32, vreinterpretq_s8_s32)
M_ZIP(_mm256_unpacklo_epi64, vzip1q_s64, 64, vreinterpretq_s8_s64)
M_ZIP(_mm256_unpackhi_epi64, vzip2q_s64, 64, vreinterpretq_s8_s64)

M_OP __m256i _mm256_packs_epi32(__m256i a, __m256i b)
{
    return (__m256i){_mm_packs_epi32(a.a, b.a), _mm_packs_epi32(a.b, b.b)};
}

M_OP __m256i _mm256_packs_epi16(__m256i a, __m256i b)
{
    return (__m256i){_mm_packs_epi16(a.a, b.a), _mm_packs_epi16(a.b, b.b)};
}

M_OP __m256i _mm256_cvtepi8_epi16(__m128i v)
{
    return (__m256i){vreinterpretq_s8_s16(vmovl_s8(vget_low_s8(v))), vreinterpretq_s8_s16(vmovl_high_s8(v))};
}

M_OP __m256i _mm256_cvtepi8_epi32(__m128i v)
{
    const int16x8_t wide = vmovl_s8(vget_low_s8(v));
    return (__m256i){vreinterpretq_s8_s32(vmovl_s16(vget_low_s16(wide))), vreinterpretq_s8_s32(vmovl_high_s16(wide))};
}

M_OP __m256i _mm256_cvtepu8_epi32(__m128i v)
{
    const uint16x8_t wide = vmovl_u8(vget_low_u8(B_U8(v)));
    return (__m256i){vreinterpretq_s8_u32(vmovl_u16(vget_low_u16(wide))), vreinterpretq_s8_u32(vmovl_high_u16(wide))};
}

M_OP __m256i _mm256_abs_epi8(__m256i v)
{
    return (__m256i){vabsq_s8(v.a), vabsq_s8(v.b)};
}

#endif
