/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the host's memory bandwidth with the threads that a plan would use. Each thread reads a part that it
 * has filled itself (so that the part lies on its NUMA node) one word after the other, with independent sums. The
 * buffer is several times as large as the last-level caches, so nearly every read misses them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/clock.h"
#include "core/registry/context.h"
#include "core/thread/pool.h"
#include "core/topology/topology.h"
#include "tools/doctor/doctor.h"

#define PASSES 9u
#define LEAST_BYTES ((uint64_t)256 << 20)
#define MOST_BYTES ((uint64_t)2 << 30)
#define TIMES_CACHE 4u
#define WORDS 8u /* words per iteration of the loop */

struct measurement {
    uint64_t *words;
    uint64_t count; /* in words */
    uint64_t *sums; /* [thread index]: results that keep the compiler from removing the reads */
    uint32_t threads;
};

/* Returns the part of one thread in whole groups of WORDS words. */
static void part_of(const struct measurement *m, uint32_t thread, uint32_t threads, uint64_t *out_begin,
                    uint64_t *out_end)
{
    uint64_t groups = m->count / WORDS;
    *out_begin = groups * thread / threads * WORDS;
    *out_end = groups * (thread + 1) / threads * WORDS;
}

static void fill(void *argument, uint32_t thread, uint32_t threads)
{
    struct measurement *m = argument;
    uint64_t begin, end;
    part_of(m, thread, threads, &begin, &end);
    memset(m->words + begin, (int)thread + 1, (end - begin) * sizeof(uint64_t));
}

/* Separate sums keep the reads independent and in registers; an array of sums would go through memory. */
static void read_all(void *argument, uint32_t thread, uint32_t threads)
{
    struct measurement *m = argument;
    const uint64_t *words = m->words;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    uint64_t begin, end;
    part_of(m, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i += WORDS) {
        a += words[i] + words[i + 4];
        b += words[i + 1] + words[i + 5];
        c += words[i + 2] + words[i + 6];
        d += words[i + 3] + words[i + 7];
    }
    m->sums[thread] = a + b + c + d;
}

static uint64_t bytes_to_read(const struct accel_machine *machine)
{
    uint64_t caches = 0;
    uint64_t bytes;
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct accel_cache *cache = &machine->caches[i];
        if (cache->type != 'i' && cache->bytes * cache->count > caches)
            caches = cache->bytes * cache->count;
    }
    bytes = caches > MOST_BYTES / TIMES_CACHE ? MOST_BYTES : caches * TIMES_CACHE;
    return bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static int32_t time_passes(struct accel_pool *pool, struct measurement *m, struct accel_bandwidth *out,
                           struct accel_error *error)
{
    double rates[PASSES];
    int32_t code = accel_pool_run(pool, m->threads, fill, m, error);
    for (uint32_t i = 0; i < PASSES && code == ACCEL_OK; i++) {
        uint64_t start = accel_clock_ns();
        code = accel_pool_run(pool, m->threads, read_all, m, error);
        rates[i] = (double)out->bytes / ((double)(accel_clock_ns() - start + 1) * 1e-9);
    }
    if (code != ACCEL_OK)
        return code;
    qsort(rates, PASSES, sizeof(*rates), compare);
    out->passes = PASSES;
    out->lowest = rates[0];
    out->bytes_per_second = rates[PASSES / 2];
    out->highest = rates[PASSES - 1];
    return ACCEL_OK;
}

static int32_t measure(const struct accel_topology *topology, const struct accel_thread_plan *threads,
                       struct accel_bandwidth *out, struct accel_error *error)
{
    const struct accel_pool_config config = {.topology = topology, .cpus = threads->cpus, .threads = threads->count};
    struct measurement m = {.count = out->bytes / sizeof(uint64_t), .threads = threads->count};
    struct accel_pool *pool = NULL;
    void *memory = mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int32_t code = ACCEL_OK;
    m.words = memory == MAP_FAILED ? NULL : memory;
    m.sums = calloc(threads->count, sizeof(*m.sums));
    if (m.words == NULL || m.sums == NULL)
        code = accel_error_no_memory(error, "of %llu bytes to measure with", (unsigned long long)out->bytes);
    if (code == ACCEL_OK)
        code = accel_pool_create(&config, &pool, error);
    if (code == ACCEL_OK)
        code = time_passes(pool, &m, out, error);
    accel_pool_free(pool);
    free(m.sums);
    if (m.words)
        munmap(memory, out->bytes);
    return code;
}

/* Uses at most a quarter of free memory, since other processes may be running. */
static int32_t choose_bytes(const struct accel_machine *machine, struct accel_bandwidth *out, struct accel_error *error)
{
    uint64_t budget = machine->memory_usable.origin ? machine->memory_usable.bytes / 4 : LEAST_BYTES;
    out->bytes = bytes_to_read(machine);
    if (out->bytes <= budget)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_MEMORY,
                           "to measure, %llu MiB have to be read, and %llu MiB are a quarter of what is free",
                           (unsigned long long)(out->bytes >> 20), (unsigned long long)(budget >> 20));
}

int32_t accel_doctor_measure(struct accel_context *context, struct accel_bandwidth *out_bandwidth,
                             struct accel_error *error)
{
    const struct accel_topology *topology = context ? context->topology : NULL;
    const struct accel_thread_policy policy = {0};
    struct accel_thread_plan threads = {0};
    struct accel_bandwidth result = {.size = sizeof(result)};
    int32_t code;
    if (topology == NULL || out_bandwidth == NULL || out_bandwidth->size < sizeof(result))
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_doctor_measure needs a context that has discovered, and a place of its size");
    if (accel_topology_machine(topology)->recorded)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "a recorded machine cannot be measured");
    code = choose_bytes(accel_topology_machine(topology), &result, error);
    if (code == ACCEL_OK)
        code = accel_topology_threads(topology, &policy, &threads, error);
    if (code == ACCEL_OK) {
        result.threads = threads.count;
        snprintf(result.reason, sizeof(result.reason), "%s", threads.reason);
        code = measure(topology, &threads, &result, error);
    }
    accel_thread_plan_free(&threads);
    if (code == ACCEL_OK)
        *out_bandwidth = result;
    return code;
}
