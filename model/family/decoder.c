/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders as their form describes them. describe() below is the model: NET_CHECK runs it over a file, NET_GRAPH makes
 * the graph of a step.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/family/decoder_walk.h"

/* Options of a graph with default values: what NET_CHECK builds. */
static const struct step_options no_options = {.page = 1};

/* ---- activation ---- */

/* Functions of the feed-forward part, by the names that files use. */
static const struct {
    const char *name;
    uint32_t function;
} functions[] = {
    {"silu", ACCEL_FN_SILU},
    {"swish", ACCEL_FN_SILU},
    {"gelu", ACCEL_FN_GELU},
    {"gelu_pytorch_tanh", ACCEL_FN_GELU_TANH},
    {"gelu_new", ACCEL_FN_GELU_TANH},
    {"gelu_fast", ACCEL_FN_GELU_TANH},
    {"quick_gelu", ACCEL_FN_GELU_QUICK},
    {"relu", ACCEL_FN_RELU},
};

static const char *activation_of(const struct accel_decoder_config *config)
{
    if (config->activation == NULL)
        return config->family->activation;
    return config->form.gelu_is_tanh && strcmp(config->activation, "gelu") == 0 ? "gelu_pytorch_tanh"
                                                                                : config->activation;
}

int32_t decoder_find_function(const struct accel_decoder_config *config, uint32_t *out_function,
                              struct accel_error *error)
{
    char names[160] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        int count = snprintf(names + used, sizeof(names) - used, "%s%s", used == 0 ? "" : ", ", functions[i].name);

        used += count > 0 && (size_t)count < sizeof(names) - used ? (size_t)count : 0;
        if (strcmp(functions[i].name, activation_of(config)) == 0) {
            *out_function = functions[i].function;
            return ACCEL_OK;
        }
    }
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: %s \"%.60s\" has no implementation here", config->origin,
                    config->activation_key, config->activation);
    accel_error_remedy(error, "functions that run: %s; a model with another one cannot be run here", names);
    return ACCEL_E_UNSUPPORTED;
}

/* ---- weights by part ---- */

/* Passes a weight to who lists them. */
static void list_weight(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint64_t rows,
                        uint64_t width)
{
    const bool has_layers = strstr(decoder_part_name(d->config, part), "%u") != NULL;

    d->list(d->list_data, part, has_layers ? layer : NET_NO_LAYER, name, rows, width);
}

uint32_t decoder_matrix(struct decoder *d, enum decoder_part part, uint32_t layer, uint64_t parts, uint64_t rows,
                        uint64_t width)
{
    char name[DECODER_NAME_BYTES];

    decoder_tensor_name(d->config, part, layer, ".weight", name);
    if (d->list != NULL) {
        list_weight(d, part, layer, name, parts * rows, width);
        return ACCEL_NO_VALUE;
    }
    return net_matrix(&d->net, name, parts, rows, width);
}

uint32_t decoder_vector(struct decoder *d, enum decoder_part part, uint32_t layer, const char *suffix, uint64_t width,
                        float add)
{
    char name[DECODER_NAME_BYTES];

    decoder_tensor_name(d->config, part, layer, suffix, name);
    if (d->list != NULL) {
        list_weight(d, part, layer, name, 0, width);
        return ACCEL_NO_VALUE;
    }
    return net_vector(&d->net, name, width, add);
}

double decoder_product_scale(struct decoder *d, enum decoder_part part, uint32_t layer)
{
    char matrix[DECODER_NAME_BYTES], scale[DECODER_NAME_BYTES];

    decoder_tensor_name(d->config, part, layer, ".weight", matrix);
    decoder_tensor_name(d->config, part, layer, ".scale", scale);
    return net_product_scale(&d->net, matrix, scale);
}

/* Multiplies x w^T by the scale of a file, and adds what a matmul without a scale would. */
static uint32_t scaled_matmul(struct decoder *d, uint32_t layer, const char *name, uint32_t x, uint32_t w,
                              uint32_t bias, uint32_t residual, uint32_t function, double scale)
{
    char label[DECODER_NAME_BYTES];

    snprintf(label, sizeof(label), "%s_product", name);
    x = net_matmul(&d->net, layer, label, x, w, ACCEL_NO_VALUE, ACCEL_NO_VALUE, ACCEL_FN_NONE);
    snprintf(label, sizeof(label), "%s_scaled", name);
    x = net_scale(&d->net, layer, label, x, scale, 0);
    snprintf(label, sizeof(label), "%s_biased", name);
    x = bias == ACCEL_NO_VALUE ? x : net_add(&d->net, layer, label, x, bias);
    snprintf(label, sizeof(label), "%s_active", name);
    x = function == ACCEL_FN_NONE ? x : net_activation(&d->net, layer, label, x, function);
    snprintf(label, sizeof(label), "%s_sum", name);
    return residual == ACCEL_NO_VALUE ? x : net_add(&d->net, layer, label, x, residual);
}

/* Applies a matrix [rows, width], its bias with `bias`, and a function. */
static uint32_t project(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                        uint64_t rows, uint64_t width, bool bias, uint32_t residual, uint32_t function)
{
    double scale = decoder_product_scale(d, part, layer);
    uint32_t w, b;

    w = decoder_matrix(d, part, layer, 1, rows, width);
    b = bias ? decoder_vector(d, part, layer, ".bias", rows, 0) : ACCEL_NO_VALUE;
    return scale == 1 ? net_matmul(&d->net, layer, name, x, w, b, residual, function)
                      : scaled_matmul(d, layer, name, x, w, b, residual, function, scale);
}

uint32_t decoder_project(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                         uint64_t rows, uint64_t width, bool bias, uint32_t residual)
{
    return project(d, part, layer, name, x, rows, width, bias, residual, ACCEL_FN_NONE);
}

static uint32_t norm_node(struct decoder *d, uint32_t layer, const char *name, uint32_t x, uint32_t weight,
                          uint32_t bias)
{
    struct accel_norm attributes = {sizeof(attributes), (float)d->config->norm_epsilon};
    uint32_t inputs[] = {x, weight, bias};
    const bool is_rms = d->form->norm == FORM_RMS_NORM;

    return net_node(&d->net, is_rms ? ACCEL_OP_RMS_NORM : ACCEL_OP_LAYER_NORM, layer, name, inputs, is_rms ? 2 : 3,
                    &attributes);
}

static uint32_t norm(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                     uint64_t width)
{
    const uint32_t number = layer == NET_NO_LAYER ? 0 : layer;
    uint32_t weight = decoder_vector(d, part, number, ".weight", width, d->form->unit_offset ? 1 : 0);
    uint32_t bias = d->config->norm_bias ? decoder_vector(d, part, number, ".bias", width, 0) : ACCEL_NO_VALUE;

    return norm_node(d, layer, name, x, weight, bias);
}

/* ---- attention ---- */

uint32_t decoder_split_heads(struct decoder *d, uint32_t layer, const char *name, uint32_t x, uint32_t heads,
                             uint32_t size)
{
    struct accel_dim dims[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(heads), net_fixed(size)};

    return net_reshape(&d->net, layer, name, x, 3, dims);
}

/* Normalizes the heads of queries or keys, each with a weight of its own. */
static uint32_t norm_each_head(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                               uint32_t heads, uint32_t size)
{
    float *ones = malloc(((size_t)size + 1) * sizeof(*ones));
    char full[DECODER_NAME_BYTES];
    uint32_t unit, weight;

    if (ones == NULL) {
        d->net.code = accel_error_set(d->net.error, ACCEL_E_MEMORY, "no memory for a norm of %u", size);
        return ACCEL_NO_VALUE;
    }
    for (uint32_t i = 0; i < size; i++)
        ones[i] = 1;
    snprintf(full, sizeof(full), "layers.%u.%s_unit", layer, name);
    unit = net_constant(&d->net, full, size, ones);
    free(ones);
    decoder_tensor_name(d->config, part, layer, ".weight", full);
    if (d->list != NULL)
        list_weight(d, part, layer, full, heads, size);
    weight = d->list != NULL ? ACCEL_NO_VALUE : net_table(&d->net, full, heads, size, 0);
    snprintf(full, sizeof(full), "%s_centred", name);
    x = norm_node(d, layer, full, x, unit, ACCEL_NO_VALUE);
    return net_multiply(&d->net, layer, name, x, weight);
}

static uint32_t norm_heads(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                           uint32_t heads)
{
    const uint32_t size = d->config->head_size;
    uint32_t weight;

    if (d->form->qk_norm == FORM_QK_EACH)
        return norm_each_head(d, part, layer, name, x, heads, size);
    weight = decoder_vector(d, part, layer, ".weight", size, d->form->unit_offset ? 1 : 0);
    return norm_node(d, layer, name, x, weight, ACCEL_NO_VALUE);
}

uint32_t decoder_rotate(struct decoder *d, uint32_t layer, const char *name, uint32_t x)
{
    const struct accel_decoder_config *c = d->config;
    const bool sliding = c->windows != NULL && c->windows[layer] != 0;
    struct accel_rotary attributes = {.size = sizeof(attributes),
                                      .pairing = d->pairing,
                                      .scale = (float)(sliding ? c->rope_sliding : c->rope).attention_factor};
    uint32_t inputs[] = {x, d->step->position, sliding ? d->frequency_sliding : d->frequency};

    return net_node(&d->net, ACCEL_OP_ROTARY, layer, name, inputs, 3, &attributes);
}

/* Splits queries or keys into heads, normalizes them and adds rotary positions, as the form states. */
static uint32_t place_heads(struct decoder *d, uint32_t layer, const char *name, enum decoder_part norm_part,
                            uint32_t x, uint32_t heads)
{
    const struct accel_decoder_config *c = d->config;
    char label[32];

    snprintf(label, sizeof(label), "%s_norm", name);
    if (c->qk_norm && d->form->qk_norm == FORM_QK_WHOLE)
        x = norm_node(d, layer, label, x,
                      decoder_vector(d, norm_part, layer, ".weight", (uint64_t)heads * c->head_size, 0),
                      ACCEL_NO_VALUE);
    snprintf(label, sizeof(label), "%s_heads", name);
    x = decoder_split_heads(d, layer, label, x, heads, c->head_size);
    snprintf(label, sizeof(label), "%s_norm", name);
    if (c->qk_norm && d->form->qk_norm != FORM_QK_WHOLE)
        x = norm_heads(d, norm_part, layer, label, x, heads);
    if (d->form->position != FORM_ROTARY || (c->no_rotary != NULL && c->no_rotary[layer]))
        return x;
    snprintf(label, sizeof(label), "%s_turned", name);
    return decoder_rotate(d, layer, label, x);
}

uint32_t decoder_write_cache(struct decoder *d, uint32_t layer, const char *name, uint32_t x)
{
    const struct accel_decoder_config *c = d->config;
    const bool is_key = *name == 'k';
    const uint32_t type = is_key ? d->options->k_type : d->options->v_type;
    const uint64_t row = (uint64_t)c->kv_heads * (is_key ? c->head_size : c->value_size);
    char label[32];
    uint32_t inputs[3] = {x, d->step->slot};

    snprintf(label, sizeof(label), "%s_cache", name);
    inputs[2] = net_state(&d->net, layer, label, type, d->options->slots, row);
    snprintf(label, sizeof(label), "%s_write", name);
    net_node(&d->net, ACCEL_OP_CACHE_WRITE, layer, label, inputs, 3, NULL);
    return inputs[2];
}

/* Returns the narrower of the model's and the options' windows. */
static uint32_t narrow_window(const struct decoder *d, uint32_t layer)
{
    const uint32_t own = d->config->windows == NULL ? 0 : d->config->windows[layer];
    const uint64_t given = d->options->window;

    return given != 0 && (own == 0 || given < own) ? (uint32_t)given : own;
}

/* Adds attention that outputs its scores per place, added to those of the layers before. */
static uint32_t attend_with_scores(struct decoder *d, uint32_t layer, const uint32_t *inputs, uint32_t count,
                                   const struct accel_attention *attributes)
{
    uint32_t made[2] = {ACCEL_NO_VALUE, ACCEL_NO_VALUE};

    net_node_outputs(&d->net, ACCEL_OP_ATTENTION, layer, "scores", inputs, count, attributes, made, 2);
    d->step->scores = layer == 0 ? made[1] : net_add(&d->net, layer, "score_sums", d->step->scores, made[1]);
    return made[0];
}

/* Queries, keys or values of a layer whose matrices are separate. */
static uint32_t separate(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                         uint64_t rows, bool bias)
{
    x = decoder_project(d, part, layer, name, x, rows, d->config->hidden, bias, ACCEL_NO_VALUE);
    return net_clamp(&d->net, layer, name, x, d->form->qkv_limit);
}

/* Takes queries (0), keys (1) or values (2) out of the product with one matrix for all. */
static uint32_t take_part(struct decoder *d, uint32_t layer, const char *name, uint32_t qkv, uint32_t which)
{
    const struct accel_decoder_config *c = d->config;
    const uint64_t shared = c->heads / c->kv_heads;
    const uint64_t q = (uint64_t)c->heads * c->head_size, k = (uint64_t)c->kv_heads * c->head_size;
    const uint64_t v = (uint64_t)c->kv_heads * c->value_size;
    struct accel_dim groups[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(c->kv_heads), net_fixed(shared + 2),
                                           net_fixed(c->head_size)};
    struct accel_dim flat[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(which == 0 ? q : k)};
    char label[32];

    if (d->form->qkv == FORM_QKV_ROWS)
        return net_slice(&d->net, layer, name, qkv, 1,
                         which == 0   ? 0
                         : which == 1 ? q
                                      : q + k,
                         which == 0   ? q
                         : which == 1 ? k
                                      : v);
    snprintf(label, sizeof(label), "%s_groups", name);
    qkv = net_reshape(&d->net, layer, label, qkv, 4, groups);
    snprintf(label, sizeof(label), "%s_part", name);
    qkv = net_slice(&d->net, layer, label, qkv, 2, which == 0 ? 0 : shared + which - 1, which == 0 ? shared : 1);
    return net_reshape(&d->net, layer, name, qkv, 2, flat);
}

uint32_t decoder_attend_cached(struct decoder *d, uint32_t layer, const uint32_t qkv[3], double scale)
{
    const struct accel_decoder_config *c = d->config;
    const struct decoder_form *form = d->form;
    struct accel_attention attributes = {.size = sizeof(attributes),
                                         .kv_heads = c->kv_heads,
                                         .page = (uint32_t)d->options->page,
                                         .window = narrow_window(d, layer),
                                         .causal = 1,
                                         .rounding = ACCEL_ALLOWS_Q8(d->options->rounding) ? ACCEL_Q8_0 : ACCEL_F32,
                                         .scale = (float)scale,
                                         .softcap = (float)form->attention_softcap};
    uint32_t inputs[9] = {qkv[0],          qkv[1],         qkv[2],   d->step->table, d->step->first,
                          d->step->length, ACCEL_NO_VALUE, d->slope, ACCEL_NO_VALUE};
    uint32_t count = 6;

    /* The model's own windows have no sinks. */
    attributes.sinks = c->windows != NULL && attributes.window != c->windows[layer] ? (uint32_t)d->options->sinks : 0;
    if (form->sink)
        inputs[8] = decoder_vector(d, DECODER_SINK, layer, c->format == ACCEL_MODEL_GGUF ? ".weight" : "", c->heads, 0);
    if (d->slope != ACCEL_NO_VALUE)
        count = 8;
    if (form->sink)
        count = 9;
    return d->options->scores ? attend_with_scores(d, layer, inputs, count, &attributes)
                              : net_node(&d->net, ACCEL_OP_ATTENTION, layer, "scores", inputs, count, &attributes);
}

static uint32_t attend(struct decoder *d, uint32_t layer, uint32_t x)
{
    const struct accel_decoder_config *c = d->config;
    const struct decoder_form *form = d->form;
    const uint64_t q_rows = (uint64_t)c->heads * c->head_size, k_rows = (uint64_t)c->kv_heads * c->head_size;
    const uint64_t v_rows = (uint64_t)c->kv_heads * c->value_size;
    const bool one = form->qkv != FORM_QKV_SEPARATE;
    const double width = form->attention_width != 0 ? form->attention_width : c->head_size;
    const double scale = form->attention_scale != 0 ? form->attention_scale : 1.0 / sqrt(width);
    struct accel_dim flat[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed((uint64_t)c->heads * c->value_size)};
    uint32_t qkv = ACCEL_NO_VALUE, q, k, v, inputs[3];

    if (one) {
        qkv = decoder_project(d, DECODER_QKV, layer, "qkv", x, q_rows + k_rows + v_rows, c->hidden, c->q_bias,
                              ACCEL_NO_VALUE);
        qkv = net_clamp(&d->net, layer, "qkv_limited", qkv, form->qkv_limit);
    }
    /* Each consumer follows its matmul directly, so that drivers can fuse both. */
    q = one ? take_part(d, layer, "q", qkv, 0) : separate(d, DECODER_QUERY, layer, "q", x, q_rows, c->q_bias);
    inputs[0] = place_heads(d, layer, "q", DECODER_QUERY_NORM, q, c->heads);
    k = one ? take_part(d, layer, "k", qkv, 1) : separate(d, DECODER_KEY, layer, "k", x, k_rows, c->k_bias);
    inputs[1] = decoder_write_cache(d, layer, "k", place_heads(d, layer, "k", DECODER_KEY_NORM, k, c->kv_heads));
    v = one ? take_part(d, layer, "v", qkv, 2) : separate(d, DECODER_VALUE, layer, "v", x, v_rows, c->v_bias);
    inputs[2] = decoder_write_cache(d, layer, "v", v);
    x = decoder_attend_cached(d, layer, inputs, scale);
    return net_reshape(&d->net, layer, "heads", x, 2, flat);
}

/* ---- feed-forward part ---- */

uint32_t decoder_gate(struct decoder *d, uint32_t layer, const char *name, uint32_t one, uint32_t up)
{
    struct accel_activation attributes = {sizeof(attributes), d->function};
    uint32_t inputs[] = {one, up};

    return net_node(&d->net, ACCEL_OP_GATE, layer, name, inputs, 2, &attributes);
}

static uint32_t widen(struct decoder *d, uint32_t layer, uint32_t x)
{
    const uint64_t ffn = d->config->ffn, hidden = d->config->hidden;
    const bool bias = d->config->mlp_bias;
    uint32_t up, one;

    switch (d->form->ffn) {
    case FORM_GATED:
        one = decoder_project(d, DECODER_FFN_GATE, layer, "gate", x, ffn, hidden, bias, ACCEL_NO_VALUE);
        up = decoder_project(d, DECODER_FFN_UP, layer, "up", x, ffn, hidden, bias, ACCEL_NO_VALUE);
        return decoder_gate(d, layer, "gated", one, up);
    case FORM_FUSED_GATE:
        x = decoder_project(d, DECODER_FFN_UP, layer, "gate_up", x, 2 * ffn, hidden, bias, ACCEL_NO_VALUE);
        one = net_slice(&d->net, layer, "gate", x, 1, 0, ffn);
        up = net_slice(&d->net, layer, "up", x, 1, ffn, ffn);
        return decoder_gate(d, layer, "gated", one, up);
    case FORM_PLAIN:
        break;
    }
    return project(d, DECODER_FFN_UP, layer, "up", x, ffn, hidden, bias, ACCEL_NO_VALUE, d->function);
}

/* ---- layers ---- */

/* Adds the output projection of a branch, its norm and its scale, and the residual. With stages the projection is an
 * output of its own, and separate nodes do the rest. */
static uint32_t end_branch(struct decoder *d, uint32_t layer, bool is_attention, uint32_t x, uint32_t residual)
{
    const struct accel_decoder_config *c = d->config;
    const struct decoder_form *form = d->form;
    const char *name = is_attention ? "attention" : "ffn", *sum = is_attention ? "attention_sum" : "sum";
    const enum decoder_part part = is_attention ? DECODER_ATTENTION_OUT : DECODER_FFN_DOWN;
    const enum decoder_part after = is_attention ? DECODER_ATTENTION_POST_NORM : DECODER_FFN_POST_NORM;
    const uint32_t value_size = c->latent.kv != 0 ? c->latent.value : c->value_size;
    const uint64_t width = is_attention ? (uint64_t)c->heads * value_size : c->ffn;
    const bool bias = is_attention ? c->o_bias : c->mlp_bias;
    const bool has_norm = form->norm_place == FORM_NORM_AFTER || form->norm_place == FORM_NORM_AROUND;
    const bool plain = !has_norm && (form->residual_scale == 0 || form->residual_scale == 1);

    if (plain && !d->options->stages)
        return decoder_project(d, part, layer, name, x, c->hidden, width, bias, residual);
    x = decoder_project(d, part, layer, name, x, c->hidden, width, bias, ACCEL_NO_VALUE);
    if (is_attention && d->options->stages)
        net_output(&d->net, layer, name, x);
    if (has_norm)
        x = norm(d, after, layer, is_attention ? "attention_post_norm" : "ffn_post_norm", x, c->hidden);
    if (!plain && form->residual_scale != 0)
        x = net_scale(&d->net, layer, is_attention ? "attention_scaled" : "ffn_scaled", x, form->residual_scale, 0);
    return net_add(&d->net, layer, sum, residual, x);
}

static uint32_t add_layer(struct decoder *d, uint32_t layer, uint32_t hidden)
{
    const struct decoder_form *form = d->form;
    const uint64_t width = d->config->hidden;
    const bool before = form->norm_place == FORM_NORM_BEFORE || form->norm_place == FORM_NORM_AROUND;
    const bool sum = form->norm_place == FORM_NORM_SUM;
    const uint32_t input = hidden;
    uint32_t normed = before ? norm(d, DECODER_ATTENTION_NORM, layer, "attention_norm", hidden, width) : hidden;
    uint32_t x = d->config->latent.kv != 0 ? decoder_attend_latent(d, layer, normed) : attend(d, layer, normed);
    char stage[24];

    hidden = end_branch(d, layer, true, x, hidden);
    if (sum)
        hidden = norm(d, DECODER_ATTENTION_NORM, layer, "attention_norm", hidden, width);
    if (form->branches != FORM_PARALLEL_ONE_NORM) {
        normed = form->branches == FORM_PARALLEL ? input : hidden;
        normed = before ? norm(d, DECODER_FFN_NORM, layer, "ffn_norm", normed, width) : normed;
    }
    if (d->config->mixture != NULL && d->config->mixture[layer])
        hidden = decoder_mix(d, layer, normed, hidden);
    else
        hidden = end_branch(d, layer, false, widen(d, layer, normed), hidden);
    if (sum)
        hidden = norm(d, DECODER_FFN_NORM, layer, "ffn_norm", hidden, width);
    snprintf(stage, sizeof(stage), "layers.%u", layer);
    if (d->options->stages)
        net_output(&d->net, NET_NO_LAYER, stage, hidden);
    return hidden;
}

/* ---- the whole ---- */

static void add_inputs(struct decoder *d)
{
    struct step_graph *step = d->step;
    const struct accel_dim none = net_fixed(0);
    const uint64_t pages = (d->options->kv_capacity + d->options->page - 1) / d->options->page;
    struct accel_dim ends;

    d->tokens = net_symbol(&d->net, "tokens", d->options->batch);
    d->outputs = net_symbol(&d->net, "outputs", d->options->outputs);
    d->sequences = net_symbol(&d->net, "sequences", d->options->sequences);
    ends = net_symbolic(d->sequences);
    ends.add = 1;
    step->ids = net_input(&d->net, "ids", ACCEL_I32, 1, net_symbolic(d->tokens), none);
    step->position = net_input(&d->net, "position", ACCEL_I32, 1, net_symbolic(d->tokens), none);
    step->slot = net_input(&d->net, "slot", ACCEL_I32, 1, net_symbolic(d->tokens), none);
    step->table = net_input(&d->net, "table", ACCEL_I32, 2, net_symbolic(d->sequences), net_fixed(pages));
    step->first = net_input(&d->net, "first", ACCEL_I32, 1, ends, none);
    step->length = net_input(&d->net, "length", ACCEL_I32, 1, net_symbolic(d->sequences), none);
    step->rows = net_input(&d->net, "rows", ACCEL_I32, 1, net_symbolic(d->outputs), none);
}

static uint32_t embed(struct decoder *d)
{
    const struct accel_decoder_config *c = d->config;
    const struct decoder_form *form = d->form;
    const uint64_t width = form->embedding_width == 0 ? c->hidden : form->embedding_width;
    uint32_t inputs[2] = {decoder_matrix(d, DECODER_EMBEDDING, 0, 1, c->vocabulary, width), d->step->ids};
    const bool alone = form->embedding_scale == 0 && !form->embedding_root && width == c->hidden &&
                       form->position != FORM_LEARNED && !c->embedding_norm;
    uint32_t hidden =
        net_node(&d->net, ACCEL_OP_EMBED, NET_NO_LAYER, alone ? "embeddings" : "embeddings_read", inputs, 2, NULL);

    if (form->embedding_scale != 0)
        hidden = net_scale(&d->net, NET_NO_LAYER, "embeddings_scaled", hidden, form->embedding_scale, 0);
    if (form->embedding_root)
        hidden = net_scale(&d->net, NET_NO_LAYER, "embeddings_scaled", hidden, sqrt(c->hidden), 0);
    if (width != c->hidden)
        hidden = decoder_project(d, DECODER_PROJECT_IN, NET_NO_LAYER, "embeddings_wide", hidden, c->hidden, width,
                                 false, ACCEL_NO_VALUE);
    if (form->position == FORM_LEARNED)
        hidden = decoder_positions(d, hidden);
    if (c->embedding_norm)
        hidden = norm(d, DECODER_EMBEDDING_NORM, NET_NO_LAYER, "embeddings_norm", hidden, c->hidden);
    if (d->options->stages)
        net_output(&d->net, NET_NO_LAYER, "embeddings", hidden);
    return hidden;
}

/* Adds the output projection for the requested rows only. */
static void add_logits(struct decoder *d, uint32_t hidden)
{
    const struct accel_decoder_config *c = d->config;
    const struct decoder_form *form = d->form;
    const uint64_t width = form->embedding_width == 0 ? c->hidden : form->embedding_width;
    double scale =
        (form->logit_scale == 0 ? 1 : form->logit_scale) / (form->logit_divisor == 0 ? 1 : form->logit_divisor);
    uint32_t inputs[] = {hidden, d->step->rows};
    uint32_t w, bias;

    hidden = net_node(&d->net, ACCEL_OP_GATHER, NET_NO_LAYER, "chosen_rows", inputs, 2, NULL);
    if (!form->no_final_norm) {
        hidden = norm(d, DECODER_FINAL_NORM, NET_NO_LAYER, "final_norm", hidden, c->hidden);
        if (d->options->stages)
            net_output(&d->net, NET_NO_LAYER, NULL, hidden);
    }
    if (width != c->hidden) {
        hidden = decoder_project(d, DECODER_PROJECT_OUT, NET_NO_LAYER, "project_out", hidden, width, c->hidden, false,
                                 ACCEL_NO_VALUE);
        if (d->options->stages)
            net_output(&d->net, NET_NO_LAYER, NULL, hidden);
    }
    if (!c->tied && !c->output_bias) /* which the scale of a product does not multiply */
        scale *= decoder_product_scale(d, DECODER_OUTPUT, 0);
    w = ACCEL_NO_VALUE;
    if (!c->tied || d->list == NULL) /* a tied one is listed by embed() */
        w = decoder_matrix(d, c->tied ? DECODER_EMBEDDING : DECODER_OUTPUT, 0, 1, c->vocabulary, width);
    bias = c->output_bias ? decoder_vector(d, DECODER_OUTPUT, 0, ".bias", c->vocabulary, 0) : ACCEL_NO_VALUE;
    hidden = net_matmul(&d->net, NET_NO_LAYER, scale == 1 && form->logit_softcap == 0 ? "logits" : "logits_plain",
                        hidden, w, bias, ACCEL_NO_VALUE, ACCEL_FN_NONE);
    hidden = net_scale(&d->net, NET_NO_LAYER, form->logit_softcap == 0 ? "logits" : "logits_scaled", hidden, scale, 0);
    d->step->logits = net_softcap(&d->net, NET_NO_LAYER, "logits", hidden, form->logit_softcap);
    net_output(&d->net, NET_NO_LAYER, NULL, d->step->logits);
}

static void describe(struct decoder *d)
{
    uint32_t hidden;

    d->step->frequency = ACCEL_NO_VALUE;
    d->step->crossed = ACCEL_NO_VALUE;
    d->step->scores = ACCEL_NO_VALUE;
    d->slope = ACCEL_NO_VALUE;
    d->net.marked = ACCEL_NO_VALUE;
    d->pairing = d->config->pairing == ACCEL_ROPE_PAIRING_FAMILY       ? d->config->family->gguf_pairing
                 : d->config->pairing == ACCEL_ROPE_PAIRING_NEIGHBOURS ? ACCEL_PAIR_NEIGHBOURS
                                                                       : ACCEL_PAIR_HALVES;
    add_inputs(d);
    if (d->form->position == FORM_ROTARY && d->list == NULL)
        decoder_frequencies(d);
    if (d->form->position == FORM_ALIBI && d->list == NULL)
        decoder_slopes(d);
    decoder_choices(d);
    hidden = embed(d);
    for (uint32_t layer = 0; layer < d->config->layers && d->net.code == ACCEL_OK; layer++)
        hidden = add_layer(d, layer, hidden);
    if (d->options->scores)
        net_output(&d->net, NET_NO_LAYER, "score_sums", d->step->scores);
    add_logits(d, hidden);
}

void decoder_list(const struct accel_decoder_config *config, decoder_weight weight, void *data)
{
    struct accel_error error = {0};
    struct step_graph none;
    struct decoder d = {.net = {.mode = NET_LIST, .error = &error},
                        .config = config,
                        .form = &config->form,
                        .options = &no_options,
                        .list = weight,
                        .list_data = data,
                        .step = &none};

    describe(&d);
}

int32_t decoder_check(const struct accel_model_file *file, const struct accel_decoder_config *config,
                      struct weight_types *out_vectors, struct accel_error *error)
{
    struct accel_error own = {0};
    struct step_graph none;
    struct decoder d = {.config = config, .form = &config->form, .options = &no_options, .step = &none};
    int32_t code = decoder_find_function(config, &d.function, error);

    if (code != ACCEL_OK)
        return code;
    code = net_begin_check(&d.net, file, error == NULL ? &own : error);
    if (code == ACCEL_OK)
        describe(&d);
    net_refuse_unused(&d.net);
    if (d.net.code == ACCEL_OK) {
        *out_vectors = (struct weight_types){d.net.vectors, d.net.vector_count};
        d.net.vectors = NULL;
    }
    net_end(&d.net);
    return d.net.code;
}

int32_t decoder_step(const struct accel_model_file *file, const struct accel_decoder_config *config,
                     const struct step_options *options, struct step_graph *out_step, struct accel_error *error)
{
    struct accel_error own = {0};
    struct decoder d = {.net = {.mode = NET_GRAPH,
                                .file = file,
                                .error = error == NULL ? &own : error,
                                .types = options->types,
                                .rounding = options->rounding,
                                .mark_inputs = options->inputs},
                        .config = config,
                        .form = &config->form,
                        .options = options,
                        .step = out_step};
    int32_t code = decoder_find_function(config, &d.function, error);

    memset(out_step, 0, sizeof(*out_step));
    if (code == ACCEL_OK)
        code = accel_builder_create(options->stages ? "stages" : "step", &out_step->builder, d.net.error);
    if (code != ACCEL_OK)
        return code;
    d.net.builder = out_step->builder;
    describe(&d);
    code = d.net.code;
    if (code == ACCEL_OK)
        code = accel_builder_finish(out_step->builder, &out_step->graph, d.net.error);
    if (code != ACCEL_OK)
        step_graph_free(out_step);
    return code;
}

void step_graph_free(struct step_graph *step)
{
    accel_builder_free(step->builder);
    memset(step, 0, sizeof(*step));
}
