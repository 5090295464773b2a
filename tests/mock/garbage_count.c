/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: says that its device has four thousand million heaps. */
#define MOCK_NAME "garbage-count"
#include "tests/mock/mock.h"

static const struct accel_facts facts = MOCK_FACTS("mock0", 0xf0000000u);
static const struct mock mock = {.facts = &facts};
