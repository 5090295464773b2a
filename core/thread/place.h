/* SPDX-License-Identifier: Apache-2.0 */
/** @file On which processor a thread is. One file per operating system. Private to this room. */
#ifndef ACCEL_CORE_THREAD_PLACE_H
#define ACCEL_CORE_THREAD_PLACE_H

#include <stdint.h>

/** The system's index of the processor that the calling thread runs on, or UINT32_MAX where it is not known. */
uint32_t thread_processor(void);

/**
 * Moves the calling thread to a processor and leaves it free to run where it might before. Does nothing where the
 * thread may not run there. Allocates nothing.
 */
void thread_move(uint32_t processor);

#endif
