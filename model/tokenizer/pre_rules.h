/* SPDX-License-Identifier: Apache-2.0 */
/* Pre-tokenizer rules for the names in tokenizer.ggml.pre of GGUF files. */
#ifndef ACCEL_MODEL_TOKENIZER_PRE_RULES_H
#define ACCEL_MODEL_TOKENIZER_PRE_RULES_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_PRE_RULES 6

struct token_pre_rule {
    const char *names;                  /* separated by blanks */
    const char *rules[TOKEN_PRE_RULES]; /* regular expressions; each splits the pieces of the previous one; NULL
                                         * ends the list */
    bool ignore_merges;                 /* a whole word that is a token is that token */
    bool add_bos;                       /* default if the file has no add_bos */
    bool characters;                    /* merges characters, with <0xNN> for unknown ones, instead of bytes */
    bool marks;                         /* blanks become marks (U+2581) */
    bool whole_newlines;                /* a word of newlines that is a token is that token */
};

/* Returns the rule of a name, or NULL. */
const struct token_pre_rule *token_pre_rule_find(const char *name);

/* Writes all names, separated by blanks, truncated to `size` bytes including the zero. */
void token_pre_rule_names(char *out, size_t size);

#endif
