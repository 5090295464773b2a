/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: code that may be written. */
#define MOCK_NAME "writable-code"
#include "tests/mock/mock.h"

__asm__(".pushsection .writable_code, \"awx\"\n"
        ".quad 0\n"
        ".popsection\n");
