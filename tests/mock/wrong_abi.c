/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: made for another major of the ABI. */
#define MOCK_NAME "wrong-abi"
#define MOCK_NOTE "abi_major=9\nabi_minor=7\nabi_lowest=3\nname=wrong-abi\nversion=1.0\n"
#include "tests/mock/mock.h"
