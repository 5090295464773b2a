/* SPDX-License-Identifier: Apache-2.0 */
/* llama, and the families that differ from it in biases and norms of queries and keys alone. */
#include <accel/ops.h>

#include "model/family/families.h"

#define LLAMA                                                                                                          \
    .q_bias = FORM_IF_STORED, .k_bias = FORM_IF_STORED, .v_bias = FORM_IF_STORED, .o_bias = FORM_IF_STORED,            \
    .ffn_bias = FORM_IF_STORED, .output = FORM_IF_STORED

static const struct family_key llama_keys[] = {
    REAL("rms_norm_eps", 1e-6),
    INTEGER("max_position_embeddings", 2048),
    ROTARY(10000),
    READS("hidden_act"),
    FLAG("attention_bias", 0),
    FLAG("mlp_bias", 0),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_llama = {
    .architecture = "llama",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_EXPERTS, /* mixtral, in GGUF */
    .json_keys = llama_keys,
    .form = {LLAMA, .expert_normalize = true},
};

static const struct family_key mistral_keys[] = {
    REAL("rms_norm_eps", 1e-6),
    INTEGER("max_position_embeddings", 131072),
    INTEGER("num_key_value_heads", 8),
    ROTARY(10000),
    READS("hidden_act"),
    INTEGER("sliding_window", 4096),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_mistral = {
    .architecture = "mistral",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .json_keys = mistral_keys,
    .form = {.output = FORM_IF_STORED, .windows = FORM_WINDOW_ALL},
};

static const struct family_key qwen2_keys[] = {
    REAL("rms_norm_eps", 1e-6),
    INTEGER("max_position_embeddings", 32768),
    INTEGER("num_key_value_heads", 32),
    ROTARY(10000),
    READS("hidden_act"),
    SWITCHED_WINDOW,
    INTEGER("max_window_layers", 28),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_qwen2 = {
    .architecture = "qwen2",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .json_keys = qwen2_keys,
    .form = {.windows = FORM_WINDOW_FROM,
             .q_bias = FORM_PRESENT,
             .k_bias = FORM_PRESENT,
             .v_bias = FORM_PRESENT,
             .output = FORM_IF_STORED},
};

static const struct family_key qwen3_keys[] = {
    REAL("rms_norm_eps", 1e-6),
    INTEGER("max_position_embeddings", 32768),
    INTEGER("num_key_value_heads", 32),
    INTEGER("head_dim", 128),
    ROTARY(10000),
    READS("hidden_act"),
    SWITCHED_WINDOW,
    INTEGER("max_window_layers", 28),
    FLAG("attention_bias", 0),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_qwen3 = {
    .architecture = "qwen3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .json_keys = qwen3_keys,
    .form = {.windows = FORM_WINDOW_FROM, LLAMA, .qk_norm = FORM_QK_HEAD, .qk_norm_presence = FORM_PRESENT},
};
