/* SPDX-License-Identifier: Apache-2.0 */
/** @file Tests of strings. */
#ifndef ACCEL_CORE_BASE_TEXT_H
#define ACCEL_CORE_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** Returns whether `text` is one of `words`, separated by spaces or commas; an empty text is none. */
static inline bool accel_word_is_among(const char *words, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = words; *at; at += strcspn(at, " ,"), at += strspn(at, " ,"))
        if (strcspn(at, " ,") == length && strncmp(at, text, length) == 0)
            return length != 0;
    return false;
}

/** Returns a letter of ASCII in lower case, in any locale. */
static inline char accel_lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/** Returns the first number in a text: 4 of "q4_1", 16 of "bf16"; 0 without one. */
static inline uint32_t accel_number_in(const char *text)
{
    return (uint32_t)strtoul(text + strcspn(text, "0123456789"), NULL, 10);
}

static inline bool accel_has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

#endif
