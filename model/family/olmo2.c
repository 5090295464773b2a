/* SPDX-License-Identifier: Apache-2.0 */
/* olmo2: norms behind attention and feed-forward part, and of all queries and keys at once. GGUF files of olmo3 have
 * this architecture with a window. */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_ATTENTION_POST_NORM] = "model.layers.%u.post_attention_layernorm",
};

static const struct family_key olmo2_keys[] = {
    REAL("rms_norm_eps", 1e-5), INTEGER("max_position_embeddings", 2048), ROTARY(10000), READS("hidden_act"),
    FLAG("attention_bias", 0),  FLAG("tie_word_embeddings", 0),           END_OF_KEYS,
};

const struct model_family family_olmo2 = {
    .architecture = "olmo2",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .json_keys = olmo2_keys,
    .form = {.norm_place = FORM_NORM_AFTER,
             .qk_norm = FORM_QK_WHOLE,
             .qk_norm_presence = FORM_PRESENT,
             .q_bias = FORM_IF_STORED,
             .k_bias = FORM_IF_STORED,
             .v_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .output = FORM_IF_STORED,
             .full_every = 4,
             .gguf_sliding_plain = true},
};
