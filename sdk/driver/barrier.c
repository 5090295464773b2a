/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A barrier for the ranks of one step. The other ranks are microseconds away while each has a processor of its own, so
 * that waiting begins by spinning. When somebody else has taken a processor the others are milliseconds away: spinning
 * on would use up the time that the late rank needs, and yielding gives the whole slice to a stranger. A sleeper keeps
 * its claim to the processor and is put back on it when the last rank comes.
 */
#include "sdk/driver/program.h"
#include "sdk/driver/wait.h"

#include <stdatomic.h>

/* Longer than most waits between ranks that run at the same time, those of a virtual machine included, whose processors
 * are taken away for a moment; a small part of a time slice. Going to sleep and being woken costs up to a fifth of it.
 */
#define SPIN_NANOSECONDS 250000u
/* Strain grows with every meeting that was slept through and goes down by one with each one that was not. Where ranks
 * have no processor of their own most meetings are slept through: from STRAINED on they begin without spinning, which
 * would only keep the others from coming. One late rank alone does not get there. */
#define STRAIN 24u
#define STRAINED 48u
/* Pauses between two looks at the clock, which cost about as much as one pause more. */
#define PAUSES 64u

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* True when the phase has changed. */
static uint32_t spin(struct sdk_barrier *barrier, uint32_t phase, uint32_t strained)
{
    uint64_t end = 0;

    for (;;) {
        uint64_t now;

        for (uint32_t i = 0; i < PAUSES; i++) {
            if (atomic_load_explicit(&barrier->phase, memory_order_acquire) != phase)
                return 1;
            relax();
        }
        if (strained)
            return 0;
        now = sdk_clock();
        if (end == 0)
            end = now + SPIN_NANOSECONDS;
        else if (now >= end)
            return 0;
    }
}

/* Either the last rank sees this sleeper counted and wakes it, or the sleeper sees the new phase: both sides write one
 * word and then read the other, in one order for all. */
static void sleep_until(struct sdk_barrier *barrier, uint32_t phase)
{
    atomic_fetch_add(&barrier->sleepers, 1);
    while (atomic_load(&barrier->phase) == phase)
        sdk_word_wait(&barrier->phase, phase);
    atomic_fetch_sub(&barrier->sleepers, 1);
}

void sdk_barrier_wait(struct sdk_barrier *barrier)
{
    uint32_t phase, strain;

    if (barrier == NULL || barrier->ranks < 2)
        return;
    phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->ranks) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store(&barrier->phase, phase + 1);
        if (atomic_load(&barrier->sleepers) != 0)
            sdk_word_wake(&barrier->phase);
        return;
    }
    strain = atomic_load_explicit(&barrier->strain, memory_order_relaxed);
    if (!spin(barrier, phase, strain >= STRAINED)) {
        sleep_until(barrier, phase);
        strain += strain >= STRAINED ? 0 : STRAIN + 1;
    }
    if (strain != 0)
        atomic_store_explicit(&barrier->strain, strain - 1, memory_order_relaxed);
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
