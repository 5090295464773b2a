/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of config.json by family: which a family reads, their defaults, and the refusal of those that change what some
 * other decoder computes. Unknown keys are left alone, as transformers does.
 */
#include <math.h>
#include <string.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/family.h"
#include "model/family/keys.h"
#include "model/file/text.h"

/* Keys of all families. Sizes are compared with the shapes of tensors. */
static const char common[] =
    "bos_token_id d_model dtype eos_token_id ffn_dim ffn_hidden_size head_dim hidden_size intermediate_size "
    "layer_types "
    "max_position_embeddings max_seq_len model_max_length model_type n_embd n_embed n_head n_heads n_inner n_layer "
    "n_layers n_positions num_attention_heads num_hidden_layers num_key_value_heads num_layers "
    "original_max_position_embeddings pad_token_id tie_word_embeddings torch_dtype unk_token_id vocab_size";

/* Keys that no family reads, of decoders that are not supported. */
static const char unsupported[] =
    "altup_num_inputs attention_chunk_size clip_qkv hidden_size_per_layer_input is_causal linear_num_key_heads "
    "mamba_d_state rope_interleaved use_bidirectional_attention";

/* Values that change nothing in a family without the key, beside null and empty ones; of other keys it is 0 or false.
 */
static const struct {
    const char *name;
    double value;
} neutral[] = {
    {"clip_qkv", NAN}, /* none: 0 makes everything 0 */
    {"embedding_multiplier", 1}, {"is_causal", 1},  {"logit_scale", 1},
    {"logits_scaling", 1},       {"n_group", 1},    {"partial_rotary_factor", 1},
    {"residual_multiplier", 1},  {"rotary_pct", 1}, {"routed_scaling_factor", 1},
};

static const struct family_key *find_key(const struct model_family *family, const char *name)
{
    for (const struct family_key *key = family->json_keys; key != NULL && key->name != NULL; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

/* Returns whether a key changes the results of some decoder. */
static bool is_of_some_family(const char *name)
{
    const struct model_family *family;

    if (model_text_is_one_of(unsupported, name, strlen(name)))
        return true;
    for (size_t i = 0; (family = model_family_at(i)) != NULL; i++) {
        const struct family_key *key = find_key(family, name);

        if (key != NULL && key->use != KEY_UNUSED)
            return true;
    }
    return false;
}

enum config_key_class config_key_class(const struct model_family *family, const char *name)
{
    const struct family_key *key = find_key(family, name);

    if (key != NULL)
        return key->use == KEY_UNUSED ? CONFIG_KEY_UNUSED : CONFIG_KEY_READ;
    if (model_text_is_one_of(common, name, strlen(name)))
        return CONFIG_KEY_READ;
    return is_of_some_family(name) ? CONFIG_KEY_OF_OTHERS : CONFIG_KEY_UNKNOWN;
}

bool config_reads(const struct config_reader *reader, const char *name)
{
    const struct model_family *family = reader->config->family;

    return family == NULL || config_key_class(family, name) == CONFIG_KEY_READ;
}

const struct family_key *config_key(const struct config_reader *reader, const char *name)
{
    return reader->config->family == NULL ? NULL : find_key(reader->config->family, name);
}

static double neutral_value(const char *name)
{
    for (size_t i = 0; i < sizeof(neutral) / sizeof(neutral[0]); i++)
        if (strcmp(neutral[i].name, name) == 0)
            return neutral[i].value;
    return 0;
}

static bool changes_nothing(const char *name, const json_t *value)
{
    if (json_is_number(value))
        return json_number_value(value) == neutral_value(name);
    if (json_is_boolean(value))
        return (double)json_is_true(value) == neutral_value(name);
    if (json_is_array(value))
        return json_array_size(value) == 0;
    return json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0);
}

/* Refuses another value than the only one that a family has. */
static int32_t check_only(const struct config_reader *reader, const struct family_key *key, const json_t *value)
{
    const uint64_t offset = config_offset(reader, key->name, NULL);
    const bool is_flag = key->use == KEY_WITH_ONE_FLAG;

    if (json_is_null(value) || (is_flag && json_is_boolean(value) && json_is_true(value) == (key->value != 0)) ||
        (!is_flag && json_is_number(value) && json_number_value(value) == key->value))
        return ACCEL_OK;
    if (is_flag ? !json_is_boolean(value) : !json_is_number(value))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, offset, "%s is not %s", key->name,
                           is_flag ? "true or false" : "a number");
    if (is_flag)
        return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, offset,
                           "%s is %s, which is not supported in architecture %s", key->name,
                           json_is_true(value) ? "true" : "false", reader->config->architecture);
    return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, offset,
                       "%s is %g, only %g is supported in architecture %s", key->name, json_number_value(value),
                       key->value, reader->config->architecture);
}

int32_t config_check_only(const struct config_reader *reader, const struct family_key *keys, const json_t *object)
{
    int32_t code = ACCEL_OK;

    for (; keys != NULL && keys->name != NULL && code == ACCEL_OK; keys++) {
        const json_t *value = json_object_get(object, keys->name);

        if (value != NULL && (keys->use == KEY_WITH_ONE_NUMBER || keys->use == KEY_WITH_ONE_FLAG))
            code = check_only(reader, keys, value);
    }
    return code;
}

int32_t config_check_keys(const struct config_reader *reader)
{
    const struct model_family *family = reader->config->family;
    const char *name;
    json_t *value;
    int32_t code;

    if (family == NULL || reader->root == NULL)
        return ACCEL_OK;
    code = config_check_only(reader, family->json_keys, reader->root);
    if (code != ACCEL_OK)
        return code;
    json_object_foreach(reader->root, name, value)
    {
        if (config_key_class(family, name) == CONFIG_KEY_OF_OTHERS && !changes_nothing(name, value))
            return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, config_offset(reader, name, NULL),
                               "%s has no meaning in architecture %s here", name, reader->config->architecture);
    }
    return ACCEL_OK;
}
