/* SPDX-License-Identifier: Apache-2.0 */
/* No sin, but the name of another driver. */
#define MOCK_NAME "good"
#include "tests/mock/mock.h"
