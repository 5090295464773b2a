/* SPDX-License-Identifier: Apache-2.0 */
/* llama, and the families that differ from it in biases and norms of queries and keys alone. */
#include <accel/ops.h>

#include "model/family/families.h"

#define LLAMA                                                                                                          \
    .q_bias = FORM_IF_STORED, .k_bias = FORM_IF_STORED, .v_bias = FORM_IF_STORED, .o_bias = FORM_IF_STORED,            \
    .ffn_bias = FORM_IF_STORED, .output = FORM_IF_STORED

const struct model_family family_llama = {
    .architecture = "llama",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_EXPERTS, /* mixtral, in GGUF */
    .form = {LLAMA, .expert_normalize = true},
};

const struct model_family family_mistral = {
    .architecture = "mistral",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .form = {LLAMA},
};

const struct model_family family_qwen2 = {
    .architecture = "qwen2",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .form = {.q_bias = FORM_PRESENT, .k_bias = FORM_PRESENT, .v_bias = FORM_PRESENT, .output = FORM_IF_STORED},
};

const struct model_family family_qwen3 = {
    .architecture = "qwen3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .form = {LLAMA, .qk_norm = FORM_QK_HEAD, .qk_norm_presence = FORM_PRESENT},
};
