/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/builder.h>

#include "core/base/checked.h"
#include "core/base/hash.h"
#include "core/base/open.h"
#include "core/base/utf8.h"
#include "core/graph/dim.h"
#include "core/graph/ops.h"

int32_t accel_name_check(const char *name, const char *what, struct accel_error *error)
{
    size_t length;
    if (name == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "%s has no name", what);
    length = strnlen(name, ACCEL_NAME_LIMIT + 1);
    if (length > ACCEL_NAME_LIMIT)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s has a name of over %u bytes", what, ACCEL_NAME_LIMIT);
    if (length == 0 || !accel_utf8_valid(name, length, NULL))
        return accel_error_set(error, ACCEL_E_INVALID, "%s has a name that is empty or not UTF-8", what);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return accel_error_set(error, ACCEL_E_INVALID, "%s has a name with a control character", what);
    return ACCEL_OK;
}

int32_t accel_symbol_check(const struct accel_symbol *symbol, struct accel_error *error)
{
    int32_t code = accel_open_check(symbol, ACCEL_END_OF(struct accel_symbol, multiple), sizeof(*symbol), "the graph",
                                    "accel_symbol", error);
    if (code == ACCEL_OK)
        code = accel_name_check(symbol->name, "a symbol", error);
    if (code != ACCEL_OK)
        return code;
    if (symbol->kind > ACCEL_SYMBOL_MASKED)
        return accel_error_set(error, ACCEL_E_INVALID, "symbol \"%.200s\": kind %" PRIu32 " is unknown", symbol->name,
                               symbol->kind);
    if (symbol->multiple == 0 || symbol->lowest == 0 || symbol->lowest > symbol->highest ||
        symbol->lowest % symbol->multiple != 0 || symbol->highest % symbol->multiple != 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "symbol \"%.200s\": %" PRIu64 " to %" PRIu64 " in steps of %" PRIu64
                               " is no range of extents",
                               symbol->name, symbol->lowest, symbol->highest, symbol->multiple);
    return ACCEL_OK;
}

int32_t accel_graph_check_symbols(const struct accel_graph *graph, const uint64_t *values, struct accel_error *error)
{
    if (graph->symbol_count && values == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "graph %s has symbols, and no values of them", graph->name);
    for (uint32_t i = 0; i < graph->symbol_count; i++) {
        const struct accel_symbol *symbol = graph->symbols[i];
        if (values[i] < symbol->lowest || values[i] > symbol->highest || values[i] % symbol->multiple != 0)
            return accel_error_set(
                error, ACCEL_E_INVALID,
                "graph %s: symbol %s is %" PRIu64 ", allowed are %" PRIu64 " to %" PRIu64 " in steps of %" PRIu64,
                graph->name, symbol->name, values[i], symbol->lowest, symbol->highest, symbol->multiple);
    }
    return ACCEL_OK;
}

/* ---- values ---- */

static int32_t refuse_value(const struct accel_value *value, struct accel_error *error, const char *text)
{
    return accel_error_set(error, ACCEL_E_INVALID, "value \"%.200s\": %s", value->name, text);
}

static int32_t check_role(const struct accel_value *value, struct accel_error *error)
{
    if (value->role < ACCEL_ROLE_INPUT || value->role > ACCEL_ROLE_INTERMEDIATE)
        return refuse_value(value, error, "its role is unknown");
    if ((value->role == ACCEL_ROLE_WEIGHT) != (value->key != NULL))
        return refuse_value(value, error,
                            value->key ? "it has a key and is no weight" : "it is a weight without a key");
    if (value->key && accel_name_check(value->key, "the key of a weight", error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    if ((value->role == ACCEL_ROLE_CONSTANT) != (value->data != NULL))
        return refuse_value(value, error,
                            value->data ? "it has data and is no constant" : "it is a constant without data");
    if (value->role == ACCEL_ROLE_STATE && value->rank != 2)
        return refuse_value(value, error, "it is a state and its rank is not 2");
    if (!isfinite(value->low) || !isfinite(value->high) || value->low > value->high)
        return refuse_value(value, error, "its calibrated range is not a range");
    return ACCEL_OK;
}

static int32_t check_dims(const struct accel_graph *graph, const struct accel_value *value, struct accel_error *error)
{
    static const struct accel_dim none;
    char what[240];
    if (value->rank < 1 || value->rank > ACCEL_RANK)
        return refuse_value(value, error, "its rank is not 1 to 6");
    snprintf(what, sizeof(what), "value \"%.200s\"", value->name);
    for (uint32_t i = 0; i < value->rank; i++)
        if (accel_dim_check(graph, &value->dims[i], what, error) != ACCEL_OK)
            return ACCEL_E_INVALID;
    for (uint32_t i = value->rank; i < ACCEL_RANK; i++)
        if (memcmp(&value->dims[i], &none, sizeof(none)) != 0)
            return refuse_value(value, error, "an extent past its rank is not 0");
    return ACCEL_OK;
}

static int32_t check_type(const struct accel_value *value, struct accel_error *error)
{
    const struct accel_dim *row = &value->dims[value->rank - 1];
    struct accel_type_layout layout;
    char type[ACCEL_TYPE_TEXT];
    if (!accel_type_describe(value->type, &layout))
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "value \"%.200s\": %s is unknown", value->name,
                               accel_type_text(value->type, type));
    if (layout.block_values == 1)
        return ACCEL_OK;
    if (value->role != ACCEL_ROLE_WEIGHT && value->role != ACCEL_ROLE_CONSTANT && value->role != ACCEL_ROLE_STATE)
        return refuse_value(value, error, "only weights, constants and states have types with blocks");
    if (row->symbol != 0 || row->add % layout.block_values != 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "value \"%.200s\": a row of %" PRIu64 " is no whole number of blocks of %" PRIu32
                               " (%s)",
                               value->name, row->add, layout.block_values, accel_type_text(value->type, type));
    return ACCEL_OK;
}

static int32_t bytes_of(const struct accel_value *value, const uint64_t *symbols, uint32_t symbol_count,
                        uint64_t *out_bytes, struct accel_error *error)
{
    struct accel_type_layout layout;
    uint64_t rows = 1, extent = 1;
    if (!accel_type_describe(value->type, &layout))
        return refuse_value(value, error, "its type is unknown");
    for (uint32_t i = 0; i < value->rank; i++) {
        if (accel_dim_value(&value->dims[i], symbols, symbol_count, &extent, error) != ACCEL_OK)
            return ACCEL_E_INVALID;
        if (i == value->rank - 1 && extent % layout.block_values != 0)
            return refuse_value(value, error, "a row is no whole number of blocks");
        if (i < value->rank - 1 && !accel_mul_u64(rows, extent, &rows))
            return refuse_value(value, error, "its bytes do not fit 64 bits");
    }
    if (!accel_type_bytes(&layout, rows, extent, out_bytes))
        return refuse_value(value, error, "its bytes do not fit 64 bits");
    return ACCEL_OK;
}

/* Checks that the bytes at the highest values of all symbols fit 64 bits; extents only grow with the symbols. */
static int32_t check_bytes(const struct accel_graph *graph, const struct accel_value *value, struct accel_error *error)
{
    uint64_t highest[ACCEL_GRAPH_SYMBOLS], bytes;
    for (uint32_t i = 0; i < graph->symbol_count; i++)
        highest[i] = graph->symbols[i]->highest;
    if (bytes_of(value, highest, graph->symbol_count, &bytes, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    if (value->role != ACCEL_ROLE_CONSTANT)
        return value->bytes == 0 ? ACCEL_OK : refuse_value(value, error, "it has bytes and is no constant");
    for (uint32_t i = 0; i < value->rank; i++)
        if (!accel_dim_is_fixed(&value->dims[i]))
            return refuse_value(value, error, "it is a constant and an extent is not fixed");
    if (bytes != value->bytes)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "value \"%.200s\": its data has %" PRIu64 " bytes, its shape needs %" PRIu64,
                               value->name, value->bytes, bytes);
    return ACCEL_OK;
}

int32_t accel_value_check(const struct accel_graph *graph, const struct accel_value *value, struct accel_error *error)
{
    int32_t code = accel_open_check(value, ACCEL_END_OF(struct accel_value, high), sizeof(*value), "the graph",
                                    "accel_value", error);
    if (code == ACCEL_OK)
        code = accel_name_check(value->name, "a value", error);
    if (code == ACCEL_OK)
        code = check_dims(graph, value, error);
    if (code == ACCEL_OK)
        code = check_role(value, error);
    if (code == ACCEL_OK)
        code = check_type(value, error);
    return code == ACCEL_OK ? check_bytes(graph, value, error) : code;
}

int32_t accel_value_bytes(const struct accel_graph *graph, uint32_t value, const uint64_t *symbols, uint64_t *out_bytes,
                          struct accel_error *error)
{
    if (graph == NULL || out_bytes == NULL || value >= graph->value_count)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_value_bytes: value %" PRIu32 " of %" PRIu32, value,
                               graph ? graph->value_count : 0);
    return bytes_of(graph->values[value], symbols, graph->symbol_count, out_bytes, error);
}

uint32_t accel_graph_find(const struct accel_graph *graph, const char *name)
{
    for (uint32_t i = 0; graph && name && i < graph->value_count; i++)
        if (strcmp(graph->values[i]->name, name) == 0)
            return i;
    return ACCEL_NO_VALUE;
}

/* ---- nodes ---- */

static int32_t check_node_header(const struct accel_node *node, struct accel_error *error)
{
    int32_t code =
        accel_open_check(node, ACCEL_END_OF(struct accel_node, name), sizeof(*node), "the graph", "accel_node", error);
    if (code == ACCEL_OK)
        code = accel_name_check(node->name, "a node", error);
    if (code == ACCEL_OK && node->zero != 0)
        code = accel_error_set(error, ACCEL_E_INVALID, "node \"%.200s\": member zero is not 0", node->name);
    return code;
}

/* Checks that every input of a node comes from an earlier node or from outside the graph. */
static int32_t check_order(const struct accel_graph *graph, const struct accel_node *node, const unsigned char *made,
                           struct accel_error *error)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t index = node->inputs[i];
        if (index != ACCEL_NO_VALUE && !made[index])
            return accel_error_set(error, ACCEL_E_INVALID,
                                   "node \"%.200s\": \"%.200s\" is read before a node has produced it", node->name,
                                   graph->values[index]->name);
    }
    return ACCEL_OK;
}

static int32_t check_output(const struct accel_graph *graph, const struct accel_node *node, uint32_t index,
                            const struct accel_op_made *should, unsigned char *made, struct accel_error *error)
{
    const struct accel_value *value = graph->values[index];
    char wanted[120], found[120];
    if (value->role != ACCEL_ROLE_OUTPUT && value->role != ACCEL_ROLE_INTERMEDIATE)
        return accel_error_set(error, ACCEL_E_INVALID, "node \"%.200s\": \"%.200s\" is no intermediate or output",
                               node->name, value->name);
    if (made[index])
        return accel_error_set(error, ACCEL_E_INVALID, "node \"%.200s\": \"%.200s\" already has a producer", node->name,
                               value->name);
    if (value->type != should->type || !accel_dims_equal(value->rank, value->dims, should->rank, should->dims))
        return accel_error_set(
            error, ACCEL_E_INVALID,
            "node \"%.120s\": its output \"%.120s\" should be %s of type %" PRIu32 ", and is %s of type %" PRIu32,
            node->name, value->name, accel_dims_text(graph, should->rank, should->dims, wanted, sizeof(wanted)),
            should->type, accel_dims_text(graph, value->rank, value->dims, found, sizeof(found)), value->type);
    made[index] = 1;
    return ACCEL_OK;
}

static int32_t check_node(const struct accel_graph *graph, const struct accel_node *node, unsigned char *made,
                          struct accel_error *error)
{
    struct accel_op_call call = {0};
    int32_t code = check_node_header(node, error);
    if (code != ACCEL_OK)
        return code;
    /* The required shape of a reshape is that of its output value. */
    for (uint32_t i = 0; node->outputs && i < node->output_count && i < ACCEL_OP_OUTPUTS; i++)
        if (node->outputs[i] >= graph->value_count)
            return accel_error_set(error, ACCEL_E_INVALID, "node \"%.200s\": its output is out of range", node->name);
    if (node->output_count >= 1 && node->outputs) {
        const struct accel_value *value = graph->values[node->outputs[0]];
        call.made[0].rank = value->rank;
        memcpy(call.made[0].dims, value->dims, sizeof(value->dims));
    }
    code = accel_op_infer(graph, node, &call, error);
    if (code == ACCEL_OK)
        code = check_order(graph, node, made, error);
    for (uint32_t i = 0; code == ACCEL_OK && i < node->output_count; i++)
        code = check_output(graph, node, node->outputs[i], &call.made[i], made, error);
    return code;
}

/* ---- graph ---- */

/* Checks the counts before any list is read, since the lists come from the caller. */
static int32_t check_lists(const struct accel_graph *graph, struct accel_error *error)
{
    if (graph->symbol_count > ACCEL_GRAPH_SYMBOLS || graph->value_count > ACCEL_GRAPH_VALUES ||
        graph->node_count > ACCEL_GRAPH_NODES)
        return accel_error_set(error, ACCEL_E_LIMIT,
                               "graph \"%.200s\": %" PRIu32 " symbols, %" PRIu32 " values, %" PRIu32
                               " nodes; at most %u, %u and %u are allowed",
                               graph->name, graph->symbol_count, graph->value_count, graph->node_count,
                               ACCEL_GRAPH_SYMBOLS, ACCEL_GRAPH_VALUES, ACCEL_GRAPH_NODES);
    if ((graph->symbol_count && !graph->symbols) || !graph->values || !graph->nodes || graph->value_count == 0 ||
        graph->node_count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "graph \"%.200s\": it has no values or no nodes", graph->name);
    for (uint32_t i = 0; i < graph->symbol_count; i++)
        if (graph->symbols[i] == NULL)
            return accel_error_set(error, ACCEL_E_INVALID, "graph \"%.200s\": a symbol is NULL", graph->name);
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i] == NULL)
            return accel_error_set(error, ACCEL_E_INVALID, "graph \"%.200s\": a value is NULL", graph->name);
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i] == NULL)
            return accel_error_set(error, ACCEL_E_INVALID, "graph \"%.200s\": a node is NULL", graph->name);
    return ACCEL_OK;
}

static int32_t check_parts(const struct accel_graph *graph, unsigned char *made, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < graph->symbol_count && code == ACCEL_OK; i++)
        code = accel_symbol_check(graph->symbols[i], error);
    for (uint32_t i = 0; i < graph->value_count && code == ACCEL_OK; i++) {
        code = accel_value_check(graph, graph->values[i], error);
        made[i] = graph->values[i]->role != ACCEL_ROLE_OUTPUT && graph->values[i]->role != ACCEL_ROLE_INTERMEDIATE;
    }
    return code;
}

/* A key names one weight: values that share it must agree in type and shape. */
static int32_t check_keys(const struct accel_graph *graph, struct accel_error *error)
{
    uint32_t slots = 2, *table, code = 0;
    while (slots < graph->value_count * 2)
        slots *= 2;
    table = calloc(slots, sizeof(*table));
    if (table == NULL)
        return accel_error_no_memory(error, "to verify a graph");
    for (uint32_t i = 0; i < graph->value_count && code == 0; i++) {
        const struct accel_value *value = graph->values[i], *other;
        uint32_t slot;
        if (value->key == NULL)
            continue;
        slot = (uint32_t)accel_hash64(value->key, strlen(value->key), 0) & (slots - 1);
        while (table[slot] && strcmp(graph->values[table[slot] - 1]->key, value->key) != 0)
            slot = (slot + 1) & (slots - 1);
        other = table[slot] ? graph->values[table[slot] - 1] : value;
        if (other->type != value->type || !accel_dims_equal(other->rank, other->dims, value->rank, value->dims))
            code = i + 1;
        table[slot] = i + 1;
    }
    free(table);
    return code ? refuse_value(graph->values[code - 1], error, "another weight with this key has another type or shape")
                : ACCEL_OK;
}

static int32_t check_all_made(const struct accel_graph *graph, const unsigned char *made, struct accel_error *error)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (!made[i])
            return refuse_value(graph->values[i], error, "no node produces it");
    return ACCEL_OK;
}

int32_t accel_graph_verify(const struct accel_graph *graph, struct accel_error *error)
{
    unsigned char *made = NULL;
    int32_t code;
    if (graph == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the graph is NULL");
    code = accel_open_check(graph, ACCEL_END_OF(struct accel_graph, name), sizeof(*graph), "the graph", "accel_graph",
                            error);
    if (code == ACCEL_OK)
        code = accel_name_check(graph->name, "a graph", error);
    if (code == ACCEL_OK)
        code = check_lists(graph, error);
    if (code != ACCEL_OK)
        return code;
    made = calloc(graph->value_count, 1);
    if (made == NULL)
        return accel_error_no_memory(error, "to verify a graph");
    code = check_parts(graph, made, error);
    if (code == ACCEL_OK)
        code = check_keys(graph, error);
    for (uint32_t i = 0; i < graph->node_count && code == ACCEL_OK; i++)
        code = check_node(graph, graph->nodes[i], made, error);
    if (code == ACCEL_OK)
        code = check_all_made(graph, made, error);
    free(made);
    return code;
}
