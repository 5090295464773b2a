/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows of values, by several threads: each place of each sum belongs to one thread, and rows come in their
 * order, so that the bytes do not depend on how many there are. */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_MOMENTS_H
#define ACCEL_SDK_MODEL_QUANTIZE_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/* One sum of products: matrix[i][j] += sum over rows of x[row][i] x[row][j] for j <= i, F32. */
struct quantize_product {
    const float *x; /* [rows, width] */
    uint64_t rows;
    uint64_t width;
    float *matrix; /* [width, width], its lower half */
};

/* Adds to `count` sums with up to `threads` threads, the caller's among them. */
void quantize_products_add(const struct quantize_product *products, uint32_t count, uint32_t threads);

/* Divides the lower half by `by` and copies it over the diagonal. */
void quantize_product_finish(float *matrix, uint64_t width, double by);

#endif
