/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the kernels: packed weights. A panel interleaves 16 rows of W: one load reads the same 4 codes of all
 * rows, and a vector holds 16 results without a horizontal sum. The bytes of a row are unchanged, so that a panel is as
 * large as its rows; only signed 8-bit codes get 128 added, since dot-product instructions require one unsigned
 * operand.
 *
 * A block of the type becomes a block of the panel, 16 times as large: first the 2-byte half that does not fill a
 * 4-byte word, if the type has one, of rows 0, 1 and so on; then the words of the block in order, each of rows 0, 1 and
 * so on. Words of q6_k are in the order in which GEMV reads them. Planar types: codes of all rows as blocks of 32, then
 * the scales, group by group, 16 halves each.
 */
#ifndef CPU_PANELS_H
#define CPU_PANELS_H

#include "plugins/cpu/kernels/kernels.h"

#define PANEL_ROWS 16u
#define PANEL_WORD (4u * PANEL_ROWS) /* bytes of one word of every row */
#define CPU_PANEL_VALUES 32768u      /* most values of a row */
#define PANEL_HALF (2u * PANEL_ROWS) /* bytes of one half of every row */

/* Layout of a type's rows in a panel. */
struct panel_format {
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t half_at; /* offset of the half in a block of a row; PANEL_NO_HALF: words only */
    uint32_t flip;    /* 0x80: the words are signed codes */
    uint32_t planar;  /* values per scale of plane 1; 0: not planar */
};

#define PANEL_NO_HALF UINT32_MAX

/* Returns the panel format of a type; block_values is 0 if it has none. */
struct panel_format cpu_panel_format(uint32_t type);

/* Returns the place of word `word` of a row's block in the panel's block. q6_k: scales, then the upper bits and the
 * lower bits of each half of the codes, so that GEMV reads one ascending stream, which processors prefetch. Runs of
 * four words stay together. */
static inline size_t cpu_panel_word(uint32_t type, size_t word)
{
    if (type != ACCEL_Q6_K)
        return word;
    return word >= 48 ? word - 48 : word >= 32 ? word - 28 + (word >= 40 ? 16 : 0) : word + 12 + (word >= 16 ? 8 : 0);
}

/* Bytes of a panel of rows of k values, and the offset of its scales (planar types). */
size_t cpu_panel_bytes(const struct panel_format *format, size_t k);
static inline size_t cpu_panel_scales_at(const struct panel_format *format, size_t k)
{
    return k / format->block_values * format->block_bytes * PANEL_ROWS;
}

#endif
