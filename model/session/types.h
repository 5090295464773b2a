/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the weights that are converted to the types of the plan. */
#ifndef ACCEL_MODEL_SESSION_TYPES_H
#define ACCEL_MODEL_SESSION_TYPES_H

#include "model/session/state.h"

/* Lists the weights whose type or values in the plan or in the graph differ from the file, and those that are never
 * mapped. Freed with the session. */
int32_t session_types_create(struct accel_session *session, struct accel_error *error);

/* Replaces the weights that the plan converts by `rows`; the names must outlive the session. */
int32_t session_types_replace(struct accel_session *session, const struct weight_type *rows, uint32_t count,
                              struct accel_error *error);
void session_types_free(struct accel_session *session);

#endif
