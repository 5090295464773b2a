/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: never comes back from being loaded. */
#define MOCK_NAME "hang-in-constructor"
#include <unistd.h>

#include "tests/mock/mock.h"

__attribute__((__constructor__)) static void hang(void)
{
    for (;;)
        pause();
}
