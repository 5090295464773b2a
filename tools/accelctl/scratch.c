/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void scratch_clear(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Runs the helper process: it ignores signals of the terminal, redirects the standard files to /dev/null, so that
 * no reader of them waits for it, waits for the end of the command and removes the folder. */
static void keep(const char *path, int handle)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char byte;

    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; null >= 0 && i < 3; i++)
        dup2(null, i);
    while (read(handle, &byte, 1) < 0 && errno == EINTR)
        continue;
    scratch_clear(path);
    _exit(0);
}

static int refuse(uint32_t json, struct scratch *scratch, const char *what, int failure)
{
    char text[SCRATCH_PATH + 100];

    snprintf(text, sizeof(text), "%s: %s", what, strerror(failure));
    scratch->path[0] = '\0';
    return report_error_text(json, EXIT_FAILED, "ACCEL_E_IO", text,
                             failure == EAGAIN ? PROCESSES_REMEDY
                                               : "the variable TMPDIR names the folder for temporary files");
}

int scratch_make(uint32_t json, struct scratch *scratch)
{
    const char *folder = getenv("TMPDIR");
    int ends[2], failure;

    folder = folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
    if (snprintf(scratch->path, sizeof(scratch->path), "%s/accelctl-XXXXXX", folder) >= (int)sizeof(scratch->path))
        return refuse(json, scratch, "TMPDIR", ENAMETOOLONG);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return refuse(json, scratch, "a pipe", errno);
    scratch->keeper = mkdtemp(scratch->path) == NULL ? -1 : fork();
    failure = errno;
    if (scratch->keeper == 0) {
        close(ends[1]);
        keep(scratch->path, ends[0]);
    }
    close(ends[0]);
    scratch->handle = ends[1];
    if (scratch->keeper > 0)
        return -1;
    close(ends[1]);
    rmdir(scratch->path);
    return refuse(json, scratch, failure == EAGAIN ? "cannot start a process" : folder, failure);
}

void scratch_remove(struct scratch *scratch)
{
    if (scratch->path[0] == '\0')
        return;
    close(scratch->handle);
    while (waitpid(scratch->keeper, NULL, 0) < 0 && errno == EINTR)
        continue;
    scratch->path[0] = '\0';
}
