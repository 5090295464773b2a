/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The reference implementation of the operators of accel/ops.h, which driver results are compared with: plain
 * scalar C with sums in binary64. Rows are contiguous; results are doubles. It shares no code with any driver.
 */
#ifndef ACCEL_SDK_CONFORM_REFERENCE_H
#define ACCEL_SDK_CONFORM_REFERENCE_H

#include <accel/graph.h>
#include <accel/ops.h>

#include "sdk/conform/list.h"

#define REFERENCE_INPUTS 12u /* most inputs of an operator */

/** Elements of one value in binary64, rows without gaps. */
struct reference_value {
    uint32_t rank;
    uint64_t extents[ACCEL_RANK]; /**< outermost first */
    double *at;
};

/** One call of an operator. The caller has set the extents of the outputs, by the shape rule of the operator. */
struct reference_call {
    const void *attributes;                                 /**< the operator's struct, or NULL */
    const struct reference_value *inputs[REFERENCE_INPUTS]; /**< in the order of ops.def; NULL: absent */
    struct reference_value *outputs[2];                     /**< the second is NULL if the node does not name it */
};

/** Computes the activation function ACCEL_FN_... of x. */
double reference_function(uint32_t function, double x);
/** Returns the name of a function, such as "silu" for ACCEL_FN_SILU. */
const char *reference_function_name(uint32_t function);

/** Returns the number of elements of a value. */
uint64_t reference_elements(const struct reference_value *value);

/** Inputs of one attention call, with decoded caches. */
struct reference_attention {
    const struct accel_attention *attributes;
    uint64_t tokens, heads, size, value_size, sequences, pages;
    const float *q;                        /**< [tokens, heads, size] */
    const float *k;                        /**< [slots, kv_heads, size] */
    const float *v;                        /**< [slots, kv_heads, value_size] */
    const int32_t *table, *first, *length; /**< defined by the operator */
    const int32_t *mask;                   /**< defined by the operator; may be NULL */
    const float *slope, *sink;             /**< [heads]; may be NULL */
    double *score_sums;                    /**< [sequences, pages * page], accumulated into; or NULL */
};

/** Computes y [tokens, heads, value_size]; rows of no sequence are left unchanged. `scores` holds at least the
 * longest length. */
void reference_attend(const struct reference_attention *attention, double *scores, double *y);

#endif
