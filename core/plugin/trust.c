/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/file.h"

/* Proposes a command. A quote in a name would end the argument of a command that is copied, so it is not printed. */
static void propose(struct accel_error *error, const char *command, const char *path)
{
    if (strchr(path, '\'') == NULL)
        accel_error_remedy(error, "%s '%s'", command, path);
    else
        accel_error_remedy(error, "%s, for this path", command);
}

int32_t accel_trust_entry(const struct accel_trust *trust, const char *path, const struct stat *facts, bool is_file,
                          struct accel_error *error)
{
    char command[24];
    bool is_sticky_folder = !is_file && (facts->st_mode & S_ISVTX) != 0;
    if (is_file ? !S_ISREG(facts->st_mode) : !S_ISDIR(facts->st_mode))
        return accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED, "%s: not trusted: not a %s", path,
                              is_file ? "regular file" : "folder");
    if (facts->st_uid != 0 && (trust->elevated || facts->st_uid != trust->user)) {
        if (trust->elevated)
            accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED, "%s: not trusted: owned by user %u, not by root",
                           path, (unsigned)facts->st_uid);
        else
            accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED,
                           "%s: not trusted: owned by user %u, neither root nor user %u", path, (unsigned)facts->st_uid,
                           (unsigned)trust->user);
        snprintf(command, sizeof(command), "chown %u", trust->elevated ? 0u : (unsigned)trust->user);
        propose(error, command, path);
        return ACCEL_E_DENIED;
    }
    if ((facts->st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky_folder) {
        accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED, "%s: not trusted: it is writable by %s (mode %04o)",
                       path, facts->st_mode & S_IWOTH ? "every user" : "its group", (unsigned)(facts->st_mode & 07777));
        propose(error, "chmod go-w", path);
        return ACCEL_E_DENIED;
    }
    return ACCEL_OK;
}

static int32_t read_attributes(const char *path, struct stat *facts, struct accel_error *error)
{
    return lstat(path, facts) == 0 ? ACCEL_OK : accel_file_fail(error, "inspect", path, errno);
}

/* Checks every folder of `path`, from the root down, and then the file. Modifies `path` temporarily. */
static int32_t walk(const struct accel_trust *trust, char *path, struct stat *facts, struct accel_error *error)
{
    int32_t code = read_attributes("/", facts, error);
    if (code == ACCEL_OK)
        code = accel_trust_entry(trust, "/", facts, false, error);
    for (char *slash = strchr(path + 1, '/'); slash != NULL && code == ACCEL_OK; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        code = read_attributes(path, facts, error);
        if (code == ACCEL_OK)
            code = accel_trust_entry(trust, path, facts, false, error);
        *slash = '/';
    }
    if (code == ACCEL_OK)
        code = read_attributes(path, facts, error);
    if (code == ACCEL_OK)
        code = accel_trust_entry(trust, path, facts, true, error);
    return code;
}

int32_t accel_trust_check(const struct accel_trust *trust, const char *path, char **out_path, struct stat *out_facts,
                          struct accel_error *error)
{
    *out_path = realpath(path, NULL);
    if (*out_path == NULL) {
        int32_t code = accel_file_fail(error, "resolve", path, errno);
        return accel_error_advise(error, code, "name a driver's file that is there, or the folder that holds it");
    }
    return walk(trust, *out_path, out_facts, error);
}
