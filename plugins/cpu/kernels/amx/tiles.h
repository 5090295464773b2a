/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the AMX kernels: the tile instructions that they use. Under SIMD_EMULATE or EMULATE_AMX each is a
 * function of the tests with the instruction's semantics, so that the kernels can be tested on machines without AMX.
 *
 * A thread has eight tiles, of up to 16 rows of 64 bytes. `tiles_begin` sets their shapes and zeroes them; `tiles_end`
 * releases them, after which the system need not save them.
 */
#ifndef CPU_AMX_TILES_H
#define CPU_AMX_TILES_H

#include "plugins/cpu/kernels/vector/simd_bf16.h"

/* The operand of LDTILECFG. */
struct tile_shapes {
    uint8_t palette; /* 1 */
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16]; /* of the first eight */
    uint8_t rows[16];
};

#define TILE_ROWS 16u

/* Eight whole tiles. */
static const struct tile_shapes tiles_whole = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

#if !defined(SIMD_EMULATE) && !defined(EMULATE_AMX)
#include <immintrin.h>

/* Some compilers do not model the memory that these instructions read: flushes earlier stores to memory. */
#define TILE_WRITTEN() __asm__ volatile("" : : : "memory")

#define tiles_begin(shapes)                                                                                            \
    (__extension__({                                                                                                   \
        TILE_WRITTEN();                                                                                                \
        _tile_loadconfig(shapes);                                                                                      \
    }))
#define tiles_end() _tile_release()
#define tile_zero(t) _tile_zero(t)
#define tile_load(t, base, stride)                                                                                     \
    (__extension__({                                                                                                   \
        TILE_WRITTEN();                                                                                                \
        _tile_loadd(t, base, stride);                                                                                  \
    }))
#define tile_store(t, base, stride)                                                                                    \
    (__extension__({                                                                                                   \
        _tile_stored(t, base, stride);                                                                                 \
        TILE_WRITTEN();                                                                                                \
    }))
#define tile_dot8(sums, a, b) _tile_dpbssd(sums, a, b)
#define tile_dot16(sums, a, b) _tile_dpbf16ps(sums, a, b)
#else
#include "tiles_emulated.h"
#endif

#endif
