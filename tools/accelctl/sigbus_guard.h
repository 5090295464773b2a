/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_SIGBUS_GUARD_H
#define ACCELCTL_SIGBUS_GUARD_H

#include <accel/model/file.h>

/* Guards the mappings of a file: a SIGBUS in them, because the file has shrunk, ends the command with the file's
 * name and `remedy`, a constant. NULL does nothing. */
void sigbus_guard_begin(const struct accel_model_file *file, const char *remedy);

/* Stops guarding a file, before it is closed; NULL and files that are not guarded do nothing. */
void sigbus_guard_end(const struct accel_model_file *file);

#endif
