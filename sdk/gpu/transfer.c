/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from the host to memory of the device outside of any queue of the caller: weights, constants, zeros. A queue
 * and a staging memory of the room's own, both made at first use, and one thread at a time.
 */
#include "sdk/gpu/room.h"

#include <string.h>

int32_t gpu_transfer_begin(struct gpu_room *room, void **out_staging, struct accel_error *error)
{
    struct gpu_transfer *transfer = &room->transfer;
    int32_t code = ACCEL_OK;

    pthread_mutex_lock(&transfer->lock);
    if (transfer->queue == NULL)
        code = room->api->queue_create(room->device, &transfer->queue, error);
    if (code == ACCEL_OK && transfer->staging == NULL)
        code = room->api->memory_create(room->device, GPU_STAGING_BYTES, GPU_MEMORY_UPLOAD, &transfer->staging, error);
    if (code != ACCEL_OK) {
        pthread_mutex_unlock(&transfer->lock);
        return code;
    }
    *out_staging = room->api->memory_address(transfer->staging);
    return ACCEL_OK;
}

int32_t gpu_transfer_run(struct gpu_room *room, const struct gpu_operation *operations, uint32_t count,
                         struct accel_error *error)
{
    struct gpu_transfer *transfer = &room->transfer;
    int32_t code = room->api->submit(transfer->queue, operations, count, NULL, 0, transfer->value + 1, error);

    if (code == ACCEL_OK)
        code = room->api->wait(transfer->queue, ++transfer->value, UINT64_MAX, error);
    /* The next transfer begins anew, where the device still takes it. */
    if (code != ACCEL_OK) {
        room->api->wait(transfer->queue, transfer->value, UINT64_MAX, NULL);
        room->api->reset(transfer->queue, NULL);
    }
    return code;
}

void gpu_transfer_end(struct gpu_room *room)
{
    pthread_mutex_unlock(&room->transfer.lock);
}

int32_t gpu_transfer_write(struct gpu_room *room, struct gpu_memory *memory, uint64_t offset, const void *bytes,
                           uint64_t count, struct accel_error *error)
{
    char *seen = room->api->memory_address(memory);
    void *staging = NULL;
    int32_t code;

    if (seen != NULL) {
        memcpy(seen + offset, bytes, count);
        return ACCEL_OK;
    }
    code = gpu_transfer_begin(room, &staging, error);
    if (code != ACCEL_OK)
        return code;
    for (uint64_t done = 0; done < count && code == ACCEL_OK;) {
        uint64_t part = count - done < GPU_STAGING_BYTES ? count - done : GPU_STAGING_BYTES;
        struct gpu_operation copy = {.kind = GPU_COPY,
                                     .source = room->transfer.staging,
                                     .target = memory,
                                     .target_offset = offset + done,
                                     .bytes = part};

        memcpy(staging, (const char *)bytes + done, part);
        code = gpu_transfer_run(room, &copy, 1, error);
        done += part;
    }
    gpu_transfer_end(room);
    return code;
}

int32_t gpu_transfer_clear(struct gpu_room *room, struct gpu_memory *memory, uint64_t offset, uint64_t count,
                           struct accel_error *error)
{
    struct gpu_operation fill = {.kind = GPU_FILL, .target = memory, .target_offset = offset, .bytes = count};
    char *seen = room->api->memory_address(memory);
    void *staging = NULL;
    int32_t code;

    if (seen != NULL) {
        memset(seen + offset, 0, count);
        return ACCEL_OK;
    }
    code = gpu_transfer_begin(room, &staging, error);
    if (code != ACCEL_OK)
        return code;
    code = gpu_transfer_run(room, &fill, 1, error);
    gpu_transfer_end(room);
    return code;
}
