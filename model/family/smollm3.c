/* SPDX-License-Identifier: Apache-2.0 */
/* smollm3: llama with layers that have no rotary positions. */
#include <accel/ops.h>

#include "model/family/families.h"

static const struct family_key smollm3_keys[] = {
    USUAL_KEYS(1e-6, 32768, 2e6, 1),
    INTEGER("num_key_value_heads", 4),
    FLAG("attention_bias", 0),
    FLAG("mlp_bias", 0),
    FLAG("use_sliding_window", 0),
    READS("sliding_window"),
    UNUSED("max_window_layers"),
    READS("no_rope_layers"),
    INTEGER("no_rope_layer_interval", 4),
    END_OF_KEYS,
};

const struct model_family family_smollm3 = {
    .architecture = "smollm3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .json_keys = smollm3_keys,
    .form = {.windows = FORM_WINDOW_NO_ROTARY,
             ATTENTION_BIASES(FORM_IF_STORED),
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_IF_STORED,
             .no_rotary_every = 4},
};
