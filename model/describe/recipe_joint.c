/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of models of several components. */
#include <string.h>

#include "model/describe/recipe.h"

static void at_top(struct recipe *recipe, enum part part)
{
    recipe_at(recipe, part, ACCEL_NO_LAYER, "%s", "");
}

/* Both towers end in the space where they are compared. */
static void projections(struct recipe *recipe)
{
    uint64_t width = recipe->traits->projection;

    recipe_need(recipe, PART_NONE, "projection", width);
    at_top(recipe, PART_VISION);
    recipe_linear(recipe, "visual_projection", "other", width, recipe->shapes[PART_VISION].hidden, false);
    at_top(recipe, PART_TEXT);
    recipe_linear(recipe, "text_projection", "other", width, recipe->shapes[PART_TEXT].hidden, false);
    at_top(recipe, PART_PROJECTOR);
    recipe_vector(recipe, "logit_scale", 1);
}

static void recipe_clip_text(struct recipe *recipe, const char *prefix)
{
    const struct shape *s = &recipe->shapes[PART_TEXT];

    recipe_need_layers(recipe, PART_TEXT);
    recipe_need(recipe, PART_TEXT, "vocabulary", s->vocabulary);
    recipe_need(recipe, PART_TEXT, "positions", s->positions);
    recipe_at(recipe, PART_TEXT, ACCEL_NO_LAYER, "%sembeddings.", prefix);
    recipe_matrix(recipe, "token_embedding.weight", "embedding", s->vocabulary, s->hidden);
    recipe_matrix(recipe, "position_embedding.weight", "embedding", s->positions, s->hidden);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_TEXT, layer, "%sencoder.layers.%u.", prefix, layer);
        recipe_clip_layer(recipe);
    }
    recipe_at(recipe, PART_TEXT, ACCEL_NO_LAYER, "%s", prefix);
    recipe_norm(recipe, "final_layer_norm", s->hidden, true);
}

void recipe_make_clip(struct recipe *recipe)
{
    recipe_clip_vision(recipe, "vision_model.", "pre_layrnorm", false);
    recipe_clip_text(recipe, "text_model.");
    projections(recipe);
}

/* A decoder of its own refines the texts by what is seen. */
static void xclip_prompt(struct recipe *recipe, uint32_t layer)
{
    uint64_t width = recipe->traits->projection;

    recipe_at(recipe, PART_PROJECTOR, ACCEL_NO_LAYER, "prompts_generator.decoder.%u.", layer);
    recipe_linear(recipe, "cross_attn.q_proj", "attention.q", width, width, false);
    recipe_linear(recipe, "cross_attn.k_proj", "attention.k", width, width, false);
    recipe_linear(recipe, "cross_attn.v_proj", "attention.v", width, width, false);
    recipe_linear(recipe, "cross_attn.proj", "attention.o", width, width, true);
    recipe_norm(recipe, "norm1", width, true);
    recipe_norm(recipe, "norm3", width, true);
    recipe_linear(recipe, "mlp.0", "ffn.up", 4 * width, width, true);
    recipe_linear(recipe, "mlp.3", "ffn.down", width, 4 * width, true);
}

void recipe_make_xclip(struct recipe *recipe)
{
    const struct shape *v = &recipe->shapes[PART_VISION], *p = &recipe->shapes[PART_PROJECTOR];
    uint64_t width = recipe->traits->projection;

    recipe_need(recipe, PART_PROJECTOR, "layers", p->layers);
    recipe_need(recipe, PART_PROJECTOR, "hidden", p->hidden);
    recipe_need(recipe, PART_PROJECTOR, "heads", p->heads);
    recipe_need(recipe, PART_PROJECTOR, "prompts", p->prompts);
    recipe_need(recipe, PART_VISION, "frames", v->frames);
    recipe_clip_vision(recipe, "vision_model.", "pre_layernorm", true);
    recipe_clip_text(recipe, "text_model.");
    projections(recipe);
    recipe_at(recipe, PART_PROJECTOR, ACCEL_NO_LAYER, "%s", "mit.");
    recipe_matrix(recipe, "position_embedding", "embedding", v->frames, p->hidden);
    for (uint32_t layer = 0; layer < p->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_PROJECTOR, layer, "mit.encoder.layers.%u.", layer);
        recipe_clip_layer(recipe);
    }
    for (uint32_t layer = 0; layer < p->prompts && recipe->code == ACCEL_OK; layer++)
        xclip_prompt(recipe, layer);
    at_top(recipe, PART_PROJECTOR);
    recipe_norm(recipe, "prompts_generator.layernorm", width, true);
    recipe_vector(recipe, "prompts_generator.alpha", width);
    recipe_norm(recipe, "prompts_visual_layernorm", v->hidden, true);
    recipe_matrix(recipe, "prompts_visual_projection", "other", v->hidden, width);
}

/* Captioning models: a vision encoder and a decoder that attends to its output. */
void recipe_make_blip(struct recipe *recipe)
{
    const struct shape *d = &recipe->shapes[PART_DECODER];

    recipe_blip_vision(recipe, "vision_model.");
    recipe_bert(recipe, PART_DECODER, "text_decoder.bert.", recipe->shapes[PART_VISION].hidden);
    recipe_at(recipe, PART_DECODER, ACCEL_NO_LAYER, "%s", "text_decoder.cls.predictions.");
    recipe_linear(recipe, "transform.dense", "other", d->hidden, d->hidden, true);
    recipe_norm(recipe, "transform.LayerNorm", d->hidden, true);
    recipe_vector(recipe, "bias", d->vocabulary);
    if (!recipe->traits->tied)
        recipe_matrix(recipe, "decoder.weight", "head", d->vocabulary, d->hidden);
}

/* A transformer whose queries are learned and ask, in every second layer, what is seen. */
static void query_transformer(struct recipe *recipe)
{
    static const char *const self[4] = {"attention.attention.query", "attention.attention.key",
                                        "attention.attention.value", "attention.output.dense"};
    static const char *const crossed[4] = {"crossattention.attention.query", "crossattention.attention.key",
                                           "crossattention.attention.value", "crossattention.output.dense"};
    const struct shape *s = &recipe->shapes[PART_PROJECTOR];

    recipe_at(recipe, PART_PROJECTOR, ACCEL_NO_LAYER, "%s", "");
    recipe_matrix(recipe, "query_tokens", "embedding", s->queries, s->hidden);
    recipe_norm(recipe, "qformer.layernorm", s->hidden, true);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_PROJECTOR, layer, "qformer.encoder.layer.%u.", layer);
        recipe_attention(recipe, self, s->hidden, RECIPE_ALL_BIASES);
        recipe_norm(recipe, "attention.output.LayerNorm", s->hidden, true);
        if (layer % 2 == 0) {
            recipe_attention(recipe, crossed, recipe->shapes[PART_VISION].hidden, RECIPE_ALL_BIASES);
            recipe_norm(recipe, "crossattention.output.LayerNorm", s->hidden, true);
        }
        recipe_linear(recipe, "intermediate_query.dense", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "output_query.dense", "ffn.down", s->hidden, s->ffn, true);
        recipe_norm(recipe, "output_query.LayerNorm", s->hidden, true);
    }
}

void recipe_make_blip2(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_PROJECTOR];

    recipe_need_layers(recipe, PART_PROJECTOR);
    recipe_need(recipe, PART_PROJECTOR, "queries", s->queries);
    recipe_blip_vision(recipe, "vision_model.");
    query_transformer(recipe);
    at_top(recipe, PART_PROJECTOR);
    recipe_linear(recipe, "language_projection", "other", recipe->shapes[PART_LANGUAGE].hidden, s->hidden, true);
    recipe_decoder(recipe, PART_LANGUAGE, "opt", "language_model.");
}

void recipe_make_llava(struct recipe *recipe)
{
    uint64_t seen = recipe->shapes[PART_VISION].hidden, width = recipe->shapes[PART_LANGUAGE].hidden;

    recipe_clip_vision(recipe, "vision_tower.vision_model.", "pre_layrnorm", false);
    at_top(recipe, PART_PROJECTOR);
    recipe_linear(recipe, "multi_modal_projector.linear_1", "other", width, seen, true);
    recipe_linear(recipe, "multi_modal_projector.linear_2", "other", width, width, true);
    if (strcmp(recipe->traits->family, "llava_next") == 0)
        recipe_matrix(recipe, "image_newline", "embedding", 1, width);
    recipe_decoder(recipe, PART_LANGUAGE, "llama", "language_model.");
}

static void clap_projection(struct recipe *recipe, enum part part, const char *first, const char *second,
                            uint64_t hidden)
{
    uint64_t width = recipe->traits->projection;

    at_top(recipe, part);
    recipe_linear(recipe, first, "other", width, hidden, true);
    recipe_linear(recipe, second, "other", width, width, true);
}

void recipe_make_clap(struct recipe *recipe)
{
    const struct shape *t = &recipe->shapes[PART_TEXT], *a = &recipe->shapes[PART_AUDIO];

    recipe_need(recipe, PART_NONE, "projection", recipe->traits->projection);
    recipe_need(recipe, PART_AUDIO, "hidden", a->hidden);
    recipe_clap_audio(recipe);
    clap_projection(recipe, PART_AUDIO, "audio_projection.linear1", "audio_projection.linear2", a->hidden);
    recipe_bert(recipe, PART_TEXT, "text_model.", 0);
    recipe_linear(recipe, "pooler.dense", "other", t->hidden, t->hidden, true);
    clap_projection(recipe, PART_TEXT, "text_projection.linear1", "text_projection.linear2", t->hidden);
    at_top(recipe, PART_PROJECTOR);
    recipe_vector(recipe, "logit_scale_a", 1);
    recipe_vector(recipe, "logit_scale_t", 1);
}
