/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A growing arena: many small allocations with one life, freed together. One owner, one thread at a time.
 * Every allocation may fail, with NULL; nothing is ever moved. All memory is zeroed when it is handed out.
 */
#ifndef ACCEL_CORE_BASE_ARENA_H
#define ACCEL_CORE_BASE_ARENA_H

#include <stddef.h>

struct accel_arena_block;

/** Read-only for users; a zeroed one is empty and has no limit. */
struct accel_arena {
    struct accel_arena_block *head; /**< newest block; blocks are linked to older ones */
    size_t held;                    /**< bytes taken from the system, headers included */
    size_t limit;                   /**< most that `held` may become, 0 for no limit */
};

/** Starts an empty arena that never holds more than `limit` bytes (0: no limit). Allocates nothing. */
void accel_arena_init(struct accel_arena *arena, size_t limit);

/** `bytes` zeroed bytes at a multiple of `align` (a power of two <= 4096), or NULL. Zero bytes give a unique pointer.
 */
void *accel_arena_alloc(struct accel_arena *arena, size_t bytes, size_t align);

/** A zeroed array, aligned for every type; NULL also when count * bytes does not fit. */
void *accel_arena_array(struct accel_arena *arena, size_t count, size_t bytes);

/** A copy of `length` bytes of `text` and a zero byte, or NULL. */
char *accel_arena_strndup(struct accel_arena *arena, const char *text, size_t length);

/** A copy of a string, or NULL. */
char *accel_arena_strdup(struct accel_arena *arena, const char *text);

/** Frees everything that came from the arena. It is empty then and keeps its limit. */
void accel_arena_free(struct accel_arena *arena);

#endif
