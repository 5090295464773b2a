/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: a symbol of which there is one for the whole process, whoever else has it, as C++ makes them of inline
 * variables. */
#define MOCK_NAME "unique"
#include "tests/mock/mock.h"

__asm__(".pushsection .data.unique, \"aw\"\n"
        ".globl accel_mock_unique\n"
        ".type accel_mock_unique, %gnu_unique_object\n"
        ".size accel_mock_unique, 8\n"
        "accel_mock_unique: .quad 0\n"
        ".popsection\n");
