/* SPDX-License-Identifier: Apache-2.0 */
/** @file The processor of a thread, and waits on a word of memory. One file per operating system. Private to
 * core/thread. */
#ifndef ACCEL_CORE_THREAD_SYSTEM_H
#define ACCEL_CORE_THREAD_SYSTEM_H

#include <stdatomic.h>
#include <stdint.h>

/** Returns the system's index of the processor that the calling thread runs on, or UINT32_MAX if unknown. */
uint32_t thread_processor(void);

/** Moves the calling thread to a processor and then restores its affinity. Does nothing if the thread may not run
 * there. Allocates nothing. */
void thread_move(uint32_t processor);

/** Sleeps while the word holds `value`; may also return spuriously. */
void thread_wait(_Atomic uint32_t *word, uint32_t value);

/** Wakes one sleeper on the word, if any. */
void thread_wake(_Atomic uint32_t *word);

#endif
