/* SPDX-License-Identifier: Apache-2.0 */
/* olmo2: norms behind attention and feed-forward part, and of all queries and keys at once. olmo3: with a window in
 * three of four layers, where positions are not scaled; its GGUF files have the architecture olmo2. */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_ATTENTION_POST_NORM] = "model.layers.%u.post_attention_layernorm",
};

#define OLMO_KEYS                                                                                                      \
    REAL("rms_norm_eps", 1e-5), INTEGER("max_position_embeddings", 2048), READS("hidden_act"),                         \
        FLAG("attention_bias", 0), FLAG("tie_word_embeddings", 0)

#define OLMO                                                                                                           \
    .norm_place = FORM_NORM_AFTER, .qk_norm = FORM_QK_WHOLE, .qk_norm_presence = FORM_PRESENT,                         \
    ATTENTION_BIASES(FORM_IF_STORED), .output = FORM_IF_STORED, .full_every = 4, .gguf_sliding_plain = true

static const struct family_key olmo2_keys[] = {OLMO_KEYS, ROTARY(10000), END_OF_KEYS};

const struct model_family family_olmo2 = {
    .architecture = "olmo2",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .json_keys = olmo2_keys,
    .form = {OLMO},
};

static const struct family_key olmo3_keys[] = {
    OLMO_KEYS, ROTARY(500000), REAL("rope_local_base_freq", 500000), INTEGER("sliding_window", 4096), END_OF_KEYS,
};

const struct model_family family_olmo3 = {
    .architecture = "olmo3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .json_keys = olmo3_keys,
    .form = {OLMO, .windows = FORM_WINDOW_PATTERN},
};
