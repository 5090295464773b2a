/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes with dense F32 matrices: cache-tiled products, sums of outer products, and the factor of an inverse for
 * error compensation. Row-major; a matrix of n rows has 4 * n * n bytes. One thread sums each element in the order of
 * the depth, so results do not depend on the number of threads. They depend on the processor's fused multiply-add. A
 * team owns its scratch memory and stores no arguments. One thread at a time may use a team; its calls start threads,
 * which end before the call returns. Compute-bound: 2 * rows * columns * depth operations.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_DENSE_H
#define ACCEL_CONVERT_QUANTIZE_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

/* The loader selects the widest version of a function that the processor supports. */
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
/* Frees a team; one of all zeros is allowed. */
void dense_team_free(struct dense_team *team);

/* Computes c [rows, columns] += sign * a [rows, depth] * b [depth, columns], or = if `overwrite` is set. Strides
 * are in elements. c may alias a if `overwrite` is set, depth <= 256 and columns <= 256. */
struct dense_product {
    size_t rows, columns, depth;
    const float *a; /* a[i * a_row + k * a_depth] */
    size_t a_row, a_depth;
    const float *b; /* b[k * b_depth + j * b_column] */
    size_t b_depth, b_column;
    float *c; /* c[i * c_row + j] */
    size_t c_row;
    float sign;
    bool overwrite;
    uint32_t lower;   /* 1: only elements with j <= i are needed; the others are undefined */
    uint32_t b_lower; /* 1: b is lower triangular, zero above its diagonal */
};

/* Multiplies in the calling thread, with DENSE_SCRATCH bytes of scratch memory. */
void dense_multiply(const struct dense_product *product, float *scratch);
/* Multiplies with a team. */
void dense_multiply_together(const struct dense_product *product, const struct dense_team *team);

/* sum [width, width] += x^T x for x [rows, width]. Only the lower triangle is valid afterwards. */
void dense_add_outer(float *sum, const float *x, size_t rows, size_t width, const struct dense_team *team);
/* Copies the lower triangle over the upper one. */
void dense_mirror(float *matrix, size_t width);

/* Returns the sum of x h x^T over x [rows, width] for a symmetric h, computed in the calling thread. `product`
 * [rows, width] and `scratch`, DENSE_SCRATCH bytes, are overwritten. */
double dense_quadratic(const float *x, size_t rows, size_t width, const float *h, float *product, float *scratch);

/*
 * Computes the upper triangular u [n, n] with u^T u = (h + d)^-1, where the diagonal matrix d is *share times the
 * mean of the diagonal of h; elements below the diagonal are zero. Reads only the lower triangle of h. *share must be
 * above 0; while h + d is not positive definite, it is multiplied by 10, and returns the share used. A zero h counts as
 * the identity. 2 n^3 / 3 operations; diagonal blocks in binary64. ACCEL_E_MEMORY for its own 128 * n * 8 bytes and a
 * little; ACCEL_E_CORRUPT if the mean of the diagonal is negative or not finite, or a share over 100 does not suffice.
 */
int32_t dense_inverse_factor(const float *h, size_t n, const struct dense_team *team, double *share, float *out_u,
                             struct accel_error *error);

#endif
