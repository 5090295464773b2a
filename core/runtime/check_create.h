/* SPDX-License-Identifier: Apache-2.0 */
/** @file Argument checks for creating sets and modules. Return ACCEL_E_INVALID or ACCEL_E_LIMIT with the reason. */
#ifndef ACCEL_CORE_RUNTIME_CHECK_CREATE_H
#define ACCEL_CORE_RUNTIME_CHECK_CREATE_H

#include "core/runtime/object.h"

/** Checks the arguments of accel_set_create: each input, output and state has one bind that fits. */
int32_t accel_check_binds(const struct accel_module *module, uint32_t program, const uint64_t *symbols,
                          const struct accel_bind *binds, uint32_t count, struct accel_error *error);

/** Checks the graphs, options and buckets of accel_module_create. */
int32_t accel_check_graphs(const struct accel_graph *const *graphs, uint32_t count,
                           const struct accel_compile_options *options, struct accel_error *error);

#endif
