/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_EXTERNAL_H
#define ACCELCTL_EXTERNAL_H

#include "tools/accelctl/command.h"

/* Replaces the process by the program of an external command; returns if there is none. `arguments` are those of
 * accelctl from the command on, ended by NULL. */
void run_external(const char *command, char **arguments);

/* Runs a command whose row is here and whose program is in the folder of helpers; the `run` of such a row. */
int run_helper(int count, char **arguments, const struct command *command);

/* Runs doctor or snapshot, whose program is accelctl-doctor; the `run` of their rows. */
int run_doctor(int count, char **arguments, const struct command *command);

#endif
