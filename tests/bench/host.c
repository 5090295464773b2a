/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host costs: loading the topology; a run of a pool whose workers are awake, and of one whose workers sleep;
 * processor time of an idle pool. Usage: host [threads]
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/thread/pool.h"

#define HOT_RUNS 20000
#define COLD_RUNS 100

static void nothing(void *argument, uint32_t thread, uint32_t threads)
{
    (void)argument;
    (void)thread;
    (void)threads;
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void print_times(const char *what, uint64_t *times, size_t count)
{
    qsort(times, count, sizeof(*times), ascending);
    printf("%-28s median %8.3f us   90 %% %8.3f us   99 %% %8.3f us\n", what, (double)times[count / 2] / 1e3,
           (double)times[count * 9 / 10] / 1e3, (double)times[count * 99 / 100] / 1e3);
}

static void rest(long nanoseconds)
{
    struct timespec time = {.tv_nsec = nanoseconds};
    nanosleep(&time, NULL);
}

static void time_runs(struct accel_pool *pool, uint32_t threads, const char *what, size_t count, long pause)
{
    static uint64_t times[HOT_RUNS];
    for (size_t i = 0; i < count; i++) {
        uint64_t start;
        if (pause)
            rest(pause);
        start = accel_clock_ns();
        accel_pool_run(pool, threads, nothing, NULL, NULL);
        times[i] = accel_clock_ns() - start;
    }
    print_times(what, times, count);
}

static void time_idle(void)
{
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    rest(500000000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    printf("%-28s %.3f ms of processor time in 500 ms\n", "idle pool",
           (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6);
}

int main(int argc, char **argv)
{
    struct accel_topology_source source = {0};
    struct accel_thread_policy policy = {.wanted = argc > 1 ? (uint32_t)atoi(argv[1]) : 0};
    struct accel_thread_plan plan = {0};
    struct accel_pool_config config = {.flags = ACCEL_POOL_PIN_CALLER};
    struct accel_topology *topology = NULL;
    struct accel_pool *pool = NULL;
    struct accel_error error = {0};
    uint64_t start;
    setenv("HWLOC_PLUGINS_PATH", "", 0);
    start = accel_clock_ns();
    if (accel_topology_load(&source, &topology, &error) == ACCEL_OK) {
        printf("%-28s %.3f ms\n", "topology", (double)(accel_clock_ns() - start) / 1e6);
        accel_topology_threads(topology, &policy, &plan, &error);
        config.topology = topology;
        config.cpus = plan.cpus;
        config.threads = plan.count;
    }
    if (error.code == ACCEL_OK && accel_pool_create(&config, &pool, &error) == ACCEL_OK) {
        printf("%-28s %u, %u bound\n", "threads", plan.count, accel_pool_bound(pool));
        time_runs(pool, 1, "run of 1 thread", HOT_RUNS, 0);
        time_runs(pool, plan.count, "run of all, awake", HOT_RUNS, 0);
        time_runs(pool, plan.count, "run of all, asleep", COLD_RUNS, 2000000);
        time_idle();
    }
    if (error.code != ACCEL_OK)
        fprintf(stderr, "host: %s\n", error.text);
    accel_pool_free(pool);
    accel_thread_plan_free(&plan);
    accel_topology_free(topology);
    return error.code == ACCEL_OK ? 0 : 1;
}
