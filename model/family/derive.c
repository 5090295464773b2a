/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the tensors of a decoder from a checkpoint with a config.json that arranges them in another way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/family/decoder.h"
#include "model/family/family.h"
#include "model/file/derived.h"
#include "model/file/packed.h"
#include "model/file/pool.h"

/* Matrices that a form with `transposed` stores with their inputs first. */
static const enum decoder_part transposed_parts[] = {DECODER_QKV, DECODER_ATTENTION_OUT, DECODER_FFN_UP,
                                                     DECODER_FFN_DOWN};

/* List of derivations, with the memory of their names. */
struct list {
    const struct accel_decoder_config *config;
    struct model_pool pool;
    struct model_derivation *items;
    uint64_t count;
    bool is_full; /* memory is out */
};

static const char *keep(struct list *list, const char *text)
{
    char *copy = model_pool_text(&list->pool, text, strlen(text));

    list->is_full = list->is_full || copy == NULL;
    return copy;
}

static void add_transposed(struct list *list, enum decoder_part part, uint32_t layer)
{
    const char **source = model_pool_alloc(&list->pool, 1, sizeof(*source));
    char name[DECODER_NAME_BYTES];

    decoder_tensor_name(list->config, part, layer, ".weight", name);
    if (source == NULL) {
        list->is_full = true;
        return;
    }
    *source = keep(list, name);
    list->items[list->count++] = (struct model_derivation){
        .name = *source, .sources = source, .count = 1, .rank = 2, .transposed = true, .step = 1};
}

/* Returns the rank of the stored tensors of a stack: one for all experts has a dimension of them. */
static uint32_t source_rank(const struct decoder_stack *stack, bool is_flat)
{
    const bool is_norm = stack->part == DECODER_QUERY_NORM || stack->part == DECODER_KEY_NORM;

    return (is_flat || is_norm ? 1u : 2u) + (stack->count == COUNT_ONE ? 1u : 0u);
}

static uint32_t count_of(const struct accel_decoder_config *config, enum decoder_count count)
{
    switch (count) {
    case COUNT_EXPERTS:
        return config->form.experts;
    case COUNT_HEADS:
        return config->heads;
    case COUNT_KV_HEADS:
        return config->kv_heads;
    case COUNT_ONE:
        break;
    }
    return 1;
}

/* Returns whether a tensor has blocks, which lie along its inputs: it has them last. */
static bool has_blocks(const struct accel_model_tensor *tensor)
{
    struct accel_format format;

    return tensor != NULL && accel_format_describe(tensor->type, &format) == ACCEL_OK &&
           format.kind != ACCEL_FORMAT_SCALAR;
}

/* Sets the shape of a tensor that has a part of all experts: rows last if it is transposed, one row of each expert if
 * it is a bias. */
static void set_dims(const struct accel_decoder_config *config, const struct decoder_stack *stack,
                     struct model_derivation *derivation)
{
    const uint64_t ffn = config->form.expert_ffn == 0 ? config->ffn : config->form.expert_ffn;
    const bool is_down = stack->part == DECODER_EXPERT_DOWN;
    const uint64_t rows = (is_down ? config->hidden : ffn) * derivation->step, width = is_down ? ffn : config->hidden;

    derivation->dims[0] = config->form.experts;
    derivation->dims[1] = derivation->flat || !derivation->transposed ? rows : width;
    derivation->dims[2] = derivation->flat ? 0 : derivation->transposed ? rows : width;
}

/* Writes the name of a source of a stack, of the expert or head `i`. */
static void source_name(const struct decoder_stack *stack, uint32_t layer, uint32_t i, char out[DECODER_NAME_BYTES])
{
    /* The format is one of the constants of a family. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    snprintf(out, DECODER_NAME_BYTES, stack->source, layer, i);
#pragma GCC diagnostic pop
}

static void add_stack(struct list *list, const struct accel_model_file *file, const struct decoder_stack *stack,
                      uint32_t layer)
{
    const uint32_t count = count_of(list->config, stack->count);
    const char **sources = model_pool_alloc(&list->pool, count, sizeof(*sources));
    const char *suffix = stack->suffix == NULL ? ".weight" : stack->suffix;
    char name[DECODER_NAME_BYTES] = "";
    bool blocks;

    for (uint32_t i = 0; i < count && sources != NULL; i++) {
        source_name(stack, layer, i, name);
        sources[i] = keep(list, name);
    }
    list->is_full = list->is_full || sources == NULL;
    blocks = count == 1 && has_blocks(accel_model_file_find(file, name));
    decoder_tensor_name(list->config, stack->part, layer, suffix, name);
    list->items[list->count++] = (struct model_derivation){.name = keep(list, name),
                                                           .sources = sources,
                                                           .count = count,
                                                           .transposed = stack->transposed && !blocks,
                                                           .first = stack->first,
                                                           .step = stack->step == 0 ? 1 : stack->step,
                                                           .flat = strcmp(suffix, ".bias") == 0,
                                                           .rank = source_rank(stack, strcmp(suffix, ".bias") == 0)};
    if (stack->count == COUNT_ONE)
        set_dims(list->config, stack, &list->items[list->count - 1]);
}

static void add_layer(struct list *list, const struct accel_model_file *file, uint32_t layer)
{
    const struct accel_decoder_config *config = list->config;
    const bool mixture = config->mixture != NULL && config->mixture[layer];
    const struct decoder_stack *stack = config->family->stacks;

    for (size_t i = 0; config->form.transposed && i < sizeof(transposed_parts) / sizeof(transposed_parts[0]); i++)
        add_transposed(list, transposed_parts[i], layer);
    for (; stack != NULL && stack->source != NULL; stack++) {
        char name[DECODER_NAME_BYTES];
        const bool is_norm = stack->part == DECODER_QUERY_NORM || stack->part == DECODER_KEY_NORM;

        decoder_tensor_name(config, stack->part, layer, stack->suffix == NULL ? ".weight" : stack->suffix, name);
        if (accel_model_file_find(file, name) == NULL && (is_norm ? config->qk_norm : mixture))
            add_stack(list, file, stack, layer);
    }
}

/* Gives tensors of GGUF the shapes that a step reads: biases of experts as one vector, the scores of a shared expert as
 * a matrix of one row. */
static void reshape_layer(const struct accel_decoder_config *config, struct accel_model_file *file, uint32_t layer)
{
    static const enum decoder_part biased[] = {DECODER_EXPERT_GATE, DECODER_EXPERT_UP, DECODER_EXPERT_DOWN};
    char name[DECODER_NAME_BYTES];

    for (size_t i = 0; config->form.expert_bias && i < sizeof(biased) / sizeof(biased[0]); i++) {
        decoder_tensor_name(config, biased[i], layer, ".bias", name);
        model_reshape(file, name, 1);
    }
    decoder_tensor_name(config, DECODER_SHARED_FACTOR, layer, ".weight", name);
    if (config->form.shared_factor)
        model_reshape(file, name, 2);
}

/* Keeps the matrices of all experts in blocks of NVFP4. */
static int32_t keep_experts(struct accel_model_file *file, const struct accel_decoder_config *config,
                            const struct decoder_stack *stack, uint32_t layer, struct accel_error *error)
{
    const uint32_t experts = config->form.experts;
    char(*names)[DECODER_NAME_BYTES] = calloc((size_t)experts + 1, sizeof(*names));
    const char **list = calloc((size_t)experts + 1, sizeof(*list));
    int32_t code = names == NULL || list == NULL ? accel_error_no_memory(error, "for names of experts") : ACCEL_OK;

    for (uint32_t i = 0; i < experts && code == ACCEL_OK; i++) {
        source_name(stack, layer, i, names[i]);
        list[i] = names[i];
    }
    if (code == ACCEL_OK)
        code = model_packed_keep_blocks(file, list, experts, error);
    free(names);
    free((void *)list);
    return code;
}

/* Keeps matrices of NVFP4 in blocks of that type (model/file/packed.h) if the graph multiplies products with them by
 * their global scales. */
static int32_t keep_blocks(struct accel_model_file *file, const struct accel_decoder_config *config,
                           struct accel_error *error)
{
    static const enum decoder_part parts[] = {
        DECODER_QUERY,         DECODER_KEY,         DECODER_VALUE,     DECODER_QKV,      DECODER_QUERY_DOWN,
        DECODER_QUERY_UP,      DECODER_KV_DOWN,     DECODER_KV_UP,     DECODER_FFN_GATE, DECODER_FFN_UP,
        DECODER_ATTENTION_OUT, DECODER_SHARED_GATE, DECODER_SHARED_UP, DECODER_FFN_DOWN, DECODER_SHARED_DOWN};
    const struct decoder_stack *stack = config->family->stacks;
    char text[DECODER_NAME_BYTES];
    const char *name = text;
    int32_t code = ACCEL_OK;

    if (config->format == ACCEL_MODEL_GGUF || config->form.transposed)
        return ACCEL_OK;
    for (uint32_t layer = 0; layer < config->layers; layer++)
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && code == ACCEL_OK; i++)
            if (decoder_tensor_name(config, parts[i], layer, ".weight", text))
                code = model_packed_keep_blocks(file, &name, 1, error);
    for (; stack != NULL && stack->source != NULL; stack++)
        for (uint32_t layer = 0; layer < config->layers && code == ACCEL_OK; layer++)
            if (stack->count == COUNT_EXPERTS && !config->form.expert_bias)
                code = keep_experts(file, config, stack, layer, error);
    if (code == ACCEL_OK && !config->tied && !config->output_bias &&
        decoder_tensor_name(config, DECODER_OUTPUT, 0, ".weight", text))
        code = model_packed_keep_blocks(file, &name, 1, error);
    return code;
}

int32_t decoder_derive(struct accel_model_file *file, const struct accel_decoder_config *config,
                       struct accel_error *error)
{
    enum { MOST_OF_LAYER = 8 };
    struct list list = {.config = config};
    int32_t code = keep_blocks(file, config, error);

    if (code != ACCEL_OK)
        return code;
    if (config->format == ACCEL_MODEL_GGUF) {
        for (uint32_t layer = 0; config->form.experts != 0 && layer < config->layers; layer++)
            reshape_layer(config, file, layer);
        return ACCEL_OK;
    }
    list.items = calloc((size_t)config->layers, MOST_OF_LAYER * sizeof(*list.items));
    list.is_full = list.items == NULL;
    for (uint32_t layer = 0; layer < config->layers && !list.is_full; layer++)
        add_layer(&list, file, layer);
    code = list.is_full ? accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for the names of its tensors",
                                          accel_model_file_path(file))
                        : model_derive(file, list.items, list.count, error);
    free(list.items);
    model_pool_free(&list.pool);
    return code;
}
