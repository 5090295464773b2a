/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_GUARD_H
#define ACCELCTL_GUARD_H

#include <accel/model/file.h>

/* From now on a bus error in a mapping of this file ends the command with the file's name and `remedy`, a constant: it
 * has shrunk. NULL does nothing. */
void guard_mappings(const struct accel_model_file *file, const char *remedy);

/* Ends that, before the file is closed; NULL and files that are not guarded do nothing. */
void guard_end(const struct accel_model_file *file);

#endif
