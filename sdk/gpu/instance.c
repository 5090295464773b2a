/* SPDX-License-Identifier: Apache-2.0 */
/* Instance and device of a driver over a compute API. */
#include <stdbool.h>
#include <string.h>

#include "sdk/gpu/internal.h"

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
    .size = sizeof(gpu_arrangement_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "arrangement",
    .help = "tuning of kernels: auto (by kind of device), software, small, or gpu; for tests and tuning",
    .text = "auto",
    .choices = "auto software small gpu",
};

const struct accel_option gpu_precompile_option = {
    .size = sizeof(gpu_precompile_option),
    .type = ACCEL_OPTION_FLAG,
    .name = "precompile",
    .help = "compile all kernels of a model at once, on all threads; false: each one with the first set that uses it",
    .integer = 1,
    .highest = 1,
};

static bool precompiles(const struct accel_setting *setting)
{
    return setting == NULL || setting->integer != 0;
}

static uint32_t arrangement_of(const struct accel_setting *setting)
{
    static const char *const names[] = {"auto", "software", "small", "gpu"};

    for (uint32_t i = 0; setting != NULL && setting->text != NULL && i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(setting->text, names[i]) == 0)
            return i;
    return GPU_ARRANGE_AUTO;
}

static int32_t instance_open(struct accel_driver_instance *base, const char *id, const struct accel_setting *settings,
                             uint32_t setting_count, struct accel_driver_device **out_device,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_instance *instance = (struct gpu_instance *)base;
    struct gpu_device_state *gpu;
    uint64_t opened = 0;
    void *memory = NULL;
    int32_t code = instance->host->allocate(instance->host, ACCEL_MEMORY_HOST, sizeof(*gpu), 64, &memory, error);

    *out_device = NULL;
    if (code != ACCEL_OK)
        return code;
    gpu = memory;
    gpu->base.table = &gpu_device_table;
    gpu->instance = instance;
    gpu->api = instance->api;
    gpu->host = instance->host;
    code = gpu->api->open(instance->runtime, id, settings, setting_count, &gpu->device, &gpu->limits, error);
    if (code == ACCEL_OK)
        code = gpu->api->queue_create(gpu->device, &gpu->transfer.queue, error);
    if (code != ACCEL_OK) {
        if (gpu->device != NULL)
            gpu->api->close(gpu->device);
        instance->host->release(instance->host, memory);
        return code;
    }
    gpu->limits.arrangement = arrangement_of(sdk_setting(settings, setting_count, "arrangement"));
    gpu->precompiles = precompiles(sdk_setting(settings, setting_count, "precompile"));
    gpu_cache_open(&gpu->cache, gpu->api, gpu->host, gpu->device, sdk_setting(settings, setting_count, "cache"));
    gpu->host->clock(gpu->host, &opened);
    atomic_init(&gpu->stored, opened);
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->transfer.lock, NULL);
    if (gpu->limits.in_flight > GPU_IN_FLIGHT)
        gpu->limits.in_flight = GPU_IN_FLIGHT;
    atomic_fetch_add(&instance->devices, 1);
    *out_device = &gpu->base;
    return ACCEL_OK;
}

static const struct accel_instance_table instance_table = {
    .size = sizeof(instance_table),
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
    code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof(*instance), 64, &memory, error);
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
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    struct gpu_instance *instance = gpu->instance;
    uint32_t alive = atomic_load(&gpu->children);

    if (alive != 0)
        return sdk_error(error, ACCEL_E_BUSY, "close with %u live objects of the device", alive);
    gpu->api->queue_free(gpu->transfer.queue);
    gpu_cache_close(&gpu->cache);
    gpu->api->close(gpu->device);
    pthread_mutex_destroy(&gpu->lock);
    pthread_mutex_destroy(&gpu->transfer.lock);
    atomic_fetch_sub(&instance->devices, 1);
    instance->host->release(instance->host, gpu);
    return ACCEL_OK;
}

static int32_t device_memory(struct accel_driver_device *base, uint32_t heap, struct accel_memory_now *out_memory,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;

    *out_memory = (struct accel_memory_now){0, 0};
    if (heap != 0)
        return sdk_error(error, ACCEL_E_INVALID, "the device has one heap, and not %u", heap);
    if (gpu->api->memory_now == NULL)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "%s does not report free memory", gpu->api->name);
    return gpu->api->memory_now(gpu->device, out_memory, error);
}

/* Hashes the device's fingerprint, its limits and all kernel sources: a claim depends on all of them. */
static int32_t device_fingerprint(struct accel_driver_device *base, uint8_t out_fingerprint[16],
                                  struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;

    (void)error;
    memset(out_fingerprint, 0, 16);
    gpu->api->fingerprint(gpu->device, out_fingerprint);
    gpu_mix(out_fingerprint, &gpu->limits.arrangement, sizeof(gpu->limits.arrangement));
    gpu_mix(out_fingerprint, &gpu->limits.features, sizeof(gpu->limits.features));
    gpu_mix(out_fingerprint, &gpu->limits.subgroup, sizeof(gpu->limits.subgroup));
    gpu_mix(out_fingerprint, gpu->limits.tuning, sizeof(gpu->limits.tuning));
    for (uint32_t s = 0; s < gpu->api->source_count; s++) {
        const struct gpu_source *source = &gpu->api->sources[s];

        gpu_mix(out_fingerprint, source->name, strlen(source->name));
        gpu_mix(out_fingerprint, source->defines, strlen(source->defines));
        gpu_mix(out_fingerprint, source->code, source->bytes);
    }
    return ACCEL_OK;
}

const struct accel_device_table gpu_device_table = {
    .size = sizeof(gpu_device_table),
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
