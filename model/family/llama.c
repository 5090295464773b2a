/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the llama family: RMS norm, rotary positions, grouped heads, gated feed-forward part, each with a residual
 * connection. Its relatives differ in the tensors of their files: biases of q, k and v, norms of the heads of q and k,
 * windows, tied embeddings. A bias or norm in the file is used; configuration and tensors are checked against each
 * other.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/family/family.h"
#include "model/family/rope.h"
#include "model/family/weights.h"

enum part {
    EMBEDDING,
    FINAL_NORM,
    OUTPUT,
    ATTENTION_NORM,
    QUERY,
    KEY,
    VALUE,
    ATTENTION_OUT,
    QUERY_NORM,
    KEY_NORM,
    FFN_NORM,
    FFN_GATE,
    FFN_UP,
    FFN_DOWN
};

/* Names of the tensors, without the ".weight" or ".bias" behind them, in checkpoints with a config.json and in GGUF. */
static const char *const names[][2] = {
    [EMBEDDING] = {"model.embed_tokens", "token_embd"},
    [FINAL_NORM] = {"model.norm", "output_norm"},
    [OUTPUT] = {"lm_head", "output"},
    [ATTENTION_NORM] = {"model.layers.%u.input_layernorm", "blk.%u.attn_norm"},
    [QUERY] = {"model.layers.%u.self_attn.q_proj", "blk.%u.attn_q"},
    [KEY] = {"model.layers.%u.self_attn.k_proj", "blk.%u.attn_k"},
    [VALUE] = {"model.layers.%u.self_attn.v_proj", "blk.%u.attn_v"},
    [ATTENTION_OUT] = {"model.layers.%u.self_attn.o_proj", "blk.%u.attn_output"},
    [QUERY_NORM] = {"model.layers.%u.self_attn.q_norm", "blk.%u.attn_q_norm"},
    [KEY_NORM] = {"model.layers.%u.self_attn.k_norm", "blk.%u.attn_k_norm"},
    [FFN_NORM] = {"model.layers.%u.post_attention_layernorm", "blk.%u.ffn_norm"},
    [FFN_GATE] = {"model.layers.%u.mlp.gate_proj", "blk.%u.ffn_gate"},
    [FFN_UP] = {"model.layers.%u.mlp.up_proj", "blk.%u.ffn_up"},
    [FFN_DOWN] = {"model.layers.%u.mlp.down_proj", "blk.%u.ffn_down"},
};

#define NAME 128u

static void tensor_name(const struct accel_decoder_config *config, enum part part, uint32_t layer, const char *suffix,
                        char out_name[NAME])
{
    int used;

    /* The format is one of the constants above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    used = snprintf(out_name, NAME, names[part][config->format == ACCEL_MODEL_GGUF], layer);
#pragma GCC diagnostic pop
    snprintf(out_name + used, NAME - (size_t)used, "%s", suffix);
}

/* ---- check ---- */

static int32_t check_matrix(const struct accel_model_file *file, const struct accel_decoder_config *config,
                            enum part part, uint32_t layer, uint64_t rows, uint64_t width, uint32_t bias,
                            struct accel_error *error)
{
    const struct accel_model_tensor *tensor;
    char name[NAME];
    int32_t code;

    tensor_name(config, part, layer, ".weight", name);
    code = weights_check_matrix(file, name, rows, width, &tensor, error);
    if (code != ACCEL_OK || !bias)
        return code;
    tensor_name(config, part, layer, ".bias", name);
    return weights_check_vector(file, name, rows, &tensor, error);
}

static int32_t check_norm(const struct accel_model_file *file, const struct accel_decoder_config *config,
                          enum part part, uint32_t layer, uint64_t width, struct accel_error *error)
{
    const struct accel_model_tensor *tensor;
    char name[NAME];

    tensor_name(config, part, layer, ".weight", name);
    return weights_check_vector(file, name, width, &tensor, error);
}

static int32_t check_layer(const struct accel_model_file *file, const struct accel_decoder_config *config,
                           uint32_t layer, struct accel_error *error)
{
    uint64_t q = (uint64_t)config->heads * config->head_size;
    uint64_t k = (uint64_t)config->kv_heads * config->head_size;
    uint64_t v = (uint64_t)config->kv_heads * config->value_size;
    uint64_t o = (uint64_t)config->heads * config->value_size;
    int32_t code = check_norm(file, config, ATTENTION_NORM, layer, config->hidden, error);

    if (code == ACCEL_OK)
        code = check_matrix(file, config, QUERY, layer, q, config->hidden, config->q_bias, error);
    if (code == ACCEL_OK)
        code = check_matrix(file, config, KEY, layer, k, config->hidden, config->k_bias, error);
    if (code == ACCEL_OK)
        code = check_matrix(file, config, VALUE, layer, v, config->hidden, config->v_bias, error);
    if (code == ACCEL_OK)
        code = check_matrix(file, config, ATTENTION_OUT, layer, config->hidden, o, config->o_bias, error);
    if (code == ACCEL_OK && config->qk_norm)
        code = check_norm(file, config, QUERY_NORM, layer, config->head_size, error);
    if (code == ACCEL_OK && config->qk_norm)
        code = check_norm(file, config, KEY_NORM, layer, config->head_size, error);
    if (code == ACCEL_OK)
        code = check_norm(file, config, FFN_NORM, layer, config->hidden, error);
    if (code == ACCEL_OK)
        code = check_matrix(file, config, FFN_GATE, layer, config->ffn, config->hidden, config->mlp_bias, error);
    if (code == ACCEL_OK)
        code = check_matrix(file, config, FFN_UP, layer, config->ffn, config->hidden, config->mlp_bias, error);
    if (code == ACCEL_OK)
        code = check_matrix(file, config, FFN_DOWN, layer, config->hidden, config->ffn, config->mlp_bias, error);
    return code;
}

/* Functions of the gate, by the names that files use. */
static const struct {
    const char *name;
    uint32_t function;
} gate_functions[] = {
    {"silu", ACCEL_FN_SILU},          {"swish", ACCEL_FN_SILU},
    {"gelu", ACCEL_FN_GELU},          {"gelu_pytorch_tanh", ACCEL_FN_GELU_TANH},
    {"gelu_new", ACCEL_FN_GELU_TANH}, {"quick_gelu", ACCEL_FN_GELU_QUICK},
    {"relu", ACCEL_FN_RELU},
};

static int32_t gate_function(const struct model_family *family, const struct accel_decoder_config *config,
                             uint32_t *out_function)
{
    const char *name = config->activation == NULL ? family->activation : config->activation;

    for (size_t i = 0; i < sizeof(gate_functions) / sizeof(*gate_functions); i++) {
        if (strcmp(gate_functions[i].name, name) == 0) {
            *out_function = gate_functions[i].function;
            return ACCEL_OK;
        }
    }
    return ACCEL_E_UNSUPPORTED;
}

static int32_t refuse_gate(const char *path, const char *name, struct accel_error *error)
{
    char names[160] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof(gate_functions) / sizeof(*gate_functions); i++) {
        int count = snprintf(names + used, sizeof(names) - used, "%s%s", used == 0 ? "" : ", ", gate_functions[i].name);

        used += count > 0 && (size_t)count < sizeof(names) - used ? (size_t)count : 0;
    }
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: hidden_act \"%.60s\" has no implementation here", path, name);
    accel_error_remedy(error, "functions that run: %s; a model with another one cannot be run here", names);
    return ACCEL_E_UNSUPPORTED;
}

static int32_t check(const struct model_family *family, const struct accel_model_file *file,
                     const struct accel_decoder_config *config, struct accel_error *error)
{
    const struct accel_model_tensor *divisors;
    uint32_t function;
    int32_t code;

    if (gate_function(family, config, &function) != ACCEL_OK)
        return refuse_gate(accel_model_file_path(file), config->activation, error);
    code = check_matrix(file, config, EMBEDDING, 0, config->vocabulary, config->hidden, 0, error);
    if (code == ACCEL_OK)
        code = check_norm(file, config, FINAL_NORM, 0, config->hidden, error);
    if (code == ACCEL_OK && !config->tied)
        code = check_matrix(file, config, OUTPUT, 0, config->vocabulary, config->hidden, 0, error);
    if (code == ACCEL_OK && config->rope_divisors != NULL)
        code = weights_check_vector(file, config->rope_divisors, config->rope.dims / 2, &divisors, error);
    for (uint32_t layer = 0; code == ACCEL_OK && layer < config->layers; layer++)
        code = check_layer(file, config, layer, error);
    return code;
}

/* ---- graph ---- */

/* State of the graph builder. The builder reports the first failure; only weights report theirs at once. */
struct graph_maker {
    struct accel_builder *builder;
    const struct accel_model_file *file;
    const struct accel_decoder_config *config;
    const struct step_options *options;
    struct step_graph *step;
    struct accel_error *error;
    uint32_t tokens; /* symbol */
    uint32_t outputs;
    uint32_t sequences;
    uint32_t frequency; /* value, of layers without and with a window */
    uint32_t frequency_sliding;
    uint32_t function;
    uint32_t pairing;
    uint32_t shown; /* the value that mark_output() marked last */
};

static struct accel_dim fixed(uint64_t extent)
{
    return (struct accel_dim){.add = extent};
}

static struct accel_dim symbolic(uint32_t symbol)
{
    return (struct accel_dim){.symbol = symbol, .multiply = 1, .divide = 1};
}

static uint32_t input(struct graph_maker *m, const char *name, uint32_t type, uint32_t rank, struct accel_dim outer,
                      struct accel_dim inner)
{
    struct accel_dim dims[ACCEL_RANK] = {outer, inner};
    uint32_t value = ACCEL_NO_VALUE;

    accel_builder_value(m->builder, ACCEL_ROLE_INPUT, name, type, rank, dims, &value, m->error);
    return value;
}

static uint32_t matrix(struct graph_maker *m, enum part part, uint32_t layer)
{
    uint32_t value = ACCEL_NO_VALUE;
    char name[NAME];

    tensor_name(m->config, part, layer, ".weight", name);
    weights_add_matrix(m->builder, m->options->types, accel_model_file_find(m->file, name), &value,
                       &m->step->weight_bytes, m->error);
    return value;
}

static uint32_t vector(struct graph_maker *m, enum part part, uint32_t layer, const char *suffix)
{
    uint32_t value = ACCEL_NO_VALUE;
    char name[NAME];

    tensor_name(m->config, part, layer, suffix, name);
    weights_add_vector(m->builder, m->file, accel_model_file_find(m->file, name), &value, &m->step->weight_bytes,
                       m->error);
    return value;
}

static uint32_t node(struct graph_maker *m, uint32_t op, uint32_t layer, const char *name, const uint32_t *inputs,
                     uint32_t count, const void *attributes)
{
    uint32_t value = ACCEL_NO_VALUE;
    char full[NAME];

    snprintf(full, sizeof(full), "layers.%u.%s", layer, name);
    accel_builder_node(m->builder, op, layer == UINT32_MAX ? name : full, inputs, count, attributes, &value, m->error);
    return value;
}

static uint32_t norm(struct graph_maker *m, enum part part, uint32_t layer, const char *name, uint32_t x)
{
    struct accel_norm attributes = {sizeof(attributes), (float)m->config->norm_epsilon};
    uint32_t inputs[] = {x, vector(m, part, part == FINAL_NORM ? 0 : layer, ".weight")};

    return node(m, ACCEL_OP_RMS_NORM, layer, name, inputs, 2, &attributes);
}

/* Marks a value as an output unless it was the last one marked: several matmuls may read it. */
static void mark_output(struct graph_maker *m, uint32_t x)
{
    if (x != m->shown)
        accel_builder_output(m->builder, x, NULL, m->error);
    m->shown = x;
}

static uint32_t matmul(struct graph_maker *m, uint32_t layer, const char *name, uint32_t x, uint32_t w, uint32_t bias,
                       uint32_t residual)
{
    struct accel_matmul attributes = {.size = sizeof(attributes), .rounding = m->options->rounding};
    uint32_t inputs[] = {x, w, bias, residual};

    if (m->options->inputs)
        mark_output(m, x);
    return node(m, ACCEL_OP_MATMUL, layer, name, inputs, 4, &attributes);
}

static uint32_t project(struct graph_maker *m, enum part part, uint32_t layer, const char *name, uint32_t x,
                        uint32_t bias, uint32_t residual)
{
    uint32_t w = matrix(m, part, layer);
    uint32_t b = bias ? vector(m, part, layer, ".bias") : ACCEL_NO_VALUE;

    return matmul(m, layer, name, x, w, b, residual);
}

/* With stages, the projection is an output of its own and a separate node adds the residual. */
static uint32_t project_residual(struct graph_maker *m, enum part part, uint32_t layer, const char *name, uint32_t x,
                                 uint32_t bias, uint32_t residual, bool is_stage)
{
    uint32_t inputs[2];
    char stage[NAME];

    if (!m->options->stages)
        return project(m, part, layer, name, x, bias, residual);
    inputs[0] = residual;
    inputs[1] = project(m, part, layer, name, x, bias, ACCEL_NO_VALUE);
    snprintf(stage, sizeof(stage), "layers.%u.%s", layer, name);
    if (is_stage)
        accel_builder_output(m->builder, inputs[1], stage, m->error);
    return node(m, ACCEL_OP_ADD, layer, part == FFN_DOWN ? "sum" : "attention_sum", inputs, 2, NULL);
}

static uint32_t reshape_heads(struct graph_maker *m, uint32_t layer, const char *name, uint32_t x, uint32_t heads,
                              uint32_t size)
{
    struct accel_dim dims[ACCEL_RANK] = {symbolic(m->tokens), fixed(heads), fixed(size)};
    uint32_t value = ACCEL_NO_VALUE;
    char full[NAME];

    snprintf(full, sizeof(full), "layers.%u.%s", layer, name);
    accel_builder_reshape(m->builder, full, x, 3, dims, &value, m->error);
    return value;
}

/* Adds rotary positions to the heads of queries or keys, normalized if the family does so. */
static uint32_t add_rotary(struct graph_maker *m, uint32_t layer, const char *name, enum part norm_part, uint32_t x)
{
    struct accel_rotary attributes = {.size = sizeof(attributes), .pairing = m->pairing};
    bool sliding = m->config->windows[layer] != 0;
    uint32_t inputs[3];
    char label[32];

    attributes.scale = (float)(sliding ? m->config->rope_sliding : m->config->rope).attention_factor;
    snprintf(label, sizeof(label), "%s_norm", name);
    if (m->config->qk_norm)
        x = norm(m, norm_part, layer, label, x);
    inputs[0] = x;
    inputs[1] = m->step->position;
    inputs[2] = sliding ? m->frequency_sliding : m->frequency;
    snprintf(label, sizeof(label), "%s_turned", name);
    return node(m, ACCEL_OP_ROTARY, layer, label, inputs, 3, &attributes);
}

static uint32_t write_cache(struct graph_maker *m, uint32_t layer, const char *name, uint32_t type, uint64_t row,
                            uint32_t x)
{
    struct accel_dim dims[ACCEL_RANK] = {fixed(m->options->slots), fixed(row)};
    uint32_t state = ACCEL_NO_VALUE;
    uint32_t inputs[3];
    char full[NAME];
    char write[32];

    snprintf(full, sizeof(full), "layers.%u.%s_cache", layer, name);
    accel_builder_value(m->builder, ACCEL_ROLE_STATE, full, type, 2, dims, &state, m->error);
    snprintf(write, sizeof(write), "%s_write", name);
    inputs[0] = x;
    inputs[1] = m->step->slot;
    inputs[2] = state;
    node(m, ACCEL_OP_CACHE_WRITE, layer, write, inputs, 3, NULL);
    return state;
}

/* Returns the narrower of the model's and the options' windows. */
static uint32_t narrow_window(const struct graph_maker *m, uint32_t layer)
{
    uint32_t own = m->config->windows[layer];

    return m->options->window != 0 && (own == 0 || m->options->window < own) ? (uint32_t)m->options->window : own;
}

/* Adds attention that outputs its scores per place, added to those of the layers before. */
static uint32_t attend_with_scores(struct graph_maker *m, uint32_t layer, const uint32_t inputs[6],
                                   const struct accel_attention *attributes)
{
    uint32_t made[2] = {ACCEL_NO_VALUE, ACCEL_NO_VALUE}, terms[2];
    char name[NAME];

    snprintf(name, sizeof(name), "layers.%u.scores", layer);
    accel_builder_node_outputs(m->builder, ACCEL_OP_ATTENTION, name, inputs, 6, attributes, made, 2, m->error);
    terms[0] = m->step->scores;
    terms[1] = made[1];
    m->step->scores = layer == 0 ? made[1] : node(m, ACCEL_OP_ADD, layer, "score_sums", terms, 2, NULL);
    return made[0];
}

static uint32_t attend(struct graph_maker *m, uint32_t layer, uint32_t x)
{
    const struct accel_decoder_config *c = m->config;
    struct accel_attention attributes = {.size = sizeof(attributes),
                                         .kv_heads = c->kv_heads,
                                         .page = (uint32_t)m->options->page,
                                         .window = narrow_window(m, layer),
                                         .causal = 1,
                                         .rounding = m->options->rounding,
                                         .scale = (float)(1.0 / sqrt(c->head_size))};
    struct accel_dim flat[ACCEL_RANK] = {symbolic(m->tokens), fixed((uint64_t)c->heads * c->value_size)};
    uint32_t q, k, v, scores;
    uint32_t inputs[6];
    uint32_t out = ACCEL_NO_VALUE;
    char name[NAME];

    /* The model's own windows have no sinks. */
    attributes.sinks = attributes.window != c->windows[layer] ? (uint32_t)m->options->sinks : 0;
    /* Each consumer follows its matmul directly, so that drivers can fuse both. */
    q = project(m, QUERY, layer, "q", x, c->q_bias, ACCEL_NO_VALUE);
    inputs[0] = add_rotary(m, layer, "q", QUERY_NORM, reshape_heads(m, layer, "q_heads", q, c->heads, c->head_size));
    k = project(m, KEY, layer, "k", x, c->k_bias, ACCEL_NO_VALUE);
    k = add_rotary(m, layer, "k", KEY_NORM, reshape_heads(m, layer, "k_heads", k, c->kv_heads, c->head_size));
    inputs[1] = write_cache(m, layer, "k", m->options->k_type, (uint64_t)c->kv_heads * c->head_size, k);
    v = project(m, VALUE, layer, "v", x, c->v_bias, ACCEL_NO_VALUE);
    inputs[2] = write_cache(m, layer, "v", m->options->v_type, (uint64_t)c->kv_heads * c->value_size, v);
    inputs[3] = m->step->table;
    inputs[4] = m->step->first;
    inputs[5] = m->step->length;
    scores = m->options->scores ? attend_with_scores(m, layer, inputs, &attributes)
                                : node(m, ACCEL_OP_ATTENTION, layer, "scores", inputs, 6, &attributes);
    snprintf(name, sizeof(name), "layers.%u.heads", layer);
    accel_builder_reshape(m->builder, name, scores, 2, flat, &out, m->error);
    return out;
}

static uint32_t feed_forward(struct graph_maker *m, uint32_t layer, uint32_t x)
{
    struct accel_activation attributes = {sizeof(attributes), m->function};
    uint32_t inputs[] = {project(m, FFN_GATE, layer, "gate", x, m->config->mlp_bias, ACCEL_NO_VALUE),
                         project(m, FFN_UP, layer, "up", x, m->config->mlp_bias, ACCEL_NO_VALUE)};

    return node(m, ACCEL_OP_GATE, layer, "gated", inputs, 2, &attributes);
}

static uint32_t add_layer(struct graph_maker *m, uint32_t layer, uint32_t hidden)
{
    const struct accel_decoder_config *c = m->config;
    uint32_t x = attend(m, layer, norm(m, ATTENTION_NORM, layer, "attention_norm", hidden));
    char stage[NAME];

    hidden = project_residual(m, ATTENTION_OUT, layer, "attention", x, c->o_bias, hidden, 1);
    x = feed_forward(m, layer, norm(m, FFN_NORM, layer, "ffn_norm", hidden));
    hidden = project_residual(m, FFN_DOWN, layer, "ffn", x, c->mlp_bias, hidden, 0);
    snprintf(stage, sizeof(stage), "layers.%u", layer);
    if (m->options->stages)
        accel_builder_output(m->builder, hidden, stage, m->error);
    return hidden;
}

/* Adds the output projection for the requested rows only. */
static void add_output_projection(struct graph_maker *m, uint32_t hidden)
{
    uint32_t inputs[] = {hidden, m->step->rows};
    uint32_t w;

    hidden = node(m, ACCEL_OP_GATHER, UINT32_MAX, "chosen_rows", inputs, 2, NULL);
    hidden = norm(m, FINAL_NORM, UINT32_MAX, "final_norm", hidden);
    if (m->options->stages)
        mark_output(m, hidden);
    w = matrix(m, m->config->tied ? EMBEDDING : OUTPUT, 0);
    m->step->logits = matmul(m, UINT32_MAX, "logits", hidden, w, ACCEL_NO_VALUE, ACCEL_NO_VALUE);
    accel_builder_output(m->builder, m->step->logits, NULL, m->error);
}

static uint32_t frequency_constant(struct graph_maker *m, const char *name, const struct accel_rope_config *rope,
                                   const float *divisors)
{
    uint64_t dims[1] = {rope->dims / 2};
    float *values = malloc(dims[0] * sizeof(*values));
    uint32_t value = ACCEL_NO_VALUE;

    if (values == NULL) {
        accel_error_set(m->error, ACCEL_E_MEMORY, "%llu frequencies", (unsigned long long)dims[0]);
        return value;
    }
    rope_frequencies(rope, 0, divisors, values);
    accel_builder_constant(m->builder, name, ACCEL_F32, 1, dims, values, &value, m->error);
    free(values);
    return value;
}

/* Adds the rotary frequencies: an input computed for each step with dynamic scaling, else constants. */
static int32_t add_frequencies(struct graph_maker *m)
{
    const struct accel_decoder_config *c = m->config;
    float *divisors = NULL;
    int32_t code = ACCEL_OK;

    m->step->frequency = ACCEL_NO_VALUE;
    if (c->rope.kind == ACCEL_ROPE_DYNAMIC) {
        m->frequency = input(m, "frequency", ACCEL_F32, 1, fixed(c->rope.dims / 2), fixed(0));
        m->frequency_sliding = m->frequency;
        m->step->frequency = m->frequency;
        return ACCEL_OK;
    }
    if (c->rope_divisors != NULL) {
        divisors = malloc(c->rope.dims / 2 * sizeof(*divisors));
        if (divisors == NULL)
            return accel_error_set(m->error, ACCEL_E_MEMORY, "%u divisors of frequencies", c->rope.dims / 2);
        code = weights_read_vector(m->file, accel_model_file_find(m->file, c->rope_divisors), divisors, m->error);
    }
    if (code == ACCEL_OK) {
        m->frequency = frequency_constant(m, "frequency", &c->rope, divisors);
        m->frequency_sliding = frequency_constant(m, "frequency_sliding", &c->rope_sliding, divisors);
    }
    free(divisors);
    return code;
}

static void add_inputs(struct graph_maker *m)
{
    struct step_graph *step = m->step;
    struct accel_dim none = fixed(0), ends;
    uint64_t pages = (m->options->kv_capacity + m->options->page - 1) / m->options->page;

    accel_builder_symbol(m->builder, "tokens", 1, m->options->batch, &m->tokens, m->error);
    accel_builder_symbol(m->builder, "outputs", 1, m->options->outputs, &m->outputs, m->error);
    accel_builder_symbol(m->builder, "sequences", 1, m->options->sequences, &m->sequences, m->error);
    ends = symbolic(m->sequences);
    ends.add = 1;
    step->ids = input(m, "ids", ACCEL_I32, 1, symbolic(m->tokens), none);
    step->position = input(m, "position", ACCEL_I32, 1, symbolic(m->tokens), none);
    step->slot = input(m, "slot", ACCEL_I32, 1, symbolic(m->tokens), none);
    step->table = input(m, "table", ACCEL_I32, 2, symbolic(m->sequences), fixed(pages));
    step->first = input(m, "first", ACCEL_I32, 1, ends, none);
    step->length = input(m, "length", ACCEL_I32, 1, symbolic(m->sequences), none);
    step->rows = input(m, "rows", ACCEL_I32, 1, symbolic(m->outputs), none);
}

static int32_t build(struct graph_maker *m)
{
    uint32_t embed[2];
    uint32_t hidden;
    int32_t code;

    add_inputs(m);
    code = add_frequencies(m);
    if (code != ACCEL_OK)
        return code;
    embed[0] = matrix(m, EMBEDDING, 0);
    embed[1] = m->step->ids;
    hidden = node(m, ACCEL_OP_EMBED, UINT32_MAX, "embeddings", embed, 2, NULL);
    if (m->options->stages)
        accel_builder_output(m->builder, hidden, NULL, m->error);
    for (uint32_t layer = 0; layer < m->config->layers; layer++)
        hidden = add_layer(m, layer, hidden);
    if (m->options->scores)
        accel_builder_output(m->builder, m->step->scores, "score_sums", m->error);
    add_output_projection(m, hidden);
    return accel_builder_finish(m->builder, &m->step->graph, m->error);
}

static int32_t step(const struct model_family *family, const struct accel_model_file *file,
                    const struct accel_decoder_config *config, const struct step_options *options,
                    struct step_graph *out_step, struct accel_error *error)
{
    struct accel_error own = {0};
    struct graph_maker m = {
        .file = file, .config = config, .options = options, .step = out_step, .shown = ACCEL_NO_VALUE};
    int32_t code;

    memset(out_step, 0, sizeof(*out_step));
    out_step->crossed = ACCEL_NO_VALUE;
    out_step->scores = ACCEL_NO_VALUE;
    m.error = error == NULL ? &own : error;
    code = accel_builder_create(options->stages ? "stages" : "step", &out_step->builder, m.error);
    if (code != ACCEL_OK)
        return code;
    m.builder = out_step->builder;
    gate_function(family, config, &m.function);
    m.pairing = config->pairing == ACCEL_ROPE_PAIRING_FAMILY       ? family->gguf_pairing
                : config->pairing == ACCEL_ROPE_PAIRING_NEIGHBOURS ? ACCEL_PAIR_NEIGHBOURS
                                                                   : ACCEL_PAIR_HALVES;
    code = build(&m);
    if (code == ACCEL_OK)
        return code;
    step_graph_free(out_step);
    return m.error->code == ACCEL_OK ? code : m.error->code;
}

#define ROW(name, pairing)                                                                                             \
    {                                                                                                                  \
        .architecture = (name), .activation = "silu", .gguf_pairing = (pairing), .check = check, .step = step          \
    }

const struct model_family llama_families[] = {
    ROW("llama", ACCEL_PAIR_NEIGHBOURS),
    ROW("mistral", ACCEL_PAIR_NEIGHBOURS),
    ROW("qwen2", ACCEL_PAIR_HALVES),
    ROW("qwen3", ACCEL_PAIR_HALVES),
};

const uint32_t llama_family_count = sizeof(llama_families) / sizeof(*llama_families);
