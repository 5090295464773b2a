/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of noise during a run, and of results whose last figures are not significant because of it. */
#include "config.h"

#include <inttypes.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/noise.h"
#include "tools/accelctl/bench/rows.h"

enum { NOISY_ROWS = 5 };

/* Warns of a median rate far below the best round, since percentages refer to the best. */
static void judge_limit(struct bench *bench, const char *name, const struct measure_spread *rate)
{
    if (rate->count > 0 && rate->median > 0 && rate->most > 2 * rate->median)
        bench_warn(
            bench,
            "%s: the best round is %.*f times the median, so the machine was busy for most rounds; percentages go "
            "by the best one",
            name, rate->most > 10 * rate->median ? 0 : 1, rate->most / rate->median);
}

static void judge_limits(struct bench *bench)
{
    const struct bench_machine *machine = &bench->machine;

    if (!machine->measured)
        return;
    judge_limit(bench, "memory read", &machine->memory.read);
    judge_limit(bench, "cache read", &machine->memory.cached);
    judge_limit(bench, "memory copy", &machine->memory.copy);
    for (uint32_t i = 0; i < machine->sequence_count; i++)
        judge_limit(bench, machine->sequences[i].sequence->name, &machine->sequences[i].rate);
    if (machine->is_device)
        judge_limit(bench, "device copy", &machine->device_copy);
}

/* Returns the interquartile range of the rounds, as a share of their median. */
static double half_width(const struct measure_spread *time)
{
    return (time->upper - time->lower) / time->median;
}

void bench_noise_judge(struct bench *bench)
{
    const struct measure_noise *noise = &bench->noise;
    uint32_t reported = 0;

    if (noise->stolen > 0.02)
        bench_warn(bench, "the hypervisor took %.0f %% of a processor away while this ran (/proc/stat, steal)",
                   100 * noise->stolen);
    if (noise->others > 0.05)
        bench_warn(bench, "other programs used %.0f %% of a processor meanwhile", 100 * noise->others);
    if (noise->throttled > 0)
        bench_warn(bench, "the control group's quota held this run back for %.2f s", noise->throttled);
    if (noise->hot > 0)
        bench_warn(bench, "processors slowed down for their temperature %" PRIu64 " times", noise->hot);
    if (bench->machine.drift > 0 && (bench->machine.drift < 0.95 || bench->machine.drift > 1.05))
        bench_warn(bench, "%s ran at %.0f %% of its first speed in the end: the clock, or a neighbour, has changed",
                   bench->machine.best[BENCH_F32]->sequence->name, 100 * bench->machine.drift);
    judge_limits(bench);
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct measure_spread *time = &bench->rows[i].time;

        if (time->count >= 3 && half_width(time) > 0.1 && reported++ < NOISY_ROWS)
            bench_warn(bench, "%s: the quartiles are %.0f %% of the median apart; %s", bench->rows[i].name,
                       100 * half_width(time),
                       half_width(time) > 0.25 ? "repeat it on an idle machine before you rely on the figure"
                                               : "only the first digit of the result is reliable");
        if (bench->rows[i].limit > 0 && time->count > 0 && bench->rows[i].limit > 1.05 * time->median)
            bench_warn(bench,
                       "%s is faster than its limit: the limit was measured low, or a part of the bytes stayed in a "
                       "cache of %.0f MiB",
                       bench->rows[i].name, measure_last_cache() / 1048576);
    }
}
