/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: its instance has a table that ends before `enumerate`. */
#define MOCK_NAME "short-table"
#define MOCK_TABLE_BYTES 16
#include "tests/mock/mock.h"

static const struct mock mock = {.in_attach = NULL};
