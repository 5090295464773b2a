/* SPDX-License-Identifier: Apache-2.0 */
/* No sin: the one that must keep working. */
#define MOCK_NAME "good"
#define MOCK_MORE "isa=x86-64\ndepends=$ACCEL_TEST_MOCK\nisolate=none\n"
#include "tests/mock/mock.h"

static const struct accel_option level = {.size = sizeof(level),
                                          .type = ACCEL_OPTION_INTEGER,
                                          .name = "good.level",
                                          .help = "a number",
                                          .integer = 2,
                                          .lowest = 0,
                                          .highest = 3};
static const struct accel_option *const options[] = {&level};
static const struct mock mock = {.options = options, .option_count = 1};
