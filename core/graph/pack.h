/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A graph as bytes, for a process that compiles it and for the name of what was compiled: numbers as they lie in
 * memory, since writer and reader run on one machine. What is read is checked as if a stranger had written it: every
 * length, and then the graph as a whole. Any thread.
 */
#ifndef ACCEL_CORE_GRAPH_PACK_H
#define ACCEL_CORE_GRAPH_PACK_H

#include <accel/error.h>
#include <accel/graph.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

/** Appends a graph that verifies; the same graph gives the same bytes. Lack of memory shows as out->failed. */
void accel_graph_pack(const struct accel_graph *graph, struct accel_strbuf *out);

/**
 * Reads one graph from `data` and verifies it; it and all that it points to lie in the arena. *out_used is the number
 * of bytes that it took. ACCEL_E_CORRUPT: not what accel_graph_pack writes; else what accel_graph_verify answers.
 */
int32_t accel_graph_unpack(const char *data, size_t bytes, struct accel_arena *arena,
                           const struct accel_graph **out_graph, size_t *out_used, struct accel_error *error);

#endif
