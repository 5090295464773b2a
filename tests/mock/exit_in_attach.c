/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: ends the process, as if all were well, in attach. */
#define MOCK_NAME "exit-in-attach"
#include <stdlib.h>

#include "tests/mock/mock.h"

static void leave(void)
{
    exit(0);
}

static const struct mock mock = {.in_attach = leave};
