/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements that settings request: times of steps, memory, trims of the heap. */
#ifndef ACCEL_MODEL_SESSION_MEASURE_H
#define ACCEL_MODEL_SESSION_MEASURE_H

#include "model/session/state.h"

/* Names of memory classes by their number; that of 0 is "all". */
extern const char *const memory_classes[MEMORY_CLASSES];

/* Returns the monotonic time in nanoseconds. */
uint64_t session_now(void);

/* Refuses a measure.folder in which no file can be. */
int32_t session_measure_check(const struct accel_session *session, struct accel_error *error);

/* Opens the files of trace.steps, measure.memory and output.attention. */
int32_t session_measure_begin(struct accel_session *session, struct accel_error *error);

/* Returns the time, or 0 if no setting requests times. */
uint64_t session_measure_now(const struct accel_session *session);

/* Records a step of `count` spans that began at `begin`. */
void session_measure_step(struct accel_session *session, uint64_t begin, const struct step_span *spans, uint32_t count);

/* Writes the attention weights of a span of the last step, whose tokens are in the cache. `scores` are sums over
 * queries, heads and layers for each place, and `scale` turns them into means over heads and layers. */
void session_measure_attention(struct accel_session *session, const struct step_span *span, const float *scores,
                               float scale);

/* Writes the lines of a step to the files. ACCEL_E_IO if a line since they were opened could not be written. */
int32_t session_measure_flush(struct accel_session *session, struct accel_error *error);

/* Numbers `count` texts that will be generated, in their order, and returns the number of the first. */
uint64_t session_measure_number_texts(struct accel_session *session, uint32_t count);

/* Records the end of a text. */
void session_measure_text(struct accel_session *session);

/* Notes the metrics of the steps since the last call. */
int32_t session_measure_run(struct accel_session *session, struct accel_error *error);
void session_measure_end(struct accel_session *session);

#endif
