/* SPDX-License-Identifier: Apache-2.0 */
/** @file A thread team that runs one function at the same time on several processors. The caller has thread index 0;
 * threads may wait for one another inside the function, since all of them run concurrently.
 * Between two runs a worker spins for a short time, since steps follow each other closely, and then sleeps. A run
 * allocates nothing and takes about a microsecond when the workers are awake.
 * If the threads are bound and the caller is not, a caller that runs on the processor of a worker moves to cpus[0]
 * before the run, if it may run there; it stays free to run elsewhere.
 * Signals: workers block all but those that a fault of their own raises, so handlers run in the application's threads.
 * Floating point: for each run a worker copies the caller's mode (rounding, flush to zero, traps), so that results do
 * not depend on which thread computes them; changes that a function makes in a worker last until the next run. */
#ifndef ACCEL_CORE_THREAD_POOL_H
#define ACCEL_CORE_THREAD_POOL_H

#include <stdint.h>

#include <accel/error.h>

#include "core/topology/topology.h"

struct accel_pool;

/** Function that each thread of a run calls; `thread` is the thread index. */
typedef void accel_pool_function(void *argument, uint32_t thread, uint32_t threads);

/** Time that workers, and the caller at the end of a run, spin before they sleep. */
#define ACCEL_POOL_SPIN_NS 200000u

#define ACCEL_POOL_PIN_CALLER 1u /**< flag: also bind the thread that creates the pool, to cpus[0] */
#define ACCEL_POOL_NO_SPIN 2u    /**< flag: sleep at once, for shared machines */

/** Entry in the list of processors of a thread that is not bound. */
#define ACCEL_POOL_ANY_CPU UINT32_MAX

/** Configuration of a pool. Only read by accel_pool_create, except for the topology. */
struct accel_pool_config {
    const struct accel_topology *topology; /**< outlives the pool; NULL: threads are not bound */
    const uint32_t *cpus;                  /**< [threads] as in accel_thread_plan; NULL: threads are not bound */
    uint32_t threads;                      /**< maximum threads of a run, including the caller; 1 to 4096 */
    uint32_t flags;                        /**< ACCEL_POOL_... */
    uint32_t spin_ns;                      /**< 0: ACCEL_POOL_SPIN_NS; at most 1 ms */
};

/** Starts the workers and waits until each is bound. A worker that cannot be bound runs unbound; accel_pool_bound
 * returns how many are bound. ACCEL_E_INVALID, ACCEL_E_MEMORY, ACCEL_E_LIMIT (no more threads). */
int32_t accel_pool_create(const struct accel_pool_config *config, struct accel_pool **out_pool,
                          struct accel_error *error);

/** Runs function(argument, index, threads) on `threads` threads and returns when all have ended: their writes are
 * visible then. `threads` is 1 to the pool's threads. One run at a time: ACCEL_E_BUSY from inside a run or
 * concurrent with one. ACCEL_E_FORKED in a child, ACCEL_E_INVALID for `threads` out of range. The function must
 * return; it cannot be stopped from outside. */
int32_t accel_pool_run(struct accel_pool *pool, uint32_t threads, accel_pool_function *function, void *argument,
                       struct accel_error *error);

/** Returns the number of threads that are bound to a processor. */
uint32_t accel_pool_bound(const struct accel_pool *pool);

/** Stops the workers and frees the pool; NULL is fine. No run may be in flight. A child only frees the memory. */
void accel_pool_free(struct accel_pool *pool);

#endif
