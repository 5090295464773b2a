/* SPDX-License-Identifier: Apache-2.0 */
/** @file What accel-conform prints: a failure when it comes, the table of groups and what was not claimed at the end.
 */
#ifndef ACCEL_TOOLS_CONFORM_PRINT_H
#define ACCEL_TOOLS_CONFORM_PRINT_H

#include "tools/accel-conform/run.h"

/** All results of a run. */
struct run_report {
    const struct run_options *options;
    const struct run_facts *facts;
    const struct run_result *results;
    uint32_t count;
    uint32_t passed, failed, skipped, unclaimed, expected;
    uint64_t cases;
};

/** One result that is no pass, at once. */
void print_result(const struct run_options *options, const struct run_result *result);
/** The end of the run. */
void print_report(const struct run_report *report);
/** The same as JSON. */
void print_json(const struct run_report *report);

#endif
