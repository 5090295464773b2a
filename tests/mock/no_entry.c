/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: its entry is not exported. */
#define MOCK_NAME "no-entry"
#define MOCK_QUERY __attribute__((__visibility__("hidden")))
#include "tests/mock/mock.h"
