/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An asynchronous driver with a manual clock, for tests of the queue path. It has queues, buffers, states and weights
 * of its own; nothing that is submitted happens before async_tick, or before a wait without a deadline, which ticks by
 * itself. It is linked into the test and attached by accel_context_attach_driver. Its operator is that of direct.h.
 * When memory is freed that a step in flight uses, or an object before those that were made of it, it counts a sin.
 */
#ifndef ACCEL_TESTS_MOCK_ASYNC_H
#define ACCEL_TESTS_MOCK_ASYNC_H

#include <accel/driver.h>

/** Submits of one queue that may be in flight. */
#define ASYNC_IN_FLIGHT 4u

struct async_control {
    int32_t step_code;   /* the next step that runs fails so */
    int32_t create_code; /* answer of buffer_create, state_create, queue_create, weights_create */
    uint32_t lost;       /* 1: the device is gone */
    uint32_t no_map;     /* 1: the host cannot see buffers */
    uint32_t silent;     /* 1: wrong value from submit */
    uint32_t alive;      /* handles made and not freed */
    uint32_t in_flight;  /* submits that have not ended */
    uint32_t sins;       /* handles freed while a step in flight used them */
    uint32_t ran;        /* steps that ran */
    uint32_t pulls;
    uint32_t devices;    /* that are open */
    uint32_t calls;      /* of slots, since the last reset */
    uint32_t fail_at;    /* the call that fails, the first is 1; 0: none */
    int32_t fail_code;   /* with this */
    uint32_t fail_quiet; /* 1: without a text */
    const char *fail_in; /* the slot that was called then */
};

extern struct async_control async;
extern const struct accel_driver async_driver;

/** All defaults. */
void async_reset(void);

/** Lets one submit end, the oldest whose waits are reached. Returns 0 when there is none. */
uint32_t async_tick(void);

#endif
