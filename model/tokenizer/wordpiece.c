/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/wordpiece.h"

#include <stdlib.h>

#include "model/tokenizer/bpe.h"

void token_wordpiece_free(struct token_wordpiece *wordpiece)
{
    token_trie_free(&wordpiece->trie);
    free(wordpiece->prefix);
}

/* Returns the length of the longest token at the beginning of `text`, 0 if there is none. */
static size_t find_longest(const struct token_wordpiece *wordpiece, bool first, const char *text, size_t size,
                           int32_t *out_id)
{
    struct token_prefix prefix = {0};
    size_t longest = 0;

    for (const char *byte = wordpiece->prefix; !first && *byte != '\0'; byte++) {
        if (!token_trie_step(&wordpiece->trie, &prefix, (unsigned char)*byte))
            return 0;
    }
    for (size_t at = 0; at < size && token_trie_step(&wordpiece->trie, &prefix, (unsigned char)text[at]); at++) {
        int32_t id = token_trie_id(&wordpiece->trie, &prefix);

        if (id >= 0) {
            longest = at + 1;
            *out_id = id;
        }
    }
    return longest;
}

static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

int32_t token_wordpiece_word(const struct token_wordpiece *wordpiece, const char *word, size_t size,
                             struct accel_token_list *list, struct accel_error *error)
{
    size_t old = list->count;
    bool known = size <= wordpiece->max_characters || count_characters(word, size) <= wordpiece->max_characters;

    for (size_t at = 0, length; known && at < size; at += length) {
        int32_t id = -1;

        length = find_longest(wordpiece, at == 0, word + at, size - at, &id);
        known = length > 0;
        if (known && !token_list_append(list, id))
            return accel_error_no_memory(error, "to split text into tokens");
    }
    if (known)
        return ACCEL_OK;
    list->count = old;
    if (wordpiece->unk < 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "no tokens are for \"%.*s\", and the vocabulary has none for that",
                               (int)(size < 100 ? size : 100), word);
    return token_list_append(list, wordpiece->unk) ? ACCEL_OK
                                                   : accel_error_no_memory(error, "to split text into tokens");
}
