/* SPDX-License-Identifier: Apache-2.0 */
/** @file The command line of the kit: one table of options defines both the parser and the help text. */
#ifndef ACCEL_SDK_CONFORM_OPTIONS_H
#define ACCEL_SDK_CONFORM_OPTIONS_H

#include "sdk/conform/run.h"

/** Parses the command line into zeroed options. Returns -1 to continue, otherwise the exit status. */
int options_read(struct run_options *options, int count, char **arguments);

/** Returns whether options omit or change tests. A certificate requires all tests: a partial run proves nothing. */
bool options_are_partial(const struct run_options *options);

/** Prints to the error output why nothing runs, and returns the exit status. */
int options_complain(const char *text, const char *value);

#endif
