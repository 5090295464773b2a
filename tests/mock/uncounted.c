/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first driver (tests/drivers/four.c) with buffers of its own, for tests of the kit: made with malloc, and where
 * COUNTED is defined told to the host. Nothing can be bound to them.
 */
#include <stdlib.h>

#include <accel/driver/note.h>
#include <accel/driver/sdk.h>

struct own_buffer {
    struct accel_driver_buffer base;
    const struct accel_host *host;
    uint64_t bytes;
    uint32_t memory_class;
    void *memory;
};

/* A test of the kit has one instance at a time. */
static const struct accel_host *the_host;
static const struct accel_instance_table *real_instance;
static struct accel_instance_table own_instance;
static struct accel_device_table own_device;

static int32_t count(const struct accel_host *host, uint32_t memory_class, int64_t bytes, struct accel_error *error)
{
#ifdef COUNTED
    return host->account(host, memory_class, bytes, error);
#else
    (void)host, (void)memory_class, (void)bytes, (void)error;
    return ACCEL_OK;
#endif
}

static int32_t own_free(struct accel_driver_buffer *base) ACCEL_NOEXCEPT
{
    struct own_buffer *buffer = (struct own_buffer *)base;

    count(buffer->host, buffer->memory_class, -(int64_t)buffer->bytes, NULL);
    free(buffer->memory);
    free(buffer);
    return ACCEL_OK;
}

static const struct accel_buffer_table own_buffer_table = {.size = sizeof(own_buffer_table), .free = own_free};

static int32_t own_create(struct accel_driver_device *device, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                          struct accel_driver_buffer **out_buffer, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct own_buffer *buffer = calloc(1, sizeof(*buffer));
    int32_t code = buffer == NULL ? ACCEL_E_MEMORY : count(the_host, memory_class, (int64_t)bytes, error);

    (void)device, (void)heap;
    *out_buffer = NULL;
    if (code != ACCEL_OK) {
        free(buffer);
        return code;
    }
    *buffer = (struct own_buffer){{&own_buffer_table}, the_host, bytes, memory_class, malloc(bytes)};
    *out_buffer = &buffer->base;
    return ACCEL_OK;
}

static int32_t own_open(struct accel_driver_instance *instance, const char *id, const struct accel_setting *settings,
                        uint32_t setting_count, struct accel_driver_device **out_device,
                        struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = real_instance->open(instance, id, settings, setting_count, out_device, error);

    if (code != ACCEL_OK)
        return code;
    own_device = *(*out_device)->table;
    own_device.buffer_create = own_create;
    (*out_device)->table = &own_device;
    return ACCEL_OK;
}

static int32_t own_attach(const struct sdk_backend *backend, const struct accel_host *host, uint32_t minor,
                          struct accel_driver_instance **out_instance, struct accel_error *error)
{
    int32_t code = sdk_attach(backend, host, minor, out_instance, error);

    if (code != ACCEL_OK)
        return code;
    the_host = host;
    real_instance = (*out_instance)->table;
    own_instance = *real_instance;
    own_instance.open = own_open;
    (*out_instance)->table = &own_instance;
    return ACCEL_OK;
}

#define sdk_attach own_attach
#include "tests/drivers/four.c"
