/* SPDX-License-Identifier: Apache-2.0 */
/* gpt-oss: experts in every layer with limited gates, learned sinks, a window in every other layer. */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_ROUTER] = "model.layers.%u.mlp.router",
};

static const char *const gguf_names[DECODER_PARTS] = {
    [DECODER_FFN_NORM] = "blk.%u.post_attention_norm",
};

#define EXPERTS_OF(part_, name_, suffix_, first_, step_)                                                               \
    {                                                                                                                  \
        .part = DECODER_EXPERT_##part_, .source = "model.layers.%u.mlp.experts." name_, .suffix = (suffix_),           \
        .transposed = true, .first = (first_), .step = (step_)                                                         \
    }

/* Rows of gate and up alternate. */
static const struct decoder_stack stacks[] = {
    EXPERTS_OF(GATE, "gate_up_proj", ".weight", 0, 2),
    EXPERTS_OF(UP, "gate_up_proj", ".weight", 1, 2),
    EXPERTS_OF(DOWN, "down_proj", ".weight", 0, 1),
    EXPERTS_OF(GATE, "gate_up_proj_bias", ".bias", 0, 2),
    EXPERTS_OF(UP, "gate_up_proj_bias", ".bias", 1, 2),
    EXPERTS_OF(DOWN, "down_proj_bias", ".bias", 0, 1),
    {.source = NULL},
};

static const struct family_key gpt_oss_keys[] = {
    REAL("rms_norm_eps", 1e-5),
    INTEGER("max_position_embeddings", 131072),
    INTEGER("num_key_value_heads", 8),
    INTEGER("head_dim", 64),
    ROTARY(150000),
    UNUSED("hidden_act"),
    INTEGER("sliding_window", 128),
    INTEGER("num_local_experts", 128),
    INTEGER("num_experts", 128),
    INTEGER("num_experts_per_tok", 4),
    REAL("swiglu_limit", 7),
    ONLY_NUMBER("swiglu_alpha", 1.702),
    ONLY_FLAG("norm_topk_prob", 1),
    ONLY_FLAG("attention_bias", 1),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_gpt_oss = {
    .architecture = "gpt_oss",
    .gguf_architecture = "gpt-oss",
    .activation = "quick_gelu", /* of the gate */
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_EXPERTS | KEY_GATE_LIMIT,
    .names = names,
    .gguf_names = gguf_names,
    .stacks = stacks,
    .json_keys = gpt_oss_keys,
    .json_rotary =
        "{\"rope_type\": \"yarn\", \"factor\": 32.0, \"beta_fast\": 32.0, \"beta_slow\": 1.0, \"truncate\": false, "
        "\"original_max_position_embeddings\": 4096}",
    .form = {.windows = FORM_WINDOW_PATTERN,
             ATTENTION_BIASES(FORM_PRESENT),
             .output = FORM_IF_STORED,
             .sink = true,
             .full_every = 2,
             .yarn_exact = true,
             .expert_normalize = true,
             .expert_bias = true,
             .gate_limit = 7},
};
