/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of a queue: one block shared by all its sets, since its steps do not overlap. A set records the address,
 * so a block never grows; a set that needs more allocates a new block, which later sets share, and the old block
 * is freed with its last set. A caller that creates the largest set first has one block. */
#include "config.h"

#include "core/runtime/device.h"
#include "core/runtime/queue.h"

static void scratch_destroy(struct accel_object *object)
{
    struct accel_scratch *scratch = (struct accel_scratch *)object;
    if (scratch->handle != NULL)
        ACCEL_FREE_HANDLE(scratch->device, scratch->handle, "free of a buffer");
    accel_memory_free(&object->context->memory, scratch->address);
    accel_object_release(&scratch->device->object);
}

int32_t accel_queue_scratch(struct accel_queue *queue, uint64_t bytes, uint64_t alignment,
                            struct accel_scratch **out_scratch, struct accel_error *error)
{
    struct accel_object *object;
    struct accel_scratch *scratch = queue->scratch;
    int32_t code;
    *out_scratch = NULL;
    if (bytes == 0)
        return ACCEL_OK;
    if (alignment < 64)
        alignment = 64;
    if (scratch != NULL && bytes <= scratch->bytes && alignment <= scratch->alignment) {
        accel_object_retain(&scratch->object);
        *out_scratch = scratch;
        return ACCEL_OK;
    }
    code = accel_object_create(queue->object.context, sizeof(*scratch), scratch_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    scratch = (struct accel_scratch *)object;
    scratch->device = queue->device;
    scratch->bytes = bytes;
    scratch->alignment = alignment;
    accel_object_retain(&queue->device->object);
    code = ACCEL_CAN(scratch->device->handle->table, buffer_create)
               ? accel_device_make_buffer(scratch->device, bytes, 0, ACCEL_MEMORY_SCRATCH, &scratch->handle, error)
               : accel_memory_allocate(&object->context->memory, ACCEL_MEMORY_SCRATCH, bytes, alignment,
                                       &scratch->address, error);
    if (code != ACCEL_OK) {
        accel_object_release(object);
        return code;
    }
    accel_object_release(queue->scratch == NULL ? NULL : &queue->scratch->object);
    queue->scratch = scratch;
    accel_object_retain(object);
    *out_scratch = scratch;
    return ACCEL_OK;
}
