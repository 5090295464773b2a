/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The plan of a model before anything is loaded: from a file, a folder or the name of a descriptor to device, settings,
 * types of weights, memory and verdict; what would make it fit and at what price; the longest context; and a record of
 * the plan that a later run repeats exactly or refuses.
 *
 * A model plan is exact if the file is here, its family runs and the device is in this machine: a session was created,
 * and the numbers are the driver's answers. Otherwise it is estimated: sums over the model's tensors by the formulas of
 * accel/plan.h, marked as such. accel_model_plan_exact returns which.
 *
 * The context has discovered and outlives the plan. A plan belongs to one thread at a time; what it returns lives as
 * long as the plan unless a comment states otherwise. Bytes are bytes, lengths are tokens.
 */
#ifndef ACCEL_MODEL_PLAN_H
#define ACCEL_MODEL_PLAN_H

#include <accel/context.h>
#include <accel/model/session.h>
#include <accel/plan.h>

ACCEL_BEGIN_C

struct accel_model_plan;
struct accel_model_description;

/** A request for a plan. Open. Strings are copied. */
struct accel_model_plan_options {
    uint32_t size;
    uint32_t flags;       /**< ACCEL_SESSION_... of the session that an exact plan has */
    const char *path;     /**< file, folder, or name of a descriptor in profiles/models; never NULL */
    const char *platform; /**< platform to plan for, be a device of it here or not; NULL: the device's own */
    const char *device;   /**< device or driver; with a platform, a file of profiles/devices; NULL: the best */
    const char *mode;     /**< the fact request.mode, or NULL */
    const struct accel_named_value *overrides; /**< settings that override those of all profiles */
    uint32_t override_count;
    uint32_t outputs;        /**< rows of logits that one step can give; 0: 1 */
    uint64_t request_length; /**< the fact request.length in tokens; 0: not known */
};

/** Plans. Errors: those of accel_model_file_open, of accel_plan_create, of accel_session_create; ACCEL_E_NOT_FOUND with
 *  a suggestion where `path` is neither a file nor a descriptor. */
ACCEL_API int32_t accel_model_plan_create(struct accel_context *context, const struct accel_model_plan_options *options,
                                          struct accel_model_plan **out_plan, struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a plan. NULL is allowed. */
ACCEL_API void accel_model_plan_free(struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** Settings, memory, fit, placement. */
ACCEL_API const struct accel_plan *accel_model_plan_plan(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** Returns the model's description (accel/model/describe.h); never NULL. */
ACCEL_API const struct accel_model_description *
accel_model_plan_description(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** Returns the model, also of a plan by formula; NULL if it has no file or its family has no implementation. */
ACCEL_API const struct accel_model *accel_model_plan_model(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** Returns the session of an exact plan, ready for accel_session_load; it belongs to the plan. For a plan by
 * formula the error has the reason: the model is not here, its family or a setting has no implementation, the
 * device is elsewhere. */
ACCEL_API int32_t accel_model_plan_session(struct accel_model_plan *plan, struct accel_session **out_session,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/** Returns 1 if the driver answered, 0 if the plan is by formula. */
ACCEL_API uint32_t accel_model_plan_exact(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** Creates the model's tokenizer as a run of texts does; a failure adds a note with the key "tokenizer", the reason
 * and a remedy, and the plan stays valid: steps take ids. A model that is not here is skipped. Errors:
 * ACCEL_E_MEMORY. */
ACCEL_API int32_t accel_model_plan_note_tokenizer(struct accel_model_plan *plan,
                                                  struct accel_error *error) ACCEL_NOEXCEPT;

/* ---- what to change ---- */

/** Plans again with `count` overrides in addition to those of `plan`; of two for one key the new one takes effect. The
 * caller frees the result. */
ACCEL_API int32_t accel_model_plan_vary(const struct accel_model_plan *plan, const struct accel_named_value *overrides,
                                        uint32_t count, struct accel_model_plan **out_plan,
                                        struct accel_error *error) ACCEL_NOEXCEPT;

/** Values of a setting from `low` to `high`. Memory grows with the value, or shrinks with it if the smallest value that
 *  fits is searched. Closed. */
struct accel_model_plan_range {
    const char *key;  /**< the setting */
    const char *unit; /**< behind the number: "tok", "B" or empty */
    uint64_t low;
    uint64_t high;
    uint32_t smallest; /**< 1: search the smallest value that fits */
    uint32_t zero;     /**< must be 0 */
};

/** Finds the largest or smallest value that fits, by planning again. If none fits, *out_fits is 0 and *out_value is the
 *  value that needs least memory. */
ACCEL_API int32_t accel_model_plan_search(const struct accel_model_plan *plan,
                                          const struct accel_model_plan_range *range, uint64_t *out_value,
                                          uint32_t *out_fits, struct accel_error *error) ACCEL_NOEXCEPT;

/** The longest context with which the model fits, by planning again; 0: not one token fits. It is at most what the
 *  model was trained for, unless context.beyond_training is set. */
ACCEL_API int32_t accel_model_plan_max_context(const struct accel_model_plan *plan, uint64_t *out_tokens,
                                               struct accel_error *error) ACCEL_NOEXCEPT;

/* ---- the record ---- */

/** The plan as JSON (schema "accelctl/plan/2": request, settings with their origins, device, version of its driver,
 *  identity of the model's files, memory, verdict, placement). Free the text with accel_model_plan_json_free. */
ACCEL_API int32_t accel_model_plan_json(const struct accel_model_plan *plan, char **out_text,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees such a text. NULL is allowed. */
ACCEL_API void accel_model_plan_json_free(char *text) ACCEL_NOEXCEPT;

/** Writes that text into a file. Other processes see the old file or the whole new one. */
ACCEL_API int32_t accel_model_plan_write(const struct accel_model_plan *plan, const char *path,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** Plans a record again with every setting as recorded, and compares. `options` may be NULL, or have the members
 * that no record states: flags and outputs, with which the plan was recorded, since the logits and stages that they
 * request take memory, and the path of the model, NULL if it was not moved: sizes and headers of its files must be the
 * recorded ones, and times of change may differ. Its other members are ignored. ACCEL_E_REFUSED names the first
 * difference with line, member and both values: any but the members that differ on another day, which doc/plan.md
 * lists; ACCEL_E_MEMORY: memory no longer suffices; ACCEL_E_CORRUPT: no such record, with line and column; and the
 * errors of accel_model_plan_create, for instance for a missing device. */
ACCEL_API int32_t accel_model_plan_repeat(struct accel_context *context, const char *path,
                                          const struct accel_model_plan_options *options,
                                          struct accel_model_plan **out_plan, struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
