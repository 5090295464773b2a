/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/utf8.h"

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
    /* The second byte tells overlong forms, surrogates and numbers beyond Unicode from good ones. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
        return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

bool accel_utf8_valid(const char *text, size_t bytes, size_t *out_bad)
{
    size_t at = 0;
    while (at < bytes) {
        size_t length = accel_utf8_char(text + at, bytes - at);
        if (length == 0) {
            if (out_bad)
                *out_bad = at;
            return false;
        }
        at += length;
    }
    return true;
}

size_t accel_utf8_cut(const char *text, size_t bytes, size_t limit)
{
    size_t cut = limit;
    if (bytes <= limit)
        return bytes;
    /* In malformed text there may be no boundary near: three steps back are all that a character can need. */
    for (int back = 0; back < 3 && cut > 0 && is_continuation((unsigned char)text[cut]); back++)
        cut--;
    return cut;
}

/* C1 controls are two bytes in UTF-8, and some terminals obey them. */
static bool is_control(const unsigned char *p, size_t length)
{
    return (length == 1 && (p[0] < 0x20 || p[0] == 0x7f)) || (length == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

void accel_utf8_one_line(char *text)
{
    size_t bytes = strlen(text);
    size_t to = 0;
    for (size_t at = 0; at < bytes;) {
        size_t length = accel_utf8_char(text + at, bytes - at);
        if (length == 0 || is_control((unsigned char *)text + at, length)) {
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
