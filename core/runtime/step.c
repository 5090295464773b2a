/* SPDX-License-Identifier: Apache-2.0 */
/* Runs steps in the caller's thread, on memory that the host can access. Arguments have been checked. */
#include "config.h"

#include "core/runtime/step.h"

#include <string.h>

#include "core/runtime/device.h"
#include "core/runtime/object.h"
#include "core/runtime/state.h"

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

static int32_t copy(const struct accel_step *step, struct accel_error *error)
{
    int32_t code = check_host_access(step->source, error);
    if (code == ACCEL_OK)
        code = check_host_access(step->target, error);
    if (code == ACCEL_OK)
        memcpy((char *)step->target->address + step->target_offset,
               (const char *)step->source->address + step->source_offset, step->bytes);
    return code;
}

static int32_t update(const struct accel_step *step, struct accel_error *error)
{
    int32_t code = check_host_access(step->target, error);
    if (code == ACCEL_OK)
        memcpy((char *)step->target->address + step->target_offset, step->data, step->bytes);
    return code;
}

static int32_t read_back(const struct accel_step *step, struct accel_error *error)
{
    int32_t code = check_host_access(step->source, error);
    if (code == ACCEL_OK)
        memcpy(step->memory, (const char *)step->source->address + step->source_offset, step->bytes);
    return code;
}

static int32_t fill(const struct accel_step *step, struct accel_error *error)
{
    int32_t code = check_host_access(step->target, error);
    if (code == ACCEL_OK)
        memset((char *)step->target->address + step->target_offset, (int)step->fill, step->bytes);
    return code;
}

int32_t accel_step_run(struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    switch (step->kind) {
    case ACCEL_STEP_RUN:
        return run_set(queue, step, error);
    case ACCEL_STEP_COPY:
        return copy(step, error);
    case ACCEL_STEP_UPDATE:
        return update(step, error);
    case ACCEL_STEP_READ:
        return read_back(step, error);
    case ACCEL_STEP_FILL:
        return fill(step, error);
    case ACCEL_STEP_STATE:
        return accel_state_apply(step->state, step->changes, step->change_count, error);
    default:
        return accel_error_set(error, ACCEL_E_INTERNAL, "a step of the unknown kind %u passed the checks", step->kind);
    }
}
