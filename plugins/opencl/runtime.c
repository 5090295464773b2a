/* SPDX-License-Identifier: Apache-2.0 */
/* The library of the OpenCL loader, opened at attach, and its errors in words. */
#include <dlfcn.h>
#include <errno.h>

#include "plugins/opencl/opencl.h"

static const char *const libraries[] = {"libOpenCL.so.1", "libOpenCL.so"};

struct symbol {
    const char *name;
    void **place;
};

static int32_t find_symbols(struct gpu_runtime *runtime, struct accel_error *error)
{
    struct opencl_functions *cl = &runtime->cl;
    const struct symbol symbols[] = {
#define CL(name) {"cl" #name, (void **)(void *)&cl->name},
#include "plugins/opencl/functions.def"
#undef CL
    };

    for (uint32_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        *symbols[i].place = dlsym(runtime->library, symbols[i].name);
        if (*symbols[i].place == NULL) {
            sdk_error(error, ACCEL_E_NOT_FOUND, "libOpenCL has no %s: it is older than OpenCL 1.2", symbols[i].name);
            sdk_remedy(error, "install a newer loader; on Debian and Ubuntu: apt install ocl-icd-libopencl1");
            return ACCEL_E_NOT_FOUND;
        }
    }
    return ACCEL_OK;
}

int32_t opencl_load(const struct accel_host *host, struct gpu_runtime **out_runtime, struct accel_error *error)
{
    struct gpu_runtime *runtime;
    void *memory = NULL;
    int32_t code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof(*runtime), 64, &memory, error);

    *out_runtime = NULL;
    if (code != ACCEL_OK)
        return code;
    runtime = memory;
    runtime->host = host;
    errno = 0;
    for (uint32_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && runtime->library == NULL; i++)
        runtime->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    if (runtime->library == NULL && errno == ENOMEM) {
        code = sdk_error(error, ACCEL_E_MEMORY, "no memory to load the OpenCL loader");
    } else if (runtime->library == NULL) {
        code = sdk_error(error, ACCEL_E_NOT_FOUND, "the OpenCL loader is not installed: %s", dlerror());
        sdk_remedy(error, "install the loader and the vendor's driver; on Debian and Ubuntu: apt install "
                          "ocl-icd-libopencl1, and for example intel-opencl-icd, mesa-opencl-icd or pocl-opencl-icd");
    } else {
        code = find_symbols(runtime, error);
    }
    if (code != ACCEL_OK) {
        opencl_unload(runtime);
        return code;
    }
    *out_runtime = runtime;
    return ACCEL_OK;
}

/* The library stays: drivers below it leave threads and handlers behind. */
void opencl_unload(struct gpu_runtime *runtime)
{
    runtime->host->release(runtime->host, runtime);
}

struct name {
    cl_int code;
    int32_t ours;
    const char *text;
};

static const struct name names[] = {
    {CL_DEVICE_NOT_FOUND, ACCEL_E_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {CL_DEVICE_NOT_AVAILABLE, ACCEL_E_DEVICE_LOST, "CL_DEVICE_NOT_AVAILABLE"},
    {CL_COMPILER_NOT_AVAILABLE, ACCEL_E_UNSUPPORTED, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, ACCEL_E_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, ACCEL_E_MEMORY, "CL_OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, ACCEL_E_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {CL_BUILD_PROGRAM_FAILURE, ACCEL_E_REFUSED, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_INVALID_VALUE, ACCEL_E_INTERNAL, "CL_INVALID_VALUE"},
    {CL_INVALID_BUFFER_SIZE, ACCEL_E_LIMIT, "CL_INVALID_BUFFER_SIZE"},
    {CL_INVALID_BINARY, ACCEL_E_MISS, "CL_INVALID_BINARY"},
    {CL_INVALID_KERNEL_ARGS, ACCEL_E_INTERNAL, "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_WORK_GROUP_SIZE, ACCEL_E_LIMIT, "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_ARG_SIZE, ACCEL_E_INTERNAL, "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_KERNEL_NAME, ACCEL_E_INTERNAL, "CL_INVALID_KERNEL_NAME"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ACCEL_E_DEPENDS, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-1001, ACCEL_E_NOT_FOUND, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, ACCEL_E_DEVICE_LOST, "a fault of the device"},
};

const char *opencl_name(cl_int code)
{
    for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].code == code)
            return names[i].text;
    return "an error";
}

int32_t opencl_error(struct accel_error *error, cl_int code, const char *what)
{
    int32_t ours = ACCEL_E_INTERNAL;

    for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].code == code)
            ours = names[i].ours;
    if (error != NULL && error->code == ACCEL_OK)
        error->native = code;
    return sdk_error(error, ours, "%s: %s (%d)", what, opencl_name(code), code);
}
