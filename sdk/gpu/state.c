/* SPDX-License-Identifier: Apache-2.0 */
/* States: parts of [slots, row] in few memories, and a bounce for copies that overlap themselves. */
#include "sdk/gpu/internal.h"

static int32_t state_free(struct accel_driver_state *base) ACCEL_NOEXCEPT
{
    struct gpu_state *state = (struct gpu_state *)base;
    struct gpu_device_state *gpu = state->gpu;

    gpu_arena_free(gpu, &state->arena);
    gpu_account(gpu, ACCEL_MEMORY_STATE, -(int64_t)state->counted, NULL);
    gpu_account(gpu, ACCEL_MEMORY_PROGRAM, -(int64_t)state->padding, NULL);
    gpu_memory_drop(gpu, ACCEL_MEMORY_PROGRAM, state->bounce_bytes, GPU_MEMORY_DEVICE, state->bounce);
    gpu_release(gpu, state);
    atomic_fetch_sub(&gpu->children, 1);
    return ACCEL_OK;
}

static const struct accel_state_table state_table = {.size = sizeof(state_table), .free = state_free};

/* Accounts the parts as state memory, since plans know them from their shapes, and the padding as program memory. */
static int32_t count(struct gpu_state *state, struct accel_error *error)
{
    uint64_t parts = 0, all = 0;
    int32_t code;

    for (uint32_t p = 0; p < state->part_count; p++)
        parts += state->parts[p].pitch * state->slots;
    for (uint32_t c = 0; c < state->arena.count; c++)
        all += state->arena.sizes[c];
    code = gpu_account(state->gpu, ACCEL_MEMORY_STATE, (int64_t)parts, error);
    if (code != ACCEL_OK)
        return code;
    state->counted = parts;
    code = gpu_account(state->gpu, ACCEL_MEMORY_PROGRAM, (int64_t)(all - parts), error);
    if (code == ACCEL_OK)
        state->padding = all - parts;
    return code;
}

static int32_t place_parts(struct gpu_state *state, const struct accel_state_part *parts, struct accel_error *error)
{
    struct gpu_device_state *gpu = state->gpu;
    uint64_t widest = 0, most = gpu_place_most(&gpu->limits);
    int32_t code = gpu_arena_init(gpu, &state->arena, 0, state->part_count, error);

    if (code != ACCEL_OK)
        return code;
    for (uint32_t p = 0; p < state->part_count; p++) {
        uint64_t pitch = gpu_state_pitch(parts[p].type, parts[p].row);

        if (pitch == 0 || state->slots > most / pitch)
            return sdk_error(error, ACCEL_E_LIMIT,
                             "part %u of a state has %llu slots of %llu bytes, one memory of the device holds %llu", p,
                             (unsigned long long)state->slots, (unsigned long long)pitch, (unsigned long long)most);
        widest = pitch > widest ? pitch : widest;
        state->parts[p].pitch = pitch;
        state->parts[p].place = gpu_arena_place(&state->arena, pitch * state->slots);
    }
    state->bounce_bytes = widest > GPU_BOUNCE_BYTES ? widest : GPU_BOUNCE_BYTES;
    if (state->bounce_bytes > widest * state->slots)
        state->bounce_bytes = widest * state->slots;
    code = count(state, error);
    if (code == ACCEL_OK)
        code = gpu_arena_fill(gpu, &state->arena, error);
    if (code == ACCEL_OK)
        code =
            gpu_memory_make(gpu, ACCEL_MEMORY_PROGRAM, state->bounce_bytes, GPU_MEMORY_DEVICE, &state->bounce, error);
    for (uint32_t c = 0; c < state->arena.count && code == ACCEL_OK; c++)
        code = gpu_transfer_clear(gpu, state->arena.chunks[c], 0, state->arena.sizes[c], error);
    return code;
}

int32_t gpu_state_create(struct accel_driver_device *base, const struct accel_state_part *parts, uint32_t part_count,
                         uint64_t slots, struct accel_driver_state **out_state,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    struct gpu_state *state;
    void *memory = NULL;
    int32_t code = gpu_allocate(gpu, ACCEL_MEMORY_HOST, sizeof(*state) + part_count * sizeof(struct gpu_state_part),
                                &memory, error);

    *out_state = NULL;
    if (code != ACCEL_OK)
        return code;
    state = memory;
    state->base.table = &state_table;
    state->gpu = gpu;
    state->slots = slots;
    state->parts = (struct gpu_state_part *)(state + 1);
    state->part_count = part_count;
    atomic_fetch_add(&gpu->children, 1);
    code = place_parts(state, parts, error);
    if (code != ACCEL_OK) {
        state_free(&state->base);
        return code;
    }
    *out_state = &state->base;
    return ACCEL_OK;
}
