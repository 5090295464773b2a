/* SPDX-License-Identifier: Apache-2.0 */
/* Places in few memories: every API bounds the number and the size of allocations. */
#include "sdk/gpu/internal.h"

uint64_t gpu_place_bytes(uint64_t bytes)
{
    return ((bytes == 0 ? 1 : bytes) + GPU_ALIGNMENT - 1) & ~(uint64_t)(GPU_ALIGNMENT - 1);
}

uint64_t gpu_place_most(const struct gpu_limits *limits)
{
    return limits->memory_bytes & ~(uint64_t)(GPU_ALIGNMENT - 1);
}

uint64_t gpu_arena_limit(const struct gpu_limits *limits)
{
    uint64_t most = limits->memory_bytes < GPU_CHUNK_BYTES ? limits->memory_bytes : GPU_CHUNK_BYTES;

    return most & ~(uint64_t)(GPU_ALIGNMENT - 1);
}

/* Every item may begin a chunk of its own, at worst. */
int32_t gpu_arena_init(struct gpu_device_state *gpu, struct gpu_arena *arena, uint32_t memory_class, uint64_t items,
                       struct accel_error *error)
{
    void *memory = NULL;
    int32_t code =
        gpu_allocate(gpu, ACCEL_MEMORY_HOST, (items + 1) * (sizeof(void *) + sizeof(uint64_t)), &memory, error);

    if (code != ACCEL_OK)
        return code;
    arena->chunks = memory;
    arena->sizes = (uint64_t *)(arena->chunks + items + 1);
    arena->limit = gpu_arena_limit(&gpu->limits);
    arena->count = 0;
    arena->memory_class = memory_class;
    return ACCEL_OK;
}

struct gpu_place gpu_arena_place(struct gpu_arena *arena, uint64_t bytes)
{
    uint64_t size = gpu_place_bytes(bytes);
    struct gpu_place place;

    /* One that is larger than a chunk has a memory of its own. */
    if (arena->count == 0 || arena->sizes[arena->count - 1] + size > arena->limit)
        arena->sizes[arena->count++] = 0;
    place = (struct gpu_place){.chunk = arena->count - 1, .offset = arena->sizes[arena->count - 1]};
    arena->sizes[arena->count - 1] += size;
    return place;
}

int32_t gpu_arena_fill(struct gpu_device_state *gpu, struct gpu_arena *arena, struct accel_error *error)
{
    for (uint32_t c = 0; c < arena->count; c++) {
        int32_t code =
            gpu_memory_make(gpu, arena->memory_class, arena->sizes[c], GPU_MEMORY_DEVICE, &arena->chunks[c], error);

        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

void gpu_arena_free(struct gpu_device_state *gpu, struct gpu_arena *arena)
{
    for (uint32_t c = 0; arena->chunks != NULL && c < arena->count; c++)
        gpu_memory_drop(gpu, arena->memory_class, arena->sizes[c], GPU_MEMORY_DEVICE, arena->chunks[c]);
    gpu_release(gpu, arena->chunks);
}
