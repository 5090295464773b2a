/* SPDX-License-Identifier: Apache-2.0 */
/* Explains one setting of a plan. */
#ifndef ACCELCTL_EXPLAIN_H
#define ACCELCTL_EXPLAIN_H

#include "tools/accelctl/model.h"

/* Explains why a setting has its value: meaning, value in force, origin, reason, and every overridden value. An
 * unknown key is an error with a suggestion. */
int explain_setting(const struct opened *opened, const char *key, uint32_t json);

#endif
