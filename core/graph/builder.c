/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/builder.h>

#include "core/base/arena.h"
#include "core/graph/dim.h"
#include "core/graph/ops.h"
#include "core/graph/verify.h"

/* A builder. Entries live in the arena and never move; the lists of pointers grow, and `graph` points to them, so
 * that inference sees the graph built so far. */
struct accel_builder {
    struct accel_arena arena;
    struct accel_graph graph;
    struct accel_symbol *symbols[ACCEL_GRAPH_SYMBOLS];
    struct accel_value **values;
    struct accel_node **nodes;
    uint32_t value_capacity;
    uint32_t node_capacity;
    int32_t failure; /* first code other than ACCEL_OK */
    bool finished;
};

/* Stores the first failure, which is sticky, and returns the code. */
static int32_t store_failure(struct accel_builder *builder, int32_t code)
{
    if (builder->failure == ACCEL_OK)
        builder->failure = code;
    return code;
}

/* Sets an error whose code is sticky, and returns the code. */
#define FAIL(builder, error, ...) store_failure(builder, accel_error_set(error, __VA_ARGS__))

static int32_t no_memory(struct accel_builder *builder, struct accel_error *error)
{
    return store_failure(builder, accel_error_no_memory(error, "for graph \"%.200s\"", builder->graph.name));
}

/* Starts every call of the builder: refuses it after an earlier failure or after finish. */
static int32_t begin(struct accel_builder *builder, struct accel_error *error)
{
    if (builder == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the builder is NULL");
    if (builder->failure != ACCEL_OK)
        return accel_error_set(error, builder->failure, "graph \"%.200s\": an earlier call of its builder has failed",
                               builder->graph.name);
    if (builder->finished)
        return FAIL(builder, error, ACCEL_E_INVALID, "graph \"%.200s\" is finished", builder->graph.name);
    return ACCEL_OK;
}

/* Ensures capacity for one more pointer. */
static bool grow(void *list_pointer, uint32_t count, uint32_t *capacity, uint32_t most)
{
    void **list, **grown;
    uint32_t larger = *capacity ? *capacity * 2 : 64;
    memcpy(&list, list_pointer, sizeof(list));
    if (count < *capacity)
        return true;
    if (count >= most)
        return false;
    grown = realloc(list, larger * sizeof(*grown));
    if (grown == NULL)
        return false;
    memcpy(list_pointer, &grown, sizeof(grown));
    *capacity = larger;
    return true;
}

int32_t accel_builder_create(const char *name, struct accel_builder **out_builder, struct accel_error *error)
{
    struct accel_builder *builder = NULL;
    int32_t code;
    if (out_builder == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_builder_create: out_builder is NULL");
    *out_builder = NULL;
    code = accel_name_check(name, "a graph", error);
    if (code != ACCEL_OK)
        return code;
    builder = calloc(1, sizeof(*builder));
    if (builder) {
        builder->graph.size = sizeof(builder->graph);
        builder->graph.name = accel_arena_strdup(&builder->arena, name);
    }
    if (builder == NULL || builder->graph.name == NULL) {
        accel_builder_free(builder);
        return accel_error_no_memory(error, "for graph \"%.200s\"", name);
    }
    builder->graph.symbols = (const struct accel_symbol *const *)builder->symbols;
    *out_builder = builder;
    return ACCEL_OK;
}

void accel_builder_free(struct accel_builder *builder)
{
    if (builder == NULL)
        return;
    free(builder->values);
    free(builder->nodes);
    accel_arena_free(&builder->arena);
    free(builder);
}

int32_t accel_builder_symbol(struct accel_builder *builder, const char *name, uint64_t lowest, uint64_t highest,
                             uint32_t *out_symbol, struct accel_error *error)
{
    struct accel_symbol given = {sizeof(given), ACCEL_SYMBOL_EXACT, name, lowest, highest, 1}, *symbol;
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (out_symbol == NULL)
        return FAIL(builder, error, ACCEL_E_INVALID, "accel_builder_symbol: out_symbol is NULL");
    code = accel_symbol_check(&given, error);
    if (code != ACCEL_OK)
        return store_failure(builder, code);
    if (builder->graph.symbol_count == ACCEL_GRAPH_SYMBOLS)
        return FAIL(builder, error, ACCEL_E_LIMIT, "graph \"%.200s\" has %u symbols already", builder->graph.name,
                    ACCEL_GRAPH_SYMBOLS);
    symbol = accel_arena_alloc(&builder->arena, sizeof(*symbol), _Alignof(struct accel_symbol));
    if (symbol == NULL || (given.name = accel_arena_strdup(&builder->arena, name)) == NULL)
        return no_memory(builder, error);
    *symbol = given;
    builder->symbols[builder->graph.symbol_count++] = symbol;
    *out_symbol = builder->graph.symbol_count;
    return ACCEL_OK;
}

int32_t accel_builder_mask(struct accel_builder *builder, uint32_t symbol, struct accel_error *error)
{
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (symbol == 0 || symbol > builder->graph.symbol_count)
        return FAIL(builder, error, ACCEL_E_INVALID, "graph \"%.200s\" has no symbol %" PRIu32, builder->graph.name,
                    symbol);
    builder->symbols[symbol - 1]->kind = ACCEL_SYMBOL_MASKED;
    return ACCEL_OK;
}

/* Adds a copy of a value whose strings and data belong to the caller. Adds nothing if the check fails. */
static int32_t add_value(struct accel_builder *builder, const struct accel_value *given, uint32_t *out_value,
                         struct accel_error *error)
{
    struct accel_value *value;
    int32_t code;
    if (out_value == NULL)
        return FAIL(builder, error, ACCEL_E_INVALID, "graph \"%.200s\": out_value is NULL", builder->graph.name);
    code = accel_value_check(&builder->graph, given, error);
    if (code != ACCEL_OK)
        return store_failure(builder, code);
    if (!grow(&builder->values, builder->graph.value_count, &builder->value_capacity, ACCEL_GRAPH_VALUES))
        return no_memory(builder, error);
    builder->graph.values = (const struct accel_value *const *)builder->values;
    value = accel_arena_alloc(&builder->arena, sizeof(*value), _Alignof(struct accel_value));
    if (value == NULL)
        return no_memory(builder, error);
    *value = *given;
    value->name = accel_arena_strdup(&builder->arena, given->name);
    if (given->key)
        value->key = value->name;
    if (given->data) {
        void *data = accel_arena_alloc(&builder->arena, given->bytes, 64);
        if (data)
            memcpy(data, given->data, given->bytes);
        value->data = data;
    }
    if (value->name == NULL || (given->data && value->data == NULL))
        return no_memory(builder, error);
    builder->values[builder->graph.value_count] = value;
    *out_value = builder->graph.value_count++;
    return ACCEL_OK;
}

int32_t accel_builder_value(struct accel_builder *builder, uint32_t role, const char *name, uint32_t type,
                            uint32_t rank, const struct accel_dim *dims, uint32_t *out_value, struct accel_error *error)
{
    struct accel_value value = {
        .size = sizeof(value),
        .role = role,
        .type = type,
        .rank = rank,
        .name = name,
        .key = role == ACCEL_ROLE_WEIGHT ? name : NULL,
    };
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (role != ACCEL_ROLE_INPUT && role != ACCEL_ROLE_WEIGHT && role != ACCEL_ROLE_STATE)
        return FAIL(builder, error, ACCEL_E_INVALID,
                    "value \"%.200s\": the caller can add only inputs, weights and states", name ? name : "?");
    if (dims == NULL || rank < 1 || rank > ACCEL_RANK)
        return FAIL(builder, error, ACCEL_E_INVALID, "value \"%.200s\": its rank is not 1 to %u", name ? name : "?",
                    ACCEL_RANK);
    memcpy(value.dims, dims, rank * sizeof(*dims));
    return add_value(builder, &value, out_value, error);
}

int32_t accel_builder_constant(struct accel_builder *builder, const char *name, uint32_t type, uint32_t rank,
                               const uint64_t *dims, const void *data, uint32_t *out_value, struct accel_error *error)
{
    struct accel_value value = {
        .size = sizeof(value),
        .role = ACCEL_ROLE_CONSTANT,
        .type = type,
        .rank = rank,
        .name = name,
        .data = data,
    };
    struct accel_type_layout layout;
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (dims == NULL || data == NULL || rank < 1 || rank > ACCEL_RANK || !accel_type_describe(type, &layout))
        return FAIL(builder, error, ACCEL_E_INVALID,
                    "constant \"%.200s\": its type, rank, dims or data are missing or wrong", name ? name : "?");
    for (uint32_t i = 0; i < rank; i++)
        value.dims[i] = accel_dim_fixed(dims[i]);
    /* Counts whole blocks only; the check refuses a row that is no whole number of blocks. */
    if (!accel_dims_product(rank - 1, value.dims, &value.bytes) ||
        !accel_type_bytes(&layout, value.bytes, dims[rank - 1] / layout.block_values * layout.block_values,
                          &value.bytes))
        return FAIL(builder, error, ACCEL_E_LIMIT, "constant \"%.200s\": its bytes do not fit 64 bits",
                    name ? name : "?");
    return add_value(builder, &value, out_value, error);
}

/* Copies node, inputs and attributes, which the inference has checked. */
static struct accel_node *copy_node(struct accel_builder *builder, const struct accel_node *given)
{
    struct accel_node *node = accel_arena_alloc(&builder->arena, sizeof(*node), _Alignof(struct accel_node));
    uint32_t *lists = accel_arena_array(&builder->arena, given->input_count + ACCEL_OP_OUTPUTS, sizeof(*lists));
    void *attributes = NULL;
    uint32_t bytes = 0;
    if (given->attributes) {
        memcpy(&bytes, given->attributes, sizeof(bytes));
        attributes = accel_arena_alloc(&builder->arena, bytes, 8);
    }
    if (node == NULL || lists == NULL || (given->attributes && attributes == NULL))
        return NULL;
    *node = *given;
    memcpy(lists, given->inputs, given->input_count * sizeof(*lists));
    node->inputs = lists;
    node->outputs = given->output_count ? lists + given->input_count : NULL;
    if (attributes)
        memcpy(attributes, given->attributes, bytes);
    node->attributes = attributes;
    node->name = accel_arena_strdup(&builder->arena, given->name);
    return node->name ? node : NULL;
}

/* Adds the intermediate that a node produces, named after the node and its output. */
static int32_t add_made(struct accel_builder *builder, const char *node, const char *output,
                        const struct accel_op_made *made, uint32_t *out_value, struct accel_error *error)
{
    struct accel_value value = {
        .size = sizeof(value), .role = ACCEL_ROLE_INTERMEDIATE, .type = made->type, .rank = made->rank, .name = node};
    char name[ACCEL_NAME_LIMIT + 1];
    memcpy(value.dims, made->dims, sizeof(value.dims));
    if (output) {
        int length = snprintf(name, sizeof(name), "%s.%s", node, output);
        if (length < 0 || (size_t)length >= sizeof(name))
            return FAIL(builder, error, ACCEL_E_INVALID,
                        "node \"%.200s\": its name is too long to add that of output %s", node, output);
        value.name = name;
    }
    return add_value(builder, &value, out_value, error);
}

static int32_t append_node(struct accel_builder *builder, const struct accel_node *given,
                           const struct accel_op_call *call, uint32_t *out_values, struct accel_error *error)
{
    struct accel_node *node;
    if (!grow(&builder->nodes, builder->graph.node_count, &builder->node_capacity, ACCEL_GRAPH_NODES))
        return no_memory(builder, error);
    builder->graph.nodes = (const struct accel_node *const *)builder->nodes;
    node = copy_node(builder, given);
    if (node == NULL)
        return no_memory(builder, error);
    out_values[0] = ACCEL_NO_VALUE;
    for (uint32_t i = 0; i < node->output_count; i++) {
        int32_t code =
            add_made(builder, given->name, i == 0 ? NULL : call->op->second, &call->made[i], &out_values[i], error);
        if (code != ACCEL_OK)
            return code;
        memcpy((uint32_t *)node->outputs + i, &out_values[i], sizeof(*out_values));
    }
    builder->nodes[builder->graph.node_count++] = node;
    return ACCEL_OK;
}

/* Adds a node; `call` holds the shape that a reshape requires. */
static int32_t add_node(struct accel_builder *builder, struct accel_node *node, struct accel_op_call *call,
                        uint32_t *out_values, struct accel_error *error)
{
    const struct accel_op *row = accel_op_find(node->op);
    uint32_t outputs[ACCEL_OP_OUTPUTS] = {0};
    int32_t code = accel_name_check(node->name, "a node", error);
    node->size = sizeof(*node);
    node->minor = row ? row->since : 0;
    /* Inference reads the outputs as a list, which the builder fills. */
    node->outputs = outputs;
    if (code == ACCEL_OK && out_values == NULL && node->output_count)
        code = accel_error_set(error, ACCEL_E_INVALID, "node \"%.200s\": out_value is NULL", node->name);
    if (code == ACCEL_OK)
        code = accel_op_infer(&builder->graph, node, call, error);
    if (code != ACCEL_OK)
        return store_failure(builder, code);
    return append_node(builder, node, call, out_values ? out_values : outputs, error);
}

int32_t accel_builder_node_outputs(struct accel_builder *builder, uint32_t op, const char *name, const uint32_t *inputs,
                                   uint32_t input_count, const void *attributes, uint32_t *out_values,
                                   uint32_t output_count, struct accel_error *error)
{
    struct accel_op_call call = {0};
    struct accel_node node = {.op = op,
                              .input_count = input_count,
                              .output_count = output_count,
                              .inputs = inputs,
                              .attributes = attributes,
                              .name = name};
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (op == ACCEL_OP_RESHAPE)
        return FAIL(builder, error, ACCEL_E_INVALID, "node \"%.200s\": use accel_builder_reshape for a reshape",
                    name ? name : "?");
    return add_node(builder, &node, &call, out_values, error);
}

int32_t accel_builder_node(struct accel_builder *builder, uint32_t op, const char *name, const uint32_t *inputs,
                           uint32_t input_count, const void *attributes, uint32_t *out_value, struct accel_error *error)
{
    const struct accel_op *row = accel_op_find(op);
    return accel_builder_node_outputs(builder, op, name, inputs, input_count, attributes, out_value,
                                      row ? row->output_count : 0, error);
}

int32_t accel_builder_reshape(struct accel_builder *builder, const char *name, uint32_t input, uint32_t rank,
                              const struct accel_dim *dims, uint32_t *out_value, struct accel_error *error)
{
    struct accel_op_call call = {.made[0].rank = rank};
    struct accel_node node = {.op = ACCEL_OP_RESHAPE, .input_count = 1, .output_count = 1, .name = name};
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (dims == NULL || rank < 1 || rank > ACCEL_RANK)
        return FAIL(builder, error, ACCEL_E_INVALID, "reshape \"%.200s\": its rank is not 1 to %u", name ? name : "?",
                    ACCEL_RANK);
    memcpy(call.made[0].dims, dims, rank * sizeof(*dims));
    node.inputs = &input;
    return add_node(builder, &node, &call, out_value, error);
}

int32_t accel_builder_output(struct accel_builder *builder, uint32_t value, const char *name, struct accel_error *error)
{
    struct accel_value *chosen;
    int32_t code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    if (value >= builder->graph.value_count || builder->values[value]->role != ACCEL_ROLE_INTERMEDIATE)
        return FAIL(builder, error, ACCEL_E_INVALID, "graph \"%.200s\": value %" PRIu32 " is no intermediate",
                    builder->graph.name, value);
    chosen = builder->values[value];
    if (name) {
        code = accel_name_check(name, "an output", error);
        if (code != ACCEL_OK)
            return store_failure(builder, code);
        name = accel_arena_strdup(&builder->arena, name);
        if (name == NULL)
            return no_memory(builder, error);
        chosen->name = name;
    }
    chosen->role = ACCEL_ROLE_OUTPUT;
    return ACCEL_OK;
}

int32_t accel_builder_finish(struct accel_builder *builder, const struct accel_graph **out_graph,
                             struct accel_error *error)
{
    int32_t code;
    if (out_graph == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_builder_finish: out_graph is NULL");
    *out_graph = NULL;
    code = begin(builder, error);
    if (code != ACCEL_OK)
        return code;
    code = accel_graph_verify(&builder->graph, error);
    if (code != ACCEL_OK)
        return store_failure(builder, code);
    builder->finished = true;
    *out_graph = &builder->graph;
    return ACCEL_OK;
}
