/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: crashes while it is loaded. */
#define MOCK_NAME "crash-in-constructor"
#include <signal.h>

#include "tests/mock/mock.h"

__attribute__((__constructor__)) static void crash(void)
{
    raise(SIGSEGV);
}
