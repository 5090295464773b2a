/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of config.json that change what some decoder computes. A family that does not read one of them refuses values
 * that would change its results: its checkpoint says more than its family knows. Other unknown keys are left alone, as
 * the programs do that write these files. Keys with a row in decoder_config.c are refused there.
 */
#include <string.h>

#include "model/family/decoder_config_reader.h"

/* Each with the kind of values that change nothing beside null, false, 0 and empty ones. */
static const struct {
    const char *name;
    double neutral;
} keys[] = {
    {"alibi", 0},
    {"altup_num_inputs", 0},
    {"apply_residual_connection_post_layernorm", 0},
    {"attention_chunk_size", 0},
    {"attn_config", 0},
    {"first_k_dense_replace", 0},
    {"hidden_size_per_layer_input", 0},
    {"kv_lora_rank", 0},
    {"layer_types", 0},
    {"linear_num_key_heads", 0},
    {"mamba_d_state", 0},
    {"mlp_only_layers", 0},
    {"n_group", 1},
    {"n_shared_experts", 0},
    {"no_rope_layer_interval", 0},
    {"no_rope_layers", 0},
    {"parallel_attn", 0},
    {"q_lora_rank", 0},
    {"qk_layernorm", 0},
    {"qk_nope_head_dim", 0},
    {"qk_rope_head_dim", 0},
    {"rope_interleaved", 0},
    {"routed_scaling_factor", 1},
    {"scale_attn_by_inverse_layer_idx", 0},
    {"shared_expert_intermediate_size", 0},
    {"use_bidirectional_attention", 0},
    {"use_parallel_residual", 0},
    {"use_qk_norm", 0},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };
_Static_assert(KEYS <= 64, "a bit for each key");

void config_ask(const struct config_reader *reader, const char *name)
{
    for (size_t i = 0; reader->asked != NULL && i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            *reader->asked |= UINT64_C(1) << i;
}

static bool changes_nothing(const json_t *value, double neutral)
{
    if (json_is_number(value))
        return json_number_value(value) == 0 || json_number_value(value) == neutral;
    if (json_is_array(value))
        return json_array_size(value) == 0;
    if (json_is_object(value))
        return json_object_size(value) == 0;
    return !json_is_true(value) && !json_is_string(value);
}

int32_t config_refuse_unread(const struct config_reader *reader)
{
    for (size_t i = 0; i < KEYS; i++) {
        const json_t *value = json_object_get(reader->root, keys[i].name);

        if ((*reader->asked & UINT64_C(1) << i) != 0 || value == NULL || changes_nothing(value, keys[i].neutral))
            continue;
        return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, config_offset(reader, keys[i].name, NULL),
                           "%s has no meaning in architecture %s here", keys[i].name, reader->config->architecture);
    }
    return ACCEL_OK;
}
