/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the 8-bit GEMM: the cores of an ISA, which multiply a panel with a tile of act_q8. */
#ifndef CPU_VECTOR_GEMM_CORE_H
#define CPU_VECTOR_GEMM_CORE_H

#include "gemm.h"

/* A scale per 32 codes of up to 4 bits, or 5 (narrow16); the name ends in the zero point. */
gemm_core_fn CPU_NAME(core_narrow0), CPU_NAME(core_narrow8), CPU_NAME(core_narrow16);

/* A scale per 32 signed codes of 8 bits. */
gemm_core_fn CPU_NAME(core_wide);

/* Signed codes of 8 bits with rows of x that have one scale. */
gemm_row_core_fn CPU_NAME(core_row);

/* Integer scales per 32 codes and a scale per 256. */
gemm_core_fn CPU_NAME(core_super0), CPU_NAME(core_super16);

/* Integer scales per 16 codes and a scale per 256; up to 6 bits. core_fine0 and core_fine4: none if their types are
 * folded. */
gemm_core_fn CPU_NAME(core_fine0), CPU_NAME(core_fine4), CPU_NAME(core_fine32);

/* Adds minima times sums of x, by blocks or by halves. */
gemm_core_fn CPU_NAME(minima_block), CPU_NAME(minima_half);

#if defined(__ARM_FEATURE_MATMUL_INT8)
/* Interleaves words in pairs, so that 16 bytes are eight codes of a row and eight of the next. */
void CPU_NAME(zip_panel)(struct gemm_panel *panel, size_t words);
#endif

#endif
