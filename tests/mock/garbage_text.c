/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: the id of its device is no UTF-8. */
#define MOCK_NAME "garbage-text"
#include "tests/mock/mock.h"

static const struct accel_facts facts = MOCK_FACTS("m\xff\xfe", 1);
static const struct mock mock = {.facts = &facts};
