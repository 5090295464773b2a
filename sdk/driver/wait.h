/* SPDX-License-Identifier: Apache-2.0 */
/** @file Sleeping on a word of memory. One file per operating system. Private to the driver library. */
#ifndef SDK_DRIVER_WAIT_H
#define SDK_DRIVER_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

/** Sleeps while the word holds `value`; may also return for no reason. */
void sdk_word_wait(_Atomic uint32_t *word, uint32_t value);

/** Wakes all threads that sleep on the word. */
void sdk_word_wake(_Atomic uint32_t *word);

/** Nanoseconds of a clock that never goes back, without a call of the operating system where that is possible. */
uint64_t sdk_clock(void);

#endif
