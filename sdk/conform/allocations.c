/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Internal names of the C library's allocator, which remain callable in a program that defines malloc. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_uint_fast64_t calls;

/* Exports a symbol to the libraries of the process, whatever visibility the build sets. */
#define IN_FRONT __attribute__((visibility("default")))

IN_FRONT void *malloc(size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_malloc(bytes);
}

IN_FRONT void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_calloc(count, bytes);
}

IN_FRONT void *realloc(void *memory, size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_realloc(memory, bytes);
}

IN_FRONT void *aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_memalign(alignment, bytes);
}

IN_FRONT int posix_memalign(void **out_memory, size_t alignment, size_t bytes)
{
    void *memory;

    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    memory = __libc_memalign(alignment, bytes);
    if (memory == NULL)
        return ENOMEM;
    *out_memory = memory;
    return 0;
}

uint64_t allocations_count(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

#else

uint64_t allocations_count(void)
{
    return 0;
}

#endif
