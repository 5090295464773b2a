/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: a memory of the device each. */
#include "sdk/gpu/internal.h"

#define PADDED(bytes) (((bytes) + 3u) & ~UINT64_C(3))

static int32_t buffer_free(struct accel_driver_buffer *base) ACCEL_NOEXCEPT
{
    struct gpu_buffer *buffer = (struct gpu_buffer *)base;
    struct gpu_device_state *gpu = buffer->gpu;

    gpu_memory_drop(gpu, buffer->memory_class, PADDED(buffer->bytes), GPU_MEMORY_DEVICE, buffer->memory);
    gpu_release(gpu, buffer);
    atomic_fetch_sub(&gpu->children, 1);
    return ACCEL_OK;
}

static int32_t buffer_map(struct accel_driver_buffer *base, void **out_address,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_buffer *buffer = (struct gpu_buffer *)base;

    *out_address = buffer->gpu->api->memory_address(buffer->memory);
    if (*out_address != NULL)
        return ACCEL_OK;
    return sdk_error(error, ACCEL_E_UNSUPPORTED, "the host does not see the memory of this device");
}

static const struct accel_buffer_table buffer_table = {
    .size = sizeof(buffer_table), .free = buffer_free, .map = buffer_map};

int32_t gpu_buffer_create(struct accel_driver_device *base, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                          struct accel_driver_buffer **out_buffer, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    uint64_t padded = PADDED(bytes);
    struct gpu_buffer *buffer;
    void *memory = NULL;
    int32_t code;

    *out_buffer = NULL;
    if (heap != 0 || bytes == 0)
        return sdk_error(error, ACCEL_E_INVALID, "a buffer of %llu bytes in heap %u", (unsigned long long)bytes, heap);
    if (padded > gpu->limits.memory_bytes)
        return sdk_error(error, ACCEL_E_LIMIT, "a buffer of %llu bytes, the device makes at most %llu",
                         (unsigned long long)bytes, (unsigned long long)gpu->limits.memory_bytes);
    code = gpu_allocate(gpu, ACCEL_MEMORY_HOST, sizeof(*buffer), &memory, error);
    if (code != ACCEL_OK)
        return code;
    buffer = memory;
    buffer->base.table = &buffer_table;
    buffer->gpu = gpu;
    buffer->bytes = bytes;
    buffer->memory_class = memory_class;
    atomic_fetch_add(&gpu->children, 1);
    code = gpu_memory_make(gpu, memory_class, padded, GPU_MEMORY_DEVICE, &buffer->memory, error);
    if (code == ACCEL_OK)
        code = gpu_transfer_clear(gpu, buffer->memory, 0, padded, error);
    if (code != ACCEL_OK) {
        buffer_free(&buffer->base);
        return code;
    }
    *out_buffer = &buffer->base;
    return ACCEL_OK;
}
