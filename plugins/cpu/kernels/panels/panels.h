/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the kernels: weights in panels. 16 rows of W lie side by side: one load has the same four digits of all of
 * them, and 16 results come out of one vector without being added up across it. All bytes of a row stay what they are,
 * so that a panel is as large as its rows; only signed digits of 8 bits have 128 added, since the instructions for dot
 * products want one operand without sign.
 *
 * A block of the type becomes a block of the panel, 16 times as large: first the half that does not fill a word of four
 * bytes, where the type has one, of row 0, row 1 and so on; then the words of the block in order, each of row 0, row 1
 * and so on. Planar types: the digits of all rows as blocks of 32, then the scales, group by group, 16 halves each.
 */
#ifndef CPU_PANELS_H
#define CPU_PANELS_H

#include "plugins/cpu/kernels/kernels.h"

#define PANEL_ROWS 16u
#define PANEL_WORD (4u * PANEL_ROWS) /* bytes of a word of every row */
#define CPU_PANEL_VALUES 32768u      /* most values of a row */
#define PANEL_HALF (2u * PANEL_ROWS) /* of a half of every row */

/* How the rows of a type lie in a panel. */
struct panel_form {
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t half_at; /* offset of the half in a block of a row; PANEL_NO_HALF: it is words alone */
    uint32_t flip;    /* 0x80: the words are digits with a sign */
    uint32_t planar;  /* scales in plane 1, one for so many values; 0: not planar */
};

#define PANEL_NO_HALF UINT32_MAX

/* The form of a type; block_values is 0 where it has none. */
struct panel_form cpu_panel_form(uint32_t type);

/* Bytes of a panel of rows of k values, and where its scales begin (planar types). */
size_t cpu_panel_bytes(const struct panel_form *form, size_t k);
static inline size_t cpu_panel_scales_at(const struct panel_form *form, size_t k)
{
    return k / form->block_values * form->block_bytes * PANEL_ROWS;
}

/* Panels where they are: their size, and where planar types have their scales. */
struct panels {
    const uint8_t *first;
    size_t bytes;
    size_t scales_at;
    size_t blocks;
};

static inline struct panels cpu_panels_of(const struct cpu_matmul *call)
{
    const struct panel_form form = cpu_panel_form(call->w.type);
    return (struct panels){call->w.panels, cpu_panel_bytes(&form, call->k), cpu_panel_scales_at(&form, call->k),
                           call->k / form.block_values};
}

#endif
