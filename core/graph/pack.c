/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/pack.h"

#include <stdbool.h>
#include <string.h>

#include <accel/builder.h>

#include "core/base/bytes.h"
#include "core/base/open.h"
#include "core/graph/ops.h"
#include "core/graph/verify.h"

#define MAGIC 0x31677061u

/* Numbers of each record; texts and lists follow. */
struct graph_numbers {
    uint32_t magic, symbols, values, nodes;
};

struct symbol_numbers {
    uint32_t kind, zero;
    uint64_t lowest, highest, multiple;
};

struct value_numbers {
    uint32_t role, type, rank, zero;
    struct accel_dim dims[ACCEL_RANK];
    float low, high;
    uint64_t bytes;
};

struct node_numbers {
    uint32_t op, minor, inputs, outputs, attribute_bytes, zero;
};

/* ---- writing ---- */

static void put_value(const struct accel_value *value, struct accel_strbuf *out)
{
    struct value_numbers numbers = {.role = value->role,
                                    .type = value->type,
                                    .rank = value->rank,
                                    .low = value->low,
                                    .high = value->high,
                                    .bytes = value->data ? value->bytes : 0};
    memcpy(numbers.dims, value->dims, sizeof(numbers.dims));
    accel_bytes_put(out, &numbers, sizeof(numbers));
    accel_bytes_put_text(out, value->name);
    accel_bytes_put_text(out, value->key);
    accel_bytes_put(out, value->data, numbers.bytes);
}

static void put_node(const struct accel_node *node, struct accel_strbuf *out)
{
    struct node_numbers numbers = {node->op, node->minor, node->input_count, node->output_count, 0, 0};
    if (node->attributes != NULL)
        memcpy(&numbers.attribute_bytes, node->attributes, sizeof(uint32_t));
    accel_bytes_put(out, &numbers, sizeof(numbers));
    accel_bytes_put_text(out, node->name);
    accel_bytes_put(out, node->inputs, node->input_count * sizeof(uint32_t));
    accel_bytes_put(out, node->outputs, node->output_count * sizeof(uint32_t));
    accel_bytes_put(out, node->attributes, numbers.attribute_bytes);
}

void accel_graph_pack(const struct accel_graph *graph, struct accel_strbuf *out)
{
    struct graph_numbers numbers = {MAGIC, graph->symbol_count, graph->value_count, graph->node_count};
    accel_bytes_put(out, &numbers, sizeof(numbers));
    accel_bytes_put_text(out, graph->name);
    for (uint32_t i = 0; i < graph->symbol_count; i++) {
        const struct accel_symbol *symbol = graph->symbols[i];
        struct symbol_numbers it = {symbol->kind, 0, symbol->lowest, symbol->highest, symbol->multiple};
        accel_bytes_put(out, &it, sizeof(it));
        accel_bytes_put_text(out, symbol->name);
    }
    for (uint32_t i = 0; i < graph->value_count; i++)
        put_value(graph->values[i], out);
    for (uint32_t i = 0; i < graph->node_count; i++)
        put_node(graph->nodes[i], out);
}

/* ---- reading ---- */

static const struct accel_symbol *read_symbol(struct accel_bytes_reader *reader)
{
    struct accel_symbol *symbol = accel_bytes_make(reader, 1, sizeof(*symbol));
    struct symbol_numbers it;
    accel_bytes_read_numbers(reader, &it, sizeof(it), "a symbol is missing");
    if (symbol == NULL)
        return NULL;
    *symbol = (struct accel_symbol){.size = sizeof(*symbol),
                                    .kind = it.kind,
                                    .lowest = it.lowest,
                                    .highest = it.highest,
                                    .multiple = it.multiple,
                                    .name = accel_bytes_read_text(reader, ACCEL_NAME_LIMIT, false)};
    return symbol;
}

static const struct accel_value *read_value(struct accel_bytes_reader *reader)
{
    struct accel_value *value = accel_bytes_make(reader, 1, sizeof(*value));
    struct value_numbers it;
    accel_bytes_read_numbers(reader, &it, sizeof(it), "a value is missing");
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
    value->name = accel_bytes_read_text(reader, ACCEL_NAME_LIMIT, false);
    value->key = accel_bytes_read_text(reader, ACCEL_NAME_LIMIT, true);
    value->data = accel_bytes_read_copy(reader, it.bytes, "the data of a constant is missing");
    return value;
}

static const struct accel_node *read_node(struct accel_bytes_reader *reader)
{
    struct accel_node *node = accel_bytes_make(reader, 1, sizeof(*node));
    struct node_numbers it;
    uint32_t size = 0;
    accel_bytes_read_numbers(reader, &it, sizeof(it), "a node is missing");
    if (node == NULL)
        return NULL;
    if (it.attribute_bytes > ACCEL_OPEN_LIMIT || (it.attribute_bytes != 0 && it.attribute_bytes < 8))
        accel_bytes_fail(reader, ACCEL_E_CORRUPT, "attributes of a wrong size");
    *node = (struct accel_node){
        .size = sizeof(*node), .op = it.op, .minor = it.minor, .input_count = it.inputs, .output_count = it.outputs};
    node->name = accel_bytes_read_text(reader, ACCEL_NAME_LIMIT, false);
    node->inputs =
        accel_bytes_read_copy(reader, (uint64_t)it.inputs * sizeof(uint32_t), "the inputs of a node are missing");
    node->outputs =
        accel_bytes_read_copy(reader, (uint64_t)it.outputs * sizeof(uint32_t), "the outputs of a node are missing");
    node->attributes = accel_bytes_read_copy(reader, it.attribute_bytes, "the attributes of a node are missing");
    if (node->attributes != NULL)
        memcpy(&size, node->attributes, sizeof(size));
    /* The struct contains its own size, which readers use. */
    if (size != it.attribute_bytes)
        accel_bytes_fail(reader, ACCEL_E_CORRUPT, "the size of the attributes differs from their size member");
    return node;
}

static void read_lists(struct accel_bytes_reader *reader, struct accel_graph *graph)
{
    const struct accel_symbol **symbols = accel_bytes_make(reader, graph->symbol_count + 1u, sizeof(*symbols));
    const struct accel_value **values = accel_bytes_make(reader, graph->value_count + 1u, sizeof(*values));
    const struct accel_node **nodes = accel_bytes_make(reader, graph->node_count + 1u, sizeof(*nodes));
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

int32_t accel_graph_unpack(const char *data, size_t bytes, struct accel_arena *arena,
                           const struct accel_graph **out_graph, size_t *out_used, struct accel_error *error)
{
    struct accel_bytes_reader reader = {
        .data = data, .bytes = bytes, .arena = arena, .subject = "a packed graph", .error = error};
    struct accel_graph *graph;
    struct graph_numbers numbers;
    *out_graph = NULL;
    *out_used = 0;
    accel_bytes_read_numbers(&reader, &numbers, sizeof(numbers), "its header is missing");
    /* Each entry takes some bytes, so that the counts cannot request more memory than the data justifies. */
    if (numbers.magic != MAGIC || numbers.symbols > ACCEL_GRAPH_SYMBOLS || numbers.values > ACCEL_GRAPH_VALUES ||
        numbers.nodes > ACCEL_GRAPH_NODES ||
        (uint64_t)numbers.values * sizeof(struct value_numbers) +
                (uint64_t)numbers.nodes * sizeof(struct node_numbers) >
            bytes)
        accel_bytes_fail(&reader, ACCEL_E_CORRUPT, "its magic number or its counts are wrong");
    graph = accel_bytes_make(&reader, 1, sizeof(*graph));
    if (graph == NULL)
        return reader.code;
    *graph = (struct accel_graph){.size = sizeof(*graph),
                                  .symbol_count = numbers.symbols,
                                  .value_count = numbers.values,
                                  .node_count = numbers.nodes,
                                  .name = accel_bytes_read_text(&reader, ACCEL_NAME_LIMIT, false)};
    read_lists(&reader, graph);
    if (reader.code == ACCEL_OK)
        reader.code = accel_graph_verify(graph, error);
    if (reader.code != ACCEL_OK)
        return reader.code;
    *out_graph = graph;
    *out_used = reader.place;
    return ACCEL_OK;
}
