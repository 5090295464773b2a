/* SPDX-License-Identifier: Apache-2.0 */
/* Instance and device of a driver that is a table of kernels: attach, enumerate, open, close. */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "sdk/driver/program.h"

int32_t sdk_query(const struct accel_driver *driver, uint32_t major, uint32_t minor,
                  const struct accel_driver **out_driver, struct accel_error *error)
{
    *out_driver = NULL;
    if (major != driver->abi_major || minor < driver->abi_lowest)
        return sdk_error(error, ACCEL_E_ABI, "driver %s %s is for ABI %u.%u and later minors, this core has %u.%u",
                         driver->name, driver->version, driver->abi_major, driver->abi_lowest, major, minor);
    *out_driver = driver;
    return ACCEL_OK;
}

static int32_t instance_detach(struct accel_driver_instance *base, struct accel_error *error)
{
    struct sdk_instance *instance = (struct sdk_instance *)base;
    uint32_t open = atomic_load(&instance->devices);

    if (open != 0)
        return sdk_error(error, ACCEL_E_BUSY, "detach with %u open devices", open);
    instance->host->release(instance->host, instance);
    return ACCEL_OK;
}

/* ---- ids: which devices there are to open ---- */

static uint64_t hash_of(const char *id)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *id != '\0'; id++)
        hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
    return hash | 1;
}

/* Sink that forwards records and stores their ids. */
struct id_recorder {
    struct accel_device_sink sink; /* first: the backend hands its address back */
    const struct accel_device_sink *next;
    struct sdk_instance *instance;
};

static int32_t forward_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct id_recorder *id_recorder = (const struct id_recorder *)sink;
    const uint64_t hash = hash_of(facts->id);

    for (uint32_t i = 0; i < SDK_IDS; i++) {
        uint64_t expected = 0;

        if (atomic_compare_exchange_strong(&id_recorder->instance->ids[i], &expected, hash) || expected == hash)
            break;
    }
    return id_recorder->next->device(id_recorder->next, facts, error);
}

static int32_t forward_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                               const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct id_recorder *id_recorder = (const struct id_recorder *)sink;

    return id_recorder->next->verdict(id_recorder->next, hardware, code, text, remedy, error);
}

static int32_t instance_enumerate(struct accel_driver_instance *base, const struct accel_hardware *const *hardware,
                                  uint32_t hardware_count, const struct accel_device_sink *sink,
                                  struct accel_error *error)
{
    struct sdk_instance *instance = (struct sdk_instance *)base;
    const struct id_recorder id_recorder = {
        .sink = {.size = sizeof(id_recorder.sink), .device = forward_device, .verdict = forward_verdict},
        .next = sink,
        .instance = instance};

    return instance->backend->enumerate(instance->host, hardware, hardware_count, &id_recorder.sink, error);
}

/* Returns whether an id was enumerated; accepts every id before the first enumerate and after SDK_IDS devices. */
static bool is_known(struct sdk_instance *instance, const char *id)
{
    const uint64_t hash = hash_of(id);

    for (uint32_t i = 0; i < SDK_IDS; i++) {
        uint64_t one = atomic_load(&instance->ids[i]);

        if (one == hash || one == 0)
            return one == hash || i == 0;
    }
    return true;
}

uint64_t sdk_device_bytes(const struct sdk_backend *backend)
{
    return ((sizeof(struct sdk_device) + 63u) & ~(uint64_t)63u) + backend->device_bytes;
}

static int32_t instance_open(struct accel_driver_instance *base, const char *id, const struct accel_setting *settings,
                             uint32_t setting_count, struct accel_driver_device **out_device, struct accel_error *error)
{
    struct sdk_instance *instance = (struct sdk_instance *)base;
    const struct sdk_backend *backend = instance->backend;
    uint64_t bytes = sdk_device_bytes(backend);
    struct sdk_device *device = NULL;
    void *memory = NULL;
    int32_t code;

    *out_device = NULL;
    if (!is_known(instance, id))
        return sdk_error(error, ACCEL_E_NOT_FOUND, "enumerate gave no device %.100s", id);
    code = instance->host->allocate(instance->host, ACCEL_MEMORY_HOST, bytes, 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    device = memory;
    device->base.table = backend->packs == NULL ? &sdk_device_table : &sdk_packing_device_table;
    device->instance = instance;
    device->backend = backend;
    device->host = instance->host;
    device->own = (char *)memory + bytes - backend->device_bytes;
    if (backend->open != NULL)
        code = backend->open(instance->host, id, settings, setting_count, device->own, error);
    if (code != ACCEL_OK) {
        instance->host->release(instance->host, memory);
        return code;
    }
    atomic_fetch_add(&instance->devices, 1);
    *out_device = &device->base;
    return ACCEL_OK;
}

static const struct accel_instance_table instance_table = {
    .size = sizeof(instance_table),
    .detach = instance_detach,
    .enumerate = instance_enumerate,
    .open = instance_open,
};

int32_t sdk_attach(const struct sdk_backend *backend, const struct accel_host *host, uint32_t minor,
                   struct accel_driver_instance **out_instance, struct accel_error *error)
{
    struct sdk_instance *instance;
    void *memory = NULL;
    int32_t code;

    (void)minor;
    *out_instance = NULL;
    code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof(*instance), 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    instance = memory;
    instance->base.table = &instance_table;
    instance->backend = backend;
    instance->host = host;
    *out_instance = &instance->base;
    return ACCEL_OK;
}

static int32_t device_close(struct accel_driver_device *base, struct accel_error *error)
{
    struct sdk_device *device = (struct sdk_device *)base;
    uint32_t modules = atomic_load(&device->modules), containers = atomic_load(&device->containers);

    if (modules != 0 || containers != 0)
        return sdk_error(error, ACCEL_E_BUSY, "close with %u modules and %u containers of weights alive", modules,
                         containers);
    if (device->backend->close != NULL)
        device->backend->close(device->own);
    atomic_fetch_sub(&device->instance->devices, 1);
    device->host->release(device->host, device);
    return ACCEL_OK;
}

static int32_t device_fingerprint(struct accel_driver_device *base, uint8_t out_fingerprint[16],
                                  struct accel_error *error)
{
    struct sdk_device *device = (struct sdk_device *)base;

    memset(out_fingerprint, 0, 16);
    if (device->backend->fingerprint == NULL)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "this driver has no fingerprint");
    device->backend->fingerprint(device->own, out_fingerprint);
    return ACCEL_OK;
}

#define COMMON_SLOTS                                                                                                   \
    .size = sizeof(struct accel_device_table), .close = device_close, .claim = sdk_claim,                              \
    .compile = sdk_module_create, .estimate = sdk_estimate

const struct accel_device_table sdk_device_table = {
    COMMON_SLOTS,
    .fingerprint = device_fingerprint,
};

/* Table of backends that pack weights: the core holds no copy of packed weights. */
const struct accel_device_table sdk_packing_device_table = {
    COMMON_SLOTS,
    .weights_create = sdk_weights_create,
    .fingerprint = device_fingerprint,
};
