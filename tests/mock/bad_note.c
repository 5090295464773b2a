/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: a line of its note is no key=value. */
#define MOCK_NAME "bad-note"
#define MOCK_MORE "what is this\n"
#include "tests/mock/mock.h"
