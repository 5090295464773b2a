/* SPDX-License-Identifier: Apache-2.0 */
/* Queries physical devices once; extension structs are chained only if the device supports the extension. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/vulkan/vulkan.h"

struct extensions {
    VkExtensionProperties *list;
    uint32_t count;
    uint32_t version; /**< of the API that both sides have */
};

static bool has(const struct extensions *extensions, const char *name)
{
    for (uint32_t i = 0; i < extensions->count; i++)
        if (strcmp(extensions->list[i].extensionName, name) == 0)
            return true;
    return false;
}

/* True where the core of `since` or the extension brings it. */
static bool offers(const struct extensions *extensions, uint32_t since, const char *name)
{
    return extensions->version >= since || has(extensions, name);
}

static VkResult list_extensions(const struct gpu_runtime *runtime, VkPhysicalDevice handle,
                                struct extensions *extensions)
{
    VkResult result =
        runtime->call.EnumerateDeviceExtensionProperties(handle, NULL, &extensions->count, extensions->list);

    if (result != VK_SUCCESS || extensions->count == 0)
        return result;
    extensions->list = calloc(extensions->count, sizeof(*extensions->list));
    if (extensions->list == NULL)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    result = runtime->call.EnumerateDeviceExtensionProperties(handle, NULL, &extensions->count, extensions->list);
    return result == VK_INCOMPLETE ? VK_SUCCESS : result;
}

/* Every struct of Vulkan that can be chained begins so. */
static void chain(void *head, void *next)
{
    VkBaseOutStructure *at = head;
    VkBaseOutStructure *added = next;

    added->pNext = at->pNext;
    at->pNext = added;
}

static void query_properties(const struct gpu_runtime *runtime, const struct extensions *extensions,
                             struct vulkan_physical *physical)
{
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceMaintenance4Properties buffers = {.sType =
                                                          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
    VkPhysicalDeviceShaderIntegerDotProductProperties dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    struct vulkan_features *features = &physical->features;

    physical->identity.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    physical->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    physical->maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    physical->driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    physical->subgroup_sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    physical->pci.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
    chain(&all, &physical->identity);
    chain(&all, &physical->subgroup);
    chain(&all, &physical->maintenance);
    features->driver_properties = offers(extensions, VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    features->pci_bus = has(extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    if (features->driver_properties)
        chain(&all, &physical->driver);
    if (features->pci_bus)
        chain(&all, &physical->pci);
    if (offers(extensions, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        chain(&all, &physical->subgroup_sizes);
    if (offers(extensions, VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME))
        chain(&all, &buffers);
    if (offers(extensions, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
        chain(&all, &dots);
    runtime->call.GetPhysicalDeviceProperties2(physical->handle, &all);
    physical->properties = all.properties;
    physical->largest_buffer = physical->maintenance.maxMemoryAllocationSize;
    if (buffers.maxBufferSize != 0 && buffers.maxBufferSize < physical->largest_buffer)
        physical->largest_buffer = buffers.maxBufferSize;
    features->int_dot_fast = dots.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE;
    features->memory_budget = has(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    features->cooperative_matrix = has(extensions, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    features->subgroup_arithmetic = (physical->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                    (physical->subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
    features->subgroup_ballot =
        features->subgroup_arithmetic && (physical->subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT) != 0;
    features->subgroup_shuffle =
        features->subgroup_arithmetic &&
        (physical->subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0 &&
        (physical->subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT) != 0;
}

static void query_features(const struct gpu_runtime *runtime, const struct extensions *extensions,
                           struct vulkan_physical *physical)
{
    VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDevice16BitStorageFeatures halves = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDevice8BitStorageFeatures bytes = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
    VkPhysicalDeviceShaderFloat16Int8Features small = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    struct vulkan_features *features = &physical->features;

    chain(&all, &halves);
    if (offers(extensions, VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME))
        chain(&all, &bytes);
    if (offers(extensions, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME))
        chain(&all, &small);
    if (offers(extensions, VK_API_VERSION_1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME))
        chain(&all, &timeline);
    if (offers(extensions, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        chain(&all, &sizes);
    if (offers(extensions, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
        chain(&all, &dots);
    runtime->call.GetPhysicalDeviceFeatures2(physical->handle, &all);
    features->timeline_core = extensions->version >= VK_API_VERSION_1_2;
    features->timeline = timeline.timelineSemaphore == VK_TRUE;
    features->f16 = small.shaderFloat16 == VK_TRUE;
    features->int8 = small.shaderInt8 == VK_TRUE;
    features->int16 = all.features.shaderInt16 == VK_TRUE;
    features->storage8 = bytes.storageBuffer8BitAccess == VK_TRUE;
    features->storage16 = halves.storageBuffer16BitAccess == VK_TRUE;
    features->int_dot = dots.shaderIntegerDotProduct == VK_TRUE;
    features->subgroup_control =
        sizes.subgroupSizeControl == VK_TRUE &&
        (physical->subgroup_sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    features->full_subgroups = sizes.computeFullSubgroups == VK_TRUE;
}

/* Returns a compute-only queue family, which runs beside a display's work, or else any compute family. */
static uint32_t choose_family(const struct gpu_runtime *runtime, VkPhysicalDevice handle)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = sizeof(families) / sizeof(*families);
    uint32_t best = UINT32_MAX;

    runtime->call.GetPhysicalDeviceQueueFamilyProperties(handle, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        VkQueueFlags flags = families[i].queueFlags;

        if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0)
            continue;
        if (best == UINT32_MAX)
            best = i;
        if ((flags & VK_QUEUE_GRAPHICS_BIT) == 0)
            return i;
    }
    return best;
}

static void check_support(struct vulkan_physical *physical)
{
    uint32_t version = physical->properties.apiVersion;
    const VkPhysicalDeviceLimits *limits = &physical->properties.limits;
    const char *newer = "install a newer Vulkan driver for the device";

    if (version < VK_API_VERSION_1_1)
        snprintf(physical->refusal, sizeof(physical->refusal), "its driver has Vulkan %u.%u, and 1.1 is needed",
                 VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
    else if (!physical->features.timeline)
        snprintf(physical->refusal, sizeof(physical->refusal),
                 "its driver has no timeline semaphores (Vulkan 1.2 or VK_KHR_timeline_semaphore)");
    else if (physical->family == UINT32_MAX) {
        snprintf(physical->refusal, sizeof(physical->refusal), "it has no queue that computes");
        newer = "";
    } else if (limits->maxPerStageDescriptorStorageBuffers < GPU_BINDINGS_LEAST) {
        snprintf(physical->refusal, sizeof(physical->refusal),
                 "it binds %u storage buffers to a kernel, and %u are needed",
                 limits->maxPerStageDescriptorStorageBuffers, GPU_BINDINGS_LEAST);
        newer = "";
    }
    if (physical->refusal[0] != '\0')
        snprintf(physical->remedy, sizeof(physical->remedy), "%s", newer);
}

static VkResult query(const struct gpu_runtime *runtime, struct vulkan_physical *physical)
{
    struct extensions extensions = {NULL, 0, 0};
    VkResult result;

    runtime->call.GetPhysicalDeviceProperties(physical->handle, &physical->properties);
    runtime->call.GetPhysicalDeviceMemoryProperties(physical->handle, &physical->memory);
    physical->family = choose_family(runtime, physical->handle);
    extensions.version = physical->properties.apiVersion;
    if (extensions.version >= VK_API_VERSION_1_1) {
        result = list_extensions(runtime, physical->handle, &extensions);
        if (result == VK_SUCCESS) {
            query_properties(runtime, &extensions, physical);
            query_features(runtime, &extensions, physical);
            result = vulkan_query_matrix(runtime, physical);
        }
        free(extensions.list);
        if (result != VK_SUCCESS)
            return result;
    }
    check_support(physical);
    return VK_SUCCESS;
}

/* The first word of a name in small letters. */
static void first_word(const char *from, char *to, size_t bytes)
{
    size_t used = 0;

    for (; *from != '\0' && used + 1 < bytes; from++) {
        char letter = *from >= 'A' && *from <= 'Z' ? (char)(*from - 'A' + 'a') : *from;

        if (!((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')))
            break;
        to[used++] = letter;
    }
    to[used] = '\0';
}

/* Names a device by its bus address if known, else by its emulator, or "gpu", with a number from the second on. */
static void name_device(struct vulkan_physical *devices, uint32_t index)
{
    struct vulkan_physical *physical = &devices[index];
    const VkPhysicalDevicePCIBusInfoPropertiesEXT *pci = &physical->pci;
    char name[24] = "";
    uint32_t before = 0;

    if (physical->features.pci_bus)
        snprintf(name, sizeof(name), "%04x:%02x:%02x.%x", pci->pciDomain & 0xffffu, pci->pciBus & 0xffu,
                 pci->pciDevice & 0x1fu, pci->pciFunction & 7u);
    else if (vulkan_is_software(physical))
        first_word(physical->features.driver_properties ? physical->driver.driverName : physical->properties.deviceName,
                   name, sizeof(name));
    if (name[0] == '\0')
        snprintf(name, sizeof(name), "gpu");
    for (uint32_t i = 0; i < index; i++)
        before += strncmp(devices[i].id, name, strlen(name)) == 0;
    if (before == 0)
        snprintf(physical->id, sizeof(physical->id), "%s", name);
    else
        snprintf(physical->id, sizeof(physical->id), "%s-%u", name, before);
}

int32_t vulkan_physical_list(const struct gpu_runtime *runtime, struct vulkan_physical *devices, uint32_t *out_count,
                             struct accel_error *error)
{
    VkPhysicalDevice handles[VULKAN_MOST_DEVICES];
    uint32_t count = VULKAN_MOST_DEVICES;
    VkResult result = runtime->call.EnumeratePhysicalDevices(runtime->instance, &count, handles);

    *out_count = 0;
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return vulkan_error(error, result, "vkEnumeratePhysicalDevices");
    memset(devices, 0, VULKAN_MOST_DEVICES * sizeof(*devices));
    for (uint32_t i = 0; i < count; i++) {
        devices[i].handle = handles[i];
        result = query(runtime, &devices[i]);
        if (result != VK_SUCCESS)
            return vulkan_error(error, result, "asking what a device has");
        name_device(devices, i);
    }
    *out_count = count;
    return ACCEL_OK;
}

bool vulkan_is_software(const struct vulkan_physical *physical)
{
    return physical->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

bool vulkan_is_unified(const struct vulkan_physical *physical)
{
    return vulkan_is_software(physical) || physical->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}
