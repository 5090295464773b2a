/* SPDX-License-Identifier: Apache-2.0 */
/* mixtral, qwen2-moe, qwen3-moe and olmoe: llama and its relatives with experts. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const mixtral_names[DECODER_PARTS] = {
    [DECODER_ROUTER] = "model.layers.%u.block_sparse_moe.gate",
    [DECODER_EXPERT_GATE] = "model.layers.%u.block_sparse_moe.experts.w1",
    [DECODER_EXPERT_UP] = "model.layers.%u.block_sparse_moe.experts.w3",
    [DECODER_EXPERT_DOWN] = "model.layers.%u.block_sparse_moe.experts.w2",
};

#define EXPERTS_OF(part_, source_)                                                                                     \
    {                                                                                                                  \
        .part = DECODER_EXPERT_##part_, .count = COUNT_EXPERTS, .source = (source_)                                    \
    }

static const struct decoder_stack mixtral_stacks[] = {
    EXPERTS_OF(GATE, "model.layers.%u.block_sparse_moe.experts.%u.w1.weight"),
    EXPERTS_OF(UP, "model.layers.%u.block_sparse_moe.experts.%u.w3.weight"),
    EXPERTS_OF(DOWN, "model.layers.%u.block_sparse_moe.experts.%u.w2.weight"),
    {.source = NULL},
};

static const struct family_key mixtral_keys[] = {
    USUAL_KEYS(1e-5, 131072, 1e6, 0), INTEGER("num_key_value_heads", 8),
    READS("sliding_window"),          INTEGER("num_local_experts", 8),
    INTEGER("num_experts", 8),        INTEGER("num_experts_per_tok", 2),
    ONLY_FLAG("norm_topk_prob", 1),   END_OF_KEYS,
};

const struct model_family family_mixtral = {
    .architecture = "mixtral",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_EXPERTS,
    .names = mixtral_names,
    .stacks = mixtral_stacks,
    .json_keys = mixtral_keys,
    .form = {.windows = FORM_WINDOW_ALL, .output = FORM_IF_STORED, .expert_normalize = true},
};

const struct decoder_stack expert_stacks[] = {
    EXPERTS_OF(GATE, "model.layers.%u.mlp.experts.%u.gate_proj.weight"),
    EXPERTS_OF(UP, "model.layers.%u.mlp.experts.%u.up_proj.weight"),
    EXPERTS_OF(DOWN, "model.layers.%u.mlp.experts.%u.down_proj.weight"),
    {.source = NULL},
};

/* GGUF files without the widths of experts have them as the first converters did. */
static int32_t adapt_qwen3_moe(struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;

    if (reader->root == NULL && config->form.expert_ffn == 0 && config->form.experts_used != 0)
        config->form.expert_ffn = config->ffn / config->form.experts_used;
    return ACCEL_OK;
}

static int32_t adapt_qwen2_moe(struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;

    if (reader->root == NULL && config->form.shared_ffn == 0)
        config->form.shared_ffn = config->ffn;
    return adapt_qwen3_moe(reader);
}

static const struct family_key qwen2_moe_keys[] = {
    USUAL_KEYS(1e-6, 32768, 10000, 0),
    INTEGER("num_key_value_heads", 16),
    SWITCHED_WINDOW,
    INTEGER("max_window_layers", 28),
    INTEGER("num_experts", 60),
    INTEGER("num_experts_per_tok", 4),
    INTEGER("moe_intermediate_size", 1408),
    INTEGER("shared_expert_intermediate_size", 5632),
    INTEGER("decoder_sparse_step", 1),
    READS("mlp_only_layers"),
    FLAG("norm_topk_prob", 0),
    FLAG("qkv_bias", 1),
    END_OF_KEYS,
};

const struct model_family family_qwen2_moe = {
    .architecture = "qwen2_moe",
    .gguf_architecture = "qwen2moe",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_EXPERTS | KEY_SHARED_EXPERT,
    .stacks = expert_stacks,
    .json_keys = qwen2_moe_keys,
    .form = {.windows = FORM_WINDOW_EVEN_BELOW,
             QKV_BIASES(FORM_IF_STORED),
             .output = FORM_IF_STORED,
             .shared_factor = true},
    .adapt = adapt_qwen2_moe,
};

static const struct family_key qwen3_moe_keys[] = {
    USUAL_KEYS(1e-6, 32768, 10000, 0),
    INTEGER("num_key_value_heads", 4),
    SWITCHED_WINDOW,
    UNUSED("max_window_layers"),
    INTEGER("num_local_experts", 128),
    INTEGER("num_experts", 128),
    INTEGER("num_experts_per_tok", 8),
    INTEGER("moe_intermediate_size", 768),
    INTEGER("decoder_sparse_step", 1),
    READS("mlp_only_layers"),
    FLAG("norm_topk_prob", 0),
    FLAG("attention_bias", 0),
    END_OF_KEYS,
};

const struct model_family family_qwen3_moe = {
    .architecture = "qwen3_moe",
    .gguf_architecture = "qwen3moe",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_EXPERTS,
    .stacks = expert_stacks,
    .json_keys = qwen3_moe_keys,
    .form = {.windows = FORM_WINDOW_ALL,
             .qk_norm = FORM_QK_HEAD,
             .qk_norm_presence = FORM_PRESENT,
             ATTENTION_BIASES(FORM_IF_STORED),
             .output = FORM_IF_STORED,
             .expert_normalize = true},
    .adapt = adapt_qwen3_moe,
};

static const struct family_key olmoe_keys[] = {
    USUAL_KEYS(1e-5, 4096, 10000, 0), INTEGER("num_experts", 64), INTEGER("num_experts_per_tok", 8),
    FLAG("norm_topk_prob", 0),        FLAG("attention_bias", 0),  END_OF_KEYS,
};

const struct model_family family_olmoe = {
    .architecture = "olmoe",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_EXPERTS,
    .stacks = expert_stacks,
    .json_keys = olmoe_keys,
    .form = {.qk_norm = FORM_QK_WHOLE,
             .qk_norm_presence = FORM_PRESENT,
             ATTENTION_BIASES(FORM_IF_STORED),
             .output = FORM_IF_STORED},
};
