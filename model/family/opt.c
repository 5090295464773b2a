/* SPDX-License-Identifier: Apache-2.0 */
/* opt: learned positions that begin in row 2, and a table of embeddings that may be narrower than the layers. */

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "model.decoder.embed_tokens",
    [DECODER_POSITIONS] = "model.decoder.embed_positions",
    [DECODER_PROJECT_IN] = "model.decoder.project_in",
    [DECODER_FINAL_NORM] = "model.decoder.final_layer_norm",
    [DECODER_PROJECT_OUT] = "model.decoder.project_out",
    [DECODER_ATTENTION_NORM] = "model.decoder.layers.%u.self_attn_layer_norm",
    [DECODER_QUERY] = "model.decoder.layers.%u.self_attn.q_proj",
    [DECODER_KEY] = "model.decoder.layers.%u.self_attn.k_proj",
    [DECODER_VALUE] = "model.decoder.layers.%u.self_attn.v_proj",
    [DECODER_ATTENTION_OUT] = "model.decoder.layers.%u.self_attn.out_proj",
    [DECODER_FFN_NORM] = "model.decoder.layers.%u.final_layer_norm",
    [DECODER_FFN_UP] = "model.decoder.layers.%u.fc1",
    [DECODER_FFN_DOWN] = "model.decoder.layers.%u.fc2",
};

static int32_t adapt(struct config_reader *reader)
{
    struct decoder_form *form = &reader->config->form;
    const bool before = config_flag(reader, "do_layer_norm_before", true);

    if (!config_flag(reader, "enable_bias", true))
        form->q_bias = form->k_bias = form->v_bias = form->o_bias = form->ffn_bias = FORM_ABSENT;
    form->norm_place = before ? FORM_NORM_BEFORE : FORM_NORM_SUM;
    form->no_final_norm = config_flag(reader, "_remove_final_layer_norm", false) || !before;
    if (form->embedding_width == reader->config->hidden)
        form->embedding_width = 0;
    return reader->code;
}

static const struct family_key opt_keys[] = {
    INTEGER("max_position_embeddings", 2048),
    READS("ffn_dim"),
    READS("activation_function"),
    READS("word_embed_proj_dim"),
    FLAG("do_layer_norm_before", 1),
    FLAG("_remove_final_layer_norm", 0),
    FLAG("enable_bias", 1),
    ONLY_FLAG("layer_norm_elementwise_affine", 1),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_opt = {
    .architecture = "opt",
    .activation = "relu",
    .keys = KEY_EMBEDDING_WIDTH,
    .names = names,
    .json_keys = opt_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .position = FORM_LEARNED,
             .position_first = 2,
             .ffn = FORM_PLAIN,
             ATTENTION_BIASES(FORM_PRESENT),
             .ffn_bias = FORM_PRESENT,
             .output = FORM_IF_STORED,
             .norm_epsilon = 1e-5},
    .adapt = adapt,
};
