/* SPDX-License-Identifier: Apache-2.0 */
/** @file Parts of a module: claimed nodes, and its weights in binding sets. */
#ifndef ACCEL_CORE_RUNTIME_MODULE_H
#define ACCEL_CORE_RUNTIME_MODULE_H

#include "core/runtime/object.h"

/** Calls the driver's `claim` for every node and records the placement of its weights (module_claim.c). */
int32_t accel_module_claim(struct accel_module *module, const struct accel_compile_options *options,
                           struct accel_error *error);

/** Writes the bindings of a weight for a value of a set, planes in order (weights.c). `bindings` holds ACCEL_PLANES
 * + 1. */
uint32_t accel_weights_bind(const struct accel_weights *weights, uint32_t weight, uint32_t value,
                            struct accel_binding *bindings);

#endif
