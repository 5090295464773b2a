/* SPDX-License-Identifier: Apache-2.0 */
/* Runs external commands of other packages: programs accelctl-COMMAND in the folder of helper programs. PATH is
 * not searched, so that no folder of a user can add a command. */
#include "config.h"

#include "tools/accelctl/external.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/output.h"

enum { PATH_BYTES = 4096 };

/* Replaces `tail` at the end of `path` by `other`; 0 if the path does not end in it. */
static uint32_t swap_tail(char path[PATH_BYTES], const char *tail, const char *other)
{
    size_t length = strlen(path), cut = strlen(tail);

    if (length <= cut || strcmp(path + length - cut, tail) != 0 || length - cut + strlen(other) >= PATH_BYTES)
        return 0;
    strcpy(path + length - cut, other);
    return 1;
}

/* Returns the part of a folder below the prefix, with its slash, or NULL. */
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

void run_external(const char *command, char **arguments)
{
    char path[PATH_BYTES];
    size_t length;

    if (command[0] == '\0' || strspn(command, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(command) ||
        command[0] == '-')
        return;
    find_folder(path);
    length = strlen(path);
    if ((size_t)snprintf(path + length, sizeof(path) - length, "/accelctl-%s", command) >= sizeof(path) - length)
        return;
    output_give_back();
    execv(path, arguments);
}

/* Starts accelctl-PROGRAM with the command's name as its first argument; returns only on failure. */
static int run_program(const char *program, char **arguments, const struct command *command)
{
    char text[200];
    uint32_t json = 0;

    errno = 0;
    /* arguments[-1] is the command's name. */
    run_external(program, arguments - 1);
    snprintf(text, sizeof(text), "%s: its program accelctl-%s cannot be run: %s", command->name, program,
             strerror(errno == 0 ? ENAMETOOLONG : errno));
    for (uint32_t i = 0; arguments[i] != NULL; i++)
        json |= strcmp(arguments[i], "--json") == 0;
    return report_error_text(json, EXIT_FAILED, "ACCEL_E_NOT_FOUND", text, "install the helper programs of accel anew");
}

int run_helper(int count, char **arguments, const struct command *command)
{
    (void)count;
    return run_program(command->name, arguments, command);
}

int run_doctor(int count, char **arguments, const struct command *command)
{
    (void)count;
    return run_program("doctor", arguments, command);
}
