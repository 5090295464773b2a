/* SPDX-License-Identifier: Apache-2.0 */
/* The contexts that a model permits for its sequences. */
#ifndef ACCEL_MODEL_SESSION_CONTEXT_H
#define ACCEL_MODEL_SESSION_CONTEXT_H

#include "model/session/state.h"

/* Returns the longest context that a caller may set: the model's own, or with dynamic rotary scaling the original
 * context times the factor. */
uint64_t session_longest_context(const struct accel_model *model);

/* Returns whether the model has a table of positions, which ends with its context. */
bool session_has_table(const struct accel_model *model);

/* Returns whether positions of tokens can change as others leave the cache. */
bool session_can_shift(const struct accel_model *model);

/* Returns whether kv.full=slide is possible with the model and the context. */
bool session_can_slide(const struct accel_session *session);

#endif
