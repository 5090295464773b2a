/* SPDX-License-Identifier: Apache-2.0 */
/** @file Counted memory of a context: every block has a class, the sum of all blocks is limited by the budget, and each
 * class has a current size and a peak. Memory of drivers (host->allocate) and of run-time objects is allocated here.
 * Counts are requested bytes. Thread-safe, without locks. */
#ifndef ACCEL_CORE_BOUNDARY_MEMORY_H
#define ACCEL_CORE_BOUNDARY_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>

#include <accel/error.h>
#include <accel/host.h>

/** Counters. A zeroed struct has no budget and injects no failures. Slot 0 of the arrays is the sum of all classes. */
struct accel_memory {
    uint64_t budget; /**< maximum bytes of all classes together, 0: no limit; set before the first use */
    _Atomic uint64_t now[ACCEL_MEMORY_END];
    _Atomic uint64_t peak[ACCEL_MEMORY_END];
    _Atomic uint64_t blocks;     /**< live blocks: not 0 at the end means a leak */
    _Atomic uint64_t calls;      /**< allocations so far, failed ones included */
    _Atomic uint64_t fail_after; /**< tests: allocation number (from 1) from which on all fail; 0: none fails */
};

/** Initializes the counters with a budget (0: no limit). */
void accel_memory_init(struct accel_memory *memory, uint64_t budget);

/** Allocates `bytes` zeroed bytes at a multiple of `alignment` (a power of two, at most 1 GiB; 0: 64). ACCEL_E_MEMORY
 * if the system or the budget has too little: `asked` and `free` of the error report how much was missing. */
int32_t accel_memory_allocate(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                              void **out_block, struct accel_error *error);

/** Allocates `padded_bytes` bytes, of which `bytes` are counted; the rest is padding for alignment inside the block.
 * Large blocks use huge pages if the system has them. */
int32_t accel_memory_allocate_padded(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes,
                                     uint64_t padded_bytes, uint64_t alignment, void **out_block,
                                     struct accel_error *error);

/** Frees a block and returns its bytes; 0 for NULL and for an unknown block. */
uint64_t accel_memory_free(struct accel_memory *memory, void *block);

/** Counts `bytes` that another allocator holds, such as the driver of a device; negative: freed. ACCEL_E_MEMORY if
 * they exceed the budget: nothing is counted. The caller must not return more than it has counted. */
int32_t accel_memory_count(struct accel_memory *memory, uint32_t memory_class, int64_t bytes,
                           struct accel_error *error);

/** Reads the current size and the peak of a class (0: all); false for an unknown class. */
bool accel_memory_read(const struct accel_memory *memory, uint32_t memory_class, uint64_t *out_now, uint64_t *out_peak);

#endif
