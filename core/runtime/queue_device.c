/* SPDX-License-Identifier: Apache-2.0 */
/* Driver queues: translates steps and waits into driver handles. The queue holds the objects of a step until the
 * timeline has passed it, so that a caller may free a set, buffer, state or queue that a step in flight uses. */
#include "config.h"

#include "core/base/error.h"
#include "core/runtime/device.h"
#include "core/runtime/queue.h"

int32_t accel_driver_queue_completed(struct accel_queue *queue, uint64_t *out_value, struct accel_error *error)
{
    int32_t code;
    accel_context_report(queue->object.context, queue->device->driver, "completed");
    code = queue->handle->table->completed(queue->handle, out_value, error);
    accel_context_report(queue->object.context, NULL, NULL);
    return code;
}

int32_t accel_driver_queue_reset(struct accel_queue *queue, struct accel_error *error)
{
    int32_t code;
    accel_context_report(queue->object.context, queue->device->driver, "reset");
    code = queue->handle->table->reset(queue->handle, error);
    accel_context_report(queue->object.context, NULL, NULL);
    return code;
}

void accel_queue_reap(struct accel_queue *queue, bool everything)
{
    uint64_t done = UINT64_MAX;
    if (!everything && accel_driver_queue_completed(queue, &done, NULL) != ACCEL_OK)
        return;
    while (queue->held_count != 0 && queue->held[queue->held_first].value <= done) {
        struct accel_object *object = queue->held[queue->held_first].object;
        queue->held_first = (queue->held_first + 1) % queue->held_capacity;
        queue->held_count--;
        accel_object_release(object);
    }
}

/* Lists the objects of one step in a fixed order; returns their number. */
static uint32_t objects_of(const struct accel_step *step, struct accel_object *objects[4])
{
    uint32_t count = 0;
    if (step->set != NULL)
        objects[count++] = &step->set->object;
    if (step->source != NULL)
        objects[count++] = &step->source->object;
    if (step->target != NULL)
        objects[count++] = &step->target->object;
    if (step->state != NULL)
        objects[count++] = &step->state->object;
    return count;
}

static void hold_object(struct accel_queue *queue, struct accel_object *object, uint64_t value)
{
    uint32_t at = (queue->held_first + queue->held_count++) % queue->held_capacity;
    accel_object_retain(object);
    queue->held[at] = (struct accel_held){.object = object, .value = value};
}

static void hold(struct accel_queue *queue, const struct accel_step *step, uint64_t value)
{
    struct accel_object *objects[4];
    uint32_t count = objects_of(step, objects);
    for (uint32_t i = 0; i < count; i++)
        hold_object(queue, objects[i], value);
}

/* Holds the queues that a step waits for: the driver uses them until the step has begun. */
static void hold_waits(struct accel_queue *queue, const struct accel_fence *waits, uint32_t count, uint64_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].queue != queue)
            hold_object(queue, &waits[i].queue->object, value);
}

/* Checks that the queue can hold the objects of these steps; releases those of completed steps first. */
static int32_t check_capacity(struct accel_queue *queue, const struct accel_step *const *steps, uint32_t count,
                              uint32_t wait_count, struct accel_error *error)
{
    struct accel_object *objects[4];
    uint32_t needed = wait_count;
    if (count > queue->step_capacity)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u steps in one submit, device %s has %u in flight", count,
                               queue->device->listed->info.name, queue->step_capacity);
    for (uint32_t i = 0; i < count; i++)
        needed += objects_of(steps[i], objects);
    if (needed > queue->held_capacity - queue->held_count)
        accel_queue_reap(queue, false);
    if (needed > queue->held_capacity - queue->held_count)
        return accel_error_set(error, ACCEL_E_AGAIN, "the queue is full: wait for an earlier value");
    return ACCEL_OK;
}

static void translate(const struct accel_step *step, struct accel_driver_step *out_step)
{
    *out_step = (struct accel_driver_step){.size = sizeof(*out_step),
                                           .kind = step->kind,
                                           .symbols = step->symbols,
                                           .fill = step->fill,
                                           .source_offset = step->source_offset,
                                           .target_offset = step->target_offset,
                                           .bytes = step->bytes,
                                           .data = step->data,
                                           .memory = step->memory,
                                           .changes = step->changes,
                                           .change_count = step->change_count};
    if (step->set != NULL) {
        out_step->set = step->set->handle;
        out_step->symbol_count = step->set->symbol_count;
    }
    out_step->source = step->source == NULL ? NULL : step->source->handle;
    out_step->target = step->target == NULL ? NULL : step->target->handle;
    out_step->state = step->state == NULL ? NULL : step->state->handle;
}

int32_t accel_driver_queue_submit(struct accel_queue *queue, const struct accel_step *const *steps, uint32_t step_count,
                                  const struct accel_fence *waits, uint32_t wait_count, uint64_t *out_value,
                                  struct accel_error *error)
{
    struct accel_driver_fence inner[ACCEL_QUEUE_WAITS];
    uint64_t before = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
    int32_t code;
    if (atomic_load_explicit(&queue->cancel, memory_order_relaxed))
        return accel_error_set(error, ACCEL_E_CANCELLED, "the queue was cancelled and not reset");
    if (wait_count > ACCEL_QUEUE_WAITS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u waits in one submit, at most %u are allowed", wait_count,
                               ACCEL_QUEUE_WAITS);
    code = check_capacity(queue, steps, step_count, wait_count, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < step_count; i++)
        translate(steps[i], &queue->steps[i]);
    for (uint32_t i = 0; i < wait_count; i++)
        inner[i] = (struct accel_driver_fence){.queue = waits[i].queue->handle, .value = waits[i].value};
    accel_context_report(queue->object.context, queue->device->driver, "submit");
    code =
        queue->handle->table->submit(queue->handle, queue->step_list, step_count, inner, wait_count, out_value, error);
    accel_context_report(queue->object.context, NULL, NULL);
    code = accel_queue_import_code(queue, UINT64_MAX, code, "submit", error);
    if (code == ACCEL_OK && *out_value <= before)
        code =
            accel_error_driver(error, ACCEL_E_INTERNAL, queue->device->driver, "submit returned value %llu after %llu",
                               (unsigned long long)*out_value, (unsigned long long)before);
    if (code != ACCEL_OK) {
        *out_value = 0;
        return code;
    }
    for (uint32_t i = 0; i < step_count; i++)
        hold(queue, steps[i], *out_value);
    hold_waits(queue, waits, wait_count, *out_value);
    atomic_store_explicit(&queue->submitted, *out_value, memory_order_release);
    return ACCEL_OK;
}

int32_t accel_driver_queue_wait(struct accel_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    int32_t code;
    accel_context_report(queue->object.context, queue->device->driver, "wait");
    code = queue->handle->table->wait(queue->handle, value, deadline, error);
    accel_context_report(queue->object.context, NULL, NULL);
    code = accel_queue_import_code(queue, value, code, "wait", error);
    if (code == ACCEL_OK)
        accel_queue_reap(queue, false);
    return code;
}
