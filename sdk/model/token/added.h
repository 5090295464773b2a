/* SPDX-License-Identifier: Apache-2.0 */
/* Added tokens: spellings that are taken out of the text whole, before anything else looks at it.
 *
 * Two sets, as in tokenizer.json: one is matched in the raw text, the other (`normalized`) in the normalized text. At
 * each place the longest spelling counts. Immutable once made; any thread. */
#ifndef ACCEL_MODEL_TOKEN_ADDED_H
#define ACCEL_MODEL_TOKEN_ADDED_H

#include "sdk/model/token/vocab.h"

struct token_added_rule {
    int32_t id;
    bool special;
    bool single_word; /* only where no word character stands beside it */
    bool lstrip;      /* takes the white space before it along */
    bool rstrip;      /* takes the white space behind it along */
};

/* A tree of bytes: (node, byte) -> node, and the rule that ends at a node. */
struct token_added {
    struct token_added_rule *rules; /* [rule_count] */
    size_t rule_count, rule_capacity;
    struct token_pairs edges;
    int32_t *ends; /* [node_count] of a rule's number or -1 */
    size_t node_count, node_capacity;
};

/* Adds a spelling, which must not be empty; of two rules for one spelling the later counts. */
int32_t token_added_add(struct token_added *added, const char *text, size_t size, struct token_added_rule rule,
                        struct accel_error *error);
void token_added_free(struct token_added *added);

/* What stands at a place of the text. */
struct token_added_match {
    size_t start, end; /* bytes, with the white space that goes along */
    int32_t id;
};

/* Finds the next added token from `at` on; the text in front of it since `at` is ordinary. *out_next is where to go on.
 * Special ones count only if `special`. Returns false when there is none. */
bool token_added_next(const struct token_added *added, const char *text, size_t size, size_t at, size_t search,
                      bool special, struct token_added_match *out_match, size_t *out_search);

#endif
