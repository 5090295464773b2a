/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: its device has all the memory that fits into a number. */
#define MOCK_NAME "lies-about-memory"
#include "tests/mock/mock.h"

static const struct accel_heap heap = {UINT64_MAX, ACCEL_HEAP_HOST, 0, 64, "dreams"};
static const struct accel_facts facts = {.size = sizeof(facts),
                                         .kind = ACCEL_DEVICE_OTHER,
                                         .hardware = -1,
                                         .id = "mock0",
                                         .name = "a device of the tests",
                                         .detail = "",
                                         .heap_count = 1,
                                         .heaps = &heap,
                                         .limits = &mock_limits};
static const struct mock mock = {.facts = &facts};
