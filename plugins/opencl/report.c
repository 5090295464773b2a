/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of devices for the core: kind, heaps, limits, the piece of hardware that each one is. */
#include <stdio.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

#define NO_PLATFORM (-1001)
#define UUID 0x106A /* of an extension that the headers of some distributions lack */

static uint32_t kind_of(const struct gpu_runtime *runtime, cl_device_id device)
{
    cl_device_type type = opencl_query_number(runtime, device, CL_DEVICE_TYPE, sizeof(type));

    if ((type & CL_DEVICE_TYPE_GPU) != 0)
        return ACCEL_DEVICE_GPU;
    return (type & CL_DEVICE_TYPE_CPU) != 0 ? ACCEL_DEVICE_CPU : ACCEL_DEVICE_OTHER;
}

/* Why a device cannot be one of ours, or NULL. */
static const char *why_unusable(const struct gpu_runtime *runtime, cl_device_id device, const struct gpu_limits *limits)
{
    char version[64];

    opencl_query_text(runtime, device, CL_DEVICE_VERSION, version, sizeof(version));
    if (!opencl_query_number(runtime, device, CL_DEVICE_AVAILABLE, sizeof(cl_bool)))
        return "the device is not available";
    if (!opencl_query_number(runtime, device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_bool)))
        return "the device has no compiler of OpenCL C";
    if (!opencl_query_number(runtime, device, CL_DEVICE_ENDIAN_LITTLE, sizeof(cl_bool)))
        return "the device stores words big end first";
    if (strncmp(version, "OpenCL 1.0", 10) == 0 || strncmp(version, "OpenCL 1.1", 10) == 0)
        return "the device has a version before OpenCL 1.2";
    return limits->memory_bytes < 1u << 20 || limits->group_items == 0 ? "the device has no memory for kernels" : NULL;
}

struct enumeration {
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
    uint32_t zero;
    const struct accel_device_sink *sink;
};

static int32_t report_device(const struct gpu_runtime *runtime, const struct opencl_found *found,
                             const struct enumeration *enumeration, struct accel_error *error)
{
    struct gpu_limits limits;
    struct accel_limits accel_limits;
    struct accel_heap heap = {.flags = ACCEL_HEAP_DEVICE, .alignment = 4, .name = "device"};
    struct accel_facts facts = {.size = sizeof(facts), .hardware = -1, .id = found->id, .generation = 0};
    const struct opencl_place *place = &found->place;
    char name[256], version[256], driver[256], features[128], detail[900];
    const char *wrong;

    opencl_limits(runtime, found->device, &limits);
    opencl_query_text(runtime, found->device, CL_DEVICE_NAME, name, sizeof(name));
    opencl_query_text(runtime, found->device, CL_DEVICE_VERSION, version, sizeof(version));
    opencl_query_text(runtime, found->device, CL_DRIVER_VERSION, driver, sizeof(driver));
    facts.kind = kind_of(runtime, found->device);
    if (place->known)
        facts.hardware = gpu_find_pci(enumeration->hardware, enumeration->hardware_count, place->domain, place->bus,
                                      place->slot, place->function);
    else if (facts.kind == ACCEL_DEVICE_CPU)
        facts.hardware = gpu_find_cpu(enumeration->hardware, enumeration->hardware_count);
    wrong = why_unusable(runtime, found->device, &limits);
    if (wrong != NULL) {
        snprintf(detail, sizeof(detail), "%s (%s): %s", found->id, name, wrong);
        return enumeration->sink->verdict(enumeration->sink, facts.hardware, ACCEL_E_UNSUPPORTED, detail, NULL, error);
    }
    gpu_features_text(limits.features, features, sizeof(features));
    snprintf(detail, sizeof(detail), "version=\"%.100s\" driver=\"%.100s\" units=%u features=%s subgroup=%u", version,
             driver, limits.units, features,
             (limits.features & GPU_FEATURE_SUBGROUP) != 0 ? (limits.subgroup != 0 ? limits.subgroup : 1) : 0);
    if (opencl_query_number(runtime, found->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(cl_bool))) {
        facts.flags |= ACCEL_DEVICE_UNIFIED;
        heap.flags = ACCEL_HEAP_HOST;
        heap.name = "host";
    }
    heap.bytes = opencl_query_number(runtime, found->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    runtime->cl.GetDeviceInfo(found->device, UUID, sizeof(facts.uuid), facts.uuid, NULL);
    gpu_facts_limits(&limits, &accel_limits);
    facts.name = name;
    facts.detail = detail;
    facts.heap_count = 1;
    facts.heaps = &heap;
    facts.limits = &accel_limits;
    facts.types = gpu_facts_types(&facts.type_count);
    return enumeration->sink->device(enumeration->sink, &facts, error);
}

int32_t opencl_enumerate(struct gpu_runtime *runtime, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error)
{
    const struct enumeration enumeration = {hardware, hardware_count, 0, sink};
    struct opencl_found found[OPENCL_DEVICES];
    uint32_t count = 0;
    cl_int result = opencl_find(runtime, found, &count);

    if (result == NO_PLATFORM || (result == CL_SUCCESS && count == 0))
        return sink->verdict(
            sink, -1, ACCEL_E_NOT_FOUND,
            result == NO_PLATFORM ? "the OpenCL loader found no driver (CL_PLATFORM_NOT_FOUND_KHR)"
                                  : "the OpenCL drivers that are installed have no device",
            result == NO_PLATFORM
                ? "install the driver of the device's vendor; its file in /etc/OpenCL/vendors names it to the loader"
                : "install the driver of the device's vendor, whose file in /etc/OpenCL/vendors names it to the "
                  "loader; PoCL has a device only if it may write its cache (POCL_CACHE_DIR, else XDG_CACHE_HOME)",
            error);
    if (result != CL_SUCCESS)
        return opencl_error(error, result, "clGetPlatformIDs");
    for (uint32_t i = 0; i < count; i++) {
        int32_t code = report_device(runtime, &found[i], &enumeration, error);

        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}
