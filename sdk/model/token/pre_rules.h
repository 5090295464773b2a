/* SPDX-License-Identifier: Apache-2.0 */
/* The splitting rules behind the names that GGUF files give in tokenizer.ggml.pre. */
#ifndef ACCEL_MODEL_TOKEN_PRE_RULES_H
#define ACCEL_MODEL_TOKEN_PRE_RULES_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_PRE_RULES 4

struct token_pre_rule {
    const char *names;                  /* separated by blanks */
    const char *rules[TOKEN_PRE_RULES]; /* regular expressions, each splits the pieces of the one before; NULL ends */
    bool ignore_merges;                 /* a whole word that is a token is that token */
    bool add_bos;                       /* unless the file says otherwise */
};

/* The rule of a name, or NULL. */
const struct token_pre_rule *token_pre_rule_find(const char *name);

/* Writes all names, separated by blanks, cut to `size` bytes with the zero. */
void token_pre_rule_names(char *out, size_t size);

#endif
