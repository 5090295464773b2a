/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counted memory of a context: every block has a class, the sum of all stands under the budget, and each class knows
 * what it holds now and held at most. Memory of drivers (host->allocate) and of the run-time objects comes from here.
 * Bytes counted are those asked for. Any thread, without locks.
 */
#ifndef ACCEL_CORE_DEVICE_MEMORY_H
#define ACCEL_CORE_DEVICE_MEMORY_H

#include <accel/error.h>
#include <accel/host.h>
#include <stdatomic.h>
#include <stdbool.h>

/** Counters. A zeroed one has no budget and never fails on purpose. Slot 0 of the arrays is the sum of all classes. */
struct accel_memory {
    uint64_t budget; /**< most bytes of all classes together, 0: no limit; set before the first use */
    _Atomic uint64_t now[ACCEL_MEMORY_END];
    _Atomic uint64_t peak[ACCEL_MEMORY_END];
    _Atomic uint64_t blocks;     /**< blocks alive: 0 at the end, or something leaks */
    _Atomic uint64_t calls;      /**< allocations so far, failed ones included */
    _Atomic uint64_t fail_after; /**< tests: this allocation (counted from 1) and all later ones fail; 0: none does */
};

/** Starts counters with a budget (0: no limit). */
void accel_memory_init(struct accel_memory *memory, uint64_t budget);

/**
 * Takes `bytes` zeroed bytes at a multiple of `alignment` (a power of two, at most 1 GiB; 0: 64). ACCEL_E_MEMORY when
 * system or budget have no more: `asked` and `free` of the error say how much was missing.
 */
int32_t accel_memory_take(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                          void **out_block, struct accel_error *error);

/**
 * The same for `room` bytes, of which `bytes` count: the rest is what alignment leaves unused inside. Large blocks lie
 * in huge pages where the system has them.
 */
int32_t accel_memory_take_room(struct accel_memory *memory, uint32_t memory_class, uint64_t bytes, uint64_t room,
                               uint64_t alignment, void **out_block, struct accel_error *error);

/** Gives a block back and returns its bytes; 0 for NULL and for what is no block. */
uint64_t accel_memory_give(struct accel_memory *memory, void *block);

/**
 * Counts `bytes` that somebody else makes, as a device's driver; negative: they are gone. ACCEL_E_MEMORY when the
 * budget has no more: nothing is counted then. The caller gives back no more than it had counted.
 */
int32_t accel_memory_count(struct accel_memory *memory, uint32_t memory_class, int64_t bytes,
                           struct accel_error *error);

/** What a class (0: all) holds now and held at most; false for an unknown class. */
bool accel_memory_read(const struct accel_memory *memory, uint32_t memory_class, uint64_t *out_now, uint64_t *out_peak);

#endif
