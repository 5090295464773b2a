/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/runtime/object.h"

int32_t accel_object_create(struct accel_context *context, size_t bytes, void (*destroy)(struct accel_object *object),
                            struct accel_object **out_object, struct accel_error *error)
{
    struct accel_object *object;
    void *block;
    int32_t code = accel_memory_allocate(&context->memory, ACCEL_MEMORY_HOST, bytes, 0, &block, error);
    *out_object = NULL;
    if (code != ACCEL_OK)
        return code;
    object = block;
    atomic_init(&object->references, 1);
    object->context = context;
    object->destroy = destroy;
    *out_object = object;
    atomic_fetch_add_explicit(&context->children, 1, memory_order_relaxed);
    return ACCEL_OK;
}

void accel_object_retain(struct accel_object *object)
{
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}

void accel_object_release(struct accel_object *object)
{
    struct accel_context *context;
    if (object == NULL || atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1)
        return;
    context = object->context;
    object->destroy(object);
    accel_memory_free(&context->memory, object);
    atomic_fetch_sub_explicit(&context->children, 1, memory_order_release);
}

struct accel_object *accel_object_finish(struct accel_object *object, int32_t code)
{
    if (code == ACCEL_OK)
        return object;
    accel_object_release(object);
    return NULL;
}

void accel_object_drop(struct accel_object *object)
{
    if (object != NULL && !accel_fork_guard_is_child(&object->context->fork))
        accel_object_release(object);
}

void *accel_object_array(const struct accel_object *object, uint64_t count, size_t bytes, struct accel_error *error)
{
    void *block = NULL;
    accel_memory_allocate(&object->context->memory, ACCEL_MEMORY_HOST, count * bytes, 0, &block, error);
    return block;
}
