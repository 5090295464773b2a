/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/measure/peak.h"

#include <stdbool.h>

#include "tools/measure/sequences.h"
#include "tools/measure/team.h"

enum { ROUNDS_MOST = 100 };

struct turns {
    const struct measure_sequence *sequence;
    uint64_t count;
};

static bool is_everywhere(void)
{
    return 1;
}

/* Multiplies in plain C as compiled, for processors without a row below. */
static void run_plain(uint64_t turns)
{
    typedef float four __attribute__((vector_size(16)));
    four sums[8] = {{0}}, x = {1.0f, 0.5f, 0.25f, 0.125f}, w = {0.5f, 0.5f, 0.5f, 0.5f};

    for (uint64_t t = 0; t < turns; t++)
        for (int i = 0; i < 8; i++) {
            sums[i] = sums[i] * w + x;
            __asm__ volatile("" : "+m"(sums[i]));
        }
}

static const struct measure_sequence plain = {"plain C, 4 floats",
                                              "multiply and add of floats as the compiler makes it",
                                              MEASURE_F32,
                                              0,
                                              8 * 4,
                                              is_everywhere,
                                              run_plain};

const struct measure_sequence *measure_sequence_get(uint32_t index)
{
    if (index < measure_machine_sequence_count)
        return &measure_machine_sequences[index];
    return index == measure_machine_sequence_count ? &plain : NULL;
}

static void run_turns(void *context, uint32_t thread, uint32_t threads)
{
    const struct turns *turns = context;

    (void)thread;
    (void)threads;
    turns->sequence->run(turns->count);
}

int measure_peak(const struct measure_sequence *sequence, uint32_t threads, const int32_t *processors, uint32_t rounds,
                 double seconds, struct measure_spread *out_rate)
{
    struct turns turns = {sequence, 1000};
    double rates[ROUNDS_MOST], taken;
    int wrong;

    *out_rate = (struct measure_spread){0};
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    /* Doubles the turns up to the requested time; this warms up the processor's clock, too. */
    wrong = measure_team(threads, processors, run_turns, &turns, &taken);
    while (wrong == 0 && taken < seconds) {
        turns.count *= 2;
        wrong = measure_team(threads, processors, run_turns, &turns, &taken);
    }
    for (uint32_t r = 0; wrong == 0 && r < rounds; r++) {
        wrong = measure_team(threads, processors, run_turns, &turns, &taken);
        rates[r] = sequence->products * (double)turns.count * threads / taken;
    }
    if (wrong == 0)
        measure_spread(rates, rounds, out_rate);
    return wrong;
}
