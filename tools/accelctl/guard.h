/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_GUARD_H
#define ACCELCTL_GUARD_H

#include <accel/model/file.h>

/* From now on a bus error in a mapping of this file ends the command with the file's name and `remedy`, a constant: it
 * has shrunk. NULL ends that. */
void guard_mappings(const struct accel_model_file *file, const char *remedy);

#endif
