/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as the host counts it: its own, and that of the API. */
#include "sdk/gpu/room.h"

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

/* A host of an earlier minor does not count. */
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
