/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes of types under the names of llama.cpp's file types (Q4_K_M, Q3_K_S ...): most matrices get the base type, and a
 * table of rules gives more bits to the output projection, to attention values and to some feed-forward matrices. The
 * rules are those of llama-quantize, so that a file has the types that its name promises.
 */
#ifndef ACCEL_MODEL_DESCRIBE_MIX_H
#define ACCEL_MODEL_DESCRIBE_MIX_H

#include <stdbool.h>

#include <accel/model/file.h>

struct accel_model_description;
struct family;
struct model_mix;

/* Returns whether the word names a mix, in any case. Q4_0, Q2_K and others also name a plain type; these count as
 * mixes if `named_as_types` is true. */
bool model_mix_is_known(const char *word, bool named_as_types);

/* Returns whether a tensor is of experts, one or all of a layer. */
bool model_mix_is_expert(const char *name);

/* Classifies the matrices of a file for the rules. `is_calibrated`: the inputs of the matrices are measured
 * (llama.cpp's importance matrix). The word must be a known one; free the mix with model_mix_free. */
int32_t model_mix_of_file(const struct accel_model_file *file, const struct family *family, const char *word,
                          bool is_calibrated, struct model_mix **out_mix, struct accel_error *error);
void model_mix_free(struct model_mix *mix);

/* Gets the type that the mix, without calibration, gives each weight of a description, in the order of its sketch;
 * ACCEL_TYPE_NONE: it keeps its own. The caller frees *out_types. */
int32_t model_mix_types(const struct accel_model_description *description, const char *word, uint32_t **out_types,
                        struct accel_error *error);

/* Return the type of most matrices, and the number of general.file_type. */
uint32_t model_mix_base(const struct model_mix *mix);
uint32_t model_mix_number(const struct model_mix *mix);

/* Returns the name as llama.cpp spells it: "Q4_K_M". A static string. */
const char *model_mix_name(const struct model_mix *mix);

/* Gets the type of the matrix at `index` of the file; returns NULL, or the reason why the tensor keeps its type. */
const char *model_mix_type(const struct model_mix *mix, uint64_t index, uint32_t *out_type);

#endif
