/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The operators of accel/ops.h in plain scalar C with sums in double precision: what a driver is held against. Rows lie
 * one after the other; results are doubles. Nothing here is shared with any driver.
 */
#ifndef ACCEL_TOOLS_CONFORM_REFERENCE_H
#define ACCEL_TOOLS_CONFORM_REFERENCE_H

#include <accel/ops.h>

/** ACCEL_FN_... */
double reference_function(uint32_t function, double x);
/** "silu" of ACCEL_FN_SILU. */
const char *reference_function_name(uint32_t function);

/** x [m, k], w [n, k], bias [n] or NULL, residual [m, n] or NULL -> y [m, n]. */
void reference_matmul(const float *x, const float *w, const float *bias, const float *residual, uint32_t function,
                      uint64_t m, uint64_t n, uint64_t k, double *y);

/** ACCEL_OP_RMS_NORM or ACCEL_OP_LAYER_NORM of x [rows, n]; bias may be NULL. */
void reference_norm(uint32_t op, const float *x, const float *weight, const float *bias, double epsilon, uint64_t rows,
                    uint64_t n, double *y);

void reference_softmax(const float *x, uint64_t rows, uint64_t n, double *y);

/** x [tokens, heads, size], position [tokens], frequency [pairs]. The angle is a product in F32, as its inputs are. */
void reference_rotary(const struct accel_rotary *attributes, const float *x, const int32_t *position,
                      const float *frequency, uint64_t tokens, uint64_t heads, uint64_t size, uint64_t pairs,
                      double *y);

/** One call of attention over caches that are decoded already. */
struct reference_attention {
    const struct accel_attention *attributes;
    uint64_t tokens, heads, size, value_size, sequences, pages;
    const float *q;                        /**< [tokens, heads, size] */
    const float *k;                        /**< [slots, kv_heads, size] */
    const float *v;                        /**< [slots, kv_heads, value_size] */
    const int32_t *table, *first, *length; /**< as the operator says */
    const int32_t *mask;                   /**< as the operator says, or NULL */
    double *mass;                          /**< [sequences, pages * page], added to; or NULL */
};

/** y [tokens, heads, value_size]; rows of no sequence are left as they are. `scores` has room for the longest length.
 */
void reference_attend(const struct reference_attention *attention, double *scores, double *y);

#endif
