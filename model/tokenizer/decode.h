/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders: spellings of tokens to text. A chain of stages; each takes pieces and gives pieces to the next, so one
 * chain serves whole texts and streams.
 *
 * The list of steps is immutable; the state of one text (struct token_decoding) belongs to one thread. */
#ifndef ACCEL_MODEL_TOKENIZER_DECODE_H
#define ACCEL_MODEL_TOKENIZER_DECODE_H

#include "model/tokenizer/normalize.h"

enum token_decoder_kind {
    TOKEN_DECODE_BYTES,    /* ByteLevel: printable characters to bytes */
    TOKEN_DECODE_FALLBACK, /* ByteFallback: <0xNN> to bytes */
    TOKEN_DECODE_REPLACE,  /* matches of `pattern` become `text`, in each piece */
    TOKEN_DECODE_MARK,     /* Metaspace: `text` becomes a blank; dropped in the first piece with `prefix` */
    TOKEN_DECODE_FUSE,     /* all pieces are one from here on */
    TOKEN_DECODE_STRIP,    /* up to `start` and `stop` times `text` (one character) go from the ends of a piece */
    TOKEN_DECODE_SUFFIX,   /* BPEDecoder: `text` at a piece's end becomes a blank, or nothing at the last piece */
    TOKEN_DECODE_BLANKS,   /* no decoder in the file: pieces are joined by blanks */
};

struct token_decoder {
    enum token_decoder_kind kind;
    bool fused;  /* stands behind a Fuse, so it sees the text as one piece */
    bool prefix; /* MARK: every `text` in the first piece is dropped */
    size_t start, stop;
    struct token_pattern *pattern;
    char *text;
    size_t text_size;
};

struct token_decoders {
    struct token_decoder *items; /* [count] */
    size_t count, capacity;
    bool fused; /* a Fuse has been added */
};

/* Adds a step and takes ownership of its pattern and text, also on failure. A step after a Fuse that cannot be
 * streamed piece by piece is refused; `where` names it in the error. */
int32_t token_decoders_add(struct token_decoders *list, struct token_decoder step, const char *where,
                           struct accel_error *error);
void token_decoders_free(struct token_decoders *list);

/* The state of one text. */
struct token_decoding {
    const struct token_decoders *list;
    struct token_stage *stages; /* [list->count] */
    struct token_buffer out;    /* the text so far */
    bool eager;                 /* a stream: bytes of a fallback become characters as soon as they are complete */
};

int32_t token_decoding_begin(struct token_decoding *decoding, const struct token_decoders *list, bool eager,
                             struct accel_error *error);
void token_decoding_free(struct token_decoding *decoding);

/* Takes one token's spelling. */
int32_t token_decoding_push(struct token_decoding *decoding, const char *text, size_t size, struct accel_error *error);

/* Ends the text; the state is then ready for another one, `out` apart. */
int32_t token_decoding_end(struct token_decoding *decoding, struct accel_error *error);

#endif
