/* SPDX-License-Identifier: Apache-2.0 */
/* Reads how a folder's tensors are packed from its configuration, and checks that it is supported. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/file/fault.h"
#include "model/file/packed.h"
#include "model/file/text.h"

int32_t model_packed_remedy(struct accel_error *error)
{
    accel_error_remedy(error, "take the model in GPTQ, AWQ, compressed-tensors, FP8, NVFP4 or MXFP4 of the kinds that "
                              "doc/run.md lists, in GGUF, or with its unquantized weights");
    return ACCEL_E_UNSUPPORTED;
}

/* Refuses the value of a key as the file has it, and names what is supported. */
static int32_t refuse(const struct model_packing *packing, const char *key, const json_t *value, const char *supported,
                      struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES],
        *text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    const char *found = json_is_string(value) ? json_string_value(value) : text;

    if (found == NULL)
        model_fault(error, ACCEL_E_UNSUPPORTED, packing->path, MODEL_NO_OFFSET,
                    "quantization: %s is missing, supported: %s", key, supported);
    else
        model_fault(error, ACCEL_E_UNSUPPORTED, packing->path, MODEL_NO_OFFSET,
                    "quantization: %s is %.100s, supported: %s", key,
                    json_is_string(value) ? model_quote(shown, found, strlen(found)) : found, supported);
    free(text);
    return model_packed_remedy(error);
}

/* Stores the text of a key, or `otherwise` if it is missing or null; refuses other values. */
static int32_t read_text(const struct model_packing *packing, const json_t *object, const char *key,
                         const char *otherwise, const char **out_text, struct accel_error *error)
{
    const json_t *value = json_object_get(object, key);

    *out_text = json_is_string(value) ? json_string_value(value) : otherwise;
    if (value == NULL || json_is_null(value) || json_is_string(value))
        return ACCEL_OK;
    return refuse(packing, key, value, "a string", error);
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
    if (packing->choice_count == MODEL_PACKING_CHOICES) {
        model_fault(error, ACCEL_E_UNSUPPORTED, packing->path, MODEL_NO_OFFSET,
                    "quantization: it describes more than %u packings", MODEL_PACKING_CHOICES);
        return model_packed_remedy(error);
    }
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
        return refuse(packing, packing->layout == MODEL_PACKED_WORDS ? "num_bits" : "bits", bits,
                      awq ? "4" : "2, 3, 4, 8", error);
    if (!json_is_integer(group) || g < -1 || g % 32 > 0)
        return refuse(packing, "group_size", group, "-1 and multiples of 32", error);
    return store_choice(
        packing, (struct model_packing_choice){.bits = (uint32_t)b, .group = g > 0 ? (uint64_t)g : 0, .row_block = 1},
        error);
}

/* ---- floats ---- */

/* Adds a packing of floats; `block` NULL: each row has its own scales. */
static int32_t add_floats(struct model_packing *packing, long long bits, const json_t *group, const char *block_key,
                          const json_t *block, struct accel_error *error)
{
    const long long rows = json_integer_value(json_array_get(block, 0));
    const long long columns = json_integer_value(block != NULL ? json_array_get(block, 1) : group);

    if (block != NULL && (json_array_size(block) != 2 || rows < 1 || columns < 1 || MODEL_PACKED_BAND % rows != 0))
        return refuse(packing, block_key, block, "a pair of numbers above 0, of which the first divides 256", error);
    if (block == NULL && group != NULL && (!json_is_integer(group) || columns < -1))
        return refuse(packing, "group_size", group, "-1 and numbers above", error);
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
    const char *format;
    int32_t code = read_text(packing, object, "fmt", "e4m3", &format, error);

    packing->layout = MODEL_PACKED_FLOATS;
    if (code != ACCEL_OK)
        return code;
    if (strcmp(format, "e4m3") != 0)
        return refuse(packing, "fmt", json_object_get(object, "fmt"), "e4m3", error);
    return add_floats(packing, 8, NULL, "weight_block_size", json_is_null(block) ? NULL : block, error);
}

/* Reads the method mxfp4: 4 bits, a power of two for each 32 values. */
static int32_t read_mxfp4(struct model_packing *packing, struct accel_error *error)
{
    packing->layout = MODEL_PACKED_FLOATS;
    return store_choice(packing, (struct model_packing_choice){.bits = 4, .floats = true, .group = 32, .row_block = 1},
                        error);
}

/* Reads the method modelopt, in config.json or as `quantization` of hf_quant_config.json. */
static int32_t read_modelopt(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const json_t *algorithm = json_object_get(object, "quant_algo"), *given = json_object_get(object, "group_size");
    const char *name = json_is_string(algorithm) ? json_string_value(algorithm) : "";
    json_t *group = json_integer(16);
    int32_t code;

    packing->layout = MODEL_PACKED_FLOATS;
    if (strcmp(name, "FP8") == 0 || strcmp(name, "FP8_PER_CHANNEL_PER_TOKEN") == 0)
        code = add_floats(packing, 8, NULL, NULL, NULL, error);
    else if (strcmp(name, "NVFP4") == 0 && given != NULL && json_integer_value(given) != 16)
        code = refuse(packing, "group_size", given, "16", error);
    else if (strcmp(name, "NVFP4") == 0 && group != NULL)
        code = add_floats(packing, 4, group, NULL, NULL, error);
    else
        code = refuse(packing, "quant_algo", algorithm, "FP8, FP8_PER_CHANNEL_PER_TOKEN, NVFP4", error);
    json_decref(group);
    return code;
}

/* ---- GPTQ and AWQ ---- */

/* A key whose text has to be one word, which is also the default. */
static int32_t require_text(const struct model_packing *packing, const json_t *object, const char *key,
                            const char *word, struct accel_error *error)
{
    const char *text;
    int32_t code = read_text(packing, object, key, word, &text, error);

    if (code == ACCEL_OK && strcasecmp(text, word) != 0)
        code = refuse(packing, key, json_object_get(object, key), word, error);
    return code;
}

static int32_t read_gptq(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const json_t *marlin = json_object_get(object, "is_marlin_format");
    const char *version;
    int32_t code = read_text(packing, object, "checkpoint_format", "gptq", &version, error);

    packing->layout = MODEL_PACKED_GPTQ;
    if (code != ACCEL_OK)
        return code;
    packing->zero_add = strcasecmp(version, "gptq") == 0;
    if (!packing->zero_add && strcasecmp(version, "gptq_v2") != 0)
        return refuse(packing, "checkpoint_format", json_object_get(object, "checkpoint_format"), "gptq, gptq_v2",
                      error);
    if (json_is_true(marlin))
        return refuse(packing, "is_marlin_format", marlin, "false", error);
    return require_text(packing, object, "pack_dtype", "int32", error);
}

static int32_t read_layout(const json_t *object, const char *method, struct model_packing *packing,
                           struct accel_error *error)
{
    packing->layout = MODEL_PACKED_AWQ;
    if (strcasecmp(method, "awq") == 0)
        return require_text(packing, object, "version", "gemm", error);
    if (strcasecmp(method, "gptq") == 0)
        return read_gptq(object, packing, error);
    return refuse(packing, "quant_method", json_object_get(object, "quant_method"),
                  "gptq, awq, compressed-tensors, fp8, fbgemm_fp8, mxfp4, modelopt", error);
}

/* Reads `dynamic`: patterns of names whose matrices are packed otherwise or, after "-:", not at all. The tensors show
 * which applies to a matrix. */
static int32_t read_dynamic(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    static const char known[] = "bits group_size sym desc_act mse damp_percent act_group_aware static_groups";
    const json_t *changes, *value, *dynamic = json_object_get(object, "dynamic");
    const char *pattern, *key;
    int32_t code = ACCEL_OK;
    if (dynamic != NULL && !json_is_null(dynamic) && !json_is_object(dynamic))
        return refuse(packing, "dynamic", dynamic, "a table of patterns", error);
    json_object_foreach((json_t *)(uintptr_t)dynamic, pattern, changes)
    {
        const json_t *bits = json_object_get(changes, "bits"), *group = json_object_get(changes, "group_size");
        if (strncmp(pattern, "-:", 2) == 0)
            continue;
        if (!json_is_object(changes))
            return refuse(packing, "dynamic", dynamic, "tables of changes behind its patterns", error);
        json_object_foreach((json_t *)(uintptr_t)changes, key, value)
        {
            if (!model_text_is_one_of(known, key, strlen(key))) {
                char shown[MODEL_QUOTE_BYTES];
                model_fault(error, ACCEL_E_UNSUPPORTED, packing->path, MODEL_NO_OFFSET,
                            "quantization: dynamic changes %s, which is not supported",
                            model_quote(shown, key, strlen(key)));
                return model_packed_remedy(error);
            }
        }
        code = add_choice(packing, bits ? bits : json_object_get(object, "bits"),
                          group ? group : json_object_get(object, "group_size"), error);
        if (code != ACCEL_OK)
            return code;
    }
    return code;
}

/* ---- compressed-tensors ---- */

/* Checks the format of an object, or the one that it inherits if it has none. */
static int32_t check_format(const struct model_packing *packing, const json_t *object, struct accel_error *error)
{
    static const char known[] =
        "pack-quantized int-quantized naive-quantized float-quantized nvfp4-pack-quantized mxfp4-pack-quantized "
        "mxfp8-pack-quantized mxfp8-quantized mixed-precision dense";
    const char *format;
    int32_t code = read_text(packing, object, "format", "dense", &format, error);
    if (code != ACCEL_OK || model_text_is_one_of(known, format, strlen(format)))
        return code;
    return refuse(packing, "format", json_object_get(object, "format"),
                  "pack-, int-, naive-, float-, nvfp4-pack-, mxfp4-pack-, mxfp8-pack- and mxfp8-quantized", error);
}

static int32_t read_float_group(const json_t *weights, const char *strategy, struct model_packing *packing,
                                struct accel_error *error)
{
    const json_t *bits = json_object_get(weights, "num_bits"), *group = json_object_get(weights, "group_size");
    const json_t *block = json_object_get(weights, "block_structure"),
                 *symmetric = json_object_get(weights, "symmetric");
    const bool grouped = strategy != NULL && (strcmp(strategy, "channel") != 0 && strcmp(strategy, "tensor") != 0);
    const bool blocks = grouped && strcmp(strategy, "block") == 0;
    const long long b = json_integer_value(bits);

    if (b != 8 && b != 4)
        return refuse(packing, "num_bits", bits, "8, 4", error);
    if (blocks && !json_is_array(block))
        return refuse(packing, "block_structure", block, "a pair of numbers", error);
    if (json_is_false(symmetric))
        return refuse(packing, "symmetric", symmetric, "true", error);
    if (grouped && !blocks && strcmp(strategy, "group") != 0 && strcmp(strategy, "tensor_group") != 0)
        return refuse(packing, "strategy", json_object_get(weights, "strategy"),
                      "tensor, channel, group, tensor_group, block", error);
    return add_floats(packing, b, grouped ? group : NULL, "block_structure", blocks ? block : NULL, error);
}

/* Reads the packing of one group of modules. Quantization of activations at run time is ignored. */
static int32_t read_group(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const json_t *weights = json_object_get(object, "weights"), *bits = json_object_get(weights, "num_bits");
    const json_t *group = json_object_get(weights, "group_size");
    const char *strategy, *type;
    json_t *row;
    int32_t code = check_format(packing, object, error);
    if (code != ACCEL_OK || !json_is_object(weights))
        return code;
    code = read_text(packing, weights, "strategy", NULL, &strategy, error);
    if (code == ACCEL_OK)
        code = read_text(packing, weights, "type", "int", &type, error);
    if (code != ACCEL_OK)
        return code;
    if (strcmp(type, "float") == 0)
        return read_float_group(weights, strategy, packing, error);
    if (strcmp(type, "int") != 0)
        return refuse(packing, "type", json_object_get(weights, "type"), "int, float", error);
    if (strategy == NULL)
        strategy = json_integer_value(group) > 0 ? "group" : "channel";
    if (strcmp(strategy, "group") == 0)
        return add_choice(packing, bits, group, error);
    if (strcmp(strategy, "channel") != 0 && strcmp(strategy, "tensor") != 0)
        return refuse(packing, "strategy", json_object_get(weights, "strategy"), "tensor, channel, group", error);
    row = json_integer(-1);
    code = add_choice(packing, bits, row, error);
    json_decref(row);
    return code;
}

static int32_t read_compressed(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const json_t *groups = json_object_get(object, "config_groups"), *group;
    const json_t *sparse = json_object_get(object, "sparsity_config");
    const json_t *transform = json_object_get(object, "transform_config");
    const char *name, *format;
    int32_t code = check_format(packing, object, error);
    packing->layout = MODEL_PACKED_WORDS;
    if (code == ACCEL_OK && json_object_size(transform) != 0)
        code = refuse(packing, "transform_config", transform, "none", error);
    if (code == ACCEL_OK)
        code = read_text(packing, sparse, "format", "dense", &format, error);
    if (code == ACCEL_OK && strcmp(format, "dense") != 0)
        code = refuse(packing, "sparsity_config.format", json_object_get(sparse, "format"), "dense", error);
    if (code == ACCEL_OK && groups != NULL && !json_is_null(groups) && !json_is_object(groups))
        code = refuse(packing, "config_groups", groups, "a table of groups", error);
    json_object_foreach((json_t *)(uintptr_t)groups, name, group)
    {
        if (code == ACCEL_OK)
            code = read_group(group, packing, error);
    }
    return code;
}

int32_t model_packing_read(const json_t *object, struct model_packing *packing, struct accel_error *error)
{
    const char *method;
    int32_t code = read_text(packing, object, "quant_method", "gptq", &method, error);

    if (code != ACCEL_OK)
        return code;
    if (strcasecmp(method, "compressed-tensors") == 0)
        return read_compressed(object, packing, error);
    if (strcasecmp(method, "fp8") == 0 || strcasecmp(method, "fbgemm_fp8") == 0)
        return read_float8(object, packing, error);
    if (strcasecmp(method, "mxfp4") == 0)
        return read_mxfp4(packing, error);
    if (strcasecmp(method, "modelopt") == 0)
        return read_modelopt(object, packing, error);
    code = read_layout(object, method, packing, error);
    if (code == ACCEL_OK)
        code = add_choice(packing, json_object_get(object, "bits"), json_object_get(object, "group_size"), error);
    return code == ACCEL_OK ? read_dynamic(object, packing, error) : code;
}
