/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts the allocations of the whole process, including those of a driver and its libraries: accel-conform
 * defines malloc and the related functions itself, which override those of the C library.
 */
#ifndef ACCEL_SDK_CONFORM_ALLOCATIONS_H
#define ACCEL_SDK_CONFORM_ALLOCATIONS_H

#include <stdint.h>

/** Returns how often malloc, calloc, realloc and the aligned variants were called so far, by any thread; 0 without
 * glibc, or with a sanitizer that replaces the allocator. */
uint64_t allocations_count(void);

#endif
