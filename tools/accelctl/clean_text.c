/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/clean_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Reads a character of well-formed UTF-8; 0 bytes for anything else. */
static size_t read_character(const unsigned char *text, uint32_t *out_value)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    uint32_t value = length < 2 ? text[0] : text[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0u) != 0x80u)
            return 0;
        value = value << 6 | (text[i] & 0x3fu);
    }
    *out_value = value;
    if ((length == 3 && value < 0x800) || (length == 4 && (value < 0x10000 || value > 0x10ffff)))
        return 0;
    return value >= 0xd800 && value < 0xe000 ? 0 : length;
}

/* Returns true for controls, also U+0080 to U+009F, ends of lines, bidirectional controls, and characters without
 * width. */
static bool is_hidden(uint32_t value)
{
    static const uint32_t ranges[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                         {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                                         {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
        if (value >= ranges[i][0] && value <= ranges[i][1])
            return true;
    return false;
}

const char *clean_text(const char *text, char *copy, size_t size)
{
    size_t used = 0;

    while (*text != '\0') {
        uint32_t value = 0;
        size_t length = read_character((const unsigned char *)text, &value);
        bool plain = length != 0 && !is_hidden(value);

        if (used + (plain ? length : 1) >= size)
            break;
        if (plain)
            memcpy(copy + used, text, length);
        else
            copy[used] = '?';
        used += plain ? length : 1;
        text += length == 0 ? 1 : length;
    }
    copy[used] = '\0';
    return copy;
}

/* Returns true for joiners, which combine several characters into one; some scripts need them. */
static bool is_joiner(uint32_t value)
{
    return value == 0x200c || value == 0x200d;
}

int write_terminal(FILE *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        char character[5] = {0};
        uint32_t value = 0;
        size_t left = bytes - at, length;

        memcpy(character, text + at, left < 4 ? left : 4);
        length = text[at] == '\0' ? 0 : read_character((const unsigned char *)character, &value);
        if (length == 0 || (is_hidden(value) && value < 0xa0 && value != '\n' && value != '\t' && value != '\r')) {
            if (fputc('?', out) == EOF)
                return EOF;
        } else if (!is_hidden(value) || is_joiner(value) || value == '\n' || value == '\t') {
            if (fwrite(character, 1, length, out) != length)
                return EOF;
        }
        at += length == 0 ? 1 : length;
    }
    return 0;
}

const char *end_cut_list(char *text, size_t size, int length)
{
    size_t end = size - sizeof("...");

    if ((size_t)length < size)
        return text;
    while (end > 0 && text[end - 1] != ',')
        end--;
    strcpy(text + (end > 0 ? end : size - sizeof("...")), "...");
    return text;
}

size_t utf8_length(const char *text)
{
    const char *at = text;
    uint32_t value;

    while (*at != '\0') {
        size_t length = read_character((const unsigned char *)at, &value);

        if (length == 0)
            break;
        at += length;
    }
    return (size_t)(at - text);
}
