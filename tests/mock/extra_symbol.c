/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: exports a second symbol. */
#define MOCK_NAME "extra-symbol"
#include "tests/mock/mock.h"

__attribute__((__visibility__("default"))) void accel_extra_symbol(void);

void accel_extra_symbol(void) {}
