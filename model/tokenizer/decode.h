/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes tokens to text by the `decoder` of tokenizer.json: a chain of steps, each of which receives pieces (at first
 * the spelling of one token) and passes pieces to the next step. The chain serves whole texts and streams.
 *
 * The list of steps is immutable; the state of one text (struct token_decoding) belongs to one thread. */
#ifndef ACCEL_MODEL_TOKENIZER_DECODE_H
#define ACCEL_MODEL_TOKENIZER_DECODE_H

#include "model/tokenizer/normalize.h"

enum token_decoder_kind {
    TOKEN_DECODE_BYTES,    /* ByteLevel: printable characters to bytes */
    TOKEN_DECODE_FALLBACK, /* ByteFallback: <0xNN> to bytes */
    TOKEN_DECODE_REPLACE,  /* matches of `pattern` become `text`, in each piece */
    TOKEN_DECODE_MARK,   /* Metaspace: matches of `pattern` become a blank, or nothing in the first piece if `prefix` */
    TOKEN_DECODE_FUSE,   /* later steps see all pieces as one */
    TOKEN_DECODE_STRIP,  /* removes `text` (one character) up to `start` times from the beginning of a piece, and up to
                          * `stop` times from its end */
    TOKEN_DECODE_SUFFIX, /* BPEDecoder: matches of `pattern` become a blank, or nothing in the last piece */
    TOKEN_DECODE_WORDPIECE, /* a piece with the prefix `text` loses it; every other but the first gets a blank before */
    TOKEN_DECODE_BLANKS,    /* joins pieces by blanks, if the file names no decoder */
};

struct token_decoder {
    enum token_decoder_kind kind;
    bool fused;                    /* follows a FUSE, so it sees the text as one piece */
    bool prefix;                   /* MARK: matches in the first piece are removed */
    bool cleanup;                  /* WORDPIECE: no blanks before punctuation and English contractions */
    size_t start, stop;            /* STRIP */
    struct token_pattern *pattern; /* REPLACE, MARK, SUFFIX */
    const char *text;              /* REPLACE, STRIP, WORDPIECE */
    size_t text_size;
};

struct token_decoders {
    struct token_decoder *items; /* [count] */
    size_t count, capacity;
    bool fused; /* the list contains a FUSE */
};

/* Adds a step with a copy of its text; takes over its pattern, on failure too. A step after a FUSE that needs the end
 * of the text is refused; `where` names it in the error. */
int32_t token_decoders_add(struct token_decoders *list, struct token_decoder step, const char *where,
                           struct accel_error *error);
void token_decoders_free(struct token_decoders *list);

/* The state of one text. */
struct token_decoding {
    const struct token_decoders *list;
    struct token_stage *stages; /* [list->count] */
    struct token_buffer out;    /* the text so far */
    bool eager;                 /* a stream: FALLBACK emits a character as soon as its bytes are complete */
};

int32_t token_decoding_begin(struct token_decoding *decoding, const struct token_decoders *list, bool eager,
                             struct accel_error *error);
void token_decoding_free(struct token_decoding *decoding);

/* Decodes the spelling of the next token. */
int32_t token_decoding_push(struct token_decoding *decoding, const char *text, size_t size, struct accel_error *error);

/* Ends the text and emits what the steps held back. The state can then decode another text; the caller empties `out`.
 */
int32_t token_decoding_end(struct token_decoding *decoding, struct accel_error *error);

#endif
