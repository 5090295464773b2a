/* SPDX-License-Identifier: Apache-2.0 */
/* No sin: opens a library, so that it is attached when its device is asked for. MOCK_LATE renames the device. */
#define MOCK_NAME "late"
#define MOCK_MORE "libraries=libmock.so.1\n"
#include <stdlib.h>

#include "tests/mock/mock.h"

static struct accel_facts facts = MOCK_FACTS("late0", 1);

static void look(void)
{
    facts.id = getenv("MOCK_LATE") != NULL ? getenv("MOCK_LATE") : "late0";
}

static const struct mock mock = {.in_enumerate = look, .facts = &facts};
