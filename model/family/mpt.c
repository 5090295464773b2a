/* SPDX-License-Identifier: Apache-2.0 */
/* mpt: ALiBi, no biases, and limits of queries, keys and values. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "transformer.wte",
    [DECODER_FINAL_NORM] = "transformer.norm_f",
    [DECODER_ATTENTION_NORM] = "transformer.blocks.%u.norm_1",
    [DECODER_QKV] = "transformer.blocks.%u.attn.Wqkv",
    [DECODER_ATTENTION_OUT] = "transformer.blocks.%u.attn.out_proj",
    [DECODER_FFN_NORM] = "transformer.blocks.%u.norm_2",
    [DECODER_FFN_UP] = "transformer.blocks.%u.ffn.up_proj",
    [DECODER_FFN_DOWN] = "transformer.blocks.%u.ffn.down_proj",
};

static int32_t adapt(struct config_reader *reader)
{
    static const struct config_row rows[] = {
        {{"clip_qkv"}, {NULL}, offsetof(struct accel_decoder_config, form.qkv_limit), CONFIG_TO_F64, false, 0, 1e6},
        {{"softmax_scale"},
         {NULL},
         offsetof(struct accel_decoder_config, form.attention_scale),
         CONFIG_TO_F64,
         false,
         0,
         1e6},
        {{"alibi_bias_max"},
         {"attention.max_alibi_bias"},
         offsetof(struct accel_decoder_config, form.alibi_bias),
         CONFIG_TO_F64,
         false,
         0,
         1e6},
        {{"kv_n_heads"}, {NULL}, offsetof(struct accel_decoder_config, kv_heads), CONFIG_TO_U32, false, 1, 65536},
    };
    int32_t code;

    if (reader->root == NULL)
        return config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config);
    config_ask(reader, "attn_config");
    reader->scope = json_object_get(reader->root, "attn_config");
    code = json_is_object(reader->scope) ? config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config)
                                         : ACCEL_OK;
    reader->scope = reader->root;
    return code;
}

const struct model_family family_mpt = {
    .architecture = "mpt",
    .activation = "gelu",
    .keys = KEY_QKV_LIMIT,
    .names = names,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_IF_STORED,
             .qkv = FORM_QKV_ROWS,
             .position = FORM_ALIBI,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_ABSENT,
             .ffn_by_hidden = 4,
             .norm_epsilon = 1e-5},
    .adapt = adapt,
};
