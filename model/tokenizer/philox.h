/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011): a counter-based
 * generator, four 32-bit words per counter and key. Pure; any thread. */
#ifndef ACCEL_MODEL_TOKENIZER_PHILOX_H
#define ACCEL_MODEL_TOKENIZER_PHILOX_H

#include <stdint.h>

static inline void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];

    for (int i = 0; i < 4; i++)
        out[i] = counter[i];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * out[0];
        uint64_t b = (uint64_t)0xcd9e8d57u * out[2];

        out[0] = (uint32_t)(b >> 32) ^ out[1] ^ k0;
        out[1] = (uint32_t)b;
        out[2] = (uint32_t)(a >> 32) ^ out[3] ^ k1;
        out[3] = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

#endif
