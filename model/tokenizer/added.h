/* SPDX-License-Identifier: Apache-2.0 */
/* Added tokens: spellings that are matched in the text as a whole, before normalizer, pre-tokenizer and merges.
 *
 * Two sets, as in tokenizer.json: one is matched in the raw text, the other (`normalized`) in the normalized text.
 * The longest match at a position wins. Immutable once created; any thread. */
#ifndef ACCEL_MODEL_TOKENIZER_ADDED_H
#define ACCEL_MODEL_TOKENIZER_ADDED_H

#include "model/tokenizer/vocab.h"

struct token_added_rule {
    int32_t id;
    bool special;
    bool single_word; /* only if no word character is adjacent */
    bool lstrip;      /* includes the white space before it */
    bool rstrip;      /* includes the white space after it */
};

/* A trie over bytes: (node, byte) -> node, and the rule that ends at a node. */
struct token_added {
    struct token_added_rule *rules; /* [rule_count] */
    size_t rule_count, rule_capacity;
    struct token_pairs edges;
    int32_t *ends; /* [node_count] rule number or -1 */
    size_t node_count, node_capacity;
};

/* Adds a spelling, which must not be empty; a later rule for a spelling replaces the earlier one. */
int32_t token_added_add(struct token_added *added, const char *text, size_t size, struct token_added_rule rule,
                        struct accel_error *error);
void token_added_free(struct token_added *added);

/* A match in the text, with its rule. */
struct token_added_match {
    size_t start, end; /* bytes, including the adjacent white space */
    int32_t id;
};

/* Finds the next added token from `at` on; the text in front of it since `at` is ordinary. *out_next is where to go on.
 * Special ones count only if `special`. Returns false when there is none. */
bool token_added_next(const struct token_added *added, const char *text, size_t size, size_t at, size_t search,
                      bool special, struct token_added_match *out_match, size_t *out_search);

#endif
