/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPTQ (Frantar et al., 2022): a matrix is quantized column by column, and what a column loses is made up for by those
 * after it, as far as the calibrated inputs make them say the same. The scales of a block of the format are fitted when
 * its first column is reached, on the values as they are compensated then; where one scale or codebook is the whole
 * row's, at the beginning.
 *
 * Rows do not depend on each other: a run over some of them gives the same bytes as a run over all. Threads: any, each
 * with rows and scratch memory of its own. Bound: arithmetic, rows * width^2 operations.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_GPTQ_SOLVE_H
#define ACCEL_SDK_MODEL_QUANTIZE_GPTQ_SOLVE_H

#include <stddef.h>
#include <stdint.h>

/* One matrix. */
struct gptq_matrix {
    uint32_t type;
    uint32_t sweeps; /* of gptq_refine */
    size_t width;
    const float *u;      /* [width, width] of dense_inverse_factor */
    const float *weight; /* [width] how much errors of a column count when scales are fitted */
    const float *h;      /* [width, width] of which u is the factor, for gptq_refine */
    float damping;       /* that was added to its diagonal */
};

/* Bytes of scratch memory for `rows` rows of `width` values, and as floats aligned. */
size_t gptq_scratch_bytes(size_t rows, size_t width);

/* Fills weight [width] from the factor: what an error of a column costs once all columns after it have made up for it.
 */
void gptq_weights(const float *u, size_t width, float *weight);

/*
 * Encodes values [rows, width], which are overwritten, into out [rows][row_bytes]: the planes of a row one after the
 * other. ACCEL_E_UNSUPPORTED: a type without levels; ACCEL_E_INVALID: a row is no whole number of blocks.
 */
int32_t gptq_solve(const struct gptq_matrix *matrix, float *values, size_t rows, unsigned char *out, size_t row_bytes,
                   void *scratch);

/*
 * Second thoughts, with all columns in view: in `sweeps` passes each value gets the level that is best while the others
 * stay, and then each scale of up to 128 values that is stored as a half by itself becomes the one that is best for its
 * digits. What is lost never grows but by the rounding of scales. weights [rows, width] are those that were encoded
 * into `out`; `lost` [rows, width] is overwritten. Twice the operations of gptq_solve for a pass.
 */
int32_t gptq_refine(const struct gptq_matrix *matrix, const float *weights, float *lost, size_t rows,
                    unsigned char *out, size_t row_bytes, void *scratch);

#endif
