/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the vector kernels: layout of blocks of 32 weights, as constants that the compiler folds into each type's
 * kernel.
 */
#ifndef CPU_VECTOR_TRAITS_H
#define CPU_VECTOR_TRAITS_H

#include "plugins/cpu/kernels/kernels.h"

#include <string.h>

/* Functions take constants as arguments: one copy per type and tile, loops over constants unrolled. */
#define CPU_INLINE static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define CPU_UNROLL _Pragma("clang loop unroll(full)")
#define CPU_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define CPU_UNROLL _Pragma("GCC unroll 16")
#define CPU_NO_UNROLL _Pragma("GCC unroll 1")
#endif
#ifdef SIMD_EMULATE
/* Emulated instructions, unrolled and optimized further, would take minutes to compile. */
#undef CPU_UNROLL
#define CPU_UNROLL CPU_NO_UNROLL
#ifndef __clang__
#pragma GCC optimize 1
#endif
#endif

struct block32 {
    uint32_t bits;         /* 4, 5 or 8; fifth bits are a word before the others */
    uint32_t block_bytes;  /* bytes of a block in plane 0 */
    uint32_t codes_at;     /* offset of the codes in a block */
    uint32_t planar;       /* scales in plane 1, 8-bit codes have zero point 128 */
    uint32_t minimum;      /* a minimum follows the scale: value = d * q + m */
    uint32_t group_blocks; /* blocks that share a scale */
    uint32_t type;
};

/* Traits of PLAIN formats and those of CPU_ROW4_UNPACKED; of others they mean nothing. */
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    static const struct block32 block32_##name = {                                                                     \
        bits, bytes, bytes - values * ((bits) == 5 ? 4 : bits) / 8, 0, CPU_MINIMUM_##code, 1, ACCEL_##ID};
#include <accel/quant/formats.def>
static const struct block32 block32_q8_g32 = {8, 32, 0, 1, 0, 1, ACCEL_Q8_G32};
static const struct block32 block32_q8_g128 = {8, 32, 0, 1, 0, 4, ACCEL_Q8_G128};
static const struct block32 block32_q4_g32 = {4, 16, 0, 1, 0, 1, ACCEL_Q4_G32};
static const struct block32 block32_q4_g128 = {4, 16, 0, 1, 0, 4, ACCEL_Q4_G128};

CPU_INLINE const uint8_t *codes_of(const struct block32 f, const struct cpu_matrix *w, size_t row)
{
    return (const uint8_t *)w->plane[0] + row * w->stride[0] + f.codes_at;
}

CPU_INLINE const uint8_t *scales_of(const struct block32 f, const struct cpu_matrix *w, size_t row)
{
    return f.planar ? (const uint8_t *)w->plane[1] + row * w->stride[1]
                    : (const uint8_t *)w->plane[0] + row * w->stride[0];
}

/* Returns the offset of a block's scale from scales_of. */
CPU_INLINE size_t scale_at(const struct block32 f, size_t block)
{
    return f.planar ? block / f.group_blocks * 2 : block * f.block_bytes;
}

#define LINE 64u /* bytes of a cache line */

/* Prefetches `bytes` (a constant) from p on. Harmless past the end of a matrix. */
CPU_INLINE void prefetch_lines(const void *p, size_t bytes)
{
    CPU_UNROLL
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch((const char *)p + at);
}

#define ROWS_AHEAD 8u

/*
 * Prefetches the same position of the row that is ROWS_AHEAD rows further on. Rows are too short for the hardware
 * prefetcher, which restarts with each (doc/benchmark.md, prefetch of weight rows). Harmless past the end of a matrix.
 */
CPU_INLINE void prefetch_ahead(const void *p, size_t row_bytes)
{
    __builtin_prefetch((const char *)p + ROWS_AHEAD * row_bytes);
}

CPU_INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
