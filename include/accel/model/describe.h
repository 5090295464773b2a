/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The description of a model that is not loaded: facts for the rules of profiles, and the shapes of its weights. It is
 * made from the headers of a file or a folder, or, when there is no file yet, from a descriptor: a file of the folder
 * models of the profiles. Every architecture can be described, also those that this library does not run: a tensor
 * whose name does not state its place in the model has the role "other".
 *
 * A file's own header overrides a descriptor. If family and shapes of a file match a descriptor, the fact "model.name"
 * is that descriptor's name, and rules for it apply.
 *
 * Ownership: a description owns everything that it shows, and needs neither file nor context once it is made.
 * Threads: it is immutable, so any thread may read it. Units: those of the facts' table.
 */
#ifndef ACCEL_MODEL_DESCRIBE_H
#define ACCEL_MODEL_DESCRIBE_H

#include <accel/context.h>
#include <accel/plan.h>
#include <accel/sketch.h>

ACCEL_BEGIN_C

struct accel_model_description;

/**
 * Describes the model at a path, or the descriptor of that name where there is no such file. A config.json without
 * weights beside it, or a folder that has it alone, is described if it is that of a decoder, as a descriptor is. The
 * context gives the profiles; it need not have discovered, and may be NULL for a path: then no descriptor is looked
 * for.
 *
 * Errors: those of accel_model_file_open for a file; ACCEL_E_CORRUPT for a configuration that is malformed or a
 * descriptor that lacks a fact; ACCEL_E_NOT_FOUND where there is neither a file nor a descriptor, with the nearest name
 * as the remedy; ACCEL_E_UNSUPPORTED for a descriptor of a family whose weights are not known here; ACCEL_E_LIMIT,
 * ACCEL_E_MEMORY.
 */
ACCEL_API int32_t accel_model_describe(struct accel_context *context, const char *path_or_name,
                                       struct accel_model_description **out_description,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a description. NULL is allowed. */
ACCEL_API void accel_model_description_free(struct accel_model_description *description) ACCEL_NOEXCEPT;

/** The file or folder as it was given; of a descriptor its name. */
ACCEL_API const char *accel_model_description_path(const struct accel_model_description *description) ACCEL_NOEXCEPT;

/** 1 if weights were read, 0 if there is a descriptor or a config.json alone. */
ACCEL_API uint32_t accel_model_description_is_file(const struct accel_model_description *description) ACCEL_NOEXCEPT;

/** 1 if the file stores matrices transposed, with inputs first, as safetensors of GPT-2 do. A run transposes them when
 * it loads; accel_quantize_plan leaves them unquantized. */
ACCEL_API uint32_t accel_model_description_is_transposed(const struct accel_model_description *description)
    ACCEL_NOEXCEPT;

/** The facts, each with where it was read as its origin: *out_count of them, as accel_plan_request.model takes them. */
ACCEL_API const struct accel_named_value *
accel_model_description_facts(const struct accel_model_description *description, uint32_t *out_count) ACCEL_NOEXCEPT;

/** The value of one fact ("model.kind"), or NULL where it is not known. */
ACCEL_API const char *accel_model_description_fact(const struct accel_model_description *description,
                                                   const char *key) ACCEL_NOEXCEPT;

/** Weights and components. Of a file, its tensors in its order; names, types and shapes are the file's. */
ACCEL_API const struct accel_sketch *
accel_model_description_sketch(const struct accel_model_description *description) ACCEL_NOEXCEPT;

/** Checks that this library can run models of the family: ACCEL_OK, or ACCEL_E_UNSUPPORTED with the supported
 * families as the remedy. Ignores devices, memory and settings. */
ACCEL_API int32_t accel_model_description_runs(const struct accel_model_description *description,
                                               struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
