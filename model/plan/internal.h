/* SPDX-License-Identifier: Apache-2.0 */
/* Private to model/plan: the plan of a model, and what its files share. */
#ifndef ACCEL_MODEL_PLAN_INTERNAL_H
#define ACCEL_MODEL_PLAN_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <accel/model/describe.h>
#include <accel/model/plan.h>

#include "model/plan/disk_rate.h"
#include "model/session/experts.h"

/* The opened model of a plan. A plan shares it, by reference count, with the variants that --fit, --advise and
 * --max-context create. */
enum { IDENTITY_TEXT = 17 };

struct plan_subject {
    atomic_uint owners;
    struct accel_model_description *description;
    struct accel_model *model;    /* NULL if the file's family does not run, or there is no file */
    struct accel_error reason;    /* why `model` is NULL */
    char identity[IDENTITY_TEXT]; /* hash of the files of `model`, or empty */
    struct disk_rate disk;        /* of `model`, measured for the first plan that reads experts from it */
};

struct accel_model_plan {
    struct accel_context *context;
    struct accel_model_plan_options options; /* strings and settings are copies owned by `texts` and `overrides` */
    struct accel_named_value *overrides;
    char *texts;
    struct plan_subject *subject;
    struct accel_plan *plan;             /* from shapes alone, unless there is a session */
    struct settings settings;            /* of `plan` */
    struct accel_session *session;       /* not loaded yet; NULL: no run of the plan is possible */
    struct accel_error reason;           /* why there is no session */
    uint64_t sequences;                  /* replaces recommended sequences that do not fit; 0: none */
    uint64_t expert_limit;               /* most bytes of resident experts, 0: no limit was chosen */
    char expert_key[EXPERTS_KEY];        /* the driver's option that has it */
    struct accel_sketch stepped_shapes;  /* shapes with the types that adaptive precision chose */
    struct accel_sketch_weight *stepped; /* weights of stepped_shapes; NULL: no type was changed */
};

/* Lowers or raises the types of matrices as the precision settings require. Does nothing without a session. */
int32_t model_plan_adapt(struct accel_model_plan *plan, struct accel_error *error);

/* Lowers recommended sequences to as many as fit, at least one, if the plan does not fit or if `code`, which planning
 * returned, is ACCEL_E_LIMIT. Returns `code` if it changes nothing. */
int32_t model_plan_lower_sequences(struct accel_model_plan *plan, int32_t code, struct accel_error *error);

/* Declines the recommended sequences of a new shape plan if `plan->sequences` replaces them. */
int32_t model_plan_decline_sequences(struct accel_model_plan *plan, struct accel_error *error);

/* Limits the resident experts of a mixture that does not fit otherwise, and states the speed of a plan with a limit. */
int32_t model_plan_limit_experts(struct accel_model_plan *plan, struct accel_error *error);

/* Writes the setting of the limit to *rows, with its value in `value`. Returns the number of rows, 0 or 1. */
enum { EXPERT_LIMIT_TEXT = 24 };
uint32_t model_plan_add_expert_limit(const struct accel_model_plan *plan, struct accel_named_value *rows,
                                     char value[EXPERT_LIMIT_TEXT]);

/* Plans again, with `sequences` and the types in `stepped`. */
int32_t model_plan_remake(struct accel_model_plan *plan, struct accel_error *error);

/* Returns whether `mode` is a valid mode of a request; false for NULL. */
bool model_plan_is_mode(const char *mode);

/* Copies the reason why there is no session to `error`, and returns its code. */
int32_t model_plan_no_session(const struct accel_model_plan *plan, struct accel_error *error);

/* Returns the verdict of a plan; `needed` is 0 if it is unknown. */
struct accel_plan_fit model_plan_verdict(const struct accel_model_plan *plan);

/* Returns the longest sequence that the model was trained for, 0 if unknown. */
uint64_t model_plan_longest(const struct accel_model_plan *plan);

#endif
