/* SPDX-License-Identifier: Apache-2.0 */
/** @file Clock for deadlines and measurements. */
#ifndef ACCEL_CORE_BASE_CLOCK_H
#define ACCEL_CORE_BASE_CLOCK_H

#include <stdint.h>

/** Returns nanoseconds of the monotonic clock, from an arbitrary start. Thread-safe, never fails, allocates nothing. */
uint64_t accel_clock_ns(void);

#endif
