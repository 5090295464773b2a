/* SPDX-License-Identifier: Apache-2.0 */
/* One setting of a plan explained. */
#ifndef ACCELCTL_EXPLAIN_H
#define ACCELCTL_EXPLAIN_H

#include "tools/accelctl/model.h"

/* Why a setting has its value: what it is, winner, place, reason, every loser. An unknown key is an error with a
 * suggestion. */
int explain_setting(const struct opened *opened, const char *key, uint32_t json);

#endif
