/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parent's side of the kit: selects tests, runs each in a child process with a deadline, and collects the
 * results. The parent never loads the driver.
 */
#ifndef ACCEL_SDK_CONFORM_RUN_H
#define ACCEL_SDK_CONFORM_RUN_H

#include "sdk/conform/conform.h"
#include "sdk/conform/list.h"

#define RUN_TEXT 1024u
#define RUN_DEVICES 16u
#define RUN_DEADLINE 120u /* default deadline of one test, in seconds */
#define RUN_EXIT_FAILED 1
#define RUN_EXIT_USAGE 2

/** Parsed command line. */
struct run_options {
    const char *driver;      /**< as given on the command line */
    char path[4096];         /**< absolute path */
    const char *device;      /**< NULL: the first */
    const char *filter;      /**< shell pattern over test names; NULL: all */
    const char *known;       /**< file of known results; NULL: conformance.yaml beside the driver, if it exists */
    const char *certificate; /**< NULL: in the user's cache folder */
    const char *child;       /**< name of the test to run in this process */
    const char *set[CONFORM_SETTINGS]; /**< options of the driver, "NAME=VALUE" */
    uint32_t set_count;
    uint64_t seed;
    uint32_t rounds;
    uint32_t cases;    /**< most cases of a test; 0: all */
    uint32_t from;     /**< first case of an operator to run; 0: the first */
    uint32_t deadline; /**< seconds of one test */
    uint32_t jobs;     /**< tests that run at the same time */
    bool is_json, is_list;
};

enum run_state { RUN_PASSED, RUN_FAILED, RUN_SKIPPED, RUN_UNCLAIMED };

/** Result of one test. */
struct run_result {
    const struct conform_test *test;
    enum run_state state;
    bool is_expected; /**< `state` is RUN_FAILED, as conformance.yaml expects */
    bool has_hung;    /**< the deadline ended it */
    uint32_t cases, unclaimed, failures;
    uint64_t nanoseconds;
    char text[RUN_TEXT]; /**< first failure with its case, or why the test was skipped */
    char rest[RUN_TEXT]; /**< last lines of the child's error output if it failed */
};

/** Properties that a driver reports about itself. */
struct run_facts {
    char driver[64], version[64], device[128], name[256], detail[800], fingerprint[40], refused[800], build_id[200];
    char found[RUN_DEVICES][128];
    uint32_t found_count;
};

/** Runs one test in a child. `facts` may be NULL. Returns false only if no child could be started; `error` gives
 * the reason. */
bool run_test(const struct run_options *options, const struct conform_test *test, struct run_facts *facts,
              struct run_result *out_result, struct accel_error *error);

/** Copies the group of a test, which is its name up to the slash. */
void run_group(const char *name, char out_group[CONFORM_NAME]);

#endif
