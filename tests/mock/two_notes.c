/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: two notes, of which the second says something else. */
#define MOCK_NAME "two-notes"
#include "tests/mock/mock.h"

static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[8];
    char text[32];
} mock_second_note __attribute__((__section__(".note.accel"), __used__, __aligned__(4))) = {
    6, 32, 1, "accel", "abi_major=0\nabi_minor=2\nname=b\n\n"};
