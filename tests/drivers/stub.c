/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/drivers/stub.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int32_t take_line(const struct accel_host *host, uint32_t level, const char *text)
{
    (void)level, (void)text;
    ((struct stub *)(uintptr_t)host)->lines++;
    return ACCEL_OK;
}

static int32_t allocate(const struct accel_host *host, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                        void **out_memory, struct accel_error *error)
{
    struct stub *stub = (struct stub *)(uintptr_t)host;

    assert_in_range(memory_class, 1, ACCEL_MEMORY_END - 1);
    *out_memory = NULL;
    if (++stub->calls == stub->fail_at) {
        if (error != NULL) {
            error->code = ACCEL_E_MEMORY;
            snprintf(error->text, sizeof(error->text), "allocation %u fails", stub->calls);
        }
        return ACCEL_E_MEMORY;
    }
    *out_memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    assert_non_null(*out_memory);
    memset(*out_memory, 0, bytes);
    stub->blocks++;
    stub->taken[memory_class] += bytes;
    return ACCEL_OK;
}

static int32_t release(const struct accel_host *host, void *memory)
{
    ((struct stub *)(uintptr_t)host)->blocks -= memory != NULL;
    free(memory);
    return ACCEL_OK;
}

static int32_t now(const struct accel_host *host, uint64_t *out_nanoseconds)
{
    struct timespec time;

    (void)host;
    clock_gettime(CLOCK_MONOTONIC, &time);
    *out_nanoseconds = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return ACCEL_OK;
}

void stub_init(struct stub *stub)
{
    memset(stub, 0, sizeof(*stub));
    stub->host = (struct accel_host){
        .size = sizeof(stub->host), .log = take_line, .allocate = allocate, .release = release, .clock = now};
}

struct job {
    pthread_t handle;
    accel_team_function function;
    void *argument;
    uint32_t thread, threads;
};

static void *work(void *argument)
{
    struct job *job = argument;

    job->function(job->argument, job->thread, job->threads);
    return NULL;
}

static int32_t run_team(const struct accel_team *team, uint32_t threads, accel_team_function function, void *argument,
                        struct accel_error *error)
{
    struct job jobs[4];

    (void)error;
    assert_in_range(threads, 1, team->threads);
    for (uint32_t r = 1; r < threads; r++) {
        jobs[r] = (struct job){.function = function, .argument = argument, .thread = r, .threads = threads};
        assert_int_equal(pthread_create(&jobs[r].handle, NULL, work, &jobs[r]), 0);
    }
    function(argument, 0, threads);
    for (uint32_t r = 1; r < threads; r++)
        pthread_join(jobs[r].handle, NULL);
    return ACCEL_OK;
}

const struct accel_team stub_team1 = {.size = sizeof(stub_team1), .threads = 1, .run = run_team};
const struct accel_team stub_team2 = {.size = sizeof(stub_team2), .threads = 2, .run = run_team};
const struct accel_team stub_team4 = {.size = sizeof(stub_team4), .threads = 4, .run = run_team};
