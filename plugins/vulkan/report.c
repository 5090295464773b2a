/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of physical devices for the core: heaps, limits, the piece of hardware that each one is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/vulkan/vulkan.h"
#include "sdk/gpu/host.h"

/* The device's place in the list of hardware: by its address, or by its ids where only one piece has them. */
static int32_t find_hardware(const struct vulkan_physical *physical, const struct accel_hardware *const *hardware,
                             uint32_t count)
{
    const VkPhysicalDevicePCIBusInfoPropertiesEXT *pci = &physical->pci;
    int32_t found = -1;
    uint32_t alike = 0;

    if (vulkan_is_software(physical))
        return -1;
    if (physical->features.pci_bus)
        return gpu_find_pci(hardware, count, pci->pciDomain, pci->pciBus, pci->pciDevice, pci->pciFunction);
    for (uint32_t i = 0; i < count; i++) {
        if (hardware[i]->kind != ACCEL_HARDWARE_PCI || hardware[i]->vendor != physical->properties.vendorID ||
            hardware[i]->device != physical->properties.deviceID)
            continue;
        found = (int32_t)i;
        alike++;
    }
    return alike == 1 ? found : -1;
}

/* Names of drivers have spaces, values of `detail` have none. */
static void join_words(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == ' ' || *text == '=' || *text == '"')
            *text = '_';
}

static uint32_t features_of(const struct vulkan_physical *physical)
{
    const struct vulkan_features *features = &physical->features;
    bool subgroup = features->subgroup_arithmetic && features->subgroup_ballot;

    return (features->f16 ? GPU_FEATURE_F16 : 0u) | (features->storage16 ? GPU_FEATURE_STORAGE16 : 0u) |
           (features->storage8 ? GPU_FEATURE_STORAGE8 : 0u) | (features->int8 ? GPU_FEATURE_INT8 : 0u) |
           (features->int16 ? GPU_FEATURE_INT16 : 0u) | (features->int_dot ? GPU_FEATURE_DOT8 : 0u) |
           (features->int_dot && features->int_dot_fast ? GPU_FEATURE_DOT8_FAST : 0u) |
           (subgroup ? GPU_FEATURE_SUBGROUP : 0u) |
           (subgroup && features->subgroup_shuffle ? GPU_FEATURE_SHUFFLE : 0u) |
           (vulkan_has_matrix(physical) ? GPU_FEATURE_COOPMAT : 0u) |
           (vulkan_is_software(physical) ? GPU_FEATURE_SOFTWARE : 0u);
}

static void describe(const struct vulkan_physical *physical, char *text, size_t bytes)
{
    const VkPhysicalDeviceLimits *limits = &physical->properties.limits;
    uint32_t version = physical->properties.apiVersion;
    char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];
    size_t used;
    char features[128];

    snprintf(driver, sizeof(driver), "%s%s%s", physical->driver.driverName,
             physical->driver.driverInfo[0] != '\0' ? "-" : "", physical->driver.driverInfo);
    join_words(driver);
    gpu_features_text(features_of(physical), features, sizeof(features));
    snprintf(text, bytes,
             "api=%u.%u.%u driver=%.100s version=0x%x features=%s subgroup=%u workgroup=%u shared=%u range=%u",
             VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version),
             driver[0] != '\0' ? driver : "unknown", physical->properties.driverVersion, features,
             physical->subgroup.subgroupSize, limits->maxComputeWorkGroupInvocations,
             limits->maxComputeSharedMemorySize, limits->maxStorageBufferRange);
    used = strlen(text);
    if (physical->matrix[0] != 0)
        used += (size_t)snprintf(text + used, bytes - used, " matrix=%ux%ux%u", physical->matrix[0],
                                 physical->matrix[1], physical->matrix[2]);
    /* Reports an unused feature, since the device is slower without it. */
    if (physical->features.cooperative_matrix && !vulkan_has_matrix(physical))
        snprintf(text + used, bytes - used, " unused=cooperative-matrix,%s",
                 vulkan_matrix_kernels ? "no_size_of_halves_that_kernels_take" : "kernels_for_it_were_not_built");
}

/* Of the largest heap that is local to the device. */
static uint64_t heap_bytes(const struct vulkan_physical *physical)
{
    uint64_t best = 0;

    for (uint32_t i = 0; i < physical->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &physical->memory.memoryHeaps[i];

        if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && heap->size > best)
            best = heap->size;
    }
    return best;
}

static uint32_t lower_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void vulkan_limits(const struct vulkan_physical *physical, struct gpu_limits *out_limits)
{
    const VkPhysicalDeviceLimits *limits = &physical->properties.limits;
    uint64_t heap = heap_bytes(physical);
    uint32_t alignment = (uint32_t)limits->minStorageBufferOffsetAlignment;
    bool control = physical->features.subgroup_control && physical->features.full_subgroups;

    *out_limits = (struct gpu_limits){
        .binding_bytes = limits->maxStorageBufferRange,
        .memory_bytes = physical->largest_buffer < heap ? physical->largest_buffer : heap,
        .local_bytes = limits->maxComputeSharedMemorySize,
        .alignment = alignment > 4 ? alignment : 4,
        .group_items = lower_of(limits->maxComputeWorkGroupInvocations, limits->maxComputeWorkGroupSize[0]),
        .groups = {limits->maxComputeWorkGroupCount[0], limits->maxComputeWorkGroupCount[1],
                   limits->maxComputeWorkGroupCount[2]},
        .subgroup = physical->subgroup.subgroupSize,
        .subgroups = {control ? physical->subgroup_sizes.minSubgroupSize : 0,
                      control ? physical->subgroup_sizes.maxSubgroupSize : 0},
        .features = features_of(physical),
        .matrix = {physical->matrix[0], physical->matrix[1], physical->matrix[2]},
        .vendor = physical->properties.vendorID <= 0xffffu ? physical->properties.vendorID : 0,
        .in_flight = VULKAN_IN_FLIGHT,
        .bindings = lower_of(limits->maxPerStageDescriptorStorageBuffers, GPU_BINDINGS),
    };
}

static int32_t report(const struct vulkan_physical *physical, int32_t hardware, const struct accel_device_sink *sink,
                      struct accel_error *error)
{
    bool unified = vulkan_is_unified(physical);
    uint32_t flags =
        (vulkan_is_software(physical) ? ACCEL_DEVICE_SOFTWARE : 0u) | (unified ? ACCEL_DEVICE_UNIFIED : 0u);
    struct gpu_limits limits;
    struct accel_limits most;
    struct accel_heap heap = {
        .bytes = heap_bytes(physical),
        .flags = ACCEL_HEAP_DEVICE | (unified ? ACCEL_HEAP_HOST : 0u),
        .name = unified ? "DRAM" : "VRAM",
    };
    char detail[384];
    struct accel_facts facts = {
        .size = sizeof(facts),
        .kind =
            physical->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_OTHER ? ACCEL_DEVICE_OTHER : ACCEL_DEVICE_GPU,
        .flags = flags,
        .hardware = hardware,
        .id = physical->id,
        .name = physical->properties.deviceName,
        .detail = detail,
        .heap_count = 1,
        .heaps = &heap,
        .limits = &most,
    };

    facts.types = gpu_facts_types(&facts.type_count);
    vulkan_limits(physical, &limits);
    gpu_facts_limits(&limits, &most);
    heap.alignment = limits.alignment;
    describe(physical, detail, sizeof(detail));
    memcpy(facts.uuid, physical->identity.deviceUUID, sizeof(facts.uuid));
    return sink->device(sink, &facts, error);
}

int32_t vulkan_enumerate(struct gpu_runtime *runtime, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error)
{
    struct vulkan_physical *devices = calloc(VULKAN_MOST_DEVICES, sizeof(*devices));
    uint32_t count = 0;
    int32_t code;

    if (devices == NULL)
        return sdk_error(error, ACCEL_E_MEMORY, "no memory for a list of %u devices", VULKAN_MOST_DEVICES);
    code = vulkan_physical_list(runtime, devices, &count, error);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        int32_t piece = find_hardware(&devices[i], hardware, hardware_count);
        char text[512];

        if (devices[i].refusal[0] == '\0') {
            code = report(&devices[i], piece, sink, error);
            continue;
        }
        snprintf(text, sizeof(text), "%s: %s", devices[i].properties.deviceName, devices[i].refusal);
        code = sink->verdict(sink, piece, ACCEL_E_UNSUPPORTED, text,
                             devices[i].remedy[0] != '\0' ? devices[i].remedy : NULL, error);
    }
    free(devices);
    return code;
}
