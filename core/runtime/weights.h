/* SPDX-License-Identifier: Apache-2.0 */
/** @file Weights of a module. */
#ifndef ACCEL_CORE_RUNTIME_WEIGHTS_H
#define ACCEL_CORE_RUNTIME_WEIGHTS_H

#include "core/runtime/object.h"

/** Writes the bindings of a weight for a value of a set, planes in order. `bindings` holds ACCEL_PLANES + 1. */
uint32_t accel_weights_bind(const struct accel_weights *weights, uint32_t weight, uint32_t value,
                            struct accel_binding *bindings);

#endif
