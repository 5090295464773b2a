/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: writes to address 0 while it is loaded. */
#define MOCK_NAME "crash-in-constructor"
#include "tests/mock/mock.h"

static int *volatile nowhere;

__attribute__((__constructor__)) static void crash(void)
{
    *nowhere = 1;
}
