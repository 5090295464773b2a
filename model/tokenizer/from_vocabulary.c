/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/tokenizer/charsmap.h"
#include "model/tokenizer/pre_rules.h"
#include "model/tokenizer/tokenizer.h"

#define MARK "\xe2\x96\x81" /* U+2581, which stands for a blank in SentencePiece vocabularies */
#define CONTINUES "##"      /* before a token that continues a word, in WordPiece vocabularies */
#define WORD_CHARACTERS 100 /* a longer word is unknown to WordPiece */

static int32_t type_of(const struct accel_token_vocabulary *from, size_t id)
{
    return from->types == NULL ? ACCEL_TOKEN_NORMAL : from->types[id];
}

static uint32_t flags_of(int32_t type)
{
    if (type == ACCEL_TOKEN_CONTROL || type == ACCEL_TOKEN_UNKNOWN)
        return TOKEN_SPECIAL | TOKEN_RESERVED;
    return type == ACCEL_TOKEN_BYTE ? TOKEN_RESERVED : 0;
}

/* Adds a token that is matched in the text as a whole: user-defined tokens always, control and unknown ones on
 * request. */
static int32_t add_whole(struct accel_tokenizer *made, const struct accel_token_vocabulary *from, size_t id,
                         struct accel_error *error)
{
    struct token_added_rule rule = {.id = (int32_t)id};
    int32_t type = type_of(from, id);

    rule.special = type == ACCEL_TOKEN_CONTROL || type == ACCEL_TOKEN_UNKNOWN;
    if ((!rule.special && type != ACCEL_TOKEN_USER) || from->tokens[id].size == 0)
        return ACCEL_OK;
    return token_added_add(&made->raw, from->tokens[id].data, from->tokens[id].size, rule, error);
}

/* True if a "bert" vocabulary marks the beginning of words (by U+2581) rather than what continues them (by "##"). */
static bool marks_words(const struct accel_token_vocabulary *from)
{
    for (size_t id = 0; id < from->token_count; id++) {
        if (from->tokens[id].size > 3 && memcmp(from->tokens[id].data, MARK, 3) == 0)
            return true;
    }
    return false;
}

/* Adds the tokens of a "bert" vocabulary in the spelling of its source, with "##" before what continues a word. */
static int32_t fill_bert_vocabulary(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                                    struct accel_error *error)
{
    struct token_buffer spelling = {0};
    int32_t code = ACCEL_OK;
    bool marked = marks_words(from);

    for (size_t id = 0; code == ACCEL_OK && id < from->token_count; id++) {
        const struct accel_token_text *token = &from->tokens[id];
        bool begins = token->size > 3 && memcmp(token->data, MARK, 3) == 0;
        bool named = type_of(from, id) != ACCEL_TOKEN_NORMAL ||
                     (token->size > 2 && token->data[0] == '[' && token->data[token->size - 1] == ']');
        bool done = true;

        spelling.size = 0;
        if (marked && !begins && !named)
            done = token_buffer_append(&spelling, CONTINUES, strlen(CONTINUES));
        if (!done || !token_buffer_append(&spelling, token->data == NULL ? "" : token->data + (begins ? 3 : 0),
                                          token->size - (begins ? 3 : 0)))
            code = accel_error_no_memory(error, "for %zu tokens", from->token_count);
        else
            code = token_vocab_add(&made->vocab, (int32_t)id, spelling.data == NULL ? "" : spelling.data, spelling.size,
                                   flags_of(type_of(from, id)), error);
        if (code == ACCEL_OK)
            code = add_whole(made, from, id, error);
    }
    token_buffer_free(&spelling);
    return code;
}

static int32_t check_types(const struct accel_token_vocabulary *from, struct accel_error *error)
{
    for (size_t id = 0; id < from->token_count; id++) {
        if (type_of(from, id) < 0 || type_of(from, id) > ACCEL_TOKEN_BYTE)
            return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.token_type[%zu] is %d", id,
                                   (int)type_of(from, id));
    }
    return ACCEL_OK;
}

static int32_t fill_vocabulary(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                               struct accel_error *error)
{
    int32_t code = check_types(from, error);

    if (!token_vocab_init(&made->vocab, from->token_count))
        return accel_error_no_memory(error, "for %zu tokens", from->token_count);
    if (code == ACCEL_OK && from->model != NULL && strcmp(from->model, "bert") == 0)
        return fill_bert_vocabulary(made, from, error);
    for (size_t id = 0; code == ACCEL_OK && id < from->token_count; id++) {
        code = token_vocab_add(&made->vocab, (int32_t)id, from->tokens[id].data == NULL ? "" : from->tokens[id].data,
                               from->tokens[id].size, flags_of(type_of(from, id)), error);
        if (code == ACCEL_OK)
            code = add_whole(made, from, id, error);
    }
    return code;
}

static int32_t check_id(const struct accel_token_vocabulary *from, int32_t id, const char *key,
                        struct accel_error *error)
{
    if (id < -1 || (id >= 0 && (size_t)id >= from->token_count))
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.%s is %d, the vocabulary has %zu tokens", key,
                               (int)id, from->token_count);
    return ACCEL_OK;
}

/* Adds the begin and end tokens around a text, by the file's setting or the default of the model kind. */
static int32_t fill_around(struct accel_tokenizer *made, const struct accel_token_vocabulary *from, bool kind_bos,
                           struct accel_error *error)
{
    bool add_bos = from->add_bos == ACCEL_TOKEN_AS_KIND ? kind_bos : from->add_bos != 0;
    bool add_eos = from->add_eos != ACCEL_TOKEN_AS_KIND && from->add_eos != 0;

    if (add_bos && from->bos >= 0 && !token_list_append(&made->before, from->bos))
        return accel_error_no_memory(error, "for a tokenizer");
    if (add_eos && from->eos >= 0 && !token_list_append(&made->after, from->eos))
        return accel_error_no_memory(error, "for a tokenizer");
    return ACCEL_OK;
}

static int32_t add_prepend(struct accel_tokenizer *made, const char *text, struct accel_error *error)
{
    struct token_normalizer step = {.kind = TOKEN_NORMALIZE_PREPEND, .text = text, .text_size = strlen(text)};

    return token_normalizers_add(&made->normalizers, step, error);
}

/* Adds the steps that make bytes of tokens spelt <0xNN> when decoding. */
static int32_t add_bytes(struct accel_tokenizer *made, struct accel_error *error)
{
    struct token_decoder fallback = {.kind = TOKEN_DECODE_FALLBACK};
    struct token_decoder fuse = {.kind = TOKEN_DECODE_FUSE};
    int32_t code = token_decoders_add(&made->decoders, fallback, "tokenizer.ggml", error);

    return code == ACCEL_OK ? token_decoders_add(&made->decoders, fuse, "tokenizer.ggml", error) : code;
}

/* Adds the steps that make marks of blanks when encoding, and blanks and bytes of tokens when decoding. `prefix`
 * removes the first blank of a text that is decoded. */
static int32_t add_marks(struct accel_tokenizer *made, bool prefix, struct accel_error *error)
{
    struct token_decoder strip = {.kind = TOKEN_DECODE_STRIP, .start = 1, .text = " ", .text_size = 1};
    int32_t code = token_add_replace(made, false, " ", MARK, "tokenizer.ggml", error);

    if (code == ACCEL_OK)
        code = token_add_replace(made, true, MARK, " ", "tokenizer.ggml", error);
    if (code == ACCEL_OK)
        code = add_bytes(made, error);
    if (code != ACCEL_OK || !prefix)
        return code;
    return token_decoders_add(&made->decoders, strip, "tokenizer.ggml", error);
}

/* Scores as the search takes them: tokens that users defined are free, so they win over any other way. */
static int32_t set_unigram(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                           struct accel_error *error)
{
    double *scores = malloc(from->token_count * sizeof(*scores));
    int32_t code;

    if (scores == NULL)
        return accel_error_no_memory(error, "for %zu scores", from->token_count);
    for (size_t i = 0; i < from->token_count; i++)
        scores[i] = type_of(from, i) == ACCEL_TOKEN_USER ? 0 : from->scores[i];
    code = token_unigram_init(&made->unigram, &made->vocab, TOKEN_RESERVED, scores, "tokenizer.ggml.scores", error);
    free(scores);
    return code;
}

static int32_t add_charsmap(struct accel_tokenizer *made, const struct accel_token_text *map, struct accel_error *error)
{
    struct token_normalizer step = {.kind = TOKEN_NORMALIZE_CHARSMAP, .text = map->data, .text_size = map->size};
    int32_t code = token_charsmap_check(map->data, map->size, "tokenizer.ggml.precompiled_charsmap", error);

    return code == ACCEL_OK ? token_normalizers_add(&made->normalizers, step, error) : code;
}

/* Makes one blank of several, and none at both ends. */
static int32_t add_whitespace_removal(struct accel_tokenizer *made, struct accel_error *error)
{
    static const char *const rules[][2] = {{"^ +| +$", ""}, {" +", " "}};
    int32_t code = ACCEL_OK;

    for (size_t i = 0; code == ACCEL_OK && i < 2; i++) {
        struct token_normalizer step = {
            .kind = TOKEN_NORMALIZE_REPLACE, .text = rules[i][1], .text_size = strlen(rules[i][1])};

        code = token_pattern_create(rules[i][0], strlen(rules[i][0]), "tokenizer.ggml", &step.pattern, error);
        if (code == ACCEL_OK)
            code = token_normalizers_add(&made->normalizers, step, error);
    }
    return code;
}

/* Adds SentencePiece's normalizer, in its order, and its decoder. */
static int32_t add_sentencepiece(struct accel_tokenizer *made, const struct accel_token_vocabulary *from, bool prefix,
                                 struct accel_error *error)
{
    int32_t code = from->charsmap.size > 0 ? add_charsmap(made, &from->charsmap, error) : ACCEL_OK;

    if (code == ACCEL_OK && from->remove_extra_whitespaces == 1)
        code = add_whitespace_removal(made, error);
    if (code == ACCEL_OK && prefix)
        code = add_prepend(made, MARK, error);
    return code == ACCEL_OK ? add_marks(made, prefix, error) : code;
}

/* Fills a "llama" tokenizer: SentencePiece with byte fallback. Blanks become marks, and each text is prefixed with
 * a mark. */
static int32_t fill_llama(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                          struct accel_error *error)
{
    bool prefix = from->add_space_prefix != 0;
    int32_t code;

    if (from->scores == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.scores is missing; \"llama\" needs it");
    made->bpe.by_score = true;
    made->bpe.byte_fallback = true;
    made->bpe.unk = from->unk;
    token_find_bytes(made->bpe.bytes, &made->vocab);
    code = token_bpe_set_scores(&made->bpe, &made->vocab, from->scores, error);
    if (code == ACCEL_OK)
        code = add_sentencepiece(made, from, prefix, error);
    return code == ACCEL_OK ? fill_around(made, from, true, error) : code;
}

/* Fills a "t5" tokenizer: SentencePiece's unigram model behind its character map. */
static int32_t fill_unigram(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                            struct accel_error *error)
{
    bool prefix = from->add_space_prefix == 1;
    int32_t code;

    if (from->scores == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.scores is missing; \"t5\" needs it");
    made->kind = TOKEN_MODEL_UNIGRAM;
    made->unigram.unk = from->unk;
    made->unigram.byte_fallback = true; /* applies where all bytes have tokens */
    token_find_bytes(made->unigram.bytes, &made->vocab);
    code = set_unigram(made, from, error);
    if (code == ACCEL_OK)
        code = add_sentencepiece(made, from, prefix, error);
    return code == ACCEL_OK ? fill_around(made, from, false, error) : code;
}

/* The id that the file gives, or the one of a spelling, or -1. */
static int32_t id_or_spelling(const struct accel_tokenizer *made, int32_t id, const char *spelling)
{
    return id >= 0 ? id : token_vocab_find(&made->vocab, spelling, strlen(spelling));
}

/* Fills a "bert" tokenizer: WordPiece behind BERT's normalizer. */
static int32_t fill_bert(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                         struct accel_error *error)
{
    struct token_decoder words = {
        .kind = TOKEN_DECODE_WORDPIECE, .cleanup = true, .text = CONTINUES, .text_size = strlen(CONTINUES)};
    int32_t first = id_or_spelling(made, from->bos, "[CLS]"), last = id_or_spelling(made, from->sep, "[SEP]");
    bool lower = from->lowercase != 0;
    bool strip = from->strip_accents == ACCEL_TOKEN_AS_KIND ? lower : from->strip_accents != 0;
    int32_t code = token_add_bert(&made->normalizers, true, true, strip, lower, error);

    made->kind = TOKEN_MODEL_WORDPIECE;
    made->wordpiece.unk = made->special[ACCEL_TOKEN_UNK] = id_or_spelling(made, from->unk, "[UNK]");
    made->wordpiece.max_characters = WORD_CHARACTERS;
    made->wordpiece.prefix = token_copy(CONTINUES, strlen(CONTINUES));
    if (code == ACCEL_OK &&
        (made->wordpiece.prefix == NULL || !token_trie_init(&made->wordpiece.trie, &made->vocab, 0)))
        code = accel_error_no_memory(error, "for a tokenizer");
    if (code == ACCEL_OK)
        code = token_add_bert_words(&made->splitters, error);
    if (code == ACCEL_OK)
        code = token_decoders_add(&made->decoders, words, "tokenizer.ggml", error);
    if (code == ACCEL_OK && ((from->add_bos != 0 && first >= 0 && !token_list_append(&made->before, first)) ||
                             (last >= 0 && !token_list_append(&made->after, last))))
        code = accel_error_no_memory(error, "for a tokenizer");
    return code;
}

static int32_t add_merges(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                          struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (from->merges == NULL || from->merge_count == 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.merges is missing; \"%s\" needs it",
                               from->model);
    if (from->merge_count > INT32_MAX)
        return accel_error_set(error, ACCEL_E_LIMIT, "tokenizer.ggml.merges has %zu entries", from->merge_count);
    if (!token_pairs_init(&made->bpe.merges, from->merge_count))
        return accel_error_no_memory(error, "for %zu merges", from->merge_count);
    for (size_t i = 0; code == ACCEL_OK && i < from->merge_count; i++) {
        const struct accel_token_text *merge = &from->merges[i];
        const char *blank = merge->size < 2 ? NULL : memchr(merge->data + 1, ' ', merge->size - 1);

        if (blank == NULL)
            return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.merges[%zu] \"%.*s\" has no blank", i,
                                   (int)(merge->size < 100 ? merge->size : 100), merge->data);
        code = token_bpe_add_merge(&made->bpe, &made->vocab, i, merge->data, (size_t)(blank - merge->data), blank + 1,
                                   merge->size - (size_t)(blank - merge->data) - 1, error);
    }
    return code;
}

static int32_t refuse_rule(const char *pre, struct accel_error *error)
{
    char names[2048];
    int32_t code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "tokenizer.ggml.pre \"%.100s\" is not known", pre);

    token_pre_rule_names(names, sizeof(names));
    return accel_error_advise(error, code, "known are: %s", names);
}

/* Fills a "gpt2" or "gemma4" tokenizer: merging of bytes or characters after the pre-tokenizer that `pre` names. */
static int32_t fill_gpt2(struct accel_tokenizer *made, const struct accel_token_vocabulary *from, const char *pre,
                         struct accel_error *error)
{
    const struct token_pre_rule *rule = token_pre_rule_find(pre);
    struct token_decoder bytes = {.kind = TOKEN_DECODE_BYTES};
    int32_t code;

    if (rule == NULL)
        return refuse_rule(pre, error);
    made->bpe.unk = from->unk;
    made->bpe.ignore_merges = rule->ignore_merges;
    made->bpe.whole_newlines = rule->whole_newlines;
    made->bpe.byte_fallback = rule->characters;
    token_find_bytes(made->bpe.bytes, &made->vocab);
    code = add_merges(made, from, error);
    for (size_t i = 0; code == ACCEL_OK && i < TOKEN_PRE_RULES && rule->rules[i] != NULL; i++)
        code = token_add_rule(&made->splitters, rule->rules[i], strlen(rule->rules[i]), TOKEN_ISOLATED, false,
                              "tokenizer.ggml.pre", error);
    if (code == ACCEL_OK && !rule->characters)
        code = token_add_byte_level(&made->splitters, from->add_space_prefix == 1, false, "tokenizer.ggml", error);
    if (code == ACCEL_OK && !rule->characters)
        code = token_decoders_add(&made->decoders, bytes, "tokenizer.ggml", error);
    if (code == ACCEL_OK && rule->characters)
        code = rule->marks ? add_marks(made, false, error) : add_bytes(made, error);
    return code == ACCEL_OK ? fill_around(made, from, rule->add_bos, error) : code;
}

static int32_t check(const struct accel_token_vocabulary *from, struct accel_error *error)
{
    int32_t code;

    if (from->tokens == NULL || from->token_count == 0 || from->token_count > INT32_MAX)
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.tokens has %zu entries", from->token_count);
    code = check_id(from, from->bos, "bos_token_id", error);
    if (code == ACCEL_OK)
        code = check_id(from, from->eos, "eos_token_id", error);
    if (code == ACCEL_OK)
        code = check_id(from, from->unk, "unknown_token_id", error);
    if (code == ACCEL_OK)
        code = check_id(from, from->pad, "padding_token_id", error);
    if (code == ACCEL_OK)
        code = check_id(from, from->eot, "eot_token_id", error);
    return code == ACCEL_OK ? check_id(from, from->sep, "seperator_token_id", error) : code;
}

static int32_t fill(struct accel_tokenizer *made, const struct accel_token_vocabulary *from, struct accel_error *error)
{
    const char *model = from->model == NULL ? "" : from->model;
    int32_t code = fill_vocabulary(made, from, error);

    made->special[ACCEL_TOKEN_BOS] = from->bos;
    made->special[ACCEL_TOKEN_EOS] = from->eos;
    made->special[ACCEL_TOKEN_UNK] = from->unk;
    made->special[ACCEL_TOKEN_PAD] = from->pad;
    made->eot = from->eot;
    if (code == ACCEL_OK && from->chat_template.size > 0) {
        made->chat_template = token_copy(from->chat_template.data, from->chat_template.size);
        if (made->chat_template == NULL)
            code = accel_error_no_memory(error, "for a chat template");
    }
    if (code != ACCEL_OK)
        return code;
    if (strcmp(model, "llama") == 0)
        return fill_llama(made, from, error);
    if (strcmp(model, "gpt2") == 0)
        return fill_gpt2(made, from, from->pre == NULL ? "default" : from->pre, error);
    if (strcmp(model, "gemma4") == 0)
        return fill_gpt2(made, from, "gemma4", error);
    if (strcmp(model, "t5") == 0)
        return fill_unigram(made, from, error);
    if (strcmp(model, "bert") == 0)
        return fill_bert(made, from, error);
    code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "tokenizer.ggml.model \"%.100s\" is not known", model);
    return accel_error_advise(
        error, code,
        "known are: llama gpt2 gemma4 t5 bert; name another conversion of the model; ids alone run by accelctl trace");
}

int32_t accel_tokenizer_create_vocabulary(const struct accel_token_vocabulary *vocabulary, const char *name,
                                          struct accel_tokenizer **out_tokenizer, struct accel_error *error)
{
    /* Callers of an older header end before charsmap. */
    struct accel_token_vocabulary whole = {.remove_extra_whitespaces = ACCEL_TOKEN_AS_KIND,
                                           .lowercase = ACCEL_TOKEN_AS_KIND,
                                           .strip_accents = ACCEL_TOKEN_AS_KIND,
                                           .sep = -1};
    struct accel_error inner = {0};
    struct accel_tokenizer *made = NULL;
    int32_t code;

    if (out_tokenizer == NULL || vocabulary == NULL)
        return model_refuse_null(__func__, error);
    *out_tokenizer = NULL;
    if (vocabulary->size < offsetof(struct accel_token_vocabulary, charsmap) || vocabulary->flags != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_token_vocabulary of %u bytes, flags %#x",
                               vocabulary->size, vocabulary->flags);
    memcpy(&whole, vocabulary, vocabulary->size < sizeof(whole) ? vocabulary->size : sizeof(whole));
    code = check(&whole, &inner);
    if (code == ACCEL_OK) {
        made = token_tokenizer_new();
        code = made == NULL ? accel_error_no_memory(&inner, "for a tokenizer") : fill(made, &whole, &inner);
    }
    if (code != ACCEL_OK) {
        accel_tokenizer_free(made);
        accel_error_set(error, code, "%s: %s", name == NULL ? "GGUF vocabulary" : name, inner.text);
        if (inner.remedy[0] != '\0')
            accel_error_remedy(error, "%s", inner.remedy);
        return accel_error_origin(error, ACCEL_FROM_MODEL, code);
    }
    *out_tokenizer = made;
    return ACCEL_OK;
}
