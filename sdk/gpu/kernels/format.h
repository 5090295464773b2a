/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format traits of weight types in kernels: the constants that weights.h reads, and the layout that pack.c writes.
 * Pure.
 */
#ifndef SDK_GPU_KERNELS_FORMAT_H
#define SDK_GPU_KERNELS_FORMAT_H

#include <stdint.h>

/* Schemes of scales, and codebooks: the numbers of weights.h. */
enum {
    FORMAT_SYMMETRIC,
    FORMAT_ASYMMETRIC,
    FORMAT_MINIMUM,
    FORMAT_LOOKUP,
    FORMAT_PAIRS,
    FORMAT_POWERS,
    FORMAT_SUPER,
    FORMAT_SUPER16,
    FORMAT_SUPER16M,
    FORMAT_SUPERL,
    FORMAT_SUPER16L,
    FORMAT_BFLOAT
};

enum {
    FORMAT_NO_CODEBOOK,
    FORMAT_CODEBOOK_IQ4,
    FORMAT_CODEBOOK_NF4,
    FORMAT_CODEBOOK_MXFP4,
    FORMAT_CODEBOOK_ROW,
    FORMAT_CODEBOOK_IQ1,
    FORMAT_CODEBOOK_IQ2,
    FORMAT_CODEBOOK_IQ3_XXS,
    FORMAT_CODEBOOK_IQ3_S,
    FORMAT_CODEBOOK_E4M3
};

#define FORMAT_BLOCK 32u /* values */
#define FORMAT_TILE 32u  /* rows that are interleaved */

struct gpu_format {
    uint32_t bits;   /**< of a code; 16 and 32: of a float */
    uint32_t scales; /**< FORM_... */
    uint32_t span;   /**< blocks under one scale of planar types and those like them; 0: the row */
    uint32_t codebook;
    uint32_t planes; /**< codes; scales; others */
};

/** Writes the form of a type; 0 for a type that kernels do not read. */
int32_t gpu_format_of(uint32_t type, struct gpu_format *out_format);

/** Words of a row of `width` values in a plane. */
uint64_t gpu_format_words(const struct gpu_format *format, uint32_t plane, uint64_t width);

#endif
