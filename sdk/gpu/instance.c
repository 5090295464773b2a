/* SPDX-License-Identifier: Apache-2.0 */
/* Instance and device of a driver over a compute API. */
#include "sdk/gpu/room.h"

#include <string.h>

int32_t gpu_allocate(const struct gpu_room *room, uint32_t memory_class, uint64_t bytes, void **out_memory,
                     struct accel_error *error)
{
    *out_memory = NULL;
    return room->host->allocate(room->host, memory_class, bytes == 0 ? 1 : bytes, 64, out_memory, error);
}

void gpu_release(const struct gpu_room *room, void *memory)
{
    room->host->release(room->host, memory);
}

/* ---- memory of the API ---- */

/* A host of before does not count. */
int32_t gpu_account(const struct gpu_room *room, uint32_t memory_class, int64_t bytes, struct accel_error *error)
{
    return bytes != 0 && ACCEL_CAN(room->host, account) ? room->host->account(room->host, memory_class, bytes, error)
                                                        : ACCEL_OK;
}

/* Memory that the host gave is counted there. */
static int64_t counted(const struct gpu_room *room, uint32_t memory_class, uint64_t bytes, uint32_t kind)
{
    return memory_class == 0 || (kind != GPU_MEMORY_DEVICE && room->limits.host_staging) ? 0 : (int64_t)bytes;
}

int32_t gpu_memory_make(struct gpu_room *room, uint32_t memory_class, uint64_t bytes, uint32_t kind,
                        struct gpu_memory **out_memory, struct accel_error *error)
{
    int32_t code = gpu_account(room, memory_class, counted(room, memory_class, bytes, kind), error);

    *out_memory = NULL;
    if (code != ACCEL_OK)
        return code;
    code = room->api->memory_create(room->device, bytes, kind, out_memory, error);
    if (code != ACCEL_OK)
        gpu_account(room, memory_class, -counted(room, memory_class, bytes, kind), NULL);
    return code;
}

void gpu_memory_drop(struct gpu_room *room, uint32_t memory_class, uint64_t bytes, uint32_t kind,
                     struct gpu_memory *memory)
{
    if (memory == NULL)
        return;
    room->api->memory_free(room->device, memory);
    gpu_account(room, memory_class, -counted(room, memory_class, bytes, kind), NULL);
}

/* ---- what plugins ask for ---- */

void gpu_facts_limits(const struct gpu_limits *limits, struct accel_limits *out_limits)
{
    *out_limits = (struct accel_limits){
        .buffer_bytes = limits->memory_bytes,
        .binding_bytes = limits->binding_bytes,
        .inline_bytes = GPU_INLINE_BYTES,
        .sets = UINT32_MAX,
        .queues = UINT32_MAX,
        .in_flight = limits->in_flight < GPU_IN_FLIGHT ? limits->in_flight : GPU_IN_FLIGHT,
    };
}

const uint32_t *gpu_facts_types(uint32_t *out_count)
{
    *out_count = gpu_type_count;
    return gpu_types;
}

int32_t gpu_find_pci(const struct accel_hardware *const *hardware, uint32_t hardware_count, uint32_t domain,
                     uint32_t bus, uint32_t slot, uint32_t function)
{
    for (uint32_t i = 0; i < hardware_count; i++) {
        const struct accel_hardware *one = hardware[i];

        if (one->kind == ACCEL_HARDWARE_PCI && one->domain == domain && one->bus == bus && one->slot == slot &&
            one->function == function)
            return (int32_t)i;
    }
    return -1;
}

int32_t gpu_find_cpu(const struct accel_hardware *const *hardware, uint32_t hardware_count)
{
    for (uint32_t i = 0; i < hardware_count; i++)
        if (hardware[i]->kind == ACCEL_HARDWARE_CPU)
            return (int32_t)i;
    return -1;
}

/* Two lanes of FNV-1a with different beginnings: changes are told apart, nobody is defended against. */
void gpu_mix(uint8_t fingerprint[16], const void *bytes, uint64_t count)
{
    const uint8_t *at = bytes;
    uint64_t lanes[2];

    memcpy(lanes, fingerprint, sizeof lanes);
    for (uint64_t i = 0; i < count; i++) {
        lanes[0] = (lanes[0] ^ at[i]) * UINT64_C(0x100000001b3);
        lanes[1] = (lanes[1] ^ (uint8_t)(at[i] + 0x5bu)) * UINT64_C(0x10000000233);
    }
    memcpy(fingerprint, lanes, sizeof lanes);
}

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
