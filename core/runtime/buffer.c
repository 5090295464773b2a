/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: driver buffers, or host memory of the core if the driver creates none. */
#include "config.h"

#include "core/boundary/import.h"
#include "core/runtime/check.h"
#include "core/runtime/device.h"
#include "core/runtime/object.h"

static void buffer_destroy(struct accel_object *object)
{
    struct accel_buffer *buffer = (struct accel_buffer *)object;
    if (buffer->handle != NULL)
        ACCEL_FREE_HANDLE(buffer->device, buffer->handle, "free of a buffer");
    else
        accel_memory_free(&object->context->memory, buffer->address);
    accel_object_release(&buffer->device->object);
}

int32_t accel_device_make_buffer(struct accel_device *device, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                                 struct accel_driver_buffer **out_buffer, struct accel_error *error)
{
    struct accel_driver_buffer *handle = NULL;
    int32_t code;
    *out_buffer = NULL;
    ACCEL_GUARDED(code, device->object.context, device->driver, "buffer_create",
                  device->handle->table->buffer_create(device->handle, bytes, heap, memory_class, &handle, error));
    code = accel_device_import_handle(device, code, handle, "buffer_create", error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_OWN_HANDLE(*out_buffer, handle);
    return accel_import_table(handle, ACCEL_TABLE_BUFFER, device->driver, error);
}

static int32_t make_driver_buffer(struct accel_buffer *buffer, uint32_t heap, struct accel_error *error)
{
    struct accel_device *device = buffer->device;
    struct accel_driver_buffer *handle;
    int32_t code =
        accel_device_make_buffer(device, buffer->bytes, heap, ACCEL_MEMORY_ACTIVATION, &buffer->handle, error);
    if (code != ACCEL_OK)
        return code;
    handle = buffer->handle;
    if (!ACCEL_CAN(handle->table, map))
        return ACCEL_OK;
    /* A buffer that the host cannot map is valid. */
    ACCEL_GUARDED(code, device->object.context, device->driver, "map",
                  handle->table->map(handle, &buffer->address, NULL));
    if (code != ACCEL_OK)
        buffer->address = NULL;
    return code == ACCEL_E_UNSUPPORTED ? ACCEL_OK : accel_device_import_code(device, code, "map", error);
}

static int32_t make_host_buffer(struct accel_buffer *buffer, uint32_t heap, struct accel_error *error)
{
    uint64_t alignment = buffer->device->listed->info.facts->heaps[heap].alignment;
    if (alignment < 64)
        alignment = 64;
    return accel_memory_allocate(&buffer->object.context->memory, ACCEL_MEMORY_ACTIVATION, buffer->bytes, alignment,
                                 &buffer->address, error);
}

static int32_t check_create(const struct accel_device *device, uint64_t bytes, uint32_t heap, struct accel_error *error)
{
    const struct accel_facts *facts;
    int32_t code = accel_check_alive(device, error);
    if (code != ACCEL_OK)
        return code;
    facts = device->listed->info.facts;
    if (bytes == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "a buffer of 0 bytes was requested");
    if (heap >= facts->heap_count)
        return accel_error_set(error, ACCEL_E_INVALID, "device %s has no heap %u", device->listed->info.name, heap);
    if (bytes > facts->limits->buffer_bytes)
        return accel_error_set(
            error, ACCEL_E_LIMIT, "a buffer of %llu bytes was requested, device %s allows at most %llu",
            (unsigned long long)bytes, device->listed->info.name, (unsigned long long)facts->limits->buffer_bytes);
    return ACCEL_OK;
}

int32_t accel_buffer_create(struct accel_device *device, uint64_t bytes, uint32_t heap,
                            struct accel_buffer **out_buffer, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_object *object;
    struct accel_buffer *buffer;
    int32_t code;
    if (out_buffer == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_buffer_create: out_buffer is NULL");
    *out_buffer = NULL;
    code = check_create(device, bytes, heap, error);
    if (code == ACCEL_OK)
        code = accel_object_create(device->object.context, sizeof(*buffer), buffer_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    buffer = (struct accel_buffer *)object;
    buffer->device = device;
    buffer->bytes = bytes;
    accel_object_retain(&device->object);
    code = ACCEL_CAN(device->handle->table, buffer_create) ? make_driver_buffer(buffer, heap, error)
                                                           : make_host_buffer(buffer, heap, error);
    *out_buffer = (struct accel_buffer *)accel_object_finish(object, code);
    return code;
}

void accel_buffer_free(struct accel_buffer *buffer) ACCEL_NOEXCEPT
{
    accel_object_drop((struct accel_object *)buffer);
}

void *accel_buffer_address(struct accel_buffer *buffer) ACCEL_NOEXCEPT
{
    return buffer != NULL && !accel_fork_guard_is_child(&buffer->object.context->fork) ? buffer->address : NULL;
}
