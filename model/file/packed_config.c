/* SPDX-License-Identifier: Apache-2.0 */
/* Reads how a folder's tensors are packed from its configuration, and checks that it is supported. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/file/fault.h"
#include "model/file/packed.h"

static int32_t refuse(const struct model_packing *packing, const char *key, const char *value,
                      struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    return model_fault(error, ACCEL_E_UNSUPPORTED, packing->path, MODEL_NO_OFFSET,
                       "quantization: %s is %s, not supported", key, model_quote(shown, value, strlen(value)));
}

static int32_t refuse_number(const struct model_packing *packing, const char *key, const json_t *number,
                             struct accel_error *error)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(number));
    return refuse(packing, key, json_is_integer(number) ? text : "not a number", error);
}

static const char *get_text(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? otherwise : text;
}

/* Adds a packing, unless it is there. */
static int32_t store_choice(struct model_packing *packing, struct model_packing_choice choice,
                            struct accel_error *error)
{
    for (uint32_t i = 0; i < packing->choice_count; i++) {
        const struct model_packing_choice *other = &packing->choices[i];

        if (other->bits == choice.bits && other->floats == choice.floats && other->group == choice.group &&
            other->row_block == choice.row_block)
            return ACCEL_OK;
    }
    if (packing->choice_count == MODEL_PACKING_CHOICES)
        return refuse(packing, "the number of packings", "above 16", error);
    packing->choices[packing->choice_count++] = choice;
    return ACCEL_OK;
}

/* Adds a packing of integers that matrices may have; `group` -1 is a row. */
static int32_t add_choice(struct model_packing *packing, const json_t *bits, const json_t *group,
                          struct accel_error *error)
{
    const long long b = json_integer_value(bits), g = json_integer_value(group);
    const bool awq = packing->layout == MODEL_PACKED_AWQ;
    if (awq ? b != 4 : b != 2 && b != 3 && b != 4 && b != 8)
        return refuse_number(packing, packing->layout == MODEL_PACKED_WORDS ? "num_bits" : "bits", bits, error);
    if (!json_is_integer(group) || g < -1 || g % 32 > 0)
        return refuse_number(packing, "group_size", group, error);
    return store_choice(
        packing, (struct model_packing_choice){.bits = (uint32_t)b, .group = g > 0 ? (uint64_t)g : 0, .row_block = 1},
        error);
}

/* ---- floats ---- */

/* Adds a packing of floats; `block` NULL: each row has its own scales. */
static int32_t add_floats(struct model_packing *packing, long long bits, const json_t *group, const json_t *block,
                          struct accel_error *error)
{
    const long long rows = json_integer_value(json_array_get(block, 0));
    const long long columns = json_integer_value(block != NULL ? json_array_get(block, 1) : group);

    if (bits != 8 && bits != 4)
        return refuse(packing, "num_bits", "neither 8 nor 4", error);
    if (block != NULL && (json_array_size(block) != 2 || rows < 1 || columns < 1 || MODEL_PACKED_BAND % rows != 0))
        return refuse(packing, "the block of weights under one scale",
                      "no pair of numbers from 1 on whose first divides 256", error);
    if (columns < -1)
        return refuse_number(packing, "group_size", group, error);
    return store_choice(packing,
                        (struct model_packing_choice){.bits = (uint32_t)bits,
                                                      .floats = true,
                                                      .group = columns > 0 ? (uint64_t)columns : 0,
                                                      .row_block = block != NULL ? (uint64_t)rows : 1},
                        error);
}

/* Reads the methods fp8 and fbgemm_fp8: 8 bits, a scale for each block, row or matrix. */
static int32_t read_float8(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const json_t *block = json_object_get(object, "weight_block_size");

    const char *format = get_text(object, "fmt", "e4m3");

    packing->layout = MODEL_PACKED_FLOATS;
    if (strcmp(format, "e4m3") != 0)
        return refuse(packing, "fmt", format, error);
    return add_floats(packing, 8, NULL, block != NULL && !json_is_null(block) ? block : NULL, error);
}

/* Reads the method modelopt, in config.json or as `quantization` of hf_quant_config.json. */
static int32_t read_modelopt(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const char *algorithm = get_text(object, "quant_algo", "missing");
    const json_t *given = json_object_get(object, "group_size");
    json_t *group = json_integer(16);
    int32_t code;

    packing->layout = MODEL_PACKED_FLOATS;
    if (strcmp(algorithm, "FP8") == 0 || strcmp(algorithm, "FP8_PER_CHANNEL_PER_TOKEN") == 0)
        code = add_floats(packing, 8, NULL, NULL, error);
    else if (strcmp(algorithm, "NVFP4") == 0 && given != NULL && json_integer_value(given) != 16)
        code = refuse_number(packing, "group_size", given, error);
    else if (strcmp(algorithm, "NVFP4") == 0 && group != NULL)
        code = add_floats(packing, 4, group, NULL, error);
    else
        code = refuse(packing, "quant_algo", algorithm, error);
    json_decref(group);
    return code;
}

/* ---- GPTQ and AWQ ---- */

static int32_t read_layout(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const char *method = get_text(object, "quant_method", "gptq"), *version;
    if (strcasecmp(method, "awq") == 0) {
        packing->layout = MODEL_PACKED_AWQ;
        version = get_text(object, "version", "gemm");
        return strcasecmp(version, "gemm") == 0 ? ACCEL_OK : refuse(packing, "version", version, error);
    }
    if (strcasecmp(method, "gptq") != 0)
        return refuse(packing, "quant_method", method, error);
    packing->layout = MODEL_PACKED_GPTQ;
    version = get_text(object, "checkpoint_format", "gptq");
    packing->zero_add = strcasecmp(version, "gptq") == 0;
    if (!packing->zero_add && strcasecmp(version, "gptq_v2") != 0)
        return refuse(packing, "checkpoint_format", version, error);
    if (json_is_true(json_object_get(object, "is_marlin_format")))
        return refuse(packing, "is_marlin_format", "true", error);
    version = get_text(object, "pack_dtype", "int32");
    return strcmp(version, "int32") == 0 ? ACCEL_OK : refuse(packing, "pack_dtype", version, error);
}

/* Reads `dynamic`: patterns of names whose matrices are packed otherwise or, after "-:", not at all. The tensors show
 * which applies to a matrix. */
static int32_t read_dynamic(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    static const char *const known[] = {"bits",         "group_size",      "sym",          "desc_act", "mse",
                                        "damp_percent", "act_group_aware", "static_groups"};
    const json_t *changes, *value;
    const char *pattern, *key;
    int32_t code = ACCEL_OK;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(object, "dynamic"), pattern, changes)
    {
        const json_t *bits = json_object_get(changes, "bits"), *group = json_object_get(changes, "group_size");
        if (strncmp(pattern, "-:", 2) == 0)
            continue;
        if (!json_is_object(changes))
            return refuse(packing, "dynamic", "not a table of patterns", error);
        json_object_foreach((json_t *)(uintptr_t)changes, key, value)
        {
            bool found = false;
            for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
                found = found || strcmp(known[i], key) == 0;
            if (!found)
                return refuse(packing, "what dynamic changes", key, error);
        }
        code = add_choice(packing, bits ? bits : json_object_get(object, "bits"),
                          group ? group : json_object_get(object, "group_size"), error);
        if (code != ACCEL_OK)
            return code;
    }
    return code;
}

/* ---- compressed-tensors ---- */

static int32_t check_format(const struct model_packing *packing, const char *format, struct accel_error *error)
{
    static const char *const known[] = {
        "pack-quantized",       "int-quantized",        "naive-quantized", "float-quantized", "nvfp4-pack-quantized",
        "mxfp4-pack-quantized", "mxfp8-pack-quantized", "mxfp8-quantized", "mixed-precision", "dense"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i], format) == 0)
            return ACCEL_OK;
    return refuse(packing, "format", format, error);
}

/* Reads the packing of one group of modules. Quantization of activations at run time is ignored. */
static int32_t read_group(const json_t *object, const char *format, struct model_packing *packing,
                          struct accel_error *error)
{
    const json_t *weights = json_object_get(object, "weights"), *bits = json_object_get(weights, "num_bits");
    const char *strategy = get_text(weights, "strategy", NULL), *type = get_text(weights, "type", "int");
    json_t *row, *group = json_object_get(weights, "group_size");
    int32_t code = check_format(packing, get_text(object, "format", format), error);
    if (code != ACCEL_OK || !json_is_object(weights))
        return code;
    if (strcmp(type, "float") == 0) {
        const bool grouped = strategy != NULL && (strcmp(strategy, "channel") != 0 && strcmp(strategy, "tensor") != 0);
        const bool blocks = grouped && strcmp(strategy, "block") == 0;

        if (blocks && !json_is_array(json_object_get(weights, "block_structure")))
            return refuse(packing, "block_structure", "no pair of numbers", error);
        if (json_is_false(json_object_get(weights, "symmetric")))
            return refuse(packing, "symmetric", "false", error);
        if (grouped && !blocks && strcmp(strategy, "group") != 0 && strcmp(strategy, "tensor_group") != 0)
            return refuse(packing, "strategy", strategy, error);
        return add_floats(packing, json_integer_value(bits), grouped ? group : NULL,
                          blocks ? json_object_get(weights, "block_structure") : NULL, error);
    }
    if (strcmp(type, "int") != 0)
        return refuse(packing, "type", type, error);
    if (strategy == NULL)
        strategy = json_integer_value(group) > 0 ? "group" : "channel";
    if (strcmp(strategy, "group") == 0)
        return add_choice(packing, bits, group, error);
    if (strcmp(strategy, "channel") != 0 && strcmp(strategy, "tensor") != 0)
        return refuse(packing, "strategy", strategy, error);
    row = json_integer(-1);
    code = add_choice(packing, bits, row, error);
    json_decref(row);
    return code;
}

static int32_t read_compressed(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const char *format = get_text(object, "format", "dense"), *name;
    const char *sparse = get_text(json_object_get(object, "sparsity_config"), "format", "dense");
    const json_t *group;
    int32_t code = check_format(packing, format, error);
    packing->layout = MODEL_PACKED_WORDS;
    if (code == ACCEL_OK && json_object_size(json_object_get(object, "transform_config")) != 0)
        code = refuse(packing, "transform_config", "given", error);
    if (code == ACCEL_OK && strcmp(sparse, "dense") != 0)
        code = refuse(packing, "sparsity_config.format", sparse, error);
    json_object_foreach(json_object_get(object, "config_groups"), name, group)
    {
        if (code == ACCEL_OK)
            code = read_group(group, format, packing, error);
    }
    return code;
}

int32_t model_packing_read(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const char *method = get_text(object, "quant_method", "gptq");
    int32_t code;

    if (strcasecmp(method, "compressed-tensors") == 0)
        return read_compressed(object, packing, error);
    if (strcasecmp(method, "fp8") == 0 || strcasecmp(method, "fbgemm_fp8") == 0)
        return read_float8(object, packing, error);
    if (strcasecmp(method, "modelopt") == 0)
        return read_modelopt(object, packing, error);
    code = read_layout(object, packing, error);
    if (code == ACCEL_OK)
        code = add_choice(packing, json_object_get(object, "bits"), json_object_get(object, "group_size"), error);
    return code == ACCEL_OK ? read_dynamic(object, packing, error) : code;
}
