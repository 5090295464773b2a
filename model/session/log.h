/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of log that settings request: loaded weights, kernels, allocations, attention. */
#ifndef ACCEL_MODEL_SESSION_LOG_H
#define ACCEL_MODEL_SESSION_LOG_H

#include "model/session/state.h"

/* Reads the settings, and the memory that is allocated before the load. */
void session_log_begin(struct accel_session *session);

/* Logs a byte range of a weight that the driver received, for log.load; `how` describes it: "mapped", "copied",
 * "converted". */
int32_t session_log_load(const struct file_source *source, const char *key, uint32_t plane, uint64_t offset,
                         uint64_t bytes, const char *how, struct accel_error *error);

/* Logs the kernels that the nodes of a stage run with, for log.kernels. */
int32_t session_log_kernels(const struct pipeline_stage *stage, struct accel_error *error);

/* Logs the memory that was allocated or freed since the last call, for log.memory: for the device of a plan, and the
 * use that `what` names. */
int32_t session_log_memory(struct accel_session *session, const struct accel_plan *plan, const char *what,
                           struct accel_error *error);

/* The part of the cache that attention reads for the tokens of a span, as windows allow. It differs between layers
 * with different windows: tokens and pages are those of the layer that reads most, bytes the sum of all layers. */
struct attention_reach {
    uint64_t tokens;
    uint64_t pages; /* that hold these tokens */
    uint64_t bytes; /* of keys and values */
};

/* Returns what attention reads for a span of the last step. */
struct attention_reach session_attention_reach(const struct accel_session *session, const struct step_span *span);

/* Returns the kernel of attention. */
const char *session_attention_kernel(const struct accel_session *session);

/* Logs what attention reads in a step, for log.attention. */
int32_t session_log_attention(const struct accel_session *session, const struct step_span *spans, uint32_t count,
                              struct accel_error *error);

#endif
