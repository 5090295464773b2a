/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of mapped weights: prefetches, counts and drops them. */
#ifndef ACCEL_MODEL_SESSION_PAGES_H
#define ACCEL_MODEL_SESSION_PAGES_H

#include "model/session/state.h"

/* Returns the bytes of the mapped pages that hold weights, or 0 if nothing is mapped. The graph exists. */
uint64_t session_mapped_bytes(const struct accel_session *session);

/* Records the weights that are used in place. */
int32_t session_note_in_place(struct accel_session *session, const struct accel_plan_answers *answers,
                              struct accel_error *error);

/* Returns the bytes of the mapped pages that hold the weights used in place, or 0 if nothing is mapped. */
uint64_t session_in_place_bytes(const struct accel_session *session);

/* Prefetches the pages of weights used in place. Sequential reading lets the system use huge pages; page faults of
 * steps would come in random order. Returns early when cancelled. */
void session_prefetch_in_place(const struct accel_session *session);

/* Prefetches the pages of all weights when the first one is uploaded; weights that a device finds in its cache are not
 * read. */
void session_prefetch_all(struct accel_session *session, const char *key);

/* Unmaps the pages of uploaded weights from this process, so that the system can reclaim them. */
void session_drop_uploaded(const struct accel_session *session);

/* Unmaps them after the last upload. Faults of weights that lie between them and are used in place do not map them
 * again. */
void session_unmap_uploaded(const struct accel_session *session);

/* Returns whether steps read weights in the mapped file. */
uint32_t session_reads_file(const struct accel_session *session);

#endif
