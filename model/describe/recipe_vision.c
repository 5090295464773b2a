/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of models that see: transformers over patches, pyramids of convolutions, detection. */
#include <stdio.h>

#include "model/describe/recipe.h"

static void conv(struct recipe *recipe, const char *name, uint64_t out, uint64_t in, uint64_t edge, bool bias)
{
    recipe_linear(recipe, name, "conv", out, in * edge * edge, bias);
}

static void need_patches(struct recipe *recipe, const struct shape *s)
{
    recipe_need_layers(recipe, PART_VISION);
    recipe_need(recipe, PART_VISION, "patch", s->patch);
    recipe_need(recipe, PART_VISION, "positions", s->positions);
}

/* ---- transformers over patches ---- */

void recipe_make_vit(struct recipe *recipe)
{
    static const char *const names[4] = {"attention.attention.query", "attention.attention.key",
                                         "attention.attention.value", "attention.output.dense"};
    const struct shape *s = &recipe->shapes[PART_VISION];

    need_patches(recipe, s);
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", "vit.embeddings.");
    recipe_matrix(recipe, "cls_token", "embedding", 1, s->hidden);
    recipe_matrix(recipe, "position_embeddings", "embedding", s->positions, s->hidden);
    conv(recipe, "patch_embeddings.projection", s->hidden, s->channels, s->patch, true);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_VISION, layer, "vit.encoder.layer.%u.", layer);
        recipe_norm(recipe, "layernorm_before", s->hidden, true);
        recipe_attention(recipe, names, s->hidden, RECIPE_ALL_BIASES);
        recipe_norm(recipe, "layernorm_after", s->hidden, true);
        recipe_linear(recipe, "intermediate.dense", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "output.dense", "ffn.down", s->hidden, s->ffn, true);
    }
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", "");
    recipe_norm(recipe, "vit.layernorm", s->hidden, true);
    if (recipe->traits->classes != 0)
        recipe_linear(recipe, "classifier", "head", recipe->traits->classes, s->hidden, true);
}

void recipe_clip_layer(struct recipe *recipe)
{
    static const char *const names[4] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                         "self_attn.out_proj"};
    const struct shape *s = &recipe->shapes[recipe->part];

    recipe_norm(recipe, "layer_norm1", s->hidden, true);
    recipe_attention(recipe, names, s->hidden, RECIPE_ALL_BIASES);
    recipe_norm(recipe, "layer_norm2", s->hidden, true);
    recipe_linear(recipe, "mlp.fc1", "ffn.up", s->ffn, s->hidden, true);
    recipe_linear(recipe, "mlp.fc2", "ffn.down", s->hidden, s->ffn, true);
}

/* X-CLIP's frames exchange messages in every layer. */
static void message_layer(struct recipe *recipe)
{
    static const char *const names[4] = {"message_attn.q_proj", "message_attn.k_proj", "message_attn.v_proj",
                                         "message_attn.out_proj"};
    const struct shape *s = &recipe->shapes[recipe->part];

    recipe_linear(recipe, "message_fc", "other", s->hidden, s->hidden, true);
    recipe_norm(recipe, "message_ln", s->hidden, true);
    recipe_attention(recipe, names, s->hidden, RECIPE_ALL_BIASES);
}

void recipe_clip_vision(struct recipe *recipe, const char *prefix, const char *first_norm, bool messages)
{
    const struct shape *s = &recipe->shapes[PART_VISION];

    need_patches(recipe, s);
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", prefix);
    recipe_matrix(recipe, "embeddings.class_embedding", "embedding", 1, s->hidden);
    conv(recipe, "embeddings.patch_embedding", s->hidden, s->channels, s->patch, false);
    recipe_matrix(recipe, "embeddings.position_embedding.weight", "embedding", s->positions, s->hidden);
    recipe_norm(recipe, first_norm, s->hidden, true);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_VISION, layer, "%sencoder.layers.%u.", prefix, layer);
        recipe_clip_layer(recipe);
        if (messages)
            message_layer(recipe);
    }
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", prefix);
    recipe_norm(recipe, "post_layernorm", s->hidden, true);
}

void recipe_blip_vision(struct recipe *recipe, const char *prefix)
{
    const struct shape *s = &recipe->shapes[PART_VISION];

    need_patches(recipe, s);
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", prefix);
    recipe_matrix(recipe, "embeddings.class_embedding", "embedding", 1, s->hidden);
    recipe_matrix(recipe, "embeddings.position_embedding", "embedding", s->positions, s->hidden);
    conv(recipe, "embeddings.patch_embedding", s->hidden, s->channels, s->patch, true);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_VISION, layer, "%sencoder.layers.%u.", prefix, layer);
        recipe_norm(recipe, "layer_norm1", s->hidden, true);
        recipe_linear(recipe, "self_attn.qkv", "attention.q", 3 * s->hidden, s->hidden, true);
        recipe_linear(recipe, "self_attn.projection", "attention.o", s->hidden, s->hidden, true);
        recipe_norm(recipe, "layer_norm2", s->hidden, true);
        recipe_linear(recipe, "mlp.fc1", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "mlp.fc2", "ffn.down", s->hidden, s->ffn, true);
    }
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", prefix);
    recipe_norm(recipe, "post_layernorm", s->hidden, true);
}

/* ---- pyramids ---- */

static void conv_norm(struct recipe *recipe, const char *name, uint64_t out, uint64_t in, uint64_t edge)
{
    char whole[RECIPE_PREFIX / 2];

    snprintf(whole, sizeof(whole), "%s.convolution", name);
    conv(recipe, whole, out, in, edge, false);
    snprintf(whole, sizeof(whole), "%s.normalization", name);
    recipe_norm(recipe, whole, out, true);
}

static void need_pyramid(struct recipe *recipe, const struct shape *s)
{
    recipe_need(recipe, PART_VISION, "stages", s->stages.count);
    recipe_need(recipe, PART_VISION, "widths", s->widths.count);
    if (s->stages.count != s->widths.count && recipe->code == ACCEL_OK)
        recipe->code = accel_error_set(recipe->error, ACCEL_E_CORRUPT,
                                       "%s: vision.stages and vision.widths differ in length", recipe->d->origin);
}

/* Blocks of three convolutions, the middle one a fourth as wide. */
static void recipe_resnet(struct recipe *recipe, const char *prefix, bool layered)
{
    const struct shape *s = &recipe->shapes[PART_VISION];
    uint64_t in = s->stem;
    uint32_t layer = 0;

    need_pyramid(recipe, s);
    recipe_need(recipe, PART_VISION, "stem", s->stem);
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", prefix);
    conv_norm(recipe, "embedder.embedder", s->stem, s->channels, 7);
    for (uint64_t stage = 0; stage < s->stages.count; stage++)
        for (uint64_t block = 0; block < s->stages.items[stage] && recipe->code == ACCEL_OK; block++, layer++) {
            uint64_t out = s->widths.items[stage];

            recipe_at(recipe, PART_VISION, layered ? layer : ACCEL_NO_LAYER, "%sencoder.stages.%llu.layers.%llu.",
                      prefix, (unsigned long long)stage, (unsigned long long)block);
            if (block == 0)
                conv_norm(recipe, "shortcut", out, in, 1);
            conv_norm(recipe, "layer.0", out / 4, in, 1);
            conv_norm(recipe, "layer.1", out / 4, out / 4, 3);
            conv_norm(recipe, "layer.2", out, out / 4, 1);
            in = out;
        }
}

void recipe_make_resnet(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_VISION];

    recipe_resnet(recipe, "resnet.", true);
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", "");
    if (recipe->traits->classes != 0 && recipe->code == ACCEL_OK)
        recipe_linear(recipe, "classifier.1", "head", recipe->traits->classes, s->widths.items[s->widths.count - 1],
                      true);
}

static void convnext_block(struct recipe *recipe, uint64_t width)
{
    conv(recipe, "dwconv", width, 1, 7, true);
    recipe_norm(recipe, "layernorm", width, true);
    recipe_linear(recipe, "pwconv1", "ffn.up", 4 * width, width, true);
    recipe_linear(recipe, "pwconv2", "ffn.down", width, 4 * width, true);
    recipe_vector(recipe, "layer_scale_parameter", width);
}

void recipe_make_convnext(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_VISION];
    uint64_t width = s->widths.items[0];
    uint32_t layer = 0;

    need_pyramid(recipe, s);
    recipe_need(recipe, PART_VISION, "patch", s->patch);
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", "convnext.");
    conv(recipe, "embeddings.patch_embeddings", width, s->channels, s->patch, true);
    recipe_norm(recipe, "embeddings.layernorm", width, true);
    for (uint64_t stage = 0; stage < s->stages.count; stage++) {
        if (stage > 0) {
            recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "convnext.encoder.stages.%llu.downsampling_layer.",
                      (unsigned long long)stage);
            recipe_norm(recipe, "0", width, true);
            conv(recipe, "1", s->widths.items[stage], width, 2, true);
        }
        width = s->widths.items[stage];
        for (uint64_t block = 0; block < s->stages.items[stage] && recipe->code == ACCEL_OK; block++) {
            recipe_at(recipe, PART_VISION, layer++, "convnext.encoder.stages.%llu.layers.%llu.",
                      (unsigned long long)stage, (unsigned long long)block);
            convnext_block(recipe, width);
        }
    }
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", "");
    recipe_norm(recipe, "convnext.layernorm", width, true);
    if (recipe->traits->classes != 0)
        recipe_linear(recipe, "classifier", "head", recipe->traits->classes, width, true);
}

/* ---- detection ---- */

static void detr_layer(struct recipe *recipe, bool crossed)
{
    static const char *const self[4] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                        "self_attn.out_proj"};
    static const char *const other[4] = {"encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj",
                                         "encoder_attn.out_proj"};
    const struct shape *s = &recipe->shapes[recipe->part];

    recipe_attention(recipe, self, s->hidden, RECIPE_ALL_BIASES);
    recipe_norm(recipe, "self_attn_layer_norm", s->hidden, true);
    if (crossed) {
        recipe_attention(recipe, other, recipe->shapes[PART_VISION].hidden, RECIPE_ALL_BIASES);
        recipe_norm(recipe, "encoder_attn_layer_norm", s->hidden, true);
    }
    recipe_linear(recipe, "fc1", "ffn.up", s->ffn, s->hidden, true);
    recipe_linear(recipe, "fc2", "ffn.down", s->hidden, s->ffn, true);
    recipe_norm(recipe, "final_layer_norm", s->hidden, true);
}

void recipe_make_detr(struct recipe *recipe)
{
    const struct shape *v = &recipe->shapes[PART_VISION], *d = &recipe->shapes[PART_DECODER];

    recipe_need(recipe, PART_VISION, "layers", v->layers);
    recipe_need(recipe, PART_DECODER, "layers", d->layers);
    recipe_need(recipe, PART_DECODER, "queries", d->queries);
    recipe_need(recipe, PART_NONE, "classes", recipe->traits->classes);
    recipe_resnet(recipe, "model.backbone.conv_encoder.model.", false);
    if (recipe->code != ACCEL_OK)
        return;
    recipe_at(recipe, PART_VISION, ACCEL_NO_LAYER, "%s", "model.");
    conv(recipe, "input_projection", v->hidden, v->widths.items[v->widths.count - 1], 1, true);
    for (uint32_t layer = 0; layer < v->layers; layer++) {
        recipe_at(recipe, PART_VISION, layer, "model.encoder.layers.%u.", layer);
        detr_layer(recipe, false);
    }
    for (uint32_t layer = 0; layer < d->layers; layer++) {
        recipe_at(recipe, PART_DECODER, layer, "model.decoder.layers.%u.", layer);
        detr_layer(recipe, true);
    }
    recipe_at(recipe, PART_DECODER, ACCEL_NO_LAYER, "%s", "");
    recipe_norm(recipe, "model.decoder.layernorm", d->hidden, true);
    recipe_matrix(recipe, "model.query_position_embeddings.weight", "embedding", d->queries, d->hidden);
    recipe_linear(recipe, "class_labels_classifier", "head", recipe->traits->classes + 1, d->hidden, true);
    recipe_linear(recipe, "bbox_predictor.layers.0", "head", d->hidden, d->hidden, true);
    recipe_linear(recipe, "bbox_predictor.layers.1", "head", d->hidden, d->hidden, true);
    recipe_linear(recipe, "bbox_predictor.layers.2", "head", 4, d->hidden, true);
}
