/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues: a timeline semaphore each over the one queue of Vulkan. A submit is one vkQueueSubmit of command buffers:
 * those of lists as they were recorded, and between them short ones with the copies, from the pool of a slot of a ring.
 * A slot is used again when its submit is done.
 */
#include <inttypes.h>

#include "plugins/vulkan/vulkan.h"

/* ---- creation ---- */

static int32_t create_semaphore(struct gpu_queue *queue, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult result = device->call.CreateSemaphore(device->handle, &info, NULL, &queue->timeline);

    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkCreateSemaphore", error);
}

/* Adds a command buffer to the slot's pool. Slots start with one; only a submit that copies between lists needs more.
 */
static int32_t grow(struct gpu_queue *queue, struct vulkan_slot *slot, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = slot->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    VkResult result = device->call.AllocateCommandBuffers(device->handle, &info, &slot->buffers[slot->made]);

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkAllocateCommandBuffers", error);
    slot->made++;
    return ACCEL_OK;
}

static int32_t create_slot(struct gpu_queue *queue, struct vulkan_slot *slot, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = device->physical.family,
    };
    VkResult result = device->call.CreateCommandPool(device->handle, &info, NULL, &slot->pool);

    return result == VK_SUCCESS ? grow(queue, slot, error)
                                : vulkan_failed(device, result, "vkCreateCommandPool", error);
}

int32_t vulkan_queue_create(struct gpu_device *device, struct gpu_queue **out_queue, struct accel_error *error)
{
    struct gpu_queue *queue;
    void *memory = NULL;
    int32_t code;

    *out_queue = NULL;
    code = vulkan_allocate(device, ACCEL_MEMORY_PROGRAM, sizeof(*queue), &memory, error);
    if (code != ACCEL_OK)
        return code;
    queue = memory;
    queue->device = device;
    code = create_semaphore(queue, error);
    for (uint32_t i = 0; i < VULKAN_IN_FLIGHT && code == ACCEL_OK; i++)
        code = create_slot(queue, &queue->slots[i], error);
    if (code != ACCEL_OK) {
        vulkan_queue_free(queue);
        return code;
    }
    *out_queue = queue;
    return ACCEL_OK;
}

void vulkan_queue_free(struct gpu_queue *queue)
{
    struct gpu_device *device = queue->device;

    for (uint32_t i = 0; i < VULKAN_IN_FLIGHT; i++)
        if (queue->slots[i].pool != VK_NULL_HANDLE)
            device->call.DestroyCommandPool(device->handle, queue->slots[i].pool, NULL);
    if (queue->timeline != VK_NULL_HANDLE)
        device->call.DestroySemaphore(device->handle, queue->timeline, NULL);
    device->host->release(device->host, queue);
}

/* ---- recording ---- */

static int32_t begin(struct gpu_queue *queue, struct vulkan_slot *slot, VkCommandBuffer *out_buffer,
                     struct accel_error *error)
{
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult result;
    int32_t code = ACCEL_OK;

    if (slot->used == slot->made)
        code = grow(queue, slot, error);
    if (code != ACCEL_OK)
        return code;
    *out_buffer = slot->buffers[slot->used++];
    result = queue->device->call.BeginCommandBuffer(*out_buffer, &info);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(queue->device, result, "vkBeginCommandBuffer", error);
}

static int32_t end(struct gpu_queue *queue, VkCommandBuffer buffer, struct accel_error *error)
{
    VkResult result = queue->device->call.EndCommandBuffer(buffer);

    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(queue->device, result, "vkEndCommandBuffer", error);
}

static void record(const struct gpu_queue *queue, const struct gpu_operation *operation, VkCommandBuffer buffer)
{
    const struct vulkan_device_functions *call = &queue->device->call;
    VkBufferCopy region = {operation->source_offset, operation->target_offset, operation->bytes};

    if (operation->bytes == 0)
        return;
    if (operation->kind == GPU_COPY)
        call->CmdCopyBuffer(buffer, operation->source->buffer, operation->target->buffer, 1, &region);
    else
        call->CmdFillBuffer(buffer, operation->target->buffer, operation->target_offset, operation->bytes,
                            (operation->fill & 0xffu) * 0x01010101u);
    vulkan_barrier_all(queue->device, buffer);
}

/* Puts together the command buffers of a submit: one for each run of copies, those of lists between them. */
static int32_t gather(struct gpu_queue *queue, struct vulkan_slot *slot, const struct gpu_operation *operations,
                      uint32_t count, uint32_t *out_count, struct accel_error *error)
{
    VkCommandBuffer open = NULL;
    uint32_t buffers = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        if (operations[i].kind == GPU_RUN) {
            if (open != NULL)
                code = end(queue, open, error);
            open = NULL;
            queue->list[buffers++] = operations[i].list->buffer;
            continue;
        }
        if (open == NULL) {
            code = begin(queue, slot, &open, error);
            queue->list[buffers++] = open;
        }
        if (code == ACCEL_OK)
            record(queue, &operations[i], open);
    }
    if (open != NULL && code == ACCEL_OK)
        code = end(queue, open, error);
    *out_count = buffers;
    return code;
}

/* ---- submitting ---- */

static int32_t lost(const struct gpu_device *device, struct accel_error *error)
{
    if (error != NULL && error->code == ACCEL_OK)
        error->native = VK_ERROR_DEVICE_LOST;
    sdk_error(error, ACCEL_E_DEVICE_LOST, "%s was lost: VK_ERROR_DEVICE_LOST (%d)",
              device->physical.properties.deviceName, VK_ERROR_DEVICE_LOST);
    sdk_remedy(error, "look for a reset of the GPU in the kernel's log, then open the device again");
    return ACCEL_E_DEVICE_LOST;
}

/* The next slot of the ring, when its last submit is done. */
static int32_t acquire_slot(struct gpu_queue *queue, struct vulkan_slot **out_slot, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    struct vulkan_slot *slot = &queue->slots[queue->next];
    uint64_t done = 0;
    VkResult result = device->call.GetSemaphoreCounterValue(device->handle, queue->timeline, &done);

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkGetSemaphoreCounterValue", error);
    if (slot->value > done)
        return sdk_error(error, ACCEL_E_AGAIN, "%u submits are in flight", VULKAN_IN_FLIGHT);
    if (slot->used > 0)
        result = device->call.ResetCommandPool(device->handle, slot->pool, 0);
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkResetCommandPool", error);
    slot->used = 0;
    *out_slot = slot;
    return ACCEL_OK;
}

static int32_t start(struct gpu_queue *queue, uint32_t buffers, const struct gpu_point *waits, uint32_t wait_count,
                     uint64_t value, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    VkSemaphore semaphores[GPU_WAITS];
    VkPipelineStageFlags stages[GPU_WAITS];
    uint64_t values[GPU_WAITS];
    VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = wait_count,
        .pWaitSemaphoreValues = values,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &timeline,
        .waitSemaphoreCount = wait_count,
        .pWaitSemaphores = semaphores,
        .pWaitDstStageMask = stages,
        .commandBufferCount = buffers,
        .pCommandBuffers = queue->list,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &queue->timeline,
    };
    VkResult result;

    for (uint32_t i = 0; i < wait_count; i++) {
        semaphores[i] = waits[i].queue->timeline;
        values[i] = waits[i].value;
        stages[i] = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    }
    pthread_mutex_lock(&device->submit_lock);
    result = device->call.QueueSubmit(device->queue, 1, &info, VK_NULL_HANDLE);
    pthread_mutex_unlock(&device->submit_lock);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_failed(device, result, "vkQueueSubmit", error);
}

int32_t vulkan_submit(struct gpu_queue *queue, const struct gpu_operation *operations, uint32_t count,
                      const struct gpu_point *waits, uint32_t wait_count, uint64_t value, struct accel_error *error)
{
    struct vulkan_slot *slot = NULL;
    uint32_t buffers = 0;
    int32_t code;

    if (atomic_load(&queue->device->lost))
        return lost(queue->device, error);
    code = acquire_slot(queue, &slot, error);
    if (code == ACCEL_OK)
        code = gather(queue, slot, operations, count, &buffers, error);
    if (code == ACCEL_OK)
        code = start(queue, buffers, waits, wait_count, value, error);
    if (code != ACCEL_OK)
        return code;
    slot->value = value;
    queue->next = (queue->next + 1) % VULKAN_IN_FLIGHT;
    return vulkan_validated(queue->device, error);
}

/* ---- waiting ---- */

int32_t vulkan_completed(struct gpu_queue *queue, uint64_t *out_value, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    VkResult result = device->call.GetSemaphoreCounterValue(device->handle, queue->timeline, out_value);

    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkGetSemaphoreCounterValue", error);
    return atomic_load(&device->lost) ? lost(device, error) : vulkan_validated(device, error);
}

int32_t vulkan_wait(struct gpu_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    struct gpu_device *device = queue->device;
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &queue->timeline,
        .pValues = &value,
    };
    uint64_t timeout = UINT64_MAX;
    uint64_t now = 0;
    VkResult result;

    if (atomic_load(&device->lost))
        return lost(device, error);
    if (deadline != UINT64_MAX) {
        device->host->clock(device->host, &now);
        timeout = deadline > now ? deadline - now : 0;
    }
    result = device->call.WaitSemaphores(device->handle, &info, timeout);
    if (result == VK_TIMEOUT)
        return sdk_error(error, ACCEL_E_TIMEOUT, "value %" PRIu64 " was not reached in time", value);
    if (result == VK_ERROR_DEVICE_LOST) {
        atomic_store(&device->lost, true);
        return lost(device, error);
    }
    if (result != VK_SUCCESS)
        return vulkan_failed(device, result, "vkWaitSemaphores", error);
    return vulkan_validated(device, error);
}

int32_t vulkan_reset(struct gpu_queue *queue, struct accel_error *error)
{
    return atomic_load(&queue->device->lost) ? lost(queue->device, error) : ACCEL_OK;
}
