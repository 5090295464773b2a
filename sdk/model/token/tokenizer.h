/* SPDX-License-Identifier: Apache-2.0 */
/* A tokenizer's parts, in the order in which text passes through them: added tokens, normalizers, splitters, byte-pair
 * merging, what stands around; and decoders for the way back. The readers fill it, then it is only read. */
#ifndef ACCEL_MODEL_TOKEN_TOKENIZER_H
#define ACCEL_MODEL_TOKEN_TOKENIZER_H

#include "sdk/model/token/added.h"
#include "sdk/model/token/bpe.h"
#include "sdk/model/token/decode.h"
#include "sdk/model/token/normalize.h"
#include "sdk/model/token/split.h"

struct accel_tokenizer {
    struct token_vocab vocab;
    struct token_bpe bpe;
    struct token_added raw;        /* matched in the text as it comes */
    struct token_added normalized; /* matched in the normalized text */
    struct token_normalizers normalizers;
    struct token_splitters splitters;
    struct token_decoders decoders;
    struct accel_token_list before; /* ids that ACCEL_ENCODE_ADD_SPECIAL puts in front */
    struct accel_token_list after;  /* and behind */
    int32_t special[4];             /* ACCEL_TOKEN_BOS ... or -1 */
    int32_t eot;                    /* end of a turn, or -1 */
    char *chat_template;            /* or NULL */
};

/* A tokenizer without anything, or NULL. */
struct accel_tokenizer *token_tokenizer_new(void);

/* Adds the splitting step of a regular expression whose matches stay whole. */
int32_t token_add_rule(struct token_splitters *list, const char *source, size_t size,
                       enum token_splitter_behavior behavior, bool invert, const char *where,
                       struct accel_error *error);

/* Adds the steps of a ByteLevel pre-tokenizer. */
int32_t token_add_byte_level(struct token_splitters *list, bool add_prefix_space, bool use_regex, const char *where,
                             struct accel_error *error);

/* Makes a step with a string pattern and a replacement: for normalizers and decoders of both readers. */
int32_t token_add_replace(struct accel_tokenizer *tokenizer, bool decoder, const char *from, const char *to,
                          const char *where, struct accel_error *error);

#endif
