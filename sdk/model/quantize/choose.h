/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which type each tensor gets. From the strongest: a pattern that keeps it; the choice of a budget (job->chosen); the
 * last role that fits it; the type of critical matrices; the type of all. In folders the last is for linear layers
 * alone, as in every tool that writes such folders: embeddings and heads stay unless one of the others names them. A
 * type whose groups or blocks do not divide the rows is replaced by a narrower one, and the row says so.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_CHOOSE_H
#define ACCEL_SDK_MODEL_QUANTIZE_CHOOSE_H

#include "sdk/model/quantize/internal.h"

struct family;

/* Tensors of a role, and their type. */
struct quantize_role {
    const char *name; /* "ffn"; ends at the "=" */
    size_t length;
    uint32_t type;
};

/* The options of types, read. Everything is borrowed from them but `roles`. */
struct quantize_rules {
    const struct accel_quantize_options *options;
    const struct family *family;
    uint32_t type;
    uint32_t critical;           /* ACCEL_TYPE_NONE: no tensor is */
    struct quantize_role *roles; /* [options->role_count]; owned */
};

/* Reads them. ACCEL_E_UNSUPPORTED for a type that cannot be written, ACCEL_E_INVALID for what makes no sense. */
int32_t quantize_rules_read(const struct accel_model_file *file, const struct accel_quantize_options *options,
                            struct quantize_rules *out_rules, struct accel_error *error);
void quantize_rules_free(struct quantize_rules *rules);

/* A type by its word, completed by the group and the scheme of the options where it lacks them. `what` is the option's
 * name, for messages. ACCEL_E_UNSUPPORTED for a type that cannot be written. */
int32_t quantize_type_read(const char *word, const struct accel_quantize_options *options, const char *what,
                           uint32_t *out_type, struct accel_error *error);

/* True when the rules leave the type of a tensor to whoever is asked next: a matrix that can be decoded, that nobody
 * keeps, and that the rules would convert or are not asked about. A budget decides on these. */
bool quantize_is_free(const struct accel_quantize_job *job, const struct quantize_rules *rules, uint64_t index);

/* The type that a tensor gets in place of `type`: itself where its groups or blocks divide the rows. */
uint32_t quantize_narrow(uint32_t type, uint64_t width);

/* Fills rows, formats and tensors of the job. */
void quantize_choose(struct accel_quantize_job *job, const struct quantize_rules *rules);

/* True for the matrices that every tool with the layout of GPTQ packs. */
bool quantize_is_linear(const struct accel_model_tensor *tensor);

/* What GGUF's general.file_type says of a file whose matrices have that type. */
uint32_t quantize_file_type(uint32_t type);

#endif
