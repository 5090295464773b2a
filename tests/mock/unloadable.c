/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: is linked so that it may be unloaded while its threads run. */
#define MOCK_NAME "unloadable"
#include "tests/mock/mock.h"
