/* SPDX-License-Identifier: Apache-2.0 */
/* gpt-oss: experts in every layer with limited gates, learned sinks, a window in every other layer. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_ROUTER] = "model.layers.%u.mlp.router",
};

static const char *const gguf_names[DECODER_PARTS] = {
    [DECODER_FFN_NORM] = "blk.%u.post_attention_norm",
};

/* Rows of gate and up alternate. */
static const struct decoder_stack stacks[] = {
    {.part = DECODER_EXPERT_GATE,
     .source = "model.layers.%u.mlp.experts.gate_up_proj",
     .suffix = ".weight",
     .transposed = true,
     .first = 0,
     .step = 2},
    {.part = DECODER_EXPERT_UP,
     .source = "model.layers.%u.mlp.experts.gate_up_proj",
     .suffix = ".weight",
     .transposed = true,
     .first = 1,
     .step = 2},
    {.part = DECODER_EXPERT_DOWN,
     .source = "model.layers.%u.mlp.experts.down_proj",
     .suffix = ".weight",
     .transposed = true,
     .first = 0,
     .step = 1},
    {.part = DECODER_EXPERT_GATE,
     .source = "model.layers.%u.mlp.experts.gate_up_proj_bias",
     .suffix = ".bias",
     .transposed = true,
     .first = 0,
     .step = 2},
    {.part = DECODER_EXPERT_UP,
     .source = "model.layers.%u.mlp.experts.gate_up_proj_bias",
     .suffix = ".bias",
     .transposed = true,
     .first = 1,
     .step = 2},
    {.part = DECODER_EXPERT_DOWN,
     .source = "model.layers.%u.mlp.experts.down_proj_bias",
     .suffix = ".bias",
     .transposed = true,
     .first = 0,
     .step = 1},
    {.source = NULL},
};

static int32_t adapt(struct config_reader *reader)
{
    static const struct config_row row = {{"swiglu_alpha"}, {NULL}, 0, CONFIG_TO_F64, false, 0, 1e6};
    double alpha = 1.702;
    int32_t code = config_fill(reader, &row, 1, &alpha);

    if (code != ACCEL_OK || alpha == 1.702)
        return code;
    return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, config_offset(reader, "swiglu_alpha", NULL),
                       "swiglu_alpha is %g, only 1.702 is supported", alpha);
}

const struct model_family family_gpt_oss = {
    .architecture = "gpt_oss",
    .gguf_architecture = "gpt-oss",
    .activation = "quick_gelu", /* of the gate, whatever hidden_act says */
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_EXPERTS | KEY_GATE_LIMIT,
    .names = names,
    .gguf_names = gguf_names,
    .stacks = stacks,
    .form = {.q_bias = FORM_PRESENT,
             .k_bias = FORM_PRESENT,
             .v_bias = FORM_PRESENT,
             .o_bias = FORM_PRESENT,
             .output = FORM_IF_STORED,
             .sink = true,
             .full_every = 2,
             .yarn_exact = true,
             .expert_normalize = true,
             .expert_bias = true,
             .gate_limit = 7,
             .fixed_activation = true},
    .adapt = adapt,
};
