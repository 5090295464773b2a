/* SPDX-License-Identifier: Apache-2.0 */
/* Instance and device of a driver that is a table of kernels: attach, enumerate, open, close. */
#include "sdk/driver/program.h"

#include <stdatomic.h>
#include <string.h>

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

/* Hands records on and keeps their ids. */
struct listener {
    struct accel_device_sink sink; /* first: the backend hands its address back */
    const struct accel_device_sink *next;
    struct sdk_instance *instance;
};

static int32_t hear_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct listener *listener = (const struct listener *)sink;
    const uint64_t hash = hash_of(facts->id);

    for (uint32_t i = 0; i < SDK_IDS; i++) {
        uint64_t expected = 0;

        if (atomic_compare_exchange_strong(&listener->instance->ids[i], &expected, hash) || expected == hash)
            break;
    }
    return listener->next->device(listener->next, facts, error);
}

static int32_t hear_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct listener *listener = (const struct listener *)sink;

    return listener->next->verdict(listener->next, hardware, code, text, remedy, error);
}

static int32_t instance_enumerate(struct accel_driver_instance *base, const struct accel_hardware *const *hardware,
                                  uint32_t hardware_count, const struct accel_device_sink *sink,
                                  struct accel_error *error)
{
    struct sdk_instance *instance = (struct sdk_instance *)base;
    const struct listener listener = {
        .sink = {.size = sizeof listener.sink, .device = hear_device, .verdict = hear_verdict},
        .next = sink,
        .instance = instance};

    return instance->backend->enumerate(instance->host, hardware, hardware_count, &listener.sink, error);
}

/* Before the first enumerate, and past so many devices, every id is believed. */
static uint32_t is_known(struct sdk_instance *instance, const char *id)
{
    const uint64_t hash = hash_of(id);

    for (uint32_t i = 0; i < SDK_IDS; i++) {
        uint64_t one = atomic_load(&instance->ids[i]);

        if (one == hash || one == 0)
            return one == hash || i == 0;
    }
    return 1;
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
    .size = sizeof instance_table,
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
    code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof *instance, 64, &memory, error);
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

#define EVERY_SLOT                                                                                                     \
    .size = sizeof(struct accel_device_table), .close = device_close, .claim = sdk_claim,                              \
    .compile = sdk_module_create, .estimate = sdk_estimate

const struct accel_device_table sdk_device_table = {
    EVERY_SLOT,
    .fingerprint = device_fingerprint,
};

/* Of backends that pack: the core keeps no copy of what they hold. */
const struct accel_device_table sdk_packing_device_table = {
    EVERY_SLOT,
    .weights_create = sdk_weights_create,
    .fingerprint = device_fingerprint,
};
