/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/info/info.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <accel/model/chat.h>
#include <accel/model/describe.h>
#include <accel/model/session.h>

#include "tools/accelctl/errors.h"

#define KEY(name) "tokenizer.ggml." name

/* ---- whether it runs ---- */

/* Adds "runs", and if it is false "why" and "remedy". */
static void add_runs(json_t *object, int32_t code, const struct accel_error *error)
{
    json_object_set_new(object, "runs", json_boolean(code == ACCEL_OK));
    if (code == ACCEL_OK)
        return;
    json_object_set_new(object, "why", json_text(error->text));
    if (error->remedy[0] != '\0')
        json_object_set_new(object, "remedy", json_text(error->remedy));
}

/* ---- architecture ---- */

/* Returns the facts of a description; NULL has none. */
static json_t *facts_json(const struct accel_model_description *description)
{
    json_t *facts = json_object();
    uint32_t count = 0;
    const struct accel_named_value *list =
        description == NULL ? NULL : accel_model_description_facts(description, &count);

    for (uint32_t i = 0; i < count; i++)
        json_object_set_new(facts, list[i].key, json_text(list[i].value));
    return facts;
}

static json_t *architecture_json(const char *path, uint32_t has_weights)
{
    struct accel_model_description *description = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    json_t *object = json_object();
    int32_t code = accel_model_describe(NULL, path, &description, &error);

    json_object_set_new(object, "facts", facts_json(description));
    if (code == ACCEL_OK)
        code = accel_model_description_runs(description, &error);
    if (code == ACCEL_OK && !has_weights) {
        code = accel_error_set(&error, ACCEL_E_UNSUPPORTED, "%s: holds no weights", path);
        accel_error_remedy(&error, "accelctl tokenize takes such a file");
    }
    if (code == ACCEL_OK)
        code = accel_model_open(path, NULL, &model, &error);
    if (code == ACCEL_OK && accel_model_facts_of(model)->window != 0)
        json_object_set_new(object, "sliding_window",
                            json_pack("{s:i, s:i}", "tokens", (int)accel_model_facts_of(model)->window, "layers",
                                      (int)accel_model_facts_of(model)->window_layers));
    add_runs(object, code, &error);
    accel_model_close(model);
    accel_model_description_free(description);
    return object;
}

/* ---- weights ---- */

/* Bytes and parameters of one group of tensors, by their types in the file and in memory. */
struct type_sum {
    const char *stored, *name;
    uint64_t tensors, elements, stored_bytes, bytes;
};

enum { TYPES_MOST = 64 };

static uint64_t elements_of(const struct accel_model_tensor *tensor)
{
    uint64_t elements = 1;

    for (uint32_t i = 0; i < tensor->rank; i++)
        elements *= tensor->dims[i];
    return elements;
}

/* Returns 0 for integers and booleans, which are no parameters but positions and column orders. */
static bool is_parameter(const char *type_name)
{
    static const char *const others[] = {"I16", "I32", "I64", "U16", "U32", "U64", "BOOL"};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(type_name, others[i]) == 0)
            return false;
    return true;
}

static uint32_t sum_types(const struct accel_model_file *file, struct type_sum sums[TYPES_MOST])
{
    uint32_t count = 0, at;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        for (at = 0; at < count && (strcmp(sums[at].stored, tensor->stored_type) != 0 ||
                                    strcmp(sums[at].name, tensor->type_name) != 0);)
            at++;
        if (at == TYPES_MOST)
            continue;
        if (at == count)
            sums[count++] = (struct type_sum){.stored = tensor->stored_type, .name = tensor->type_name};
        sums[at].tensors++;
        sums[at].elements += elements_of(tensor);
        sums[at].stored_bytes += tensor->stored_bytes;
        sums[at].bytes += tensor->bytes;
    }
    return count;
}

static double bits_of(uint64_t bytes, uint64_t elements)
{
    return elements == 0 ? 0 : 8.0 * (double)bytes / (double)elements;
}

static json_t *types_json(const struct accel_model_file *file)
{
    struct type_sum sums[TYPES_MOST];
    uint32_t count = sum_types(file, sums);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_add(list, json_pack("{s:s, s:I, s:I, s:I, s:o, s:s, s:I}", "type", sums[i].stored, "tensors",
                                 (json_int_t)sums[i].tensors, "elements", (json_int_t)sums[i].elements, "bytes",
                                 (json_int_t)sums[i].stored_bytes, "bits_per_weight",
                                 is_parameter(sums[i].name) && sums[i].elements > 0
                                     ? json_real(bits_of(sums[i].stored_bytes, sums[i].elements))
                                     : json_null(),
                                 "memory_type", sums[i].name, "memory_bytes", (json_int_t)sums[i].bytes));
    return list;
}

static json_t *files_json(const struct accel_model_file *file)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < accel_model_file_part_count(file); i++)
        json_add(list, json_pack("{s:o, s:I}", "path", json_text(accel_model_file_part_path(file, i)), "bytes",
                                 (json_int_t)accel_model_file_part_bytes(file, i)));
    return list;
}

static json_t *weights_json(const struct accel_model_file *file)
{
    uint64_t bytes = 0, memory = 0, parameters = 0, weight_bytes = 0;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        const bool has_weights = is_parameter(tensor->type_name);

        bytes += tensor->stored_bytes;
        memory += tensor->bytes;
        parameters += has_weights ? elements_of(tensor) : 0;
        weight_bytes += has_weights ? tensor->stored_bytes : 0;
    }
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:o}", "tensors", (json_int_t)accel_model_file_tensor_count(file), "parameters",
        (json_int_t)parameters, "bytes", (json_int_t)bytes, "memory_bytes", (json_int_t)memory, "bits_per_weight",
        parameters == 0 ? json_null() : json_real(bits_of(weight_bytes, parameters)), "types", types_json(file));
}

static json_t *tensors_json(const struct accel_model_file *file)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        json_t *shape = json_array();

        for (uint32_t d = 0; d < tensor->rank; d++)
            json_add(shape, json_integer((json_int_t)tensor->dims[d]));
        json_add(list, json_pack("{s:o, s:o, s:s, s:I, s:I, s:I, s:s, s:I}", "name", json_text(tensor->name), "shape",
                                 shape, "type", tensor->stored_type, "bytes", (json_int_t)tensor->stored_bytes, "file",
                                 (json_int_t)tensor->part, "offset", (json_int_t)tensor->offset, "memory_type",
                                 tensor->type_name, "memory_bytes", (json_int_t)tensor->bytes));
    }
    return list;
}

/* ---- tokenizer ---- */

static json_t *token_json(const char *role, int64_t id, const char *text)
{
    return json_pack("{s:s, s:I, s:o}", "role", role, "id", (json_int_t)id, "text",
                     text == NULL ? json_null() : json_text(text));
}

/* Collects all keys "tokenizer.ggml.ROLE_token_id", also of vocabularies that are not supported. */
static json_t *special_of_gguf(const struct accel_model_file *file)
{
    static const char begin[] = KEY(""), end[] = "_token_id";
    const struct accel_model_value *tokens = accel_model_file_find_value(file, KEY("tokens"));
    json_t *list = json_array();
    char role[40];

    for (uint64_t i = 0; i < accel_model_file_value_count(file); i++) {
        const struct accel_model_value *value = accel_model_file_value(file, i);
        const size_t length = strlen(value->key);
        const struct accel_model_text *text = NULL;
        uint64_t id;

        if (strncmp(value->key, begin, sizeof(begin) - 1) != 0 || length < sizeof(begin) + sizeof(end) - 2 ||
            strcmp(value->key + length - (sizeof(end) - 1), end) != 0 || value->list ||
            accel_model_value_u64(value, 0, &id, NULL) != ACCEL_OK)
            continue;
        if (tokens != NULL && tokens->kind == ACCEL_MODEL_TEXT && id < tokens->count)
            text = accel_model_value_text(tokens, id);
        snprintf(role, sizeof(role), "%.*s", (int)(length - (sizeof(begin) - 1) - (sizeof(end) - 1)),
                 value->key + sizeof(begin) - 1);
        json_add(list, token_json(role, (int64_t)id, text == NULL ? NULL : text->text));
    }
    return list;
}

static json_t *special_of_tokenizer(const struct accel_tokenizer *tokenizer)
{
    static const struct {
        const char *role;
        int32_t which;
    } rows[] = {
        {"bos", ACCEL_TOKEN_BOS}, {"eos", ACCEL_TOKEN_EOS}, {"unknown", ACCEL_TOKEN_UNK}, {"padding", ACCEL_TOKEN_PAD}};
    json_t *list = json_array();
    char text[256];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const int32_t id = accel_tokenizer_special(tokenizer, rows[i].which);
        struct accel_token_text token = {NULL, 0};

        if (id < 0)
            continue;
        accel_tokenizer_token(tokenizer, id, &token, NULL);
        snprintf(text, sizeof(text), "%.*s", (int)token.size, token.data == NULL ? "" : token.data);
        json_add(list, token_json(rows[i].role, id, text));
    }
    return list;
}

static uint64_t list_count(const struct accel_model_file *file, const char *key)
{
    const struct accel_model_value *value = accel_model_file_find_value(file, key);

    return value == NULL ? 0 : value->count;
}

static json_t *text_of_key(const struct accel_model_file *file, const char *key)
{
    struct accel_model_text text;

    return accel_model_file_get_text(file, key, &text, NULL) == ACCEL_OK ? json_text(text.text) : json_null();
}

static json_t *gguf_tokenizer(const struct vocabulary *vocabulary)
{
    const struct accel_model_file *file = vocabulary->file;

    if (accel_model_file_find_value(file, KEY("model")) == NULL && list_count(file, KEY("tokens")) == 0)
        return json_null();
    return json_pack("{s:o, s:o, s:I, s:I, s:o}", "model", text_of_key(file, KEY("model")), "pre",
                     text_of_key(file, KEY("pre")), "tokens", (json_int_t)list_count(file, KEY("tokens")), "merges",
                     (json_int_t)list_count(file, KEY("merges")), "special", special_of_gguf(file));
}

/* Reports the model type of a tokenizer.json, also if it is not supported. */
static json_t *folder_tokenizer(const struct vocabulary *vocabulary)
{
    char *text = NULL;
    uint64_t length = 0;
    json_t *root = NULL, *model, *object;
    const char *type;
    size_t tokens = 0;

    if (vocabulary_read(vocabulary, "tokenizer.json", &text, &length, NULL) == ACCEL_OK)
        root = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    free(text);
    if (root == NULL && vocabulary->tokenizer == NULL)
        return vocabulary->error.code == ACCEL_E_NOT_FOUND ? json_null() : json_object();
    model = json_object_get(root, "model");
    type = json_string_value(json_object_get(model, "type"));
    tokens = json_is_object(json_object_get(model, "vocab")) ? json_object_size(json_object_get(model, "vocab"))
                                                             : json_array_size(json_object_get(model, "vocab"));
    if (vocabulary->tokenizer != NULL)
        tokens = accel_tokenizer_size(vocabulary->tokenizer);
    object = json_pack("{s:o, s:o, s:I, s:I, s:o}", "model", type == NULL ? json_null() : json_text(type), "pre",
                       json_null(), "tokens", (json_int_t)tokens, "merges",
                       (json_int_t)json_array_size(json_object_get(model, "merges")), "special",
                       vocabulary->tokenizer == NULL ? json_array() : special_of_tokenizer(vocabulary->tokenizer));
    json_decref(root);
    return object;
}

static json_t *tokenizer_json(const struct vocabulary *vocabulary)
{
    const struct accel_model_file *file = vocabulary->file;
    json_t *object = file != NULL && accel_model_file_format(file) == ACCEL_MODEL_GGUF ? gguf_tokenizer(vocabulary)
                                                                                       : folder_tokenizer(vocabulary);

    if (json_is_object(object))
        add_runs(object, vocabulary->tokenizer != NULL ? ACCEL_OK : ACCEL_E_UNSUPPORTED, &vocabulary->error);
    return object;
}

/* ---- chat template ---- */

/* Reads the template of tokenizer_config.json: a text, or a list with the entry "default". */
static char *template_of_config(const struct vocabulary *vocabulary)
{
    char *text = NULL, *found = NULL;
    const char *template;
    uint64_t length = 0;
    json_t *root = NULL, *value, *row;
    size_t i;

    if (vocabulary_read(vocabulary, "tokenizer_config.json", &text, &length, NULL) == ACCEL_OK)
        root = json_loadb(text, length, 0, NULL);
    free(text);
    value = json_object_get(root, "chat_template");
    template = json_string_value(value);
    json_array_foreach(value, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));

        if (template == NULL || (name != NULL && strcmp(name, "default") == 0))
            template = json_string_value(json_object_get(row, "template"));
    }
    found = template == NULL ? NULL : strdup(template);
    json_decref(root);
    return found;
}

char *info_template(const struct vocabulary *vocabulary)
{
    const struct accel_model_file *file = vocabulary->file;
    struct accel_model_text value;
    char *text = NULL;
    uint64_t length;

    if (vocabulary->tokenizer != NULL && accel_tokenizer_chat_template(vocabulary->tokenizer) != NULL)
        return strdup(accel_tokenizer_chat_template(vocabulary->tokenizer));
    if (file != NULL && accel_model_file_format(file) == ACCEL_MODEL_GGUF)
        return accel_model_file_get_text(file, "tokenizer.chat_template", &value, NULL) == ACCEL_OK ? strdup(value.text)
                                                                                                    : NULL;
    if (vocabulary_read(vocabulary, "chat_template.jinja", &text, &length, NULL) == ACCEL_OK)
        return text;
    return template_of_config(vocabulary);
}

static json_t *template_json(const struct vocabulary *vocabulary)
{
    char *text = info_template(vocabulary);
    struct accel_chat_template *chat = NULL;
    struct accel_error error = {0};
    json_t *object;
    int32_t code;

    if (text == NULL)
        return json_null();
    code = accel_chat_template_create(text, strlen(text), "chat template", &chat, &error);
    object = json_pack("{s:I, s:o}", "bytes", (json_int_t)strlen(text), "text", json_text(text));
    add_runs(object, code, &error);
    accel_chat_template_free(chat);
    free(text);
    return object;
}

/* ---- all of it ---- */

/* Names general.file_type: llama.cpp's file types by their number. */
static json_t *file_type_json(const struct accel_model_file *file)
{
    static const char *const names[] = {
        [0] = "F32",     [1] = "F16",     [2] = "Q4_0",       [3] = "Q4_1",    [7] = "Q8_0",     [8] = "Q5_0",
        [9] = "Q5_1",    [10] = "Q2_K",   [11] = "Q3_K_S",    [12] = "Q3_K_M", [13] = "Q3_K_L",  [14] = "Q4_K_S",
        [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",    [18] = "Q6_K",   [19] = "IQ2_XXS", [20] = "IQ2_XS",
        [21] = "Q2_K_S", [22] = "IQ3_XS", [23] = "IQ3_XXS",   [24] = "IQ1_S",  [25] = "IQ4_NL",  [26] = "IQ3_S",
        [27] = "IQ3_M",  [28] = "IQ2_S",  [29] = "IQ2_M",     [30] = "IQ4_XS", [31] = "IQ1_M",   [32] = "BF16",
        [36] = "TQ1_0",  [37] = "TQ2_0",  [38] = "MXFP4_MOE", [39] = "NVFP4",  [40] = "Q1_0",    [41] = "Q2_0",
    };
    uint64_t number;

    if (file == NULL || accel_model_file_get_u64(file, "general.file_type", &number, NULL) != ACCEL_OK ||
        number >= sizeof(names) / sizeof(*names) || names[number] == NULL)
        return json_null();
    return json_string(names[number]);
}

static json_t *origin_json(void)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "layout", "file", "metadata", "file", "architecture",
                     "file: metadata and shapes", "weights", "file: types and shapes of tensors", "files",
                     "file: sizes", "tokenizer", "file", "chat_template", "file", "tensors", "file");
}

/* Names the layout of files whose quantized types GGUF and safetensors do not have. */
static json_t *layout_json(const struct accel_model_file *file)
{
    struct accel_model_text value;

    if (file == NULL || accel_model_file_get_text(file, "accel.layout", &value, NULL) != ACCEL_OK)
        return json_null();
    return json_sprintf("accel %.*s", (int)value.length, value.text);
}

json_t *info_document(const char *path, const struct vocabulary *vocabulary, uint32_t whole, uint32_t tensors)
{
    const struct accel_model_file *file = vocabulary->file;
    const uint32_t has_weights = file != NULL && accel_model_file_tensor_count(file) > 0;
    json_t *document =
        json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "origin", origin_json(), "path",
                  json_text(path), "layout", layout_json(file), "format",
                  file == NULL                                        ? vocabulary->name
                  : accel_model_file_format(file) == ACCEL_MODEL_GGUF ? "GGUF"
                                                                      : "safetensors",
                  "files", file == NULL ? json_array() : files_json(file), "file_type", file_type_json(file),
                  "architecture", file != NULL ? architecture_json(path, has_weights) : json_null(), "weights",
                  has_weights ? weights_json(file) : json_null(), "tokenizer", tokenizer_json(vocabulary),
                  "chat_template", template_json(vocabulary), "metadata", info_metadata(vocabulary, whole));

    if (document != NULL && tensors && file != NULL)
        json_object_set_new(document, "tensors", tensors_json(file));
    return document;
}

json_t *info_description(struct accel_context *context, const char *name, struct accel_error *error)
{
    struct accel_model_description *description = NULL;
    struct accel_error why = {0};
    uint32_t count = 0;
    const struct accel_named_value *facts;
    json_t *architecture, *document;
    const bool is_named = access(name, F_OK) != 0;
    char origin[4200] = "profile";
    int32_t code = accel_model_describe(context, name, &description, error);

    if (code != ACCEL_OK)
        return NULL;
    code = accel_model_description_runs(description, &why);
    if (code == ACCEL_OK) {
        code =
            accel_error_set(&why, ACCEL_E_UNSUPPORTED, "%s: is %s", name,
                            is_named ? "the name of a description, without a file" : "a config.json without weights");
        accel_error_remedy(&why, "%s; accelctl plan %s plans it without %s",
                           is_named ? "accelctl run takes the model's GGUF file or folder"
                                    : "download the weights into its folder",
                           name, is_named ? "one" : "them");
    }
    architecture = json_pack("{s:o}", "facts", facts_json(description));
    add_runs(architecture, code, &why);
    facts = accel_model_description_facts(description, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(facts[i].key, "model.family") == 0)
            snprintf(origin, sizeof(origin), "%s: %s", is_named ? "profile" : "file", facts[i].origin);
    document =
        json_pack("{s:{s:s}, s:o, s:s, s:[], s:n, s:o, s:n, s:n, s:n, s:[]}", "origin", "architecture", origin, "path",
                  json_text(name), "format", is_named ? "description" : "config.json", "files", "file_type",
                  "architecture", architecture, "weights", "tokenizer", "chat_template", "metadata");
    accel_model_description_free(description);
    if (document == NULL)
        accel_error_no_memory(error, "for the document");
    return document;
}
