/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_GUARD_H
#define ACCELCTL_GUARD_H

#include <accel/model/session.h>

/* From now on a bus error in a mapping of this model ends the command with the file's name: it has shrunk. NULL ends
 * that. */
void guard_mappings(const struct accel_model *model);

#endif
