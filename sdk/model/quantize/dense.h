/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense F32 matrices: products in tiles that stay in the caches, sums of outer products, and the factor of an inverse
 * that error compensation needs. Row by row (outermost first); a matrix of n rows has 4 * n * n bytes.
 *
 * Every element is summed by one thread in the order of the depth: the result does not depend on the number of threads.
 * It does on the processor's fused multiply-add.
 *
 * Ownership: a team owns its scratch memory, nothing is kept of what is handed in. Threads: one at a time may use a
 * team; its calls start threads of their own, which end before they return. Bound: arithmetic, 2 * rows * columns *
 * depth operations.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_DENSE_H
#define ACCEL_SDK_MODEL_QUANTIZE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

/* One binary for every processor: the loader takes the widest version of a function that the processor has. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define DENSE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define DENSE_CLONES
#endif

/* Bytes of scratch memory that one thread needs. */
#define DENSE_SCRATCH ((size_t)4 * 256 * (192 + 256))

struct dense_team {
    uint32_t threads; /* at least 1 */
    uint32_t zero;
    float *scratch; /* [threads][DENSE_SCRATCH bytes] */
};

/* ACCEL_E_MEMORY. `threads` 0: 1. */
int32_t dense_team_create(uint32_t threads, struct dense_team *out_team, struct accel_error *error);
/* Of a team that was not created too, where it is all zero. */
void dense_team_free(struct dense_team *team);

/* c [rows, columns] += sign * a [rows, depth] * b [depth, columns], or = where `overwrite` is set. Strides are in
 * elements. c may be a where `overwrite` is set, depth <= 256 and columns <= 256. */
struct dense_product {
    size_t rows, columns, depth;
    const float *a; /* a[i * a_row + k * a_depth] */
    size_t a_row, a_depth;
    const float *b; /* b[k * b_depth + j * b_column] */
    size_t b_depth, b_column;
    float *c; /* c[i * c_row + j] */
    size_t c_row;
    float sign;
    uint32_t overwrite;
    uint32_t lower;   /* 1: only the elements with j <= i are wanted; those above may become anything */
    uint32_t b_lower; /* 1: b is lower triangular; what stands above its diagonal is zero */
};

/* In the caller's thread, with scratch memory of DENSE_SCRATCH bytes. */
void dense_multiply(const struct dense_product *product, float *scratch);
/* By a team. */
void dense_multiply_together(const struct dense_product *product, const struct dense_team *team);

/* sum [width, width] += x^T x for x [rows, width]. Only the lower triangle is valid afterwards. */
void dense_add_outer(float *sum, const float *x, size_t rows, size_t width, const struct dense_team *team);
/* Copies the lower triangle over the upper one. */
void dense_mirror(float *matrix, size_t width);

/* The sum of x h x^T over x [rows, width] for a symmetric h. `product` [rows, width] and `scratch`, DENSE_SCRATCH
 * bytes, are overwritten. In the caller's thread. */
double dense_quadratic(const float *x, size_t rows, size_t width, const float *h, float *product, float *scratch);

/*
 * The upper triangular u [n, n] with u^T u = (h + d)^-1, where d is *share times the mean of the diagonal of h on the
 * diagonal; zeros stand below. Only the lower triangle of h is read. Where rounding makes that no positive definite
 * matrix the share is raised by 10 until it is; *share says what was used. An h of zeros counts as the identity. 2 n^3
 * / 3 operations; diagonal blocks in binary64. ACCEL_E_MEMORY for its own 128 * n * 8 bytes and a little;
 * ACCEL_E_CORRUPT where h is not finite.
 */
int32_t dense_inverse_factor(const float *h, size_t n, const struct dense_team *team, double *share, float *out_u,
                             struct accel_error *error);

#endif
