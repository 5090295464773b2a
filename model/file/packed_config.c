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

/* Adds a packing that matrices may have; `group` -1 is a row. */
static int32_t add_choice(struct model_packing *packing, const json_t *bits, const json_t *group,
                          struct accel_error *error)
{
    const long long b = json_integer_value(bits), g = json_integer_value(group);
    const uint32_t at = packing->choice_count;
    const bool awq = packing->layout == MODEL_PACKED_AWQ;
    if (awq ? b != 4 : b != 2 && b != 3 && b != 4 && b != 8)
        return refuse_number(packing, packing->layout == MODEL_PACKED_WORDS ? "num_bits" : "bits", bits, error);
    if (!json_is_integer(group) || g < -1 || g % 32 > 0)
        return refuse_number(packing, "group_size", group, error);
    for (uint32_t i = 0; i < at; i++)
        if (packing->choices[i].bits == b && packing->choices[i].group == (uint64_t)(g > 0 ? g : 0))
            return ACCEL_OK;
    if (at == MODEL_PACKING_CHOICES)
        return refuse(packing, "the number of packings", "above 16", error);
    packing->choices[at].bits = (uint32_t)b;
    packing->choices[at].group = g > 0 ? (uint64_t)g : 0;
    packing->choice_count++;
    return ACCEL_OK;
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
    static const char *const known[] = {"pack-quantized", "int-quantized", "naive-quantized", "mixed-precision",
                                        "dense"};
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
    int32_t code;
    if (strcasecmp(get_text(object, "quant_method", "gptq"), "compressed-tensors") == 0)
        return read_compressed(object, packing, error);
    code = read_layout(object, packing, error);
    if (code == ACCEL_OK)
        code = add_choice(packing, json_object_get(object, "bits"), json_object_get(object, "group_size"), error);
    return code == ACCEL_OK ? read_dynamic(object, packing, error) : code;
}
