/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/hash.h"

#include <inttypes.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t accel_hash64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

struct accel_hash128 accel_hash128(const void *data, size_t bytes, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, bytes, seed);
    return (struct accel_hash128){.low = hash.low64, .high = hash.high64};
}

void accel_hash128_to_hex(struct accel_hash128 hash, char text[ACCEL_HASH128_HEX_BYTES])
{
    snprintf(text, ACCEL_HASH128_HEX_BYTES, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}
