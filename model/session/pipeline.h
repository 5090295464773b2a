/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline stages of a session whose layers lie on several devices. */
#ifndef ACCEL_MODEL_SESSION_PIPELINE_H
#define ACCEL_MODEL_SESSION_PIPELINE_H

#include "model/session/state.h"

void session_pipeline_free(struct accel_session *session);

/* Runs the pipeline stages over the io buffers of the whole session. */
int32_t session_pipeline_run(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error);

#endif
