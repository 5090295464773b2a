/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The plan of a model before anything is loaded: from a file, a folder or the name of a descriptor to device, settings,
 * types of weights, memory and verdict; what would make it fit and at what price; the longest context; and a record of
 * the plan that a later run repeats exactly or refuses.
 *
 * A model plan is exact where the file is here, its family runs and the device is in this machine: a session has then
 * been made, the driver was asked, and its answers count. Everywhere else it is a sketch: sums over the model's tensors
 * by the formulas of accel/plan.h, marked as estimated. accel_model_plan_exact tells which.
 *
 * The context has discovered and outlives the plan. A plan belongs to one thread at a time; what it returns lives as
 * long as it unless a comment says otherwise. Bytes are bytes, lengths are tokens.
 */
#ifndef ACCEL_MODEL_PLAN_H
#define ACCEL_MODEL_PLAN_H

#include <accel/context.h>
#include <accel/model/session.h>
#include <accel/plan.h>

ACCEL_BEGIN_C

struct accel_model_plan;
struct accel_model_description;

/** What to plan. Open. Strings are copied. */
struct accel_model_plan_options {
    uint32_t size;
    uint32_t flags;       /**< ACCEL_SESSION_... of the session that an exact plan has */
    const char *path;     /**< file, folder, or name of a descriptor in profiles/models; never NULL */
    const char *platform; /**< platform to plan for, be a device of it here or not; NULL: the device's own */
    const char *device;   /**< device or driver; with a platform, a file of profiles/devices; NULL: the best */
    const char *mode;     /**< the fact request.mode, or NULL */
    const struct accel_given *given; /**< settings, the strongest layer */
    uint32_t given_count;
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

/** What the model is (accel/model/describe.h); never NULL. */
ACCEL_API const struct accel_model_description *
accel_model_plan_description(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** The model, or NULL where the plan is a sketch. */
ACCEL_API const struct accel_model *accel_model_plan_model(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** The session of an exact plan, ready for accel_session_load; it belongs to the plan. Of a sketch the error says why
 *  there is none: the model is not here, its family or a setting has no implementation, the device is elsewhere. */
ACCEL_API int32_t accel_model_plan_session(struct accel_model_plan *plan, struct accel_session **out_session,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/** 1 where the driver was asked, 0 where the plan is a sketch. */
ACCEL_API uint32_t accel_model_plan_exact(const struct accel_model_plan *plan) ACCEL_NOEXCEPT;

/** Makes the tokenizer of the model as a run of texts does; where that fails the plan gets a note of the key
 *  "tokenizer" with the reason and a remedy, and stays what it is: steps are made of ids. A model that is not here is
 *  not looked at. Errors: ACCEL_E_MEMORY. */
ACCEL_API int32_t accel_model_plan_note_tokenizer(struct accel_model_plan *plan,
                                                  struct accel_error *error) ACCEL_NOEXCEPT;

/* ---- what to change ---- */

struct accel_model_plan_steps;

#define ACCEL_PLAN_STEP_OFFERED 1u /**< it would change the plan so */
#define ACCEL_PLAN_STEP_APPLIED 2u /**< fit has taken it, and the steps after it build on it */
#define ACCEL_PLAN_STEP_SAME 3u    /**< it is in force already, saves nothing here, or the others suffice */
#define ACCEL_PLAN_STEP_REFUSED 4u /**< it cannot be had here: `text` says why */

/** One step of the advice on a topic, held against this plan. Open. */
struct accel_model_plan_step {
    uint32_t size;
    uint32_t state;       /**< ACCEL_PLAN_STEP_... */
    const char *name;     /**< "oom.context" */
    const char *words;    /**< what it does */
    const char *settings; /**< for the command line: "--set kv.type.k=q8 --set kv.type.v=q8"; may be empty */
    const char *cost;     /**< what it costs, in words, with where that is known from */
    const char *needs;    /**< what has to be done besides: "accelctl quantize MODEL ..."; may be empty */
    const char *because;  /**< document and line */
    const char *place;    /**< file:line of the advice */
    const char *text;     /**< why it was refused or is in force; else empty */
    uint64_t before;      /**< bytes in all without it */
    uint64_t after;       /**< bytes in all with it */
    uint64_t short_by;    /**< bytes that are still missing with it; 0: it fits */
};

/** Number of steps, in the order of their rank. */
ACCEL_API uint32_t accel_model_plan_step_count(const struct accel_model_plan_steps *steps) ACCEL_NOEXCEPT;
/** The step at `index`, or NULL past the end. Lives as long as the list. */
ACCEL_API const struct accel_model_plan_step *accel_model_plan_step_get(const struct accel_model_plan_steps *steps,
                                                                        uint32_t index) ACCEL_NOEXCEPT;
/** Frees a list. NULL is allowed. */
ACCEL_API void accel_model_plan_steps_free(struct accel_model_plan_steps *steps) ACCEL_NOEXCEPT;

/** Applies the steps of the topic "oom", best first, one on top of the other, until the model fits, then
 *  leaves out those without which it still does, the costliest first. *out_fitted is the plan with all that were
 * applied, whether it fits or not; the caller frees both, steps and plan. */
ACCEL_API int32_t accel_model_plan_fit(const struct accel_model_plan *plan, struct accel_model_plan **out_fitted,
                                       struct accel_model_plan_steps **out_steps,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Every step of a topic ("oom", "slow", "accuracy") whose conditions hold, each against this plan alone.
 *  ACCEL_E_NOT_FOUND names the topics there are. */
ACCEL_API int32_t accel_model_plan_advise(const struct accel_model_plan *plan, const char *topic,
                                          struct accel_model_plan_steps **out_steps,
                                          struct accel_error *error) ACCEL_NOEXCEPT;

/** The longest context with which the model fits and still was made for, by planning again; 0: not one token fits. */
ACCEL_API int32_t accel_model_plan_max_context(const struct accel_model_plan *plan, uint64_t *out_tokens,
                                               struct accel_error *error) ACCEL_NOEXCEPT;

/* ---- the record ---- */

/** The plan as JSON (schema "accelctl/plan/2": request, settings with their origins, device, version of its driver,
 *  identity of the model's files, memory, verdict, placement). Free the text with accel_model_plan_json_free. */
ACCEL_API int32_t accel_model_plan_json(const struct accel_model_plan *plan, char **out_text,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees such a text. NULL is allowed. */
ACCEL_API void accel_model_plan_json_free(char *text) ACCEL_NOEXCEPT;

/** Writes that text into a file. Others see the old file or the whole new one. */
ACCEL_API int32_t accel_model_plan_write(const struct accel_model_plan *plan, const char *path,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** Plans again what a record says, every setting as it has it, and compares. `options` may be NULL, or name what the
 *  caller decides himself: flags and outputs; its other members are not looked at. ACCEL_E_REFUSED names what differs:
 * a file that changed, another version of the driver, a kernel, a setting that comes to something else; ACCEL_E_MEMORY:
 *  memory does not suffice any more; ACCEL_E_CORRUPT: no such record, with line and column; and the errors of
 *  accel_model_plan_create, as for a device that is gone. */
ACCEL_API int32_t accel_model_plan_repeat(struct accel_context *context, const char *path,
                                          const struct accel_model_plan_options *options,
                                          struct accel_model_plan **out_plan, struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
