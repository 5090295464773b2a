/* SPDX-License-Identifier: Apache-2.0 */
/* String operations shared by filters and methods. */
#include "config.h"

#include <string.h>
#include <utf8proc.h>

#include "model/chat/run.h"

const struct chat_value *chat_argument(const struct chat_arguments *arguments, size_t index, const char *name)
{
    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->names[i].size == 0 ? i == index : chat_text_is(arguments->names[i], name))
            return &arguments->values[i];
    }
    return NULL;
}

bool chat_text_argument(struct chat_run *run, const struct chat_node *at, const struct chat_arguments *arguments,
                        size_t index, const char *name, struct chat_text other, struct chat_text *out_text)
{
    const struct chat_value *value = chat_argument(arguments, index, name);

    *out_text = other;
    if (value == NULL || value->kind == CHAT_NONE)
        return true;
    if (value->kind != CHAT_STRING)
        return chat_wrong(run, at, name, *value);
    *out_text = value->as.text;
    return true;
}

/* Returns whether the character at `data` is to be stripped. */
static bool is_stripped(const char *data, size_t size, struct chat_text set)
{
    uint32_t code = 0;

    if (token_utf8_next(data, size, &code) == 0)
        return false;
    if (set.size == 0)
        return token_is_space(code) || (code >= 0x1c && code <= 0x1f);
    return memmem(set.data, set.size, data, size) != NULL;
}

struct chat_text chat_strip(struct chat_text text, struct chat_text set, bool left, bool right)
{
    while (left && text.size > 0) {
        size_t size = chat_character_offset(text, 1);

        if (!is_stripped(text.data, size, set))
            break;
        text.data += size;
        text.size -= size;
    }
    while (right && text.size > 0) {
        size_t before = token_utf8_before(text.data, text.size);

        if (!is_stripped(text.data + before, text.size - before, set))
            break;
        text.size = before;
    }
    return text;
}

bool chat_replace(struct chat_run *run, struct chat_text text, struct chat_text from, struct chat_text to, size_t limit,
                  struct chat_value *out_value)
{
    struct token_buffer buffer = {0};
    bool done = true;

    while (done && limit-- > 0) {
        const char *found =
            text.size == 0 || from.size == 0 ? NULL : memmem(text.data, text.size, from.data, from.size);
        size_t before = found == NULL ? 0 : (size_t)(found - text.data);

        if (found == NULL)
            break;
        done = token_buffer_append(&buffer, text.data, before) && token_buffer_append(&buffer, to.data, to.size) &&
               buffer.size <= CHAT_MAX_MEMORY;
        text.data += before + from.size;
        text.size -= before + from.size;
    }
    done = done && token_buffer_append(&buffer, text.data, text.size);
    return chat_string_from_buffer(run, &buffer, done, out_value);
}

bool chat_change_case(struct chat_run *run, struct chat_text text, enum chat_case how, struct chat_value *out_value)
{
    struct token_buffer buffer = {0};
    bool in_word = false, done = true;

    for (size_t at = 0, size; done && at < text.size; at += size) {
        uint32_t code = 0;
        char bytes[4];
        bool upper;

        size = token_utf8_next(text.data + at, text.size - at, &code);
        upper = how == CHAT_UPPER || (how != CHAT_LOWER && !in_word);
        if (code < 128 || size > 0)
            code =
                (uint32_t)(upper ? utf8proc_toupper((utf8proc_int32_t)code) : utf8proc_tolower((utf8proc_int32_t)code));
        done = size > 0 && token_buffer_append(&buffer, bytes, token_utf8_put(code, bytes));
        in_word = how == CHAT_CAPITALIZE || utf8proc_category((utf8proc_int32_t)code) <= UTF8PROC_CATEGORY_ME;
    }
    return chat_string_from_buffer(run, &buffer, done, out_value);
}
