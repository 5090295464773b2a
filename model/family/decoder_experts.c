/* SPDX-License-Identifier: Apache-2.0 */
/* The feed-forward part of layers with experts: a router chooses some for each token, whose outputs are summed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/family/decoder_walk.h"

uint32_t decoder_chosen_matmul(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                               uint32_t ids, uint32_t factor, uint64_t parts, uint64_t rows, uint64_t width)
{
    struct accel_expert_matmul attributes = {
        .size = sizeof(attributes), .rounding = d->options->rounding, .experts = (uint32_t)parts};
    uint32_t inputs[] = {x, decoder_matrix(d, part, layer, parts, rows, width), ids, ACCEL_NO_VALUE, factor};

    if (d->form->expert_bias)
        inputs[3] = decoder_vector(d, part, layer, ".bias", parts * rows, 0);
    if (d->options->inputs)
        net_output(&d->net, layer, NULL, x);
    return net_node(&d->net, ACCEL_OP_EXPERT_MATMUL, layer, name, inputs, 5, &attributes);
}

/* Multiplies gate and up, both clamped if the form has a limit. */
static uint32_t gate_limited(struct decoder *d, uint32_t layer, const char *name, uint32_t one, uint32_t up)
{
    const double limit = d->form->gate_limit;
    struct accel_clamp below = {.size = sizeof(below), .low = -INFINITY, .high = (float)limit};

    if (limit != 0) {
        one = net_node(&d->net, ACCEL_OP_CLAMP, layer, "gate_limited", &one, 1, &below);
        up = net_clamp(&d->net, layer, "up_limited", up, limit);
        up = net_scale(&d->net, layer, "up_and_one", up, 1, 1);
    }
    return decoder_gate(d, layer, name, one, up);
}

/* Adds the table of which experts a group has. */
static void add_groups(struct decoder *d)
{
    const uint64_t dims[] = {d->form->expert_groups, d->form->experts}, size = dims[1] / dims[0];
    float *table = calloc(dims[0] * dims[1], sizeof(*table));

    if (table == NULL) {
        d->net.code = accel_error_set(d->net.error, ACCEL_E_MEMORY, "groups of %u experts", d->form->experts);
        return;
    }
    for (uint64_t expert = 0; expert < dims[1]; expert++)
        table[expert / size * dims[1] + expert] = 1;
    d->groups = net_constant_of(&d->net, "expert_groups", ACCEL_F32, 2, dims, table);
    free(table);
}

/* Adds the numbers of all heads for each token: row 0 of a table, whatever the position. */
static void add_heads(struct decoder *d)
{
    const uint64_t dims[] = {1, d->config->heads};
    struct accel_cast to_float = {sizeof(to_float), ACCEL_F32}, to_integer = {sizeof(to_integer), ACCEL_I32};
    int32_t *numbers = calloc(dims[1], sizeof(*numbers));
    uint32_t inputs[2];

    if (numbers == NULL) {
        d->net.code = accel_error_set(d->net.error, ACCEL_E_MEMORY, "numbers of %u heads", d->config->heads);
        return;
    }
    for (uint32_t head = 0; head < d->config->heads; head++)
        numbers[head] = (int32_t)head;
    inputs[0] = net_constant_of(&d->net, "heads", ACCEL_I32, 2, dims, numbers);
    free(numbers);
    inputs[1] = net_node(&d->net, ACCEL_OP_CAST, NET_NO_LAYER, "zeros_float", &d->step->position, 1, &to_float);
    inputs[1] = net_scale(&d->net, NET_NO_LAYER, "zeros_scaled", inputs[1], 0, 0);
    inputs[1] = net_node(&d->net, ACCEL_OP_CAST, NET_NO_LAYER, "zeros", &inputs[1], 1, &to_integer);
    d->head_ids = net_node(&d->net, ACCEL_OP_GATHER, NET_NO_LAYER, "head_ids", inputs, 2, NULL);
}

void decoder_choices(struct decoder *d)
{
    if (d->form->expert_groups > 1 && d->net.mode == NET_GRAPH)
        add_groups(d);
    if (d->config->latent.absorbed && d->net.mode == NET_GRAPH)
        add_heads(d);
}

/* Clears the scores of experts outside of a token's groups: those whose best expert has the highest scores. */
static uint32_t limit_groups(struct decoder *d, uint32_t layer, uint32_t scores)
{
    const struct decoder_form *form = d->form;
    const uint32_t groups = form->expert_groups, used = form->groups_used;
    struct accel_dim all[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(groups), net_fixed(form->experts / groups)};
    struct accel_dim flat[ACCEL_RANK] = {net_symbolic(d->tokens)};
    struct accel_dim rows[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(used), net_fixed(form->experts)};
    struct accel_reduce highest = {.size = sizeof(highest), .kind = ACCEL_REDUCE_MAX, .axis = 2};
    struct accel_reduce sum = {.size = sizeof(sum), .kind = ACCEL_REDUCE_SUM, .axis = 1};
    struct accel_top_k attributes = {sizeof(attributes), used};
    uint32_t inputs[2] = {d->groups}, x;

    flat[0].multiply = used;
    x = net_reshape(&d->net, layer, "router_groups", scores, 3, all);
    x = net_node(&d->net, ACCEL_OP_REDUCE, layer, "group_scores", &x, 1, &highest);
    x = net_node(&d->net, ACCEL_OP_TOP_K, layer, "groups", &x, 1, &attributes);
    inputs[1] = net_reshape(&d->net, layer, "groups_flat", x, 1, flat);
    x = net_node(&d->net, ACCEL_OP_GATHER, layer, "group_rows", inputs, 2, NULL);
    x = net_reshape(&d->net, layer, "group_masks", x, 3, rows);
    x = net_node(&d->net, ACCEL_OP_REDUCE, layer, "group_mask", &x, 1, &sum);
    return net_multiply(&d->net, layer, "router_limited", scores, x);
}

/* Chooses the experts of each token: their numbers, and their factors. */
static void choose_experts(struct decoder *d, uint32_t layer, uint32_t x, uint32_t *out_ids, uint32_t *out_factors)
{
    const struct decoder_form *form = d->form;
    struct accel_top_k attributes = {sizeof(attributes), form->experts_used};
    struct accel_matmul exact = {.size = sizeof(exact), .rounding = ACCEL_F32};
    uint32_t inputs[] = {x, decoder_matrix(d, DECODER_ROUTER, layer, 1, form->experts, d->config->hidden),
                         ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    uint32_t made[2] = {ACCEL_NO_VALUE, ACCEL_NO_VALUE}, scores;

    if (form->expert_bias)
        inputs[2] = decoder_vector(d, DECODER_ROUTER, layer, ".bias", form->experts, 0);
    scores = net_node(&d->net, ACCEL_OP_MATMUL, layer, "router_logits", inputs, 4, &exact);
    if (d->options->stages)
        net_output(&d->net, layer, "router_logits", scores);
    if (!form->expert_normalize)
        scores = net_node(&d->net, ACCEL_OP_SOFTMAX, layer, "router_weights", &scores, 1, NULL);
    if (form->expert_groups > 1)
        scores = limit_groups(d, layer, scores);
    net_node_outputs(&d->net, ACCEL_OP_TOP_K, layer, "experts", &scores, 1, &attributes, made, 2);
    *out_ids = made[0];
    *out_factors = made[1];
    if (form->expert_normalize)
        *out_factors = net_node(&d->net, ACCEL_OP_SOFTMAX, layer, "factors", &made[1], 1, NULL);
    if (form->expert_scale != 0)
        *out_factors = net_scale(&d->net, layer, "factors_scaled", *out_factors, form->expert_scale, 0);
}

/* Adds the shared expert. If the form has a factor for each token, the expert is the only one of a mixture, and the
 * sigmoid of the factor weights it. */
static uint32_t add_shared(struct decoder *d, uint32_t layer, uint32_t x, uint32_t sum)
{
    const uint64_t hidden = d->config->hidden, ffn = d->form->shared_ffn;
    struct accel_top_k one_of_one = {sizeof(one_of_one), 1};
    uint32_t made[2] = {ACCEL_NO_VALUE, ACCEL_NO_VALUE}, factor, y, up;

    y = decoder_project(d, DECODER_SHARED_GATE, layer, "shared_gate", x, ffn, hidden, false, ACCEL_NO_VALUE);
    up = decoder_project(d, DECODER_SHARED_UP, layer, "shared_up", x, ffn, hidden, false, ACCEL_NO_VALUE);
    y = decoder_gate(d, layer, "shared_gated", y, up);
    if (!d->form->shared_factor)
        return decoder_project(d, DECODER_SHARED_DOWN, layer, "shared", y, hidden, ffn, false, sum);
    factor = decoder_project(d, DECODER_SHARED_FACTOR, layer, "shared_score", x, 1, hidden, false, ACCEL_NO_VALUE);
    net_node_outputs(&d->net, ACCEL_OP_TOP_K, layer, "shared_choice", &factor, 1, &one_of_one, made, 2);
    factor = net_activation(&d->net, layer, "shared_factor", made[1], ACCEL_FN_SIGMOID);
    factor = net_scale(&d->net, layer, "shared_factor_scaled", factor,
                       decoder_product_scale(d, DECODER_SHARED_DOWN, layer), 0);
    y = decoder_chosen_matmul(d, DECODER_SHARED_DOWN, layer, "shared", y, made[0], factor, 1, hidden, ffn);
    return net_add(&d->net, layer, "mixed", sum, y);
}

/* Returns the factors of products with each expert: ACCEL_NO_VALUE if the file has none. */
static uint32_t expert_scales(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name)
{
    const uint64_t experts = d->form->experts;
    float *factors = malloc((experts + 1) * sizeof(*factors));
    uint32_t value = ACCEL_NO_VALUE;
    char text[DECODER_NAME_BYTES];

    decoder_tensor_name(d->config, part, layer, ".weight", text);
    if (factors == NULL) {
        d->net.code = accel_error_no_memory(d->net.error, "for factors of experts");
    } else if (net_find_factors(&d->net, text, experts, factors)) {
        snprintf(text, sizeof(text), "layers.%u.%s_factors", layer, name);
        value = net_constant(&d->net, text, experts, factors);
    } else {
        decoder_tensor_name(d->config, part, layer, ".scale", text);
        if (net_has_scales(&d->net, text, experts))
            value = net_vector(&d->net, text, experts, 0);
    }
    free(factors);
    return value;
}

/* Returns the factors of products with the chosen experts: [tokens, used, 1]. ACCEL_NO_VALUE if the file has none. */
static uint32_t chosen_scales(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t ids)
{
    const struct decoder_form *form = d->form;
    struct accel_dim flat[ACCEL_RANK] = {net_symbolic(d->tokens)};
    struct accel_dim chosen[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(form->experts_used), net_fixed(1)};
    char text[DECODER_NAME_BYTES];
    uint32_t inputs[2];

    inputs[0] = form->expert_bias ? ACCEL_NO_VALUE /* they do not multiply a bias */
                                  : expert_scales(d, part, layer, name);
    if (inputs[0] == ACCEL_NO_VALUE)
        return ACCEL_NO_VALUE;
    flat[0].multiply = form->experts_used;
    snprintf(text, sizeof(text), "%s_scale_ids", name);
    inputs[1] = net_reshape(&d->net, layer, text, ids, 1, flat);
    snprintf(text, sizeof(text), "%s_scales_flat", name);
    inputs[0] = net_node(&d->net, ACCEL_OP_GATHER, layer, text, inputs, 2, NULL);
    snprintf(text, sizeof(text), "%s_scales", name);
    return net_reshape(&d->net, layer, text, inputs[0], 3, chosen);
}

/* Products of chosen experts with x, one row [n] for each, times the factors that the file has. */
static uint32_t widen_chosen(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                             uint32_t ids, uint64_t n)
{
    struct accel_pad repeat = {.size = sizeof(repeat), .axis = 2, .mode = ACCEL_PAD_EDGE, .after = n - 1};
    uint32_t scales = chosen_scales(d, part, layer, name, ids);
    char text[DECODER_NAME_BYTES];

    x = decoder_chosen_matmul(d, part, layer, name, x, ids, ACCEL_NO_VALUE, d->form->experts, n, d->config->hidden);
    if (scales == ACCEL_NO_VALUE)
        return x;
    snprintf(text, sizeof(text), "%s_scales_wide", name);
    scales = net_node(&d->net, ACCEL_OP_PAD, layer, text, &scales, 1, &repeat);
    snprintf(text, sizeof(text), "%s_scaled", name);
    return net_multiply(&d->net, layer, text, x, scales);
}

uint32_t decoder_mix(struct decoder *d, uint32_t layer, uint32_t x, uint32_t residual)
{
    const struct decoder_form *form = d->form;
    const uint64_t hidden = d->config->hidden, ffn = form->expert_ffn == 0 ? d->config->ffn : form->expert_ffn;
    struct accel_dim chosen[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed(form->experts_used)};
    uint32_t ids = ACCEL_NO_VALUE, factors = ACCEL_NO_VALUE, y, up, scales;

    choose_experts(d, layer, x, &ids, &factors);
    y = widen_chosen(d, DECODER_EXPERT_GATE, layer, "gate", x, ids, ffn);
    up = widen_chosen(d, DECODER_EXPERT_UP, layer, "up", x, ids, ffn);
    y = gate_limited(d, layer, "gated", y, up);
    scales = chosen_scales(d, DECODER_EXPERT_DOWN, layer, "routed", ids);
    if (scales != ACCEL_NO_VALUE) {
        scales = net_reshape(&d->net, layer, "routed_scales_chosen", scales, 2, chosen);
        factors = net_multiply(&d->net, layer, "factors_of_experts", factors, scales);
    }
    y = decoder_chosen_matmul(d, DECODER_EXPERT_DOWN, layer, "routed", y, ids, factors, form->experts, hidden, ffn);
    if (form->shared_ffn != 0)
        y = add_shared(d, layer, x, y);
    if (form->residual_scale != 0)
        y = net_scale(&d->net, layer, "ffn_scaled", y, form->residual_scale, 0);
    return net_add(&d->net, layer, "sum", residual, y);
}
