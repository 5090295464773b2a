/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/thread/wait.h"

_Static_assert(sizeof(_Atomic uint32_t) == 4, "the kernel sleeps on 32 bits");

/* Errors mean that the value has changed or that a signal arrived: the caller checks again in both cases. */
void thread_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void thread_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
