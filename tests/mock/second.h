/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A second driver beside the cpu driver: the same code under another name, whose device is lost when the test says so.
 * Linked into the test, which attaches it.
 */
#ifndef ACCEL_TESTS_MOCK_SECOND_H
#define ACCEL_TESTS_MOCK_SECOND_H

#include <accel/driver.h>

struct second_control {
    uint64_t runs;   /* that the device has done */
    uint64_t losing; /* the run from which on it is lost, counted from 1; 0: it never is */
    int32_t (*before)(const char *slot, struct accel_error *error); /* NULL, or what a slot does first, by its name:
                                                                       "open", "claim", "estimate", "compile",
                                                                       "scratch", "set_create", "run", "set_free",
                                                                       "module_free", "close", "detach"; a failure is
                                                                       the answer of all but the frees */
    void (*after)(const char *slot, float *values, uint64_t count); /* NULL, or called for each output of a run */
    void (*claiming)(struct accel_claim *claim); /* NULL, or called before the driver's claim reaches the core */
    void (*estimating)(const struct accel_estimate_sink *sink); /* NULL, or called before the driver estimates */
    int32_t (*compiling)(const struct accel_task *task, struct accel_error *error); /* NULL, or the same of compile */
};

extern struct second_control second;

/** Loads the cpu driver's file and hands out the driver "second"; NULL where it cannot. */
const struct accel_driver *second_load(const char *path);

/** second_load of the cpu driver of the build under test, which ACCEL_TEST_BUILDDIR names. */
const struct accel_driver *second_load_built(void);

#endif
