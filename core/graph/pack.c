/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/pack.h"

#include <string.h>

static void put_value(const struct accel_value *value, struct accel_strbuf *out)
{
    struct accel_value_numbers numbers = {.role = value->role,
                                          .type = value->type,
                                          .rank = value->rank,
                                          .low = value->low,
                                          .high = value->high,
                                          .bytes = value->data ? value->bytes : 0};
    memcpy(numbers.dims, value->dims, sizeof(numbers.dims));
    accel_strbuf_append(out, &numbers, sizeof(numbers));
    accel_strbuf_counted(out, value->name);
    accel_strbuf_counted(out, value->key);
    accel_strbuf_append(out, value->data, numbers.bytes);
}

static void put_node(const struct accel_node *node, struct accel_strbuf *out)
{
    struct accel_node_numbers numbers = {node->op, node->minor, node->input_count, node->output_count, 0, 0};
    if (node->attributes != NULL)
        memcpy(&numbers.attribute_bytes, node->attributes, sizeof(uint32_t));
    accel_strbuf_append(out, &numbers, sizeof(numbers));
    accel_strbuf_counted(out, node->name);
    accel_strbuf_append(out, node->inputs, node->input_count * sizeof(uint32_t));
    accel_strbuf_append(out, node->outputs, node->output_count * sizeof(uint32_t));
    accel_strbuf_append(out, node->attributes, numbers.attribute_bytes);
}

void accel_graph_pack(const struct accel_graph *graph, struct accel_strbuf *out)
{
    struct accel_graph_numbers numbers = {ACCEL_GRAPH_MAGIC, graph->symbol_count, graph->value_count,
                                          graph->node_count};
    accel_strbuf_append(out, &numbers, sizeof(numbers));
    accel_strbuf_counted(out, graph->name);
    for (uint32_t i = 0; i < graph->symbol_count; i++) {
        const struct accel_symbol *symbol = graph->symbols[i];
        struct accel_symbol_numbers it = {symbol->kind, 0, symbol->lowest, symbol->highest, symbol->multiple};
        accel_strbuf_append(out, &it, sizeof(it));
        accel_strbuf_counted(out, symbol->name);
    }
    for (uint32_t i = 0; i < graph->value_count; i++)
        put_value(graph->values[i], out);
    for (uint32_t i = 0; i < graph->node_count; i++)
        put_node(graph->nodes[i], out);
}
