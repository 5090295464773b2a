/* SPDX-License-Identifier: Apache-2.0 */
/** @file The command line of the kit: one table of options, from which reading and the help text both come. */
#ifndef ACCEL_TOOLS_CONFORM_OPTIONS_H
#define ACCEL_TOOLS_CONFORM_OPTIONS_H

#include "tools/accel-conform/run.h"

/** Fills the options, which are zeroed, with what the command line says. -1: go on; else the exit status. */
int options_read(struct run_options *options, int count, char **arguments);

/** Whether some tests are left out or changed. A certificate is of all tests: a part of them proves nothing. */
bool options_are_partial(const struct run_options *options);

/** Says on the error output why nothing runs, and answers the exit status. */
int options_complain(const char *text, const char *value);

#endif
