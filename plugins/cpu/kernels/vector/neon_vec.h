/* SPDX-License-Identifier: Apache-2.0 */
/* Private to vector/vec.h: its vectors and operations on aarch64. */
#ifndef CPU_NEON_VEC_H
#define CPU_NEON_VEC_H

#include "plugins/cpu/kernels/vector/neon_m256.h"

CPU_INLINE vf v_fma(vf a, vf b, vf c)
{
    return vfmaq_f32(c, a, b);
}

/* Returns b if one operand is NaN. */
CPU_INLINE vf v_max(vf a, vf b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

CPU_INLINE vf v_min(vf a, vf b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

CPU_INLINE vf v_round(vf a)
{
    return vrndnq_f32(a);
}

CPU_INLINE vf v_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

CPU_INLINE void v_store_f16(uint16_t *p, vf v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

/* Loads exactly four bytes. */
CPU_INLINE uint8x8_t v_bytes(const void *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof(word));
    return vcreate_u8(word);
}

CPU_INLINE vf v_load_i8(const void *p)
{
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u8(v_bytes(p)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

CPU_INLINE vf v_load_u8(const void *p, unsigned shift, int mask)
{
    const uint16x8_t wide = vmovl_u8((v_bytes(p) >> (uint8_t)shift) & (uint8_t)mask);
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
}

CPU_INLINE vf v_load_bf16(const uint16_t *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

CPU_INLINE float v_sum(vf v)
{
    return vaddvq_f32(v);
}

/* Computes four horizontal sums at once. */
CPU_INLINE void v_sum4(const vf v[4], float *out)
{
    vst1q_f32(out, vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3])));
}

#endif
