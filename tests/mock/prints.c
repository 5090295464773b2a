/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: writes to standard output. */
#define MOCK_NAME "prints"
#include <stdio.h>

#include "tests/mock/mock.h"

static void greet(void)
{
    puts("welcome to the mock runtime");
}

static const struct mock mock = {.in_attach = greet};
