/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/thread/system.h"

uint32_t thread_processor(void)
{
    const int processor = sched_getcpu();
    return processor < 0 ? UINT32_MAX : (uint32_t)processor;
}

/* Fails on machines with more processors than the set has bits: threads stay where they are. */
void thread_move(uint32_t processor)
{
    cpu_set_t before, there;
    if (processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before) != 0 ||
        !CPU_ISSET(processor, &before))
        return;
    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    if (sched_setaffinity(0, sizeof(there), &there) == 0)
        sched_setaffinity(0, sizeof(before), &before);
}

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
