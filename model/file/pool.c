/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/pool.h"

#include <stdlib.h>
#include <string.h>

#include "model/file/checked.h"

#define FIRST_CHUNK ((size_t)4096)
#define LARGEST_CHUNK ((size_t)1 << 20)
#define ALIGNMENT ((uint64_t)16)

struct model_pool_chunk {
    struct model_pool_chunk *next;
    size_t used;
    size_t bytes;
    size_t zero; /* keeps the data behind this header aligned */
};

static struct model_pool_chunk *grow(struct model_pool *pool, size_t needed)
{
    size_t bytes = pool->next_bytes == 0 ? FIRST_CHUNK : pool->next_bytes;
    struct model_pool_chunk *chunk;
    if (bytes < LARGEST_CHUNK)
        pool->next_bytes = bytes * 2;
    if (bytes < needed)
        bytes = needed;
    chunk = calloc(1, sizeof(*chunk) + bytes);
    if (chunk == NULL)
        return NULL;
    chunk->bytes = bytes;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    return chunk;
}

/* `alignment` is a power of two up to ALIGNMENT. */
static void *allocate(struct model_pool *pool, uint64_t bytes, uint64_t alignment)
{
    struct model_pool_chunk *chunk = pool->chunks;
    uint64_t begin = 0, end, limit;
    if (!add_u64(bytes, sizeof(*chunk) + ALIGNMENT, &limit) || limit > PTRDIFF_MAX)
        return NULL;
    if (chunk != NULL && align_u64(chunk->used, alignment, &begin) && add_u64(begin, bytes, &end) &&
        end <= chunk->bytes) {
        chunk->used = (size_t)end;
        return (unsigned char *)(chunk + 1) + begin;
    }
    chunk = grow(pool, (size_t)bytes);
    if (chunk == NULL)
        return NULL;
    chunk->used = (size_t)bytes;
    return chunk + 1;
}

void *model_pool_alloc(struct model_pool *pool, uint64_t count, size_t bytes)
{
    uint64_t needed;
    return multiply_u64(count, bytes, &needed) ? allocate(pool, needed, ALIGNMENT) : NULL;
}

char *model_pool_chars(struct model_pool *pool, uint64_t length)
{
    uint64_t bytes;
    return add_u64(length, 1, &bytes) ? allocate(pool, bytes, 1) : NULL;
}

char *model_pool_text(struct model_pool *pool, const void *text, uint64_t length)
{
    char *copy = model_pool_chars(pool, length);
    if (copy != NULL && length > 0)
        memcpy(copy, text, (size_t)length);
    return copy;
}

void model_pool_free(struct model_pool *pool)
{
    while (pool->chunks != NULL) {
        struct model_pool_chunk *chunk = pool->chunks;
        pool->chunks = chunk->next;
        free(chunk);
    }
    pool->next_bytes = 0;
}

int32_t model_no_memory(struct accel_error *error, const char *path, uint64_t bytes)
{
    if (error != NULL && error->code == ACCEL_OK)
        error->asked = bytes;
    return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for %llu bytes of its tables", path,
                           (unsigned long long)bytes);
}
