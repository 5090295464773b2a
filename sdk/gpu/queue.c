/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and their timeline. The API maintains a counter; this file decides which values have completed and which have
 * failed, and copies staged reads to the host before their value completes.
 *
 * Failure: the first value that fails is stored with its error, and every later one fails as a dependent until `reset`.
 * Nothing is submitted meanwhile, but values are still returned. If the wait of a value fails on another queue, the
 * value fails after it has run, since the API runs it anyway.
 */
#include <stdbool.h>
#include <string.h>

#include "sdk/gpu/timeline.h"

/* ---- the timeline ---- */

static void fail_at(struct gpu_timeline *timeline, uint64_t value, int32_t code, const struct accel_error *why)
{
    if (atomic_load(&timeline->failed) != 0)
        return;
    timeline->failure = (struct accel_error){.code = ACCEL_OK};
    if (why != NULL && why->code != ACCEL_OK)
        timeline->failure = *why;
    sdk_error(&timeline->failure, code, "value %llu of the queue failed", (unsigned long long)value);
    timeline->failure.code = code;
    atomic_store(&timeline->failed, value);
}

/* Returns whether a value of another queue has failed, also before its last reset. */
static bool wait_failed(const struct accel_driver_fence *wait)
{
    struct gpu_timeline *other = (struct gpu_timeline *)wait->queue;
    uint64_t failed = atomic_load(&other->failed);

    return (failed != 0 && wait->value >= failed) ||
           (other->void_last != 0 && wait->value >= other->void_first && wait->value <= other->void_last);
}

static void pop(struct gpu_timeline *timeline)
{
    const struct gpu_entry *entry = &timeline->entries[timeline->first];

    timeline->upload.tail = entry->upload_head;
    timeline->download.tail = entry->download_head;
    timeline->first = (timeline->first + 1) % timeline->gpu->limits.in_flight;
    timeline->count--;
}

/* Ends the entries that the API's counter has passed. Under the lock. */
static void retire_entries(struct gpu_timeline *timeline, uint64_t counter)
{
    while (timeline->count != 0 && timeline->entries[timeline->first].value <= counter) {
        const struct gpu_entry *entry = &timeline->entries[timeline->first];

        for (uint32_t w = 0; w < entry->wait_count; w++)
            if (wait_failed(&entry->waits[w]))
                fail_at(timeline, entry->value, ACCEL_E_DEPENDS, NULL);
        if (atomic_load(&timeline->failed) == 0) {
            for (uint32_t f = 0; f < entry->fetch_count; f++)
                memcpy(entry->fetches[f].host, timeline->download.address + entry->fetches[f].at,
                       entry->fetches[f].bytes);
            atomic_store(&timeline->completed, entry->value);
        }
        pop(timeline);
    }
}

static int32_t update_completed(struct gpu_timeline *timeline, struct accel_error *error)
{
    uint64_t counter = 0;
    int32_t code = timeline->gpu->api->completed(timeline->queue, &counter, error);

    pthread_mutex_lock(&timeline->lock);
    retire_entries(timeline, counter);
    pthread_mutex_unlock(&timeline->lock);
    return code;
}

/* Waits for the queue after a failure of the API, and fails all values that were not reached. */
static void drain(struct gpu_timeline *timeline, int32_t code, const struct accel_error *why)
{
    uint64_t counter = 0;

    timeline->gpu->api->wait(timeline->queue, timeline->sent, UINT64_MAX, NULL);
    timeline->gpu->api->completed(timeline->queue, &counter, NULL);
    pthread_mutex_lock(&timeline->lock);
    retire_entries(timeline, counter);
    if (timeline->count != 0)
        fail_at(timeline, timeline->entries[timeline->first].value, code, why);
    while (timeline->count != 0)
        pop(timeline);
    pthread_mutex_unlock(&timeline->lock);
}

bool gpu_timeline_is_over(struct gpu_timeline *timeline, uint64_t value)
{
    uint32_t over;

    update_completed(timeline, NULL);
    pthread_mutex_lock(&timeline->lock);
    over = atomic_load(&timeline->completed) >= value ||
           (timeline->count == 0 && !(timeline->is_building && value > timeline->past));
    pthread_mutex_unlock(&timeline->lock);
    return over;
}

/* ---- slots ---- */

static int32_t queue_free(struct accel_driver_queue *base) ACCEL_NOEXCEPT
{
    struct gpu_timeline *timeline = (struct gpu_timeline *)base;
    struct gpu_device_state *gpu = timeline->gpu;

    if (timeline->queue != NULL)
        gpu->api->queue_free(timeline->queue);
    gpu_memory_drop(gpu, ACCEL_MEMORY_PROGRAM, timeline->upload.bytes, GPU_MEMORY_UPLOAD, timeline->upload.memory);
    gpu_memory_drop(gpu, ACCEL_MEMORY_PROGRAM, timeline->download.bytes, GPU_MEMORY_DOWNLOAD,
                    timeline->download.memory);
    pthread_mutex_destroy(&timeline->lock);
    gpu_release(gpu, timeline);
    atomic_fetch_sub(&gpu->children, 1);
    return ACCEL_OK;
}

/* Values that are reached already need no wait, and the queue's own come first anyway. */
static bool collect_waits(struct gpu_timeline *timeline, const struct accel_driver_fence *waits, uint32_t wait_count,
                          struct gpu_entry *entry)
{
    entry->wait_count = 0;
    timeline->point_count = 0;
    for (uint32_t w = 0; w < wait_count; w++) {
        struct gpu_timeline *other = (struct gpu_timeline *)waits[w].queue;

        if (wait_failed(&waits[w]))
            return true;
        if (other == timeline || atomic_load(&other->completed) >= waits[w].value)
            continue;
        entry->waits[entry->wait_count++] = waits[w];
        timeline->points[timeline->point_count++] = (struct gpu_point){.queue = other->queue, .value = waits[w].value};
    }
    return false;
}

static int32_t check_submit(struct gpu_timeline *timeline, uint32_t wait_count, struct accel_error *error)
{
    if (wait_count > GPU_WAITS)
        return sdk_error(error, ACCEL_E_LIMIT, "%u waits in one submit, at most %u are taken", wait_count, GPU_WAITS);
    if (timeline->count == timeline->gpu->limits.in_flight)
        return sdk_error(error, ACCEL_E_AGAIN, "the queue has %u submits in flight", timeline->gpu->limits.in_flight);
    return ACCEL_OK;
}

static int32_t queue_submit(struct accel_driver_queue *base, const struct accel_driver_step *const *steps,
                            uint32_t step_count, const struct accel_driver_fence *waits, uint32_t wait_count,
                            uint64_t *out_value, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_timeline *timeline = (struct gpu_timeline *)base;
    struct gpu_entry *entry;
    struct accel_error why = {.code = ACCEL_OK};
    uint32_t begun = 0;
    int32_t code;

    *out_value = 0;
    if (atomic_load(&timeline->failed) != 0) {
        *out_value = ++timeline->last;
        return ACCEL_OK;
    }
    update_completed(timeline, NULL);
    code = check_submit(timeline, wait_count, error);
    if (code != ACCEL_OK)
        return code;
    pthread_mutex_lock(&timeline->lock);
    entry = &timeline->entries[(timeline->first + timeline->count) % timeline->gpu->limits.in_flight];
    pthread_mutex_unlock(&timeline->lock);
    entry->fetch_count = 0;
    if (collect_waits(timeline, waits, wait_count, entry)) {
        pthread_mutex_lock(&timeline->lock);
        fail_at(timeline, ++timeline->last, ACCEL_E_DEPENDS, NULL);
        pthread_mutex_unlock(&timeline->lock);
        *out_value = timeline->last;
        return ACCEL_OK;
    }
    code = gpu_timeline_steps(timeline, steps, step_count, entry, &begun, &why);
    if (code != ACCEL_OK && !begun) {
        if (error != NULL && error->code == ACCEL_OK)
            *error = why;
        return code;
    }
    entry->value = *out_value = timeline->last;
    pthread_mutex_lock(&timeline->lock);
    timeline->count++;
    pthread_mutex_unlock(&timeline->lock);
    if (code != ACCEL_OK)
        drain(timeline, code, &why);
    return ACCEL_OK;
}

static int32_t failure_of(const struct gpu_timeline *timeline, uint64_t value, struct accel_error *error)
{
    uint64_t failed = atomic_load(&timeline->failed);

    if (value >= timeline->void_first && value <= timeline->void_last && timeline->void_last != 0)
        return sdk_error(error, ACCEL_E_DEPENDS, "value %llu failed before the queue was reset",
                         (unsigned long long)value);
    if (value == failed) {
        if (error != NULL && error->code == ACCEL_OK)
            *error = timeline->failure;
        return timeline->failure.code;
    }
    return sdk_error(error, ACCEL_E_DEPENDS, "value %llu comes after value %llu, which failed: %s",
                     (unsigned long long)value, (unsigned long long)failed, timeline->failure.text);
}

/* Returns 1 if the value has completed or failed; *out_code is its result. */
static bool is_over(struct gpu_timeline *timeline, uint64_t value, int32_t *out_code, struct accel_error *error)
{
    uint64_t failed = atomic_load(&timeline->failed);

    *out_code = ACCEL_OK;
    if (timeline->void_last != 0 && value >= timeline->void_first && value <= timeline->void_last) {
        *out_code = failure_of(timeline, value, error);
        return true;
    }
    if (atomic_load(&timeline->completed) >= value)
        return true;
    if (failed == 0 || value < failed)
        return false;
    /* Submits after a failure may still run and write to the targets of their reads. */
    if (timeline->count != 0)
        drain(timeline, ACCEL_E_DEPENDS, NULL);
    *out_code = failure_of(timeline, value, error);
    return true;
}

static int32_t queue_wait(struct accel_driver_queue *base, uint64_t value, uint64_t deadline,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_timeline *timeline = (struct gpu_timeline *)base;
    struct accel_error why = {.code = ACCEL_OK};
    int32_t code = ACCEL_OK;
    int32_t got;

    if (is_over(timeline, value, &code, error))
        return code;
    got = timeline->gpu->api->wait(timeline->queue, value, deadline, &why);
    if (got == ACCEL_OK || got == ACCEL_E_TIMEOUT) {
        int32_t polled = update_completed(timeline, &why);

        got = polled == ACCEL_OK ? got : polled;
    }
    if (is_over(timeline, value, &code, error))
        return code;
    if (got == ACCEL_E_TIMEOUT)
        return sdk_error(error, ACCEL_E_TIMEOUT, "value %llu is not reached yet", (unsigned long long)value);
    drain(timeline, got == ACCEL_OK ? ACCEL_E_INTERNAL : got, &why);
    if (is_over(timeline, value, &code, error))
        return code;
    return sdk_error(error, ACCEL_E_INTERNAL, "value %llu was never submitted", (unsigned long long)value);
}

static int32_t queue_completed(struct accel_driver_queue *base, uint64_t *out_value,
                               struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_timeline *timeline = (struct gpu_timeline *)base;

    (void)error;
    /* `wait` reports a failure; values before it stay completed. */
    update_completed(timeline, NULL);
    *out_value = atomic_load(&timeline->completed);
    return ACCEL_OK;
}

static int32_t queue_reset(struct accel_driver_queue *base, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_timeline *timeline = (struct gpu_timeline *)base;
    uint64_t failed;
    int32_t code;

    update_completed(timeline, NULL);
    drain(timeline, ACCEL_E_DEPENDS, NULL);
    code = timeline->gpu->api->reset(timeline->queue, error);
    if (code != ACCEL_OK)
        return code;
    pthread_mutex_lock(&timeline->lock);
    failed = atomic_load(&timeline->failed);
    if (failed != 0) {
        timeline->void_first = failed;
        timeline->void_last = timeline->last;
    }
    atomic_store(&timeline->failed, 0);
    pthread_mutex_unlock(&timeline->lock);
    return ACCEL_OK;
}

static const struct accel_queue_table queue_table = {.size = sizeof(queue_table),
                                                     .free = queue_free,
                                                     .submit = queue_submit,
                                                     .wait = queue_wait,
                                                     .completed = queue_completed,
                                                     .reset = queue_reset};

static int32_t make_ring(struct gpu_device_state *gpu, struct gpu_ring *ring, uint64_t bytes, uint32_t kind,
                         struct accel_error *error)
{
    int32_t code = gpu_memory_make(gpu, ACCEL_MEMORY_PROGRAM, bytes, kind, &ring->memory, error);

    if (code != ACCEL_OK)
        return code;
    ring->address = gpu->api->memory_address(ring->memory);
    ring->bytes = bytes;
    return ACCEL_OK;
}

uint64_t gpu_queue_bytes(const struct gpu_limits *limits)
{
    return sizeof(struct gpu_timeline) + limits->in_flight * sizeof(struct gpu_entry) +
           GPU_OPERATIONS * sizeof(struct gpu_operation) + GPU_UPLOAD_BYTES + (limits->reads ? 0 : GPU_DOWNLOAD_BYTES);
}

int32_t gpu_queue_create(struct accel_driver_device *base, struct accel_driver_queue **out_queue,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    uint64_t entries = gpu->limits.in_flight * sizeof(struct gpu_entry);
    struct gpu_timeline *timeline;
    void *memory = NULL;
    int32_t code =
        gpu_allocate(gpu, ACCEL_MEMORY_PROGRAM,
                     sizeof(*timeline) + entries + GPU_OPERATIONS * sizeof(struct gpu_operation), &memory, error);

    *out_queue = NULL;
    if (code != ACCEL_OK)
        return code;
    timeline = memory;
    timeline->base.table = &queue_table;
    timeline->gpu = gpu;
    timeline->entries = (struct gpu_entry *)(timeline + 1);
    timeline->operations = (struct gpu_operation *)(void *)((char *)timeline->entries + entries);
    pthread_mutex_init(&timeline->lock, NULL);
    atomic_fetch_add(&gpu->children, 1);
    code = gpu->api->queue_create(gpu->device, &timeline->queue, error);
    if (code == ACCEL_OK)
        code = make_ring(gpu, &timeline->upload, GPU_UPLOAD_BYTES, GPU_MEMORY_UPLOAD, error);
    if (code == ACCEL_OK && !gpu->limits.reads)
        code = make_ring(gpu, &timeline->download, GPU_DOWNLOAD_BYTES, GPU_MEMORY_DOWNLOAD, error);
    if (code != ACCEL_OK) {
        queue_free(&timeline->base);
        return code;
    }
    *out_queue = &timeline->base;
    return ACCEL_OK;
}
