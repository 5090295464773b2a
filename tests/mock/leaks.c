/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: takes memory of its host each time it is attached, and never gives it back. */
#define MOCK_NAME "leaks"
#define MOCK_TAKES 3
#include "tests/mock/mock.h"

static const struct mock mock = {.in_attach = NULL};
