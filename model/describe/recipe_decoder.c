/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of decoders that write text: names and shapes as their checkpoints have them. */
#include <string.h>

#include "model/describe/recipe.h"

static const char *const plain_attention[4] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                               "self_attn.o_proj"};
static const char *const out_attention[4] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                             "self_attn.out_proj"};
static const char *const dense_attention[4] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                               "self_attn.dense"};

static void need_decoder(struct recipe *recipe, enum part part)
{
    const struct shape *s = &recipe->shapes[part];

    recipe_need_layers(recipe, part);
    recipe_need(recipe, part, "vocabulary", s->vocabulary);
}

void recipe_llama(struct recipe *recipe, enum part part, const char *prefix)
{
    const struct shape *s = &recipe->shapes[part];
    uint32_t biases = strcmp(recipe->traits->family, "qwen2") == 0 ? 7u : 0;

    need_decoder(recipe, part);
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%smodel.", prefix);
    recipe_matrix(recipe, "embed_tokens.weight", "embedding", s->vocabulary, s->hidden);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, part, layer, "%smodel.layers.%u.", prefix, layer);
        recipe_norm(recipe, "input_layernorm", s->hidden, false);
        recipe_attention(recipe, plain_attention, s->hidden, biases);
        recipe_norm(recipe, "post_attention_layernorm", s->hidden, false);
        recipe_linear(recipe, "mlp.gate_proj", "ffn.gate", s->ffn, s->hidden, false);
        recipe_linear(recipe, "mlp.up_proj", "ffn.up", s->ffn, s->hidden, false);
        recipe_linear(recipe, "mlp.down_proj", "ffn.down", s->hidden, s->ffn, false);
    }
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%s", prefix);
    recipe_norm(recipe, "model.norm", s->hidden, false);
    if (!recipe->traits->tied)
        recipe_matrix(recipe, "lm_head.weight", "head", s->vocabulary, s->hidden);
}

void recipe_make_llama(struct recipe *recipe)
{
    recipe_llama(recipe, PART_LANGUAGE, "");
}

/* Attention and feed-forward side by side under one norm; every matrix has a bias. */
void recipe_make_phi(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_LANGUAGE];

    need_decoder(recipe, PART_LANGUAGE);
    recipe_at(recipe, PART_LANGUAGE, ACCEL_NO_LAYER, "%s", "");
    recipe_matrix(recipe, "model.embed_tokens.weight", "embedding", s->vocabulary, s->hidden);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_LANGUAGE, layer, "model.layers.%u.", layer);
        recipe_norm(recipe, "input_layernorm", s->hidden, true);
        recipe_attention(recipe, dense_attention, s->hidden, RECIPE_ALL_BIASES);
        recipe_linear(recipe, "mlp.fc1", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "mlp.fc2", "ffn.down", s->hidden, s->ffn, true);
    }
    recipe_at(recipe, PART_LANGUAGE, ACCEL_NO_LAYER, "%s", "");
    recipe_norm(recipe, "model.final_layernorm", s->hidden, true);
    recipe_linear(recipe, "lm_head", "head", s->vocabulary, s->hidden, true);
}

/* Queries of all heads, then the keys, then the values, in one matrix; the head is the embedding. */
void recipe_make_falcon(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_LANGUAGE];
    uint64_t rows = (s->heads + 2 * s->kv_heads) * s->head_size;

    need_decoder(recipe, PART_LANGUAGE);
    recipe_at(recipe, PART_LANGUAGE, ACCEL_NO_LAYER, "%s", "transformer.");
    recipe_matrix(recipe, "word_embeddings.weight", "embedding", s->vocabulary, s->hidden);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_LANGUAGE, layer, "transformer.h.%u.", layer);
        recipe_norm(recipe, "input_layernorm", s->hidden, true);
        recipe_linear(recipe, "self_attention.query_key_value", "attention.q", rows, s->hidden, false);
        recipe_linear(recipe, "self_attention.dense", "attention.o", s->hidden, s->heads * s->head_size, false);
        recipe_linear(recipe, "mlp.dense_h_to_4h", "ffn.up", s->ffn, s->hidden, false);
        recipe_linear(recipe, "mlp.dense_4h_to_h", "ffn.down", s->hidden, s->ffn, false);
    }
    recipe_at(recipe, PART_LANGUAGE, ACCEL_NO_LAYER, "%s", "transformer.");
    recipe_norm(recipe, "ln_f", s->hidden, true);
}

void recipe_make_gpt2(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_LANGUAGE];

    need_decoder(recipe, PART_LANGUAGE);
    recipe_need(recipe, PART_LANGUAGE, "positions", s->positions);
    recipe_at(recipe, PART_LANGUAGE, ACCEL_NO_LAYER, "%s", "transformer.");
    recipe_matrix(recipe, "wte.weight", "embedding", s->vocabulary, s->hidden);
    recipe_matrix(recipe, "wpe.weight", "embedding", s->positions, s->hidden);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_LANGUAGE, layer, "transformer.h.%u.", layer);
        recipe_norm(recipe, "ln_1", s->hidden, true);
        recipe_linear(recipe, "attn.c_attn", "attention.q", 3 * s->hidden, s->hidden, true);
        recipe_linear(recipe, "attn.c_proj", "attention.o", s->hidden, s->hidden, true);
        recipe_norm(recipe, "ln_2", s->hidden, true);
        recipe_linear(recipe, "mlp.c_fc", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "mlp.c_proj", "ffn.down", s->hidden, s->ffn, true);
    }
    recipe_at(recipe, PART_LANGUAGE, ACCEL_NO_LAYER, "%s", "transformer.");
    recipe_norm(recipe, "ln_f", s->hidden, true);
}

void recipe_opt(struct recipe *recipe, enum part part, const char *prefix)
{
    const struct shape *s = &recipe->shapes[part];

    need_decoder(recipe, part);
    recipe_need(recipe, part, "positions", s->positions);
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%smodel.decoder.", prefix);
    recipe_matrix(recipe, "embed_tokens.weight", "embedding", s->vocabulary, s->hidden);
    recipe_matrix(recipe, "embed_positions.weight", "embedding", s->positions, s->hidden);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, part, layer, "%smodel.decoder.layers.%u.", prefix, layer);
        recipe_attention(recipe, out_attention, s->hidden, RECIPE_ALL_BIASES);
        recipe_norm(recipe, "self_attn_layer_norm", s->hidden, true);
        recipe_linear(recipe, "fc1", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "fc2", "ffn.down", s->hidden, s->ffn, true);
        recipe_norm(recipe, "final_layer_norm", s->hidden, true);
    }
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%smodel.decoder.", prefix);
    recipe_norm(recipe, "final_layer_norm", s->hidden, true);
}

void recipe_make_opt(struct recipe *recipe)
{
    recipe_opt(recipe, PART_LANGUAGE, "");
}
