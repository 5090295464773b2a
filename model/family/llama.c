/* SPDX-License-Identifier: Apache-2.0 */
/* llama, and the families that differ from it in biases and norms of queries and keys alone. */
#include <accel/ops.h>

#include "model/family/families.h"

#define LLAMA ATTENTION_BIASES(FORM_IF_STORED), .ffn_bias = FORM_IF_STORED, .output = FORM_IF_STORED

static const struct family_key llama_keys[] = {
    USUAL_KEYS(1e-6, 2048, 10000, 0),
    FLAG("attention_bias", 0),
    FLAG("mlp_bias", 0),
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
    USUAL_KEYS(1e-6, 131072, 10000, 0),
    INTEGER("num_key_value_heads", 8),
    INTEGER("sliding_window", 4096),
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
    USUAL_KEYS(1e-6, 32768, 10000, 0),
    INTEGER("num_key_value_heads", 32),
    SWITCHED_WINDOW,
    INTEGER("max_window_layers", 28),
    END_OF_KEYS,
};

const struct model_family family_qwen2 = {
    .architecture = "qwen2",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .json_keys = qwen2_keys,
    .form = {.windows = FORM_WINDOW_FROM, QKV_BIASES(FORM_PRESENT), .output = FORM_IF_STORED},
};

static const struct family_key qwen3_keys[] = {
    USUAL_KEYS(1e-6, 32768, 10000, 0),
    INTEGER("num_key_value_heads", 32),
    INTEGER("head_dim", 128),
    SWITCHED_WINDOW,
    INTEGER("max_window_layers", 28),
    FLAG("attention_bias", 0),
    END_OF_KEYS,
};

const struct model_family family_qwen3 = {
    .architecture = "qwen3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .json_keys = qwen3_keys,
    .form = {.windows = FORM_WINDOW_FROM, LLAMA, .qk_norm = FORM_QK_HEAD, .qk_norm_presence = FORM_PRESENT},
};
