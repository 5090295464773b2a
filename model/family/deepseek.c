/* SPDX-License-Identifier: Apache-2.0 */
/* deepseek-v2: latent attention (decoder_latent.c), experts in groups behind some dense layers. */
#include <stdio.h>
#include <string.h>

#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_SHARED_GATE] = "model.layers.%u.mlp.shared_experts.gate_proj",
    [DECODER_SHARED_UP] = "model.layers.%u.mlp.shared_experts.up_proj",
    [DECODER_SHARED_DOWN] = "model.layers.%u.mlp.shared_experts.down_proj",
};

static const struct config_row latent_rows[] = {
    {{"q_lora_rank"}, {"attention.q_lora_rank"}, MEMBER(latent.query), CONFIG_TO_U32, false, 1, 65536},
    {{"kv_lora_rank"}, {"attention.kv_lora_rank"}, MEMBER(latent.kv), CONFIG_TO_U32, true, 1, 65536},
    {{"qk_rope_head_dim"}, {"rope.dimension_count"}, MEMBER(latent.rotary), CONFIG_TO_U32, true, 2, 65536},
};

/* A head as queries see it: its key without rotary positions, its value. In GGUF the first names count, of files whose
 * cache has compressed keys; the key length includes the rotary part. */
static const struct config_row head_rows[] = {
    {{"qk_nope_head_dim"},
     {"attention.key_length_mla", "attention.key_length"},
     MEMBER(latent.key),
     CONFIG_TO_U32,
     true,
     1,
     65536},
    {{"v_head_dim"},
     {"attention.value_length_mla", "attention.value_length"},
     MEMBER(latent.value),
     CONFIG_TO_U32,
     true,
     1,
     65536},
};

/* Refuses a number other than the one that follows from those of latent attention. */
static int32_t check_stated(const struct config_reader *reader, const char *key, uint32_t stated, uint32_t value)
{
    return stated == 0 || stated == value
               ? ACCEL_OK
               : model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, key),
                             "%s is %u, the other keys and tensors of latent attention imply %u", key, stated, value);
}

static int32_t read_latent(struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    struct accel_latent_config *latent = &config->latent;
    const uint32_t kv_heads = config->kv_heads, head_size = config->head_size, value_size = config->value_size;
    int32_t code = config_fill(reader, latent_rows, sizeof(latent_rows) / sizeof(latent_rows[0]), config);

    if (code == ACCEL_OK)
        code = config_fill(reader, head_rows, sizeof(head_rows) / sizeof(head_rows[0]), config);
    if (code != ACCEL_OK)
        return code;
    if (reader->root == NULL && latent->key <= latent->rotary)
        return model_fault(
            reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, NULL, "attention.key_length"),
            "heads of %u elements have no room for %u with rotary positions", latent->key, latent->rotary);
    if (reader->root == NULL)
        latent->key -= latent->rotary;
    latent->absorbed = reader->root == NULL && config_has(reader, "blk.0.attn_k_b.weight");
    config->kv_heads = latent->absorbed ? 1 : config->heads;
    config->head_size = (latent->absorbed ? latent->kv : latent->key) + latent->rotary;
    config->value_size = latent->absorbed ? latent->kv : latent->value;
    code = check_stated(reader, reader->root != NULL ? "num_key_value_heads" : "attention.head_count_kv", kv_heads,
                        config->kv_heads);
    if (code == ACCEL_OK && reader->root == NULL)
        code = check_stated(reader, head_rows[0].gguf[1], head_size, config->head_size);
    return code == ACCEL_OK && reader->root == NULL
               ? check_stated(reader, head_rows[1].gguf[1], value_size, config->value_size)
               : code;
}

/* Refuses a text that is not one of two. */
static int32_t refuse_text(const struct config_reader *reader, const char *key, const char *one, const char *other,
                           bool *out_is_other)
{
    const char *const json[4] = {key};
    static const char *const gguf[2] = {NULL};
    char what[160], shown[MODEL_QUOTE_BYTES];
    struct config_fact fact;

    config_find(reader, json, gguf, &fact);
    *out_is_other = fact.kind == CONFIG_TEXT && strcmp(fact.text, other) == 0;
    if (fact.kind == CONFIG_ABSENT || *out_is_other || (fact.kind == CONFIG_TEXT && strcmp(fact.text, one) == 0))
        return ACCEL_OK;
    snprintf(what, sizeof(what), "is %s, supported: %s%s%s",
             fact.kind == CONFIG_TEXT ? model_quote(shown, fact.text, strlen(fact.text)) : "no text", one,
             other == one ? "" : ", ", other == one ? "" : other);
    return config_fault(reader, ACCEL_E_UNSUPPORTED, &fact, what);
}

/* Reads how many groups experts have, and how many of them a token uses. The limited method requires both. */
static int32_t fill_groups(struct config_reader *reader, bool is_limited)
{
    static const struct config_row rows[] = {
        {{"n_group"}, {"expert_group_count"}, MEMBER(form.expert_groups), CONFIG_TO_U32, false, 1, 65536},
        {{"topk_group"}, {"expert_group_used_count"}, MEMBER(form.groups_used), CONFIG_TO_U32, false, 1, 65536},
    };
    const struct decoder_form *form = &reader->config->form;
    const bool is_json = reader->root != NULL;
    const char *key;
    int32_t code = config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config);

    if (code != ACCEL_OK || !(is_limited || (!is_json && form->expert_groups > 1)) ||
        (form->expert_groups != 0 && form->groups_used != 0))
        return code;
    key = form->expert_groups == 0 ? rows[0].json[0] : is_json ? rows[1].json[0] : rows[1].gguf[0];
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, key),
                       "%s is missing or null, experts in groups require it", key);
}

/* Reads how many groups the experts of a token may come from. */
static int32_t read_groups(struct config_reader *reader)
{
    struct decoder_form *form = &reader->config->form;
    static const char softmax[] = "softmax";
    bool is_limited = false, ignored;
    int32_t code = refuse_text(reader, "topk_method", "greedy", "group_limited_greedy", &is_limited);

    if (code == ACCEL_OK)
        code = refuse_text(reader, "scoring_func", softmax, softmax, &ignored);
    if (code == ACCEL_OK)
        code = fill_groups(reader, is_limited);
    if (code != ACCEL_OK)
        return code;
    if (reader->root != NULL && !is_limited)
        form->expert_groups = form->groups_used = 1;
    if (form->expert_groups == 0)
        return ACCEL_OK;
    if (form->experts % form->expert_groups != 0 || form->groups_used > form->expert_groups ||
        form->experts_used > form->experts / form->expert_groups * form->groups_used)
        return model_fault(
            reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "n_group", "expert_group_count"),
            "%u of %u experts cannot come from %u of %u groups (%s)", form->experts_used, form->experts,
            form->groups_used, form->expert_groups,
            reader->root != NULL ? "topk_group of n_group" : "expert_group_used_count of expert_group_count");
    return ACCEL_OK;
}

static int32_t adapt(struct config_reader *reader)
{
    static const struct config_row shared = {
        {"n_shared_experts"}, {"expert_shared_count"}, 0, CONFIG_TO_U32, false, 1, 65536};
    static const struct config_row scale = {
        {"routed_scaling_factor"}, {"expert_weights_scale"}, MEMBER(form.expert_scale), CONFIG_TO_F64, false, 0, 1e6};
    struct accel_decoder_config *config = reader->config;
    uint32_t count = 0;
    int32_t code = read_latent(reader);

    if (code != ACCEL_OK || config->form.experts == 0)
        return code;
    code = config_fill(reader, &shared, 1, &count);
    config->form.shared_ffn = count * config->form.expert_ffn;
    if (code == ACCEL_OK)
        code = config_fill(reader, &scale, 1, config);
    return code == ACCEL_OK ? read_groups(reader) : code;
}

static const struct family_key deepseek_v2_keys[] = {
    USUAL_KEYS(1e-6, 2048, 10000, 0),
    INTEGER("q_lora_rank", 1536),
    INTEGER("kv_lora_rank", 512),
    INTEGER("qk_nope_head_dim", 128),
    INTEGER("qk_rope_head_dim", 64),
    INTEGER("v_head_dim", 128),
    INTEGER("n_routed_experts", 64),
    INTEGER("num_experts", 64),
    READS("num_experts_per_tok"),
    INTEGER("moe_intermediate_size", 1407),
    INTEGER("n_shared_experts", 2),
    READS("first_k_dense_replace"), /* 0 */
    READS("n_group"),
    READS("topk_group"),
    REAL("routed_scaling_factor", 1),
    READS("topk_method"),
    READS("scoring_func"),
    ONLY_FLAG("norm_topk_prob", 0),
    ONLY_NUMBER("moe_layer_freq", 1),
    ONLY_FLAG("attention_bias", 0),
    ONLY_FLAG("mlp_bias", 0),
    END_OF_KEYS,
};

const struct model_family family_deepseek_v2 = {
    .architecture = "deepseek_v2",
    .gguf_architecture = "deepseek2",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_EXPERTS,
    .names = names,
    .stacks = expert_stacks,
    .json_keys = deepseek_v2_keys,
    .form = {.output = FORM_IF_STORED, .neighbours = true},
    .adapt = adapt,
};
