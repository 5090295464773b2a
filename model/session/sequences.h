/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and places of the sequences of a session. */
#ifndef ACCEL_MODEL_SESSION_SEQUENCES_H
#define ACCEL_MODEL_SESSION_SEQUENCES_H

#include <stdbool.h>

#include "model/session/state.h"

/* Reserves places for `count` more tokens of a sequence and owns their pages. A full sequence first drops tokens as
 * kv.full requires. */
int32_t session_reserve(struct accel_session *session, struct kv_sequence *sequence, uint64_t count,
                        struct accel_error *error);

/* Returns the tokens of a sequence: the cached ones and, with kv.full=stop, those that have left its window. */
uint64_t session_length(const struct accel_session *session, const struct kv_sequence *sequence);

/* Returns whether a sequence has reached its context. */
bool session_is_full(const struct accel_session *session, uint32_t sequence);

#endif
