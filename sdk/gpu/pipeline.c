/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of a device: one per key, shared by all modules, until the last reference is dropped. */
#include <stdbool.h>
#include <string.h>

#include "sdk/gpu/internal.h"

/* 16-bit and 8-bit loads are used on GPUs only: CPU devices load per lane, whatever the size, and convert. */
static uint32_t usable(const struct gpu_limits *limits)
{
    const uint32_t small_loads = GPU_FEATURE_STORAGE16 | GPU_FEATURE_STORAGE8;

    return gpu_is_arranged_for_cpu(limits) ? limits->features & ~small_loads : limits->features;
}

const struct gpu_source *gpu_source_find(const struct gpu_device_state *gpu, const char *name)
{
    const uint32_t features = usable(&gpu->limits);

    for (uint32_t s = 0; s < gpu->api->source_count; s++) {
        const struct gpu_source *source = &gpu->api->sources[s];

        if ((source->features & ~features) == 0 && strcmp(source->name, name) == 0)
            return source;
    }
    return NULL;
}

static bool same_key(const struct gpu_key *a, const struct gpu_key *b)
{
    return a->source == b->source && a->constant_count == b->constant_count && a->bindings == b->bindings &&
           a->words == b->words && a->subgroup == b->subgroup &&
           memcmp(a->constants, b->constants, a->constant_count * sizeof(*a->constants)) == 0;
}

/* Under the lock. */
static struct gpu_compiled *find(const struct gpu_device_state *gpu, const struct gpu_key *key)
{
    struct gpu_compiled *compiled = gpu->pipelines;

    while (compiled != NULL && !same_key(&compiled->key, key))
        compiled = compiled->next;
    return compiled;
}

static struct gpu_compiled *find_held(struct gpu_module *module, const struct gpu_key *key)
{
    struct gpu_device_state *gpu = module->gpu;
    struct gpu_compiled *found = NULL;

    pthread_mutex_lock(&gpu->lock);
    for (const struct gpu_hold *hold = module->holds; hold != NULL && found == NULL; hold = hold->next)
        if (same_key(&hold->compiled->key, key))
            found = hold->compiled;
    pthread_mutex_unlock(&gpu->lock);
    return found;
}

/* Memory for both records is allocated before the lock and freed after it if it is not needed. */
int32_t gpu_pipeline_hold(struct gpu_module *module, const struct gpu_key *key, struct gpu_compiled **out_compiled,
                          struct accel_error *error)
{
    struct gpu_device_state *gpu = module->gpu;
    struct gpu_compiled *fresh;
    struct gpu_hold *hold;
    void *memory = NULL, *held = NULL;
    int32_t code;

    *out_compiled = find_held(module, key);
    if (*out_compiled != NULL)
        return ACCEL_OK;
    code = gpu_allocate(gpu, ACCEL_MEMORY_PROGRAM, sizeof(*fresh), &memory, error);
    if (code == ACCEL_OK)
        code = gpu_allocate(gpu, ACCEL_MEMORY_PROGRAM, sizeof(*hold), &held, error);
    if (code != ACCEL_OK) {
        gpu_release(gpu, memory);
        return code;
    }
    fresh = memory;
    hold = held;
    fresh->key = *key;
    fresh->pending = 1;
    pthread_mutex_lock(&gpu->lock);
    hold->compiled = find(gpu, key);
    if (hold->compiled == NULL) {
        fresh->next = gpu->pipelines;
        gpu->pipelines = fresh;
        hold->compiled = fresh;
        memory = NULL;
    }
    hold->compiled->holders++;
    hold->next = module->holds;
    module->holds = hold;
    pthread_mutex_unlock(&gpu->lock);
    gpu_release(gpu, memory);
    *out_compiled = hold->compiled;
    return ACCEL_OK;
}

/* Stores the cache periodically: compiling a large model takes minutes, and the process may be killed meanwhile. */
static void store_periodically(struct gpu_device_state *gpu)
{
    uint64_t now = 0, stored = atomic_load(&gpu->stored);

    gpu->host->clock(gpu->host, &now);
    if (now - stored >= GPU_STORE_NANOSECONDS && atomic_compare_exchange_strong(&gpu->stored, &stored, now))
        gpu_pipeline_store(gpu);
}

/* Two threads may make the same pipeline at the same time; the second one is dropped. */
static int32_t compile_pipeline(struct gpu_device_state *gpu, struct gpu_compiled *compiled, struct accel_error *error)
{
    struct gpu_pipeline *pipeline = NULL;
    uint32_t made;
    int32_t code;

    pthread_mutex_lock(&gpu->lock);
    made = compiled->pipeline != NULL;
    pthread_mutex_unlock(&gpu->lock);
    if (made)
        return ACCEL_OK;
    code = gpu->api->pipeline_create(gpu->device, &compiled->key, &pipeline, error);
    pthread_mutex_lock(&gpu->lock);
    compiled->pending = code != ACCEL_OK;
    if (code == ACCEL_OK && compiled->pipeline == NULL) {
        compiled->pipeline = pipeline;
        pipeline = NULL;
        atomic_fetch_add(&gpu->fresh, 1);
    }
    pthread_mutex_unlock(&gpu->lock);
    if (pipeline != NULL)
        gpu->api->pipeline_free(gpu->device, pipeline);
    else if (code == ACCEL_OK)
        store_periodically(gpu);
    return code;
}

int32_t gpu_pipeline_get(struct gpu_module *module, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                         struct accel_error *error)
{
    struct gpu_compiled *compiled = NULL;
    int32_t code = gpu_pipeline_hold(module, key, &compiled, error);

    *out_pipeline = NULL;
    if (code == ACCEL_OK)
        code = compile_pipeline(module->gpu, compiled, error);
    if (code == ACCEL_OK)
        *out_pipeline = compiled->pipeline;
    return code;
}

/* State shared by the threads of a team that compile pipelines. */
struct work {
    struct gpu_module *module;
    const struct accel_task *task; /* NULL: not cancellable */
    uint64_t total;
    _Atomic uint64_t done;
    _Atomic int32_t code;
    struct accel_error error; /* of the first failure */
};

static uint64_t count_pending(struct gpu_module *module)
{
    uint64_t count = 0;

    pthread_mutex_lock(&module->gpu->lock);
    for (const struct gpu_hold *hold = module->holds; hold != NULL; hold = hold->next)
        count += hold->compiled->pipeline == NULL;
    pthread_mutex_unlock(&module->gpu->lock);
    return count;
}

/* Reports progress and checks for cancellation. Called by the thread that received the task. */
static int32_t report_progress(struct work *work, struct accel_error *error)
{
    uint64_t done = atomic_load(&work->done), total = done < work->total ? work->total : done;
    int32_t code = work->task == NULL || total == 0 ? ACCEL_OK : work->task->progress(work->task, done, total);

    return code == ACCEL_OK ? ACCEL_OK
                            : sdk_error(error, code, "compiling was stopped after %llu of %llu kernels",
                                        (unsigned long long)done, (unsigned long long)total);
}

/* Entries are handed out one by one, since their times differ widely. */
static struct gpu_compiled *next_pending(struct gpu_module *module)
{
    struct gpu_compiled *found = NULL;

    pthread_mutex_lock(&module->gpu->lock);
    for (const struct gpu_hold *hold = module->holds; hold != NULL && found == NULL; hold = hold->next)
        if (hold->compiled->pending && hold->compiled->pipeline == NULL)
            found = hold->compiled;
    if (found != NULL)
        found->pending = 0;
    pthread_mutex_unlock(&module->gpu->lock);
    return found;
}

static void compile_pipelines(void *argument, uint32_t thread, uint32_t threads)
{
    struct work *work = argument;

    (void)threads;
    while (atomic_load(&work->code) == ACCEL_OK) {
        struct accel_error error = {.code = ACCEL_OK};
        int32_t expected = ACCEL_OK;
        int32_t code = thread == 0 ? report_progress(work, &error) : ACCEL_OK;
        struct gpu_compiled *compiled = code == ACCEL_OK ? next_pending(work->module) : NULL;

        if (code == ACCEL_OK && compiled == NULL)
            return;
        if (code == ACCEL_OK)
            code = compile_pipeline(work->module->gpu, compiled, &error);
        atomic_fetch_add(&work->done, 1);
        if (code != ACCEL_OK && atomic_compare_exchange_strong(&work->code, &expected, code))
            work->error = error;
    }
}

/* Compiles pipelines that another thread has started but not finished, instead of waiting for them. */
static int32_t compile_rest(struct work *work, struct accel_error *error)
{
    struct gpu_device_state *gpu = work->module->gpu;
    int32_t code = ACCEL_OK;

    for (const struct gpu_hold *hold = work->module->holds; hold != NULL && code == ACCEL_OK; hold = hold->next) {
        code = report_progress(work, error);
        if (code == ACCEL_OK)
            code = compile_pipeline(gpu, hold->compiled, error);
    }
    return code;
}

int32_t gpu_pipeline_compile(struct gpu_module *module, const struct accel_task *task, struct accel_error *error)
{
    struct work work = {.module = module, .task = task, .total = count_pending(module)};
    int32_t code = ACCEL_OK;

    if (task != NULL && task->team != NULL && !module->gpu->limits.one_compiler)
        code = task->team->run(task->team, task->team->threads, compile_pipelines, &work, error);
    else
        compile_pipelines(&work, 0, 1);
    if (code == ACCEL_OK)
        code = atomic_load(&work.code);
    if (code != ACCEL_OK && error != NULL && error->code == ACCEL_OK)
        *error = work.error;
    if (code == ACCEL_OK)
        code = compile_rest(&work, error);
    /* After a failure, too: the next attempt goes on from there. */
    gpu_pipeline_store(module->gpu);
    return code;
}

void gpu_pipeline_store(struct gpu_device_state *gpu)
{
    if (atomic_exchange(&gpu->fresh, 0) != 0)
        gpu_cache_store(&gpu->cache);
}

/* Unlinks an entry without references. The lock is held. */
static void unlink_compiled(struct gpu_device_state *gpu, const struct gpu_compiled *compiled)
{
    struct gpu_compiled **place = &gpu->pipelines;

    while (*place != compiled)
        place = &(*place)->next;
    *place = compiled->next;
}

void gpu_pipeline_drop(struct gpu_module *module)
{
    struct gpu_device_state *gpu = module->gpu;

    while (module->holds != NULL) {
        struct gpu_hold *hold = module->holds;
        uint32_t last;

        module->holds = hold->next;
        pthread_mutex_lock(&gpu->lock);
        last = --hold->compiled->holders == 0;
        if (last)
            unlink_compiled(gpu, hold->compiled);
        pthread_mutex_unlock(&gpu->lock);
        if (last && hold->compiled->pipeline != NULL)
            gpu->api->pipeline_free(gpu->device, hold->compiled->pipeline);
        if (last)
            gpu_release(gpu, hold->compiled);
        gpu_release(gpu, hold);
    }
}
