/* SPDX-License-Identifier: Apache-2.0 */
/* Platforms and devices: their names, locations on the bus, limits and features. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

#define PLATFORMS 16u
#define TEXT 8192u

/* Numbers of extensions that the headers of some distributions lack. */
#define ICD_SUFFIX 0x0920
#define PCI_BUS_INFO 0x410F
#define PCI_BUS_NV 0x4008
#define PCI_SLOT_NV 0x4009
#define PCI_DOMAIN_NV 0x400A
#define TOPOLOGY_AMD 0x4037
#define SUB_GROUP_SIZES_INTEL 0x4108
#define MOST_SUBGROUPS 0x105C
#define DOT_PACKED_ACCELERATED 0x1075

/* ---- asking ---- */

void opencl_query_text(const struct gpu_runtime *runtime, cl_device_id device, cl_device_info what, char *text,
                       size_t bytes)
{
    text[0] = '\0';
    if (runtime->cl.GetDeviceInfo(device, what, bytes - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    text[bytes - 1] = '\0';
}

uint64_t opencl_query_number(const struct gpu_runtime *runtime, cl_device_id device, cl_device_info what, size_t bytes)
{
    uint64_t number = 0;

    return runtime->cl.GetDeviceInfo(device, what, bytes, &number, NULL) == CL_SUCCESS ? number : 0;
}

/* Whole words of a list of extensions. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* ---- facts ---- */

static struct opencl_place place_of(const struct gpu_runtime *runtime, cl_device_id device)
{
    uint32_t info[4] = {0};
    uint8_t topology[24] = {0};
    struct opencl_place place = {0, 0, 0, 0, 0};

    if (runtime->cl.GetDeviceInfo(device, PCI_BUS_INFO, sizeof(info), info, NULL) == CL_SUCCESS)
        return (struct opencl_place){1, info[0], info[1], info[2], info[3]};
    if (runtime->cl.GetDeviceInfo(device, PCI_BUS_NV, sizeof(*info), info, NULL) == CL_SUCCESS) {
        uint32_t slot = (uint32_t)opencl_query_number(runtime, device, PCI_SLOT_NV, sizeof(slot));

        return (struct opencl_place){1, (uint32_t)opencl_query_number(runtime, device, PCI_DOMAIN_NV, sizeof(slot)),
                                     info[0], slot >> 3, slot & 7u};
    }
    if (runtime->cl.GetDeviceInfo(device, TOPOLOGY_AMD, sizeof(topology), topology, NULL) == CL_SUCCESS &&
        topology[0] == 1)
        return (struct opencl_place){1, 0, topology[21], topology[22], topology[23]};
    return place;
}

/* Returns whether the device accelerates dot products of signed packed bytes, the first flag of the answer. */
static bool has_fast_dots(const struct gpu_runtime *runtime, cl_device_id device)
{
    cl_bool quick[6] = {CL_FALSE};

    return runtime->cl.GetDeviceInfo(device, DOT_PACKED_ACCELERATED, sizeof(quick), quick, NULL) == CL_SUCCESS &&
           quick[0] != CL_FALSE;
}

/* Fills the subgroup sizes that kernels can require (cl_intel_required_subgroup_size); the default is 16 items, or 8 on
 * CPUs, the length of their vectors. */
static void fill_subgroups(const struct gpu_runtime *runtime, cl_device_id device, const char *extensions,
                           struct gpu_limits *limits)
{
    const uint32_t usual = (limits->features & GPU_FEATURE_SOFTWARE) != 0 ? 8 : 16;
    size_t sizes[16], bytes = 0;

    if ((limits->features & GPU_FEATURE_SUBGROUP) == 0 || !has_word(extensions, "cl_intel_required_subgroup_size") ||
        runtime->cl.GetDeviceInfo(device, SUB_GROUP_SIZES_INTEL, sizeof(sizes), sizes, &bytes) != CL_SUCCESS)
        return;
    for (size_t i = 0; i < bytes / sizeof(*sizes); i++) {
        uint32_t size = (uint32_t)sizes[i];

        if (limits->subgroups[0] == 0 || size < limits->subgroups[0])
            limits->subgroups[0] = size;
        if (size > limits->subgroups[1])
            limits->subgroups[1] = size;
        if (limits->subgroup == 0 || size == usual)
            limits->subgroup = size;
    }
}

/* Returns the features that OpenCL C has as an extension or in the core of its version. Dot products of bytes need
 * neither: without the extension kernels multiply in plain C. */
static uint32_t features_of(const struct gpu_runtime *runtime, cl_device_id device, const char *extensions,
                            uint32_t major)
{
    uint32_t features =
        GPU_FEATURE_STORAGE16 | GPU_FEATURE_STORAGE8 | GPU_FEATURE_INT8 | GPU_FEATURE_INT16 | GPU_FEATURE_DOT8;

    if (has_word(extensions, "cl_khr_fp16"))
        features |= GPU_FEATURE_F16;
    if (has_word(extensions, "cl_khr_integer_dot_product") && has_fast_dots(runtime, device))
        features |= GPU_FEATURE_DOT8_FAST;
    /* From OpenCL C 3.0 on the number alone indicates support. */
    if (major >= 2 && (has_word(extensions, "cl_khr_subgroups") ||
                       (major >= 3 && opencl_query_number(runtime, device, MOST_SUBGROUPS, sizeof(cl_uint)) != 0)))
        features |= GPU_FEATURE_SUBGROUP;
    if ((features & GPU_FEATURE_SUBGROUP) != 0 && has_word(extensions, "cl_khr_subgroup_shuffle"))
        features |= GPU_FEATURE_SHUFFLE;
    if ((opencl_query_number(runtime, device, CL_DEVICE_TYPE, sizeof(cl_device_type)) & CL_DEVICE_TYPE_CPU) != 0)
        features |= GPU_FEATURE_SOFTWARE;
    return features;
}

uint32_t opencl_major(const char *version)
{
    return strncmp(version, "OpenCL C ", 9) == 0 && isdigit((unsigned char)version[9]) ? (uint32_t)(version[9] - '0')
                                                                                       : 1;
}

void opencl_limits(const struct gpu_runtime *runtime, cl_device_id device, struct gpu_limits *limits)
{
    char text[TEXT];
    uint32_t major;

    opencl_query_text(runtime, device, CL_DEVICE_OPENCL_C_VERSION, text, sizeof(text));
    major = opencl_major(text);
    opencl_query_text(runtime, device, CL_DEVICE_EXTENSIONS, text, sizeof(text));
    *limits = (struct gpu_limits){
        .binding_bytes = opencl_query_number(runtime, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)),
        .memory_bytes = opencl_query_number(runtime, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)),
        .local_bytes = opencl_query_number(runtime, device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong)),
        .group_items = (uint32_t)opencl_query_number(runtime, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)),
        .groups = {0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
        .units = (uint32_t)opencl_query_number(runtime, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint)),
        .vendor = (uint32_t)opencl_query_number(runtime, device, CL_DEVICE_VENDOR_ID, sizeof(cl_uint)),
        .features = features_of(runtime, device, text, major),
        .in_flight = 32,
        .bindings = GPU_BINDINGS,
        .reads = 1,
        .host_staging = 1,
    };
    fill_subgroups(runtime, device, text, limits);
    /* OpenCL has its functions called by any threads at the same time; the compiler of Oclgrind 21.10 crashes of it. */
    opencl_query_text(runtime, device, CL_DEVICE_NAME, text, sizeof(text));
    limits->one_compiler = strstr(text, "Oclgrind") != NULL;
    /* A word of offset reaches so far. */
    if (limits->memory_bytes > UINT64_C(4) << 32)
        limits->memory_bytes = UINT64_C(4) << 32;
}

/* ---- finding ---- */

/* The end that a platform's functions have, as a short name: "pocl", "nv", "intel". */
static void platform_name(const struct gpu_runtime *runtime, cl_platform_id platform, char *name, size_t bytes)
{
    char text[64] = "";
    size_t used = 0;

    if (runtime->cl.GetPlatformInfo(platform, ICD_SUFFIX, sizeof(text) - 1, text, NULL) != CL_SUCCESS ||
        text[0] == '\0')
        runtime->cl.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(text) - 1, text, NULL);
    for (const char *at = text; *at != '\0' && used + 1 < bytes && used < 16; at++)
        if (isalnum((unsigned char)*at))
            name[used++] = (char)tolower((unsigned char)*at);
    name[used] = '\0';
    if (used == 0)
        snprintf(name, bytes, "platform");
}

/* Two platforms of one name number their devices on. */
static uint32_t number_of(const struct opencl_found *found, uint32_t count, const char *name)
{
    size_t length = strlen(name);
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++)
        number += strncmp(found[i].id, name, length) == 0 && isdigit((unsigned char)found[i].id[length]);
    return number;
}

static uint32_t find_devices(const struct gpu_runtime *runtime, cl_platform_id platform, struct opencl_found *found,
                             uint32_t count)
{
    cl_device_id devices[OPENCL_DEVICES];
    cl_uint device_count = 0;
    char name[32];

    if (runtime->cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, OPENCL_DEVICES, devices, &device_count) != CL_SUCCESS)
        return count;
    platform_name(runtime, platform, name, sizeof(name));
    for (cl_uint d = 0; d < device_count && d < OPENCL_DEVICES && count < OPENCL_DEVICES; d++) {
        struct opencl_place place = place_of(runtime, devices[d]);

        found[count].place = place;
        found[count].platform = platform;
        found[count].device = devices[d];
        if (place.known)
            snprintf(found[count].id, sizeof(found[count].id), "%s-%04x:%02x:%02x.%x", name, place.domain, place.bus,
                     place.slot, place.function);
        else
            snprintf(found[count].id, sizeof(found[count].id), "%s%u", name, number_of(found, count, name));
        count++;
    }
    return count;
}

cl_int opencl_find(const struct gpu_runtime *runtime, struct opencl_found found[OPENCL_DEVICES], uint32_t *out_count)
{
    cl_platform_id platforms[PLATFORMS];
    cl_uint count = 0;
    cl_int result = runtime->cl.GetPlatformIDs(PLATFORMS, platforms, &count);

    *out_count = 0;
    for (cl_uint p = 0; result == CL_SUCCESS && p < count && p < PLATFORMS; p++)
        *out_count = find_devices(runtime, platforms[p], found, *out_count);
    return result;
}
