/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_EXTERNAL_H
#define ACCELCTL_EXTERNAL_H

/* Becomes the program of a verb that this command does not have; returns where there is none. `arguments` are those of
 * the command from the verb on, ended by NULL. */
void run_external(const char *verb, char **arguments);

#endif
