/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that other packages bring: programs accelctl-VERB of the folder of helper programs, and of no other. PATH is
 * not asked, so that no folder of a user can add a verb.
 */
#include "config.h"

#include "tools/accelctl/external.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/blame.h"
#include "tools/accelctl/output.h"

enum { PATH_BYTES = 4096 };

/* Replaces `tail` at the end of `path` by `other`; 0 where it does not end so. */
static uint32_t swap_tail(char path[PATH_BYTES], const char *tail, const char *other)
{
    size_t length = strlen(path), cut = strlen(tail);

    if (length <= cut || strcmp(path + length - cut, tail) != 0 || length - cut + strlen(other) >= PATH_BYTES)
        return 0;
    strcpy(path + length - cut, other);
    return 1;
}

/* The part of a folder below the prefix, with its slash, or NULL. */
static const char *below_prefix(const char *folder)
{
    size_t length = strlen(ACCEL_PREFIX);

    return strncmp(folder, ACCEL_PREFIX, length) == 0 && folder[length] == '/' ? folder + length : NULL;
}

static void find_folder(char path[PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES - 1);
    const char *bin = below_prefix(ACCEL_BINDIR);
    const char *libexec = below_prefix(ACCEL_LIBEXECDIR);
    char *slash;

    path[length < 0 ? 0 : length] = '\0';
    slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (swap_tail(path, "/.libs", "/uninstalled/libexec") ||
            (bin != NULL && libexec != NULL && swap_tail(path, bin, libexec)))
            return;
    }
    strcpy(path, ACCEL_LIBEXECDIR);
}

void run_external(const char *verb, char **arguments)
{
    char path[PATH_BYTES];
    size_t length;

    if (verb[0] == '\0' || strspn(verb, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(verb) || verb[0] == '-')
        return;
    find_folder(path);
    length = strlen(path);
    if ((size_t)snprintf(path + length, sizeof path - length, "/accelctl-%s", verb) >= sizeof path - length)
        return;
    blame_done();
    output_give_back();
    execv(path, arguments);
}
