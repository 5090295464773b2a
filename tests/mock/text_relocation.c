/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: an address in its code that the loader has to write there. */
#define MOCK_NAME "text-relocation"
#include "tests/mock/mock.h"

__asm__(".pushsection .text.address, \"ax\"\n"
        ".quad accel_driver_query\n"
        ".popsection\n");
