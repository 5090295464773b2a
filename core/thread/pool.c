/* SPDX-License-Identifier: Apache-2.0 */
/* Thread pool. Each worker has a slot on its own cache lines: the caller writes the order and then increments `go`, so
 * a run costs one line per worker in and one counter for all out. A sleeper announces itself before its last read of
 * `go`, and the caller increments before it checks for sleepers; sequential consistency shows one of them the other. */
#include "config.h"

#include "core/thread/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/caller_state.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fork.h"
#include "core/thread/system.h"

#define LINE 64
#define MOST_THREADS 4096u
#define MOST_SPIN_NS 1000000u
/* Number of spin iterations between reads of the clock; an iteration takes 15 to 60 ns. */
#define SPIN_BATCH 32
#define STACK_BYTES ((size_t)2 << 20)

struct slot {
    _Alignas(LINE) _Atomic uint32_t go; /* number of orders */
    _Atomic uint32_t asleep;
    uint32_t threads;
    uint32_t thread;
    uint32_t cpu; /* processor that the thread is bound to, or ACCEL_POOL_ANY_CPU */
    uint32_t zero;
    accel_pool_function *function; /* NULL: end */
    void *argument;
    uint64_t float_mode;
    struct accel_pool *pool;
    pthread_t handle;
};

struct accel_pool {
    _Alignas(LINE) _Atomic uint32_t pending; /* workers that have not completed their order */
    _Atomic uint32_t caller_asleep;
    _Alignas(LINE) _Atomic uint32_t busy;
    _Atomic uint32_t bound;
    uint32_t threads;
    uint32_t started; /* workers, with indices 1 .. started */
    uint32_t spin_ns;
    const struct accel_topology *topology;
    const uint32_t *cpus; /* only while the pool is created */
    struct accel_fork_guard fork;
    struct slot *slots; /* [threads]; slot 0, the caller's, uses only the processor: where it would be bound */
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until the word is (or is no longer) `value`. False: timeout. */
static bool spin(_Atomic uint32_t *word, uint32_t value, bool equal, uint32_t spin_ns)
{
    uint64_t start = 0;
    if ((atomic_load_explicit(word, memory_order_acquire) == value) == equal)
        return true;
    while (spin_ns > 0) {
        uint64_t now;
        for (int i = 0; i < SPIN_BATCH; i++) {
            relax();
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == equal)
                return true;
        }
        now = accel_clock_ns();
        if (start == 0)
            start = now;
        if (now - start >= spin_ns)
            break;
    }
    return false;
}

static uint32_t await_order(struct slot *slot, uint32_t seen)
{
    if (!spin(&slot->go, seen, false, slot->pool->spin_ns)) {
        atomic_store(&slot->asleep, 1);
        while (atomic_load(&slot->go) == seen)
            thread_wait(&slot->go, seen);
        atomic_store_explicit(&slot->asleep, 0, memory_order_relaxed);
    }
    return atomic_load_explicit(&slot->go, memory_order_acquire);
}

static void report_end(struct accel_pool *pool)
{
    if (atomic_fetch_sub(&pool->pending, 1) == 1 && atomic_load(&pool->caller_asleep))
        thread_wake(&pool->pending);
}

static void await_workers(struct accel_pool *pool)
{
    uint32_t left;
    if (spin(&pool->pending, 0, true, pool->spin_ns))
        return;
    atomic_store(&pool->caller_asleep, 1);
    while ((left = atomic_load(&pool->pending)) != 0)
        thread_wait(&pool->pending, left);
    atomic_store_explicit(&pool->caller_asleep, 0, memory_order_relaxed);
}

/* Binds the calling thread if its index has a processor, and counts it. */
static void bind_thread(struct accel_pool *pool, uint32_t thread)
{
    if (pool->topology == NULL || pool->cpus == NULL || pool->cpus[thread] == ACCEL_POOL_ANY_CPU)
        return;
    if (accel_topology_bind(pool->topology, pool->cpus[thread], NULL) != ACCEL_OK)
        return;
    pool->slots[thread].cpu = pool->cpus[thread];
    atomic_fetch_add(&pool->bound, 1);
}

/* Moves an unbound caller off the processor of a bound worker: both would take turns until the scheduler notices. */
static void leave_worker_cpu(const struct accel_pool *pool, uint32_t threads)
{
    uint32_t cpu;
    if (pool->slots[0].cpu == ACCEL_POOL_ANY_CPU || atomic_load_explicit(&pool->bound, memory_order_relaxed) == 0)
        return;
    cpu = thread_processor();
    for (uint32_t thread = 1; thread < threads && cpu != pool->slots[0].cpu; thread++) {
        if (pool->slots[thread].cpu == cpu) {
            thread_move(pool->slots[0].cpu);
            return;
        }
    }
}

static void prepare_worker(const struct slot *slot)
{
    char name[16];
    snprintf(name, sizeof(name), "accel-%u", slot->thread);
    pthread_setname_np(pthread_self(), name);
    bind_thread(slot->pool, slot->thread);
}

static void *worker(void *argument)
{
    struct slot *slot = argument;
    uint32_t seen = 0;
    prepare_worker(slot);
    report_end(slot->pool);
    for (;;) {
        seen = await_order(slot, seen);
        if (slot->function == NULL)
            return NULL;
        if (slot->float_mode != accel_float_mode_get())
            accel_float_mode_set(slot->float_mode);
        slot->function(slot->argument, slot->thread, slot->threads);
        report_end(slot->pool);
    }
}

static void send_order(struct slot *slot, uint32_t threads, accel_pool_function *function, void *argument,
                       uint64_t float_mode)
{
    uint32_t go = atomic_load_explicit(&slot->go, memory_order_relaxed);
    slot->threads = threads;
    slot->function = function;
    slot->argument = argument;
    slot->float_mode = float_mode;
    atomic_store(&slot->go, go + 1);
    if (atomic_load(&slot->asleep))
        thread_wake(&slot->go);
}

static int start_worker(struct accel_pool *pool, uint32_t thread, const pthread_attr_t *attributes)
{
    struct slot *slot = &pool->slots[thread];
    int failure;
    slot->pool = pool;
    slot->thread = thread;
    atomic_fetch_add(&pool->pending, 1);
    failure = pthread_create(&slot->handle, attributes, worker, slot);
    if (failure == 0)
        pool->started = thread;
    else
        atomic_fetch_sub(&pool->pending, 1);
    return failure;
}

/* Blocks signals, except faults: one that is blocked would end the process without calling its handler. */
static void block_signals(sigset_t *out_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, out_before);
}

static int32_t start_workers(struct accel_pool *pool, struct accel_error *error)
{
    pthread_attr_t attributes;
    sigset_t before;
    int failure = pthread_attr_init(&attributes);
    if (failure == 0) {
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        block_signals(&before);
        for (uint32_t thread = 1; thread < pool->threads && failure == 0; thread++)
            failure = start_worker(pool, thread, &attributes);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    await_workers(pool);
    if (failure == 0)
        return ACCEL_OK;
    accel_error_by(error, ACCEL_FROM_SYSTEM, ACCEL_E_LIMIT, "cannot start thread %u of %u (errno %d)",
                   pool->started + 1, pool->threads, failure);
    accel_error_remedy(error, "request fewer threads, or raise the limit of processes (ulimit -u, pids.max) or memory "
                              "(ulimit -v)");
    return ACCEL_E_LIMIT;
}

static int32_t check_config(const struct accel_pool_config *config, struct accel_error *error)
{
    if (config->threads == 0 || config->threads > MOST_THREADS)
        return accel_error_set(error, ACCEL_E_INVALID, "a pool of %u threads; allowed are 1 to %u", config->threads,
                               MOST_THREADS);
    if (config->flags & ~(ACCEL_POOL_PIN_CALLER | ACCEL_POOL_NO_SPIN))
        return accel_error_set(error, ACCEL_E_INVALID, "unknown bits in the flags of a pool: 0x%x", config->flags);
    if (config->spin_ns > MOST_SPIN_NS)
        return accel_error_set(error, ACCEL_E_INVALID, "a pool that spins for %u ns; allowed are at most %u ns",
                               config->spin_ns, MOST_SPIN_NS);
    return ACCEL_OK;
}

static struct accel_pool *allocate(uint32_t threads)
{
    struct accel_pool *pool = aligned_alloc(LINE, sizeof(*pool));
    struct slot *slots = aligned_alloc(LINE, threads * sizeof(*slots));
    if (pool == NULL || slots == NULL) {
        free(pool);
        free(slots);
        return NULL;
    }
    memset(pool, 0, sizeof(*pool));
    memset(slots, 0, threads * sizeof(*slots));
    for (uint32_t thread = 0; thread < threads; thread++)
        slots[thread].cpu = ACCEL_POOL_ANY_CPU;
    pool->slots = slots;
    pool->threads = threads;
    return pool;
}

int32_t accel_pool_create(const struct accel_pool_config *config, struct accel_pool **out_pool,
                          struct accel_error *error)
{
    struct accel_pool *pool;
    int32_t code = check_config(config, error);
    *out_pool = NULL;
    if (code != ACCEL_OK)
        return code;
    pool = allocate(config->threads);
    if (pool == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "out of memory for a pool of %u threads", config->threads);
    pool->topology = config->topology;
    pool->cpus = config->cpus;
    if (config->topology != NULL && config->cpus != NULL)
        pool->slots[0].cpu = config->cpus[0];
    if (!(config->flags & ACCEL_POOL_NO_SPIN))
        pool->spin_ns = config->spin_ns ? config->spin_ns : ACCEL_POOL_SPIN_NS;
    accel_fork_guard_open(&pool->fork);
    code = start_workers(pool, error);
    if (code == ACCEL_OK && (config->flags & ACCEL_POOL_PIN_CALLER))
        bind_thread(pool, 0);
    pool->cpus = NULL;
    if (code != ACCEL_OK) {
        accel_pool_free(pool);
        return code;
    }
    *out_pool = pool;
    return ACCEL_OK;
}

static int32_t refuse_run(const struct accel_pool *pool, uint32_t threads, struct accel_error *error)
{
    if (accel_fork_guard_is_child(&pool->fork))
        return accel_error_set(error, ACCEL_E_FORKED, "the threads of this pool live in the parent process");
    return accel_error_set(error, ACCEL_E_INVALID, "a run of %u threads in a pool of %u threads", threads,
                           pool->threads);
}

int32_t accel_pool_run(struct accel_pool *pool, uint32_t threads, accel_pool_function *function, void *argument,
                       struct accel_error *error)
{
    if (threads == 0 || threads > pool->threads || function == NULL || accel_fork_guard_is_child(&pool->fork))
        return refuse_run(pool, threads, error);
    if (atomic_exchange_explicit(&pool->busy, 1, memory_order_acquire))
        return accel_error_set(error, ACCEL_E_BUSY, "the pool is busy with another run");
    if (threads > 1) {
        uint64_t float_mode = accel_float_mode_get();
        leave_worker_cpu(pool, threads);
        atomic_store_explicit(&pool->pending, threads - 1, memory_order_relaxed);
        for (uint32_t thread = 1; thread < threads; thread++)
            send_order(&pool->slots[thread], threads, function, argument, float_mode);
    }
    function(argument, 0, threads);
    if (threads > 1)
        await_workers(pool);
    atomic_store_explicit(&pool->busy, 0, memory_order_release);
    return ACCEL_OK;
}

uint32_t accel_pool_bound(const struct accel_pool *pool)
{
    return atomic_load(&pool->bound);
}

void accel_pool_free(struct accel_pool *pool)
{
    if (pool == NULL)
        return;
    if (!accel_fork_guard_is_child(&pool->fork)) {
        for (uint32_t thread = 1; thread <= pool->started; thread++)
            send_order(&pool->slots[thread], 0, NULL, NULL, 0);
        for (uint32_t thread = 1; thread <= pool->started; thread++)
            pthread_join(pool->slots[thread].handle, NULL);
    }
    accel_fork_guard_close(&pool->fork);
    free(pool->slots);
    free(pool);
}
