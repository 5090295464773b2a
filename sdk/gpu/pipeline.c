/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of a device: one for each key, from the first module that wants it until the device is closed. */
#include "sdk/gpu/room.h"

#include <string.h>

const struct gpu_source *gpu_source_find(const struct gpu_room *room, const char *name)
{
    for (uint32_t s = 0; s < room->api->source_count; s++) {
        const struct gpu_source *source = &room->api->sources[s];

        if ((source->features & ~room->limits.features) == 0 && strcmp(source->name, name) == 0)
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

/* The entry of a key, added where there is none. Entries are never taken away before the device is closed, so that
 * they may be used outside of the lock. */
static int32_t entry_of(struct gpu_room *room, const struct gpu_key *key, struct gpu_compiled **out_entry,
                        struct accel_error *error)
{
    struct gpu_compiled *fresh;
    void *memory = NULL;
    int32_t code;

    pthread_mutex_lock(&room->lock);
    *out_entry = find(room, key);
    pthread_mutex_unlock(&room->lock);
    if (*out_entry != NULL)
        return ACCEL_OK;
    code = gpu_take(room, ACCEL_MEMORY_PROGRAM, sizeof *fresh, &memory, error);
    if (code != ACCEL_OK)
        return code;
    fresh = memory;
    fresh->key = *key;
    pthread_mutex_lock(&room->lock);
    *out_entry = find(room, key);
    if (*out_entry == NULL) {
        fresh->next = room->pipelines;
        room->pipelines = fresh;
        *out_entry = fresh;
        memory = NULL;
    }
    pthread_mutex_unlock(&room->lock);
    gpu_give(room, memory);
    return ACCEL_OK;
}

int32_t gpu_pipeline_want(struct gpu_room *room, const struct gpu_key *key, struct accel_error *error)
{
    struct gpu_compiled *entry = NULL;
    int32_t code = entry_of(room, key, &entry, error);

    if (code != ACCEL_OK)
        return code;
    pthread_mutex_lock(&room->lock);
    entry->wanted = 1;
    pthread_mutex_unlock(&room->lock);
    return ACCEL_OK;
}

/* Two threads may make the same pipeline at the same time; the second one is dropped. */
static int32_t make(struct gpu_room *room, struct gpu_compiled *entry, struct accel_error *error)
{
    struct gpu_pipeline *pipeline = NULL;
    uint32_t made;
    int32_t code;

    pthread_mutex_lock(&room->lock);
    made = entry->pipeline != NULL;
    pthread_mutex_unlock(&room->lock);
    if (made)
        return ACCEL_OK;
    code = room->api->pipeline_create(room->device, &entry->key, &pipeline, error);
    if (code != ACCEL_OK)
        return code;
    pthread_mutex_lock(&room->lock);
    if (entry->pipeline == NULL) {
        entry->pipeline = pipeline;
        pipeline = NULL;
    }
    pthread_mutex_unlock(&room->lock);
    if (pipeline != NULL)
        room->api->pipeline_free(room->device, pipeline);
    return ACCEL_OK;
}

int32_t gpu_pipeline_get(struct gpu_room *room, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                         struct accel_error *error)
{
    struct gpu_compiled *entry = NULL;
    int32_t code = entry_of(room, key, &entry, error);

    *out_pipeline = NULL;
    if (code == ACCEL_OK)
        code = make(room, entry, error);
    if (code == ACCEL_OK)
        *out_pipeline = entry->pipeline;
    return code;
}

/* What the ranks of a crew share. */
struct work {
    struct gpu_room *room;
    _Atomic uint32_t made;
    _Atomic int32_t code;
    struct accel_error error; /* of the first failure */
};

/* Entries are handed out one by one, since their times differ widely. One that fails is not wanted any more, or it
 * would fail every later module too. */
static struct gpu_compiled *next_wanted(struct gpu_room *room)
{
    struct gpu_compiled *entry;

    pthread_mutex_lock(&room->lock);
    entry = room->pipelines;
    while (entry != NULL && !entry->wanted)
        entry = entry->next;
    if (entry != NULL)
        entry->wanted = 0;
    pthread_mutex_unlock(&room->lock);
    return entry;
}

static void make_some(void *argument, uint32_t rank, uint32_t ranks)
{
    struct work *work = argument;

    (void)rank, (void)ranks;
    for (;;) {
        struct gpu_compiled *entry = next_wanted(work->room);
        struct accel_error error = {.code = ACCEL_OK};
        int32_t expected = ACCEL_OK;
        int32_t code;

        if (entry == NULL)
            return;
        code = make(work->room, entry, &error);
        if (code == ACCEL_OK)
            atomic_fetch_add(&work->made, 1);
        if (code != ACCEL_OK && atomic_compare_exchange_strong(&work->code, &expected, code))
            work->error = error;
    }
}

int32_t gpu_pipeline_make(struct gpu_room *room, const struct accel_task *task, struct accel_error *error)
{
    struct work work = {.room = room};
    int32_t code = ACCEL_OK;

    if (task != NULL && task->crew != NULL)
        code = task->crew->run(task->crew, task->crew->ranks, make_some, &work, error);
    else
        make_some(&work, 0, 1);
    if (code == ACCEL_OK)
        code = atomic_load(&work.code);
    if (code != ACCEL_OK && error != NULL && error->code == ACCEL_OK)
        *error = work.error;
    if (code == ACCEL_OK && atomic_load(&work.made) != 0)
        gpu_cache_store(&room->cache);
    return code;
}

void gpu_pipeline_free_all(struct gpu_room *room)
{
    while (room->pipelines != NULL) {
        struct gpu_compiled *entry = room->pipelines;

        room->pipelines = entry->next;
        if (entry->pipeline != NULL)
            room->api->pipeline_free(room->device, entry->pipeline);
        gpu_give(room, entry);
    }
}
