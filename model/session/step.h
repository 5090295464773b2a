/* SPDX-License-Identifier: Apache-2.0 */
/* Runs steps. */
#ifndef ACCEL_MODEL_SESSION_STEP_H
#define ACCEL_MODEL_SESSION_STEP_H

#include "model/session/state.h"

/* Runs one step over spans whose places are reserved. Does not change lengths. */
int32_t session_run(struct accel_session *session, const struct step_span *spans, uint32_t count,
                    struct accel_error *error);

/* Checks ids against the vocabulary. */
int32_t session_check_ids(const struct accel_session *session, const int32_t *ids, uint64_t count,
                          struct accel_error *error);

/* Checks whether `count` tokens fit the context behind `length` tokens: always, unless kv.full=stop. */
int32_t session_check_length(const struct accel_session *session, uint64_t length, uint64_t count,
                             struct accel_error *error);

/* Checks tokens that continue sequence 0. */
int32_t session_check_feed(struct accel_session *session, const int32_t *ids, uint64_t count,
                           struct accel_error *error);

#endif
