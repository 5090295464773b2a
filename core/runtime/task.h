/* SPDX-License-Identifier: Apache-2.0 */
/** @file Tasks that the core passes to drivers. */
#ifndef ACCEL_CORE_RUNTIME_TASK_H
#define ACCEL_CORE_RUNTIME_TASK_H

#include "core/runtime/object.h"

/** Task passed to a driver: the caller's progress callback, and always a thread team (task.c). */
struct accel_task_bridge {
    struct accel_task task;
    const struct accel_task *outer;
    struct accel_pool_team own_team; /**< one thread per processor, started on first use, if the caller has no team */
    atomic_bool cancel_requested;    /**< the caller has requested cancellation */
};

/** Validates the result code of a call with this task, which the caller may have cancelled, and marks a lost device. */
int32_t accel_task_import_code(struct accel_device *device, const struct accel_task *task, int32_t code,
                               const char *slot, struct accel_error *error);
const struct accel_task *accel_task_bridge_init(struct accel_task_bridge *bridge, struct accel_context *context,
                                                const struct accel_task *outer);

/** Stops the threads of the task's own team. */
void accel_task_bridge_end(struct accel_task_bridge *bridge);

#endif
