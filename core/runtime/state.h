/* SPDX-License-Identifier: Apache-2.0 */
/** @file States of a module. */
#ifndef ACCEL_CORE_RUNTIME_STATE_H
#define ACCEL_CORE_RUNTIME_STATE_H

#include "core/runtime/object.h"

/** Applies changes to a state in host memory (state.c). */
int32_t accel_state_apply(struct accel_state *state, const struct accel_state_change *changes, uint64_t count,
                          struct accel_error *error);

#endif
