/* SPDX-License-Identifier: Apache-2.0 */
/* stablelm: layer norms with a gated feed-forward part, a quarter of each head rotary. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const struct decoder_stack stacks[] = {
    {.part = DECODER_QUERY_NORM,
     .count = COUNT_HEADS,
     .source = "model.layers.%u.self_attn.q_layernorm.norms.%u.weight"},
    {.part = DECODER_KEY_NORM,
     .count = COUNT_KV_HEADS,
     .source = "model.layers.%u.self_attn.k_layernorm.norms.%u.weight"},
    {.source = NULL},
};

static int32_t adapt(struct config_reader *reader)
{
    bool parallel = config_flag(reader, "use_parallel_residual", false);

    if (config_flag(reader, "qk_layernorm", false))
        reader->config->form.qk_norm_presence = FORM_PRESENT;
    if (reader->root == NULL)
        parallel = !config_has(reader, "blk.0.ffn_norm.weight");
    reader->config->form.branches = parallel ? FORM_PARALLEL_ONE_NORM : FORM_SEQUENTIAL;
    return reader->code;
}

static const struct family_key stablelm_keys[] = {
    REAL("layer_norm_eps", 1e-5),
    INTEGER("max_position_embeddings", 4096),
    INTEGER("num_key_value_heads", 32),
    ROTARY(10000),
    READS("partial_rotary_factor"),
    READS("hidden_act"),
    FLAG("use_qkv_bias", 0),
    FLAG("qk_layernorm", 0),
    FLAG("use_parallel_residual", 0),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_stablelm = {
    .architecture = "stablelm",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .stacks = stacks,
    .json_keys = stablelm_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             QKV_BIASES(FORM_IF_STORED),
             .output = FORM_IF_STORED,
             .qk_norm = FORM_QK_EACH,
             .qk_norm_presence = FORM_IF_STORED,
             .rotary_share = 0.25},
    .adapt = adapt,
};
