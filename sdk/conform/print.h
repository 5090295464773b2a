/* SPDX-License-Identifier: Apache-2.0 */
/** @file Prints what accel-conform finds: failures as they occur, and at the end the table of groups and the tests that
 * the driver does not claim. */
#ifndef ACCEL_SDK_CONFORM_PRINT_H
#define ACCEL_SDK_CONFORM_PRINT_H

#include <jansson.h>

#include "sdk/conform/run.h"

/** All results of a run. */
struct run_report {
    const struct run_options *options;
    const struct run_facts *facts;
    const struct run_result *results;
    uint32_t count;
    uint32_t passed, failed, skipped; /**< tests; `failed` without the expected failures */
    uint32_t unclaimed;               /**< tests of which the driver claims no case */
    uint32_t expected;                /**< failures that conformance.yaml lists */
    uint64_t cases;                   /**< cases that ran */
    bool is_cut;                      /**< the run ended early, since several tests hung */
};

/** Prints one result that is not a pass, immediately. */
void print_result(const struct run_options *options, const struct run_result *result);
/** Prints the summary of the run. */
void print_report(const struct run_report *report);
/** Returns a text of the driver as JSON; '?' stands for a character that was cut. */
json_t *text_json(const char *text);
/** Prints the report as JSON. */
void print_json(const struct run_report *report);

#endif
