/* SPDX-License-Identifier: Apache-2.0 */
/* The gang pool: all threads run at once, errors, sleep and wake-up, signals, floating-point mode, fork. */
#define _GNU_SOURCE
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/caller_state.h"
#include "core/thread/pool.h"

#define MOST 8

/* Ranks meet here only if all of them run at the same time. */
struct meeting {
    _Atomic uint32_t arrived;
    uint32_t sums[MOST];
    uint32_t rounds;
};

static void meet(void *argument, uint32_t thread, uint32_t threads)
{
    struct meeting *meeting = argument;
    meeting->sums[thread] += thread + 1;
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < threads)
        sched_yield();
    if (thread == 0)
        meeting->rounds++;
}

static struct accel_pool *make_pool(uint32_t threads, uint32_t flags)
{
    struct accel_pool_config config = {.threads = threads, .flags = flags};
    struct accel_error error = {0};
    struct accel_pool *pool = NULL;
    assert_int_equal(accel_pool_create(&config, &pool, &error), ACCEL_OK);
    assert_non_null(pool);
    assert_int_equal(accel_pool_run(pool, threads + 1, meet, NULL, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_pool_bound(pool), 0);
    return pool;
}

static void run_meetings(struct accel_pool *pool, uint32_t most, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        struct meeting meeting = {0};
        uint32_t threads = 1 + i % most;
        assert_int_equal(accel_pool_run(pool, threads, meet, &meeting, NULL), ACCEL_OK);
        assert_int_equal(meeting.rounds, 1);
        for (uint32_t thread = 0; thread < MOST; thread++)
            assert_int_equal(meeting.sums[thread], thread < threads ? thread + 1 : 0);
    }
}

static void threads_run_together(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct accel_pool *pool = make_pool(threads, 0);
        run_meetings(pool, threads, 200);
        accel_pool_free(pool);
    }
}

static void sleepers_wake(void **state)
{
    struct accel_pool *pool = make_pool(3, ACCEL_POOL_NO_SPIN);
    (void)state;
    run_meetings(pool, 3, 500);
    accel_pool_free(pool);
    pool = make_pool(2, 0);
    for (int i = 0; i < 5; i++) {
        /* Longer than the workers spin. */
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        run_meetings(pool, 2, 2);
    }
    accel_pool_free(pool);
}

static void create_refuses(void **state)
{
    static const struct accel_pool_config cases[] = {
        {.threads = 0}, {.threads = 5000}, {.threads = 1, .flags = 8}, {.threads = 1, .spin_ns = 2000000}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel_error error = {0};
        struct accel_pool *pool = (struct accel_pool *)&error;
        assert_int_equal(accel_pool_create(&cases[i], &pool, &error), ACCEL_E_INVALID);
        assert_null(pool);
        assert_true(error.text[0] != '\0');
    }
    accel_pool_free(NULL);
}

struct nested {
    struct accel_pool *pool;
    int32_t code;
};

static void run_again(void *argument, uint32_t thread, uint32_t threads)
{
    struct nested *nested = argument;
    struct meeting meeting = {0};
    (void)threads;
    if (thread == 0)
        nested->code = accel_pool_run(nested->pool, 1, meet, &meeting, NULL);
}

static void run_refuses(void **state)
{
    struct accel_pool *pool = make_pool(2, 0);
    struct nested nested = {.pool = pool};
    struct meeting meeting = {0};
    (void)state;
    assert_int_equal(accel_pool_run(pool, 0, meet, &meeting, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_pool_run(pool, 3, meet, &meeting, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_pool_run(pool, 1, NULL, &meeting, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_pool_run(pool, 2, run_again, &nested, NULL), ACCEL_OK);
    assert_int_equal(nested.code, ACCEL_E_BUSY);
    run_meetings(pool, 2, 4);
    accel_pool_free(pool);
}

static void look_at_signals(void *argument, uint32_t thread, uint32_t threads)
{
    sigset_t *masks = argument;
    (void)threads;
    pthread_sigmask(SIG_BLOCK, NULL, &masks[thread]);
}

static void workers_block_signals(void **state)
{
    struct accel_pool *pool = make_pool(2, 0);
    sigset_t masks[2];
    (void)state;
    assert_int_equal(accel_pool_run(pool, 2, look_at_signals, masks, NULL), ACCEL_OK);
    assert_int_equal(sigismember(&masks[0], SIGINT), 0);
    assert_int_equal(sigismember(&masks[1], SIGINT), 1);
    assert_int_equal(sigismember(&masks[1], SIGTERM), 1);
    /* A fault of the worker itself must reach the application's handler. */
    assert_int_equal(sigismember(&masks[1], SIGBUS), 0);
    assert_int_equal(sigismember(&masks[1], SIGSEGV), 0);
    accel_pool_free(pool);
}

static void look_at_mode(void *argument, uint32_t thread, uint32_t threads)
{
    uint64_t *modes = argument;
    (void)threads;
    modes[thread] = accel_float_mode_get();
}

static void workers_take_the_float_mode(void **state)
{
#if defined(__x86_64__)
    struct accel_pool *pool = make_pool(2, 0);
    uint64_t before = accel_float_mode_get();
    uint64_t modes[2] = {0};
    (void)state;
    accel_float_mode_set(before | 0x8040);
    accel_pool_run(pool, 2, look_at_mode, modes, NULL);
    accel_float_mode_set(before);
    assert_true(modes[1] == (before | 0x8040));
    accel_pool_run(pool, 2, look_at_mode, modes, NULL);
    assert_true(modes[1] == before);
    accel_pool_free(pool);
#else
    (void)state;
    (void)look_at_mode;
    skip();
#endif
}

static void child_is_told(void **state)
{
    struct accel_pool *pool = make_pool(2, 0);
    int status = -1;
    pid_t child;
    (void)state;
    child = fork();
    if (child == 0) {
        struct meeting meeting = {0};
        struct accel_error error = {0};
        int32_t code = accel_pool_run(pool, 2, meet, &meeting, &error);
        bool told = code == ACCEL_E_FORKED && meeting.rounds == 0 && strstr(error.text, "parent") != NULL;
        accel_pool_free(pool);
        _exit(told ? 42 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    run_meetings(pool, 2, 4);
    accel_pool_free(pool);
}

static void look_at_cpu(void *argument, uint32_t thread, uint32_t threads)
{
    cpu_set_t *sets = argument;
    (void)threads;
    pthread_getaffinity_np(pthread_self(), sizeof(sets[thread]), &sets[thread]);
}

static void workers_are_bound(void **state)
{
    struct accel_topology_source source = {0};
    struct accel_thread_policy policy = {0};
    struct accel_pool_config config = {0};
    struct accel_thread_plan plan;
    struct accel_topology *topology;
    struct accel_error error = {0};
    struct accel_pool *pool;
    cpu_set_t sets[MOST];
    (void)state;
    assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_OK);
    assert_int_equal(accel_topology_threads(topology, &policy, &plan, &error), ACCEL_OK);
    config.topology = topology;
    config.cpus = plan.cpus;
    config.threads = plan.count > MOST ? MOST : plan.count;
    assert_int_equal(accel_pool_create(&config, &pool, &error), ACCEL_OK);
    assert_int_equal(accel_pool_run(pool, config.threads, look_at_cpu, sets, &error), ACCEL_OK);
    if (accel_pool_bound(pool) == config.threads - 1)
        for (uint32_t thread = 1; thread < config.threads; thread++) {
            assert_int_equal(CPU_COUNT(&sets[thread]), 1);
            assert_true(CPU_ISSET(plan.cpus[thread], &sets[thread]));
        }
    accel_pool_free(pool);
    for (uint32_t thread = 0; thread < config.threads; thread++)
        plan.cpus[thread] = ACCEL_POOL_ANY_CPU;
    assert_int_equal(accel_pool_create(&config, &pool, &error), ACCEL_OK);
    assert_int_equal(accel_pool_bound(pool), 0);
    accel_pool_free(pool);
    accel_thread_plan_free(&plan);
    accel_topology_free(topology);
}

/* A caller that sits on the processor of a worker makes way, and may run everywhere afterwards. */
static void caller_makes_way(void **state)
{
    struct accel_topology_source source = {0};
    struct accel_pool_config config = {.threads = 2};
    struct accel_topology *topology;
    struct accel_error error = {0};
    struct accel_pool *pool;
    cpu_set_t all, one, after, sets[2];
    uint32_t cpus[2], found = 0;
    (void)state;
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof(all), &all), 0);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &all))
            cpus[found++] = cpu;
    if (found < 2) {
        print_message("skipped: one processor\n");
        skip();
    }
    assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_OK);
    config.topology = topology;
    config.cpus = cpus;
    assert_int_equal(accel_pool_create(&config, &pool, &error), ACCEL_OK);
    CPU_ZERO(&one);
    CPU_SET(cpus[1], &one);
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
    assert_int_equal(sched_getcpu(), (int)cpus[1]);
    /* It may not run elsewhere: it stays. */
    assert_int_equal(accel_pool_run(pool, 2, look_at_cpu, sets, &error), ACCEL_OK);
    assert_true(CPU_EQUAL(&sets[0], &one));
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(all), &all), 0);
    assert_int_equal(accel_pool_run(pool, 2, look_at_cpu, sets, &error), ACCEL_OK);
    assert_true(CPU_EQUAL(&sets[0], &all));
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&after, &all));
    accel_pool_free(pool);
    accel_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_run_together),  cmocka_unit_test(sleepers_wake),
        cmocka_unit_test(create_refuses),        cmocka_unit_test(run_refuses),
        cmocka_unit_test(workers_block_signals), cmocka_unit_test(workers_take_the_float_mode),
        cmocka_unit_test(child_is_told),         cmocka_unit_test(workers_are_bound),
        cmocka_unit_test(caller_makes_way),
    };
    /* hwloc's own plugin objects have no place in this process, and some leak. */
    setenv("HWLOC_PLUGINS_PATH", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
