/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latent attention (arXiv 2405.04434): keys and values of all heads come from one compressed row of a token. Heads of
 * queries and keys have a part without rotary positions and one with, which all keys share. The cache has the keys and
 * values of all heads; where the file stores a matrix from queries to compressed keys, it has compressed ones, as one
 * head.
 */
#include <math.h>

#include "model/family/decoder_walk.h"

/* Of the norms of compressed rows, whatever the configuration has for others. */
#define COMPRESSED_EPSILON 1e-6f

static uint32_t norm_compressed(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                                uint64_t width)
{
    struct accel_norm attributes = {sizeof(attributes), COMPRESSED_EPSILON};
    uint32_t inputs[] = {x, decoder_vector(d, part, layer, ".weight", width, 0)};

    return net_node(&d->net, ACCEL_OP_RMS_NORM, layer, name, inputs, 2, &attributes);
}

/* Joins the parts of heads without and with rotary positions. */
static uint32_t join_parts(struct decoder *d, uint32_t layer, const char *name, uint32_t plain, uint32_t rotary)
{
    struct accel_axis attributes = {.size = sizeof(attributes), .axis = 2};
    uint32_t inputs[] = {plain, rotary};

    return net_node(&d->net, ACCEL_OP_CONCAT, layer, name, inputs, 2, &attributes);
}

static uint32_t project_queries(struct decoder *d, uint32_t layer, uint32_t x)
{
    const struct accel_latent_config *latent = &d->config->latent;
    const uint32_t heads = d->config->heads, size = latent->key + latent->rotary, hidden = d->config->hidden;
    const uint64_t rows = (uint64_t)heads * size;

    if (latent->query == 0)
        x = decoder_project(d, DECODER_QUERY, layer, "q", x, rows, hidden, false, ACCEL_NO_VALUE);
    else {
        x = decoder_project(d, DECODER_QUERY_DOWN, layer, "q_down", x, latent->query, hidden, false, ACCEL_NO_VALUE);
        x = norm_compressed(d, DECODER_QUERY_DOWN_NORM, layer, "q_down_norm", x, latent->query);
        x = decoder_project(d, DECODER_QUERY_UP, layer, "q", x, rows, latent->query, false, ACCEL_NO_VALUE);
    }
    return decoder_split_heads(d, layer, "q_heads", x, heads, size);
}

uint32_t decoder_attend_latent(struct decoder *d, uint32_t layer, uint32_t x)
{
    const struct accel_decoder_config *c = d->config;
    const struct accel_latent_config *latent = &c->latent;
    const uint32_t key = latent->key, rotary = latent->rotary, kv = latent->kv, value = latent->value;
    const double scale = c->rope.score_factor / sqrt(key + rotary);
    struct accel_pad repeat = {.size = sizeof(repeat), .axis = 1, .mode = ACCEL_PAD_EDGE, .after = c->heads - 1};
    struct accel_dim flat[ACCEL_RANK] = {net_symbolic(d->tokens), net_fixed((uint64_t)c->heads * value)};
    uint32_t q, q_rotary, k, k_rotary, v, inputs[3];

    q = project_queries(d, layer, x);
    q_rotary = net_slice(&d->net, layer, "q_rotary", q, 2, key, rotary);
    q_rotary = decoder_rotate(d, layer, "q_turned", q_rotary);
    q = net_slice(&d->net, layer, "q_plain", q, 2, 0, key);
    x = decoder_project(d, DECODER_KV_DOWN, layer, "kv_down", x, (uint64_t)kv + rotary, c->hidden, false,
                        ACCEL_NO_VALUE);
    k_rotary = net_slice(&d->net, layer, "k_rotary", x, 1, kv, rotary);
    k_rotary = decoder_rotate(d, layer, "k_turned", decoder_split_heads(d, layer, "k_head", k_rotary, 1, rotary));
    x = net_slice(&d->net, layer, "compressed", x, 1, 0, kv);
    x = norm_compressed(d, DECODER_KV_DOWN_NORM, layer, "kv_down_norm", x, kv);
    if (latent->absorbed) {
        q = decoder_chosen_matmul(d, DECODER_KEY_UP, layer, "q_compressed", q, d->head_ids, ACCEL_NO_VALUE, c->heads,
                                  kv, key);
        k = decoder_split_heads(d, layer, "k_plain", x, 1, kv);
        v = x;
    } else {
        x = decoder_project(d, DECODER_KV_UP, layer, "kv", x, (uint64_t)c->heads * (key + value), kv, false,
                            ACCEL_NO_VALUE);
        x = decoder_split_heads(d, layer, "kv_heads", x, c->heads, key + value);
        k = net_slice(&d->net, layer, "k_plain", x, 2, 0, key);
        v = net_slice(&d->net, layer, "v", x, 2, key, value);
        k_rotary = net_node(&d->net, ACCEL_OP_PAD, layer, "k_repeated", &k_rotary, 1, &repeat);
    }
    inputs[0] = join_parts(d, layer, "q_joined", q, q_rotary);
    inputs[1] = decoder_write_cache(d, layer, "k", join_parts(d, layer, "k_joined", k, k_rotary));
    inputs[2] = decoder_write_cache(d, layer, "v", v);
    x = decoder_attend_cached(d, layer, inputs, scale);
    if (latent->absorbed)
        x = decoder_chosen_matmul(d, DECODER_VALUE_UP, layer, "values", x, d->head_ids, ACCEL_NO_VALUE, c->heads, value,
                                  kv);
    return net_reshape(&d->net, layer, "heads", x, 2, flat);
}
