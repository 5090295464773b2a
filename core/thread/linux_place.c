/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include <sched.h>

#include "core/thread/place.h"

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
