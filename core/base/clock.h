/* SPDX-License-Identifier: Apache-2.0 */
/** @file The clock that deadlines and measurements use. */
#ifndef ACCEL_CORE_BASE_CLOCK_H
#define ACCEL_CORE_BASE_CLOCK_H

#include <stdint.h>

/** Nanoseconds of the monotonic clock, from an arbitrary start. Any thread. Never fails, allocates nothing. */
uint64_t accel_clock_ns(void);

#endif
