/* SPDX-License-Identifier: Apache-2.0 */
/** @file Asks a driver which nodes of a graph it supports. */
#ifndef ACCEL_CORE_RUNTIME_MODULE_CLAIM_H
#define ACCEL_CORE_RUNTIME_MODULE_CLAIM_H

#include "core/runtime/object.h"

/** Calls the driver's `claim` for every node and records the placement of its weights (module_claim.c). */
int32_t accel_module_claim(struct accel_module *module, const struct accel_compile_options *options,
                           struct accel_error *error);

#endif
