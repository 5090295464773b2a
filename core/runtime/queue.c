/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and their timeline. Without driver queues, a submit runs its work at once, in the caller's thread: the
 * value has completed or failed when submit returns. After a failure, all later values fail with it until reset. */
#include "config.h"

#include "core/runtime/queue.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/open.h"
#include "core/boundary/import.h"
#include "core/runtime/check.h"
#include "core/runtime/device.h"

#define MOST_STEPS 65536u
#define STEP_HOLDS 3u /* maximum objects of one step, besides the queues that it waits for */

static void queue_destroy(struct accel_object *object)
{
    struct accel_queue *queue = (struct accel_queue *)object;
    if (queue->handle != NULL)
        ACCEL_FREE_HANDLE(queue->device, queue->handle, "free of a queue");
    accel_pool_team_free(&queue->own_team);
    accel_object_release(queue->scratch == NULL ? NULL : &queue->scratch->object);
    accel_memory_free(&object->context->memory, queue->held);
    accel_memory_free(&object->context->memory, queue->steps);
    accel_object_release(&queue->device->object);
}

/* Allocates the lists of a submit, so that submit itself allocates nothing. */
static int32_t allocate_lists(struct accel_queue *queue, struct accel_error *error)
{
    uint64_t steps = queue->device->listed->info.facts->limits->in_flight;
    uint64_t held = steps * STEP_HOLDS + ACCEL_QUEUE_WAITS;
    queue->held = accel_object_array(&queue->object, held, sizeof(*queue->held), error);
    queue->held_capacity = (uint32_t)held;
    queue->steps = accel_object_array(&queue->object, steps, sizeof(*queue->steps) + sizeof(void *), error);
    queue->step_capacity = (uint32_t)steps;
    if (queue->held == NULL || queue->steps == NULL)
        return ACCEL_E_MEMORY;
    queue->step_list = (const struct accel_driver_step **)(queue->steps + steps);
    for (uint64_t i = 0; i < steps; i++)
        queue->step_list[i] = &queue->steps[i];
    return ACCEL_OK;
}

static int32_t make_driver_queue(struct accel_queue *queue, struct accel_error *error)
{
    struct accel_device *device = queue->device;
    struct accel_driver_queue *handle = NULL;
    int32_t code = allocate_lists(queue, error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "queue_create",
                  device->handle->table->queue_create(device->handle, &handle, error));
    code = accel_device_import_handle(device, code, handle, "queue_create", error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_OWN_HANDLE(queue->handle, handle);
    return accel_import_table(handle, ACCEL_TABLE_QUEUE, device->driver, error);
}

static int32_t check_options(const struct accel_queue_options *given, struct accel_queue_options *options,
                             struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    memset(options, 0, sizeof(*options));
    if (given != NULL)
        code = accel_open_copy(given, ACCEL_END_OF(struct accel_queue_options, threads), sizeof(*options), "the caller",
                               "accel_queue_options", options, error);
    if (code == ACCEL_OK && (options->zero != 0 || options->pin_caller > 1))
        code = accel_error_set(error, ACCEL_E_INVALID, "struct accel_queue_options: pin_caller is %u, zero is %u",
                               options->pin_caller, options->zero);
    if (code == ACCEL_OK && options->team != NULL &&
        (options->team->threads == 0 || !ACCEL_CAN(options->team, run) || options->threads != 0))
        code = accel_error_set(error, ACCEL_E_INVALID,
                               "struct accel_queue_options: a team needs threads and `run`, and `threads` must be 0");
    if (options->threads == 0)
        options->threads = 1;
    return code;
}

int32_t accel_queue_create(struct accel_device *device, const struct accel_queue_options *given,
                           struct accel_queue **out_queue, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_queue_options options;
    struct accel_object *object;
    struct accel_queue *queue;
    int32_t code;
    if (out_queue == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_queue_create: out_queue is NULL");
    *out_queue = NULL;
    code = accel_check_alive(device, error);
    if (code == ACCEL_OK)
        code = check_options(given, &options, error);
    if (code == ACCEL_OK)
        code = accel_object_create(device->object.context, sizeof(*queue), queue_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    queue = (struct accel_queue *)object;
    queue->device = device;
    queue->team = accel_team_serial();
    atomic_flag_clear(&queue->busy);
    accel_object_retain(&device->object);
    if (device->has_queues) {
        code = make_driver_queue(queue, error);
    } else if (options.team != NULL) {
        queue->team = options.team;
    } else if (options.threads > 1) {
        code = accel_pool_team_create(object->context, &options, &queue->own_team, error);
        queue->team = &queue->own_team.team;
    }
    *out_queue = (struct accel_queue *)accel_object_finish(object, code);
    return code;
}

void accel_queue_drain(struct accel_queue *queue)
{
    uint64_t last = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
    if (queue->handle == NULL)
        return;
    if (last != 0 && accel_driver_queue_wait(queue, last, UINT64_MAX, NULL) != ACCEL_OK)
        accel_driver_queue_reset(queue, NULL);
    accel_queue_reap(queue, true);
}

void accel_queue_free(struct accel_queue *queue) ACCEL_NOEXCEPT
{
    if (queue == NULL || accel_fork_guard_is_child(&queue->object.context->fork))
        return;
    /* A driver queue can be freed only when no step is in flight; after a failure only `reset` ensures that. */
    queue->is_freed = true;
    accel_queue_drain(queue);
    accel_object_release(&queue->object);
}

void accel_queue_fail(struct accel_queue *queue, uint64_t value, int32_t code)
{
    /* Overwrites the text, since the failed slot may have set none, or was called without an error. */
    accel_error_set(&queue->failure, code, "value %llu of the queue failed with %s", (unsigned long long)value,
                    accel_error_name(code));
    queue->failure.code = code;
    atomic_store_explicit(&queue->failed, value, memory_order_release);
}

/* Returns the code of `value` after a failure, with the text of the first failure. */
static int32_t check_value(const struct accel_queue *queue, uint64_t value, struct accel_error *error)
{
    uint64_t failed = atomic_load_explicit(&queue->failed, memory_order_acquire);
    if (value >= queue->void_first && value <= queue->void_last && queue->void_last != 0)
        return accel_error_set(error, ACCEL_E_DEPENDS, "value %llu failed before the queue was reset",
                               (unsigned long long)value);
    if (failed == 0 || value < failed)
        return ACCEL_OK;
    if (value == failed) {
        if (error != NULL && error->code == ACCEL_OK)
            *error = queue->failure;
        return queue->failure.code;
    }
    return accel_error_set(error, ACCEL_E_DEPENDS, "value %llu comes after value %llu, which failed: %s",
                           (unsigned long long)value, (unsigned long long)failed, queue->failure.text);
}

/* Returns whether a value that the submit waits for has failed. All of them are decided when submit is called,
 * since their queues ran in their callers' threads. */
static bool waits_failed(const struct accel_fence *waits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (check_value(waits[i].queue, waits[i].value, NULL) != ACCEL_OK)
            return true;
    return false;
}

static int32_t run_all(struct accel_queue *queue, const struct accel_step *const *steps, uint32_t count,
                       struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        if (atomic_load_explicit(&queue->cancel, memory_order_relaxed))
            return accel_error_set(error, ACCEL_E_CANCELLED, "the queue was cancelled before step %u", i);
        code = accel_step_run(queue, steps[i], error);
    }
    return code;
}

static void submit_serially(struct accel_queue *queue, const struct accel_step *const *steps, uint32_t step_count,
                            const struct accel_fence *waits, uint32_t wait_count, uint64_t *out_value)
{
    uint64_t value = atomic_load_explicit(&queue->submitted, memory_order_relaxed) + 1;
    int32_t code = ACCEL_OK;
    if (atomic_load_explicit(&queue->failed, memory_order_relaxed) == 0) {
        accel_error_clear(&queue->failure);
        if (waits_failed(waits, wait_count))
            code = accel_error_set(&queue->failure, ACCEL_E_DEPENDS, "a value that this submit waits for has failed");
        else
            code = run_all(queue, steps, step_count, &queue->failure);
        if (code == ACCEL_OK)
            atomic_store_explicit(&queue->completed, value, memory_order_release);
        else
            accel_queue_fail(queue, value, code);
    }
    atomic_store_explicit(&queue->submitted, value, memory_order_release);
    *out_value = value;
}

int32_t accel_queue_submit(struct accel_queue *queue, const struct accel_step *const *steps, uint32_t step_count,
                           const struct accel_fence *waits, uint32_t wait_count, uint64_t *out_value,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    uint64_t unused;
    int32_t code = accel_check_object((struct accel_object *)queue, "queue", error);
    if (code == ACCEL_OK)
        code = accel_check_alive(queue->device, error);
    if (code != ACCEL_OK)
        return code;
    if (step_count == 0 || step_count > MOST_STEPS || steps == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "%u steps in one submit, allowed are 1 to %u", step_count,
                               MOST_STEPS);
    code = accel_check_waits(queue, waits, wait_count, error);
    for (uint32_t i = 0; i < step_count && code == ACCEL_OK; i++)
        code = accel_check_step(queue, steps[i], error);
    if (code != ACCEL_OK)
        return code;
    if (atomic_flag_test_and_set_explicit(&queue->busy, memory_order_acquire))
        return accel_error_set(error, ACCEL_E_BUSY, "another thread uses the queue");
    if (out_value == NULL)
        out_value = &unused;
    *out_value = 0;
    if (queue->handle != NULL)
        code = accel_driver_queue_submit(queue, steps, step_count, waits, wait_count, out_value, error);
    else
        submit_serially(queue, steps, step_count, waits, wait_count, out_value);
    atomic_flag_clear_explicit(&queue->busy, memory_order_release);
    return code;
}

int32_t accel_queue_wait(struct accel_queue *queue, uint64_t value, uint64_t nanoseconds,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    uint64_t now;
    int32_t code = accel_check_object((struct accel_object *)queue, "queue", error);
    if (code != ACCEL_OK)
        return code;
    if (value > atomic_load_explicit(&queue->submitted, memory_order_acquire))
        return accel_error_set(error, ACCEL_E_INVALID, "value %llu was not returned by a submit yet",
                               (unsigned long long)value);
    if (queue->handle == NULL)
        return check_value(queue, value, error);
    now = accel_clock_ns();
    return accel_driver_queue_wait(queue, value, nanoseconds > UINT64_MAX - now ? UINT64_MAX : now + nanoseconds,
                                   error);
}

int32_t accel_queue_completed(struct accel_queue *queue, uint64_t *out_value, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = accel_check_object((struct accel_object *)queue, "queue", error);
    if (code != ACCEL_OK)
        return code;
    if (out_value == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_queue_completed: out_value is NULL");
    *out_value = atomic_load_explicit(&queue->completed, memory_order_acquire);
    if (queue->handle == NULL)
        return ACCEL_OK;
    code = accel_driver_queue_completed(queue, out_value, error);
    return accel_device_import_code(queue->device, code, "completed", error);
}

int32_t accel_queue_cancel(struct accel_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = accel_check_object((struct accel_object *)queue, "queue", error);
    if (code != ACCEL_OK)
        return code;
    atomic_store_explicit(&queue->cancel, true, memory_order_relaxed);
    if (queue->handle == NULL || !ACCEL_CAN(queue->handle->table, cancel))
        return ACCEL_OK;
    code = queue->handle->table->cancel(queue->handle, error);
    return accel_device_import_code(queue->device, code, "cancel", error);
}

int32_t accel_queue_reset(struct accel_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = accel_check_object((struct accel_object *)queue, "queue", error);
    if (code != ACCEL_OK)
        return code;
    if (atomic_flag_test_and_set_explicit(&queue->busy, memory_order_acquire))
        return accel_error_set(error, ACCEL_E_BUSY, "another thread uses the queue");
    if (queue->handle != NULL) {
        code = accel_driver_queue_reset(queue, error);
        code = accel_device_import_code(queue->device, code, "reset", error);
    }
    if (code == ACCEL_OK)
        code = accel_check_alive(queue->device, error);
    if (code == ACCEL_OK) {
        if (queue->handle != NULL)
            accel_queue_reap(queue, true);
        if (atomic_load_explicit(&queue->cancel, memory_order_relaxed))
            queue->cancelled_last = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
        /* Values from the failed one on stay failed; after several failures the latest range is remembered. */
        if (atomic_load_explicit(&queue->failed, memory_order_relaxed) != 0) {
            queue->void_first = atomic_load_explicit(&queue->failed, memory_order_relaxed);
            queue->void_last = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
        }
        atomic_store_explicit(&queue->cancel, false, memory_order_relaxed);
        atomic_store_explicit(&queue->failed, 0, memory_order_release);
    }
    atomic_flag_clear_explicit(&queue->busy, memory_order_release);
    return code;
}
