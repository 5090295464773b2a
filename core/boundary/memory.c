/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include "core/boundary/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/checked.h"

#define LARGEST_ALIGNMENT (UINT64_C(1) << 30)
#define DEFAULT_ALIGNMENT 64u

/* Bytes of a huge page on all supported processors. Large blocks are aligned to it. */
#define HUGE_PAGE (UINT64_C(2) << 20)

/* Header directly before the returned bytes. */
struct header {
    void *raw; /* address that calloc returned */
    uint64_t bytes;
    uint32_t memory_class;
    uint32_t magic; /* identifies a block of this allocator */
    uint64_t zero;
};

#define MAGIC 0x6b636c62u

static void raise_peak(_Atomic uint64_t *peak, uint64_t now)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (seen < now &&
           !atomic_compare_exchange_weak_explicit(peak, &seen, now, memory_order_relaxed, memory_order_relaxed)) {
    }
}

void accel_memory_init(struct accel_memory *memory, uint64_t budget)
{
    memset(memory, 0, sizeof(*memory));
    memory->budget = budget;
}

static int32_t no_memory(uint64_t bytes, uint64_t left, const char *why, struct accel_error *error)
{
    int32_t code = accel_error_no_memory(error, "for %llu bytes: %s", (unsigned long long)bytes, why);
    if (error != NULL && error->code == ACCEL_E_MEMORY) {
        error->asked = bytes;
        error->free = left;
    }
    return code;
}

/* Adds to the sum before it allocates, so that two threads cannot both pass the budget. */
static int32_t reserve(struct accel_memory *memory, uint64_t bytes, struct accel_error *error)
{
    uint64_t now = atomic_load_explicit(&memory->now[0], memory_order_relaxed);
    uint64_t sum;
    do {
        if (!accel_add_u64(now, bytes, &sum) || (memory->budget != 0 && sum > memory->budget)) {
            int32_t code;
            char why[100];
            snprintf(why, sizeof(why), "%llu of the memory budget of %llu are held", (unsigned long long)now,
                     (unsigned long long)memory->budget);
            code = no_memory(bytes, memory->budget > now ? memory->budget - now : 0, why, error);
            return accel_error_advise(error, code, "raise the memory budget or choose smaller settings");
        }
    } while (
        !atomic_compare_exchange_weak_explicit(&memory->now[0], &now, sum, memory_order_relaxed, memory_order_relaxed));
    raise_peak(&memory->peak[0], sum);
    return ACCEL_OK;
}

/* Counts the call, and returns whether it must fail for a test (`fail_after`). */
static bool is_failure_due(struct accel_memory *memory)
{
    uint64_t call = atomic_fetch_add_explicit(&memory->calls, 1, memory_order_relaxed) + 1;
    uint64_t after = atomic_load_explicit(&memory->fail_after, memory_order_relaxed);
    return after != 0 && call >= after;
}

static int32_t allocate(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes, uint64_t padded_bytes,
                        uint64_t alignment, void **out_block, struct accel_error *error)
{
    uint64_t whole, held;
    struct header *header;
    char *raw;
    int32_t code;
    *out_block = NULL;
    if (alignment == 0)
        alignment = DEFAULT_ALIGNMENT;
    if (memory_class == 0 || memory_class >= ACCEL_MEMORY_END)
        return accel_error_set(error, ACCEL_E_INVALID, "memory class %u is not known", memory_class);
    if ((alignment & (alignment - 1)) != 0 || alignment > LARGEST_ALIGNMENT)
        return accel_error_set(error, ACCEL_E_INVALID, "alignment %llu is no power of two up to 1 GiB",
                               (unsigned long long)alignment);
    if (bytes == 0 || padded_bytes < bytes)
        return accel_error_set(error, ACCEL_E_INVALID, "0 bytes of memory were requested");
    if (alignment < _Alignof(max_align_t))
        alignment = _Alignof(max_align_t);
    if (!accel_add_u64(padded_bytes, alignment + sizeof(*header), &whole) || is_failure_due(memory))
        return no_memory(bytes, 0, "the system has no more", error);
    code = reserve(memory, bytes, error);
    if (code != ACCEL_OK)
        return code;
    /* calloc leaves large blocks untouched until they are used; aligned_alloc and memset would not. */
    raw = calloc(1, whole);
    if (raw == NULL) {
        atomic_fetch_sub_explicit(&memory->now[0], bytes, memory_order_relaxed);
        return no_memory(bytes, 0, "the system has no more", error);
    }
    header = (struct header *)(((uintptr_t)raw + sizeof(*header) + alignment - 1) & ~(uintptr_t)(alignment - 1)) - 1;
    *header = (struct header){.raw = raw, .bytes = bytes, .memory_class = memory_class, .magic = MAGIC};
    held = atomic_fetch_add_explicit(&memory->now[memory_class], bytes, memory_order_relaxed) + bytes;
    raise_peak(&memory->peak[memory_class], held);
    atomic_fetch_add_explicit(&memory->blocks, 1, memory_order_relaxed);
    *out_block = header + 1;
    return ACCEL_OK;
}

int32_t accel_memory_allocate(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                              void **out_block, struct accel_error *error)
{
    return allocate(memory, memory_class, bytes, bytes, alignment, out_block, error);
}

int32_t accel_memory_allocate_padded(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes,
                                     uint64_t padded_bytes, uint64_t alignment, void **out_block,
                                     struct accel_error *error)
{
    const bool is_large = padded_bytes >= 2 * HUGE_PAGE;
    int32_t code;
    if (is_large && alignment < HUGE_PAGE)
        alignment = HUGE_PAGE;
    code = allocate(memory, memory_class, bytes, padded_bytes, alignment, out_block, error);
#ifdef MADV_HUGEPAGE
    if (code == ACCEL_OK && is_large)
        (void)madvise(*out_block, (size_t)padded_bytes, MADV_HUGEPAGE);
#endif
    return code;
}

uint64_t accel_memory_free(struct accel_memory *memory, void *block)
{
    struct header *header;
    uint64_t bytes;
    if (block == NULL)
        return 0;
    header = (struct header *)block - 1;
    if (header->magic != MAGIC)
        return 0; /* not a block, or already freed: a leak is the lesser harm */
    header->magic = 0;
    bytes = header->bytes;
    atomic_fetch_sub_explicit(&memory->now[0], bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&memory->now[header->memory_class], bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&memory->blocks, 1, memory_order_relaxed);
    free(header->raw);
    return bytes;
}

int32_t accel_memory_count(struct accel_memory *memory, uint32_t memory_class, int64_t bytes, struct accel_error *error)
{
    uint64_t gone = bytes < 0 ? 0 - (uint64_t)bytes : 0;
    uint64_t held;
    int32_t code;
    if (memory_class == 0 || memory_class >= ACCEL_MEMORY_END || bytes == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "%lld bytes of memory class %u cannot be counted",
                               (long long)bytes, memory_class);
    if (gone != 0) {
        atomic_fetch_sub_explicit(&memory->now[0], gone, memory_order_relaxed);
        atomic_fetch_sub_explicit(&memory->now[memory_class], gone, memory_order_relaxed);
        return ACCEL_OK;
    }
    if (is_failure_due(memory))
        return no_memory((uint64_t)bytes, 0, "the system has no more", error);
    code = reserve(memory, (uint64_t)bytes, error);
    if (code != ACCEL_OK)
        return code;
    held =
        atomic_fetch_add_explicit(&memory->now[memory_class], (uint64_t)bytes, memory_order_relaxed) + (uint64_t)bytes;
    raise_peak(&memory->peak[memory_class], held);
    return ACCEL_OK;
}

bool accel_memory_read(const struct accel_memory *memory, uint32_t memory_class, uint64_t *out_now, uint64_t *out_peak)
{
    if (memory_class >= ACCEL_MEMORY_END)
        return false;
    *out_now = atomic_load_explicit(&memory->now[memory_class], memory_order_relaxed);
    *out_peak = atomic_load_explicit(&memory->peak[memory_class], memory_order_relaxed);
    return true;
}
