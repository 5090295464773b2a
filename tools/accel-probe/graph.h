/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the graphs that core/graph/pack.h serialized. The input is untrusted: every length is checked, and then the
 * whole graph. Thread-safe. */
#ifndef TOOLS_ACCEL_PROBE_GRAPH_H
#define TOOLS_ACCEL_PROBE_GRAPH_H

#include <stddef.h>

#include <accel/error.h>
#include <accel/graph.h>

#include "core/base/arena.h"

/* Parses one graph from `data` and verifies it; the graph with all its data lives in the arena. *out_used is the
 * number of parsed bytes. ACCEL_E_CORRUPT: not written by accel_graph_pack; else the error of accel_graph_verify. */
int32_t parse_graph(const char *data, size_t bytes, struct accel_arena *arena, const struct accel_graph **out_graph,
                    size_t *out_used, struct accel_error *error);

#endif
