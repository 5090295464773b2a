/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a type of weights is to kernels: the constants that weights.h reads, and the layout that pack.c writes. Pure.
 */
#ifndef SDK_GPU_KERNELS_FORM_H
#define SDK_GPU_KERNELS_FORM_H

#include <stdint.h>

/* How values are scaled, and the tables of levels: the numbers of weights.h. */
enum {
    FORM_SYMMETRIC,
    FORM_ASYMMETRIC,
    FORM_MINIMUM,
    FORM_LEVELLED,
    FORM_POWERS,
    FORM_SUPER,
    FORM_SUPER16,
    FORM_SUPER16M,
    FORM_SUPERL,
    FORM_BFLOAT
};

enum { FORM_NO_LEVELS, FORM_IQ4, FORM_NF4, FORM_MXFP4, FORM_BOOK };

#define FORM_BLOCK 32u /* values */
#define FORM_TILE 32u  /* rows that are interleaved */

struct gpu_form {
    uint32_t bits;   /**< of a digit; 16 and 32: of a float */
    uint32_t scales; /**< FORM_... */
    uint32_t span;   /**< blocks under one scale of planar types and those like them; 0: the row */
    uint32_t levels;
    uint32_t planes; /**< digits; scales; others */
};

/** Writes the form of a type; 0 for a type that kernels do not read. */
int32_t gpu_form_of(uint32_t type, struct gpu_form *out_form);

/** Words of a row of `width` values in a plane. */
uint64_t gpu_form_words(const struct gpu_form *form, uint32_t plane, uint64_t width);

#endif
