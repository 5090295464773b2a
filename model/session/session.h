/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session. */
#ifndef ACCEL_MODEL_SESSION_SESSION_H
#define ACCEL_MODEL_SESSION_SESSION_H

#include "model/session/state.h"

/* Frees a session except its plan, which the caller then owns. */
struct accel_plan *session_release_plan(struct accel_session **session);

#endif
