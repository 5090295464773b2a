/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The only way in which the core reads the environment. In a program that runs with more rights than its caller
 * (set-uid, set-gid, file capabilities) every variable reads as unset, and the caller of this function can say so.
 */
#ifndef ACCEL_CORE_BASE_ENV_H
#define ACCEL_CORE_BASE_ENV_H

#include <stdbool.h>

/**
 * The value of a variable, or NULL when it is unset, empty or must not be trusted; `out_ignored` (may be NULL) becomes
 * true in the last case only. The string belongs to the environment: copy it before anybody calls setenv.
 */
const char *accel_env_get(const char *name, bool *out_ignored);

/** All variables as "NAME=VALUE" with NULL behind the last; none where the environment must not be trusted. The list
 *  belongs to the environment. */
const char *const *accel_env_all(void);

/** True when the program runs with more rights than its caller, so that no user-controlled path may be used. */
bool accel_env_is_elevated(void);

#endif
