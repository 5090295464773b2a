/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Linux's counters: /proc/stat (proc(5)), cpu.stat of the control group, thermal_throttle of each processor. */
#include "config.h"

#include "tools/measure/noise.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/measure/team.h"

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static double own_seconds(void)
{
    struct rusage self = {0}, children = {0};

    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return seconds_of(&self.ru_utime) + seconds_of(&self.ru_stime) + seconds_of(&children.ru_utime) +
           seconds_of(&children.ru_stime);
}

/* Reads "cpu user nice system idle iowait irq softirq steal ...", in ticks; guests' time is included in user. */
static void read_stat(struct measure_moment *moment)
{
    FILE *file = fopen("/proc/stat", "re");
    uint64_t t[8];
    const double tick = (double)sysconf(_SC_CLK_TCK);

    if (file == NULL)
        return;
    if (fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 8 &&
        tick > 0) {
        moment->busy = (double)(t[0] + t[1] + t[2] + t[5] + t[6]) / tick;
        moment->stolen = (double)t[7] / tick;
        moment->known |= MEASURE_KNOWS_STAT;
    }
    fclose(file);
}

/* Reads the throttling of the group that the process sees as its root; the machine's root group has none. */
static void read_group(struct measure_moment *moment)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.stat", "re");
    char name[64];
    uint64_t number;

    if (file == NULL)
        return;
    while (fscanf(file, "%63s %" SCNu64, name, &number) == 2)
        if (strcmp(name, "throttled_usec") == 0) {
            moment->throttled = 1e-6 * (double)number;
            moment->known |= MEASURE_KNOWS_GROUP;
        }
    fclose(file);
}

static void read_heat(struct measure_moment *moment)
{
    for (uint32_t i = 0; i < moment->processors; i++) {
        char path[128];
        uint64_t number;
        FILE *file;

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count", i);
        file = fopen(path, "re");
        if (file == NULL)
            continue;
        if (fscanf(file, "%" SCNu64, &number) == 1) {
            moment->hot += number;
            moment->known |= MEASURE_KNOWS_HEAT;
        }
        fclose(file);
    }
}

void measure_moment(struct measure_moment *out_moment)
{
    const long processors = sysconf(_SC_NPROCESSORS_CONF);

    *out_moment = (struct measure_moment){.time = measure_seconds(), .own = own_seconds()};
    out_moment->processors = processors < 1 ? 1 : (uint32_t)processors;
    read_stat(out_moment);
    read_group(out_moment);
    read_heat(out_moment);
}

void measure_noise(const struct measure_moment *begin, const struct measure_moment *end,
                   struct measure_noise *out_noise)
{
    const double seconds = end->time - begin->time;
    const double others = end->busy - begin->busy - (end->own - begin->own);

    *out_noise = (struct measure_noise){.seconds = seconds, .known = begin->known & end->known};
    if (seconds <= 0)
        return;
    out_noise->throttled = end->throttled - begin->throttled;
    out_noise->hot = end->hot - begin->hot;
    /* The two clocks have different resolutions, so the difference may be negative. */
    out_noise->stolen = (end->stolen - begin->stolen) / seconds;
    out_noise->others = others > 0 ? others / seconds : 0;
}
