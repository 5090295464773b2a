/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-probe/graph.h"

#include <string.h>

#include <accel/builder.h>

#include "core/base/open.h"
#include "core/graph/ops.h"
#include "core/graph/pack.h"
#include "core/graph/verify.h"
#include "tools/accel-probe/reader.h"

static const struct accel_symbol *read_symbol(struct byte_reader *reader)
{
    struct accel_symbol *symbol = make_array(reader, 1, sizeof(*symbol));
    struct accel_symbol_numbers it;
    read_numbers(reader, &it, sizeof(it), "a symbol is missing");
    if (symbol == NULL)
        return NULL;
    *symbol = (struct accel_symbol){.size = sizeof(*symbol),
                                    .kind = it.kind,
                                    .lowest = it.lowest,
                                    .highest = it.highest,
                                    .multiple = it.multiple,
                                    .name = read_text(reader, ACCEL_NAME_LIMIT, false)};
    return symbol;
}

static const struct accel_value *read_value(struct byte_reader *reader)
{
    struct accel_value *value = make_array(reader, 1, sizeof(*value));
    struct accel_value_numbers it;
    read_numbers(reader, &it, sizeof(it), "a value is missing");
    if (value == NULL)
        return NULL;
    *value = (struct accel_value){.size = sizeof(*value),
                                  .role = it.role,
                                  .type = it.type,
                                  .rank = it.rank,
                                  .low = it.low,
                                  .high = it.high,
                                  .bytes = it.bytes};
    memcpy(value->dims, it.dims, sizeof(it.dims));
    value->name = read_text(reader, ACCEL_NAME_LIMIT, false);
    value->key = read_text(reader, ACCEL_NAME_LIMIT, true);
    value->data = read_copy(reader, it.bytes, "the data of a constant is missing");
    return value;
}

static const struct accel_node *read_node(struct byte_reader *reader)
{
    struct accel_node *node = make_array(reader, 1, sizeof(*node));
    struct accel_node_numbers it;
    uint32_t size = 0;
    read_numbers(reader, &it, sizeof(it), "a node is missing");
    if (node == NULL)
        return NULL;
    if (it.attribute_bytes > ACCEL_OPEN_LIMIT || (it.attribute_bytes != 0 && it.attribute_bytes < 8))
        fail_reading(reader, ACCEL_E_CORRUPT, "attributes of a wrong size");
    *node = (struct accel_node){
        .size = sizeof(*node), .op = it.op, .minor = it.minor, .input_count = it.inputs, .output_count = it.outputs};
    node->name = read_text(reader, ACCEL_NAME_LIMIT, false);
    node->inputs = read_copy(reader, (uint64_t)it.inputs * sizeof(uint32_t), "the inputs of a node are missing");
    node->outputs = read_copy(reader, (uint64_t)it.outputs * sizeof(uint32_t), "the outputs of a node are missing");
    node->attributes = read_copy(reader, it.attribute_bytes, "the attributes of a node are missing");
    if (node->attributes != NULL)
        memcpy(&size, node->attributes, sizeof(size));
    /* The struct contains its own size, which readers use. */
    if (size != it.attribute_bytes)
        fail_reading(reader, ACCEL_E_CORRUPT, "the size of the attributes differs from their size member");
    return node;
}

static void read_lists(struct byte_reader *reader, struct accel_graph *graph)
{
    const struct accel_symbol **symbols = make_array(reader, graph->symbol_count + 1u, sizeof(*symbols));
    const struct accel_value **values = make_array(reader, graph->value_count + 1u, sizeof(*values));
    const struct accel_node **nodes = make_array(reader, graph->node_count + 1u, sizeof(*nodes));
    for (uint32_t i = 0; i < graph->symbol_count && reader->code == ACCEL_OK; i++)
        symbols[i] = read_symbol(reader);
    for (uint32_t i = 0; i < graph->value_count && reader->code == ACCEL_OK; i++)
        values[i] = read_value(reader);
    for (uint32_t i = 0; i < graph->node_count && reader->code == ACCEL_OK; i++)
        nodes[i] = read_node(reader);
    graph->symbols = symbols;
    graph->values = values;
    graph->nodes = nodes;
}

int32_t parse_graph(const char *data, size_t bytes, struct accel_arena *arena, const struct accel_graph **out_graph,
                    size_t *out_used, struct accel_error *error)
{
    struct byte_reader reader = {
        .data = data, .bytes = bytes, .arena = arena, .subject = "a packed graph", .error = error};
    struct accel_graph *graph;
    struct accel_graph_numbers numbers;
    *out_graph = NULL;
    *out_used = 0;
    read_numbers(&reader, &numbers, sizeof(numbers), "its header is missing");
    /* Each entry takes some bytes, so that the counts cannot request more memory than the data justifies. */
    if (numbers.magic != ACCEL_GRAPH_MAGIC || numbers.symbols > ACCEL_GRAPH_SYMBOLS ||
        numbers.values > ACCEL_GRAPH_VALUES || numbers.nodes > ACCEL_GRAPH_NODES ||
        (uint64_t)numbers.values * sizeof(struct accel_value_numbers) +
                (uint64_t)numbers.nodes * sizeof(struct accel_node_numbers) >
            bytes)
        fail_reading(&reader, ACCEL_E_CORRUPT, "its magic number or its counts are wrong");
    graph = make_array(&reader, 1, sizeof(*graph));
    if (graph == NULL)
        return reader.code;
    *graph = (struct accel_graph){.size = sizeof(*graph),
                                  .symbol_count = numbers.symbols,
                                  .value_count = numbers.values,
                                  .node_count = numbers.nodes,
                                  .name = read_text(&reader, ACCEL_NAME_LIMIT, false)};
    read_lists(&reader, graph);
    if (reader.code == ACCEL_OK)
        reader.code = accel_graph_verify(graph, error);
    if (reader.code != ACCEL_OK)
        return reader.code;
    *out_graph = graph;
    *out_used = reader.place;
    return ACCEL_OK;
}
