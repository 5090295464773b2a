/* SPDX-License-Identifier: Apache-2.0 */
/* Platforms and devices: their names, places on the bus, limits and features; and opening one. */
#include "plugins/opencl/opencl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PLATFORMS 16u
#define DEVICES 64u
#define TEXT 8192u
#define NO_PLATFORM (-1001)

/* Numbers of extensions that the headers of some distributions lack. */
#define ICD_SUFFIX 0x0920
#define UUID 0x106A
#define PCI_BUS_INFO 0x410F
#define PCI_BUS_NV 0x4008
#define PCI_SLOT_NV 0x4009
#define PCI_DOMAIN_NV 0x400A
#define TOPOLOGY_AMD 0x4037
#define SUB_GROUP_SIZES_INTEL 0x4108
#define MOST_SUBGROUPS 0x105C
#define DOT_CAPABILITIES 0x1073
#define DOT_PACKED_ACCELERATED 0x1075

/* CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR of the capabilities. */
#define DOT_PACKED 1u

/* ---- asking ---- */

static void ask_text(const struct gpu_runtime *runtime, cl_device_id device, cl_device_info what, char *text,
                     size_t bytes)
{
    text[0] = '\0';
    if (runtime->cl.GetDeviceInfo(device, what, bytes - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    text[bytes - 1] = '\0';
}

static uint64_t ask_number(const struct gpu_runtime *runtime, cl_device_id device, cl_device_info what, size_t bytes)
{
    uint64_t number = 0;

    return runtime->cl.GetDeviceInfo(device, what, bytes, &number, NULL) == CL_SUCCESS ? number : 0;
}

/* Whole words of a list of extensions. */
static uint32_t has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    return 0;
}

/* ---- facts ---- */

struct place {
    uint32_t known, domain, bus, slot, function;
};

static struct place place_of(const struct gpu_runtime *runtime, cl_device_id device)
{
    uint32_t info[4] = {0};
    uint8_t topology[24] = {0};
    struct place place = {0, 0, 0, 0, 0};

    if (runtime->cl.GetDeviceInfo(device, PCI_BUS_INFO, sizeof info, info, NULL) == CL_SUCCESS)
        return (struct place){1, info[0], info[1], info[2], info[3]};
    if (runtime->cl.GetDeviceInfo(device, PCI_BUS_NV, sizeof *info, info, NULL) == CL_SUCCESS) {
        uint32_t slot = (uint32_t)ask_number(runtime, device, PCI_SLOT_NV, sizeof slot);

        return (struct place){1, (uint32_t)ask_number(runtime, device, PCI_DOMAIN_NV, sizeof slot), info[0], slot >> 3,
                              slot & 7u};
    }
    if (runtime->cl.GetDeviceInfo(device, TOPOLOGY_AMD, sizeof topology, topology, NULL) == CL_SUCCESS &&
        topology[0] == 1)
        return (struct place){1, 0, topology[21], topology[22], topology[23]};
    return place;
}

/* Products of bytes packed in words; the first of the answer's truths says that signed ones are one instruction. */
static uint32_t dots_of(const struct gpu_runtime *runtime, cl_device_id device)
{
    cl_bool quick[6] = {CL_FALSE};

    if ((ask_number(runtime, device, DOT_CAPABILITIES, sizeof(cl_bitfield)) & DOT_PACKED) == 0)
        return 0;
    if (runtime->cl.GetDeviceInfo(device, DOT_PACKED_ACCELERATED, sizeof quick, quick, NULL) != CL_SUCCESS ||
        quick[0] == CL_FALSE)
        return GPU_FEATURE_DOT8;
    return GPU_FEATURE_DOT8 | GPU_FEATURE_DOT8_FAST;
}

/* The sizes of subgroups that kernels may ask for (cl_intel_required_subgroup_size); by itself 16 items, or 8 on CPUs,
 * whose vectors are so long. */
static void fill_subgroups(const struct gpu_runtime *runtime, cl_device_id device, const char *extensions,
                           struct gpu_limits *limits)
{
    const uint32_t usual = (limits->features & GPU_FEATURE_SOFTWARE) != 0 ? 8 : 16;
    size_t sizes[16], bytes = 0;

    if ((limits->features & GPU_FEATURE_SUBGROUP) == 0 || !has_word(extensions, "cl_intel_required_subgroup_size") ||
        runtime->cl.GetDeviceInfo(device, SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) != CL_SUCCESS)
        return;
    for (size_t i = 0; i < bytes / sizeof *sizes; i++) {
        uint32_t size = (uint32_t)sizes[i];

        if (limits->subgroups[0] == 0 || size < limits->subgroups[0])
            limits->subgroups[0] = size;
        if (size > limits->subgroups[1])
            limits->subgroups[1] = size;
        if (limits->subgroup == 0 || size == usual)
            limits->subgroup = size;
    }
}

/* Where OpenCL C has it: as an extension, or in the core of its version. */
static uint32_t features_of(const struct gpu_runtime *runtime, cl_device_id device, const char *extensions,
                            uint32_t major)
{
    uint32_t features = GPU_FEATURE_STORAGE16 | GPU_FEATURE_STORAGE8 | GPU_FEATURE_INT8 | GPU_FEATURE_INT16;

    if (has_word(extensions, "cl_khr_fp16"))
        features |= GPU_FEATURE_F16;
    if (has_word(extensions, "cl_khr_integer_dot_product"))
        features |= dots_of(runtime, device);
    /* From OpenCL C 3.0 on the number alone says it. */
    if (major >= 2 && (has_word(extensions, "cl_khr_subgroups") ||
                       (major >= 3 && ask_number(runtime, device, MOST_SUBGROUPS, sizeof(cl_uint)) != 0)))
        features |= GPU_FEATURE_SUBGROUP;
    if ((features & GPU_FEATURE_SUBGROUP) != 0 && has_word(extensions, "cl_khr_subgroup_shuffle"))
        features |= GPU_FEATURE_SHUFFLE;
    if ((ask_number(runtime, device, CL_DEVICE_TYPE, sizeof(cl_device_type)) & CL_DEVICE_TYPE_CPU) != 0)
        features |= GPU_FEATURE_SOFTWARE;
    return features;
}

static uint32_t major_of(const char *version)
{
    return strncmp(version, "OpenCL C ", 9) == 0 && isdigit((unsigned char)version[9]) ? (uint32_t)(version[9] - '0')
                                                                                       : 1;
}

static void fill_limits(const struct gpu_runtime *runtime, cl_device_id device, struct gpu_limits *limits)
{
    char text[TEXT];
    uint32_t major;

    ask_text(runtime, device, CL_DEVICE_OPENCL_C_VERSION, text, sizeof text);
    major = major_of(text);
    ask_text(runtime, device, CL_DEVICE_EXTENSIONS, text, sizeof text);
    *limits = (struct gpu_limits){
        .binding_bytes = ask_number(runtime, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)),
        .memory_bytes = ask_number(runtime, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)),
        .local_bytes = ask_number(runtime, device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong)),
        .group_items = (uint32_t)ask_number(runtime, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)),
        .groups = {0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
        .units = (uint32_t)ask_number(runtime, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint)),
        .vendor = (uint32_t)ask_number(runtime, device, CL_DEVICE_VENDOR_ID, sizeof(cl_uint)),
        .features = features_of(runtime, device, text, major),
        .in_flight = 32,
        .reads = 1,
        .host_staging = 1,
    };
    fill_subgroups(runtime, device, text, limits);
    /* A word of offset reaches so far. */
    if (limits->memory_bytes > UINT64_C(4) << 32)
        limits->memory_bytes = UINT64_C(4) << 32;
}

static uint32_t kind_of(const struct gpu_runtime *runtime, cl_device_id device)
{
    cl_device_type type = ask_number(runtime, device, CL_DEVICE_TYPE, sizeof type);

    if ((type & CL_DEVICE_TYPE_GPU) != 0)
        return ACCEL_DEVICE_GPU;
    return (type & CL_DEVICE_TYPE_CPU) != 0 ? ACCEL_DEVICE_CPU : ACCEL_DEVICE_OTHER;
}

/* Why a device cannot be one of ours, or NULL. */
static const char *wrong_with(const struct gpu_runtime *runtime, cl_device_id device, const struct gpu_limits *limits)
{
    char version[64];

    ask_text(runtime, device, CL_DEVICE_VERSION, version, sizeof version);
    if (!ask_number(runtime, device, CL_DEVICE_AVAILABLE, sizeof(cl_bool)))
        return "the device is not available";
    if (!ask_number(runtime, device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_bool)))
        return "the device has no compiler of OpenCL C";
    if (!ask_number(runtime, device, CL_DEVICE_ENDIAN_LITTLE, sizeof(cl_bool)))
        return "the device stores words big end first";
    if (strncmp(version, "OpenCL 1.0", 10) == 0 || strncmp(version, "OpenCL 1.1", 10) == 0)
        return "the device has a version before OpenCL 1.2";
    return limits->memory_bytes < 1u << 20 || limits->group_items == 0 ? "the device has no memory for kernels" : NULL;
}

struct told {
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
    uint32_t zero;
    const struct accel_device_sink *sink;
};

static int32_t tell_device(const struct gpu_runtime *runtime, const struct opencl_found *found, const struct told *told,
                           struct accel_error *error)
{
    struct gpu_limits limits;
    struct accel_limits accel_limits;
    struct accel_heap heap = {.flags = ACCEL_HEAP_DEVICE, .alignment = 4, .name = "device"};
    struct accel_facts facts = {.size = sizeof facts, .hardware = -1, .id = found->id, .generation = 0};
    struct place place = place_of(runtime, found->device);
    char name[256], version[256], driver[256], detail[900];
    const char *wrong;

    fill_limits(runtime, found->device, &limits);
    ask_text(runtime, found->device, CL_DEVICE_NAME, name, sizeof name);
    ask_text(runtime, found->device, CL_DEVICE_VERSION, version, sizeof version);
    ask_text(runtime, found->device, CL_DRIVER_VERSION, driver, sizeof driver);
    facts.kind = kind_of(runtime, found->device);
    if (place.known)
        facts.hardware =
            gpu_find_pci(told->hardware, told->hardware_count, place.domain, place.bus, place.slot, place.function);
    else if (facts.kind == ACCEL_DEVICE_CPU)
        facts.hardware = gpu_find_cpu(told->hardware, told->hardware_count);
    wrong = wrong_with(runtime, found->device, &limits);
    if (wrong != NULL) {
        snprintf(detail, sizeof detail, "%s (%s): %s", found->id, name, wrong);
        return told->sink->verdict(told->sink, facts.hardware, ACCEL_E_UNSUPPORTED, detail, NULL, error);
    }
    snprintf(detail, sizeof detail, "version=\"%.100s\" driver=\"%.100s\" units=%u f16=%u dot=%s subgroups=%u", version,
             driver, limits.units, (limits.features & GPU_FEATURE_F16) != 0,
             (limits.features & GPU_FEATURE_DOT8_FAST) != 0 ? "fast"
             : (limits.features & GPU_FEATURE_DOT8) != 0    ? "emulated"
                                                            : "0",
             (limits.features & GPU_FEATURE_SUBGROUP) != 0 ? (limits.subgroup != 0 ? limits.subgroup : 1) : 0);
    if (ask_number(runtime, found->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(cl_bool))) {
        facts.flags |= ACCEL_DEVICE_UNIFIED;
        heap.flags = ACCEL_HEAP_HOST;
        heap.name = "host";
    }
    heap.bytes = ask_number(runtime, found->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    runtime->cl.GetDeviceInfo(found->device, UUID, sizeof facts.uuid, facts.uuid, NULL);
    gpu_facts_limits(&limits, &accel_limits);
    facts.name = name;
    facts.detail = detail;
    facts.heap_count = 1;
    facts.heaps = &heap;
    facts.limits = &accel_limits;
    facts.types = gpu_facts_types(&facts.type_count);
    return told->sink->device(told->sink, &facts, error);
}

/* ---- finding ---- */

/* The end that a platform's functions have, as a short name: "pocl", "nv", "intel". */
static void platform_name(const struct gpu_runtime *runtime, cl_platform_id platform, char *name, size_t bytes)
{
    char text[64] = "";
    size_t used = 0;

    if (runtime->cl.GetPlatformInfo(platform, ICD_SUFFIX, sizeof text - 1, text, NULL) != CL_SUCCESS || text[0] == '\0')
        runtime->cl.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text - 1, text, NULL);
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
    cl_device_id devices[DEVICES];
    cl_uint device_count = 0;
    char name[32];

    if (runtime->cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &device_count) != CL_SUCCESS)
        return count;
    platform_name(runtime, platform, name, sizeof name);
    for (cl_uint d = 0; d < device_count && d < DEVICES && count < DEVICES; d++) {
        struct place place = place_of(runtime, devices[d]);

        found[count].platform = platform;
        found[count].device = devices[d];
        if (place.known)
            snprintf(found[count].id, sizeof found[count].id, "%s-%04x:%02x:%02x.%x", name, place.domain, place.bus,
                     place.slot, place.function);
        else
            snprintf(found[count].id, sizeof found[count].id, "%s%u", name, number_of(found, count, name));
        count++;
    }
    return count;
}

static cl_int find_all(const struct gpu_runtime *runtime, struct opencl_found found[DEVICES], uint32_t *out_count)
{
    cl_platform_id platforms[PLATFORMS];
    cl_uint count = 0;
    cl_int result = runtime->cl.GetPlatformIDs(PLATFORMS, platforms, &count);

    *out_count = 0;
    for (cl_uint p = 0; result == CL_SUCCESS && p < count && p < PLATFORMS; p++)
        *out_count = find_devices(runtime, platforms[p], found, *out_count);
    return result;
}

int32_t opencl_enumerate(struct gpu_runtime *runtime, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error)
{
    const struct told told = {hardware, hardware_count, 0, sink};
    struct opencl_found found[DEVICES];
    uint32_t count = 0;
    cl_int result = find_all(runtime, found, &count);

    if (result == NO_PLATFORM || (result == CL_SUCCESS && count == 0))
        return sink->verdict(
            sink, -1, ACCEL_E_NOT_FOUND,
            result == NO_PLATFORM ? "the OpenCL loader found no driver (CL_PLATFORM_NOT_FOUND_KHR)"
                                  : "the OpenCL drivers that are installed have no device",
            "install the driver of the device's maker; its file in /etc/OpenCL/vendors names it to the "
            "loader",
            error);
    if (result != CL_SUCCESS)
        return opencl_error(error, result, "clGetPlatformIDs");
    for (uint32_t i = 0; i < count; i++) {
        int32_t code = tell_device(runtime, &found[i], &told, error);

        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

/* ---- opening ---- */

/* Everything that decides what a compiler makes: device, driver, versions, features. */
static void make_fingerprint(struct gpu_device *device)
{
    static const cl_device_info what[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
                                          CL_DEVICE_OPENCL_C_VERSION};
    char text[512];

    memset(device->fingerprint, 0, sizeof device->fingerprint);
    gpu_mix(device->fingerprint, OPENCL_VERSION, sizeof OPENCL_VERSION);
    for (uint32_t i = 0; i < sizeof what / sizeof *what; i++) {
        ask_text(device->runtime, device->device, what[i], text, sizeof text);
        gpu_mix(device->fingerprint, text, strlen(text) + 1);
    }
    gpu_mix(device->fingerprint, &device->limits.features, sizeof device->limits.features);
}

static int32_t open_found(struct gpu_runtime *runtime, const struct opencl_found *found,
                          const struct accel_setting *settings, uint32_t setting_count, struct gpu_device **out_device,
                          struct accel_error *error)
{
    const struct accel_host *host = runtime->host;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)found->platform, 0};
    char version[256];
    struct gpu_device *device;
    void *block = NULL;
    cl_int result = CL_SUCCESS;
    int32_t code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof *device, 64, &block, error);

    if (code != ACCEL_OK)
        return code;
    device = block;
    device->runtime = runtime;
    device->host = host;
    device->cl = &runtime->cl;
    device->platform = found->platform;
    device->device = found->device;
    fill_limits(runtime, found->device, &device->limits);
    code = gpu_limits_choose(&device->limits, settings, setting_count, error);
    if (code != ACCEL_OK) {
        host->release(host, block);
        return code;
    }
    ask_text(runtime, found->device, CL_DEVICE_OPENCL_C_VERSION, version, sizeof version);
    device->standard = major_of(version) >= 3   ? "-cl-std=CL3.0"
                       : major_of(version) == 2 ? "-cl-std=CL2.0"
                                                : "-cl-std=CL1.2";
    make_fingerprint(device);
    device->context = runtime->cl.CreateContext(properties, 1, &found->device, NULL, NULL, &result);
    if (result != CL_SUCCESS) {
        host->release(host, block);
        return opencl_error(error, result, found->id);
    }
    pthread_mutex_init(&device->lock, NULL);
    pthread_mutex_init(&device->writing, NULL);
    *out_device = device;
    return ACCEL_OK;
}

int32_t opencl_open(struct gpu_runtime *runtime, const char *id, const struct accel_setting *settings,
                    uint32_t setting_count, struct gpu_device **out_device, struct gpu_limits *out_limits,
                    struct accel_error *error)
{
    struct opencl_found found[DEVICES];
    uint32_t count = 0;

    *out_device = NULL;
    find_all(runtime, found, &count);
    for (uint32_t i = 0; i < count; i++) {
        int32_t code;

        if (strcmp(found[i].id, id) != 0)
            continue;
        code = open_found(runtime, &found[i], settings, setting_count, out_device, error);
        if (code == ACCEL_OK)
            *out_limits = (*out_device)->limits;
        return code;
    }
    return sdk_error(error, ACCEL_E_NOT_FOUND, "the opencl driver has no device %s", id);
}

void opencl_close(struct gpu_device *device)
{
    opencl_kept_free(device);
    device->cl->ReleaseContext(device->context);
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_destroy(&device->writing);
    device->host->release(device->host, device);
}

void opencl_fingerprint(const struct gpu_device *device, uint8_t out_fingerprint[16])
{
    memcpy(out_fingerprint, device->fingerprint, sizeof device->fingerprint);
}
