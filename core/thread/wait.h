/* SPDX-License-Identifier: Apache-2.0 */
/** @file Waits on a word of memory (futex). One file per operating system. Private to core/thread. */
#ifndef ACCEL_CORE_THREAD_WAIT_H
#define ACCEL_CORE_THREAD_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

/** Sleeps while the word holds `value`; may also return spuriously. */
void thread_wait(_Atomic uint32_t *word, uint32_t value);

/** Wakes one sleeper on the word, if any. */
void thread_wake(_Atomic uint32_t *word);

#endif
