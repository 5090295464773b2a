/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from the host to memory of the device outside of any queue of the caller: weights, constants, zeros. A queue
 * of the room's own, used by one thread at a time; the host memory that bytes come from belongs to who loads.
 */
#include "sdk/gpu/room.h"

#include <string.h>

int32_t gpu_stage_make(struct gpu_room *room, uint64_t bytes, struct gpu_stage *out_stage, struct accel_error *error)
{
    int32_t code;

    out_stage->bytes = (bytes + 3u) & ~UINT64_C(3);
    code = gpu_memory_make(room, ACCEL_MEMORY_PROGRAM, out_stage->bytes, GPU_MEMORY_UPLOAD, &out_stage->memory, error);
    if (code == ACCEL_OK)
        out_stage->address = room->api->memory_address(out_stage->memory);
    return code;
}

void gpu_stage_free(struct gpu_room *room, struct gpu_stage *stage)
{
    gpu_memory_drop(room, ACCEL_MEMORY_PROGRAM, stage->bytes, GPU_MEMORY_UPLOAD, stage->memory);
    stage->memory = NULL;
}

int32_t gpu_transfer_run(struct gpu_room *room, const struct gpu_operation *operations, uint32_t count,
                         struct accel_error *error)
{
    struct gpu_transfer *transfer = &room->transfer;
    int32_t code;

    pthread_mutex_lock(&transfer->lock);
    code = room->api->submit(transfer->queue, operations, count, NULL, 0, transfer->value + 1, error);
    if (code == ACCEL_OK)
        code = room->api->wait(transfer->queue, ++transfer->value, UINT64_MAX, error);
    /* The next transfer begins anew, where the device still takes it. */
    if (code != ACCEL_OK) {
        room->api->wait(transfer->queue, transfer->value, UINT64_MAX, NULL);
        room->api->reset(transfer->queue, NULL);
    }
    pthread_mutex_unlock(&transfer->lock);
    return code;
}

int32_t gpu_transfer_write(struct gpu_room *room, struct gpu_memory *memory, uint64_t offset, const void *bytes,
                           uint64_t count, struct accel_error *error)
{
    char *seen = room->api->memory_address(memory);
    struct gpu_stage stage = {NULL, NULL, 0};
    int32_t code;

    if (seen != NULL) {
        memcpy(seen + offset, bytes, count);
        return ACCEL_OK;
    }
    code = gpu_stage_make(room, count < GPU_STAGING_BYTES ? count : GPU_STAGING_BYTES, &stage, error);
    for (uint64_t done = 0; done < count && code == ACCEL_OK;) {
        uint64_t part = count - done < stage.bytes ? count - done : stage.bytes;
        struct gpu_operation copy = {
            .kind = GPU_COPY, .source = stage.memory, .target = memory, .target_offset = offset + done, .bytes = part};

        memcpy(stage.address, (const char *)bytes + done, part);
        code = gpu_transfer_run(room, &copy, 1, error);
        done += part;
    }
    gpu_stage_free(room, &stage);
    return code;
}

int32_t gpu_transfer_clear(struct gpu_room *room, struct gpu_memory *memory, uint64_t offset, uint64_t count,
                           struct accel_error *error)
{
    struct gpu_operation fill = {.kind = GPU_FILL, .target = memory, .target_offset = offset, .bytes = count};
    char *seen = room->api->memory_address(memory);

    if (seen == NULL)
        return gpu_transfer_run(room, &fill, 1, error);
    memset(seen + offset, 0, count);
    return ACCEL_OK;
}
