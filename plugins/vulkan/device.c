/* SPDX-License-Identifier: Apache-2.0 */
/* The logical device: enables the features that kernels of this driver use, as far as the device has them. */
#include <stdlib.h>
#include <string.h>

#include "plugins/vulkan/vulkan.h"
#include "sdk/gpu/host.h"

int32_t vulkan_allocate(const struct gpu_device *device, uint32_t memory_class, uint64_t bytes, void **out_memory,
                        struct accel_error *error)
{
    return device->host->allocate(device->host, memory_class, bytes, 64, out_memory, error);
}

int32_t vulkan_failed(struct gpu_device *device, VkResult result, const char *what, struct accel_error *error)
{
    if (result == VK_ERROR_DEVICE_LOST)
        atomic_store(&device->lost, true);
    return vulkan_error(error, result, what);
}

int32_t vulkan_validated(struct gpu_device *device, struct accel_error *error)
{
    if (!device->validate || atomic_load(&device->runtime->findings.errors) == 0)
        return ACCEL_OK;
    return sdk_error(error, ACCEL_E_INTERNAL, "validation: %.480s", device->runtime->findings.first);
}

/* ---- functions ---- */

#define NEEDED(function) {"vk" #function, offsetof(struct vulkan_device_functions, function)},
static const struct {
    const char *text;
    size_t place;
} names[] = {VULKAN_DEVICE_FUNCTIONS(NEEDED)};

static int32_t resolve_functions(struct gpu_device *device, struct accel_error *error)
{
    PFN_vkGetDeviceProcAddr lookup = device->runtime->call.GetDeviceProcAddr;
    bool core = device->physical.features.timeline_core;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        PFN_vkVoidFunction found = lookup(device->handle, names[i].text);

        if (found == NULL)
            return sdk_error(error, ACCEL_E_ABI, "%s: its driver has no %s", device->physical.properties.deviceName,
                             names[i].text);
        memcpy((char *)&device->call + names[i].place, &found, sizeof(found));
    }
    device->call.WaitSemaphores =
        (PFN_vkWaitSemaphores)lookup(device->handle, core ? "vkWaitSemaphores" : "vkWaitSemaphoresKHR");
    device->call.GetSemaphoreCounterValue = (PFN_vkGetSemaphoreCounterValue)lookup(
        device->handle, core ? "vkGetSemaphoreCounterValue" : "vkGetSemaphoreCounterValueKHR");
    if (device->call.WaitSemaphores == NULL || device->call.GetSemaphoreCounterValue == NULL)
        return sdk_error(error, ACCEL_E_ABI, "%s: its driver lacks the functions of timeline semaphores",
                         device->physical.properties.deviceName);
    return ACCEL_OK;
}

/* ---- creation ---- */

#define MOST_EXTENSIONS 8u

/* Features and extensions to enable; structs are chained if the device supports them. */
struct device_request {
    VkPhysicalDeviceFeatures2 all;
    VkPhysicalDevice16BitStorageFeatures halves;
    VkPhysicalDevice8BitStorageFeatures bytes;
    VkPhysicalDeviceShaderFloat16Int8Features small;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dots;
    struct vulkan_matrix_features matrix;
    const char *extensions[MOST_EXTENSIONS];
    uint32_t extension_count;
};

static void enable(struct device_request *request, void *added, uint32_t version, uint32_t since, const char *extension)
{
    VkBaseOutStructure *next = added;

    next->pNext = request->all.pNext;
    request->all.pNext = next;
    if (extension != NULL && version < since)
        request->extensions[request->extension_count++] = extension;
}

static void fill_request(const struct vulkan_physical *physical, struct device_request *request)
{
    const struct vulkan_features *features = &physical->features;
    uint32_t version = physical->properties.apiVersion;

    memset(request, 0, sizeof(*request));
    request->all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    request->all.features.shaderInt16 = features->int16;
    request->halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    request->halves.storageBuffer16BitAccess = features->storage16;
    request->bytes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
    request->bytes.storageBuffer8BitAccess = features->storage8;
    request->small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    request->small.shaderFloat16 = features->f16;
    request->small.shaderInt8 = features->int8;
    request->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    request->timeline.timelineSemaphore = VK_TRUE;
    request->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    request->sizes.subgroupSizeControl = features->subgroup_control;
    request->sizes.computeFullSubgroups = features->full_subgroups;
    request->dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    request->dots.shaderIntegerDotProduct = features->int_dot;
    vulkan_matrix_features(&request->matrix, VK_TRUE);
    enable(request, &request->timeline, version, VK_API_VERSION_1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
    if (features->storage16)
        enable(request, &request->halves, version, VK_API_VERSION_1_1, NULL);
    if (features->storage8)
        enable(request, &request->bytes, version, VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
    if (features->f16 || features->int8)
        enable(request, &request->small, version, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    if (features->subgroup_control)
        enable(request, &request->sizes, version, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    if (features->int_dot)
        enable(request, &request->dots, version, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    if (vulkan_has_matrix(physical)) {
        enable(request, &request->matrix.model, version, VK_API_VERSION_1_2, NULL);
        enable(request, &request->matrix.matrix, version, UINT32_MAX, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    }
    if (features->memory_budget)
        request->extensions[request->extension_count++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
}

static int32_t create_device(struct gpu_device *device, struct accel_error *error)
{
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = device->physical.family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
    };
    struct device_request request;
    VkResult result;
    int32_t code;

    fill_request(&device->physical, &request);
    info.pNext = &request.all;
    info.enabledExtensionCount = request.extension_count;
    info.ppEnabledExtensionNames = request.extensions;
    result = device->runtime->call.CreateDevice(device->physical.handle, &info, NULL, &device->handle);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkCreateDevice", error);
    code = resolve_functions(device, error);
    if (code == ACCEL_OK)
        device->call.GetDeviceQueue(device->handle, device->physical.family, 0, &device->queue);
    return code;
}

/* Returns the first memory type with all of `wanted`, preferably with `liked` and without `disliked`. */
static uint32_t choose_type(const struct vulkan_physical *physical, uint32_t usable, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags liked, VkMemoryPropertyFlags disliked)
{
    uint32_t best = UINT32_MAX;
    int best_score = -1;

    for (uint32_t i = 0; i < physical->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = physical->memory.memoryTypes[i].propertyFlags;
        int score = ((flags & liked) == liked) * 2 + ((flags & disliked) == 0);

        if ((usable >> i & 1u) == 0 || (flags & wanted) != wanted)
            continue;
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static int32_t choose_memory(struct gpu_device *device, struct accel_error *error)
{
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = 65536,
        .usage = VULKAN_BUFFER_USAGE,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    bool unified = vulkan_is_unified(&device->physical);
    VkMemoryRequirements needs;
    VkBuffer sample;
    uint32_t *types = device->memory_type;
    VkResult result = device->call.CreateBuffer(device->handle, &info, NULL, &sample);

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkCreateBuffer", error);
    device->call.GetBufferMemoryRequirements(device->handle, sample, &needs);
    device->call.DestroyBuffer(device->handle, sample, NULL);
    types[GPU_MEMORY_DEVICE] = choose_type(&device->physical, needs.memoryTypeBits, local, unified ? seen | cached : 0,
                                           unified ? 0 : VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    types[GPU_MEMORY_UPLOAD] = choose_type(&device->physical, needs.memoryTypeBits, seen, 0, cached | local);
    types[GPU_MEMORY_DOWNLOAD] = choose_type(&device->physical, needs.memoryTypeBits, seen, cached, local);
    if (types[GPU_MEMORY_DEVICE] == UINT32_MAX || types[GPU_MEMORY_UPLOAD] == UINT32_MAX)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "%s: its driver lists no memory that buffers can have",
                         device->physical.properties.deviceName);
    return ACCEL_OK;
}

static int32_t create_layout(struct gpu_device *device, uint32_t bindings, struct vulkan_layout *layout,
                             struct accel_error *error)
{
    VkDescriptorSetLayoutBinding list[GPU_BINDINGS];
    VkDescriptorSetLayoutCreateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = bindings,
        .pBindings = list,
    };
    VkPushConstantRange words = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = GPU_WORDS * 4};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &layout->bindings,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &words,
    };
    VkResult result;

    for (uint32_t i = 0; i < bindings; i++)
        list[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    result = device->call.CreateDescriptorSetLayout(device->handle, &sets, NULL, &layout->bindings);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkCreateDescriptorSetLayout", error);
    result = device->call.CreatePipelineLayout(device->handle, &info, NULL, &layout->pipeline);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkCreatePipelineLayout", error);
}

static int32_t create_locks(struct gpu_device *device, struct accel_error *error)
{
    if (pthread_mutex_init(&device->submit_lock, NULL) != 0 || pthread_mutex_init(&device->memory_lock, NULL) != 0 ||
        pthread_rwlock_init(&device->cache_lock, NULL) != 0)
        return sdk_error(error, ACCEL_E_MEMORY, "the system gives no lock");
    device->locks = true;
    return ACCEL_OK;
}

static int32_t create_cache(struct gpu_device *device, struct accel_error *error)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkResult result = device->call.CreatePipelineCache(device->handle, &info, NULL, &device->cache);

    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkCreatePipelineCache", error);
}

/* ---- opening ---- */

static int32_t find(struct gpu_device *device, const char *id, struct accel_error *error)
{
    struct vulkan_physical *list = calloc(VULKAN_MOST_DEVICES, sizeof(*list));
    const struct vulkan_physical *found = NULL;
    uint32_t count = 0;
    int32_t code;

    if (list == NULL)
        return sdk_error(error, ACCEL_E_MEMORY, "no memory for a list of %u devices", VULKAN_MOST_DEVICES);
    code = vulkan_physical_list(device->runtime, list, &count, error);
    for (uint32_t i = 0; i < count && found == NULL; i++)
        if (strcmp(list[i].id, id) == 0)
            found = &list[i];
    if (found != NULL)
        device->physical = *found;
    if (code == ACCEL_OK && found == NULL)
        code = sdk_error(error, ACCEL_E_NOT_FOUND, "Vulkan has no device %s now", id);
    else if (code == ACCEL_OK && found->refusal[0] != '\0')
        code = sdk_error(error, ACCEL_E_UNSUPPORTED, "%s: %s", found->properties.deviceName, found->refusal);
    free(list);
    return code;
}

/* The option that makes any device a poor one, so that the kernels without features run everywhere. */
static void clear_features(struct vulkan_physical *physical)
{
    struct vulkan_features cleared = {
        .timeline_core = physical->features.timeline_core,
        .timeline = true,
        .memory_budget = physical->features.memory_budget,
        .pci_bus = physical->features.pci_bus,
        .driver_properties = physical->features.driver_properties,
    };

    physical->features = cleared;
    physical->matrix[0] = 0;
}

static int32_t build(struct gpu_device *device, const char *id, const struct accel_setting *settings,
                     uint32_t setting_count, struct accel_error *error)
{
    const struct accel_setting *validation = sdk_setting(settings, setting_count, "validation");
    const struct accel_setting *features = sdk_setting(settings, setting_count, "features");
    int32_t code = create_locks(device, error);

    device->validate = validation != NULL && validation->integer != 0;
    if (code == ACCEL_OK && device->validate) {
        code = vulkan_runtime_open(device->host, true, &device->own, error);
        device->runtime = &device->own;
    }
    if (code == ACCEL_OK)
        code = find(device, id, error);
    if (code == ACCEL_OK && features != NULL && strcmp(features->text, "none") == 0)
        clear_features(&device->physical);
    if (code == ACCEL_OK)
        code = create_device(device, error);
    if (code == ACCEL_OK)
        code = choose_memory(device, error);
    if (code == ACCEL_OK)
        code = create_cache(device, error);
    vulkan_limits(&device->physical, &device->limits);
    for (uint32_t i = 1; i <= device->limits.bindings && code == ACCEL_OK; i++)
        code = create_layout(device, i, &device->layouts[i], error);
    if (code != ACCEL_OK)
        return code;
    return gpu_limits_choose(&device->limits, settings, setting_count, error);
}

int32_t vulkan_open(struct gpu_runtime *runtime, const char *id, const struct accel_setting *settings,
                    uint32_t setting_count, struct gpu_device **out_device, struct gpu_limits *out_limits,
                    struct accel_error *error)
{
    struct gpu_device *device;
    void *memory = NULL;
    int32_t code;

    *out_device = NULL;
    code = runtime->host->allocate(runtime->host, ACCEL_MEMORY_HOST, sizeof(*device), 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    device = memory;
    device->host = runtime->host;
    device->runtime = runtime;
    code = build(device, id, settings, setting_count, error);
    if (code != ACCEL_OK) {
        vulkan_close(device);
        return code;
    }
    *out_limits = device->limits;
    sdk_log(device->host, ACCEL_LOG_INFO, "driver=vulkan device=%s name=\"%s\" validation=%d", id,
            device->physical.properties.deviceName, device->validate);
    *out_device = device;
    return ACCEL_OK;
}

void vulkan_close(struct gpu_device *device)
{
    for (uint32_t i = 0; i <= GPU_BINDINGS; i++) {
        if (device->layouts[i].pipeline != VK_NULL_HANDLE)
            device->call.DestroyPipelineLayout(device->handle, device->layouts[i].pipeline, NULL);
        if (device->layouts[i].bindings != VK_NULL_HANDLE)
            device->call.DestroyDescriptorSetLayout(device->handle, device->layouts[i].bindings, NULL);
    }
    if (device->cache != VK_NULL_HANDLE)
        device->call.DestroyPipelineCache(device->handle, device->cache, NULL);
    if (device->handle != NULL && device->call.DestroyDevice != NULL)
        device->call.DestroyDevice(device->handle, NULL);
    vulkan_runtime_close(&device->own);
    if (device->locks) {
        pthread_mutex_destroy(&device->submit_lock);
        pthread_mutex_destroy(&device->memory_lock);
        pthread_rwlock_destroy(&device->cache_lock);
    }
    device->host->release(device->host, device);
}

void vulkan_fingerprint(const struct gpu_device *device, uint8_t out_fingerprint[16])
{
    const struct vulkan_physical *physical = &device->physical;
    const VkPhysicalDeviceProperties *properties = &physical->properties;

    memset(out_fingerprint, 0, 16);
    gpu_mix(out_fingerprint, VULKAN_DRIVER_VERSION, sizeof(VULKAN_DRIVER_VERSION));
    gpu_mix(out_fingerprint, physical->identity.driverUUID, VK_UUID_SIZE);
    gpu_mix(out_fingerprint, physical->identity.deviceUUID, VK_UUID_SIZE);
    gpu_mix(out_fingerprint, properties->pipelineCacheUUID, VK_UUID_SIZE);
    gpu_mix(out_fingerprint, &properties->driverVersion, sizeof(properties->driverVersion));
    gpu_mix(out_fingerprint, &properties->vendorID, sizeof(properties->vendorID));
    gpu_mix(out_fingerprint, &properties->deviceID, sizeof(properties->deviceID));
    gpu_mix(out_fingerprint, &device->limits.features, sizeof(device->limits.features));
}
