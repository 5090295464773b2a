/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: an option whose default is no number. */
#define MOCK_NAME "garbage-number"
#include <math.h>

#include "tests/mock/mock.h"

static const struct accel_option share = {
    .size = sizeof(share), .type = ACCEL_OPTION_REAL, .name = "garbage.share", .help = "a share", .real = NAN};
static const struct accel_option *const options[] = {&share};
static const struct mock mock = {.options = options, .option_count = 1};
