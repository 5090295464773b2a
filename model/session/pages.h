/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of mapped weights: prefetches, counts and drops them. */
#ifndef ACCEL_MODEL_SESSION_PAGES_H
#define ACCEL_MODEL_SESSION_PAGES_H

#include "model/session/state.h"

/* Returns the bytes of the mapped pages that hold weights, or 0 if nothing is mapped. The graph exists. */
uint64_t stage_mapped_bytes(const struct pipeline_stage *stage);

/* Records the weights that are used in place; *out_streamed: their bytes except embeddings, of which steps read single
 * rows. */
int32_t stage_note_in_place(struct pipeline_stage *stage, const struct accel_plan_answers *answers,
                            uint64_t *out_streamed, struct accel_error *error);

/* Returns whether a weight has experts with a limit. */
bool stage_is_limited(const struct pipeline_stage *stage, const char *key);

/* Returns the bytes of the mapped pages that hold the weights used in place, or 0 if nothing is mapped. */
uint64_t stage_in_place_bytes(const struct pipeline_stage *stage);

/* Prefetches the pages of weights used in place. Sequential reading lets the system use huge pages; page faults of
 * steps would come in random order. Returns early when cancelled. */
void stage_prefetch_in_place(const struct pipeline_stage *stage);

/* Prefetches the pages of all weights when the first one is uploaded; weights that a device finds in its cache are not
 * read. */
void stage_prefetch_all(struct pipeline_stage *stage, const char *key);

/* Unmaps the pages of uploaded weights from this process, so that the system can reclaim them. */
void stage_drop_uploaded(const struct pipeline_stage *stage);

/* Unmaps them after the last upload. Faults of weights that lie between them and are used in place do not map them
 * again. */
void stage_unmap_uploaded(const struct pipeline_stage *stage);

/* Returns whether steps read weights in the mapped file. */
bool stage_reads_file(const struct pipeline_stage *stage);

#endif
