/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as the host counts it: its own, and that of the API. */
#include "sdk/gpu/internal.h"

int32_t gpu_allocate(const struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, void **out_memory,
                     struct accel_error *error)
{
    *out_memory = NULL;
    return gpu->host->allocate(gpu->host, memory_class, bytes == 0 ? 1 : bytes, 64, out_memory, error);
}

void gpu_release(const struct gpu_device_state *gpu, void *memory)
{
    gpu->host->release(gpu->host, memory);
}

/* A host of an earlier minor does not count. */
int32_t gpu_account(const struct gpu_device_state *gpu, uint32_t memory_class, int64_t bytes, struct accel_error *error)
{
    return bytes != 0 && ACCEL_CAN(gpu->host, account) ? gpu->host->account(gpu->host, memory_class, bytes, error)
                                                       : ACCEL_OK;
}

/* Memory that the host gave is counted there. */
static int64_t counted(const struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, uint32_t kind)
{
    return memory_class == 0 || (kind != GPU_MEMORY_DEVICE && gpu->limits.host_staging) ? 0 : (int64_t)bytes;
}

int32_t gpu_memory_make(struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, uint32_t kind,
                        struct gpu_memory **out_memory, struct accel_error *error)
{
    int32_t code = gpu_account(gpu, memory_class, counted(gpu, memory_class, bytes, kind), error);

    *out_memory = NULL;
    if (code != ACCEL_OK)
        return code;
    code = gpu->api->memory_create(gpu->device, bytes, kind, out_memory, error);
    if (code != ACCEL_OK)
        gpu_account(gpu, memory_class, -counted(gpu, memory_class, bytes, kind), NULL);
    return code;
}

void gpu_memory_drop(struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, uint32_t kind,
                     struct gpu_memory *memory)
{
    if (memory == NULL)
        return;
    gpu->api->memory_free(gpu->device, memory);
    gpu_account(gpu, memory_class, -counted(gpu, memory_class, bytes, kind), NULL);
}
