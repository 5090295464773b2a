/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and their timeline. The API counts; this file says what a count means: which values are reached, which failed
 * and why, and that bytes which a read asked for are at their place before its value is reached.
 *
 * Failure: the first value that fails is remembered with its error, and every later one depends on it, until `reset`.
 * Nothing is submitted meanwhile; values are handed out all the same. A value whose wait failed on another queue fails
 * when it is over, since the API runs it anyway.
 */
#include "sdk/gpu/line.h"

#include <string.h>

/* ---- the timeline ---- */

static void fail_at(struct gpu_line *line, uint64_t value, int32_t code, const struct accel_error *why)
{
    if (atomic_load(&line->failed) != 0)
        return;
    line->failure = (struct accel_error){.code = ACCEL_OK};
    if (why != NULL && why->code != ACCEL_OK)
        line->failure = *why;
    sdk_error(&line->failure, code, "value %llu of the queue failed", (unsigned long long)value);
    line->failure.code = code;
    atomic_store(&line->failed, value);
}

/* Whether a value of another queue has failed, or failed before that queue was reset. */
static uint32_t wait_failed(const struct accel_wait *wait)
{
    struct gpu_line *other = (struct gpu_line *)wait->queue;
    uint64_t failed = atomic_load(&other->failed);

    return (failed != 0 && wait->value >= failed) ||
           (other->void_last != 0 && wait->value >= other->void_first && wait->value <= other->void_last);
}

static void pop(struct gpu_line *line)
{
    const struct gpu_entry *entry = &line->entries[line->first];

    line->upload.tail = entry->upload_head;
    line->download.tail = entry->download_head;
    line->first = (line->first + 1) % line->room->limits.in_flight;
    line->count--;
}

/* Ends the entries that the API's counter has passed. Under the lock. */
static void settle(struct gpu_line *line, uint64_t counter)
{
    while (line->count != 0 && line->entries[line->first].value <= counter) {
        const struct gpu_entry *entry = &line->entries[line->first];

        for (uint32_t w = 0; w < entry->wait_count; w++)
            if (wait_failed(&entry->waits[w]))
                fail_at(line, entry->value, ACCEL_E_DEPENDS, NULL);
        if (atomic_load(&line->failed) == 0) {
            for (uint32_t f = 0; f < entry->fetch_count; f++)
                memcpy(entry->fetches[f].host, line->download.address + entry->fetches[f].at, entry->fetches[f].bytes);
            atomic_store(&line->completed, entry->value);
        }
        pop(line);
    }
}

static int32_t look(struct gpu_line *line, struct accel_error *error)
{
    uint64_t counter = 0;
    int32_t code = line->room->api->completed(line->queue, &counter, error);

    pthread_mutex_lock(&line->lock);
    settle(line, counter);
    pthread_mutex_unlock(&line->lock);
    return code;
}

/* After a failure of the API: nothing runs any more, and what had not been reached has failed. */
static void drain(struct gpu_line *line, int32_t code, const struct accel_error *why)
{
    uint64_t counter = 0;

    line->room->api->wait(line->queue, line->sent, UINT64_MAX, NULL);
    line->room->api->completed(line->queue, &counter, NULL);
    pthread_mutex_lock(&line->lock);
    settle(line, counter);
    if (line->count != 0)
        fail_at(line, line->entries[line->first].value, code, why);
    while (line->count != 0)
        pop(line);
    pthread_mutex_unlock(&line->lock);
}

uint32_t gpu_line_over(struct gpu_line *line, uint64_t value)
{
    uint32_t over;

    look(line, NULL);
    pthread_mutex_lock(&line->lock);
    over = atomic_load(&line->completed) >= value || (line->count == 0 && !(line->is_building && value > line->past));
    pthread_mutex_unlock(&line->lock);
    return over;
}

/* ---- slots ---- */

static int32_t queue_free(struct accel_driver_queue *base) ACCEL_NOEXCEPT
{
    struct gpu_line *line = (struct gpu_line *)base;
    struct gpu_room *room = line->room;

    if (line->queue != NULL)
        room->api->queue_free(line->queue);
    gpu_memory_drop(room, ACCEL_MEMORY_PROGRAM, line->upload.bytes, GPU_MEMORY_UPLOAD, line->upload.memory);
    gpu_memory_drop(room, ACCEL_MEMORY_PROGRAM, line->download.bytes, GPU_MEMORY_DOWNLOAD, line->download.memory);
    pthread_mutex_destroy(&line->lock);
    gpu_give(room, line);
    atomic_fetch_sub(&room->children, 1);
    return ACCEL_OK;
}

/* Values that are reached already need no wait, and the queue's own come first anyway. */
static uint32_t take_waits(struct gpu_line *line, const struct accel_wait *waits, uint32_t wait_count,
                           struct gpu_entry *entry)
{
    entry->wait_count = 0;
    line->point_count = 0;
    for (uint32_t w = 0; w < wait_count; w++) {
        struct gpu_line *other = (struct gpu_line *)waits[w].queue;

        if (wait_failed(&waits[w]))
            return 1;
        if (other == line || atomic_load(&other->completed) >= waits[w].value)
            continue;
        entry->waits[entry->wait_count++] = waits[w];
        line->points[line->point_count++] = (struct gpu_point){.queue = other->queue, .value = waits[w].value};
    }
    return 0;
}

static int32_t refuse(struct gpu_line *line, uint32_t wait_count, struct accel_error *error)
{
    if (wait_count > GPU_WAITS)
        return sdk_error(error, ACCEL_E_LIMIT, "%u waits in one submit, at most %u are taken", wait_count, GPU_WAITS);
    if (line->count == line->room->limits.in_flight)
        return sdk_error(error, ACCEL_E_AGAIN, "the queue has %u submits in flight", line->room->limits.in_flight);
    return ACCEL_OK;
}

static int32_t queue_submit(struct accel_driver_queue *base, const struct accel_step *const *steps, uint32_t step_count,
                            const struct accel_wait *waits, uint32_t wait_count, uint64_t *out_value,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_line *line = (struct gpu_line *)base;
    struct gpu_entry *entry;
    struct accel_error why = {.code = ACCEL_OK};
    uint32_t begun = 0;
    int32_t code;

    *out_value = 0;
    if (atomic_load(&line->failed) != 0) {
        *out_value = ++line->last;
        return ACCEL_OK;
    }
    look(line, NULL);
    code = refuse(line, wait_count, error);
    if (code != ACCEL_OK)
        return code;
    pthread_mutex_lock(&line->lock);
    entry = &line->entries[(line->first + line->count) % line->room->limits.in_flight];
    pthread_mutex_unlock(&line->lock);
    entry->fetch_count = 0;
    if (take_waits(line, waits, wait_count, entry)) {
        pthread_mutex_lock(&line->lock);
        fail_at(line, ++line->last, ACCEL_E_DEPENDS, NULL);
        pthread_mutex_unlock(&line->lock);
        *out_value = line->last;
        return ACCEL_OK;
    }
    code = gpu_line_steps(line, steps, step_count, entry, &begun, &why);
    if (code != ACCEL_OK && !begun) {
        if (error != NULL && error->code == ACCEL_OK)
            *error = why;
        return code;
    }
    entry->value = *out_value = line->last;
    pthread_mutex_lock(&line->lock);
    line->count++;
    pthread_mutex_unlock(&line->lock);
    if (code != ACCEL_OK)
        drain(line, code, &why);
    return ACCEL_OK;
}

static int32_t verdict(const struct gpu_line *line, uint64_t value, struct accel_error *error)
{
    uint64_t failed = atomic_load(&line->failed);

    if (value >= line->void_first && value <= line->void_last && line->void_last != 0)
        return sdk_error(error, ACCEL_E_DEPENDS, "value %llu failed before the queue was reset",
                         (unsigned long long)value);
    if (value == failed) {
        if (error != NULL && error->code == ACCEL_OK)
            *error = line->failure;
        return line->failure.code;
    }
    return sdk_error(error, ACCEL_E_DEPENDS, "value %llu comes after value %llu, which failed: %s",
                     (unsigned long long)value, (unsigned long long)failed, line->failure.text);
}

/* 1: the value is over, and *out_code says how. */
static uint32_t is_over(struct gpu_line *line, uint64_t value, int32_t *out_code, struct accel_error *error)
{
    uint64_t failed = atomic_load(&line->failed);

    *out_code = ACCEL_OK;
    if (line->void_last != 0 && value >= line->void_first && value <= line->void_last) {
        *out_code = verdict(line, value, error);
        return 1;
    }
    if (atomic_load(&line->completed) >= value)
        return 1;
    if (failed == 0 || value < failed)
        return 0;
    /* What follows a failure may still run, and write where its reads go. */
    if (line->count != 0)
        drain(line, ACCEL_E_DEPENDS, NULL);
    *out_code = verdict(line, value, error);
    return 1;
}

static int32_t queue_wait(struct accel_driver_queue *base, uint64_t value, uint64_t deadline,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_line *line = (struct gpu_line *)base;
    struct accel_error why = {.code = ACCEL_OK};
    int32_t code = ACCEL_OK;
    int32_t got;

    if (is_over(line, value, &code, error))
        return code;
    got = line->room->api->wait(line->queue, value, deadline, &why);
    if (got == ACCEL_OK || got == ACCEL_E_TIMEOUT) {
        int32_t seen = look(line, &why);

        got = seen == ACCEL_OK ? got : seen;
    }
    if (is_over(line, value, &code, error))
        return code;
    if (got == ACCEL_E_TIMEOUT)
        return sdk_error(error, ACCEL_E_TIMEOUT, "value %llu is not reached yet", (unsigned long long)value);
    drain(line, got == ACCEL_OK ? ACCEL_E_INTERNAL : got, &why);
    if (is_over(line, value, &code, error))
        return code;
    return sdk_error(error, ACCEL_E_INTERNAL, "value %llu was never submitted", (unsigned long long)value);
}

static int32_t queue_completed(struct accel_driver_queue *base, uint64_t *out_value,
                               struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_line *line = (struct gpu_line *)base;

    (void)error;
    /* A failure is told by `wait`; what was reached before it stays reached. */
    look(line, NULL);
    *out_value = atomic_load(&line->completed);
    return ACCEL_OK;
}

static int32_t queue_reset(struct accel_driver_queue *base, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_line *line = (struct gpu_line *)base;
    uint64_t failed;
    int32_t code;

    look(line, NULL);
    drain(line, ACCEL_E_DEPENDS, NULL);
    code = line->room->api->reset(line->queue, error);
    if (code != ACCEL_OK)
        return code;
    pthread_mutex_lock(&line->lock);
    failed = atomic_load(&line->failed);
    if (failed != 0) {
        line->void_first = failed;
        line->void_last = line->last;
    }
    atomic_store(&line->failed, 0);
    pthread_mutex_unlock(&line->lock);
    return ACCEL_OK;
}

static const struct accel_queue_table queue_table = {.size = sizeof queue_table,
                                                     .free = queue_free,
                                                     .submit = queue_submit,
                                                     .wait = queue_wait,
                                                     .completed = queue_completed,
                                                     .reset = queue_reset};

static int32_t make_ring(struct gpu_room *room, struct gpu_ring *ring, uint64_t bytes, uint32_t kind,
                         struct accel_error *error)
{
    int32_t code = gpu_memory_make(room, ACCEL_MEMORY_PROGRAM, bytes, kind, &ring->memory, error);

    if (code != ACCEL_OK)
        return code;
    ring->address = room->api->memory_address(ring->memory);
    ring->bytes = bytes;
    return ACCEL_OK;
}

uint64_t gpu_queue_bytes(const struct gpu_limits *limits)
{
    return sizeof(struct gpu_line) + limits->in_flight * sizeof(struct gpu_entry) +
           GPU_OPERATIONS * sizeof(struct gpu_operation) + GPU_UPLOAD_BYTES + (limits->reads ? 0 : GPU_DOWNLOAD_BYTES);
}

int32_t gpu_queue_create(struct accel_driver_device *base, struct accel_driver_queue **out_queue,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_room *room = (struct gpu_room *)base;
    uint64_t entries = room->limits.in_flight * sizeof(struct gpu_entry);
    struct gpu_line *line;
    void *memory = NULL;
    int32_t code = gpu_take(room, ACCEL_MEMORY_PROGRAM,
                            sizeof *line + entries + GPU_OPERATIONS * sizeof(struct gpu_operation), &memory, error);

    *out_queue = NULL;
    if (code != ACCEL_OK)
        return code;
    line = memory;
    line->base.table = &queue_table;
    line->room = room;
    line->entries = (struct gpu_entry *)(line + 1);
    line->operations = (struct gpu_operation *)(void *)((char *)line->entries + entries);
    pthread_mutex_init(&line->lock, NULL);
    atomic_fetch_add(&room->children, 1);
    code = room->api->queue_create(room->device, &line->queue, error);
    if (code == ACCEL_OK)
        code = make_ring(room, &line->upload, GPU_UPLOAD_BYTES, GPU_MEMORY_UPLOAD, error);
    if (code == ACCEL_OK && !room->limits.reads)
        code = make_ring(room, &line->download, GPU_DOWNLOAD_BYTES, GPU_MEMORY_DOWNLOAD, error);
    if (code != ACCEL_OK) {
        queue_free(&line->base);
        return code;
    }
    *out_queue = &line->base;
    return ACCEL_OK;
}
