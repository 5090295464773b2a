/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Checks attributes and infers shapes, operator by operator, for the table in ops.c. The table has checked types,
 * ranks and roles of the inputs before; each function checks the remaining rules of accel/ops.h. */
#ifndef ACCEL_CORE_GRAPH_INFER_H
#define ACCEL_CORE_GRAPH_INFER_H

#include "core/graph/ops.h"

/** Sets ACCEL_E_INVALID with "node NAME (OPERATOR): TEXT". */
int32_t accel_op_refuse(const struct accel_op_call *call, struct accel_error *error, const char *text);

int32_t accel_check_matmul(const struct accel_op_call *call, struct accel_error *error);
int32_t accel_check_norm(const struct accel_op_call *call, struct accel_error *error);
int32_t accel_check_rotary(const struct accel_op_call *call, struct accel_error *error);
int32_t accel_check_attention(const struct accel_op_call *call, struct accel_error *error);
int32_t accel_check_activation(const struct accel_op_call *call, struct accel_error *error);

int32_t accel_infer_embed(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_matmul(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_norm(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_rotary(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_cache_write(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_attention(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_broadcast(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_same(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_gate(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_gather(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_reshape(struct accel_op_call *call, struct accel_error *error);
int32_t accel_infer_argmax(struct accel_op_call *call, struct accel_error *error);

#endif
