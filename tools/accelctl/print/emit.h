/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a plan as a call of another program: a shell script whose comments name the setting that each flag comes
 * from, and the settings that the program has no flag for. */
#ifndef ACCELCTL_EMIT_H
#define ACCELCTL_EMIT_H

#include <stdbool.h>

#include "tools/accelctl/model.h"

/* Returns 1 if the program is known. */
bool emit_knows(const char *program);
int emit_call(const struct opened *opened, const char *program);

#endif
