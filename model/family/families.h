/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the families that family.c lists; each file of a family includes it. */
#ifndef ACCEL_MODEL_FAMILY_FAMILIES_H
#define ACCEL_MODEL_FAMILY_FAMILIES_H

#include "model/family/family.h"

#define FAMILY(name) extern const struct model_family family_##name;
#include "model/family/families.def"
#undef FAMILY

/* Biases of queries, keys and values, and of the output projection, for the form of a family. */
#define QKV_BIASES(presence) .q_bias = (presence), .k_bias = (presence), .v_bias = (presence)
#define ATTENTION_BIASES(presence) QKV_BIASES(presence), .o_bias = (presence)

/* Experts that are named as qwen2_moe has them. */
extern const struct decoder_stack expert_stacks[];

#endif
