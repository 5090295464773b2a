/* SPDX-License-Identifier: Apache-2.0 */
/* The feed-forward part of layers with experts: a router chooses some for each token, whose outputs are summed. */
#include <math.h>

#include "model/family/decoder_walk.h"

static uint32_t expert_matmul(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                              uint32_t ids, uint32_t factor, uint64_t experts, uint64_t rows, uint64_t width)
{
    struct accel_expert_matmul attributes = {
        .size = sizeof(attributes), .rounding = d->options->rounding, .experts = (uint32_t)experts};
    uint32_t inputs[] = {x, decoder_matrix(d, part, layer, experts, rows, width), ids, ACCEL_NO_VALUE, factor};

    if (d->form->expert_bias)
        inputs[3] = decoder_vector(d, part, layer, ".bias", experts * rows, 0);
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
    net_node_outputs(&d->net, ACCEL_OP_TOP_K, layer, "experts", &scores, 1, &attributes, made, 2);
    *out_ids = made[0];
    *out_factors = made[1];
    if (form->expert_normalize)
        *out_factors = net_node(&d->net, ACCEL_OP_SOFTMAX, layer, "factors", &made[1], 1, NULL);
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
    y = expert_matmul(d, DECODER_SHARED_DOWN, layer, "shared", y, made[0], factor, 1, hidden, ffn);
    return net_add(&d->net, layer, "mixed", sum, y);
}

uint32_t decoder_mix(struct decoder *d, uint32_t layer, uint32_t x, uint32_t residual)
{
    const struct decoder_form *form = d->form;
    const uint64_t hidden = d->config->hidden, ffn = form->expert_ffn == 0 ? d->config->ffn : form->expert_ffn;
    uint32_t ids = ACCEL_NO_VALUE, factors = ACCEL_NO_VALUE, y, up;

    choose_experts(d, layer, x, &ids, &factors);
    y = expert_matmul(d, DECODER_EXPERT_GATE, layer, "gate", x, ids, ACCEL_NO_VALUE, form->experts, ffn, hidden);
    up = expert_matmul(d, DECODER_EXPERT_UP, layer, "up", x, ids, ACCEL_NO_VALUE, form->experts, ffn, hidden);
    y = gate_limited(d, layer, "gated", y, up);
    y = expert_matmul(d, DECODER_EXPERT_DOWN, layer, "routed", y, ids, factors, form->experts, hidden, ffn);
    if (form->shared_ffn != 0)
        y = add_shared(d, layer, x, y);
    if (form->residual_scale != 0)
        y = net_scale(&d->net, layer, "ffn_scaled", y, form->residual_scale, 0);
    return net_add(&d->net, layer, "sum", residual, y);
}
