/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: good in its probe, and ends the process that enumerates it: MOCK_TURNS says how, "segv", "exit", "_exit",
 * "gone" (by the call of the system itself) or "hang". Where that ends in '!' the probe fares alike. */
#define _GNU_SOURCE
#define MOCK_NAME "turns"
#include "tests/mock/mock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void turn(void)
{
    const char *how = getenv("MOCK_TURNS");
    if (how == NULL || (strchr(how, '!') == NULL && strstr(program_invocation_short_name, "accel-probe") != NULL))
        return;
    if (strncmp(how, "exit", 4) == 0)
        exit(0);
    if (strncmp(how, "_exit", 5) == 0)
        _exit(0);
    if (strncmp(how, "gone", 4) == 0)
        syscall(SYS_exit_group, 0);
    while (strncmp(how, "hang", 4) == 0)
        pause();
    raise(SIGSEGV);
}

static const struct mock mock = {.in_enumerate = turn};
