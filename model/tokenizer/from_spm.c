/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a SentencePiece model (tokenizer.model, spiece.model): a protocol buffer with pieces, scores and settings. */
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/tokenizer/json_model.h"

/* Numbers of fields in sentencepiece_model.proto. */
enum {
    MODEL_PIECES = 1,
    MODEL_TRAINER = 2,
    MODEL_NORMALIZER = 3,
    PIECE_TEXT = 1,
    PIECE_SCORE = 2,
    PIECE_TYPE = 3,
    TRAINER_MODEL_TYPE = 3,
    TRAINER_SUFFIX = 24,
    TRAINER_UNK = 40,
    TRAINER_BOS = 41,
    TRAINER_EOS = 42,
    TRAINER_PAD = 43,
    NORMALIZER_CHARSMAP = 2,
    NORMALIZER_PREFIX = 3,
    NORMALIZER_REMOVE = 4,
    NORMALIZER_ESCAPE = 5,
};

#define KIND_UNIGRAM 1
#define KIND_BPE 2
#define MAX_ADDED 65536 /* ids behind the pieces */

/* A message, or what is left of it. */
struct message {
    const unsigned char *at, *end;
};

struct field {
    uint64_t number, value; /* value: of a varint, or 4 or 8 bytes */
    struct message bytes;   /* of a field with a length, else empty */
};

/* The vocabulary that is collected for accel_tokenizer_create_vocabulary. */
struct collected {
    struct accel_token_vocabulary vocabulary;
    struct accel_token_text *tokens; /* [count] */
    float *scores;
    int32_t *types;
    size_t count, capacities[3];
    uint64_t kind;
    bool suffix, escape;
};

static bool read_varint(struct message *message, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        unsigned char byte = *message->at++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool read_fixed(struct message *message, size_t size, uint64_t *out)
{
    *out = 0;
    if ((size_t)(message->end - message->at) < size)
        return false;
    for (size_t i = 0; i < size; i++)
        *out |= (uint64_t)*message->at++ << (8 * i);
    return true;
}

/* Reads the next field; false if the message is damaged. */
static bool read_field(struct message *message, struct field *field)
{
    uint64_t key, size;

    memset(field, 0, sizeof(*field));
    if (!read_varint(message, &key))
        return false;
    field->number = key >> 3;
    switch (key & 7) {
    case 0:
        return read_varint(message, &field->value);
    case 1:
        return read_fixed(message, 8, &field->value);
    case 2:
        if (!read_varint(message, &size) || size > (uint64_t)(message->end - message->at))
            return false;
        field->bytes.at = message->at;
        message->at += size;
        field->bytes.end = message->at;
        return true;
    case 5:
        return read_fixed(message, 4, &field->value);
    default:
        return false;
    }
}

static bool grow(struct collected *made, size_t count)
{
    return token_array_grow(&made->tokens, &made->capacities[0], count, sizeof(*made->tokens)) &&
           token_array_grow(&made->scores, &made->capacities[1], count, sizeof(*made->scores)) &&
           token_array_grow(&made->types, &made->capacities[2], count, sizeof(*made->types));
}

static struct accel_token_text text_of(const struct message *bytes)
{
    return (struct accel_token_text){.data = (const char *)bytes->at, .size = (size_t)(bytes->end - bytes->at)};
}

/* Reads one piece; false if it is damaged. */
static bool read_piece(struct collected *made, struct message message)
{
    size_t id = made->count++;
    struct field field;

    made->tokens[id] = (struct accel_token_text){.data = "", .size = 0};
    made->scores[id] = 0;
    made->types[id] = ACCEL_TOKEN_NORMAL;
    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.number == PIECE_TEXT) {
            made->tokens[id] = text_of(&field.bytes);
        } else if (field.number == PIECE_SCORE) {
            uint32_t bits = (uint32_t)field.value;

            memcpy(&made->scores[id], &bits, sizeof(bits));
        } else if (field.number == PIECE_TYPE) {
            /* SentencePiece numbers the types as GGUF does. */
            made->types[id] = field.value > ACCEL_TOKEN_BYTE ? -1 : (int32_t)field.value;
        }
    }
    return true;
}

static bool read_trainer(struct collected *made, struct message message)
{
    struct field field;

    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.number == TRAINER_MODEL_TYPE)
            made->kind = field.value;
        else if (field.number == TRAINER_SUFFIX)
            made->suffix = field.value != 0;
        else if (field.number == TRAINER_UNK)
            made->vocabulary.unk = (int32_t)field.value;
        else if (field.number == TRAINER_BOS)
            made->vocabulary.bos = (int32_t)field.value;
        else if (field.number == TRAINER_EOS)
            made->vocabulary.eos = (int32_t)field.value;
        else if (field.number == TRAINER_PAD)
            made->vocabulary.pad = (int32_t)field.value;
    }
    return true;
}

static bool read_normalizer(struct collected *made, struct message message)
{
    struct field field;

    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.number == NORMALIZER_CHARSMAP)
            made->vocabulary.charsmap = text_of(&field.bytes);
        else if (field.number == NORMALIZER_PREFIX)
            made->vocabulary.add_space_prefix = field.value != 0;
        else if (field.number == NORMALIZER_REMOVE)
            made->vocabulary.remove_extra_whitespaces = field.value != 0;
        else if (field.number == NORMALIZER_ESCAPE)
            made->escape = field.value != 0;
    }
    return true;
}

static int32_t read_model(struct collected *made, const char *data, size_t size, struct accel_error *error)
{
    struct message message = {.at = (const unsigned char *)data, .end = (const unsigned char *)data + size};
    struct field field;

    while (message.at < message.end) {
        bool good = read_field(&message, &field);

        if (good && field.number == MODEL_PIECES) {
            if (made->count >= INT32_MAX || !grow(made, made->count + 1))
                return accel_error_no_memory(error, "for %zu tokens", made->count);
            good = read_piece(made, field.bytes);
        } else if (good && field.number == MODEL_TRAINER) {
            good = read_trainer(made, field.bytes);
        } else if (good && field.number == MODEL_NORMALIZER) {
            good = read_normalizer(made, field.bytes);
        }
        if (!good)
            return accel_error_set(error, ACCEL_E_CORRUPT, "the message before byte %zu is damaged",
                                   (size_t)(message.at - (const unsigned char *)data));
    }
    if (made->count == 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "no pieces");
    if (made->kind != KIND_UNIGRAM && made->kind != KIND_BPE)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                               "SentencePiece model type %llu is neither unigram (1) nor BPE (2)",
                               (unsigned long long)made->kind);
    if (made->suffix || !made->escape)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s is not supported",
                               made->suffix ? "treat_whitespace_as_suffix" : "escape_whitespaces: false");
    return ACCEL_OK;
}

/* Adds the tokens of tokenizer_config.json behind the pieces; those between have no spelling. */
static int32_t read_added(struct collected *made, const json_t *config, struct accel_error *error)
{
    json_t *list = json_object_get(config, "added_tokens_decoder");
    size_t pieces = made->count;
    const char *key;
    json_t *item;

    json_object_foreach(list, key, item)
    {
        const char *text = json_string_value(json_object_get(item, "content"));
        char *end = NULL;
        unsigned long id = strtoul(key, &end, 10);

        if (text == NULL || end == key || *end != '\0' || id >= pieces + MAX_ADDED)
            return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer_config.json: added_tokens_decoder: \"%.100s\"",
                                   key);
        if (id < pieces)
            continue;
        if (!grow(made, id + 1))
            return accel_error_no_memory(error, "for %lu tokens", id);
        for (; made->count <= id; made->count++) {
            made->tokens[made->count] = (struct accel_token_text){.data = "", .size = 0};
            made->scores[made->count] = 0;
            made->types[made->count] = ACCEL_TOKEN_UNUSED;
        }
        made->tokens[id] = (struct accel_token_text){.data = text, .size = strlen(text)};
        made->types[id] = json_is_true(json_object_get(item, "special")) ? ACCEL_TOKEN_CONTROL : ACCEL_TOKEN_USER;
    }
    return ACCEL_OK;
}

static int32_t read_switch(const json_t *config, const char *key, int32_t other)
{
    const json_t *value = json_object_get(config, key);

    return json_is_boolean(value) ? json_is_true(value) : other;
}

static int32_t build(struct collected *made, const char *data, size_t size, const json_t *config, const char *name,
                     struct accel_tokenizer **out_tokenizer, struct accel_error *error)
{
    struct accel_token_vocabulary *vocabulary = &made->vocabulary;
    struct accel_error inner = {0};
    int32_t code = read_model(made, data, size, &inner);

    if (code == ACCEL_OK)
        code = read_added(made, config, &inner);
    if (code != ACCEL_OK) {
        accel_error_set(error, code, "%s: %s", name, inner.text);
        if (code == ACCEL_E_CORRUPT)
            accel_error_remedy(error, "the file is cut short or of another kind; copy it again from its source");
        else if (code == ACCEL_E_UNSUPPORTED)
            accel_error_remedy(error, "use the model's tokenizer.json, which states each step");
        return code;
    }
    vocabulary->model = made->kind == KIND_BPE ? "llama" : "t5";
    vocabulary->tokens = made->tokens;
    vocabulary->scores = made->scores;
    vocabulary->types = made->types;
    vocabulary->token_count = made->count;
    vocabulary->add_bos = read_switch(config, "add_bos_token", ACCEL_TOKEN_AS_KIND);
    /* T5's tokenizer ends each text; it has no setting for that. */
    vocabulary->add_eos = read_switch(config, "add_eos_token", made->kind == KIND_UNIGRAM);
    code = accel_tokenizer_create_vocabulary(vocabulary, name, out_tokenizer, error);
    if (code == ACCEL_OK)
        code = token_json_config(*out_tokenizer, config, error);
    if (code != ACCEL_OK) {
        accel_tokenizer_free(*out_tokenizer);
        *out_tokenizer = NULL;
    }
    return code;
}

int32_t accel_tokenizer_create_sentencepiece(const char *data, size_t size, const char *config, size_t config_size,
                                             const char *name, struct accel_tokenizer **out_tokenizer,
                                             struct accel_error *error)
{
    struct collected made = {.vocabulary = {.size = sizeof(made.vocabulary),
                                            .bos = 1,
                                            .eos = 2,
                                            .pad = -1,
                                            .add_space_prefix = 1,
                                            .eot = -1,
                                            .remove_extra_whitespaces = 1,
                                            .lowercase = ACCEL_TOKEN_AS_KIND,
                                            .strip_accents = ACCEL_TOKEN_AS_KIND,
                                            .sep = -1},
                             .kind = KIND_UNIGRAM,
                             .escape = true};
    json_t *settings = NULL;
    int32_t code = ACCEL_OK;

    if (out_tokenizer == NULL || data == NULL)
        return model_refuse_null(__func__, error);
    *out_tokenizer = NULL;
    if (config != NULL && config_size > 0)
        code = token_json_parse(config, config_size, "tokenizer_config.json", &settings, error);
    if (code == ACCEL_OK)
        code = build(&made, data, size, settings, name == NULL ? "tokenizer.model" : name, out_tokenizer, error);
    free(made.tokens);
    free(made.scores);
    free(made.types);
    json_decref(settings);
    return accel_error_origin(error, ACCEL_FROM_MODEL, code);
}
