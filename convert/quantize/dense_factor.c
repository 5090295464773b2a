/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the factor of an inverse. With h = r r^T for an upper triangular r, h^-1 = r^-T r^-1, so u is the
 * inverse of r: the inverse of h is never formed. r is the lower Cholesky factor of h with both orders reversed,
 * reversed again.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/dense.h"

/* Rows and columns of a diagonal block, which is computed in binary64. */
#define BLOCK ((size_t)128)

/* Buffers for factoring one matrix. */
struct factor {
    const struct dense_team *team;
    float *a; /* [n, n] */
    size_t n;
    double floor;     /* smaller pivots are rejected: all eigenvalues are more than twice this */
    double *square;   /* [2][BLOCK, BLOCK] */
    float *inverses;  /* [ceil(n / BLOCK)][BLOCK, BLOCK] of the diagonal blocks of the factor */
    float *row_block; /* [BLOCK, n] */
};

static size_t block_at(const struct factor *f, size_t at)
{
    return f->n - at < BLOCK ? f->n - at : BLOCK;
}

/* Factors one diagonal block of m rows in place; returns false if it is not positive definite. */
static bool factor_square(double *l, size_t m, double floor)
{
    for (size_t j = 0; j < m; j++) {
        double pivot = l[j * BLOCK + j];
        for (size_t k = 0; k < j; k++)
            pivot -= l[j * BLOCK + k] * l[j * BLOCK + k];
        if (!(pivot > floor))
            return false;
        pivot = sqrt(pivot);
        l[j * BLOCK + j] = pivot;
        for (size_t i = j + 1; i < m; i++) {
            double sum = l[i * BLOCK + j];
            for (size_t k = 0; k < j; k++)
                sum -= l[i * BLOCK + k] * l[j * BLOCK + k];
            l[i * BLOCK + j] = sum / pivot;
        }
    }
    return true;
}

/* Computes x = l^-1, both lower triangular. */
static void invert_square(const double *l, size_t m, double *x)
{
    memset(x, 0, BLOCK * BLOCK * sizeof(*x));
    for (size_t i = 0; i < m; i++) {
        double *row = x + i * BLOCK, inverse = 1 / l[i * BLOCK + i];
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j <= k; j++)
                row[j] -= l[i * BLOCK + k] * x[k * BLOCK + j];
        for (size_t j = 0; j < i; j++)
            row[j] *= inverse;
        row[i] = inverse;
    }
}

/* Factors the diagonal block at `at` and stores its inverse. */
static bool factor_diagonal(struct factor *f, size_t at)
{
    size_t m = block_at(f, at);
    double *l = f->square, *x = f->square + BLOCK * BLOCK;
    float *inverse = f->inverses + at * BLOCK;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j <= i; j++)
            l[i * BLOCK + j] = f->a[(at + i) * f->n + at + j];
    if (!factor_square(l, m, f->floor))
        return false;
    invert_square(l, m, x);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < BLOCK; j++)
            inverse[i * BLOCK + j] = j <= i ? (float)x[i * BLOCK + j] : 0;
    return true;
}

/* Factors f->a in place into its lower factor, except for the diagonal blocks: f->inverses gets their inverses. */
static bool factor_lower(struct factor *f)
{
    for (size_t at = 0; at < f->n; at += BLOCK) {
        size_t m = block_at(f, at), rest = f->n - at - m;
        float *below = f->a + (at + m) * f->n + at;
        if (!factor_diagonal(f, at))
            return false;
        if (rest == 0)
            break;
        const struct dense_product column = {.rows = rest,
                                             .columns = m,
                                             .depth = m,
                                             .a = below,
                                             .a_row = f->n,
                                             .a_depth = 1,
                                             .b = f->inverses + at * BLOCK,
                                             .b_depth = 1,
                                             .b_column = BLOCK,
                                             .c = below,
                                             .c_row = f->n,
                                             .sign = 1,
                                             .overwrite = true};
        const struct dense_product update = {.rows = rest,
                                             .columns = rest,
                                             .depth = m,
                                             .a = below,
                                             .a_row = f->n,
                                             .a_depth = 1,
                                             .b = below,
                                             .b_depth = 1,
                                             .b_column = f->n,
                                             .c = below + m,
                                             .c_row = f->n,
                                             .sign = -1,
                                             .lower = 1};
        dense_multiply_together(&column, f->team);
        dense_multiply_together(&update, f->team);
    }
    return true;
}

/* Inverts the factor in place, block row by block row: the blocks to the left of a diagonal block are multiplied
 * by the part that is already inverted and by the inverse of the diagonal block. */
static void invert_lower(struct factor *f)
{
    for (size_t at = 0; at < f->n; at += BLOCK) {
        size_t m = block_at(f, at);
        float *row = f->a + at * f->n;
        const struct dense_product left = {.rows = m,
                                           .columns = at,
                                           .depth = at,
                                           .a = row,
                                           .a_row = f->n,
                                           .a_depth = 1,
                                           .b = f->a,
                                           .b_depth = f->n,
                                           .b_column = 1,
                                           .c = f->row_block,
                                           .c_row = f->n,
                                           .sign = 1,
                                           .overwrite = true,
                                           .b_lower = 1};
        const struct dense_product scaled = {.rows = m,
                                             .columns = at,
                                             .depth = m,
                                             .a = f->inverses + at * BLOCK,
                                             .a_row = BLOCK,
                                             .a_depth = 1,
                                             .b = f->row_block,
                                             .b_depth = f->n,
                                             .b_column = 1,
                                             .c = row,
                                             .c_row = f->n,
                                             .sign = -1,
                                             .overwrite = true};
        if (at > 0) {
            dense_multiply_together(&left, f->team);
            dense_multiply_together(&scaled, f->team);
        }
        for (size_t i = 0; i < m; i++) {
            memcpy(row + i * f->n + at, f->inverses + (at + i) * BLOCK, m * sizeof(float));
            memset(row + i * f->n + at + m, 0, (f->n - at - m) * sizeof(float));
        }
    }
}

/* Loads h + damping with both orders reversed: the lower triangle, and zeros above it. */
static void load(struct factor *f, const float *h, double damping)
{
    const size_t n = f->n;
    for (size_t i = 0; i < n; i++) {
        float *row = f->a + i * n;
        for (size_t j = 0; j <= i; j++)
            row[j] = h[(n - 1 - j) * n + n - 1 - i];
        memset(row + i + 1, 0, (n - 1 - i) * sizeof(*row));
        row[i] = (float)((double)row[i] + damping);
    }
}

static void reverse(float *values, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        float swapped = values[i];
        values[i] = values[count - 1 - i];
        values[count - 1 - i] = swapped;
    }
}

static int32_t run(struct factor *f, const float *h, double *share, struct accel_error *error)
{
    double mean = 0;
    for (size_t i = 0; i < f->n; i++)
        mean += (double)h[i * f->n + i] / (double)f->n;
    if (!isfinite(mean) || mean < 0)
        return accel_error_origin(
            error, ACCEL_FROM_MODEL,
            accel_error_set(error, ACCEL_E_CORRUPT, "calibration: the mean square of the inputs is %g", mean));
    for (;; *share *= 10) {
        double damping = mean > 0 ? *share * mean : 1;
        f->floor = damping / 2;
        load(f, h, damping);
        if (factor_lower(f))
            break;
        /* A matrix of mean squares is positive definite with less damping; one that is not contains values that
         * are not finite. */
        if (*share > 100)
            return accel_error_origin(
                error, ACCEL_FROM_MODEL,
                accel_error_set(
                    error, ACCEL_E_CORRUPT,
                    "calibration: the products of the inputs are not positive definite, even with a damping of %g",
                    *share));
    }
    invert_lower(f);
    reverse(f->a, f->n * f->n);
    return ACCEL_OK;
}

int32_t dense_inverse_factor(const float *h, size_t n, const struct dense_team *team, double *share, float *out_u,
                             struct accel_error *error)
{
    const size_t blocks = (n + BLOCK - 1) / BLOCK;
    struct factor f = {.team = team, .a = out_u, .n = n};
    int32_t code;
    f.square = malloc(2 * BLOCK * BLOCK * sizeof(*f.square));
    f.inverses = malloc(blocks * BLOCK * BLOCK * sizeof(*f.inverses));
    f.row_block = malloc(BLOCK * n * sizeof(*f.row_block));
    if (f.square == NULL || f.inverses == NULL || f.row_block == NULL)
        code = accel_error_no_memory(error, "for a factor of %zu rows", n);
    else
        code = run(&f, h, share, error);
    free(f.square);
    free(f.inverses);
    free(f.row_block);
    return code;
}
