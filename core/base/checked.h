/* SPDX-License-Identifier: Apache-2.0 */
/** @file Adds, multiplies, aligns and parses sizes from a file, a peer or a user with overflow checks. Each function
 * writes the result and returns true, or returns false and leaves it unchanged; accel_within_u64 only compares. */
#ifndef ACCEL_CORE_BASE_CHECKED_H
#define ACCEL_CORE_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool accel_add_u64(uint64_t a, uint64_t b, uint64_t *out_sum)
{
    uint64_t sum = a + b;
    if (sum < a)
        return false;
    *out_sum = sum;
    return true;
}

static inline bool accel_mul_u64(uint64_t a, uint64_t b, uint64_t *out_product)
{
    if (a != 0 && b > UINT64_MAX / a)
        return false;
    *out_product = a * b;
    return true;
}

static inline bool accel_add_size(size_t a, size_t b, size_t *out_sum)
{
    size_t sum = a + b;
    if (sum < a)
        return false;
    *out_sum = sum;
    return true;
}

static inline bool accel_mul_size(size_t a, size_t b, size_t *out_product)
{
    if (a != 0 && b > SIZE_MAX / a)
        return false;
    *out_product = a * b;
    return true;
}

/** Parses an unsigned decimal number. Returns false for a sign, a blank, a unit or another character, too. */
static inline bool accel_parse_u64(const char *text, uint64_t *out_number)
{
    uint64_t number = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9' || !accel_mul_u64(number, 10, &number) ||
            !accel_add_u64(number, (uint64_t)(*text - '0'), &number))
            return false;
    *out_number = number;
    return true;
}

/** Parses a decimal number that may be negative, without blank or unit. */
static inline bool accel_parse_i32(const char *text, int32_t *out_number)
{
    bool negative = *text == '-';
    uint64_t number;
    if (!accel_parse_u64(text + negative, &number) || number > INT32_MAX)
        return false;
    *out_number = negative ? -(int32_t)number : (int32_t)number;
    return true;
}

/** Rounds up to a multiple of `align`, which must be a power of two. */
static inline bool accel_align_size(size_t value, size_t align, size_t *out_aligned)
{
    size_t sum;
    if (!accel_add_size(value, align - 1, &sum))
        return false;
    *out_aligned = sum & ~(align - 1);
    return true;
}

/** Returns whether the range [offset, offset + bytes) lies within `whole` bytes. */
static inline bool accel_within_u64(uint64_t offset, uint64_t bytes, uint64_t whole)
{
    return offset <= whole && bytes <= whole - offset;
}

#endif
