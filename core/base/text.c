/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/text.h"

bool accel_word_is_among(const char *words, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && strncmp(at, text, length) == 0)
            return length != 0;
    return false;
}
