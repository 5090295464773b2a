/* SPDX-License-Identifier: Apache-2.0 */
/* gemma 1, 2 and 3: norms by 1 + weight, embeddings times the root of the width. Configurations of the first name
 * another variant of GELU than its models have. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

#define GEMMA .unit_offset = true, .embedding_root = true, .output = FORM_ABSENT, ATTENTION_BIASES(FORM_IF_STORED)

#define GEMMA_KEYS                                                                                                     \
    REAL("rms_norm_eps", 1e-6), INTEGER("head_dim", 256), FLAG("attention_bias", 0),                                   \
        ONLY_FLAG("use_bidirectional_attention", 0), FLAG("tie_word_embeddings", 1)

static const struct family_key gemma_keys[] = {
    GEMMA_KEYS,
    INTEGER("max_position_embeddings", 8192),
    INTEGER("num_key_value_heads", 16),
    ROTARY(10000),
    READS("hidden_act"),
    UNUSED("hidden_activation"),
    END_OF_KEYS,
};

const struct model_family family_gemma = {
    .architecture = "gemma",
    .activation = "gelu_pytorch_tanh",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .json_keys = gemma_keys,
    .form = {GEMMA, .gelu_is_tanh = true},
};

static const char *const around_names[DECODER_PARTS] = {
    [DECODER_ATTENTION_POST_NORM] = "model.layers.%u.post_attention_layernorm",
    [DECODER_FFN_NORM] = "model.layers.%u.pre_feedforward_layernorm",
};

/* GGUF files do not state the scale of scores, which the largest models of each family have of their own. */
static int32_t scale_largest(struct config_reader *reader, uint32_t layers)
{
    struct accel_decoder_config *config = reader->config;

    if (config->format == ACCEL_MODEL_GGUF && config->layers == layers)
        config->form.attention_width = (double)config->hidden / config->heads;
    return ACCEL_OK;
}

/* GGUF files without these keys have the values that all published models share. */
static int32_t adapt_gemma2(struct config_reader *reader)
{
    struct decoder_form *form = &reader->config->form;

    if (reader->root == NULL && form->attention_softcap == 0)
        form->attention_softcap = 50;
    if (reader->root == NULL && form->logit_softcap == 0)
        form->logit_softcap = 30;
    return scale_largest(reader, 46);
}

static const struct family_key gemma2_keys[] = {
    GEMMA_KEYS,
    INTEGER("max_position_embeddings", 8192),
    INTEGER("num_key_value_heads", 4),
    ROTARY(10000),
    REAL("attn_logit_softcapping", 50),
    REAL("final_logit_softcapping", 30),
    INTEGER("query_pre_attn_scalar", 256),
    INTEGER("sliding_window", 4096),
    READS("hidden_activation"),
    UNUSED("hidden_act"),
    END_OF_KEYS,
};

const struct model_family family_gemma2 = {
    .architecture = "gemma2",
    .activation = "gelu_pytorch_tanh",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_ATTENTION_SCALE | KEY_ATTENTION_WIDTH | KEY_ATTENTION_SOFTCAP | KEY_LOGIT_SOFTCAP,
    .names = around_names,
    .json_keys = gemma2_keys,
    .form =
        {.windows = FORM_WINDOW_PATTERN, GEMMA, .norm_place = FORM_NORM_AROUND, .full_every = 2, .gguf_window = 4096},
    .adapt = adapt_gemma2,
};

static int32_t adapt_gemma3(struct config_reader *reader)
{
    static const struct config_row row = {
        {"sliding_window_pattern"}, {NULL}, MEMBER(form.full_every), CONFIG_TO_U32, false, 1, 65536};
    int32_t code = config_fill(reader, &row, 1, reader->config);

    return code == ACCEL_OK ? scale_largest(reader, 62) : code;
}

static const struct family_key gemma3_keys[] = {
    GEMMA_KEYS,
    INTEGER("max_position_embeddings", 131072),
    INTEGER("num_key_value_heads", 4),
    ROTARY(1e6),
    REAL("rope_local_base_freq", 10000),
    READS("attn_logit_softcapping"),
    READS("final_logit_softcapping"),
    INTEGER("sliding_window_pattern", 6),
    UNUSED("_sliding_window_pattern"),
    INTEGER("query_pre_attn_scalar", 256),
    INTEGER("sliding_window", 4096),
    READS("hidden_activation"),
    UNUSED("hidden_act"),
    END_OF_KEYS,
};

const struct model_family family_gemma3 = {
    .architecture = "gemma3_text",
    .gguf_architecture = "gemma3",
    .activation = "gelu_pytorch_tanh",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .keys = KEY_ATTENTION_SCALE | KEY_ATTENTION_WIDTH | KEY_ATTENTION_SOFTCAP | KEY_LOGIT_SOFTCAP,
    .names = around_names,
    .json_keys = gemma3_keys,
    .form = {.windows = FORM_WINDOW_PATTERN,
             GEMMA,
             .norm_place = FORM_NORM_AROUND,
             .qk_norm = FORM_QK_HEAD,
             .qk_norm_presence = FORM_PRESENT,
             .full_every = 6,
             .gguf_sliding_base = 10000,
             .gguf_sliding_plain = true},
    .adapt = adapt_gemma3,
};
