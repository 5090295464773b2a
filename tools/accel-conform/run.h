/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The kit's own side: which tests run, each in a child process with a deadline, and what came of each. Nothing of the
 * driver is ever loaded here.
 */
#ifndef ACCEL_TOOLS_CONFORM_RUN_H
#define ACCEL_TOOLS_CONFORM_RUN_H

#include "tools/accel-conform/conform.h"

#define RUN_TEXT 1024u
#define RUN_DEVICES 16u
#define RUN_DEADLINE 120u /* seconds of one test where nobody says */
#define RUN_EXIT_FAILED 1
#define RUN_EXIT_USAGE 2

/** What the command line says. */
struct run_options {
    const char *driver;      /**< as it was given */
    char path[4096];         /**< absolute */
    const char *device;      /**< NULL: the first */
    const char *filter;      /**< shell pattern over names of tests, NULL: all */
    const char *known;       /**< file of expected failures, NULL: conformance.yaml beside the driver, where it is */
    const char *certificate; /**< NULL: in the user's cache */
    const char *child;       /**< name of the test to run in this process */
    const char *set[CONFORM_SETTINGS]; /**< options of the driver, "NAME=VALUE" */
    uint32_t set_count;
    uint64_t seed;
    uint32_t rounds;
    uint32_t cases;    /**< of a test at most; 0: all */
    uint32_t from;     /**< number of the first case of an operator that is run; 0: the first */
    uint32_t deadline; /**< seconds of one test */
    bool is_json, is_list;
};

enum run_state { RUN_PASSED, RUN_FAILED, RUN_SKIPPED, RUN_UNCLAIMED };

/** What came of one test. */
struct run_result {
    const struct conform_test *test;
    enum run_state state;
    bool is_expected; /**< a failure that is known, or a pass that is not expected when `state` is RUN_FAILED */
    uint32_t cases, unclaimed, failures;
    uint64_t nanoseconds;
    char text[RUN_TEXT]; /**< of the first failure, with its case; or why it was skipped */
    char rest[RUN_TEXT]; /**< last lines of the child's error output, where it failed */
};

/** What a driver says of itself. */
struct run_facts {
    char driver[64], version[64], device[128], name[256], detail[800], fingerprint[40], refused[800];
    char found[RUN_DEVICES][128];
    uint32_t found_count;
};

/** Runs one test in a child. `facts` may be NULL. False only where no child could be started; `error` says why. */
bool run_test(const struct run_options *options, const struct conform_test *test, struct run_facts *facts,
              struct run_result *out_result, struct accel_error *error);

/** The part of a test's name before its slash. */
void run_group(const char *name, char out_group[CONFORM_NAME]);

#endif
