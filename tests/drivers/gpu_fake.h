/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A compute API in host memory for tests of sdk/gpu: submits run when somebody looks or waits, in order and behind
 * their waits, and only as many as the test allows. It knows one kernel, the sum of two arrays. What the library
 * requests against the rules of api.h is counted as a fault.
 */
#ifndef ACCEL_TESTS_DRIVERS_GPU_FAKE_H
#define ACCEL_TESTS_DRIVERS_GPU_FAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "sdk/gpu/api.h"
#include "tests/drivers/stub.h"

#define FAKE_FREE_RUN UINT32_MAX

struct fake {
    struct stub stub;     /**< first: the device finds its fake by its host */
    pthread_mutex_t lock; /**< of all queues, and of the host's counters */
    uint32_t allowed;     /**< submits that may still run, FAKE_FREE_RUN: all */
    uint32_t reads;       /**< gpu_limits.reads */
    uint32_t mapped;      /**< 1: the host sees the device's memory */
    uint32_t refuse_at;   /**< the submit that is refused, counted from 1; 0: none */
    uint32_t fail_at;     /**< the submit that fails when it runs */
    int32_t code;         /**< of both */
    uint32_t lost;        /**< 1: no queue comes back */
    uint32_t submits, runs;
    uint32_t memories, pipelines, lists, queues; /**< alive */
    uint32_t compiled;                           /**< pipelines made so far */
    uint32_t compiled_when_written;              /**< those of them that the cache was written with last */
    uint32_t written;                            /**< times that it was */
    int64_t counted[ACCEL_MEMORY_END];           /**< bytes told by account, by class */
    uint32_t faults;
    char fault[128]; /**< the first */
};

void fake_init(struct fake *fake);
void fake_end(struct fake *fake);
/** Bytes of a memory, whatever its kind. */
char *fake_bytes(struct gpu_memory *memory);

extern const struct gpu_api fake_api;

#endif
