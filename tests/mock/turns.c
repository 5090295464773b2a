/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: good in its probe, and ends the process that enumerates it: MOCK_TURNS says how, "segv" or "hang". */
#define _GNU_SOURCE
#define MOCK_NAME "turns"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mock/mock.h"

static void turn(void)
{
    const char *how = getenv("MOCK_TURNS");
    if (how == NULL || strstr(program_invocation_short_name, "accel-probe") != NULL)
        return;
    while (strcmp(how, "hang") == 0)
        pause();
    raise(SIGSEGV);
}

static const struct mock mock = {.in_enumerate = turn};
