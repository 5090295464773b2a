/* SPDX-License-Identifier: Apache-2.0 */
/* Runs steps in the caller's thread, on memory that the host can access. Arguments have been checked. */
#include "config.h"

#include <string.h>

#include "core/runtime/device.h"
#include "core/runtime/queue.h"

/* Checks that the host can access the buffer. A driver with buffers and without queues may have some that cannot be
 * mapped; only the driver can use them. */
static int32_t check_host_access(const struct accel_buffer *buffer, struct accel_error *error)
{
    return buffer->address != NULL
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_UNSUPPORTED, "the host cannot access this buffer of driver %s",
                                 buffer->device->driver);
}

static int32_t run_set(struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    struct accel_call_guard call;
    int32_t code;
    accel_call_guard_begin(&call, queue->object.context, queue->device->driver, "run");
    code = step->set->run(step->set->handle, step->symbols, queue->team, error);
    accel_call_guard_end_step(&call, &queue->change_logged);
    return accel_queue_import_code(queue, UINT64_MAX, code, "run", error);
}

int32_t accel_step_run(struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    const bool reads = step->kind == ACCEL_STEP_COPY || step->kind == ACCEL_STEP_READ;
    const bool writes =
        step->kind == ACCEL_STEP_COPY || step->kind == ACCEL_STEP_UPDATE || step->kind == ACCEL_STEP_FILL;
    int32_t code = reads ? check_host_access(step->source, error) : ACCEL_OK;
    const char *source;
    char *target;
    if (code == ACCEL_OK && writes)
        code = check_host_access(step->target, error);
    if (code != ACCEL_OK)
        return code;
    source = reads ? (const char *)step->source->address + step->source_offset : NULL;
    target = writes ? (char *)step->target->address + step->target_offset : NULL;
    switch (step->kind) {
    case ACCEL_STEP_RUN:
        return run_set(queue, step, error);
    case ACCEL_STEP_COPY:
        memcpy(target, source, step->bytes);
        return ACCEL_OK;
    case ACCEL_STEP_UPDATE:
        memcpy(target, step->data, step->bytes);
        return ACCEL_OK;
    case ACCEL_STEP_READ:
        memcpy(step->memory, source, step->bytes);
        return ACCEL_OK;
    case ACCEL_STEP_FILL:
        memset(target, (int)step->fill, step->bytes);
        return ACCEL_OK;
    case ACCEL_STEP_STATE:
        return accel_state_apply(step->state, step->changes, step->change_count, error);
    default:
        return accel_error_set(error, ACCEL_E_INTERNAL, "a step of the unknown kind %u passed the checks", step->kind);
    }
}
