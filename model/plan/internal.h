/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the plan module. */
#ifndef ACCEL_MODEL_PLAN_INTERNAL_H
#define ACCEL_MODEL_PLAN_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <accel/model/describe.h>
#include <accel/model/plan.h>

/* The subject of a plan, shared by the plan and the variants that fit, advice and the context search create. */
struct plan_subject {
    atomic_uint owners;
    struct accel_model_description *description;
    struct accel_model *model; /* NULL if the file's family does not run, or there is no file */
    struct accel_error reason; /* why `model` is NULL */
};

struct accel_model_plan {
    struct accel_context *context;
    struct accel_model_plan_options options; /* strings and settings are copies owned by `texts` and `overrides` */
    struct accel_named_value *overrides;
    char *texts;
    struct plan_subject *subject;
    struct accel_session *session;       /* NULL: only a shape plan */
    struct accel_plan *shape_plan;       /* shape plan; NULL: the session owns the plan */
    struct accel_error reason;           /* why there is no session */
    struct accel_sketch stepped_shapes;  /* shape plan with the types of adaptive precision */
    struct accel_sketch_weight *stepped; /* its weights; NULL: no type was changed */
};

/* Steps matrices down and up as the precision settings require; does nothing without a session. */
int32_t model_plan_adapt(struct accel_model_plan *plan, struct accel_error *error);

/* Recreates the shape plan and the session with the types in `stepped`. */
int32_t model_plan_remake(struct accel_model_plan *plan, struct accel_error *error);

/* Returns whether a request may have that mode; NULL has none. */
bool model_plan_is_mode(const char *mode);

/* Returns the verdict of a plan; `needed` is 0 if it is unknown. */
struct accel_plan_fit model_plan_verdict(const struct accel_model_plan *plan);

/* Returns the longest sequence that the model was trained for, 0 if unknown. */
uint64_t model_plan_longest(const struct accel_model_plan *plan);

#endif
