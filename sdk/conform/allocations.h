/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts the allocations of the whole process, including those of a driver and its libraries: accel-conform
 * defines malloc and the related functions itself, which override those of the C library.
 */
#ifndef ACCEL_SDK_CONFORM_ALLOCATIONS_H
#define ACCEL_SDK_CONFORM_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/** Returns whether this build counts allocations. Counting requires glibc and a build without a sanitizer that
 * replaces the allocator. */
bool allocations_are_counted(void);
/** Returns how often malloc, calloc, realloc and the aligned variants were called so far, by any thread. */
uint64_t allocations_count(void);

#endif
