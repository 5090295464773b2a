/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: is linked so that the stack of the whole process becomes executable. */
#define MOCK_NAME "exec-stack"
#include "tests/mock/mock.h"
