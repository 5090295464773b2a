/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a run of a model: decides what settings leave open, builds the graph, and assigns it to the device. The result
 * is a session that is not loaded, for which the plan is const. */
#ifndef ACCEL_MODEL_PLAN_RUN_H
#define ACCEL_MODEL_PLAN_RUN_H

#include <accel/model/describe.h>

#include "model/session/state.h"

/* A plan while it is decided, of a session or of one of its pipeline stages. */
struct run_planner {
    struct accel_plan *plan;
    const struct settings *settings; /* of the plan */
    struct accel_session *session;
    struct pipeline_stage *stage;
    struct accel_error *error;
};

/* Matrices with other types than those of the plan, sorted by name; names outlive the session. */
struct run_types {
    const struct weight_type *rows;
    uint32_t count;
};

/* Declines recommended settings that the model does not permit. Call it before the shape plan (accel_plan_sketch). */
int32_t plan_decline_for_model(struct accel_plan *plan, const struct accel_model *model, struct accel_error *error);

/* Makes the shape plan (accel_plan_sketch) of shapes of the description, with the types of a mix if weights.type is
 * one. Experts with a limit keep their types: steps read them from the file. */
int32_t plan_shapes(struct accel_plan *plan, const struct accel_model_description *description,
                    const struct accel_sketch *shapes, struct accel_error *error);

/* Plans the run of a plan with the shape plan of the model, which the caller owns and frees after the session. `flags`
 * and `outputs` as in accel_session_options. `types` may be NULL. */
int32_t session_from_plan(struct accel_context *context, const struct accel_model *model, struct accel_plan *plan,
                          uint32_t flags, uint32_t outputs, const struct run_types *types,
                          struct accel_session **out_session, struct accel_error *error);

/* Implements accel_session_create, with types that replace those of the plan unless `types` is NULL. */
int32_t session_create(struct accel_context *context, const struct accel_model *model,
                       const struct accel_session_options *options, const struct run_types *types,
                       struct accel_session **out_session, struct accel_error *error);

/* Assigns memory and devices to the stage. A spread plan replaces it by a stage for each device. */
int32_t run_planner_place(const struct run_planner *planner);

/* ACCEL_E_INVALID if the caller sets a context of more than `longest` tokens without context.beyond_training. */
int32_t plan_check_context(const struct settings *settings, const char *name, uint64_t longest,
                           struct accel_error *error);

/* Returns a number of the description, 0 if it is unknown. */
uint64_t plan_described(const struct accel_model_description *description, const char *key);

#endif
