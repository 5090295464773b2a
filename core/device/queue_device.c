/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a driver: steps and waits are translated into its handles. What a step uses or waits for is held until
 * the timeline has passed it, so that a caller may free a set, buffer, state or queue that a step in flight names.
 */
#include "config.h"

#include <string.h>

#include "core/device/object.h"
#include "core/device/take.h"

int32_t accel_queue_pass_completed(struct accel_queue *queue, uint64_t *out_value, struct accel_error *error)
{
    int32_t code;
    accel_context_enter(queue->object.context, queue->device->driver, "completed");
    code = queue->handle->table->completed(queue->handle, out_value, error);
    accel_context_leave(queue->object.context);
    return code;
}

int32_t accel_queue_pass_reset(struct accel_queue *queue, struct accel_error *error)
{
    int32_t code;
    accel_context_enter(queue->object.context, queue->device->driver, "reset");
    code = queue->handle->table->reset(queue->handle, error);
    accel_context_leave(queue->object.context);
    return code;
}

void accel_queue_reap(struct accel_queue *queue, bool everything)
{
    uint64_t done = UINT64_MAX;
    if (!everything && accel_queue_pass_completed(queue, &done, NULL) != ACCEL_OK)
        return;
    while (queue->held_count != 0 && queue->held[queue->held_first].value <= done) {
        struct accel_object *object = queue->held[queue->held_first].object;
        queue->held_first = (queue->held_first + 1) % queue->held_capacity;
        queue->held_count--;
        accel_object_release(object);
    }
}

/* Objects of one step, in a fixed order; returns their number. */
static uint32_t objects_of(const struct accel_work *work, struct accel_object *objects[4])
{
    uint32_t count = 0;
    if (work->set != NULL)
        objects[count++] = &work->set->object;
    if (work->source != NULL)
        objects[count++] = &work->source->object;
    if (work->target != NULL)
        objects[count++] = &work->target->object;
    if (work->state != NULL)
        objects[count++] = &work->state->object;
    return count;
}

static void hold_object(struct accel_queue *queue, struct accel_object *object, uint64_t value)
{
    uint32_t at = (queue->held_first + queue->held_count++) % queue->held_capacity;
    accel_object_retain(object);
    queue->held[at] = (struct accel_held){.object = object, .value = value};
}

static void hold(struct accel_queue *queue, const struct accel_work *work, uint64_t value)
{
    struct accel_object *objects[4];
    uint32_t count = objects_of(work, objects);
    for (uint32_t i = 0; i < count; i++)
        hold_object(queue, objects[i], value);
}

/* The driver looks at a queue that is waited for until the step has begun. */
static void hold_waits(struct accel_queue *queue, const struct accel_point *waits, uint32_t count, uint64_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].queue != queue)
            hold_object(queue, &waits[i].queue->object, value);
}

static int32_t room(struct accel_queue *queue, const struct accel_work *const *work, uint32_t count,
                    uint32_t wait_count, struct accel_error *error)
{
    struct accel_object *objects[4];
    uint32_t needed = wait_count;
    if (count > queue->step_capacity)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u steps in one submit, device %s has %u in flight", count,
                               queue->device->listed->info.name, queue->step_capacity);
    for (uint32_t i = 0; i < count; i++)
        needed += objects_of(work[i], objects);
    if (needed > queue->held_capacity - queue->held_count)
        accel_queue_reap(queue, false);
    if (needed > queue->held_capacity - queue->held_count)
        return accel_error_set(error, ACCEL_E_AGAIN, "the queue is full: wait for an earlier value");
    return ACCEL_OK;
}

static void translate(const struct accel_work *work, struct accel_step *step)
{
    *step = (struct accel_step){.size = sizeof(*step),
                                .kind = work->kind,
                                .symbols = work->symbols,
                                .fill = work->fill,
                                .source_offset = work->source_offset,
                                .target_offset = work->target_offset,
                                .bytes = work->bytes,
                                .data = work->data,
                                .memory = work->memory,
                                .changes = work->changes,
                                .change_count = work->change_count};
    if (work->set != NULL) {
        step->set = work->set->handle;
        step->symbol_count = work->set->symbol_count;
    }
    step->source = work->source == NULL ? NULL : work->source->handle;
    step->target = work->target == NULL ? NULL : work->target->handle;
    step->state = work->state == NULL ? NULL : work->state->handle;
}

int32_t accel_queue_pass(struct accel_queue *queue, const struct accel_work *const *work, uint32_t work_count,
                         const struct accel_point *waits, uint32_t wait_count, uint64_t *out_value,
                         struct accel_error *error)
{
    struct accel_wait inner[ACCEL_QUEUE_WAITS];
    uint64_t before = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
    int32_t code;
    if (atomic_load_explicit(&queue->cancel, memory_order_relaxed))
        return accel_error_set(error, ACCEL_E_CANCELLED, "the queue was cancelled and not reset");
    if (wait_count > ACCEL_QUEUE_WAITS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u waits in one submit, at most %u are taken", wait_count,
                               ACCEL_QUEUE_WAITS);
    code = room(queue, work, work_count, wait_count, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < work_count; i++)
        translate(work[i], &queue->steps[i]);
    for (uint32_t i = 0; i < wait_count; i++)
        inner[i] = (struct accel_wait){.queue = waits[i].queue->handle, .value = waits[i].value};
    accel_context_enter(queue->object.context, queue->device->driver, "submit");
    code =
        queue->handle->table->submit(queue->handle, queue->step_list, work_count, inner, wait_count, out_value, error);
    accel_context_leave(queue->object.context);
    code = accel_device_answer(queue, UINT64_MAX, code, "submit", error);
    if (code == ACCEL_OK && *out_value <= before)
        code = accel_error_set(error, ACCEL_E_INTERNAL, "driver %s: submit answered value %llu after %llu",
                               queue->device->driver, (unsigned long long)*out_value, (unsigned long long)before);
    if (code != ACCEL_OK) {
        *out_value = 0;
        return code;
    }
    for (uint32_t i = 0; i < work_count; i++)
        hold(queue, work[i], *out_value);
    hold_waits(queue, waits, wait_count, *out_value);
    atomic_store_explicit(&queue->submitted, *out_value, memory_order_release);
    return ACCEL_OK;
}

int32_t accel_queue_pass_wait(struct accel_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    int32_t code;
    accel_context_enter(queue->object.context, queue->device->driver, "wait");
    code = queue->handle->table->wait(queue->handle, value, deadline, error);
    accel_context_leave(queue->object.context);
    code = accel_device_answer(queue, value, code, "wait", error);
    if (code == ACCEL_OK)
        accel_queue_reap(queue, false);
    return code;
}
