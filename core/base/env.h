/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads the environment; the core uses no other function for that. In a program with more privileges than its
 * caller (set-uid, set-gid, file capabilities) every variable reads as unset, and `out_ignored` reports that. */
#ifndef ACCEL_CORE_BASE_ENV_H
#define ACCEL_CORE_BASE_ENV_H

#include <stdbool.h>

/** Returns the value of a variable, or NULL if it is unset, empty or must not be trusted; `out_ignored` (may be NULL)
 * becomes true in the last case only. The string belongs to the environment: copy it before a call of setenv. */
const char *accel_env_get(const char *name, bool *out_ignored);

/** Returns all variables as "NAME=VALUE", terminated by NULL; none if the environment must not be trusted. The list
 * belongs to the environment. */
const char *const *accel_env_all(void);

/** Returns whether the program has more privileges than its caller, so that no path of a user may be used. */
bool accel_env_is_elevated(void);

#endif
