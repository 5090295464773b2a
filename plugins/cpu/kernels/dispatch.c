/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which level this machine has, and the table of a level. Compiled for the plainest processor: nothing here may need
 * what it is about to find out.
 */
#include "config.h"

#include "declare.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const uint32_t weight_types[CPU_PLANAR] = {
    [CPU_F32] = ACCEL_F32,         [CPU_F16] = ACCEL_F16,         [CPU_BF16] = ACCEL_BF16,
    [CPU_Q8_0] = ACCEL_Q8_0,       [CPU_Q4_0] = ACCEL_Q4_0,       [CPU_Q4_1] = ACCEL_Q4_1,
    [CPU_Q8_G32] = ACCEL_Q8_G32,   [CPU_Q8_G128] = ACCEL_Q8_G128, [CPU_Q4_G32] = ACCEL_Q4_G32,
    [CPU_Q4_G128] = ACCEL_Q4_G128, [CPU_Q5_0] = ACCEL_Q5_0,       [CPU_Q5_1] = ACCEL_Q5_1,
    [CPU_Q2_K] = ACCEL_Q2_K,       [CPU_Q3_K] = ACCEL_Q3_K,       [CPU_Q4_K] = ACCEL_Q4_K,
    [CPU_Q5_K] = ACCEL_Q5_K,       [CPU_Q6_K] = ACCEL_Q6_K,       [CPU_IQ4_NL] = ACCEL_IQ4_NL,
    [CPU_IQ4_XS] = ACCEL_IQ4_XS,   [CPU_MXFP4] = ACCEL_MXFP4,
};

static int own_place(uint32_t type)
{
    for (int i = 0; i < CPU_PLANAR; i++) {
        if (weight_types[i] == type)
            return i;
    }
    return -1;
}

#define PLANAR_TYPES 60u

/* Planar types, 0 .. 59: by width, then group, then scheme; then those of 4 bits whose digits are places in a table. */
static uint32_t planar_type(uint32_t index)
{
    static const uint32_t bits[4] = {2, 3, 4, 8}, groups[6] = {5, 6, 7, 8, 9, 0};
    return index < 48 ? ACCEL_PLANAR(bits[index / 12], groups[index / 2 % 6], index % 2)
                      : ACCEL_PLANAR(4u, groups[index / 2 % 6], ACCEL_SCHEME_NF4 + index % 2);
}

int cpu_weight_of(uint32_t type)
{
    int place = own_place(type);
    for (uint32_t i = 0; place < 0 && i < PLANAR_TYPES; i++)
        place = planar_type(i) == type ? CPU_PLANAR : -1;
    return place;
}

uint32_t cpu_type_at(uint32_t index)
{
    if (index < CPU_PLANAR)
        return weight_types[index];
    index -= CPU_PLANAR;
    for (uint32_t i = 0; i < PLANAR_TYPES; i++) {
        if (own_place(planar_type(i)) < 0 && index-- == 0)
            return planar_type(i);
    }
    return ACCEL_TYPE_NONE;
}

const char *cpu_level_name(uint32_t level)
{
    static const char *const names[CPU_LEVELS] = {"scalar", "avx2", "avx512"};
    return level < CPU_LEVELS ? names[level] : "unknown";
}

#if defined(__x86_64__)

/* Extended control register 0: which register states the operating system saves. */
static uint64_t saved_states(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* True when all bits of `wanted` are set. */
static int has(uint64_t bits, uint64_t wanted)
{
    return (bits & wanted) == wanted;
}

uint32_t cpu_level_detect(void)
{
    uint32_t a, b, c, d, leaf7_b, leaf7_c;
    const uint32_t osxsave_avx_fma_f16c = 1u << 27 | 1u << 28 | 1u << 12 | 1u << 29;
    const uint32_t avx2_bmi2 = 1u << 5 | 1u << 8;
    const uint32_t f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    const uint32_t vnni = 1u << 11;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, osxsave_avx_fma_f16c))
        return CPU_LEVEL_SCALAR;
    uint64_t saved = saved_states();
    if (!has(saved, 0x6) || !__get_cpuid_count(7, 0, &a, &leaf7_b, &leaf7_c, &d) || !has(leaf7_b, avx2_bmi2))
        return CPU_LEVEL_SCALAR;
#ifndef HAVE_AVX2
    return CPU_LEVEL_SCALAR;
#endif
    if (!has(saved, 0xe6) || !has(leaf7_b, f_dq_bw_vl) || !has(leaf7_c, vnni))
        return CPU_LEVEL_AVX2;
#ifndef HAVE_AVX512
    return CPU_LEVEL_AVX2;
#else
    return CPU_LEVEL_AVX512;
#endif
}

#else

uint32_t cpu_level_detect(void)
{
    return CPU_LEVEL_SCALAR;
}

#endif

void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t level)
{
    struct cpu_kernels *table = out_kernels;
    memset(table, 0, sizeof(*table));
    table->level = CPU_LEVEL_SCALAR;
#define CPU_KERNEL_SCALAR(type, place, name, tile) table->place = cpu_##name##_scalar;
#include "kernels.def"
    if (level < CPU_LEVEL_AVX2)
        return;
#ifdef HAVE_AVX2
    table->level = CPU_LEVEL_AVX2;
#define CPU_KERNEL_AVX2(type, place, name, tile) table->place = cpu_##name##_avx2;
#include "kernels.def"
#endif
    if (level < CPU_LEVEL_AVX512)
        return;
#ifdef HAVE_AVX512
    table->level = CPU_LEVEL_AVX512;
#define CPU_KERNEL_AVX512(type, place, name, tile) table->place = cpu_##name##_avx512;
#include "kernels.def"
#endif
}
