/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/text.h"

#include <string.h>
#include <time.h>

/* Returns the bytes of the well-formed UTF-8 character at `text`, or 0. The text ends in a zero byte. */
static size_t text_character(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    const size_t length = p[0] < 0x80                  ? p[0] != 0
                          : p[0] < 0xc2 || p[0] > 0xf4 ? 0
                          : p[0] < 0xe0                ? 2
                                                       : 3 + (p[0] > 0xef);

    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, numbers beyond Unicode. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

static bool is_shown(const char *text, size_t length)
{
    static const uint32_t hidden[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                         {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                                         {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    const unsigned char *p = (const unsigned char *)text;
    uint32_t value = length == 1 ? p[0] : p[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++)
        value = value << 6 | (p[i] & 0x3fu);
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (value >= hidden[i][0] && value <= hidden[i][1])
            return false;
    return true;
}

bool text_is_plain(const char *text, size_t *out_bad)
{
    for (size_t at = 0, length; text[at] != '\0'; at += length) {
        length = text_character(text + at);
        *out_bad = at;
        if (length == 0 || !is_shown(text + at, length))
            return false;
    }
    return true;
}

void text_make_plain(char *text)
{
    char *to = text;

    while (*text != '\0') {
        const size_t length = text_character(text);

        if (length == 0 || !is_shown(text, length)) {
            *to++ = '?';
            text += length == 0 ? 1 : length;
            continue;
        }
        memmove(to, text, length);
        to += length;
        text += length;
    }
    *to = '\0';
}

uint64_t clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
