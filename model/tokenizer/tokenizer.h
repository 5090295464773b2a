/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a tokenizer, in the order of encoding: added tokens, normalizers, splitters, the model, special tokens
 * around the text; and decoders for decoding. The readers fill it; afterwards it is immutable. */
#ifndef ACCEL_MODEL_TOKENIZER_TOKENIZER_H
#define ACCEL_MODEL_TOKENIZER_TOKENIZER_H

#include "model/tokenizer/added.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/decode.h"
#include "model/tokenizer/normalize.h"
#include "model/tokenizer/split.h"
#include "model/tokenizer/unigram.h"
#include "model/tokenizer/wordpiece.h"

/* How words become tokens. */
enum token_model_kind {
    TOKEN_MODEL_BPE,
    TOKEN_MODEL_UNIGRAM,
    TOKEN_MODEL_WORDPIECE,
};

struct accel_tokenizer {
    struct token_vocab vocab;
    enum token_model_kind kind;
    struct token_bpe bpe; /* the one of `kind` is filled */
    struct token_unigram unigram;
    struct token_wordpiece wordpiece;
    struct token_added raw;        /* matched in the raw text */
    struct token_added normalized; /* matched in the normalized text */
    struct token_normalizers normalizers;
    struct token_splitters splitters;
    struct token_decoders decoders;
    struct accel_token_list before; /* ids that ACCEL_ENCODE_ADD_SPECIAL adds before the text */
    struct accel_token_list after;  /* and after it */
    int32_t special[4];             /* ACCEL_TOKEN_BOS ... or -1 */
    int32_t eot;                    /* end of a turn, or -1 */
    char *chat_template;            /* or NULL */
};

/* Returns an empty tokenizer, or NULL. */
struct accel_tokenizer *token_tokenizer_new(void);

/* Adds the splitting step of a regular expression whose matches become words. */
int32_t token_add_rule(struct token_splitters *list, const char *source, size_t size,
                       enum token_splitter_behavior behavior, bool invert, const char *where,
                       struct accel_error *error);

/* Adds the steps of a ByteLevel pre-tokenizer. */
int32_t token_add_byte_level(struct token_splitters *list, bool add_prefix_space, bool use_regex, const char *where,
                             struct accel_error *error);

/* Adds the chosen steps of BERT's normalizer, in its order. */
int32_t token_add_bert(struct token_normalizers *list, bool clean, bool han, bool strip_accents, bool lowercase,
                       struct accel_error *error);

/* Adds the steps of BERT's pre-tokenizer: words between white space, and each punctuation character by itself. */
int32_t token_add_bert_words(struct token_splitters *list, struct accel_error *error);

/* Makes a step with a string pattern and a replacement: for normalizers and decoders of both readers. */
int32_t token_add_replace(struct accel_tokenizer *tokenizer, bool decoder, const char *from, const char *to,
                          const char *where, struct accel_error *error);

#endif
