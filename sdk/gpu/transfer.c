/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from the host to device memory outside of the caller's queues: weights, constants, zeros. They use a queue of
 * their own, one thread at a time; the loader owns the staging memory.
 */
#include <string.h>

#include "sdk/gpu/internal.h"

int32_t gpu_stage_make(struct gpu_device_state *gpu, uint64_t bytes, struct gpu_stage *out_stage,
                       struct accel_error *error)
{
    int32_t code;

    out_stage->bytes = (bytes + 3u) & ~UINT64_C(3);
    code = gpu_memory_make(gpu, ACCEL_MEMORY_PROGRAM, out_stage->bytes, GPU_MEMORY_UPLOAD, &out_stage->memory, error);
    if (code == ACCEL_OK)
        out_stage->address = gpu->api->memory_address(out_stage->memory);
    return code;
}

void gpu_stage_free(struct gpu_device_state *gpu, struct gpu_stage *stage)
{
    gpu_memory_drop(gpu, ACCEL_MEMORY_PROGRAM, stage->bytes, GPU_MEMORY_UPLOAD, stage->memory);
    stage->memory = NULL;
}

int32_t gpu_transfer_run(struct gpu_device_state *gpu, const struct gpu_operation *operations, uint32_t count,
                         struct accel_error *error)
{
    struct gpu_transfer *transfer = &gpu->transfer;
    int32_t code;

    pthread_mutex_lock(&transfer->lock);
    code = gpu->api->submit(transfer->queue, operations, count, NULL, 0, transfer->value + 1, error);
    if (code == ACCEL_OK)
        code = gpu->api->wait(transfer->queue, ++transfer->value, UINT64_MAX, error);
    /* Resets the queue, so that the next transfer can start if the device still works. */
    if (code != ACCEL_OK) {
        gpu->api->wait(transfer->queue, transfer->value, UINT64_MAX, NULL);
        gpu->api->reset(transfer->queue, NULL);
    }
    pthread_mutex_unlock(&transfer->lock);
    return code;
}

int32_t gpu_transfer_write(struct gpu_device_state *gpu, struct gpu_memory *memory, uint64_t offset, const void *bytes,
                           uint64_t count, struct accel_error *error)
{
    char *mapped = gpu->api->memory_address(memory);
    struct gpu_stage stage = {NULL, NULL, 0};
    int32_t code;

    if (mapped != NULL) {
        memcpy(mapped + offset, bytes, count);
        return ACCEL_OK;
    }
    code = gpu_stage_make(gpu, count < GPU_STAGING_BYTES ? count : GPU_STAGING_BYTES, &stage, error);
    for (uint64_t done = 0; done < count && code == ACCEL_OK;) {
        uint64_t part = count - done < stage.bytes ? count - done : stage.bytes;
        struct gpu_operation copy = {
            .kind = GPU_COPY, .source = stage.memory, .target = memory, .target_offset = offset + done, .bytes = part};

        memcpy(stage.address, (const char *)bytes + done, part);
        code = gpu_transfer_run(gpu, &copy, 1, error);
        done += part;
    }
    gpu_stage_free(gpu, &stage);
    return code;
}

int32_t gpu_transfer_clear(struct gpu_device_state *gpu, struct gpu_memory *memory, uint64_t offset, uint64_t count,
                           struct accel_error *error)
{
    struct gpu_operation fill = {.kind = GPU_FILL, .target = memory, .target_offset = offset, .bytes = count};
    char *mapped = gpu->api->memory_address(memory);

    if (mapped == NULL)
        return gpu_transfer_run(gpu, &fill, 1, error);
    memset(mapped + offset, 0, count);
    return ACCEL_OK;
}
