/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of text encoders, and of encoders with a decoder. */

#include "model/describe/recipe.h"

static const char *const bert_attention[4] = {"attention.self.query", "attention.self.key", "attention.self.value",
                                              "attention.output.dense"};
static const char *const bert_crossed[4] = {"crossattention.self.query", "crossattention.self.key",
                                            "crossattention.self.value", "crossattention.output.dense"};

static void bert_layer(struct recipe *recipe, uint64_t crossed)
{
    const struct shape *s = &recipe->shapes[recipe->part];

    recipe_attention(recipe, bert_attention, s->hidden, RECIPE_ALL_BIASES);
    recipe_norm(recipe, "attention.output.LayerNorm", s->hidden, true);
    if (crossed != 0) {
        recipe_attention(recipe, bert_crossed, crossed, RECIPE_ALL_BIASES);
        recipe_norm(recipe, "crossattention.output.LayerNorm", s->hidden, true);
    }
    recipe_linear(recipe, "intermediate.dense", "ffn.up", s->ffn, s->hidden, true);
    recipe_linear(recipe, "output.dense", "ffn.down", s->hidden, s->ffn, true);
    recipe_norm(recipe, "output.LayerNorm", s->hidden, true);
}

void recipe_bert(struct recipe *recipe, enum part part, const char *prefix, uint64_t crossed)
{
    const struct shape *s = &recipe->shapes[part];

    recipe_need_layers(recipe, part);
    recipe_need(recipe, part, "vocabulary", s->vocabulary);
    recipe_need(recipe, part, "positions", s->positions);
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%sembeddings.", prefix);
    recipe_matrix(recipe, "word_embeddings.weight", "embedding", s->vocabulary, s->hidden);
    recipe_matrix(recipe, "position_embeddings.weight", "embedding", s->positions, s->hidden);
    if (s->types != 0)
        recipe_matrix(recipe, "token_type_embeddings.weight", "embedding", s->types, s->hidden);
    recipe_norm(recipe, "LayerNorm", s->hidden, true);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, part, layer, "%sencoder.layer.%u.", prefix, layer);
        bert_layer(recipe, crossed);
    }
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%s", prefix);
}

void recipe_make_bert(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_TEXT];

    recipe_bert(recipe, PART_TEXT, "", 0);
    recipe_linear(recipe, "pooler.dense", "other", s->hidden, s->hidden, true);
    if (recipe->traits->classes != 0)
        recipe_linear(recipe, "classifier", "head", recipe->traits->classes, s->hidden, true);
}

static void t5_stack(struct recipe *recipe, enum part part, const char *name)
{
    static const char *const self[4] = {"layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v",
                                        "layer.0.SelfAttention.o"};
    static const char *const crossed[4] = {"layer.1.EncDecAttention.q", "layer.1.EncDecAttention.k",
                                           "layer.1.EncDecAttention.v", "layer.1.EncDecAttention.o"};
    const struct shape *s = &recipe->shapes[part];
    bool decodes = part == PART_DECODER;

    recipe_need_layers(recipe, part);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, part, layer, "%s.block.%u.", name, layer);
        recipe_attention(recipe, self, s->hidden, 0);
        if (layer == 0)
            recipe_matrix(recipe, "layer.0.SelfAttention.relative_attention_bias.weight", "embedding",
                          recipe->traits->buckets, s->heads);
        recipe_norm(recipe, "layer.0.layer_norm", s->hidden, false);
        if (decodes) {
            recipe_attention(recipe, crossed, recipe->shapes[PART_TEXT].hidden, 0);
            recipe_norm(recipe, "layer.1.layer_norm", s->hidden, false);
        }
        recipe_linear(recipe, decodes ? "layer.2.DenseReluDense.wi" : "layer.1.DenseReluDense.wi", "ffn.up", s->ffn,
                      s->hidden, false);
        recipe_linear(recipe, decodes ? "layer.2.DenseReluDense.wo" : "layer.1.DenseReluDense.wo", "ffn.down",
                      s->hidden, s->ffn, false);
        recipe_norm(recipe, decodes ? "layer.2.layer_norm" : "layer.1.layer_norm", s->hidden, false);
    }
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%s.", name);
    recipe_norm(recipe, "final_layer_norm", s->hidden, false);
}

void recipe_make_t5(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_DECODER];

    recipe_need(recipe, PART_NONE, "buckets", recipe->traits->buckets);
    recipe_need(recipe, PART_DECODER, "vocabulary", s->vocabulary);
    recipe_at(recipe, PART_TEXT, ACCEL_NO_LAYER, "%s", "");
    recipe_matrix(recipe, "shared.weight", "embedding", s->vocabulary, s->hidden);
    t5_stack(recipe, PART_TEXT, "encoder");
    t5_stack(recipe, PART_DECODER, "decoder");
    recipe_at(recipe, PART_DECODER, ACCEL_NO_LAYER, "%s", "");
    if (!recipe->traits->tied)
        recipe_matrix(recipe, "lm_head.weight", "head", s->vocabulary, s->hidden);
}
