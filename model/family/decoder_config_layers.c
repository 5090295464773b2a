/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what differs from layer to layer: experts, and rotary positions. */
#include "model/family/decoder_config_reader.h"
#include "model/family/family.h"
#include "model/file/json.h"

/* Refuses a number of layers without experts in front that the tensors of a GGUF file do not confirm. */
static int32_t check_dense_layers(const struct config_reader *reader, const bool *mixture, uint32_t count,
                                  const char *key)
{
    for (uint32_t i = 0; i < reader->config->layers; i++)
        if (mixture[i] != (i >= count))
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, NULL, key),
                               "%s.%s is %u, but layer %u has %s", reader->config->architecture, key, count, i,
                               mixture[i] ? "experts" : "no experts");
    return ACCEL_OK;
}

/* Reads which layers have experts: all but those that a list or a step leaves out; of GGUF those that have a router. */
int32_t config_mixture_read(const struct config_reader *reader)
{
    static const struct config_row step = {{"decoder_sparse_step"}, {NULL}, 0, CONFIG_TO_U32, false, 1, 65536};
    static const struct config_row dense = {
        {"first_k_dense_replace"}, {"leading_dense_block_count"}, 0, CONFIG_TO_U32, false, 1, 65536};
    struct accel_decoder_config *config = reader->config;
    const json_t *list = json_object_get(reader->root, "mlp_only_layers");
    uint32_t every = 1, first = 0;
    bool *mixture;
    int32_t code;
    if (config->form.experts == 0)
        return ACCEL_OK;
    mixture = model_pool_alloc(&config->pool, config->layers, sizeof(*mixture));
    if (mixture == NULL)
        return model_no_memory(reader->error, reader->path, config->layers);
    config->mixture = mixture;
    code = config_fill(reader, &step, 1, &every);
    if (code == ACCEL_OK)
        code = config_fill(reader, &dense, 1, &first);
    for (uint32_t i = 0; i < config->layers; i++) {
        char name[DECODER_NAME_BYTES];
        decoder_tensor_name(config, DECODER_ROUTER, i, ".weight", name);
        mixture[i] = reader->root == NULL ? config_has(reader, name) : i >= first && (i + 1) % every == 0;
    }
    if (reader->root == NULL && code == ACCEL_OK && first != 0)
        code = check_dense_layers(reader, mixture, first, dense.gguf[0]);
    if (list != NULL && !json_is_null(list) && !json_is_array(list))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "mlp_only_layers", NULL),
                           "mlp_only_layers is %s, not a list", model_json_kind(list));
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);
        const json_int_t layer = json_is_integer(element) ? json_integer_value(element) : -1;
        if (layer < 0 || layer >= config->layers)
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                               config_offset(reader, "mlp_only_layers", NULL),
                               "mlp_only_layers[%zu] is not the number of a layer, 0 to %u", i, config->layers - 1);
        mixture[layer] = false;
    }
    for (uint32_t i = 0; code == ACCEL_OK && config->ffn == 0 && i < config->layers; i++)
        if (!mixture[i])
            code = config_missing(reader, "intermediate_size", "feed_forward_length");
    return code;
}

/* Reads which layers have no rotary positions: those with a 0 in a list, else every n-th of the family. */
int32_t config_no_rotary_read(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    static const struct config_row interval = {{"no_rope_layer_interval"}, {NULL}, 0, CONFIG_TO_U32, false, 1, 65536};
    uint32_t every = config->form.no_rotary_every;
    const json_t *list = json_object_get(reader->root, "no_rope_layers");
    bool *without;
    int32_t code;
    if (every == 0)
        return ACCEL_OK;
    code = config_fill(reader, &interval, 1, &every);
    if (code != ACCEL_OK)
        return code;
    if (list != NULL && !json_is_null(list) && !json_is_array(list))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "no_rope_layers", NULL),
                           "no_rope_layers is not a list");
    without = model_pool_alloc(&config->pool, config->layers, sizeof(*without));
    if (without == NULL)
        return model_no_memory(reader->error, reader->path, config->layers);
    config->no_rotary = without;
    if (json_is_array(list) && json_array_size(list) != config->layers)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "no_rope_layers", NULL),
                           "no_rope_layers does not have an element for each layer");
    for (uint32_t i = 0; i < config->layers; i++) {
        const json_t *element = json_array_get(list, i);
        if (element != NULL &&
            (!json_is_integer(element) || json_integer_value(element) < 0 || json_integer_value(element) > 1))
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                               config_offset(reader, "no_rope_layers", NULL), "no_rope_layers[%u] is neither 0 nor 1",
                               i);
        without[i] = element != NULL ? json_integer_value(element) == 0 : (i + 1) % every == 0;
    }
    return ACCEL_OK;
}
