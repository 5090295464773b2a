/* SPDX-License-Identifier: Apache-2.0 */
/** @file What the two files of the asynchronous mock share. */
#ifndef ACCEL_TESTS_MOCK_ASYNC_INTERNAL_H
#define ACCEL_TESTS_MOCK_ASYNC_INTERNAL_H

#include "tests/mock/async.h"

#define ASYNC_STEPS 4u
#define ASYNC_WAITS 4u
#define ASYNC_INLINE 64u
#define ASYNC_QUEUES 8u

struct async_buffer {
    struct accel_driver_buffer base;
    const struct accel_host *host;
    uint64_t bytes;
    uint32_t users; /* steps in flight */
    uint32_t zero;
    char memory[];
};

struct async_state {
    struct accel_driver_state base;
    const struct accel_host *host;
    uint64_t slots;
    uint64_t row_bytes; /* of the one part */
    uint32_t users;
    uint32_t zero;
    char memory[];
};

struct async_weights {
    struct accel_driver_weights base;
    const struct accel_host *host;
    uint64_t users; /* sets */
    char key[32];
    uint64_t bytes;
    float memory[16];
};

struct async_set {
    struct accel_driver_set base;
    const struct accel_host *host;
    struct async_buffer *x;
    struct async_buffer *y;
    struct async_weights *w;
    struct async_module *module;
    uint64_t width;
    uint32_t users;
    uint32_t zero;
};

struct async_module {
    struct accel_driver_module base;
    const struct accel_host *host;
    const struct accel_graph *graph;
    uint64_t users; /* sets */
};

/* A copy of a step, as a device would have it. */
struct async_step {
    struct accel_driver_step step;
    uint64_t symbol;
    char data[ASYNC_INLINE];
    struct accel_state_change change;
};

struct async_submit {
    struct async_step steps[ASYNC_STEPS];
    struct accel_driver_fence waits[ASYNC_WAITS];
    uint32_t step_count;
    uint32_t wait_count;
    uint64_t value;
};

struct async_queue {
    struct accel_driver_queue base;
    const struct accel_host *host;
    struct async_submit submits[ASYNC_IN_FLIGHT]; /* ring */
    uint32_t first;
    uint32_t count;
    uint64_t last;      /* value handed out */
    uint64_t completed; /* without failure */
    uint64_t failed;    /* first value that failed, 0: none */
    int32_t failed_code;
    uint32_t cancelled;
};

int32_t async_fail(struct accel_error *error, int32_t code, const char *text);
/** At the beginning of a slot: fails when it is the call that is to fail. */
int32_t async_enter(const char *slot, struct accel_error *error);
int32_t async_make(const char *slot, const struct accel_host *host, uint32_t memory_class, uint64_t bytes, void **out,
                   struct accel_error *error);
void async_unmake(const struct accel_host *host, void *handle);
int32_t async_queue_create(struct accel_driver_device *base, struct accel_driver_queue **out_queue,
                           struct accel_error *error);
/** The host of a device. */
const struct accel_host *async_host(struct accel_driver_device *base);

#endif
