/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: is linked to look for its symbols when they are called. */
#define MOCK_NAME "lazy"
#include "tests/mock/mock.h"
