/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A gang of threads that runs one function at the same time on several processors. The caller is rank 0; ranks may wait
 * for one another inside the function, for all of them really run.
 *
 * Between two runs a worker spins for a short time, since steps follow each other closely, and sleeps then. A run
 * allocates nothing and takes about a microsecond when the workers are awake.
 *
 * Where the threads are bound and the caller is not, a caller that finds itself on the processor of a worker moves to
 * cpus[0] before the run, if it may run there; it stays free to run elsewhere.
 *
 * Signals: workers block all but those that a fault of their own raises, so handlers run in the application's threads.
 * Floating point: for each run a worker takes over the caller's mode (rounding, flush to zero, traps), so that results
 * do not depend on which rank computes them; what a function changes in a worker lasts until the next run.
 */
#ifndef ACCEL_CORE_THREAD_POOL_H
#define ACCEL_CORE_THREAD_POOL_H

#include <accel/error.h>
#include <stdint.h>

#include "core/topology/topology.h"

struct accel_pool;

/** What a rank runs. */
typedef void accel_pool_function(void *argument, uint32_t rank, uint32_t ranks);

/** How long workers, and the caller at the end of a run, spin before they sleep. */
#define ACCEL_POOL_SPIN_NS 200000u

#define ACCEL_POOL_PIN_CALLER 1u /**< flag: also bind the thread that creates the pool, to cpus[0] */
#define ACCEL_POOL_NO_SPIN 2u    /**< flag: sleep at once, for machines that are shared */

/** In the list of processors: this thread is not bound. */
#define ACCEL_POOL_ANY_CPU UINT32_MAX

/** What the pool is made of. Read during accel_pool_create only, but for the topology. */
struct accel_pool_config {
    const struct accel_topology *topology; /**< outlives the pool; NULL: threads are not bound */
    const uint32_t *cpus;                  /**< [threads] as in accel_thread_plan; NULL: threads are not bound */
    uint32_t threads;                      /**< ranks that a run can have, the caller's included; 1 to 4096 */
    uint32_t flags;                        /**< ACCEL_POOL_... */
    uint32_t spin_ns;                      /**< 0: ACCEL_POOL_SPIN_NS; at most 1 ms */
};

/**
 * Starts the workers and waits until each is bound. A worker that the system does not let us bind runs unbound;
 * accel_pool_bound tells. ACCEL_E_INVALID, ACCEL_E_MEMORY, ACCEL_E_LIMIT (no more threads).
 */
int32_t accel_pool_create(const struct accel_pool_config *config, struct accel_pool **out_pool,
                          struct accel_error *error);

/**
 * Runs function(argument, rank, ranks) for each rank and returns when all have ended: what they wrote is visible then.
 * `ranks` is 1 to the pool's threads. One run at a time: ACCEL_E_BUSY from inside a run or beside one. ACCEL_E_FORKED
 * in a child, ACCEL_E_INVALID for ranks out of range. The function must return; there is no way to stop it from
 * outside.
 */
int32_t accel_pool_run(struct accel_pool *pool, uint32_t ranks, accel_pool_function *function, void *argument,
                       struct accel_error *error);

/** Ranks that a run can have. */
uint32_t accel_pool_threads(const struct accel_pool *pool);

/** Threads that are bound to a processor. */
uint32_t accel_pool_bound(const struct accel_pool *pool);

/** Ends the workers and frees the pool; NULL is fine. No run may be in flight. In a child only the memory is freed. */
void accel_pool_free(struct accel_pool *pool);

#endif
