/* SPDX-License-Identifier: Apache-2.0 */
/* States: driver states, or one block of host memory for each part. */
#include "config.h"

#include <string.h>

#include "core/base/checked.h"
#include "core/boundary/import.h"
#include "core/graph/types.h"
#include "core/runtime/check.h"
#include "core/runtime/device.h"
#include "core/runtime/queue.h"

#define MOST_PARTS 65536u

static void state_destroy(struct accel_object *object)
{
    struct accel_state *state = (struct accel_state *)object;
    struct accel_memory *memory = &object->context->memory;
    if (state->handle != NULL)
        ACCEL_FREE_HANDLE(state->device, state->handle, "free of a state");
    for (uint32_t i = 0; state->memory != NULL && i < state->part_count; i++)
        accel_memory_free(memory, state->memory[i]);
    accel_memory_free(memory, state->parts);
    accel_memory_free(memory, state->row_bytes);
    accel_memory_free(memory, state->memory);
    accel_object_release(&state->device->object);
}

/* Computes the bytes of one slot of a part: the planes of its row, consecutive, so that one copy moves a slot.
 * Checks the size of the whole part too, so that later products of slots and rows cannot overflow. */
static int32_t row_of(const struct accel_state_part *part, uint64_t slots, uint64_t *out_bytes,
                      struct accel_error *error)
{
    struct accel_type_layout layout;
    uint64_t whole;
    if (part->zero != 0 || part->row == 0 || !accel_type_describe(part->type, &layout) ||
        part->row % layout.block_values != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "a part of a state has type 0x%x and rows of %llu elements",
                               part->type, (unsigned long long)part->row);
    if (!accel_type_bytes(&layout, 1, part->row, out_bytes) || !accel_mul_u64(*out_bytes, slots, &whole))
        return accel_error_set(error, ACCEL_E_LIMIT, "%llu slots of %llu elements do not fit",
                               (unsigned long long)slots, (unsigned long long)part->row);
    return ACCEL_OK;
}

static int32_t copy_parts(struct accel_state *state, const struct accel_state_part *parts, uint32_t count,
                          struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    state->parts = accel_object_array(&state->object, count, sizeof(*parts), error);
    state->row_bytes = accel_object_array(&state->object, count, sizeof(*state->row_bytes), error);
    if (state->parts == NULL || state->row_bytes == NULL)
        return ACCEL_E_MEMORY;
    memcpy(state->parts, parts, count * sizeof(*parts));
    for (uint32_t i = 0; code == ACCEL_OK && i < count; i++)
        code = row_of(&parts[i], state->slots, &state->row_bytes[i], error);
    state->part_count = count;
    return code;
}

static int32_t make_host_state(struct accel_state *state, struct accel_error *error)
{
    struct accel_memory *memory = &state->object.context->memory;
    int32_t code = ACCEL_OK;
    state->memory = accel_object_array(&state->object, state->part_count, sizeof(*state->memory), error);
    if (state->memory == NULL)
        return ACCEL_E_MEMORY;
    for (uint32_t i = 0; code == ACCEL_OK && i < state->part_count; i++)
        code = accel_memory_allocate(memory, ACCEL_MEMORY_STATE, state->row_bytes[i] * state->slots, 64,
                                     &state->memory[i], error);
    return code;
}

static int32_t make_driver_state(struct accel_state *state, struct accel_error *error)
{
    struct accel_device *device = state->device;
    struct accel_driver_state *handle = NULL;
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "state_create",
                  device->handle->table->state_create(device->handle, state->parts, state->part_count, state->slots,
                                                      &handle, error));
    code = accel_device_import_handle(device, code, handle, "state_create", error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_OWN_HANDLE(state->handle, handle);
    return accel_import_table(handle, ACCEL_TABLE_STATE, device->driver, error);
}

int32_t accel_state_create(struct accel_device *device, const struct accel_state_part *parts, uint32_t part_count,
                           uint64_t slots, struct accel_state **out_state, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_object *object;
    struct accel_state *state;
    int32_t code;
    if (out_state == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_state_create: out_state is NULL");
    *out_state = NULL;
    code = accel_check_alive(device, error);
    if (code != ACCEL_OK)
        return code;
    if (parts == NULL || part_count == 0 || part_count > MOST_PARTS || slots == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "a state needs 1 to %u parts and at least one slot", MOST_PARTS);
    code = accel_object_create(device->object.context, sizeof(*state), state_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    state = (struct accel_state *)object;
    state->device = device;
    state->slots = slots;
    accel_object_retain(&device->object);
    code = copy_parts(state, parts, part_count, error);
    if (code == ACCEL_OK)
        code = ACCEL_CAN(device->handle->table, state_create) ? make_driver_state(state, error)
                                                              : make_host_state(state, error);
    *out_state = (struct accel_state *)accel_object_finish(object, code);
    return code;
}

void accel_state_free(struct accel_state *state) ACCEL_NOEXCEPT
{
    accel_object_drop((struct accel_object *)state);
}

/* Source and target may overlap when a window of tokens moves down. */
static void apply_one(struct accel_state *state, const struct accel_state_change *change)
{
    for (uint32_t i = 0; i < state->part_count; i++) {
        char *memory = state->memory[i];
        uint64_t row = state->row_bytes[i];
        if (change->kind == ACCEL_STATE_RESET)
            memset(memory, 0, row * state->slots);
        else
            memmove(memory + change->to * row, memory + change->from * row, change->count * row);
    }
}

int32_t accel_state_apply(struct accel_state *state, const struct accel_state_change *changes, uint64_t count,
                          struct accel_error *error)
{
    if (state->memory == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "only the queue of the driver can change a driver state");
    for (uint64_t i = 0; i < count; i++)
        apply_one(state, &changes[i]);
    return ACCEL_OK;
}
