/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: hands out facts that end before the members that every minor has. */
#define MOCK_NAME "short-structs"
#include "tests/mock/mock.h"

static const struct accel_facts facts = {.size = 48, .kind = ACCEL_DEVICE_OTHER, .hardware = -1, .id = "mock0"};
static const struct mock mock = {.facts = &facts};
