/* SPDX-License-Identifier: Apache-2.0 */
/* gpt2: learned positions, and matrices that config.json checkpoints store with their inputs first. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "transformer.wte",
    [DECODER_POSITIONS] = "transformer.wpe",
    [DECODER_FINAL_NORM] = "transformer.ln_f",
    [DECODER_ATTENTION_NORM] = "transformer.h.%u.ln_1",
    [DECODER_QKV] = "transformer.h.%u.attn.c_attn",
    [DECODER_ATTENTION_OUT] = "transformer.h.%u.attn.c_proj",
    [DECODER_FFN_NORM] = "transformer.h.%u.ln_2",
    [DECODER_FFN_UP] = "transformer.h.%u.mlp.c_fc",
    [DECODER_FFN_DOWN] = "transformer.h.%u.mlp.c_proj",
};

static int32_t adapt(struct config_reader *reader)
{
    int32_t code = config_refuse_true(reader, "scale_attn_by_inverse_layer_idx");

    if (code == ACCEL_OK)
        code = config_refuse_true(reader, "add_cross_attention");
    return code == ACCEL_OK ? config_refuse_false(reader, "scale_attn_weights") : code;
}

const struct model_family family_gpt2 = {
    .architecture = "gpt2",
    .activation = "gelu_new",
    .names = names,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .qkv = FORM_QKV_ROWS,
             .position = FORM_LEARNED,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_PRESENT,
             .o_bias = FORM_PRESENT,
             .ffn_bias = FORM_PRESENT,
             .output = FORM_IF_STORED,
             .transposed = true,
             .ffn_by_hidden = 4},
    .adapt = adapt,
};
