/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/json_model.h"

#include <stdlib.h>
#include <string.h>

bool token_json_id_allowed(json_int_t id, size_t entries)
{
    return id >= 0 && id < INT32_MAX && (uint64_t)id <= (uint64_t)entries * 2 + 65536;
}

static int32_t read_vocabulary(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                               struct accel_error *error)
{
    json_t *vocab = json_object_get(model, "vocab");
    size_t entries = json_object_size(vocab);
    const char *text;
    json_t *value;

    if (!json_is_object(vocab))
        return token_json_wrong(place, "vocab", "an object", error);
    if (!token_vocab_init(&made->vocab, entries))
        return accel_error_no_memory(error, "for a tokenizer");
    json_object_foreach(vocab, text, value)
    {
        int32_t code;

        if (!json_is_integer(value) || !token_json_id_allowed(json_integer_value(value), entries))
            return accel_error_set(error, ACCEL_E_CORRUPT, "%s.vocab[\"%.100s\"] must be an id that %zu tokens justify",
                                   place->path, text, entries);
        code = token_vocab_add(&made->vocab, (int32_t)json_integer_value(value), text, strlen(text), 0, error);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

/* One merge, "left right" or ["left", "right"]. */
static int32_t read_merge(struct accel_tokenizer *made, const json_t *merge, size_t rank,
                          const struct token_json_place *place, struct accel_error *error)
{
    const char *left = NULL, *right = NULL;
    size_t left_size = 0, right_size = 0;

    if (json_is_string(merge)) {
        const char *blank = strchr(json_string_value(merge), ' ');

        left = json_string_value(merge);
        left_size = blank == NULL ? 0 : (size_t)(blank - left);
        right = blank == NULL ? NULL : blank + 1;
        right_size = right == NULL ? 0 : json_string_length(merge) - left_size - 1;
        if (right != NULL && strchr(right, ' ') != NULL)
            right = NULL;
    } else if (json_is_array(merge) && json_array_size(merge) == 2) {
        left = json_string_value(json_array_get(merge, 0));
        right = json_string_value(json_array_get(merge, 1));
        left_size = json_string_length(json_array_get(merge, 0));
        right_size = json_string_length(json_array_get(merge, 1));
    }
    if (left == NULL || right == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s.merges[%zu] must be two tokens", place->path, rank);
    return token_bpe_add_merge(&made->bpe, &made->vocab, rank, left, left_size, right, right_size, error);
}

static int32_t read_merges(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                           struct accel_error *error)
{
    const json_t *merges = json_object_get(model, "merges");
    int32_t code = ACCEL_OK;

    if (!json_is_array(merges) || json_array_size(merges) > INT32_MAX)
        return token_json_wrong(place, "merges", "an array", error);
    if (!token_pairs_init(&made->bpe.merges, json_array_size(merges)))
        return accel_error_no_memory(error, "for a tokenizer");
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(merges); i++)
        code = read_merge(made, json_array_get(merges, i), i, place, error);
    return code;
}

static int32_t read_affix(const json_t *model, const char *key, const char *other, char **affix,
                          const struct token_json_place *place, struct accel_error *error)
{
    const char *text;
    char *copy;
    int32_t code = token_json_string(model, key, other, place, &text, error);

    if (code != ACCEL_OK)
        return code;
    copy = token_copy(text, strlen(text));
    if (copy == NULL)
        return accel_error_no_memory(error, "for a tokenizer");
    free(*affix);
    *affix = copy;
    return ACCEL_OK;
}

/* Finds the token that unk_token names, if it does. */
static int32_t read_unknown(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                            int32_t *out_id, struct accel_error *error)
{
    const char *unk = NULL;
    int32_t code = token_json_string(model, "unk_token", NULL, place, &unk, error);

    if (code != ACCEL_OK || unk == NULL)
        return code;
    *out_id = made->special[ACCEL_TOKEN_UNK] = token_vocab_find(&made->vocab, unk, strlen(unk));
    if (*out_id < 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "model.unk_token \"%.100s\" is not in the vocabulary", unk);
    return ACCEL_OK;
}

static int32_t read_bpe_options(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                                struct accel_error *error)
{
    const json_t *dropout = json_object_get(model, "dropout");
    int32_t code = token_json_bool(model, "byte_fallback", false, place, &made->bpe.byte_fallback, error);

    if (dropout != NULL && !json_is_null(dropout) && json_number_value(dropout) != 0)
        return token_json_unsupported(place, "dropout", error);
    if (code == ACCEL_OK)
        code = token_json_bool(model, "fuse_unk", false, place, &made->bpe.fuse_unk, error);
    if (code == ACCEL_OK)
        code = token_json_bool(model, "ignore_merges", false, place, &made->bpe.ignore_merges, error);
    if (code == ACCEL_OK)
        code = read_affix(model, "continuing_subword_prefix", "", &made->bpe.prefix, place, error);
    if (code == ACCEL_OK)
        code = read_affix(model, "end_of_word_suffix", "", &made->bpe.suffix, place, error);
    return code;
}

static int32_t read_bpe(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                        struct accel_error *error)
{
    int32_t code = read_bpe_options(made, model, place, error);

    if (code == ACCEL_OK)
        code = read_vocabulary(made, model, place, error);
    if (code == ACCEL_OK)
        code = read_merges(made, model, place, error);
    if (code == ACCEL_OK)
        code = read_unknown(made, model, place, &made->bpe.unk, error);
    token_find_bytes(made->bpe.bytes, &made->vocab);
    return code;
}

static int32_t read_wordpiece(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                              struct accel_error *error)
{
    struct token_wordpiece *wordpiece = &made->wordpiece;
    int32_t code = read_vocabulary(made, model, place, error);

    made->kind = TOKEN_MODEL_WORDPIECE;
    if (code == ACCEL_OK)
        code = read_affix(model, "continuing_subword_prefix", "##", &wordpiece->prefix, place, error);
    if (code == ACCEL_OK)
        code = token_json_size(model, "max_input_chars_per_word", 100, place, &wordpiece->max_characters, error);
    if (code == ACCEL_OK)
        code = read_unknown(made, model, place, &wordpiece->unk, error);
    if (code == ACCEL_OK && !token_trie_init(&wordpiece->trie, &made->vocab, 0))
        code = accel_error_no_memory(error, "for a tokenizer");
    return code;
}

/* Reads the vocabulary of a unigram model, [[spelling, score], ...] by id. */
static int32_t read_scored(struct accel_tokenizer *made, const json_t *list, double *scores,
                           const struct token_json_place *place, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (!token_vocab_init(&made->vocab, json_array_size(list)))
        return accel_error_no_memory(error, "for a tokenizer");
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(list); i++) {
        const json_t *text = json_array_get(json_array_get(list, i), 0);
        const json_t *score = json_array_get(json_array_get(list, i), 1);

        if (!json_is_string(text) || !json_is_number(score))
            return accel_error_set(error, ACCEL_E_CORRUPT, "%s.vocab[%zu] must be [spelling, score]", place->path, i);
        scores[i] = json_number_value(score);
        code = token_vocab_add(&made->vocab, (int32_t)i, json_string_value(text), json_string_length(text), 0, error);
    }
    return code;
}

static int32_t read_unigram(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                            struct accel_error *error)
{
    struct token_unigram *unigram = &made->unigram;
    const json_t *list = json_object_get(model, "vocab");
    const json_t *unk = json_object_get(model, "unk_id");
    size_t count = json_array_size(list);
    double *scores;
    int32_t code;

    made->kind = TOKEN_MODEL_UNIGRAM;
    if (!json_is_array(list) || count == 0 || count > INT32_MAX)
        return token_json_wrong(place, "vocab", "an array of [spelling, score]", error);
    if (unk != NULL && !json_is_null(unk) &&
        (!json_is_integer(unk) || json_integer_value(unk) < 0 || (uint64_t)json_integer_value(unk) >= count))
        return token_json_wrong(place, "unk_id", "an id of the vocabulary", error);
    if (json_is_integer(unk))
        unigram->unk = made->special[ACCEL_TOKEN_UNK] = (int32_t)json_integer_value(unk);
    scores = malloc(count * sizeof(*scores));
    if (scores == NULL)
        return accel_error_no_memory(error, "for %zu scores", count);
    code = read_scored(made, list, scores, place, error);
    if (code == ACCEL_OK)
        code = token_json_bool(model, "byte_fallback", false, place, &unigram->byte_fallback, error);
    if (code == ACCEL_OK)
        code = token_unigram_init(unigram, &made->vocab, 0, scores, "model.vocab", error);
    token_find_bytes(unigram->bytes, &made->vocab);
    free(scores);
    return code;
}

int32_t token_json_model(struct accel_tokenizer *made, const json_t *root, struct accel_error *error)
{
    const json_t *model = json_object_get(root, "model");
    struct token_json_place place = {.path = "model"};
    const char *type = token_json_type(model);
    int32_t code;

    if (!json_is_object(model))
        return accel_error_set(error, ACCEL_E_CORRUPT, "model must be an object");
    /* Old files omit the type; merges identify it. */
    if (strcmp(type, "BPE") == 0 || (*type == '\0' && json_object_get(model, "merges") != NULL))
        return read_bpe(made, model, &place, error);
    if (strcmp(type, "Unigram") == 0)
        return read_unigram(made, model, &place, error);
    if (strcmp(type, "WordPiece") == 0)
        return read_wordpiece(made, model, &place, error);
    code = token_json_unsupported(&place, type, error);
    return accel_error_advise(error, code, "use a model whose tokenizer is one of BPE, Unigram, WordPiece");
}
