/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/env.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

bool accel_env_is_elevated(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *accel_env_get(const char *name, bool *out_ignored)
{
    const char *plain = getenv(name);
    const char *value = secure_getenv(name);
    if (out_ignored)
        *out_ignored = plain != NULL && *plain != '\0' && value == NULL;
    return value && *value ? value : NULL;
}

const char *const *accel_env_all(void)
{
    static const char *const none[] = {NULL};
    return accel_env_is_elevated() || environ == NULL ? none : (const char *const *)environ;
}
