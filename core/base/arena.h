/* SPDX-License-Identifier: Apache-2.0 */
/** @file An arena allocator: many small allocations with one lifetime, freed together. The arena has one owner and is
 * used by one thread at a time. Every allocation may fail, with NULL; allocations never move. All returned memory is
 * zeroed. */
#ifndef ACCEL_CORE_BASE_ARENA_H
#define ACCEL_CORE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accel_arena_block;

/** Read-only for users; a zeroed struct is empty and has no limit. */
struct accel_arena {
    struct accel_arena_block *head; /**< newest block; blocks are linked to older ones */
    size_t held;                    /**< bytes allocated from the system, headers included */
    size_t limit;                   /**< maximum of `held`, 0: no limit */
};

/** Initializes an empty arena that never holds more than `limit` bytes (0: no limit). Allocates nothing. */
void accel_arena_init(struct accel_arena *arena, size_t limit);

/** Allocates zeroed bytes at a multiple of `align` (a power of two <= 4096); NULL: none. 0 bytes: a unique pointer. */
void *accel_arena_alloc(struct accel_arena *arena, size_t bytes, size_t align);

/** Allocates a zeroed array, aligned for every type; NULL also if count * bytes overflows. */
void *accel_arena_array(struct accel_arena *arena, size_t count, size_t bytes);

/** Copies `length` bytes of `text` and adds a zero byte, or returns NULL. */
char *accel_arena_strndup(struct accel_arena *arena, const char *text, size_t length);

/** Copies a string, or returns NULL. */
char *accel_arena_strdup(struct accel_arena *arena, const char *text);

/** Ensures that the array at `list`, a pointer to its pointer, has capacity for one more element: doubles it in the
 * arena, where the old array stays unused. False without memory; nothing is changed then. */
bool accel_arena_grow(struct accel_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t element);

/** Frees all memory of the arena. It is empty then and keeps its limit. */
void accel_arena_free(struct accel_arena *arena);

#endif
