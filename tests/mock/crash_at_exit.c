/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: does everything right and crashes when the process ends. */
#define MOCK_NAME "crash-at-exit"
#include <signal.h>

#include "tests/mock/mock.h"

__attribute__((__destructor__)) static void crash(void)
{
    raise(SIGSEGV);
}
