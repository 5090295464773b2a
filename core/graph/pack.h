/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Serializes a graph, for a process that compiles it and for the hash of compiled modules: numbers in host
 * representation, since writer and reader run on one machine. The reader treats its input as untrusted: it checks
 * every length, and then the whole graph. Thread-safe. */
#ifndef ACCEL_CORE_GRAPH_PACK_H
#define ACCEL_CORE_GRAPH_PACK_H

#include <accel/error.h>
#include <accel/graph.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

/** Appends a verified graph; equal graphs give equal bytes. Lack of memory sets out->failed. */
void accel_graph_pack(const struct accel_graph *graph, struct accel_strbuf *out);

/** Parses one graph from `data` and verifies it; the graph with all its data lives in the arena. *out_used is the
 * number of parsed bytes. ACCEL_E_CORRUPT: not written by accel_graph_pack; else the error of accel_graph_verify. */
int32_t accel_graph_unpack(const char *data, size_t bytes, struct accel_arena *arena,
                           const struct accel_graph **out_graph, size_t *out_used, struct accel_error *error);

#endif
