/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory. Drivers limit the number of allocations (4096 is common), so small buffers share blocks; a large
 * buffer has a dedicated one. A block lists its parts by offset, and a new part goes into the first gap (first fit).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "plugins/vulkan/vulkan.h"

#define LARGE_BYTES ((uint64_t)2 << 20)

struct vulkan_block {
    struct vulkan_block *next;
    struct gpu_memory *first; /**< by place */
    VkDeviceMemory memory;
    uint64_t bytes;
    char *host;
    uint32_t kind;
    uint32_t dedicated; /**< 1: made for one part */
};

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

static void block_free(struct gpu_device *device, struct vulkan_block *block)
{
    if (block->memory != VK_NULL_HANDLE) {
        device->call.FreeMemory(device->handle, block->memory, NULL); /* unmaps it too */
        atomic_fetch_sub(&device->used, block->bytes);
    }
    free(block);
}

static int32_t no_memory(struct gpu_device *device, VkResult result, uint64_t bytes, struct accel_error *error)
{
    struct accel_memory_now now = {0, 0};

    if (result == VK_ERROR_DEVICE_LOST)
        return vulkan_failed(device, result, "vkAllocateMemory", error);
    vulkan_memory_now(device, &now, NULL);
    if (error != NULL && error->code == ACCEL_OK) {
        error->native = result;
        error->heap = 0;
        error->asked = bytes;
        error->free = now.free;
    }
    return sdk_error(error, ACCEL_E_MEMORY, "%s: no %" PRIu64 " bytes of device memory, about %" PRIu64 " are free",
                     device->physical.properties.deviceName, bytes, now.free);
}

static int32_t block_create(struct gpu_device *device, uint64_t bytes, uint32_t kind, bool dedicated,
                            struct vulkan_block **out_block, struct accel_error *error)
{
    uint32_t type = device->memory_type[kind];
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = bytes,
        .memoryTypeIndex = type,
    };
    struct vulkan_block *block = calloc(1, sizeof(*block));
    void *mapped = NULL;
    VkResult result;

    *out_block = NULL;
    if (block == NULL)
        return sdk_error(error, ACCEL_E_MEMORY, "no host memory for a block of device memory");
    result = device->call.AllocateMemory(device->handle, &info, NULL, &block->memory);
    if (result != VK_SUCCESS) {
        free(block);
        return no_memory(device, result, bytes, error);
    }
    atomic_fetch_add(&device->used, bytes);
    block->bytes = bytes;
    block->kind = kind;
    block->dedicated = dedicated;
    if ((device->physical.memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0)
        result = device->call.MapMemory(device->handle, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    if (result != VK_SUCCESS) {
        block_free(device, block);
        return vulkan_failed(device, result, "vkMapMemory", error);
    }
    block->host = mapped;
    *out_block = block;
    return ACCEL_OK;
}

/* Puts the part into the first gap of the block that is large enough. */
static bool place_in(struct vulkan_block *block, struct gpu_memory *memory, uint64_t alignment)
{
    struct gpu_memory **at = &block->first;
    uint64_t place = 0;

    while (*at != NULL && (*at)->place < place + memory->size) {
        place = align_up((*at)->place + (*at)->size, alignment);
        at = &(*at)->next;
    }
    if (place + memory->size > block->bytes)
        return false;
    memory->block = block;
    memory->place = place;
    memory->next = *at;
    *at = memory;
    return true;
}

/* Finds or makes a block for the part. The lock is held. */
static int32_t place(struct gpu_device *device, struct gpu_memory *memory, uint32_t kind, uint64_t alignment,
                     struct accel_error *error)
{
    bool dedicated = memory->size > LARGE_BYTES;
    struct vulkan_block *block;
    int32_t code;

    for (block = device->blocks; block != NULL && !dedicated; block = block->next)
        if (block->kind == kind && block->dedicated == 0 && place_in(block, memory, alignment))
            return ACCEL_OK;
    code = block_create(device, dedicated ? memory->size : VULKAN_BLOCK_BYTES, kind, dedicated, &block, error);
    if (code != ACCEL_OK)
        return code;
    block->next = device->blocks;
    device->blocks = block;
    return place_in(block, memory, alignment) ? ACCEL_OK
                                              : sdk_error(error, ACCEL_E_INTERNAL, "an empty block is too small");
}

static void unplace(struct gpu_device *device, struct gpu_memory *memory)
{
    struct vulkan_block *block = memory->block;
    struct gpu_memory **part = &block->first;
    struct vulkan_block **at = &device->blocks;

    while (*part != memory)
        part = &(*part)->next;
    *part = memory->next;
    if (block->first != NULL)
        return;
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    block_free(device, block);
}

static VkResult make_buffer(struct gpu_device *device, uint64_t bytes, VkBuffer *out_buffer,
                            VkMemoryRequirements *out_needs)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = bytes,
        .usage = VULKAN_BUFFER_USAGE,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    VkResult result = device->call.CreateBuffer(device->handle, &info, NULL, out_buffer);

    if (result == VK_SUCCESS)
        device->call.GetBufferMemoryRequirements(device->handle, *out_buffer, out_needs);
    return result;
}

/* Gives the buffer its part of a block. */
static int32_t back(struct gpu_device *device, struct gpu_memory *memory, uint32_t kind,
                    const VkMemoryRequirements *needs, struct accel_error *error)
{
    VkResult result;
    int32_t code;

    memory->size = needs->size;
    pthread_mutex_lock(&device->memory_lock);
    code = place(device, memory, kind, needs->alignment, error);
    pthread_mutex_unlock(&device->memory_lock);
    if (code != ACCEL_OK)
        return code;
    result = device->call.BindBufferMemory(device->handle, memory->buffer, memory->block->memory, memory->place);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkBindBufferMemory", error);
    if (memory->block->host != NULL)
        memory->host = memory->block->host + memory->place;
    return ACCEL_OK;
}

int32_t vulkan_memory_create(struct gpu_device *device, uint64_t bytes, uint32_t kind, struct gpu_memory **out_memory,
                             struct accel_error *error)
{
    VkMemoryRequirements needs = {0, 0, 0};
    struct gpu_memory *memory;
    void *taken = NULL;
    VkResult result;
    int32_t code;

    *out_memory = NULL;
    if (bytes > device->physical.largest_buffer)
        return no_memory(device, VK_ERROR_OUT_OF_DEVICE_MEMORY, bytes, error);
    code = vulkan_allocate(device, ACCEL_MEMORY_HOST, sizeof(*memory), &taken, error);
    if (code != ACCEL_OK)
        return code;
    memory = taken;
    result = make_buffer(device, bytes, &memory->buffer, &needs);
    code = result == VK_SUCCESS ? back(device, memory, kind, &needs, error)
                                : vulkan_failed(device, result, "vkCreateBuffer", error);
    if (code != ACCEL_OK) {
        vulkan_memory_free(device, memory);
        return code;
    }
    *out_memory = memory;
    return ACCEL_OK;
}

void vulkan_memory_free(struct gpu_device *device, struct gpu_memory *memory)
{
    if (memory == NULL)
        return;
    if (memory->buffer != VK_NULL_HANDLE)
        device->call.DestroyBuffer(device->handle, memory->buffer, NULL);
    if (memory->block != NULL) {
        pthread_mutex_lock(&device->memory_lock);
        unplace(device, memory);
        pthread_mutex_unlock(&device->memory_lock);
    }
    device->host->release(device->host, memory);
}

void *vulkan_memory_address(struct gpu_memory *memory)
{
    return memory->host;
}

int32_t vulkan_memory_now(struct gpu_device *device, struct accel_memory_now *out_memory, struct accel_error *error)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 now = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                             .pNext = &budget};
    uint32_t heap = device->physical.memory.memoryTypes[device->memory_type[GPU_MEMORY_DEVICE]].heapIndex;
    uint64_t used = atomic_load(&device->used);
    uint64_t limit = device->physical.memory.memoryHeaps[heap].size;

    (void)error;
    out_memory->total = limit;
    if (device->physical.features.memory_budget) {
        device->runtime->call.GetPhysicalDeviceMemoryProperties2(device->physical.handle, &now);
        limit = budget.heapBudget[heap];
        used = budget.heapUsage[heap];
    }
    out_memory->free = limit > used ? limit - used : 0;
    return ACCEL_OK;
}
