/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Content hashes for cache keys (XXH3). Not collision-resistant against an attacker: files in places that others
 * may write are refused before they are hashed. Equal on every machine of the same byte order. */
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

/** Computes a 64-bit hash of `bytes` bytes; pass the result as the next seed to chain parts. Thread-safe. */
uint64_t accel_hash64(const void *data, size_t bytes, uint64_t seed);

/** Computes a 128-bit hash of `bytes` bytes. Thread-safe. */
struct accel_hash128 accel_hash128(const void *data, size_t bytes, uint64_t seed);

/** Writes 32 lower-case hexadecimal characters, high half first, and a zero byte. */
void accel_hash_text(struct accel_hash128 hash, char text[ACCEL_HASH_TEXT]);

#endif
