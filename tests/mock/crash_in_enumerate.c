/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: divides by what it did not look at while it looks for devices. */
#define MOCK_NAME "crash-in-enumerate"
#include <signal.h>

#include "tests/mock/mock.h"

static void crash(void)
{
    raise(SIGFPE);
}

static const struct mock mock = {.in_enumerate = crash};
