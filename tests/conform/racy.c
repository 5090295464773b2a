/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel with a race, for the check of races: the items of a workgroup put numbers into local memory and read those
 * of their neighbours, with a barrier between ("with") or without one ("without"). Ends with 0 when it has run.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

#define ITEMS 32u

static const char text[] = "kernel void racy(global uint *out) {\n"
                           "    local uint values[32];\n"
                           "    uint i = (uint)get_local_id(0);\n"
                           "    values[i] = i;\n"
                           "    BETWEEN;\n"
                           "    out[i] = values[(i + 1u) % 32u];\n"
                           "}\n";

static struct opencl_functions cl;

/* All functions of the list, whose order is that of the struct. */
static int load(void)
{
    static const char *const names[] = {
#define CL(name) "cl" #name,
#include "plugins/opencl/functions.def"
#undef CL
    };
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol;

    for (size_t i = 0; library != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        symbol = dlsym(library, names[i]);
        if (symbol == NULL)
            return -1;
        memcpy((char *)&cl + i * sizeof(symbol), &symbol, sizeof(symbol));
    }
    return library == NULL ? -1 : 0;
}

static int run(cl_context context, cl_device_id device, const char *options)
{
    const size_t length = sizeof(text) - 1, items = ITEMS;
    const char *source = text;
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = cl.CreateCommandQueue(context, device, 0, &code);
    cl_mem out = code != CL_SUCCESS ? NULL : cl.CreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * 4, NULL, &code);
    cl_program program = code != CL_SUCCESS ? NULL : cl.CreateProgramWithSource(context, 1, &source, &length, &code);
    cl_kernel kernel = NULL;

    if (code == CL_SUCCESS)
        code = cl.BuildProgram(program, 1, &device, options, NULL, NULL);
    if (code == CL_SUCCESS)
        kernel = cl.CreateKernel(program, "racy", &code);
    if (code == CL_SUCCESS)
        code = cl.SetKernelArg(kernel, 0, sizeof(out), &out);
    if (code == CL_SUCCESS)
        code = cl.EnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = cl.Finish(queue);
    if (code != CL_SUCCESS)
        fprintf(stderr, "OpenCL says %d\n", code);
    return code;
}

int main(int count, char **arguments)
{
    const char *options =
        count == 2 && strcmp(arguments[1], "with") == 0 ? "-DBETWEEN=barrier(CLK_LOCAL_MEM_FENCE)" : "-DBETWEEN=";
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_context context;
    cl_int code = CL_SUCCESS;

    if (load() != 0 || cl.GetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 1;
    context = cl.CreateContext(NULL, 1, &device, NULL, NULL, &code);
    /* The process ends with all that it made. */
    return code != CL_SUCCESS || run(context, device, options) != CL_SUCCESS;
}
