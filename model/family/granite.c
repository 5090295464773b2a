/* SPDX-License-Identifier: Apache-2.0 */
/* granite: llama with scales of embeddings, branches, scores and logits. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

/* Refuses a model without rotary positions: GGUF states them by this key, which other architectures ignore. */
static int32_t adapt(struct config_reader *reader)
{
    static const char key[] = "rope.scaling.finetuned";
    bool rotary = true, found;
    int32_t code = reader->root != NULL ? ACCEL_OK : config_find_bool(reader, key, &rotary, &found);

    if (code == ACCEL_OK && reader->root == NULL && reader->config->form.logit_divisor == 0)
        return config_missing(reader, NULL, "logit_scale");
    if (code != ACCEL_OK || rotary)
        return code;
    return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, config_offset(reader, NULL, key),
                       "granite.%s is false: a model without rotary positions is not supported", key);
}

static const struct family_key granite_keys[] = {
    USUAL_KEYS(1e-6, 2048, 10000, 0),
    FLAG("attention_bias", 0),
    FLAG("mlp_bias", 0),
    REAL("embedding_multiplier", 1),
    REAL("residual_multiplier", 1),
    REAL("attention_multiplier", 1),
    REAL("logits_scaling", 1),
    END_OF_KEYS,
};

const struct model_family family_granite = {
    .architecture = "granite",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_EMBEDDING_SCALE | KEY_RESIDUAL_SCALE | KEY_ATTENTION_SCALE | KEY_LOGIT_DIVISOR,
    .json_keys = granite_keys,
    .form = {ATTENTION_BIASES(FORM_IF_STORED), .ffn_bias = FORM_IF_STORED, .output = FORM_IF_STORED},
    .adapt = adapt,
};
