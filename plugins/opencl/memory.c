/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the device, and host memory that uploads come from. */
#include "plugins/opencl/opencl.h"

#define PAGE 4096u

int32_t opencl_memory_create(struct gpu_device *device, uint64_t bytes, uint32_t kind, struct gpu_memory **out_memory,
                             struct accel_error *error)
{
    const struct accel_host *host = device->host;
    const uint64_t bytes_taken = kind == GPU_MEMORY_DEVICE ? sizeof(struct gpu_memory) : PAGE + bytes;
    struct gpu_memory *memory;
    void *block = NULL;
    cl_int result = CL_SUCCESS;
    int32_t code = host->allocate(host, kind == GPU_MEMORY_DEVICE ? ACCEL_MEMORY_HOST : ACCEL_MEMORY_PROGRAM,
                                  bytes_taken, kind == GPU_MEMORY_DEVICE ? 64 : PAGE, &block, error);

    *out_memory = NULL;
    if (code != ACCEL_OK)
        return code;
    memory = block;
    if (kind == GPU_MEMORY_DEVICE)
        memory->buffer = device->cl->CreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &result);
    else
        memory->host = (char *)block + PAGE;
    if (result != CL_SUCCESS) {
        host->release(host, block);
        if (error != NULL && error->code == ACCEL_OK)
            error->asked = bytes;
        return opencl_error(error, result, "a buffer of the device");
    }
    *out_memory = memory;
    return ACCEL_OK;
}

void opencl_memory_free(struct gpu_device *device, struct gpu_memory *memory)
{
    if (memory->buffer != NULL)
        device->cl->ReleaseMemObject(memory->buffer);
    device->host->release(device->host, memory);
}

/* Buffers of OpenCL 1.2 are mapped for a time, by commands: none has an address of its own. */
void *opencl_memory_address(struct gpu_memory *memory)
{
    return memory->host;
}
