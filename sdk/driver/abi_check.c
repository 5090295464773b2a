/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of structs from a core of another minor. Members that were appended to a struct, and bits of flags, that this
 * library does not know are refused by name, since ignoring them would change the result; so are structs that end
 * before members that every minor has.
 */
#include <string.h>

#include <accel/driver/sdk.h>

#include "sdk/driver/graph.h"

int32_t sdk_check_size(const void *given, size_t least, const char *what, struct accel_error *error)
{
    uint32_t size;

    memcpy(&size, given, sizeof(size));
    if (size >= least)
        return ACCEL_OK;
    return sdk_error(error, ACCEL_E_INVALID, "%s has %u bytes, and ABI %u.%u has at least %zu", what, size,
                     ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, least);
}

/* Bytes past those that are known have to be zero. */
static int32_t check_tail(const void *given, size_t known, const char *what, struct accel_error *error)
{
    const unsigned char *bytes = given;
    uint32_t size;

    memcpy(&size, given, sizeof(size));
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return sdk_error(error, ACCEL_E_UNSUPPORTED,
                             "%s sets a member at byte %zu, which ABI %u.%u of this driver does not know", what, i,
                             ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR);
    return ACCEL_OK;
}

/* `least` is where the first minor of this ABI ends the struct: a core may be older than this driver. */
static int32_t check(const void *given, size_t least, size_t known, const char *what, struct accel_error *error)
{
    int32_t code = sdk_check_size(given, least, what, error);

    return code == ACCEL_OK ? check_tail(given, known, what, error) : code;
}

int32_t sdk_check_weight(const struct accel_weight *weight, struct accel_error *error)
{
    return check(weight, ACCEL_END_OF(struct accel_weight, key), sizeof(*weight), "accel_weight", error);
}

static int32_t check_attributes(const struct accel_node *node, struct accel_error *error)
{
#define NO_ATTRIBUTES                                                                                                  \
    {                                                                                                                  \
        0, 0                                                                                                           \
    }
#define ATTRIBUTES(tag, last)                                                                                          \
    {                                                                                                                  \
        ACCEL_END_OF(struct accel_##tag, last), sizeof(struct accel_##tag)                                             \
    }
#define ACCEL_OPERATOR(number, ID, name, since, outputs, attributes, ...) [number] = attributes,
    static const struct {
        size_t least, known;
    } bytes[ACCEL_OP_END] = {
#include <accel/driver/ops.def>
    };
    static const char what[] = "the attributes of a node";

    if (node->attributes == NULL || node->op >= ACCEL_OP_END)
        return ACCEL_OK;
    if (bytes[node->op].known == 0)
        return check(node->attributes, sizeof(uint64_t), sizeof(uint64_t), what, error);
    return check(node->attributes, bytes[node->op].least, bytes[node->op].known, what, error);
}

static int32_t check_graph(const struct accel_graph *graph, struct accel_error *error)
{
    int32_t code = check(graph, ACCEL_END_OF(struct accel_graph, name), sizeof(*graph), "accel_graph", error);

    if (code != ACCEL_OK)
        return code;
    for (uint32_t s = 0; s < graph->symbol_count && code == ACCEL_OK; s++)
        code = check(graph->symbols[s], ACCEL_END_OF(struct accel_symbol, multiple), sizeof(*graph->symbols[s]),
                     "accel_symbol", error);
    for (uint32_t v = 0; v < graph->value_count && code == ACCEL_OK; v++)
        code = check(graph->values[v], ACCEL_END_OF(struct accel_value, high), sizeof(*graph->values[v]), "accel_value",
                     error);
    for (uint32_t n = 0; n < graph->node_count && code == ACCEL_OK; n++) {
        code = check(graph->nodes[n], ACCEL_END_OF(struct accel_node, name), sizeof(*graph->nodes[n]), "accel_node",
                     error);
        if (code == ACCEL_OK)
            code = check_attributes(graph->nodes[n], error);
    }
    return code;
}

int32_t sdk_check_abi(const struct accel_graph *const *graphs, uint32_t graph_count,
                      const struct accel_compile_options *options, struct accel_error *error)
{
    static const size_t least = ACCEL_END_OF(struct accel_compile_options, zero);
    int32_t code = ACCEL_OK;

    if (options != NULL)
        code = sdk_check_size(options, least, "accel_compile_options", error);
    if (code != ACCEL_OK)
        return code;
    if (options != NULL && (options->flags & ~ACCEL_COMPILE_DETERMINISTIC) != 0)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "accel_compile_options.flags 0x%x has unknown bits",
                         options->flags);
    if (options != NULL)
        code = check(options, least, sizeof(*options), "accel_compile_options", error);
    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++)
        code = check_graph(graphs[g], error);
    return code;
}
