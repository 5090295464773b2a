/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline stages of a session whose layers lie on several devices. */
#ifndef ACCEL_MODEL_SESSION_PIPELINE_H
#define ACCEL_MODEL_SESSION_PIPELINE_H

#include <stdbool.h>

#include "model/session/state.h"

/* Returns whether layers lie on several devices. The plan may have no layers. */
bool session_is_spread(const struct accel_session *session);

/* Cuts the graph into pipeline stages, plans each for its device, and merges their plans into the session's. May be
 * repeated before the load. */
int32_t session_pipeline_place(struct accel_session *session, struct accel_error *error);
void session_pipeline_free(struct accel_session *session);

/* Runs the pipeline stages over the io buffers of the whole session. */
int32_t session_pipeline_run(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error);

#endif
