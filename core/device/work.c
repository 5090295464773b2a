/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in the caller's thread, on memory that the host can see. Arguments have been checked. */
#include "config.h"

#include <string.h>

#include "core/device/object.h"
#include "core/device/take.h"

/* A driver with buffers of its own and no queues may have some that cannot be mapped; only it can work on them. */
static int32_t see(const struct accel_buffer *buffer, struct accel_error *error)
{
    return buffer->address != NULL
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_UNSUPPORTED, "the host cannot see this buffer of driver %s",
                                 buffer->device->driver);
}

static int32_t run_set(struct accel_queue *queue, const struct accel_work *work, struct accel_error *error)
{
    struct accel_context *context = queue->object.context;
    int32_t code;
    accel_context_enter(context, queue->device->driver, "run");
    code = work->set->run(work->set->handle, work->symbols, queue->crew, error);
    accel_context_leave(context);
    return accel_device_answer(queue, UINT64_MAX, code, "run", error);
}

static int32_t copy(const struct accel_work *work, struct accel_error *error)
{
    int32_t code = see(work->source, error);
    if (code == ACCEL_OK)
        code = see(work->target, error);
    if (code == ACCEL_OK)
        memcpy((char *)work->target->address + work->target_offset,
               (const char *)work->source->address + work->source_offset, work->bytes);
    return code;
}

static int32_t update(const struct accel_work *work, struct accel_error *error)
{
    int32_t code = see(work->target, error);
    if (code == ACCEL_OK)
        memcpy((char *)work->target->address + work->target_offset, work->data, work->bytes);
    return code;
}

static int32_t read_back(const struct accel_work *work, struct accel_error *error)
{
    int32_t code = see(work->source, error);
    if (code == ACCEL_OK)
        memcpy(work->memory, (const char *)work->source->address + work->source_offset, work->bytes);
    return code;
}

static int32_t fill(const struct accel_work *work, struct accel_error *error)
{
    int32_t code = see(work->target, error);
    if (code == ACCEL_OK)
        memset((char *)work->target->address + work->target_offset, (int)work->fill, work->bytes);
    return code;
}

int32_t accel_work_run(struct accel_queue *queue, const struct accel_work *work, struct accel_error *error)
{
    switch (work->kind) {
    case ACCEL_STEP_RUN:
        return run_set(queue, work, error);
    case ACCEL_STEP_COPY:
        return copy(work, error);
    case ACCEL_STEP_UPDATE:
        return update(work, error);
    case ACCEL_STEP_READ:
        return read_back(work, error);
    case ACCEL_STEP_FILL:
        return fill(work, error);
    case ACCEL_STEP_STATE:
        return accel_state_apply(work->state, work->changes, work->change_count, error);
    default:
        return accel_error_set(error, ACCEL_E_INTERNAL, "step of kind %u was not refused", work->kind);
    }
}
