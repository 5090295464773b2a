/* SPDX-License-Identifier: Apache-2.0 */
/** @file Argument checks of accel/run.h: objects, symbols, steps and waits. Return ACCEL_E_INVALID or ACCEL_E_LIMIT
 * with the reason. */
#ifndef ACCEL_CORE_RUNTIME_CHECK_H
#define ACCEL_CORE_RUNTIME_CHECK_H

#include "core/runtime/object.h"

/** Checks that the object exists and belongs to this process, not to a parent before fork. `what` names it. */
int32_t accel_check_object(const struct accel_object *object, const char *what, struct accel_error *error);

/** Checks that the device exists and has not been lost; a lost device stays lost. */
int32_t accel_check_alive(const struct accel_device *device, struct accel_error *error);

/** Checks that the symbols of a step lie within the set's bounds. */
int32_t accel_check_symbols(const struct accel_set *set, const uint64_t *symbols, struct accel_error *error);

/** Checks one step of a submit: its objects and ranges. */
int32_t accel_check_step(const struct accel_queue *queue, const struct accel_step *step, struct accel_error *error);

/** Checks the values that a submit waits for. */
int32_t accel_check_waits(const struct accel_queue *queue, const struct accel_fence *waits, uint32_t count,
                          struct accel_error *error);

/* ---- check_create.c ---- */

/** Checks the arguments of accel_set_create: each input, output and state has one bind that fits. */
int32_t accel_check_binds(const struct accel_module *module, uint32_t program, const uint64_t *symbols,
                          const struct accel_bind *binds, uint32_t count, struct accel_error *error);

/** Checks the graphs, options and buckets of accel_module_create. */
int32_t accel_check_graphs(const struct accel_graph *const *graphs, uint32_t count,
                           const struct accel_compile_options *options, struct accel_error *error);

#endif
