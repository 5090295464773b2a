/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines and the pipeline cache. Several threads create pipelines at the same time. */
#include <string.h>

#include "plugins/vulkan/vulkan.h"

/* Returns the subgroup size to require: the kernel's, or the device's default, so that it does not vary; 0: none. */
static int32_t choose_subgroup(const struct gpu_device *device, const struct gpu_key *key, uint32_t *out_size,
                               struct accel_error *error)
{
    const struct vulkan_physical *physical = &device->physical;
    uint32_t usual = physical->subgroup.subgroupSize;
    uint32_t wanted = key->subgroup != 0 ? key->subgroup : usual;
    bool control = physical->features.subgroup_control && wanted >= physical->subgroup_sizes.minSubgroupSize &&
                   wanted <= physical->subgroup_sizes.maxSubgroupSize;

    *out_size = control ? wanted : 0;
    if (wanted != usual && !control)
        return sdk_error(error, ACCEL_E_REFUSED, "%s: kernel %s needs subgroups of %u, the device has %u",
                         physical->properties.deviceName, key->source->name, wanted, usual);
    return ACCEL_OK;
}

static VkResult create(struct gpu_device *device, const struct gpu_key *key, uint32_t subgroup, VkShaderModule module,
                       struct gpu_pipeline *pipeline)
{
    VkSpecializationMapEntry entries[GPU_CONSTANTS];
    VkSpecializationInfo constants = {
        .mapEntryCount = key->constant_count,
        .pMapEntries = entries,
        .dataSize = key->constant_count * sizeof(uint32_t),
        .pData = key->constants,
    };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = subgroup,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = subgroup != 0 ? &size : NULL,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = pipeline->layout->pipeline,
    };
    VkResult result;

    for (uint32_t i = 0; i < key->constant_count; i++)
        entries[i] = (VkSpecializationMapEntry){i, i * (uint32_t)sizeof(uint32_t), sizeof(uint32_t)};
    if (subgroup != 0 && device->physical.features.full_subgroups && key->constants[0] % subgroup == 0)
        info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    pthread_rwlock_rdlock(&device->cache_lock);
    result = device->call.CreateComputePipelines(device->handle, device->cache, 1, &info, NULL, &pipeline->handle);
    pthread_rwlock_unlock(&device->cache_lock);
    return result;
}

static int32_t compile(struct gpu_device *device, const struct gpu_key *key, struct gpu_pipeline *pipeline,
                       struct accel_error *error)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = key->source->bytes,
        .pCode = key->source->code,
    };
    VkShaderModule module;
    uint32_t subgroup = 0;
    VkResult result;
    int32_t code = choose_subgroup(device, key, &subgroup, error);

    if (code != ACCEL_OK)
        return code;
    result = device->call.CreateShaderModule(device->handle, &info, NULL, &module);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkCreateShaderModule", error);
    result = create(device, key, subgroup, module, pipeline);
    device->call.DestroyShaderModule(device->handle, module, NULL);
    if (result == VK_SUCCESS)
        return vulkan_validated(device, error);
    if (result == VK_ERROR_DEVICE_LOST || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
        result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return vulkan_failed(device, result, "vkCreateComputePipelines", error);
    if (error != NULL && error->code == ACCEL_OK)
        error->native = result;
    return sdk_error(error, ACCEL_E_REFUSED, "%s: the driver does not compile kernel %s: VkResult %d",
                     device->physical.properties.deviceName, key->source->name, result);
}

int32_t vulkan_pipeline_create(struct gpu_device *device, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                               struct accel_error *error)
{
    struct gpu_pipeline *pipeline;
    void *memory = NULL;
    int32_t code;

    *out_pipeline = NULL;
    code = vulkan_allocate(device, ACCEL_MEMORY_PROGRAM, sizeof(*pipeline), &memory, error);
    if (code != ACCEL_OK)
        return code;
    pipeline = memory;
    pipeline->layout = &device->layouts[key->bindings];
    code = compile(device, key, pipeline, error);
    if (code != ACCEL_OK) {
        vulkan_pipeline_free(device, pipeline);
        return code;
    }
    *out_pipeline = pipeline;
    return ACCEL_OK;
}

void vulkan_pipeline_free(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    device->call.DestroyPipeline(device->handle, pipeline->handle, NULL);
    device->host->release(device->host, pipeline);
}

/* ---- cache ---- */

/* Compares the cache header here, since some drivers do not validate it. */
static bool is_ours(const struct gpu_device *device, const void *bytes, uint64_t count)
{
    const VkPhysicalDeviceProperties *properties = &device->physical.properties;
    VkPipelineCacheHeaderVersionOne header;

    if (count < sizeof(header))
        return false;
    memcpy(&header, bytes, sizeof(header));
    return header.headerSize >= sizeof(header) && header.headerSize <= count &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == properties->vendorID &&
           header.deviceID == properties->deviceID &&
           memcmp(header.pipelineCacheUUID, properties->pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

/* A cache of these bytes, beside the device's own. VK_NULL_HANDLE: they are no use. */
static VkPipelineCache cache_of(const struct gpu_device *device, const void *bytes, uint64_t count,
                                VkResult *out_result)
{
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = count,
        .pInitialData = bytes,
    };
    VkPipelineCache made = VK_NULL_HANDLE;

    *out_result = device->call.CreatePipelineCache(device->handle, &info, NULL, &made);
    return *out_result == VK_SUCCESS ? made : VK_NULL_HANDLE;
}

static int32_t write_cache(struct gpu_device *device, VkPipelineCache cache, const struct accel_blob_writer *writer,
                           struct accel_error *error)
{
    void *bytes = NULL;
    size_t count = 0;
    VkResult result = device->call.GetPipelineCacheData(device->handle, cache, &count, NULL);
    int32_t code;

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkGetPipelineCacheData", error);
    /* The driver truncates a larger cache to the plan's bound. */
    count = count < VULKAN_CACHE_BYTES ? count : VULKAN_CACHE_BYTES;
    code = vulkan_allocate(device, ACCEL_MEMORY_HOST, count > 0 ? count : 1, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    /* Other threads may have added to it meanwhile: then the driver truncates it, which is valid too. */
    result = device->call.GetPipelineCacheData(device->handle, cache, &count, bytes);
    code = result == VK_SUCCESS || result == VK_INCOMPLETE
               ? writer->write(writer, bytes, count, error)
               : vulkan_failed(device, result, "vkGetPipelineCacheData", error);
    device->host->release(device->host, bytes);
    return code;
}

/* Merges `others` and the device's cache into a third cache, so that compiling threads do not wait. */
int32_t vulkan_cache_write(struct gpu_device *device, const void *others, uint64_t count,
                           const struct accel_blob_writer *writer, struct accel_error *error)
{
    VkPipelineCache both = VK_NULL_HANDLE;
    VkResult result = VK_SUCCESS;
    int32_t code;

    if (count != 0 && is_ours(device, others, count))
        both = cache_of(device, others, count, &result);
    if (both != VK_NULL_HANDLE)
        result = device->call.MergePipelineCaches(device->handle, both, 1, &device->cache);
    code = write_cache(device, both != VK_NULL_HANDLE && result == VK_SUCCESS ? both : device->cache, writer, error);
    if (both != VK_NULL_HANDLE)
        device->call.DestroyPipelineCache(device->handle, both, NULL);
    return code;
}

int32_t vulkan_cache_read(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error)
{
    VkPipelineCache read;
    VkResult result;

    if (!is_ours(device, bytes, count))
        return sdk_error(error, ACCEL_E_MISS, "the cached pipelines are of another driver or device");
    read = cache_of(device, bytes, count, &result);
    if (read == VK_NULL_HANDLE)
        return sdk_error(error, ACCEL_E_MISS, "the driver rejects the cached pipelines: VkResult %d", result);
    pthread_rwlock_wrlock(&device->cache_lock);
    result = device->call.MergePipelineCaches(device->handle, device->cache, 1, &read);
    pthread_rwlock_unlock(&device->cache_lock);
    device->call.DestroyPipelineCache(device->handle, read, NULL);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkMergePipelineCaches", error);
}
