/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the type of each tensor. In order of precedence: a pattern that keeps it; the choice of a budget
 * (job->chosen); the last role that matches it; the type of critical matrices; the rules of a mix
 * (model/describe/mix.h), or the type of all. In folders the last applies to linear layers only, as in every tool that
 * writes such folders: embeddings and output projections keep their type unless another rule names them. A type whose
 * groups or blocks do not divide the rows is replaced by one of smaller blocks, and the row reports this.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_CHOOSE_H
#define ACCEL_CONVERT_QUANTIZE_CHOOSE_H

#include "convert/quantize/internal.h"

struct family;
struct model_mix;

/* Tensors of a role, and their type. */
struct quantize_role {
    const char *name; /* "ffn"; ends at the "=" */
    size_t length;
    uint32_t type;
};

/* The parsed options of types. It owns `roles` only. */
struct quantize_rules {
    const struct accel_quantize_options *options;
    const struct family *family;
    uint32_t type;
    uint32_t critical;           /* ACCEL_TYPE_NONE: no tensor is */
    struct model_mix *mix;       /* of `type` if that names a mix, else NULL; owned */
    struct quantize_role *roles; /* [options->role_count]; owned */
};

/* Parses the options. ACCEL_E_UNSUPPORTED for a type that cannot be written, ACCEL_E_INVALID for contradictions. */
int32_t quantize_rules_read(const struct accel_model_file *file, const struct accel_quantize_options *options,
                            struct quantize_rules *out_rules, struct accel_error *error);
void quantize_rules_free(struct quantize_rules *rules);

/* Parses a type name, completed by the group and the scheme of the options. `what` is the option's name, for messages.
 * ACCEL_E_UNSUPPORTED for a type that cannot be written. */
int32_t quantize_type_read(const char *word, const struct accel_quantize_options *options, const char *what,
                           uint32_t *out_type, struct accel_error *error);

/* Returns whether a budget decides the type of a tensor: a matrix that can be decoded, that no pattern keeps, and that
 * the rules would convert or do not cover. */
bool quantize_is_free(const struct accel_quantize_job *job, const struct quantize_rules *rules, uint64_t index);

/* Fills rows, formats and tensors of the job. */
void quantize_choose(struct accel_quantize_job *job, const struct quantize_rules *rules);

/* Returns whether every tool with the GPTQ layout packs this matrix. */
bool quantize_is_linear(const struct accel_model_tensor *tensor);

/* Returns GGUF's general.file_type of a file whose matrices have that type. */
uint32_t quantize_file_type(uint32_t type);

#endif
