/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts that only config.json and generation_config.json have: windows by layer type, declared biases, lists
 * of ids. */
#include <string.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/family.h"
#include "model/file/json.h"

#define GENERATION_NAME "generation_config.json"
#define GENERATION_BYTES_MAX ((uint64_t)1 << 20)
#define GENERATION_DEPTH 32u
/* More end tokens than any model has; longer lists are refused. */
#define EOS_MAX 1024u

static const struct {
    const char *name;
    uint32_t type;
} types[] = {{"float32", ACCEL_F32}, {"float16", ACCEL_F16}, {"bfloat16", ACCEL_BF16}};

static int32_t fault(const struct config_reader *reader, const char *key, const char *what)
{
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, NULL), "%s %s", key,
                       what);
}

int32_t config_refuse_multimodal(const struct config_reader *reader)
{
    if (!json_is_object(json_object_get(reader->root, "text_config")) ||
        json_object_get(reader->root, "num_hidden_layers") != NULL)
        return ACCEL_OK;
    accel_error_set(reader->error, ACCEL_E_UNSUPPORTED,
                    "%s: model_type: architecture \"%s\" with a text_config (multimodal) has no implementation here",
                    reader->path, reader->config->architecture);
    accel_error_remedy(reader->error, "accelctl info --help lists the supported architectures");
    return ACCEL_E_UNSUPPORTED;
}

static int32_t read_type(const struct config_reader *reader)
{
    static const char *const json[4] = {"dtype", "torch_dtype"};
    static const char *const gguf[2] = {NULL};
    struct config_fact fact;
    config_find(reader, json, gguf, &fact);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && fact.kind == CONFIG_TEXT; i++) {
        if (strcmp(types[i].name, fact.text) == 0)
            reader->config->type = types[i].type;
    }
    return fact.kind == CONFIG_TEXT || fact.kind == CONFIG_ABSENT
               ? ACCEL_OK
               : config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not a string");
}

static int32_t read_activation(const struct config_reader *reader)
{
    static const char *const json[4] = {"hidden_activation", "hidden_act", "activation_function", "activation"};
    static const char *const gguf[2] = {NULL};
    struct config_fact fact;
    config_find(reader, json, gguf, &fact);
    if (fact.kind == CONFIG_ABSENT)
        return ACCEL_OK;
    if (fact.kind != CONFIG_TEXT)
        return config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not a string");
    reader->config->activation = model_pool_text(&reader->config->pool, fact.text, strlen(fact.text));
    reader->config->activation_key = model_pool_text(&reader->config->pool, fact.key, strlen(fact.key));
    return reader->config->activation == NULL || reader->config->activation_key == NULL
               ? model_no_memory(reader->error, reader->path, strlen(fact.text))
               : ACCEL_OK;
}

/* Applies a declaration of biases to those that the family may have. The family checks that a declared bias exists. A
 * bias declared absent must not exist, since a reader that ignores it would compute something else. */
static int32_t apply_bias(const struct config_reader *reader, const char *key, enum form_presence form, bool *mark)
{
    bool declared = false, found = false;
    int32_t code = config_find_bool(reader, key, &declared, &found);
    if (code != ACCEL_OK || !found || form != FORM_IF_STORED)
        return code;
    if (!declared && *mark)
        return fault(reader, key,
                     json_object_get(reader->root, key) == NULL
                         ? "is missing, which means false, but the model has such a bias"
                         : "is false, but the model has such a bias");
    *mark = declared;
    return ACCEL_OK;
}

/* An output projection that is stored is used, tied or not, as transformers does: it ties no tensors that differ. */
static int32_t read_tied(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    char name[DECODER_NAME_BYTES];
    bool found;
    int32_t code = config_find_bool(reader, "tie_word_embeddings", &config->tied, &found);
    if (decoder_tensor_name(config, DECODER_OUTPUT, 0, ".weight", name) && config_has(reader, name))
        config->tied = config->tied && !found;
    return code;
}

static int32_t read_flags(const struct config_reader *reader)
{
    /* Of which biases a key speaks, beside those of queries, keys and values. */
    static const struct {
        const char *name;
        bool has_output, has_ffn;
    } keys[] = {{"attention_bias", true, false},
                {"use_qkv_bias", false, false},
                {"qkv_bias", false, false},
                {"use_bias", true, true}};
    struct accel_decoder_config *config = reader->config;
    const struct decoder_form *form = &config->form;
    int32_t code = ACCEL_OK;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && code == ACCEL_OK; i++) {
        code = apply_bias(reader, keys[i].name, form->q_bias, &config->q_bias);
        if (code == ACCEL_OK)
            code = apply_bias(reader, keys[i].name, form->k_bias, &config->k_bias);
        if (code == ACCEL_OK)
            code = apply_bias(reader, keys[i].name, form->v_bias, &config->v_bias);
        if (code == ACCEL_OK && keys[i].has_output)
            code = apply_bias(reader, keys[i].name, form->o_bias, &config->o_bias);
        if (code == ACCEL_OK && keys[i].has_ffn)
            code = apply_bias(reader, keys[i].name, form->ffn_bias, &config->mlp_bias);
    }
    if (code == ACCEL_OK)
        code = apply_bias(reader, "mlp_bias", form->ffn_bias, &config->mlp_bias);
    return code == ACCEL_OK ? read_tied(reader) : code;
}

/* Reads an optional integer at the top level; 0 if absent. */
static int32_t top_count(const struct config_reader *reader, const char *name, uint32_t *out_count, bool *out_found)
{
    static const char *const gguf[2] = {NULL};
    const char *const json[4] = {name};
    struct config_fact fact;
    *out_count = 0;
    config_find(reader, json, gguf, &fact);
    *out_found = fact.kind != CONFIG_ABSENT;
    if (fact.kind == CONFIG_ABSENT)
        return ACCEL_OK;
    if (fact.kind != CONFIG_INTEGER || fact.real < 0 || fact.real > UINT32_MAX)
        return config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not a positive integer");
    *out_count = (uint32_t)fact.integer;
    return ACCEL_OK;
}

static int32_t windows_by_type(const struct config_reader *reader, const json_t *list, uint32_t window,
                               uint32_t *windows)
{
    char shown[MODEL_QUOTE_BYTES];
    if (!json_is_array(list) || json_array_size(list) != reader->config->layers)
        return fault(reader, "layer_types", "is not a list with an element for each layer");
    for (uint32_t i = 0; i < reader->config->layers; i++) {
        const json_t *element = json_array_get(list, i);
        const char *type = json_string_value(element);
        if (type != NULL && strcmp(type, "full_attention") == 0)
            continue;
        if (type == NULL || strcmp(type, "sliding_attention") != 0)
            return model_fault(
                reader->error, ACCEL_E_UNSUPPORTED, reader->path, config_offset(reader, "layer_types", NULL),
                "layer_types[%u] is %s, which is not supported", i,
                type == NULL ? model_json_kind(element) : model_quote(shown, type, json_string_length(element)));
        if (window == 0)
            return fault(reader, "layer_types", "has sliding_attention, but no sliding_window applies");
        windows[i] = window;
    }
    return ACCEL_OK;
}

/* Refuses a list of layer types that differs from the windows of the family. */
static int32_t compare_types(const struct config_reader *reader, const json_t *list, uint32_t window,
                             const uint32_t *windows)
{
    const struct accel_decoder_config *config = reader->config;
    uint32_t *listed = model_pool_alloc(&reader->config->pool, config->layers, sizeof(*listed));
    int32_t code;
    if (listed == NULL)
        return model_no_memory(reader->error, reader->path, config->layers * sizeof(*listed));
    code = windows_by_type(reader, list, window, listed);
    for (uint32_t i = 0; code == ACCEL_OK && i < config->layers; i++)
        if (listed[i] != windows[i])
            return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path,
                               config_offset(reader, "layer_types", NULL),
                               "layer_types[%u] is %s, which architecture %s does not have there", i,
                               listed[i] == 0 ? "full_attention" : "sliding_attention", config->architecture);
    return code;
}

/* Returns whether a layer has the window without a list of layer types. */
static bool has_window(const struct config_reader *reader, uint32_t layer, uint32_t first)
{
    switch (reader->config->form.windows) {
    case FORM_WINDOW_NONE:
        break;
    case FORM_WINDOW_ALL:
        return true;
    case FORM_WINDOW_FROM:
        return layer >= first;
    case FORM_WINDOW_EVEN_BELOW:
        return layer % 2 == 0 && layer < first;
    case FORM_WINDOW_PATTERN:
        return !config_is_full(reader, layer);
    case FORM_WINDOW_NO_ROTARY:
        return reader->config->no_rotary[layer];
    }
    return false;
}

/* Reads windows: of the layers in a list of types, else of those that the family implies. A family that has no such
 * list refuses one that differs from its windows. */
static int32_t read_windows(const struct config_reader *reader)
{
    const json_t *list = json_object_get(reader->root, "layer_types");
    const enum form_windows rule = reader->config->form.windows;
    bool in_use = true, switched = false, has_size, has_first;
    uint32_t window, first;
    uint32_t *windows;
    int32_t code = config_make_windows(reader, &windows);
    if (code == ACCEL_OK)
        code = config_find_bool(reader, "use_sliding_window", &in_use, &switched);
    if (code == ACCEL_OK)
        code = top_count(reader, "sliding_window", &window, &has_size);
    if (code == ACCEL_OK)
        code = top_count(reader, "max_window_layers", &first, &has_first);
    if (code != ACCEL_OK)
        return code;
    if (in_use && has_size && window == 0)
        return fault(reader, "sliding_window", "is 0");
    if (!in_use)
        window = 0;
    if (list != NULL && !json_is_null(list) && rule > FORM_WINDOW_ALL)
        return windows_by_type(reader, list, window, windows);
    if (rule == FORM_WINDOW_PATTERN && window == 0)
        return fault(reader, "sliding_window", "is null, but the family has layers with a window");
    if (rule == FORM_WINDOW_FROM && window != 0 && switched && !has_first)
        return fault(reader, "use_sliding_window", "is true, but max_window_layers is missing");
    for (uint32_t i = 0; i < reader->config->layers; i++)
        windows[i] = has_window(reader, i, switched ? first : 0) ? window : 0;
    return list == NULL || json_is_null(list) ? ACCEL_OK : compare_types(reader, list, window, windows);
}

static int32_t read_token(const struct config_reader *reader, const json_t *object, const char *key, int64_t *out_id,
                          bool must_exist)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value))
        return ACCEL_OK;
    if (!json_is_integer(value))
        return fault(reader, key, "is not an integer");
    return config_set_token(reader, key, json_integer_value(value), out_id, must_exist);
}

/* Reads an id or a list of ids. */
static int32_t read_eos(const struct config_reader *reader, const json_t *object)
{
    const json_t *value = json_object_get(object, "eos_token_id");
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    int64_t ids[EOS_MAX];
    if (value == NULL || json_is_null(value))
        return ACCEL_OK;
    if (count > EOS_MAX)
        return fault(reader, "eos_token_id", "is a list of more than 1024 ids");
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(element))
            return fault(reader, "eos_token_id", "is neither an integer nor a list of integers");
        ids[i] = json_integer_value(element);
    }
    return config_set_eos(reader, "eos_token_id", ids, count);
}

static int32_t read_tokens(const struct config_reader *reader, const json_t *object)
{
    struct accel_decoder_config *config = reader->config;
    int32_t code = read_token(reader, object, "bos_token_id", &config->bos, true);
    if (code == ACCEL_OK)
        code = read_token(reader, object, "unk_token_id", &config->unk, false);
    if (code == ACCEL_OK)
        code = read_token(reader, object, "pad_token_id", &config->pad, false);
    return code == ACCEL_OK ? read_eos(reader, object) : code;
}

/* Reads generation_config.json, which overrides the tokens that begin and end a text. */
static int32_t read_generation(const struct config_reader *reader)
{
    struct config_reader generation = *reader;
    struct accel_error inner = {0};
    char *text = NULL;
    json_t *root = NULL;
    uint64_t length = 0;
    int32_t code;
    if (reader->file == NULL)
        return ACCEL_OK;
    code = accel_model_file_sibling(reader->file, GENERATION_NAME, GENERATION_BYTES_MAX, &text, &length, &inner);
    if (code == ACCEL_E_NOT_FOUND)
        return ACCEL_OK;
    if (code != ACCEL_OK)
        return model_error_copy(reader->error, &inner);
    code = model_json_parse(GENERATION_NAME, 0, text, length, GENERATION_DEPTH, &root, reader->error);
    generation.path = GENERATION_NAME;
    generation.root = root;
    generation.text = text;
    generation.length = length;
    if (code == ACCEL_OK)
        code = read_tokens(&generation, root);
    json_decref(root);
    accel_model_text_free(text);
    return code;
}

int32_t config_json_read(struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    int32_t code;
    config->bos = -1;
    config->unk = -1;
    config->pad = -1;
    code = read_type(reader);
    if (code == ACCEL_OK)
        code = read_activation(reader);
    if (code == ACCEL_OK)
        code = read_flags(reader);
    if (code == ACCEL_OK)
        code = read_windows(reader);
    if (code == ACCEL_OK)
        code = read_tokens(reader, reader->root);
    return code == ACCEL_OK ? read_generation(reader) : code;
}
