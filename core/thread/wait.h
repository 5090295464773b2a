/* SPDX-License-Identifier: Apache-2.0 */
/** @file Sleeping on a word of memory. One file per operating system. Private to this room. */
#ifndef ACCEL_CORE_THREAD_WAIT_H
#define ACCEL_CORE_THREAD_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

/** Sleeps while the word holds `value`; may also return for no reason. */
void thread_wait(_Atomic uint32_t *word, uint32_t value);

/** Wakes one sleeper on the word, if there is one. */
void thread_wake(_Atomic uint32_t *word);

#endif
