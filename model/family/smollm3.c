/* SPDX-License-Identifier: Apache-2.0 */
/* smollm3: llama with layers that have no rotary positions. */
#include <accel/ops.h>

#include "model/family/families.h"

const struct model_family family_smollm3 = {
    .architecture = "smollm3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .form = {.q_bias = FORM_IF_STORED,
             .k_bias = FORM_IF_STORED,
             .v_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_IF_STORED,
             .no_rotary_every = 4},
};
