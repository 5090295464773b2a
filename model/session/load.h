/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether steps use weights in the mapped file: setting weights.load. */
#ifndef ACCEL_MODEL_SESSION_LOAD_H
#define ACCEL_MODEL_SESSION_LOAD_H

#include "model/session/state.h"

/* Decides weights.load=auto as far as it can be before placement. The source exists. */
int32_t session_resolve_load(struct accel_session *session, struct accel_error *error);

/* Finishes the decision on weights.load after placement, when the weights used in place are known. *out_again is 1 if
 * the source changed and the session has to be placed again. */
int32_t session_finalize_load(struct accel_session *session, uint32_t *out_again, struct accel_error *error);

#endif
