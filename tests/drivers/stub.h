/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A host for tests of the driver library alone: memory that is counted and that can run out, and teams of real threads.
 */
#ifndef ACCEL_TESTS_DRIVERS_STUB_H
#define ACCEL_TESTS_DRIVERS_STUB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/driver.h>

struct stub {
    struct accel_host host;
    uint32_t blocks;                  /**< alive */
    uint32_t calls;                   /**< of allocate so far */
    uint32_t fail_at;                 /**< the call that fails, counted from 1; 0: none */
    uint32_t lines;                   /**< of log */
    uint64_t taken[ACCEL_MEMORY_END]; /**< bytes of each class, those of blocks that are gone too */
};

void stub_init(struct stub *stub);

/** Starts `threads` threads for every run. Static. */
extern const struct accel_team stub_team1, stub_team2, stub_team4;

#endif
