/* SPDX-License-Identifier: Apache-2.0 */
/** @file Processor of a thread. One file per operating system. Private to core/thread. */
#ifndef ACCEL_CORE_THREAD_PLACE_H
#define ACCEL_CORE_THREAD_PLACE_H

#include <stdint.h>

/** Returns the system's index of the processor that the calling thread runs on, or UINT32_MAX if unknown. */
uint32_t thread_processor(void);

/** Moves the calling thread to a processor and then restores its affinity. Does nothing if the thread may not run
 * there. Allocates nothing. */
void thread_move(uint32_t processor);

#endif
