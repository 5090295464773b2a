/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barrier for the threads of one step. While each thread has a processor of its own the others arrive within
 * microseconds, so waiting starts by spinning. If another process occupies a processor the others arrive milliseconds
 * later: spinning would use up the time that the late thread needs, and yielding would give the whole slice to the
 * other process. A sleeping thread is scheduled again when the last thread arrives.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "sdk/driver/program.h"
#include "sdk/driver/wait.h"

/* Longer than most waits between running threads, also on virtual machines whose processors are preempted for a moment;
 * a small part of a time slice. Sleeping and waking costs up to a fifth of it. */
#define SPIN_NANOSECONDS 250000u
/* Strain grows with every barrier that was slept through and decreases by one with each other barrier. If threads have
 * no processor of their own they sleep at most barriers: from STRAINED on they do not spin, which would only delay the
 * others. A single late thread does not reach STRAINED. */
#define STRAIN 24u
#define STRAINED 48u
/* Pauses between two reads of the clock, each of which costs about one pause. */
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
static bool spin(struct sdk_barrier *barrier, uint32_t phase, uint32_t strained)
{
    uint64_t end = 0;

    for (;;) {
        uint64_t now;

        for (uint32_t i = 0; i < PAUSES; i++) {
            if (atomic_load_explicit(&barrier->phase, memory_order_acquire) != phase)
                return true;
            relax();
        }
        if (strained)
            return false;
        now = sdk_clock();
        if (end == 0)
            end = now + SPIN_NANOSECONDS;
        else if (now >= end)
            return false;
    }
}

/* Either the last thread sees the count of this sleeper and wakes it, or the sleeper sees the new phase: both sides
 * write one word and then read the other, sequentially consistent. */
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

    if (barrier == NULL || barrier->threads < 2)
        return;
    phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->threads) {
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

void sdk_split(uint64_t count, uint64_t step, uint32_t thread, uint32_t threads, uint64_t *out_begin, uint64_t *out_end)
{
    uint64_t steps = count / step + (count % step != 0);
    uint64_t share = steps / threads;
    uint64_t more = steps % threads;
    uint64_t begin = thread * share + (thread < more ? thread : more);
    uint64_t end = begin + share + (thread < more);

    *out_begin = begin * step < count ? begin * step : count;
    *out_end = end * step < count ? end * step : count;
}
