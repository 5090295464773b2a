/* SPDX-License-Identifier: Apache-2.0 */
/** @file XXH3 of the system's xxhash library, inlined: seeds the tests and hashes a certificate. */
#ifndef ACCEL_SDK_CONFORM_HASH_H
#define ACCEL_SDK_CONFORM_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#endif
