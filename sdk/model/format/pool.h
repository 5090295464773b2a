/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed all at once: the names, values and tables of one file or one configuration. One thread at a
 * time. Callers check counts against the size of the file before they ask, so what is allocated stays in proportion.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_POOL_H
#define ACCEL_SDK_MODEL_FORMAT_POOL_H

#include <accel/error.h>
#include <stddef.h>
#include <stdint.h>

struct model_pool_chunk;

/* All zero is an empty pool. */
struct model_pool {
    struct model_pool_chunk *chunks;
    size_t next_bytes;
};

/* `count` zeroed elements of `bytes` bytes, aligned for any of them up to 16. NULL when memory ends or the product
 * overflows; a count of 0 gives a pointer that may not be read. */
void *model_pool_alloc(struct model_pool *pool, uint64_t count, size_t bytes);

/* `length` bytes and a zero byte behind them, for text: no alignment, no room lost. NULL when memory ends. */
char *model_pool_room(struct model_pool *pool, uint64_t length);

/* A copy of `length` bytes with a zero byte behind it, or NULL. */
char *model_pool_text(struct model_pool *pool, const void *text, uint64_t length);

/* Frees everything; the pool is empty afterwards. */
void model_pool_free(struct model_pool *pool);

/* The error of a NULL from above: `bytes` were wanted for `path`. */
int32_t model_no_memory(struct accel_error *error, const char *path, uint64_t bytes);

#endif
