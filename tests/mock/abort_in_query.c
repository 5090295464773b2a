/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: aborts when it is asked who it is, after a long complaint. */
#define MOCK_NAME "abort-in-query"
#include <stdio.h>
#include <stdlib.h>

#include "tests/mock/mock.h"

static void complain_and_abort(void)
{
    for (int i = 0; i < 1000; i++)
        fprintf(stderr, "complaint %d\n", i);
    fputs("last words\033[31m\n", stderr);
    abort();
}

static const struct mock mock = {.in_query = complain_and_abort};
