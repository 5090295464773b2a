/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the activations that weights are multiplied with. */
#ifndef ACCEL_MODEL_SESSION_INPUTS_H
#define ACCEL_MODEL_SESSION_INPUTS_H

#include "model/session/state.h"

/* Finds the io buffers of the activations of all weights. The session has one stage, whose io buffers exist. */
int32_t session_inputs_create(struct accel_session *session, struct accel_error *error);

#endif
