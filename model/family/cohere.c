/* SPDX-License-Identifier: Apache-2.0 */
/* cohere (command-r): one norm without bias for both branches, neighbouring rotary pairs, scaled logits. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static int32_t adapt(struct config_reader *reader)
{
    /* Command R states 8192 positions, and here the length that it was trained for. */
    static const struct config_row length = {
        {"model_max_length"}, {NULL}, MEMBER(context), CONFIG_TO_U32, false, 1, UINT32_MAX};
    bool norms = false, found;
    int32_t code = config_find_bool(reader, "use_qk_norm", &norms, &found);

    if (found)
        reader->config->form.qk_norm_presence = norms ? FORM_PRESENT : FORM_ABSENT;
    if (code == ACCEL_OK)
        code = config_fill(reader, &length, 1, reader->config);
    return code == ACCEL_OK && reader->config->form.logit_scale == 0
               ? config_missing(reader, "logit_scale", "logit_scale")
               : code;
}

static const struct family_key cohere_keys[] = {
    REAL("layer_norm_eps", 1e-5),
    INTEGER("max_position_embeddings", 8192),
    ROTARY(500000),
    READS("hidden_act"),
    REAL("logit_scale", 0.0625),
    FLAG("attention_bias", 0),
    FLAG("use_qk_norm", 0),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_cohere = {
    .architecture = "cohere",
    .gguf_architecture = "command-r",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_LOGIT_SCALE,
    .json_keys = cohere_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .branches = FORM_PARALLEL_ONE_NORM,
             .qk_norm = FORM_QK_EACH,
             .qk_norm_presence = FORM_IF_STORED,
             ATTENTION_BIASES(FORM_IF_STORED),
             .neighbours = true,
             .output = FORM_ABSENT},
    .adapt = adapt,
};
