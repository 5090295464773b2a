/* SPDX-License-Identifier: Apache-2.0 */
/** @file Serializes a graph, for a process that compiles it and for the hash of compiled modules: numbers in host
 * representation, since writer and reader run on one machine. Its reader is tools/accel-probe/graph.h. Thread-safe. */
#ifndef ACCEL_CORE_GRAPH_PACK_H
#define ACCEL_CORE_GRAPH_PACK_H

#include <accel/graph.h>

#include "core/base/strbuf.h"

/** Magic number of a serialized graph. */
#define ACCEL_GRAPH_MAGIC 0x31677061u

/** Numbers of each record; texts and lists follow. */
struct accel_graph_numbers {
    uint32_t magic, symbols, values, nodes;
};

struct accel_symbol_numbers {
    uint32_t kind, zero;
    uint64_t lowest, highest, multiple;
};

struct accel_value_numbers {
    uint32_t role, type, rank, zero;
    struct accel_dim dims[ACCEL_RANK];
    float low, high;
    uint64_t bytes;
};

struct accel_node_numbers {
    uint32_t op, minor, inputs, outputs, attribute_bytes, zero;
};

/** Appends a verified graph; equal graphs give equal bytes. Lack of memory sets out->failed. */
void accel_graph_pack(const struct accel_graph *graph, struct accel_strbuf *out);

#endif
