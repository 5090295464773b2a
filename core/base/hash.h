/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Content hashes for cache keys (XXH3). Not a defence against somebody who wants a collision: what comes from a
 * place that others may write is refused before it is hashed. Equal on every machine of the same byte order.
 */
#ifndef ACCEL_CORE_BASE_HASH_H
#define ACCEL_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** A 128-bit hash. */
struct accel_hash128 {
    uint64_t low;
    uint64_t high;
};

/** Bytes of the text form of a 128-bit hash, its zero byte included. */
#define ACCEL_HASH_TEXT 33u

/** 64-bit hash of `bytes` bytes; feed the result in as the next seed to chain parts. Any thread. */
uint64_t accel_hash64(const void *data, size_t bytes, uint64_t seed);

/** 128-bit hash of `bytes` bytes. Any thread. */
struct accel_hash128 accel_hash128(const void *data, size_t bytes, uint64_t seed);

/** Writes 32 lower-case hexadecimal digits, high half first, and a zero byte. */
void accel_hash_text(struct accel_hash128 hash, char text[ACCEL_HASH_TEXT]);

#endif
