/* SPDX-License-Identifier: Apache-2.0 */
/* What disturbed a run, and which results do not bear their last digits: told as warnings. */
#include "config.h"

#include "tools/accelctl/bench.h"

#include <inttypes.h>

enum { NOISY_ROWS = 5 };

void bench_noise_judge(struct bench *bench)
{
    const struct measure_noise *noise = &bench->noise;
    uint32_t told = 0;

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
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct measure_spread *time = &bench->rows[i].time;

        if (time->count >= 3 && time->upper - time->lower > 0.1 * time->median && told++ < NOISY_ROWS)
            bench_warn(bench, "%s: half of the rounds lie %.0f %% of the median apart; do not trust the last digits",
                       bench->rows[i].name, 100 * (time->upper - time->lower) / time->median);
        if (bench->rows[i].limit > 0 && time->count > 0 && bench->rows[i].limit > 1.05 * time->median)
            bench_warn(bench,
                       "%s is faster than its limit: the limit was measured low, or a part of the bytes stayed in a "
                       "cache of %.0f MiB",
                       bench->rows[i].name, measure_last_cache() / 1048576);
    }
}
