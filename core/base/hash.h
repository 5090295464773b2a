/* SPDX-License-Identifier: Apache-2.0 */
/** @file Hashes contents for cache keys (XXH3). An attacker can construct collisions, so callers refuse files that
 * other users can write before they hash them. Equal bytes have equal hashes on all machines. */
#ifndef ACCEL_CORE_BASE_HASH_H
#define ACCEL_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** A 128-bit hash. */
struct accel_hash128 {
    uint64_t low;
    uint64_t high;
};

/** Bytes of a 128-bit hash in hexadecimal, with the terminating zero byte. */
#define ACCEL_HASH128_HEX_BYTES 33u

/** Computes a 64-bit hash of `bytes` bytes; pass the result as the next seed to chain parts. Thread-safe. */
uint64_t accel_hash64(const void *data, size_t bytes, uint64_t seed);

/** Computes a 128-bit hash of `bytes` bytes. Thread-safe. */
struct accel_hash128 accel_hash128(const void *data, size_t bytes, uint64_t seed);

/** Formats a hash as 32 lower-case hexadecimal characters, high half first, and a zero byte. */
void accel_hash128_to_hex(struct accel_hash128 hash, char text[ACCEL_HASH128_HEX_BYTES]);

#endif
