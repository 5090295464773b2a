/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"

#define FIRST_CAPACITY 16u /* elements of a growing array */
#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_STEP ((size_t)1 << 20)
#define LARGEST_ALIGN ((size_t)4096)

struct accel_arena_block {
    struct accel_arena_block *older;
    size_t bytes; /* size of the whole block with this header */
    size_t used;  /* offset of the first free byte */
};

void accel_arena_init(struct accel_arena *arena, size_t limit)
{
    memset(arena, 0, sizeof(*arena));
    arena->limit = limit;
}

/* Returns the size of the next block. Blocks double up to a limit: their number stays small, and little is wasted. */
static size_t next_block_bytes(const struct accel_arena *arena, size_t wanted)
{
    size_t bytes = arena->head ? arena->head->bytes * 2 : FIRST_BLOCK;
    size_t left = arena->limit ? arena->limit - arena->held : SIZE_MAX;
    if (bytes > LARGEST_STEP)
        bytes = LARGEST_STEP;
    if (bytes < wanted)
        bytes = wanted;
    /* Near the limit a block of exactly the required size is allocated. */
    if (bytes > left)
        bytes = wanted;
    return bytes <= left ? bytes : 0;
}

static bool grow(struct accel_arena *arena, size_t bytes, size_t align)
{
    struct accel_arena_block *block;
    size_t wanted, block_bytes;
    if (!accel_add_size(bytes, sizeof(*block) + align, &wanted))
        return false;
    block_bytes = next_block_bytes(arena, wanted);
    /* Distances within one object must fit a ptrdiff_t. */
    if (block_bytes == 0 || block_bytes > PTRDIFF_MAX)
        return false;
    block = calloc(1, block_bytes);
    if (block == NULL)
        return false;
    block->older = arena->head;
    block->bytes = block_bytes;
    block->used = sizeof(*block);
    arena->head = block;
    arena->held += block_bytes;
    return true;
}

static void *take(struct accel_arena_block *block, size_t bytes, size_t align)
{
    uintptr_t base = (uintptr_t)block;
    size_t start;
    if (block == NULL || !accel_align_size(base + block->used, align, &start))
        return NULL;
    start -= base;
    if (start > block->bytes || bytes > block->bytes - start)
        return NULL;
    block->used = start + bytes;
    return (char *)block + start;
}

void *accel_arena_alloc(struct accel_arena *arena, size_t bytes, size_t align)
{
    void *memory;
    if (align == 0 || align > LARGEST_ALIGN || (align & (align - 1)) != 0)
        return NULL;
    /* Returns a unique pointer for an empty allocation, so that NULL always means failure. */
    if (bytes == 0)
        bytes = 1;
    memory = take(arena->head, bytes, align);
    if (memory == NULL && grow(arena, bytes, align))
        memory = take(arena->head, bytes, align);
    return memory;
}

void *accel_arena_array(struct accel_arena *arena, size_t count, size_t bytes)
{
    size_t total;
    if (!accel_mul_size(count, bytes, &total))
        return NULL;
    return accel_arena_alloc(arena, total, _Alignof(max_align_t));
}

char *accel_arena_strndup(struct accel_arena *arena, const char *text, size_t length)
{
    size_t bytes;
    char *copy = accel_add_size(length, 1, &bytes) ? accel_arena_alloc(arena, bytes, 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *accel_arena_strdup(struct accel_arena *arena, const char *text)
{
    return accel_arena_strndup(arena, text, strlen(text));
}

bool accel_arena_grow(struct accel_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t element)
{
    uint32_t wanted = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;
    void *old, *array;
    if (count < *capacity)
        return true;
    array = wanted > *capacity ? accel_arena_array(arena, wanted, element) : NULL;
    if (array == NULL)
        return false;
    memcpy(&old, list, sizeof(old));
    if (count > 0)
        memcpy(array, old, count * element);
    memcpy(list, &array, sizeof(array));
    *capacity = wanted;
    return true;
}

void accel_arena_free(struct accel_arena *arena)
{
    struct accel_arena_block *block = arena->head;
    while (block) {
        struct accel_arena_block *older = block->older;
        free(block);
        block = older;
    }
    arena->head = NULL;
    arena->held = 0;
}
