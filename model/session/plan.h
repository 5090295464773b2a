/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a session from a plan: settings, context, placement. */
#ifndef ACCEL_MODEL_SESSION_PLAN_H
#define ACCEL_MODEL_SESSION_PLAN_H

#include "model/session/state.h"

/* Creates a session from a plan whose settings are resolved: builds the graph and places it. The session owns the plan
 * on success; on failure the caller still owns it. `flags` and `outputs` as in accel_session_options. */
int32_t session_from_plan(struct accel_context *context, const struct accel_model *model, struct accel_plan *plan,
                          uint32_t flags, uint32_t outputs, struct accel_session **out_session,
                          struct accel_error *error);

/* Returns the longest context that a caller may set: the model's own, or with dynamic rotary scaling the original
 * context times the factor. */
uint64_t session_longest_context(const struct accel_model *model);

/* Returns whether the model has a table of positions, which ends with its context. */
bool session_has_table(const struct accel_model *model);

/* Returns whether kv.full=slide is possible with the model and the context. */
bool session_can_slide(const struct accel_session *session);

/* Returns whether context.beyond_training is set. */
bool session_is_beyond_training(const struct accel_plan *plan);

/* ACCEL_E_INVALID if the caller sets a context of more than `longest` tokens without context.beyond_training. */
int32_t session_check_context(const struct accel_plan *plan, const char *name, uint64_t longest,
                              struct accel_error *error);
int32_t session_refuse_context(const struct accel_plan *plan, const char *name, uint64_t longest,
                               struct accel_error *error);

/* Replaces the converted weights by `rows` (sorted by name) and places the session again. Call before the load; names
 * must outlive the session. After a failure the session can only be freed. */
int32_t session_retype(struct accel_session *session, const struct weight_type *rows, uint32_t count,
                       struct accel_error *error);

/* Translates the plan's settings to step options; `flags` as in accel_session_options. */
int32_t session_settings(struct accel_session *session, uint64_t outputs, uint32_t flags, struct accel_error *error);

/* Assigns memory and devices to the session, or to its pipeline stages, through the plan. */
int32_t session_place(struct accel_session *session, struct accel_error *error);

#endif
