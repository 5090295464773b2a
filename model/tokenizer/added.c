/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static bool new_node(struct token_added *added, int32_t *out_node)
{
    if (added->node_count >= INT32_MAX ||
        !token_array_grow(&added->ends, &added->node_capacity, added->node_count + 1, sizeof(*added->ends)))
        return false;
    *out_node = (int32_t)added->node_count;
    added->ends[added->node_count++] = -1;
    return true;
}

/* Returns the child of a node for a byte, created if it is missing; -1 if memory runs out. */
static int32_t step_or_make(struct token_added *added, int32_t node, unsigned char byte)
{
    uint64_t next;
    int32_t made;

    if (token_pairs_get(&added->edges, TOKEN_PAIR(node, byte), &next))
        return (int32_t)next;
    if (!new_node(added, &made) || !token_pairs_set(&added->edges, TOKEN_PAIR(node, byte), (uint64_t)made))
        return -1;
    return made;
}

int32_t token_added_add(struct token_added *added, const char *text, size_t size, struct token_added_rule rule,
                        struct accel_error *error)
{
    int32_t node = 0;

    if (added->node_count == 0 && (!token_pairs_init(&added->edges, 64) || !new_node(added, &node)))
        return accel_error_no_memory(error, "for added tokens");
    for (size_t i = 0; i < size && node >= 0; i++)
        node = step_or_make(added, node, (unsigned char)text[i]);
    if (node < 0 ||
        !token_array_grow(&added->rules, &added->rule_capacity, added->rule_count + 1, sizeof(*added->rules)))
        return accel_error_no_memory(error, "for added tokens");
    added->rules[added->rule_count] = rule;
    added->ends[node] = (int32_t)added->rule_count++;
    return ACCEL_OK;
}

void token_added_free(struct token_added *added)
{
    free(added->rules);
    free(added->ends);
    token_pairs_free(&added->edges);
    memset(added, 0, sizeof(*added));
}

/* Finds the longest spelling that begins at `at`: returns its rule or NULL, and its end. */
static const struct token_added_rule *match_at(const struct token_added *added, const char *text, size_t size,
                                               size_t at, size_t *out_end)
{
    const struct token_added_rule *found = NULL;
    uint64_t node = 0;

    while (at < size && token_pairs_get(&added->edges, TOKEN_PAIR(node, (unsigned char)text[at]), &node)) {
        at++;
        if (added->ends[node] >= 0) {
            found = &added->rules[added->ends[node]];
            *out_end = at;
        }
    }
    return found;
}

static bool is_word(uint32_t code)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);

    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME) || category == UTF8PROC_CATEGORY_ND ||
           category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC;
}

static bool word_around(const char *text, size_t size, size_t start, size_t end)
{
    uint32_t code = 0;

    if (start > 0) {
        size_t before = token_utf8_before(text, start);

        token_utf8_next(text + before, start - before, &code);
        if (is_word(code))
            return true;
    }
    return end < size && token_utf8_next(text + end, size - end, &code) > 0 && is_word(code);
}

/* Extends a match over adjacent white space, to the left not beyond `at`. */
static void widen(const struct token_added_rule *rule, const char *text, size_t size, size_t at,
                  struct token_added_match *match)
{
    uint32_t code = 0;

    while (rule->lstrip && match->start > at) {
        size_t before = token_utf8_before(text, match->start);

        token_utf8_next(text + before, match->start - before, &code);
        if (!token_is_space(code))
            break;
        match->start = before;
    }
    while (rule->rstrip && match->end < size) {
        size_t length = token_utf8_next(text + match->end, size - match->end, &code);

        if (length == 0 || !token_is_space(code))
            break;
        match->end += length;
    }
}

bool token_added_next(const struct token_added *added, const char *text, size_t size, size_t at, size_t search,
                      bool special, struct token_added_match *out_match, size_t *out_search)
{
    if (added->node_count == 0)
        return false;
    while (search < size) {
        size_t end = 0;
        const struct token_added_rule *rule = match_at(added, text, size, search, &end);

        if (rule == NULL) {
            search++;
            continue;
        }
        if ((rule->special && !special) || (rule->single_word && word_around(text, size, search, end))) {
            search = end;
            continue;
        }
        *out_match = (struct token_added_match){.start = search, .end = end, .id = rule->id};
        widen(rule, text, size, at, out_match);
        *out_search = out_match->end > end ? out_match->end : end;
        return true;
    }
    return false;
}
