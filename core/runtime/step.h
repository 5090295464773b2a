/* SPDX-License-Identifier: Apache-2.0 */
/** @file Runs one step. */
#ifndef ACCEL_CORE_RUNTIME_STEP_H
#define ACCEL_CORE_RUNTIME_STEP_H

#include "core/runtime/object.h"

/** Runs one step of accel_queue_submit in the caller's thread (step.c). */
int32_t accel_step_run(struct accel_queue *queue, const struct accel_step *step, struct accel_error *error);

#endif
