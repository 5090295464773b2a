/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of models that hear. */

#include "model/describe/recipe.h"

static const char *const attention[4] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                         "self_attn.out_proj"};

/* Keys have no bias: it would add the same to all scores of a query. */
#define ALL_BUT_KEYS 13u

static void whisper_layers(struct recipe *recipe, enum part part, const char *name)
{
    static const char *const crossed[4] = {"encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj",
                                           "encoder_attn.out_proj"};
    const struct shape *s = &recipe->shapes[part];

    recipe_need_layers(recipe, part);
    recipe_need(recipe, part, "positions", s->positions);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, part, layer, "model.%s.layers.%u.", name, layer);
        recipe_attention(recipe, attention, s->hidden, ALL_BUT_KEYS);
        recipe_norm(recipe, "self_attn_layer_norm", s->hidden, true);
        if (part == PART_DECODER) {
            recipe_attention(recipe, crossed, recipe->shapes[PART_AUDIO].hidden, ALL_BUT_KEYS);
            recipe_norm(recipe, "encoder_attn_layer_norm", s->hidden, true);
        }
        recipe_linear(recipe, "fc1", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "fc2", "ffn.down", s->hidden, s->ffn, true);
        recipe_norm(recipe, "final_layer_norm", s->hidden, true);
    }
    recipe_at(recipe, part, ACCEL_NO_LAYER, "model.%s.", name);
    recipe_matrix(recipe, "embed_positions.weight", "embedding", s->positions, s->hidden);
    recipe_norm(recipe, "layer_norm", s->hidden, true);
}

void recipe_make_whisper(struct recipe *recipe)
{
    const struct shape *a = &recipe->shapes[PART_AUDIO], *d = &recipe->shapes[PART_DECODER];

    recipe_need(recipe, PART_AUDIO, "mels", a->mels);
    recipe_need(recipe, PART_DECODER, "vocabulary", d->vocabulary);
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s", "model.encoder.");
    recipe_linear(recipe, "conv1", "conv", a->hidden, 3 * a->mels, true);
    recipe_linear(recipe, "conv2", "conv", a->hidden, 3 * a->hidden, true);
    whisper_layers(recipe, PART_AUDIO, "encoder");
    recipe_at(recipe, PART_DECODER, ACCEL_NO_LAYER, "%s", "model.decoder.");
    recipe_matrix(recipe, "embed_tokens.weight", "embedding", d->vocabulary, d->hidden);
    whisper_layers(recipe, PART_DECODER, "decoder");
}

static void wav2vec2_features(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_AUDIO];
    uint64_t in = 1;

    recipe_need(recipe, PART_AUDIO, "widths", s->widths.count);
    recipe_need(recipe, PART_AUDIO, "kernels", s->kernels.count);
    if (recipe->code == ACCEL_OK && s->widths.count != s->kernels.count)
        recipe->code = accel_error_set(recipe->error, ACCEL_E_CORRUPT,
                                       "%s: audio.widths and audio.kernels differ in length", recipe->d->origin);
    for (uint32_t i = 0; i < s->widths.count && recipe->code == ACCEL_OK; i++) {
        recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "wav2vec2.feature_extractor.conv_layers.%u.", i);
        recipe_linear(recipe, "conv", "conv", s->widths.items[i], in * s->kernels.items[i], false);
        in = s->widths.items[i];
        if (i == 0)
            recipe_norm(recipe, "layer_norm", in, true);
    }
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s", "wav2vec2.");
    recipe_matrix(recipe, "masked_spec_embed", "embedding", 1, s->hidden);
    recipe_norm(recipe, "feature_projection.layer_norm", in, true);
    recipe_linear(recipe, "feature_projection.projection", "other", s->hidden, in, true);
}

/* The shape whose first convolution alone is normalised, over groups. */
void recipe_make_wav2vec2(struct recipe *recipe)
{
    static const char *const names[4] = {"attention.q_proj", "attention.k_proj", "attention.v_proj",
                                         "attention.out_proj"};
    const struct shape *s = &recipe->shapes[PART_AUDIO];

    recipe_need_layers(recipe, PART_AUDIO);
    recipe_need(recipe, PART_AUDIO, "kernel", s->kernel);
    recipe_need(recipe, PART_AUDIO, "groups", s->groups);
    wav2vec2_features(recipe);
    if (recipe->code != ACCEL_OK)
        return;
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s", "wav2vec2.encoder.");
    recipe_vector(recipe, "pos_conv_embed.conv.bias", s->hidden);
    recipe_matrix(recipe, "pos_conv_embed.conv.weight_g", "conv", 1, s->kernel);
    recipe_matrix(recipe, "pos_conv_embed.conv.weight_v", "conv", s->hidden, s->hidden / s->groups * s->kernel);
    for (uint32_t layer = 0; layer < s->layers && recipe->code == ACCEL_OK; layer++) {
        recipe_at(recipe, PART_AUDIO, layer, "wav2vec2.encoder.layers.%u.", layer);
        recipe_attention(recipe, names, s->hidden, RECIPE_ALL_BIASES);
        recipe_norm(recipe, "layer_norm", s->hidden, true);
        recipe_linear(recipe, "feed_forward.intermediate_dense", "ffn.up", s->ffn, s->hidden, true);
        recipe_linear(recipe, "feed_forward.output_dense", "ffn.down", s->hidden, s->ffn, true);
        recipe_norm(recipe, "final_layer_norm", s->hidden, true);
    }
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s", "");
    recipe_norm(recipe, "wav2vec2.encoder.layer_norm", s->hidden, true);
    if (s->vocabulary != 0)
        recipe_linear(recipe, "lm_head", "head", s->vocabulary, s->hidden, true);
}

/* ---- CLAP's pyramid of windows over a spectrogram ---- */

static void clap_block(struct recipe *recipe, uint64_t width, uint64_t heads)
{
    const struct shape *s = &recipe->shapes[PART_AUDIO];
    uint64_t edge = 2 * s->window - 1, inside = s->ffn * width / s->hidden;

    recipe_norm(recipe, "layernorm_before", width, true);
    recipe_linear(recipe, "attention.self.query", "attention.q", width, width, true);
    recipe_linear(recipe, "attention.self.key", "attention.k", width, width, true);
    recipe_linear(recipe, "attention.self.value", "attention.v", width, width, true);
    recipe_linear(recipe, "attention.output.dense", "attention.o", width, width, true);
    recipe_matrix(recipe, "attention.self.relative_position_bias_table", "embedding", edge * edge, heads);
    recipe_norm(recipe, "layernorm_after", width, true);
    recipe_linear(recipe, "intermediate.dense", "ffn.up", inside, width, true);
    recipe_linear(recipe, "output.dense", "ffn.down", width, inside, true);
}

static void clap_stage(struct recipe *recipe, uint64_t stage, uint64_t width, uint32_t *layer)
{
    const struct shape *s = &recipe->shapes[PART_AUDIO];
    const char *prefix = "audio_model.audio_encoder.layers.";

    for (uint64_t block = 0; block < s->stages.items[stage] && recipe->code == ACCEL_OK; block++) {
        recipe_at(recipe, PART_AUDIO, (*layer)++, "%s%llu.blocks.%llu.", prefix, (unsigned long long)stage,
                  (unsigned long long)block);
        clap_block(recipe, width, s->stage_heads.items[stage]);
    }
    if (stage + 1 == s->stages.count)
        return;
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s%llu.downsample.", prefix, (unsigned long long)stage);
    recipe_norm(recipe, "norm", 4 * width, true);
    recipe_linear(recipe, "reduction", "other", 2 * width, 4 * width, false);
}

/* hidden and ffn are those of the last stage; every stage has the same ratio of them. */
void recipe_clap_audio(struct recipe *recipe)
{
    const struct shape *s = &recipe->shapes[PART_AUDIO];
    uint64_t width = s->stem;
    uint32_t layer = 0;

    recipe_need(recipe, PART_AUDIO, "stages", s->stages.count);
    recipe_need(recipe, PART_AUDIO, "stage_heads", s->stage_heads.count);
    recipe_need(recipe, PART_AUDIO, "stem", s->stem);
    recipe_need(recipe, PART_AUDIO, "window", s->window);
    recipe_need(recipe, PART_AUDIO, "mels", s->mels);
    recipe_need(recipe, PART_AUDIO, "ffn", s->ffn);
    recipe_need(recipe, PART_AUDIO, "hidden", s->hidden);
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s", "audio_model.audio_encoder.");
    recipe_norm(recipe, "batch_norm", s->mels, true);
    recipe_linear(recipe, "patch_embed.proj", "conv", width, s->patch * s->patch, true);
    recipe_norm(recipe, "patch_embed.norm", width, true);
    for (uint64_t stage = 0; stage < s->stages.count && recipe->code == ACCEL_OK; stage++, width *= 2)
        clap_stage(recipe, stage, width, &layer);
    recipe_at(recipe, PART_AUDIO, ACCEL_NO_LAYER, "%s", "audio_model.audio_encoder.");
    recipe_norm(recipe, "norm", width / 2, true);
}
