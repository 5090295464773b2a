/* SPDX-License-Identifier: Apache-2.0 */
/* A barrier for the ranks of one step, which run at the same time on processors of their own. It spins, since the other
 * ranks are microseconds away, and yields after a while, for the case that somebody else has their processor. */
#include "sdk/driver/program.h"

#include <sched.h>
#include <stdatomic.h>

#define SPINS_BEFORE_YIELD 4096u

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void sdk_barrier_wait(struct sdk_barrier *barrier)
{
    uint32_t phase;
    uint32_t spins = 0;

    if (barrier == NULL)
        return;
    phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->ranks) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->phase, phase + 1, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase) {
        if (++spins < SPINS_BEFORE_YIELD)
            relax();
        else
            sched_yield();
    }
}

void sdk_split(uint64_t count, uint64_t step, uint32_t rank, uint32_t ranks, uint64_t *out_begin, uint64_t *out_end)
{
    uint64_t steps = count / step + (count % step != 0);
    uint64_t share = steps / ranks;
    uint64_t more = steps % ranks;
    uint64_t begin = rank * share + (rank < more ? rank : more);
    uint64_t end = begin + share + (rank < more);

    *out_begin = begin * step < count ? begin * step : count;
    *out_end = end * step < count ? end * step : count;
}
