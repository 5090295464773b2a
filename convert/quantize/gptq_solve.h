/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPTQ (Frantar et al., 2022): quantizes a matrix column by column; later columns compensate the error of each column,
 * as far as the calibrated inputs are correlated. The scales of a block of the format are fitted when its first column
 * is reached, on the compensated values; a scale or codebook of a whole row is fitted first. Rows are independent: any
 * subset gives the same bytes. Any thread, each with its own rows and scratch memory. Compute-bound: rows * width^2
 * operations.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_GPTQ_SOLVE_H
#define ACCEL_CONVERT_QUANTIZE_GPTQ_SOLVE_H

#include <stddef.h>
#include <stdint.h>

/* One matrix. */
struct gptq_matrix {
    uint32_t type;
    uint32_t sweeps; /* of gptq_refine */
    size_t width;
    const float *u;      /* [width, width] of dense_inverse_factor */
    const float *weight; /* [width] weight of a column's errors when scales are fitted */
    const float *h;      /* [width, width] of which u is the factor, for gptq_refine */
    float damping;       /* damping of its diagonal */
};

/* Returns the scratch bytes for `rows` rows of `width` values, a multiple of a float. */
size_t gptq_scratch_bytes(size_t rows, size_t width);

/* Fills weight [width] from the factor: the cost of a column's error after compensation by later columns. */
void gptq_weights(const float *u, size_t width, float *weight);

/*
 * Encodes values [rows, width], which are overwritten, into out [rows][row_bytes]: the planes of a row one after the
 * other. ACCEL_E_UNSUPPORTED: the type has no codes to choose; ACCEL_E_INVALID: a row is not whole blocks.
 */
int32_t gptq_solve(const struct gptq_matrix *matrix, float *values, size_t rows, unsigned char *out, size_t row_bytes,
                   void *scratch);

/*
 * Refines an encoded matrix with all columns known: in each of `sweeps` passes every value gets its best code while the
 * others stay, then every F16 scale of up to 128 values becomes the best for its codes. The loss never grows except by
 * rounding of scales. weights [rows, width] are the values encoded into `out`; `lost` [rows, width] is overwritten. A
 * pass costs twice the operations of gptq_solve.
 */
int32_t gptq_refine(const struct gptq_matrix *matrix, const float *weights, float *lost, size_t rows,
                    unsigned char *out, size_t row_bytes, void *scratch);

#endif
