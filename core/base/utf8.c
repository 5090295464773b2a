/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t accel_utf8_char(const char *text, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length;
    if (bytes == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (bytes < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!is_continuation(p[i]))
            return 0;
    /* The second byte distinguishes valid characters from overlong forms, surrogates and numbers beyond Unicode. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
        return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

size_t accel_utf8_cut(const char *text, size_t bytes, size_t limit)
{
    size_t cut = limit;
    if (bytes <= limit)
        return bytes;
    /* Steps back at most three bytes, the longest tail of a character: malformed text may have no boundary. */
    for (int back = 0; back < 3 && cut > 0 && is_continuation((unsigned char)text[cut]); back++)
        cut--;
    return cut;
}

static uint32_t decode(const unsigned char *p, size_t length)
{
    uint32_t value = length == 1 ? p[0] : p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        value = value << 6 | (p[i] & 0x3fu);
    return value;
}

/* Returns whether the character is a C1 control, which some terminals obey, or changes the direction of writing or
 * is invisible, which makes one name look like another. */
static bool is_hidden(const char *at, size_t length)
{
    static const uint32_t ranges[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                         {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                                         {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    uint32_t value = decode((const unsigned char *)at, length);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (value >= ranges[i][0] && value <= ranges[i][1])
            return true;
    return false;
}

/* Checks that all characters are well formed, and printable if `plain`. */
static bool check(const char *text, size_t bytes, bool plain, size_t *out_bad)
{
    size_t length;
    for (size_t at = 0; at < bytes; at += length) {
        length = accel_utf8_char(text + at, bytes - at);
        if (length != 0 && !(plain && is_hidden(text + at, length)))
            continue;
        if (out_bad)
            *out_bad = at;
        return false;
    }
    return true;
}

bool accel_utf8_valid(const char *text, size_t bytes, size_t *out_bad)
{
    return check(text, bytes, false, out_bad);
}

bool accel_utf8_plain(const char *text, size_t bytes, size_t *out_bad)
{
    return check(text, bytes, true, out_bad);
}

void accel_utf8_one_line(char *text)
{
    size_t bytes = strlen(text);
    size_t to = 0;
    for (size_t at = 0; at < bytes;) {
        size_t length = accel_utf8_char(text + at, bytes - at);
        if (length == 0 || is_hidden(text + at, length)) {
            text[to++] = '?';
            at += length ? length : 1;
            continue;
        }
        memmove(text + to, text + at, length);
        to += length;
        at += length;
    }
    text[to] = '\0';
}
