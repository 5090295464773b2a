/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena allocator: holds the names, values and tables of one file or one configuration, and frees them all at once. Not
 * thread-safe. Callers check counts against the size of the file first, so allocations stay in proportion to it.
 */
#ifndef ACCEL_MODEL_FILE_POOL_H
#define ACCEL_MODEL_FILE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

struct model_pool_chunk;

/* A pool of all zeros is empty. */
struct model_pool {
    struct model_pool_chunk *chunks;
    size_t next_bytes;
};

/* Allocates `count` zeroed elements of `bytes` bytes, aligned for elements of up to 16 bytes. NULL if memory is out or
 * the product overflows; with a count of 0 the pointer must not be read. */
void *model_pool_alloc(struct model_pool *pool, uint64_t count, size_t bytes);

/* Allocates `length` bytes of text and a zero byte, without alignment or padding. NULL if memory is out. */
char *model_pool_chars(struct model_pool *pool, uint64_t length);

/* Copies `length` bytes and appends a zero byte. NULL if memory is out. */
char *model_pool_text(struct model_pool *pool, const void *text, uint64_t length);

/* Frees everything; the pool is empty afterwards. */
void model_pool_free(struct model_pool *pool);

/* Sets the error for a failed allocation of `bytes` for `path`. */
int32_t model_no_memory(struct accel_error *error, const char *path, uint64_t bytes);

#endif
