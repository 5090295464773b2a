/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of accelctl-doctor. Each parses its options, prints and returns an exit code. */
#ifndef DOCTOR_COMMANDS_H
#define DOCTOR_COMMANDS_H

/* Runs the command doctor. */
int report_machine(int count, char **arguments);

/* Runs the command snapshot. */
int record_machine(int count, char **arguments);

#endif
