/* SPDX-License-Identifier: Apache-2.0 */
/** @file Checks attributes and infers shapes, operator by operator, for the table in ops.c. The table has checked
 * types, ranks and roles of the inputs before; each function checks the remaining rules of accel/ops.h. */
#ifndef ACCEL_CORE_GRAPH_INFER_H
#define ACCEL_CORE_GRAPH_INFER_H

#include "core/graph/ops.h"

/** Sets ACCEL_E_INVALID with "node NAME (OPERATOR): TEXT". */
int32_t accel_op_refuse(const struct accel_op_call *call, struct accel_error *error, const char *text);

/** Sets ACCEL_E_INVALID with the shapes of inputs `a` and `b` and the rule that they break. */
int32_t accel_op_refuse_shapes(const struct accel_op_call *call, uint32_t a, uint32_t b, const char *rule,
                               struct accel_error *error);

/** Checks that extents of inputs that belong together are equal. */
int32_t accel_op_check_extents(const struct accel_op_call *call, struct accel_error *error);

/** Returns the fault of the attributes of a product, or NULL. */
const char *accel_op_product_fault(uint32_t function, uint32_t rounding);

/** Returns the fault of an attribute `zero` that is not 0, or NULL. */
const char *accel_op_zero_fault(uint64_t zero);

/** Gives the output the type and shape of a value. */
void accel_op_output_like(struct accel_op_call *call, const struct accel_value *value);

/** Removes a dimension; a shape of one extent becomes [1]. */
void accel_op_remove_dim(struct accel_op_made *made, uint32_t dim);

/* The functions that the rows of accel/driver/ops.def name: a check for each struct of attributes, and shape rules. */
#define NO_ATTRIBUTES accel_check_nothing
#define ATTRIBUTES(tag, last) accel_check_##tag
#define DECLARE(check, in_place, shape, ...)                                                                           \
    const char *check(const struct accel_op_call *call);                                                               \
    int32_t accel_infer_##shape(struct accel_op_call *call, struct accel_error *error);
#define ACCEL_OPERATOR(number, ID, name, since, outputs, ...) DECLARE(__VA_ARGS__)
#include <accel/driver/ops.def>
#undef NO_ATTRIBUTES
#undef ATTRIBUTES
#undef DECLARE

#endif
