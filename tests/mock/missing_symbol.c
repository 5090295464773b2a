/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: calls a function that no library has. */
#define MOCK_NAME "missing-symbol"
#include "tests/mock/mock.h"

void vendor_function_that_is_nowhere(void);

static void call_it(void)
{
    vendor_function_that_is_nowhere();
}

static const struct mock mock = {.in_enumerate = call_it};
