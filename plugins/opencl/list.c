/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of launches. OpenCL 1.2 has no command buffers: a list is a kernel object per launch with its arguments set, so
 * that a step only enqueues.
 */
#include "plugins/opencl/opencl.h"

struct gpu_list {
    struct gpu_device *device;
    const struct gpu_dispatch *dispatches;
    cl_kernel *kernels;
    uint32_t count;
    uint32_t zero;
};

static cl_int set_words(const struct gpu_list *list, uint32_t i)
{
    const struct gpu_dispatch *dispatch = &list->dispatches[i];

    return list->device->cl->SetKernelArg(list->kernels[i], dispatch->range_count,
                                          dispatch->word_count * sizeof(*dispatch->words), dispatch->words);
}

static cl_int make_kernel(struct gpu_list *list, uint32_t i)
{
    const struct opencl_functions *cl = list->device->cl;
    const struct gpu_dispatch *dispatch = &list->dispatches[i];
    cl_int result = CL_SUCCESS;

    list->kernels[i] = cl->CreateKernel(dispatch->pipeline->program, "gpu_main", &result);
    for (uint32_t b = 0; b < dispatch->range_count && result == CL_SUCCESS; b++)
        result = cl->SetKernelArg(list->kernels[i], b, sizeof(cl_mem), &dispatch->ranges[b].memory->buffer);
    return result == CL_SUCCESS ? set_words(list, i) : result;
}

int32_t opencl_list_create(struct gpu_device *device, const struct gpu_dispatch *dispatches, uint32_t count,
                           struct gpu_list **out_list, struct accel_error *error)
{
    const struct accel_host *host = device->host;
    struct gpu_list *list;
    void *block = NULL;
    cl_int result = CL_SUCCESS;
    int32_t code =
        host->allocate(host, ACCEL_MEMORY_PROGRAM, sizeof(*list) + count * sizeof(cl_kernel), 64, &block, error);

    *out_list = NULL;
    if (code != ACCEL_OK)
        return code;
    list = block;
    list->device = device;
    list->dispatches = dispatches;
    list->kernels = (cl_kernel *)(list + 1);
    for (uint32_t i = 0; i < count && result == CL_SUCCESS; i++) {
        list->count = i + 1;
        result = make_kernel(list, i);
    }
    if (result != CL_SUCCESS) {
        opencl_list_free(list);
        return opencl_error(error, result, "the arguments of a kernel");
    }
    *out_list = list;
    return ACCEL_OK;
}

int32_t opencl_list_record(struct gpu_list *list, struct accel_error *error)
{
    for (uint32_t i = 0; i < list->count; i++) {
        cl_int result = list->dispatches[i].groups[0] == 0 ? CL_SUCCESS : set_words(list, i);

        if (result != CL_SUCCESS)
            return opencl_error(error, result, "the parameters of a kernel");
    }
    return ACCEL_OK;
}

void opencl_list_free(struct gpu_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->kernels[i] != NULL)
            list->device->cl->ReleaseKernel(list->kernels[i]);
    list->device->host->release(list->device->host, list);
}

cl_int opencl_list_run(struct gpu_list *list, cl_command_queue queue)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct gpu_dispatch *dispatch = &list->dispatches[i];
        size_t local[3] = {dispatch->pipeline->group, 1, 1};
        size_t global[3] = {dispatch->groups[0] * local[0], dispatch->groups[1], dispatch->groups[2]};
        cl_uint dimensions = global[2] > 1 ? 3 : global[1] > 1 ? 2 : 1;
        cl_int result;

        if (dispatch->groups[0] == 0)
            continue;
        result = list->device->cl->EnqueueNDRangeKernel(queue, list->kernels[i], dimensions, NULL, global, local, 0,
                                                        NULL, NULL);
        if (result != CL_SUCCESS)
            return result;
    }
    return CL_SUCCESS;
}
