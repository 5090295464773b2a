/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/drivers/gpu_fake.h"

#include <stdio.h>

#define MOST 8u /* submits in flight */
#define OPERATIONS 64u

struct gpu_runtime {
    struct fake *fake;
};

struct gpu_device {
    struct fake *fake;
};

struct gpu_memory {
    uint64_t bytes;
    uint32_t kind;
    uint32_t is_seen;
    char *data;
};

struct gpu_pipeline {
    struct gpu_key key;
};

struct gpu_list {
    struct fake *fake;
    const struct gpu_dispatch *dispatches;
    uint32_t count;
    uint32_t in_flight;
};

struct pending {
    uint64_t value;
    struct gpu_operation operations[OPERATIONS];
    struct gpu_point waits[4];
    uint32_t count, wait_count, number;
};

struct gpu_queue {
    struct fake *fake;
    struct pending pending[MOST];
    uint32_t first, count;
    uint64_t last, completed;
    int32_t code;
};

/* Under the lock. */
static void fault(struct fake *fake, const char *text)
{
    if (fake->faults++ == 0)
        snprintf(fake->fault, sizeof(fake->fault), "%s", text);
}

static void locked_fault(struct fake *fake, const char *text)
{
    pthread_mutex_lock(&fake->lock);
    fault(fake, text);
    pthread_mutex_unlock(&fake->lock);
}

static void count(struct fake *fake, uint32_t *counter, uint32_t by)
{
    pthread_mutex_lock(&fake->lock);
    *counter += by;
    pthread_mutex_unlock(&fake->lock);
}

static int32_t say(struct accel_error *error, int32_t code, const char *text)
{
    if (error != NULL && error->code == ACCEL_OK) {
        error->code = code;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return code;
}

/* ---- host: the stub's, under the lock ---- */

static int32_t take(const struct accel_host *host, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                    void **out_memory, struct accel_error *error)
{
    struct fake *fake = (struct fake *)(uintptr_t)host;
    struct stub plain;
    int32_t code;

    stub_init(&plain);
    pthread_mutex_lock(&fake->lock);
    plain.calls = fake->stub.calls++;
    plain.fail_at = fake->stub.fail_at;
    code = plain.host.allocate(&plain.host, memory_class, bytes, alignment, out_memory, error);
    fake->stub.blocks += plain.blocks;
    pthread_mutex_unlock(&fake->lock);
    return code;
}

static int32_t give(const struct accel_host *host, void *memory)
{
    struct fake *fake = (struct fake *)(uintptr_t)host;

    if (memory != NULL)
        count(fake, &fake->stub.blocks, UINT32_MAX);
    free(memory);
    return ACCEL_OK;
}

static int32_t account(const struct accel_host *host, uint32_t memory_class, int64_t bytes, struct accel_error *error)
{
    struct fake *fake = (struct fake *)(uintptr_t)host;
    int32_t code = ACCEL_OK;

    pthread_mutex_lock(&fake->lock);
    if (memory_class == 0 || memory_class >= ACCEL_MEMORY_END || bytes == 0 || fake->counted[memory_class] + bytes < 0)
        fault(fake, "account was told what cannot be");
    else if (bytes > 0 && ++fake->stub.calls == fake->stub.fail_at)
        code = say(error, ACCEL_E_MEMORY, "the budget has no more");
    else
        fake->counted[memory_class] += bytes;
    pthread_mutex_unlock(&fake->lock);
    return code;
}

void fake_init(struct fake *fake)
{
    memset(fake, 0, sizeof(*fake));
    stub_init(&fake->stub);
    fake->stub.host.allocate = take;
    fake->stub.host.release = give;
    fake->stub.host.account = account;
    fake->allowed = FAKE_FREE_RUN;
    pthread_mutex_init(&fake->lock, NULL);
}

void fake_end(struct fake *fake)
{
    assert_string_equal(fake->fault, "");
    assert_int_equal(fake->memories + fake->pipelines + fake->lists + fake->queues, 0);
    assert_int_equal(fake->stub.blocks, 0);
    for (uint32_t c = 0; c < ACCEL_MEMORY_END; c++)
        assert_int_equal(fake->counted[c], 0);
    pthread_mutex_destroy(&fake->lock);
}

static int32_t make(struct fake *fake, uint64_t bytes, void **out_object, uint32_t *counter, struct accel_error *error)
{
    int32_t code = take(&fake->stub.host, ACCEL_MEMORY_HOST, bytes, 64, out_object, error);

    if (code == ACCEL_OK)
        count(fake, counter, 1);
    return code;
}

static void drop(struct fake *fake, void *object, uint32_t *counter)
{
    count(fake, counter, UINT32_MAX);
    give(&fake->stub.host, object);
}

/* ---- instance, device, memory ---- */

static int32_t load(const struct accel_host *host, struct gpu_runtime **out_runtime, struct accel_error *error)
{
    struct fake *fake = (struct fake *)(uintptr_t)host;
    void *memory = NULL;
    int32_t code = take(host, ACCEL_MEMORY_HOST, sizeof(**out_runtime), 64, &memory, error);

    *out_runtime = memory;
    if (code == ACCEL_OK)
        (*out_runtime)->fake = fake;
    return code;
}

static void unload(struct gpu_runtime *runtime)
{
    give(&runtime->fake->stub.host, runtime);
}

static int32_t open_device(struct gpu_runtime *runtime, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, struct gpu_device **out_device, struct gpu_limits *out_limits,
                           struct accel_error *error)
{
    void *memory = NULL;
    int32_t code = take(&runtime->fake->stub.host, ACCEL_MEMORY_HOST, sizeof(**out_device), 64, &memory, error);

    (void)id, (void)settings, (void)setting_count;
    *out_device = memory;
    if (code != ACCEL_OK)
        return code;
    (*out_device)->fake = runtime->fake;
    *out_limits = (struct gpu_limits){.binding_bytes = 1u << 20,
                                      .bindings = GPU_BINDINGS_LEAST,
                                      .memory_bytes = 1u << 24,
                                      .local_bytes = 32768,
                                      .alignment = 64,
                                      .group_items = 256,
                                      .groups = {65535, 65535, 65535},
                                      .units = 2,
                                      .in_flight = MOST,
                                      .reads = runtime->fake->reads};
    return ACCEL_OK;
}

static void close_device(struct gpu_device *device)
{
    give(&device->fake->stub.host, device);
}

static void fingerprint(const struct gpu_device *device, uint8_t out_fingerprint[16])
{
    (void)device;
    memset(out_fingerprint, 7, 16);
}

static int32_t memory_create(struct gpu_device *device, uint64_t bytes, uint32_t kind, struct gpu_memory **out_memory,
                             struct accel_error *error)
{
    struct fake *fake = device->fake;
    void *memory = NULL;
    int32_t code = make(fake, sizeof(**out_memory), &memory, &fake->memories, error);

    *out_memory = memory;
    if (code != ACCEL_OK)
        return code;
    if (bytes < 4 || bytes % 4 != 0 || kind < GPU_MEMORY_DEVICE || kind > GPU_MEMORY_DOWNLOAD)
        locked_fault(fake, "memory of odd bytes or of no kind");
    /* Not from the host: what is behind the end is to be seen by a checker of addresses. */
    **out_memory = (struct gpu_memory){bytes, kind, kind != GPU_MEMORY_DEVICE || fake->mapped, malloc(bytes)};
    assert_non_null((*out_memory)->data);
    memset((*out_memory)->data, 0xa5, bytes);
    return ACCEL_OK;
}

static void memory_free(struct gpu_device *device, struct gpu_memory *memory)
{
    free(memory->data);
    drop(device->fake, memory, &device->fake->memories);
}

static void *memory_address(struct gpu_memory *memory)
{
    return memory->is_seen ? memory->data : NULL;
}

char *fake_bytes(struct gpu_memory *memory)
{
    return memory->data;
}

/* ---- pipelines and lists ---- */

static int32_t pipeline_create(struct gpu_device *device, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                               struct accel_error *error)
{
    void *memory = NULL;
    int32_t code = make(device->fake, sizeof(**out_pipeline), &memory, &device->fake->pipelines, error);

    *out_pipeline = memory;
    if (code != ACCEL_OK)
        return code;
    (*out_pipeline)->key = *key;
    count(device->fake, &device->fake->compiled, 1);
    return ACCEL_OK;
}

static void pipeline_free(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    drop(device->fake, pipeline, &device->fake->pipelines);
}

/* A byte for each pipeline, and those of others behind them. */
static int32_t cache_write(struct gpu_device *device, const void *others, uint64_t bytes,
                           const struct accel_blob_writer *writer, struct accel_error *error)
{
    struct fake *fake = device->fake;
    char text[64];
    int32_t code;

    pthread_mutex_lock(&fake->lock);
    assert_true(fake->compiled <= sizeof(text));
    memset(text, 'k', sizeof(text));
    fake->compiled_when_written = fake->compiled;
    fake->written++;
    pthread_mutex_unlock(&fake->lock);
    code = writer->write(writer, text, fake->compiled_when_written, error);
    return code == ACCEL_OK && bytes != 0 ? writer->write(writer, others, bytes, error) : code;
}

static int32_t cache_read(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error)
{
    (void)device, (void)bytes, (void)count, (void)error;
    return ACCEL_OK;
}

static int32_t list_create(struct gpu_device *device, const struct gpu_dispatch *dispatches, uint32_t launches,
                           struct gpu_list **out_list, struct accel_error *error)
{
    void *memory = NULL;
    int32_t code = make(device->fake, sizeof(**out_list), &memory, &device->fake->lists, error);

    *out_list = memory;
    if (code == ACCEL_OK)
        **out_list = (struct gpu_list){.fake = device->fake, .dispatches = dispatches, .count = launches};
    return code;
}

static int32_t list_record(struct gpu_list *list, struct accel_error *error)
{
    (void)error;
    pthread_mutex_lock(&list->fake->lock);
    if (list->in_flight != 0)
        fault(list->fake, "a list in flight is recorded");
    pthread_mutex_unlock(&list->fake->lock);
    return ACCEL_OK;
}

static void list_free(struct gpu_list *list)
{
    if (list->in_flight != 0)
        locked_fault(list->fake, "a list in flight is freed");
    drop(list->fake, list, &list->fake->lists);
}

/* ---- queues ---- */

static float *place_of(struct fake *fake, const struct gpu_dispatch *dispatch, uint32_t i, uint64_t elements)
{
    const struct gpu_range *range = &dispatch->ranges[i];

    if (range->offset % 64 != 0 || range->offset + range->bytes > range->memory->bytes ||
        (dispatch->words[i] + elements) * 4 > range->bytes)
        fault(fake, "a binding that its value does not fit into");
    return (float *)(void *)(range->memory->data + range->offset) + dispatch->words[i];
}

static void sum(struct fake *fake, const struct gpu_dispatch *dispatch)
{
    uint32_t n = dispatch->words[3], period = dispatch->words[4] == 0 ? n : dispatch->words[4];
    const float *a = place_of(fake, dispatch, 0, n), *b = place_of(fake, dispatch, 1, period);
    float *y = place_of(fake, dispatch, 2, n);

    for (uint32_t i = 0; i < n; i++)
        y[i] = a[i] + b[i % period];
}

static void run_list(struct gpu_list *list)
{
    list->in_flight--;
    for (uint32_t d = 0; d < list->count; d++) {
        const struct gpu_dispatch *dispatch = &list->dispatches[d];

        if (dispatch->groups[0] == 0)
            continue;
        if (strcmp(dispatch->pipeline->key.source->name, "pointwise") != 0 || dispatch->pipeline->key.constants[1] != 0)
            fault(list->fake, "a kernel that is not there");
        else
            sum(list->fake, dispatch);
    }
}

static void run_one(struct fake *fake, const struct gpu_operation *operation)
{
    uint64_t bytes = operation->bytes;

    if (operation->kind == GPU_RUN) {
        run_list(operation->list);
        return;
    }
    if ((operation->source != NULL && operation->source_offset + bytes > operation->source->bytes) ||
        (operation->target != NULL && operation->target_offset + bytes > operation->target->bytes)) {
        fault(fake, "an operation goes over the end of its memory");
        return;
    }
    if (operation->kind == GPU_FILL)
        memset(operation->target->data + operation->target_offset, (int)operation->fill, bytes);
    else
        memcpy(operation->kind == GPU_READ ? operation->host : operation->target->data + operation->target_offset,
               operation->source->data + operation->source_offset, bytes);
    if (operation->kind == GPU_COPY && operation->source == operation->target &&
        operation->source_offset < operation->target_offset + bytes &&
        operation->target_offset < operation->source_offset + bytes)
        fault(fake, "a copy that overlaps itself");
}

static void forget(struct gpu_queue *queue)
{
    for (; queue->count != 0; queue->count--, queue->first = (queue->first + 1) % MOST)
        for (uint32_t i = 0; i < queue->pending[queue->first].count; i++)
            if (queue->pending[queue->first].operations[i].kind == GPU_RUN)
                queue->pending[queue->first].operations[i].list->in_flight--;
}

/* Runs what may run. `force`: whatever is allowed. Under the lock. */
static void pump(struct gpu_queue *queue, uint32_t force)
{
    struct fake *fake = queue->fake;

    while (queue->count != 0 && (force || fake->allowed != 0)) {
        const struct pending *one = &queue->pending[queue->first];

        for (uint32_t w = 0; w < one->wait_count; w++) {
            struct gpu_queue *other = one->waits[w].queue;

            if (other->completed < one->waits[w].value && other->code == ACCEL_OK)
                pump(other, force);
            if (other->completed < one->waits[w].value && other->code == ACCEL_OK)
                return;
        }
        if (fake->allowed != FAKE_FREE_RUN && fake->allowed != 0)
            fake->allowed--;
        if (++fake->runs == fake->fail_at || fake->lost) {
            queue->code = fake->lost ? ACCEL_E_DEVICE_LOST : fake->code;
            forget(queue);
            return;
        }
        for (uint32_t i = 0; i < one->count; i++)
            run_one(fake, &one->operations[i]);
        queue->completed = one->value;
        queue->first = (queue->first + 1) % MOST;
        queue->count--;
    }
}

static int32_t queue_create(struct gpu_device *device, struct gpu_queue **out_queue, struct accel_error *error)
{
    void *memory = NULL;
    int32_t code = make(device->fake, sizeof(**out_queue), &memory, &device->fake->queues, error);

    *out_queue = memory;
    if (code == ACCEL_OK)
        (*out_queue)->fake = device->fake;
    return code;
}

static void queue_free(struct gpu_queue *queue)
{
    if (queue->count != 0)
        locked_fault(queue->fake, "a queue with submits in flight is freed");
    drop(queue->fake, queue, &queue->fake->queues);
}

static int32_t submit_locked(struct gpu_queue *queue, const struct gpu_operation *operations, uint32_t operation_count,
                             const struct gpu_point *waits, uint32_t wait_count, uint64_t value,
                             struct accel_error *error)
{
    struct fake *fake = queue->fake;
    struct pending *one = &queue->pending[(queue->first + queue->count) % MOST];

    if (queue->count == MOST || operation_count > OPERATIONS || wait_count > 4 || value <= queue->last)
        fault(fake, "a submit beyond the limits");
    if (queue->code != ACCEL_OK)
        fault(fake, "a submit to a queue that failed");
    if (++fake->submits == fake->refuse_at || queue->count == MOST || operation_count > OPERATIONS)
        return say(error, fake->code, "the API refuses");
    queue->last = value;
    one->value = value;
    one->count = operation_count;
    one->wait_count = wait_count;
    memcpy(one->operations, operations, operation_count * sizeof(*operations));
    if (wait_count != 0)
        memcpy(one->waits, waits, wait_count * sizeof(*waits));
    for (uint32_t i = 0; i < operation_count; i++)
        if (operations[i].kind == GPU_RUN)
            operations[i].list->in_flight++;
    queue->count++;
    return ACCEL_OK;
}

static int32_t submit(struct gpu_queue *queue, const struct gpu_operation *operations, uint32_t operation_count,
                      const struct gpu_point *waits, uint32_t wait_count, uint64_t value, struct accel_error *error)
{
    int32_t code;

    pthread_mutex_lock(&queue->fake->lock);
    code = submit_locked(queue, operations, operation_count, waits, wait_count, value, error);
    pthread_mutex_unlock(&queue->fake->lock);
    return code;
}

static int32_t count_reached(struct gpu_queue *queue, uint32_t force, uint64_t *out_value, struct accel_error *error)
{
    int32_t code;

    pthread_mutex_lock(&queue->fake->lock);
    pump(queue, force);
    *out_value = queue->completed;
    code = queue->code;
    pthread_mutex_unlock(&queue->fake->lock);
    return code == ACCEL_OK ? ACCEL_OK : say(error, code, "the device fails");
}

static int32_t completed(struct gpu_queue *queue, uint64_t *out_value, struct accel_error *error)
{
    return count_reached(queue, 0, out_value, error);
}

static int32_t wait_for(struct gpu_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    uint64_t reached = 0;
    int32_t code = count_reached(queue, deadline == UINT64_MAX, &reached, error);

    if (reached >= value || code != ACCEL_OK)
        return reached >= value ? ACCEL_OK : code;
    return say(error, ACCEL_E_TIMEOUT, "the deadline passed");
}

static int32_t reset(struct gpu_queue *queue, struct accel_error *error)
{
    int32_t code;

    pthread_mutex_lock(&queue->fake->lock);
    if (queue->count != 0)
        fault(queue->fake, "a queue with submits in flight is reset");
    code = queue->fake->lost ? ACCEL_E_DEVICE_LOST : ACCEL_OK;
    queue->code = code;
    pthread_mutex_unlock(&queue->fake->lock);
    return code == ACCEL_OK ? ACCEL_OK : say(error, code, "the device is lost");
}

static const struct gpu_source sources[] = {
    {.name = "pointwise", .constants = "GROUP KIND FUNCTION", .defines = "", .code = "sum", .bytes = 3}};

const struct gpu_api fake_api = {
    .name = "fake",
    .sources = sources,
    .source_count = 1,
    .load = load,
    .unload = unload,
    .open = open_device,
    .close = close_device,
    .fingerprint = fingerprint,
    .memory_create = memory_create,
    .memory_free = memory_free,
    .memory_address = memory_address,
    .pipeline_create = pipeline_create,
    .pipeline_free = pipeline_free,
    .cache_write = cache_write,
    .cache_read = cache_read,
    .list_create = list_create,
    .list_record = list_record,
    .list_free = list_free,
    .queue_create = queue_create,
    .queue_free = queue_free,
    .submit = submit,
    .completed = completed,
    .wait = wait_for,
    .reset = reset,
};
