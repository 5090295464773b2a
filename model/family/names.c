/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the tensors of decoders. */
#include <stdio.h>

#include <accel/model/file.h>

#include "model/family/family.h"

/* As llama's checkpoints with a config.json have them; most families share them. */
static const char *const checkpoint_names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "model.embed_tokens",
    [DECODER_FINAL_NORM] = "model.norm",
    [DECODER_OUTPUT] = "lm_head",
    [DECODER_ATTENTION_NORM] = "model.layers.%u.input_layernorm",
    [DECODER_QUERY] = "model.layers.%u.self_attn.q_proj",
    [DECODER_KEY] = "model.layers.%u.self_attn.k_proj",
    [DECODER_VALUE] = "model.layers.%u.self_attn.v_proj",
    [DECODER_QKV] = "model.layers.%u.self_attn.qkv_proj",
    [DECODER_QUERY_NORM] = "model.layers.%u.self_attn.q_norm",
    [DECODER_KEY_NORM] = "model.layers.%u.self_attn.k_norm",
    [DECODER_SINK] = "model.layers.%u.self_attn.sinks",
    [DECODER_QUERY_DOWN] = "model.layers.%u.self_attn.q_a_proj",
    [DECODER_QUERY_DOWN_NORM] = "model.layers.%u.self_attn.q_a_layernorm",
    [DECODER_QUERY_UP] = "model.layers.%u.self_attn.q_b_proj",
    [DECODER_KV_DOWN] = "model.layers.%u.self_attn.kv_a_proj_with_mqa",
    [DECODER_KV_DOWN_NORM] = "model.layers.%u.self_attn.kv_a_layernorm",
    [DECODER_KV_UP] = "model.layers.%u.self_attn.kv_b_proj",
    [DECODER_ATTENTION_OUT] = "model.layers.%u.self_attn.o_proj",
    [DECODER_FFN_NORM] = "model.layers.%u.post_attention_layernorm",
    [DECODER_FFN_GATE] = "model.layers.%u.mlp.gate_proj",
    [DECODER_FFN_UP] = "model.layers.%u.mlp.up_proj",
    [DECODER_FFN_DOWN] = "model.layers.%u.mlp.down_proj",
    [DECODER_FFN_POST_NORM] = "model.layers.%u.post_feedforward_layernorm",
    [DECODER_ROUTER] = "model.layers.%u.mlp.gate",
    [DECODER_EXPERT_GATE] = "model.layers.%u.mlp.experts.gate_proj",
    [DECODER_EXPERT_UP] = "model.layers.%u.mlp.experts.up_proj",
    [DECODER_EXPERT_DOWN] = "model.layers.%u.mlp.experts.down_proj",
    [DECODER_SHARED_GATE] = "model.layers.%u.mlp.shared_expert.gate_proj",
    [DECODER_SHARED_UP] = "model.layers.%u.mlp.shared_expert.up_proj",
    [DECODER_SHARED_DOWN] = "model.layers.%u.mlp.shared_expert.down_proj",
    [DECODER_SHARED_FACTOR] = "model.layers.%u.mlp.shared_expert_gate",
};

/* As GGUF files have them, whatever the family. */
static const char *const gguf_names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "token_embd",
    [DECODER_POSITIONS] = "position_embd",
    [DECODER_EMBEDDING_NORM] = "token_embd_norm",
    [DECODER_FINAL_NORM] = "output_norm",
    [DECODER_OUTPUT] = "output",
    [DECODER_ATTENTION_NORM] = "blk.%u.attn_norm",
    [DECODER_QUERY] = "blk.%u.attn_q",
    [DECODER_KEY] = "blk.%u.attn_k",
    [DECODER_VALUE] = "blk.%u.attn_v",
    [DECODER_QKV] = "blk.%u.attn_qkv",
    [DECODER_QUERY_NORM] = "blk.%u.attn_q_norm",
    [DECODER_KEY_NORM] = "blk.%u.attn_k_norm",
    [DECODER_SINK] = "blk.%u.attn_sinks",
    [DECODER_QUERY_DOWN] = "blk.%u.attn_q_a",
    [DECODER_QUERY_DOWN_NORM] = "blk.%u.attn_q_a_norm",
    [DECODER_QUERY_UP] = "blk.%u.attn_q_b",
    [DECODER_KV_DOWN] = "blk.%u.attn_kv_a_mqa",
    [DECODER_KV_DOWN_NORM] = "blk.%u.attn_kv_a_norm",
    [DECODER_KV_UP] = "blk.%u.attn_kv_b",
    [DECODER_KEY_UP] = "blk.%u.attn_k_b",
    [DECODER_VALUE_UP] = "blk.%u.attn_v_b",
    [DECODER_ATTENTION_OUT] = "blk.%u.attn_output",
    [DECODER_ATTENTION_POST_NORM] = "blk.%u.post_attention_norm",
    [DECODER_FFN_NORM] = "blk.%u.ffn_norm",
    [DECODER_FFN_GATE] = "blk.%u.ffn_gate",
    [DECODER_FFN_UP] = "blk.%u.ffn_up",
    [DECODER_FFN_DOWN] = "blk.%u.ffn_down",
    [DECODER_FFN_POST_NORM] = "blk.%u.post_ffw_norm",
    [DECODER_ROUTER] = "blk.%u.ffn_gate_inp",
    [DECODER_EXPERT_GATE] = "blk.%u.ffn_gate_exps",
    [DECODER_EXPERT_UP] = "blk.%u.ffn_up_exps",
    [DECODER_EXPERT_DOWN] = "blk.%u.ffn_down_exps",
    [DECODER_SHARED_GATE] = "blk.%u.ffn_gate_shexp",
    [DECODER_SHARED_UP] = "blk.%u.ffn_up_shexp",
    [DECODER_SHARED_DOWN] = "blk.%u.ffn_down_shexp",
    [DECODER_SHARED_FACTOR] = "blk.%u.ffn_gate_inp_shexp",
};

const char *decoder_part_name(const struct accel_decoder_config *config, enum decoder_part part)
{
    const struct model_family *family = config->family;
    const bool is_gguf = config->format == ACCEL_MODEL_GGUF;
    const char *const *own = family == NULL ? NULL : is_gguf ? family->gguf_names : family->names;
    const char *name = own == NULL ? NULL : own[part];

    if (name == NULL)
        name = (is_gguf ? gguf_names : checkpoint_names)[part];
    return name == NULL ? NULL : name + config->prefix;
}

bool decoder_tensor_name(const struct accel_decoder_config *config, enum decoder_part part, uint32_t layer,
                         const char *suffix, char out_name[DECODER_NAME_BYTES])
{
    const char *name = decoder_part_name(config, part);
    int used;

    out_name[0] = 0;
    if (name == NULL)
        return false;
        /* The format is one of the constants of a family. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    used = snprintf(out_name, DECODER_NAME_BYTES, name, layer);
#pragma GCC diagnostic pop
    snprintf(out_name + used, DECODER_NAME_BYTES - (size_t)used, "%s", suffix);
    return true;
}
