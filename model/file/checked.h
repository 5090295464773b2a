/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overflow-checked arithmetic on numbers from a file. Every function returns false, and leaves the result unchanged, if
 * the exact result does not fit. (core/base/checked.h has the same for the core, whose private headers this library
 * does not use.)
 */
#ifndef ACCEL_MODEL_FILE_CHECKED_H
#define ACCEL_MODEL_FILE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool add_u64(uint64_t a, uint64_t b, uint64_t *out_sum)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out_sum = sum;
    return true;
}

static inline bool multiply_u64(uint64_t a, uint64_t b, uint64_t *out_product)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out_product = product;
    return true;
}

/* Rounds up to a multiple of `alignment`, which is a power of two. */
static inline bool align_u64(uint64_t value, uint64_t alignment, uint64_t *out_aligned)
{
    uint64_t sum;
    if (!add_u64(value, alignment - 1, &sum))
        return false;
    *out_aligned = sum & ~(alignment - 1);
    return true;
}

#endif
