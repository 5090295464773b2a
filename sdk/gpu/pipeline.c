/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of a device: one for each key, from the first module that wants it until the device is closed. */
#include "sdk/gpu/room.h"

#include <string.h>

/* Loads of 16 and 8 bits are for GPUs: CPUs make a load for each lane, whatever its size, and convert what it brings.
 */
static uint32_t usable(const struct gpu_limits *limits)
{
    const uint32_t small_loads = GPU_FEATURE_STORAGE16 | GPU_FEATURE_STORAGE8;

    return gpu_is_arranged_for_cpu(limits) ? limits->features & ~small_loads : limits->features;
}

const struct gpu_source *gpu_source_find(const struct gpu_room *room, const char *name)
{
    const uint32_t features = usable(&room->limits);

    for (uint32_t s = 0; s < room->api->source_count; s++) {
        const struct gpu_source *source = &room->api->sources[s];

        if ((source->features & ~features) == 0 && strcmp(source->name, name) == 0)
            return source;
    }
    return NULL;
}

static uint32_t same_key(const struct gpu_key *a, const struct gpu_key *b)
{
    return a->source == b->source && a->constant_count == b->constant_count && a->bindings == b->bindings &&
           a->words == b->words && a->subgroup == b->subgroup &&
           memcmp(a->constants, b->constants, a->constant_count * sizeof *a->constants) == 0;
}

/* Under the lock. */
static struct gpu_compiled *find(const struct gpu_room *room, const struct gpu_key *key)
{
    struct gpu_compiled *compiled = room->pipelines;

    while (compiled != NULL && !same_key(&compiled->key, key))
        compiled = compiled->next;
    return compiled;
}

static struct gpu_compiled *find_held(struct gpu_module *module, const struct gpu_key *key)
{
    struct gpu_room *room = module->room;
    struct gpu_compiled *found = NULL;

    pthread_mutex_lock(&room->lock);
    for (const struct gpu_hold *hold = module->holds; hold != NULL && found == NULL; hold = hold->next)
        if (same_key(&hold->compiled->key, key))
            found = hold->compiled;
    pthread_mutex_unlock(&room->lock);
    return found;
}

/* Memory for both is taken before the lock, and what is not needed is given back behind it. */
int32_t gpu_pipeline_hold(struct gpu_module *module, const struct gpu_key *key, struct gpu_compiled **out_compiled,
                          struct accel_error *error)
{
    struct gpu_room *room = module->room;
    struct gpu_compiled *fresh;
    struct gpu_hold *hold;
    void *memory = NULL, *held = NULL;
    int32_t code;

    *out_compiled = find_held(module, key);
    if (*out_compiled != NULL)
        return ACCEL_OK;
    code = gpu_allocate(room, ACCEL_MEMORY_PROGRAM, sizeof *fresh, &memory, error);
    if (code == ACCEL_OK)
        code = gpu_allocate(room, ACCEL_MEMORY_PROGRAM, sizeof *hold, &held, error);
    if (code != ACCEL_OK) {
        gpu_release(room, memory);
        return code;
    }
    fresh = memory;
    hold = held;
    fresh->key = *key;
    fresh->wanted = 1;
    pthread_mutex_lock(&room->lock);
    hold->compiled = find(room, key);
    if (hold->compiled == NULL) {
        fresh->next = room->pipelines;
        room->pipelines = fresh;
        hold->compiled = fresh;
        memory = NULL;
    }
    hold->compiled->holders++;
    hold->next = module->holds;
    module->holds = hold;
    pthread_mutex_unlock(&room->lock);
    gpu_release(room, memory);
    *out_compiled = hold->compiled;
    return ACCEL_OK;
}

/* Compilers take minutes for a large model, and a process may be ended meanwhile: what was made until then is kept. */
static void keep_meanwhile(struct gpu_room *room)
{
    uint64_t now = 0, stored = atomic_load(&room->stored);

    room->host->clock(room->host, &now);
    if (now - stored >= GPU_KEEP_NANOSECONDS && atomic_compare_exchange_strong(&room->stored, &stored, now))
        gpu_pipeline_keep(room);
}

/* Two threads may make the same pipeline at the same time; the second one is dropped. */
static int32_t make(struct gpu_room *room, struct gpu_compiled *compiled, struct accel_error *error)
{
    struct gpu_pipeline *pipeline = NULL;
    uint32_t made;
    int32_t code;

    pthread_mutex_lock(&room->lock);
    made = compiled->pipeline != NULL;
    pthread_mutex_unlock(&room->lock);
    if (made)
        return ACCEL_OK;
    code = room->api->pipeline_create(room->device, &compiled->key, &pipeline, error);
    pthread_mutex_lock(&room->lock);
    compiled->wanted = code != ACCEL_OK;
    if (code == ACCEL_OK && compiled->pipeline == NULL) {
        compiled->pipeline = pipeline;
        pipeline = NULL;
        atomic_fetch_add(&room->fresh, 1);
    }
    pthread_mutex_unlock(&room->lock);
    if (pipeline != NULL)
        room->api->pipeline_free(room->device, pipeline);
    else if (code == ACCEL_OK)
        keep_meanwhile(room);
    return code;
}

int32_t gpu_pipeline_get(struct gpu_module *module, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                         struct accel_error *error)
{
    struct gpu_compiled *compiled = NULL;
    int32_t code = gpu_pipeline_hold(module, key, &compiled, error);

    *out_pipeline = NULL;
    if (code == ACCEL_OK)
        code = make(module->room, compiled, error);
    if (code == ACCEL_OK)
        *out_pipeline = compiled->pipeline;
    return code;
}

/* What the ranks of a crew share. */
struct work {
    struct gpu_module *module;
    const struct accel_task *task; /* NULL: nobody asks for an end */
    uint64_t total;
    _Atomic uint64_t done;
    _Atomic int32_t code;
    struct accel_error error; /* of the first failure */
};

static uint64_t count_wanted(struct gpu_module *module)
{
    uint64_t count = 0;

    pthread_mutex_lock(&module->room->lock);
    for (const struct gpu_hold *hold = module->holds; hold != NULL; hold = hold->next)
        count += hold->compiled->pipeline == NULL;
    pthread_mutex_unlock(&module->room->lock);
    return count;
}

/* Tells how far it is, and hears whether to stop: in the thread that was given the task. */
static int32_t ask(struct work *work, struct accel_error *error)
{
    uint64_t done = atomic_load(&work->done), total = done < work->total ? work->total : done;
    int32_t code = work->task == NULL || total == 0 ? ACCEL_OK : work->task->progress(work->task, done, total);

    return code == ACCEL_OK ? ACCEL_OK
                            : sdk_error(error, code, "compiling was stopped after %llu of %llu kernels",
                                        (unsigned long long)done, (unsigned long long)total);
}

/* Entries are handed out one by one, since their times differ widely. */
static struct gpu_compiled *next_wanted(struct gpu_module *module)
{
    struct gpu_compiled *found = NULL;

    pthread_mutex_lock(&module->room->lock);
    for (const struct gpu_hold *hold = module->holds; hold != NULL && found == NULL; hold = hold->next)
        if (hold->compiled->wanted && hold->compiled->pipeline == NULL)
            found = hold->compiled;
    if (found != NULL)
        found->wanted = 0;
    pthread_mutex_unlock(&module->room->lock);
    return found;
}

static void make_some(void *argument, uint32_t rank, uint32_t ranks)
{
    struct work *work = argument;

    (void)ranks;
    while (atomic_load(&work->code) == ACCEL_OK) {
        struct accel_error error = {.code = ACCEL_OK};
        int32_t expected = ACCEL_OK;
        int32_t code = rank == 0 ? ask(work, &error) : ACCEL_OK;
        struct gpu_compiled *compiled = code == ACCEL_OK ? next_wanted(work->module) : NULL;

        if (code == ACCEL_OK && compiled == NULL)
            return;
        if (code == ACCEL_OK)
            code = make(work->module->room, compiled, &error);
        atomic_fetch_add(&work->done, 1);
        if (code != ACCEL_OK && atomic_compare_exchange_strong(&work->code, &expected, code))
            work->error = error;
    }
}

/* What another thread has begun to make is made here again, rather than waited for. */
static int32_t make_rest(struct work *work, struct accel_error *error)
{
    struct gpu_room *room = work->module->room;
    int32_t code = ACCEL_OK;

    for (const struct gpu_hold *hold = work->module->holds; hold != NULL && code == ACCEL_OK; hold = hold->next) {
        code = ask(work, error);
        if (code == ACCEL_OK)
            code = make(room, hold->compiled, error);
    }
    return code;
}

int32_t gpu_pipeline_make(struct gpu_module *module, const struct accel_task *task, struct accel_error *error)
{
    struct work work = {.module = module, .task = task, .total = count_wanted(module)};
    int32_t code = ACCEL_OK;

    if (task != NULL && task->crew != NULL && !module->room->limits.one_compiler)
        code = task->crew->run(task->crew, task->crew->ranks, make_some, &work, error);
    else
        make_some(&work, 0, 1);
    if (code == ACCEL_OK)
        code = atomic_load(&work.code);
    if (code != ACCEL_OK && error != NULL && error->code == ACCEL_OK)
        *error = work.error;
    if (code == ACCEL_OK)
        code = make_rest(&work, error);
    /* After a failure, too: the next attempt goes on from there. */
    gpu_pipeline_keep(module->room);
    return code;
}

void gpu_pipeline_keep(struct gpu_room *room)
{
    if (atomic_exchange(&room->fresh, 0) != 0)
        gpu_cache_store(&room->cache);
}

/* Takes an entry that nobody holds any more out of the list. Under the lock. */
static void unlink_compiled(struct gpu_room *room, const struct gpu_compiled *compiled)
{
    struct gpu_compiled **place = &room->pipelines;

    while (*place != compiled)
        place = &(*place)->next;
    *place = compiled->next;
}

void gpu_pipeline_drop(struct gpu_module *module)
{
    struct gpu_room *room = module->room;

    while (module->holds != NULL) {
        struct gpu_hold *hold = module->holds;
        uint32_t last;

        module->holds = hold->next;
        pthread_mutex_lock(&room->lock);
        last = --hold->compiled->holders == 0;
        if (last)
            unlink_compiled(room, hold->compiled);
        pthread_mutex_unlock(&room->lock);
        if (last && hold->compiled->pipeline != NULL)
            room->api->pipeline_free(room->device, hold->compiled->pipeline);
        if (last)
            gpu_release(room, hold->compiled);
        gpu_release(room, hold);
    }
}
