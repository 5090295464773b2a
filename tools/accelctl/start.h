/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends the process of accelctl or of an external command of this tree. */
#ifndef ACCELCTL_START_H
#define ACCELCTL_START_H

/* Prepares standard files, signals and output, calls `act`, and flushes. Answers the exit code. */
int run_process(int (*act)(int count, char **arguments), int count, char **arguments);

#endif
