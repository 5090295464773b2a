/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether steps use weights in the mapped file: setting weights.load. */
#ifndef ACCEL_MODEL_SESSION_LOAD_H
#define ACCEL_MODEL_SESSION_LOAD_H

#include "model/session/state.h"

/* Decides weights.load=auto as far as it can be before the device is asked. The source exists. */
int32_t session_resolve_load(struct accel_session *session, struct accel_error *error);

/* Finishes the decision on weights.load when the device has answered which weights are used in place. */
int32_t session_finalize_load(struct accel_session *session, struct accel_error *error);

#endif
