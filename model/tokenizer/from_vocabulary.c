/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "model/tokenizer/pre_rules.h"
#include "model/tokenizer/tokenizer.h"

#define MARK "\xe2\x96\x81" /* U+2581, which stands for a blank in SentencePiece vocabularies */

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

static int32_t fill_vocabulary(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                               struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (!token_vocab_init(&made->vocab, from->token_count))
        return accel_error_no_memory(error, "for %zu tokens", from->token_count);
    for (size_t id = 0; code == ACCEL_OK && id < from->token_count; id++) {
        int32_t type = type_of(from, id);

        if (type < 0 || type > ACCEL_TOKEN_BYTE)
            return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.token_type[%zu] is %d", id, (int)type);
        code = token_vocab_add(&made->vocab, (int32_t)id, from->tokens[id].data == NULL ? "" : from->tokens[id].data,
                               from->tokens[id].size, flags_of(type), error);
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

/* Fills a "llama" tokenizer: SentencePiece with byte fallback. Blanks become marks, and each text is prefixed with
 * a mark. */
static int32_t fill_llama(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                          struct accel_error *error)
{
    bool prefix = from->add_space_prefix != 0;
    struct token_decoder fallback = {.kind = TOKEN_DECODE_FALLBACK};
    struct token_decoder fuse = {.kind = TOKEN_DECODE_FUSE};
    struct token_decoder strip = {.kind = TOKEN_DECODE_STRIP, .start = 1};
    struct token_normalizer prepend = {.kind = TOKEN_NORMALIZE_PREPEND};
    int32_t code;

    if (from->scores == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.scores is missing; \"llama\" needs it");
    made->bpe.by_score = true;
    made->bpe.byte_fallback = true;
    made->bpe.unk = from->unk;
    token_bpe_find_bytes(&made->bpe, &made->vocab);
    code = token_bpe_set_scores(&made->bpe, &made->vocab, from->scores, error);
    if (code == ACCEL_OK && prefix) {
        prepend.text = token_copy(MARK, 3);
        prepend.text_size = 3;
        code = prepend.text == NULL ? accel_error_no_memory(error, "for a tokenizer")
                                    : token_normalizers_add(&made->normalizers, prepend, error);
    }
    if (code == ACCEL_OK)
        code = token_add_replace(made, false, " ", MARK, "tokenizer.ggml", error);
    if (code == ACCEL_OK)
        code = token_add_replace(made, true, MARK, " ", "tokenizer.ggml", error);
    if (code == ACCEL_OK)
        code = token_decoders_add(&made->decoders, fallback, "tokenizer.ggml", error);
    if (code == ACCEL_OK)
        code = token_decoders_add(&made->decoders, fuse, "tokenizer.ggml", error);
    if (code == ACCEL_OK && prefix) {
        strip.text = token_copy(" ", 1);
        strip.text_size = 1;
        code = strip.text == NULL ? accel_error_no_memory(error, "for a tokenizer")
                                  : token_decoders_add(&made->decoders, strip, "tokenizer.ggml", error);
    }
    return code == ACCEL_OK ? fill_around(made, from, true, error) : code;
}

static int32_t add_merges(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                          struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (from->merges == NULL || from->merge_count == 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.merges is missing; \"gpt2\" needs it");
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

/* Fills a "gpt2" tokenizer: byte-level merging after the pre-tokenizer that `pre` names. */
static int32_t fill_gpt2(struct accel_tokenizer *made, const struct accel_token_vocabulary *from,
                         struct accel_error *error)
{
    const char *pre = from->pre == NULL ? "default" : from->pre;
    const struct token_pre_rule *rule = token_pre_rule_find(pre);
    struct token_decoder bytes = {.kind = TOKEN_DECODE_BYTES};
    int32_t code;

    if (rule == NULL) {
        char names[256];

        token_pre_rule_names(names, sizeof(names));
        code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "tokenizer.ggml.pre \"%.100s\" is not known", pre);
        accel_error_remedy(error, "known are: %s", names);
        return code;
    }
    made->bpe.unk = from->unk;
    made->bpe.ignore_merges = rule->ignore_merges;
    code = add_merges(made, from, error);
    for (size_t i = 0; code == ACCEL_OK && i < TOKEN_PRE_RULES && rule->rules[i] != NULL; i++)
        code = token_add_rule(&made->splitters, rule->rules[i], strlen(rule->rules[i]), TOKEN_ISOLATED, false,
                              "tokenizer.ggml.pre", error);
    if (code == ACCEL_OK)
        code = token_add_byte_level(&made->splitters, from->add_space_prefix == 1, false, "tokenizer.ggml", error);
    if (code == ACCEL_OK)
        code = token_decoders_add(&made->decoders, bytes, "tokenizer.ggml", error);
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
    return code == ACCEL_OK ? check_id(from, from->eot, "eot_token_id", error) : code;
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
        return fill_gpt2(made, from, error);
    code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "tokenizer.ggml.model \"%.100s\" is not known", model);
    accel_error_remedy(error,
                       "known are: llama gpt2; name another conversion of the model; ids alone run by accelctl trace");
    return code;
}

int32_t accel_tokenizer_create_vocabulary(const struct accel_token_vocabulary *vocabulary, const char *name,
                                          struct accel_tokenizer **out_tokenizer, struct accel_error *error)
{
    struct accel_error inner = {0};
    struct accel_tokenizer *made = NULL;
    int32_t code;

    if (out_tokenizer == NULL || vocabulary == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_tokenizer_create_vocabulary: an argument is NULL");
    *out_tokenizer = NULL;
    if (vocabulary->size < sizeof(*vocabulary) || vocabulary->flags != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_token_vocabulary of %u bytes, flags %#x",
                               vocabulary->size, vocabulary->flags);
    code = check(vocabulary, &inner);
    if (code == ACCEL_OK) {
        made = token_tokenizer_new();
        code = made == NULL ? accel_error_no_memory(&inner, "for a tokenizer") : fill(made, vocabulary, &inner);
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
