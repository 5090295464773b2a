/* SPDX-License-Identifier: Apache-2.0 */
/* Instance and device of a driver over a compute API. */
#include "sdk/gpu/room.h"

#include <string.h>

/* ---- instance ---- */

static int32_t instance_detach(struct accel_driver_instance *base, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_instance *instance = (struct gpu_instance *)base;
    uint32_t open = atomic_load(&instance->devices);

    if (open != 0)
        return sdk_error(error, ACCEL_E_BUSY, "detach with %u open devices", open);
    instance->api->unload(instance->runtime);
    instance->host->release(instance->host, instance);
    return ACCEL_OK;
}

static int32_t instance_enumerate(struct accel_driver_instance *base, const struct accel_hardware *const *hardware,
                                  uint32_t hardware_count, const struct accel_device_sink *sink,
                                  struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_instance *instance = (struct gpu_instance *)base;

    return instance->api->enumerate(instance->runtime, hardware, hardware_count, sink, error);
}

const struct accel_option gpu_arrangement_option = {
    .size = sizeof gpu_arrangement_option,
    .type = ACCEL_OPTION_TEXT,
    .name = "arrangement",
    .help = "how kernels are cut: auto (by kind of device), software, small, or gpu; for tests and tuning",
    .text = "auto",
    .choices = "auto software small gpu",
};

const struct accel_option gpu_precompile_option = {
    .size = sizeof gpu_precompile_option,
    .type = ACCEL_OPTION_FLAG,
    .name = "precompile",
    .help = "compile all kernels of a model at once, on all threads; false: each one with the first set that uses it",
    .integer = 1,
    .highest = 1,
};

static uint32_t precompiles(const struct accel_setting *setting)
{
    return setting == NULL || setting->integer != 0;
}

static uint32_t arrangement_of(const struct accel_setting *setting)
{
    static const char *const names[] = {"auto", "software", "small", "gpu"};

    for (uint32_t i = 0; setting != NULL && setting->text != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(setting->text, names[i]) == 0)
            return i;
    return GPU_ARRANGE_AUTO;
}

static int32_t instance_open(struct accel_driver_instance *base, const char *id, const struct accel_setting *settings,
                             uint32_t setting_count, struct accel_driver_device **out_device,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_instance *instance = (struct gpu_instance *)base;
    struct gpu_room *room;
    uint64_t opened = 0;
    void *memory = NULL;
    int32_t code = instance->host->allocate(instance->host, ACCEL_MEMORY_HOST, sizeof *room, 64, &memory, error);

    *out_device = NULL;
    if (code != ACCEL_OK)
        return code;
    room = memory;
    room->base.table = &gpu_device_table;
    room->instance = instance;
    room->api = instance->api;
    room->host = instance->host;
    code = room->api->open(instance->runtime, id, settings, setting_count, &room->device, &room->limits, error);
    if (code == ACCEL_OK)
        code = room->api->queue_create(room->device, &room->transfer.queue, error);
    if (code != ACCEL_OK) {
        if (room->device != NULL)
            room->api->close(room->device);
        instance->host->release(instance->host, memory);
        return code;
    }
    room->limits.arrangement = arrangement_of(sdk_setting(settings, setting_count, "arrangement"));
    room->precompiles = precompiles(sdk_setting(settings, setting_count, "precompile"));
    gpu_cache_open(&room->cache, room->api, room->host, room->device, sdk_setting(settings, setting_count, "cache"));
    room->host->clock(room->host, &opened);
    atomic_init(&room->stored, opened);
    pthread_mutex_init(&room->lock, NULL);
    pthread_mutex_init(&room->transfer.lock, NULL);
    if (room->limits.in_flight > GPU_IN_FLIGHT)
        room->limits.in_flight = GPU_IN_FLIGHT;
    atomic_fetch_add(&instance->devices, 1);
    *out_device = &room->base;
    return ACCEL_OK;
}

static const struct accel_instance_table instance_table = {
    .size = sizeof instance_table,
    .detach = instance_detach,
    .enumerate = instance_enumerate,
    .open = instance_open,
};

int32_t gpu_attach(const struct gpu_api *api, const struct accel_host *host, uint32_t minor,
                   struct accel_driver_instance **out_instance, struct accel_error *error)
{
    struct gpu_instance *instance;
    void *memory = NULL;
    int32_t code;

    (void)minor;
    *out_instance = NULL;
    code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof *instance, 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    instance = memory;
    instance->base.table = &instance_table;
    instance->api = api;
    instance->host = host;
    code = api->load(host, &instance->runtime, error);
    if (code != ACCEL_OK) {
        host->release(host, memory);
        return code;
    }
    *out_instance = &instance->base;
    return ACCEL_OK;
}

/* ---- device ---- */

static int32_t device_close(struct accel_driver_device *base, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_room *room = (struct gpu_room *)base;
    struct gpu_instance *instance = room->instance;
    uint32_t alive = atomic_load(&room->children);

    if (alive != 0)
        return sdk_error(error, ACCEL_E_BUSY, "close with %u things alive that were made from the device", alive);
    room->api->queue_free(room->transfer.queue);
    gpu_cache_close(&room->cache);
    room->api->close(room->device);
    pthread_mutex_destroy(&room->lock);
    pthread_mutex_destroy(&room->transfer.lock);
    atomic_fetch_sub(&instance->devices, 1);
    instance->host->release(instance->host, room);
    return ACCEL_OK;
}

static int32_t device_memory(struct accel_driver_device *base, uint32_t heap, struct accel_memory_now *out_memory,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_room *room = (struct gpu_room *)base;

    *out_memory = (struct accel_memory_now){0, 0};
    if (heap != 0)
        return sdk_error(error, ACCEL_E_INVALID, "the device has one heap, and not %u", heap);
    if (room->api->memory_now == NULL)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "%s does not say how much memory is free", room->api->name);
    return room->api->memory_now(room->device, out_memory, error);
}

/* What the device says of itself, and the texts of all kernels: a claim depends on both. */
static int32_t device_fingerprint(struct accel_driver_device *base, uint8_t out_fingerprint[16],
                                  struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_room *room = (struct gpu_room *)base;

    (void)error;
    memset(out_fingerprint, 0, 16);
    room->api->fingerprint(room->device, out_fingerprint);
    gpu_mix(out_fingerprint, &room->limits.arrangement, sizeof room->limits.arrangement);
    gpu_mix(out_fingerprint, &room->limits.features, sizeof room->limits.features);
    gpu_mix(out_fingerprint, &room->limits.subgroup, sizeof room->limits.subgroup);
    gpu_mix(out_fingerprint, room->limits.tuning, sizeof room->limits.tuning);
    for (uint32_t s = 0; s < room->api->source_count; s++) {
        const struct gpu_source *source = &room->api->sources[s];

        gpu_mix(out_fingerprint, source->name, strlen(source->name));
        gpu_mix(out_fingerprint, source->defines, strlen(source->defines));
        gpu_mix(out_fingerprint, source->code, source->bytes);
    }
    return ACCEL_OK;
}

const struct accel_device_table gpu_device_table = {
    .size = sizeof gpu_device_table,
    .close = device_close,
    .claim = gpu_claim,
    .compile = gpu_module_compile,
    .estimate = gpu_estimate,
    .load = gpu_module_load,
    .weights_create = gpu_weights_create,
    .state_create = gpu_state_create,
    .buffer_create = gpu_buffer_create,
    .queue_create = gpu_queue_create,
    .memory = device_memory,
    .fingerprint = device_fingerprint,
};
