/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of launches: descriptor sets are written once; the command buffer is recorded again when words or groups
 * change. Each command buffer of this driver ends with a barrier for later commands of the queue and for the host, so
 * that none needs one at its beginning.
 */
#include "plugins/vulkan/vulkan.h"

void vulkan_barrier_all(const struct gpu_device *device, VkCommandBuffer buffer)
{
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                         VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT,
    };

    device->call.CmdPipelineBarrier(buffer, work, work | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void barrier_between(const struct gpu_device *device, VkCommandBuffer buffer)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };

    device->call.CmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                    0, 1, &barrier, 0, NULL, 0, NULL);
}

/* The bound pipeline and sets, to skip redundant binds. */
struct bound {
    const struct gpu_pipeline *pipeline;
    bool written; /**< launches since the last barrier may have written */
};

static void record(const struct gpu_list *list, uint32_t index, struct bound *bound)
{
    const struct gpu_dispatch *dispatch = &list->dispatches[index];
    const struct gpu_pipeline *pipeline = dispatch->pipeline;
    const struct vulkan_device_functions *call = &list->device->call;

    if (dispatch->barrier != 0 && bound->written) {
        barrier_between(list->device, list->buffer);
        bound->written = false;
    }
    if (dispatch->groups[0] == 0 || dispatch->groups[1] == 0 || dispatch->groups[2] == 0)
        return;
    if (pipeline != bound->pipeline)
        call->CmdBindPipeline(list->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
    call->CmdBindDescriptorSets(list->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout->pipeline, 0, 1,
                                &list->sets[index], 0, NULL);
    if (dispatch->word_count > 0)
        call->CmdPushConstants(list->buffer, pipeline->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               dispatch->word_count * (uint32_t)sizeof(uint32_t), dispatch->words);
    call->CmdDispatch(list->buffer, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
    bound->pipeline = pipeline;
    bound->written = true;
}

int32_t vulkan_list_record(struct gpu_list *list, struct accel_error *error)
{
    struct gpu_device *device = list->device;
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
    };
    struct bound bound = {NULL, false};
    VkResult result = device->call.ResetCommandPool(device->handle, list->commands, 0);

    if (result == VK_SUCCESS)
        result = device->call.BeginCommandBuffer(list->buffer, &info);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkBeginCommandBuffer", error);
    for (uint32_t i = 0; i < list->count; i++)
        record(list, i, &bound);
    vulkan_barrier_all(device, list->buffer);
    result = device->call.EndCommandBuffer(list->buffer);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkEndCommandBuffer", error);
    return vulkan_validated(device, error);
}

static int32_t create_commands(struct gpu_list *list, struct accel_error *error)
{
    struct gpu_device *device = list->device;
    VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = device->physical.family,
    };
    VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    VkResult result = device->call.CreateCommandPool(device->handle, &info, NULL, &list->commands);

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkCreateCommandPool", error);
    one.commandPool = list->commands;
    result = device->call.AllocateCommandBuffers(device->handle, &one, &list->buffer);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkAllocateCommandBuffers", error);
}

static int32_t create_pool(struct gpu_list *list, struct accel_error *error)
{
    struct gpu_device *device = list->device;
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = list->count,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkResult result;

    for (uint32_t i = 0; i < list->count; i++)
        size.descriptorCount += list->dispatches[i].range_count;
    result = device->call.CreateDescriptorPool(device->handle, &info, NULL, &list->descriptors);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkCreateDescriptorPool", error);
}

static int32_t create_set(struct gpu_list *list, uint32_t index, struct accel_error *error)
{
    const struct gpu_dispatch *dispatch = &list->dispatches[index];
    struct gpu_device *device = list->device;
    VkDescriptorBufferInfo buffers[GPU_BINDINGS];
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = list->descriptors,
        .descriptorSetCount = 1,
        .pSetLayouts = &dispatch->pipeline->layout->bindings,
    };
    VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .descriptorCount = dispatch->range_count,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = buffers,
    };
    VkResult result = device->call.AllocateDescriptorSets(device->handle, &info, &list->sets[index]);

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkAllocateDescriptorSets", error);
    for (uint32_t i = 0; i < dispatch->range_count; i++)
        buffers[i] = (VkDescriptorBufferInfo){dispatch->ranges[i].memory->buffer, dispatch->ranges[i].offset,
                                              dispatch->ranges[i].bytes};
    write.dstSet = list->sets[index];
    device->call.UpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    return ACCEL_OK;
}

int32_t vulkan_list_create(struct gpu_device *device, const struct gpu_dispatch *dispatches, uint32_t count,
                           struct gpu_list **out_list, struct accel_error *error)
{
    uint64_t head = (sizeof(struct gpu_list) + 63u) & ~(uint64_t)63u;
    struct gpu_list *list;
    void *memory = NULL;
    int32_t code;

    *out_list = NULL;
    code = vulkan_allocate(device, ACCEL_MEMORY_PROGRAM, head + count * sizeof(VkDescriptorSet), &memory, error);
    if (code != ACCEL_OK)
        return code;
    list = memory;
    list->device = device;
    list->dispatches = dispatches;
    list->count = count;
    list->sets = (VkDescriptorSet *)((char *)memory + head);
    code = create_commands(list, error);
    if (code == ACCEL_OK && count > 0)
        code = create_pool(list, error);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        code = create_set(list, i, error);
    if (code == ACCEL_OK)
        code = vulkan_list_record(list, error);
    if (code != ACCEL_OK) {
        vulkan_list_free(list);
        return code;
    }
    *out_list = list;
    return ACCEL_OK;
}

void vulkan_list_free(struct gpu_list *list)
{
    struct gpu_device *device = list->device;

    if (list->commands != VK_NULL_HANDLE)
        device->call.DestroyCommandPool(device->handle, list->commands, NULL);
    if (list->descriptors != VK_NULL_HANDLE)
        device->call.DestroyDescriptorPool(device->handle, list->descriptors, NULL);
    device->host->release(device->host, list);
}
