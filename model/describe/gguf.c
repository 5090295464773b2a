/* SPDX-License-Identifier: Apache-2.0 */
/* Reads shapes from GGUF metadata, whose keys begin with the architecture. */
#include <stdio.h>

#include "model/describe/internal.h"

enum { KEY_BYTES = 160 };

struct row {
    const char *name;
    size_t offset;
};

static const struct row numbers[] = {
    {"block_count", offsetof(struct shape, layers)},
    {"embedding_length", offsetof(struct shape, hidden)},
    {"feed_forward_length", offsetof(struct shape, ffn)},
    {"attention.head_count", offsetof(struct shape, heads)},
    {"attention.head_count_kv", offsetof(struct shape, kv_heads)},
    {"attention.key_length", offsetof(struct shape, head_size)},
    {"attention.value_length", offsetof(struct shape, value_size)},
    {"expert_count", offsetof(struct shape, experts)},
    {"expert_used_count", offsetof(struct shape, experts_used)},
    {"expert_feed_forward_length", offsetof(struct shape, expert_ffn)},
    {"vocab_size", offsetof(struct shape, vocabulary)},
    {"image_size", offsetof(struct shape, image)},
    {"patch_size", offsetof(struct shape, patch)},
};

/* Reads a number, or the largest of a list with one for each layer. */
static int32_t read_number(const struct accel_model_file *file, const char *key, uint64_t *out_number,
                           struct accel_error *error)
{
    const struct accel_model_value *value = accel_model_file_find_value(file, key);
    struct accel_error why = {0};
    uint64_t largest = 0, number;

    if (value == NULL)
        return ACCEL_OK;
    for (uint64_t i = 0; i < value->count; i++) {
        int32_t code = accel_model_value_u64(value, i, &number, &why);

        if (code != ACCEL_OK)
            return model_fault(error, code, accel_model_file_path(file), value->offset, "%s", why.text);
        largest = number > largest ? number : largest;
    }
    if (largest > SHAPE_MAX)
        return model_fault(error, ACCEL_E_CORRUPT, accel_model_file_path(file), value->offset, "%s is out of range",
                           key);
    *out_number = largest;
    return ACCEL_OK;
}

static int32_t read_all(const struct accel_model_file *file, const char *group, struct shape *shape,
                        struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    char key[KEY_BYTES];

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && code == ACCEL_OK; i++) {
        snprintf(key, sizeof(key), "%s.%s", group, numbers[i].name);
        code = read_number(file, key, number_at(shape, numbers[i].offset), error);
    }
    return code;
}

/* Returns whether an unknown architecture is an encoder: its attention is not causal. */
static bool is_encoder(const struct accel_model_file *file, const char *name)
{
    char key[KEY_BYTES];
    int32_t causal = 1;

    snprintf(key, sizeof(key), "%s.attention.causal", name);
    return accel_model_file_get_bool(file, key, &causal, NULL) == ACCEL_OK && causal == 0;
}

static int32_t read_name(struct accel_model_description *d, const struct accel_model_file *file,
                         struct accel_error *error)
{
    struct accel_model_text name;
    int32_t code;

    family_set(d, family_guess("generation"));
    if (accel_model_file_find_value(file, "general.architecture") == NULL)
        return ACCEL_OK;
    code = accel_model_file_get_text(file, "general.architecture", &name, error);
    if (code != ACCEL_OK)
        return code;
    if (family_name(d, name.text, name.length) != ACCEL_OK)
        return model_no_memory(error, d->path, name.length);
    if (family_find(d->traits.family) != NULL)
        family_set(d, family_find(d->traits.family));
    else if (d->traits.family != NULL && is_encoder(file, d->traits.family))
        family_set(d, family_guess("embedding"));
    d->traits.kind = d->family->kind;
    return ACCEL_OK;
}

/* Reads the shapes. Encoder and decoder share keys; an image projector has its own. */
static int32_t read_shapes(struct accel_model_description *d, const struct accel_model_file *file,
                           struct accel_error *error)
{
    const char *name = d->traits.family;
    enum part main = d->family->main, encoder = d->family->encoder;
    char key[KEY_BYTES];
    int32_t code = read_all(file, name, &d->shapes[main], error);

    if (code == ACCEL_OK && encoder != main && d->family->decoder == main)
        code = read_all(file, name, &d->shapes[encoder], error);
    d->shapes[encoder].vocabulary = encoder == main ? d->shapes[encoder].vocabulary : 0;
    snprintf(key, sizeof(key), "%s.decoder_block_count", name);
    if (code == ACCEL_OK)
        code = read_number(file, key, &d->shapes[main].layers, error);
    snprintf(key, sizeof(key), "%s.vision", name);
    if (code == ACCEL_OK)
        code = read_all(file, key, &d->shapes[PART_VISION], error);
    snprintf(key, sizeof(key), "%s.audio", name);
    if (code == ACCEL_OK)
        code = read_all(file, key, &d->shapes[PART_AUDIO], error);
    snprintf(key, sizeof(key), "%s.context_length", name);
    return code == ACCEL_OK ? read_number(file, key, &d->traits.context, error) : code;
}

/* Checks heads. Differing layers have lists, whose largest items need not belong together. */
static int32_t check_heads(const struct accel_model_description *d, const struct accel_model_file *file,
                           struct accel_error *error)
{
    const struct accel_model_value *heads, *kv_heads;
    char key[KEY_BYTES], text[IMPOSSIBLE_BYTES];
    const char *member = describe_impossible(&d->shapes[d->family->main], text);

    if (member == NULL)
        return ACCEL_OK;
    snprintf(key, sizeof(key), "%s.attention.head_count_kv", d->traits.family);
    kv_heads = accel_model_file_find_value(file, key);
    snprintf(key, sizeof(key), "%s.attention.head_count", d->traits.family);
    heads = accel_model_file_find_value(file, key);
    if (heads == NULL || heads->count != 1 || (kv_heads != NULL && kv_heads->count != 1))
        return ACCEL_OK;
    return model_fault(error, ACCEL_E_CORRUPT, accel_model_file_path(file), heads->offset, "%s: %s", key, text);
}

int32_t describe_gguf(struct accel_model_description *d, const struct accel_model_file *file, struct accel_error *error)
{
    const struct accel_model_value *tokens = accel_model_file_find_value(file, "tokenizer.ggml.tokens");
    struct shape *main;
    int32_t code = read_name(d, file, error);

    if (code != ACCEL_OK || d->traits.family == NULL)
        return code;
    code = read_shapes(d, file, error);
    if (code == ACCEL_OK)
        code = check_heads(d, file, error);
    main = &d->shapes[d->family->main];
    if (tokens != NULL && main->vocabulary == 0 && tokens->count <= SHAPE_MAX && main->heads != 0)
        main->vocabulary = tokens->count;
    return code;
}
