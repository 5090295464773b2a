/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A driver of one operator that runs in the caller's thread, for tests of what the core supplies around `run`: it has
 * no queue, buffer, state or weights of its own. It is linked into the test and attached by
 * accel_context_attach_driver. What it does wrong is set in `direct` before the call that is to fail.
 */
#ifndef ACCEL_TESTS_MOCK_DIRECT_H
#define ACCEL_TESTS_MOCK_DIRECT_H

#include <accel/driver.h>

/** What the driver is told, and what it saw. */
struct direct_control {
    int32_t attach_code; /* answers of slots; ACCEL_OK: works */
    int32_t open_code;
    int32_t compile_code;
    int32_t set_code;
    int32_t run_code;
    uint32_t no_handle;                     /* 1: open succeeds without a handle */
    uint32_t silent_claim;                  /* 1: claim says nothing of any node */
    uint32_t claim_answer;                  /* 0: native */
    uint32_t placement;                     /* of weights, 0: mapped */
    uint64_t alignment;                     /* of weights */
    uint64_t scratch_bytes;                 /* that sets ask for */
    uint32_t noop;                          /* 1: run does nothing */
    const struct accel_facts *const *facts; /* what enumerate gives, NULL: one device "d0" */
    uint32_t fact_count;
    const struct accel_device_table *device_table; /* of devices, NULL: direct_device_table */
    uint32_t alive;                                /* handles that were made and not freed */
    uint32_t runs;
    void *scratch;      /* of the last set */
    const void *weight; /* address of the last set's weight */
    uint32_t threads_seen;
    void (*on_slot)(const char *slot); /* called by attach, enumerate, open, compile, close, detach */
    void (*on_run)(void *data);        /* called by run, NULL: not */
    void *on_run_data;
    struct accel_setting setting; /* the last one that open was given, with its word in `setting_text` */
    char setting_text[16];
};

extern struct direct_control direct;
extern const struct accel_driver direct_driver;
extern const struct accel_device_table direct_device_table;

/** All defaults. */
void direct_reset(void);

/** Facts of the device that it gives by default. */
const struct accel_facts *direct_facts(void);

#endif
