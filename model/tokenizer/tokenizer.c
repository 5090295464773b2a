/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "model/file/fault.h"
#include "model/file/text.h"

#define MAX_TEXT ((size_t)1 << 30)

struct accel_token_stream {
    const struct accel_tokenizer *tokenizer;
    struct token_decoding decoding;
    uint32_t flags;
};

/* Names of end-of-turn and end-of-text tokens in published models. */
static const char end_names[] =
    "<|im_end|> <|eot_id|> <|eom_id|> <|end_of_text|> <end_of_turn> <|endoftext|> <|end|> <|return|> <|eot|> "
    "<|end_of_turn|> <EOT> <eos> </s> <|END_OF_TURN_TOKEN|> <|end_of_sentence|>";

struct accel_tokenizer *token_tokenizer_new(void)
{
    struct accel_tokenizer *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    token_bpe_init(&made->bpe);
    made->eot = -1;
    made->unigram.unk = made->wordpiece.unk = -1;
    made->bpe.prefix = token_copy("", 0);
    made->bpe.suffix = token_copy("", 0);
    for (size_t i = 0; i < 4; i++)
        made->special[i] = -1;
    if (made->bpe.prefix == NULL || made->bpe.suffix == NULL) {
        accel_tokenizer_free(made);
        return NULL;
    }
    return made;
}

void accel_tokenizer_free(struct accel_tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    token_vocab_free(&tokenizer->vocab);
    token_bpe_free(&tokenizer->bpe);
    token_unigram_free(&tokenizer->unigram);
    token_wordpiece_free(&tokenizer->wordpiece);
    token_added_free(&tokenizer->raw);
    token_added_free(&tokenizer->normalized);
    token_normalizers_free(&tokenizer->normalizers);
    token_splitters_free(&tokenizer->splitters);
    token_decoders_free(&tokenizer->decoders);
    accel_token_list_free(&tokenizer->before);
    accel_token_list_free(&tokenizer->after);
    free(tokenizer->chat_template);
    free(tokenizer);
}

void accel_token_list_free(struct accel_token_list *list)
{
    if (list == NULL)
        return;
    free(list->ids);
    memset(list, 0, sizeof(*list));
}

int32_t token_add_rule(struct token_splitters *list, const char *source, size_t size,
                       enum token_splitter_behavior behavior, bool invert, const char *where, struct accel_error *error)
{
    struct token_splitter step = {.kind = TOKEN_SPLIT_PATTERN, .behavior = behavior, .invert = invert};
    int32_t code = token_pattern_create(source, size, where, &step.pattern, error);

    return code == ACCEL_OK ? token_splitters_add(list, step, error) : code;
}

int32_t token_add_byte_level(struct token_splitters *list, bool add_prefix_space, bool use_regex, const char *where,
                             struct accel_error *error)
{
    struct token_splitter blank = {.kind = TOKEN_SPLIT_BYTES, .prefix = TOKEN_PREFIX_ALWAYS};
    struct token_splitter bytes = {.kind = TOKEN_SPLIT_BYTES};
    int32_t code = add_prefix_space ? token_splitters_add(list, blank, error) : ACCEL_OK;

    if (code == ACCEL_OK && use_regex)
        code = token_add_rule(list, token_gpt2_rule, strlen(token_gpt2_rule), TOKEN_ISOLATED, false, where, error);
    return code == ACCEL_OK ? token_splitters_add(list, bytes, error) : code;
}

int32_t token_add_bert(struct token_normalizers *list, bool clean, bool han, bool strip_accents, bool lowercase,
                       struct accel_error *error)
{
    const struct {
        bool wanted;
        struct token_normalizer step;
    } steps[] = {
        {clean, {.kind = TOKEN_NORMALIZE_CLEAN}},
        {han, {.kind = TOKEN_NORMALIZE_HAN}},
        {strip_accents, {.kind = TOKEN_NORMALIZE_FORM, .form = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE}},
        {strip_accents, {.kind = TOKEN_NORMALIZE_NONSPACING}},
        {lowercase, {.kind = TOKEN_NORMALIZE_LOWER}},
    };
    int32_t code = ACCEL_OK;

    for (size_t i = 0; code == ACCEL_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
        code = steps[i].wanted ? token_normalizers_add(list, steps[i].step, error) : ACCEL_OK;
    return code;
}

int32_t token_add_bert_words(struct token_splitters *list, struct accel_error *error)
{
    struct token_splitter space = {.kind = TOKEN_SPLIT_SPACE, .behavior = TOKEN_REMOVED};
    struct token_splitter marks = {.kind = TOKEN_SPLIT_PUNCTUATION, .behavior = TOKEN_ISOLATED};
    int32_t code = token_splitters_add(list, space, error);

    return code == ACCEL_OK ? token_splitters_add(list, marks, error) : code;
}

int32_t token_add_replace(struct accel_tokenizer *tokenizer, bool decoder, const char *from, const char *to,
                          const char *where, struct accel_error *error)
{
    struct token_decoder decode = {.kind = TOKEN_DECODE_REPLACE, .text = to, .text_size = strlen(to)};
    struct token_normalizer normalize = {.kind = TOKEN_NORMALIZE_REPLACE, .text = to, .text_size = strlen(to)};
    int32_t code = token_pattern_create_text(from, strlen(from), &normalize.pattern, error);

    decode.pattern = normalize.pattern;
    if (code != ACCEL_OK)
        return code;
    return decoder ? token_decoders_add(&tokenizer->decoders, decode, where, error)
                   : token_normalizers_add(&tokenizer->normalizers, normalize, error);
}

/* State of one call of encode, in addition to the tokenizer. */
struct encoding {
    const struct accel_tokenizer *tokenizer;
    struct accel_token_list *list;
    struct token_bpe_work bpe;
    struct token_unigram_work unigram;
    bool special;
};

static int32_t encode_word(struct encoding *encoding, const char *word, size_t size, struct accel_error *error)
{
    const struct accel_tokenizer *tokenizer = encoding->tokenizer;

    switch (tokenizer->kind) {
    case TOKEN_MODEL_UNIGRAM:
        return token_unigram_word(&tokenizer->unigram, &encoding->unigram, word, size, encoding->list, error);
    case TOKEN_MODEL_WORDPIECE:
        return token_wordpiece_word(&tokenizer->wordpiece, word, size, encoding->list, error);
    default:
        return token_bpe_word(&tokenizer->bpe, &tokenizer->vocab, &encoding->bpe, word, size, encoding->list, error);
    }
}

/* Encodes normalized text that contains no added token. */
static int32_t encode_words(struct encoding *encoding, const char *text, size_t size, bool first,
                            struct accel_error *error)
{
    const struct accel_tokenizer *tokenizer = encoding->tokenizer;
    struct token_pieces pieces = {0};
    int32_t code = ACCEL_OK;

    if (!token_buffer_append(&pieces.text, text, size) || !token_pieces_add(&pieces, 0, size, first))
        code = accel_error_no_memory(error, "to split text");
    if (code == ACCEL_OK)
        code = token_split(&tokenizer->splitters, &pieces, error);
    if (code == ACCEL_OK && pieces.text.size > INT32_MAX)
        code = accel_error_set(error, ACCEL_E_LIMIT, "text of %zu bytes after normalization", pieces.text.size);
    for (size_t i = 0; code == ACCEL_OK && i < pieces.count; i++)
        code = encode_word(encoding, pieces.text.data + pieces.ranges[i].start,
                           pieces.ranges[i].end - pieces.ranges[i].start, error);
    token_pieces_free(&pieces);
    return code;
}

/* Encodes the text between the added tokens of one set with the next stage. */
typedef int32_t between_fn(struct encoding *encoding, const char *text, size_t size, bool first,
                           struct accel_error *error);

static int32_t encode_around(struct encoding *encoding, const struct token_added *added, between_fn *between,
                             const char *text, size_t size, bool first, struct accel_error *error)
{
    struct token_added_match match;
    size_t at = 0, search = 0;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && token_added_next(added, text, size, at, search, encoding->special, &match, &search)) {
        if (match.start > at)
            code = between(encoding, text + at, match.start - at, first && at == 0, error);
        if (code == ACCEL_OK && !token_list_append(encoding->list, match.id))
            code = accel_error_no_memory(error, "for tokens");
        at = match.end;
    }
    if (code == ACCEL_OK && at < size)
        code = between(encoding, text + at, size - at, first && at == 0, error);
    return code;
}

static int32_t encode_normalized(struct encoding *encoding, const char *text, size_t size, bool first,
                                 struct accel_error *error)
{
    const struct accel_tokenizer *tokenizer = encoding->tokenizer;
    struct token_buffer buffer = {0};
    int32_t code = ACCEL_OK;

    if (!token_buffer_append(&buffer, text, size))
        code = accel_error_no_memory(error, "to normalize text");
    if (code == ACCEL_OK)
        code = token_normalize(&tokenizer->normalizers, &buffer, error);
    if (code == ACCEL_OK)
        code = encode_around(encoding, &tokenizer->normalized, encode_words, buffer.data, buffer.size, first, error);
    token_buffer_free(&buffer);
    return code;
}

static int32_t append_all(struct accel_token_list *list, const struct accel_token_list *ids, struct accel_error *error)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (!token_list_append(list, ids->ids[i]))
            return accel_error_no_memory(error, "for tokens");
    }
    return ACCEL_OK;
}

int32_t accel_tokenizer_encode(const struct accel_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                               struct accel_token_list *list, struct accel_error *error)
{
    struct encoding encoding = {.tokenizer = tokenizer, .list = list};
    size_t old, good;
    int32_t code = ACCEL_OK;

    if (tokenizer == NULL || list == NULL || (text == NULL && size > 0) ||
        (flags & ~(ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL)) != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_tokenizer_encode: an argument is NULL or flags are %#x",
                               flags);
    if (size >= MAX_TEXT)
        return accel_error_set(error, ACCEL_E_LIMIT, "text of %zu bytes, at most %zu", size, MAX_TEXT);
    good = token_utf8_check(text, size);
    if (good < size)
        return accel_error_set(error, ACCEL_E_INVALID, "text is not UTF-8 at byte %zu (0x%02x)", good,
                               (unsigned char)text[good]);
    encoding.special = (flags & ACCEL_ENCODE_PARSE_SPECIAL) != 0;
    old = list->count;
    if ((flags & ACCEL_ENCODE_ADD_SPECIAL) != 0)
        code = append_all(list, &tokenizer->before, error);
    if (code == ACCEL_OK)
        code = encode_around(&encoding, &tokenizer->raw, encode_normalized, text, size, true, error);
    if (code == ACCEL_OK && (flags & ACCEL_ENCODE_ADD_SPECIAL) != 0)
        code = append_all(list, &tokenizer->after, error);
    token_bpe_work_free(&encoding.bpe);
    token_unigram_work_free(&encoding.unigram);
    if (code != ACCEL_OK)
        list->count = old;
    return code;
}

/* Passes one id through the decoders. */
static int32_t push_id(const struct accel_tokenizer *tokenizer, struct token_decoding *decoding, int32_t id,
                       uint32_t flags, struct accel_error *error)
{
    const struct token_entry *entry = token_vocab_entry(&tokenizer->vocab, id);

    if (entry == NULL || ((flags & ACCEL_DECODE_SKIP_SPECIAL) != 0 && (entry->flags & TOKEN_SPECIAL) != 0))
        return ACCEL_OK;
    return token_decoding_push(decoding, tokenizer->vocab.text.data + entry->offset, entry->size, error);
}

int32_t accel_tokenizer_decode(const struct accel_tokenizer *tokenizer, const int32_t *ids, size_t count,
                               uint32_t flags, char **out_text, size_t *out_size, struct accel_error *error)
{
    struct token_decoding decoding;
    int32_t code;

    if (tokenizer == NULL || out_text == NULL || out_size == NULL || (ids == NULL && count > 0) ||
        (flags & ~ACCEL_DECODE_SKIP_SPECIAL) != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_tokenizer_decode: an argument is NULL or flags are %#x",
                               flags);
    *out_text = NULL;
    *out_size = 0;
    code = token_decoding_begin(&decoding, &tokenizer->decoders, false, error);
    for (size_t i = 0; code == ACCEL_OK && i < count; i++)
        code = push_id(tokenizer, &decoding, ids[i], flags, error);
    if (code == ACCEL_OK)
        code = token_decoding_end(&decoding, error);
    if (code == ACCEL_OK && !token_buffer_append(&decoding.out, "", 1))
        code = accel_error_no_memory(error, "to decode tokens");
    if (code == ACCEL_OK) {
        *out_text = decoding.out.data;
        *out_size = decoding.out.size - 1;
        memset(&decoding.out, 0, sizeof(decoding.out));
    }
    token_decoding_free(&decoding);
    return code;
}

void accel_tokenizer_text_free(char *text)
{
    free(text);
}

size_t accel_tokenizer_size(const struct accel_tokenizer *tokenizer)
{
    return tokenizer == NULL ? 0 : tokenizer->vocab.count;
}

int32_t accel_tokenizer_token(const struct accel_tokenizer *tokenizer, int32_t id, struct accel_token_text *out_text,
                              struct accel_error *error)
{
    const struct token_entry *entry;

    if (tokenizer == NULL || out_text == NULL)
        return model_refuse_null(__func__, error);
    *out_text = (struct accel_token_text){0};
    entry = token_vocab_entry(&tokenizer->vocab, id);
    if (entry == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "no token has id %d; the vocabulary has %zu ids", (int)id,
                               tokenizer->vocab.count);
    out_text->data = tokenizer->vocab.text.data + entry->offset;
    out_text->size = entry->size;
    return ACCEL_OK;
}

int32_t accel_tokenizer_find(const struct accel_tokenizer *tokenizer, const char *text, size_t size, int32_t *out_id,
                             struct accel_error *error)
{
    if (tokenizer == NULL || text == NULL || out_id == NULL)
        return model_refuse_null(__func__, error);
    *out_id = token_vocab_find(&tokenizer->vocab, text, size);
    if (*out_id < 0)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "no token is spelt \"%.*s\"", (int)(size < 200 ? size : 200),
                               text);
    return ACCEL_OK;
}

int32_t accel_tokenizer_special(const struct accel_tokenizer *tokenizer, int32_t which)
{
    return tokenizer == NULL || which < 0 || which > ACCEL_TOKEN_PAD ? -1 : tokenizer->special[which];
}

int32_t accel_tokenizer_is_special(const struct accel_tokenizer *tokenizer, int32_t id)
{
    const struct token_entry *entry = tokenizer == NULL ? NULL : token_vocab_entry(&tokenizer->vocab, id);

    return entry != NULL && (entry->flags & TOKEN_SPECIAL) != 0;
}

int32_t accel_tokenizer_is_end(const struct accel_tokenizer *tokenizer, int32_t id)
{
    const struct token_entry *entry = tokenizer == NULL ? NULL : token_vocab_entry(&tokenizer->vocab, id);

    if (entry == NULL)
        return 0;
    return id == tokenizer->special[ACCEL_TOKEN_EOS] || id == tokenizer->eot ||
           ((entry->flags & TOKEN_SPECIAL) != 0 &&
            model_text_is_one_of(end_names, tokenizer->vocab.text.data + entry->offset, entry->size));
}

const char *accel_tokenizer_chat_template(const struct accel_tokenizer *tokenizer)
{
    return tokenizer == NULL ? NULL : tokenizer->chat_template;
}

int32_t accel_token_stream_create(const struct accel_tokenizer *tokenizer, uint32_t flags,
                                  struct accel_token_stream **out_stream, struct accel_error *error)
{
    struct accel_token_stream *stream;
    int32_t code;

    if (tokenizer == NULL || out_stream == NULL || (flags & ~ACCEL_DECODE_SKIP_SPECIAL) != 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_token_stream_create: an argument is NULL or flags are %#x", flags);
    *out_stream = NULL;
    stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return accel_error_no_memory(error, "for a token stream");
    stream->tokenizer = tokenizer;
    stream->flags = flags;
    code = token_decoding_begin(&stream->decoding, &tokenizer->decoders, true, error);
    if (code != ACCEL_OK) {
        free(stream);
        return code;
    }
    *out_stream = stream;
    return ACCEL_OK;
}

int32_t accel_token_stream_push(struct accel_token_stream *stream, int32_t id, const char **out_text, size_t *out_size,
                                struct accel_error *error)
{
    int32_t code;

    if (stream == NULL || out_text == NULL || out_size == NULL)
        return model_refuse_null(__func__, error);
    stream->decoding.out.size = 0;
    code = push_id(stream->tokenizer, &stream->decoding, id, stream->flags, error);
    *out_text = stream->decoding.out.data == NULL ? "" : stream->decoding.out.data;
    *out_size = code == ACCEL_OK ? stream->decoding.out.size : 0;
    return code;
}

int32_t accel_token_stream_flush(struct accel_token_stream *stream, const char **out_text, size_t *out_size,
                                 struct accel_error *error)
{
    int32_t code;

    if (stream == NULL || out_text == NULL || out_size == NULL)
        return model_refuse_null(__func__, error);
    stream->decoding.out.size = 0;
    code = token_decoding_end(&stream->decoding, error);
    *out_text = stream->decoding.out.data == NULL ? "" : stream->decoding.out.data;
    *out_size = code == ACCEL_OK ? stream->decoding.out.size : 0;
    return code;
}

void accel_token_stream_free(struct accel_token_stream *stream)
{
    if (stream == NULL)
        return;
    token_decoding_free(&stream->decoding);
    free(stream);
}
