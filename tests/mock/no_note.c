/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: does not say in its file what it is. */
#define MOCK_NAME "no-note"
#define MOCK_WITHOUT_NOTE
#include "tests/mock/mock.h"
