/* SPDX-License-Identifier: Apache-2.0 */
/* Extents, aliases and lives of the values of a graph. */
#include "sdk/driver/graph.h"

#include <stdbool.h>

#include <accel/driver/sdk.h>

uint64_t sdk_extent(const struct accel_dim *dim, const uint64_t *symbols, uint32_t count)
{
    if (dim->symbol == 0)
        return dim->add;
    if (dim->symbol > count || dim->divide == 0)
        return 0;
    return symbols[dim->symbol - 1] * dim->multiply / dim->divide + dim->add;
}

uint64_t sdk_extents(const struct accel_value *value, const uint64_t *symbols, uint32_t count,
                     uint64_t dims[ACCEL_RANK])
{
    uint64_t rows = 1;

    for (uint32_t d = 0; d < value->rank; d++) {
        dims[d] = sdk_extent(&value->dims[d], symbols, count);
        if (d + 1 < value->rank)
            rows *= dims[d];
    }
    return rows;
}

uint64_t sdk_row_bytes(uint32_t type, uint64_t width)
{
    switch (type) {
    case ACCEL_F32:
    case ACCEL_I32:
        return width * 4;
    case ACCEL_F16:
    case ACCEL_BF16:
    case ACCEL_I16:
        return width * 2;
    case ACCEL_F64:
    case ACCEL_I64:
        return width * 8;
    default:
        return width;
    }
}

int32_t sdk_highest(const struct accel_graph *graph, const uint64_t **buckets, uint32_t bucket_count,
                    uint64_t symbols[SDK_SYMBOLS], struct accel_error *error)
{
    if (graph->symbol_count > SDK_SYMBOLS)
        return sdk_error(error, ACCEL_E_LIMIT, "graph %s has %u symbols, at most %u are taken", graph->name,
                         graph->symbol_count, SDK_SYMBOLS);
    for (uint32_t s = 0; s < graph->symbol_count; s++)
        symbols[s] = *buckets == NULL ? graph->symbols[s]->highest : 0;
    if (*buckets == NULL)
        return ACCEL_OK;
    for (uint32_t b = 0; b < bucket_count; b++)
        for (uint32_t s = 0; s < graph->symbol_count; s++, ++*buckets)
            symbols[s] = **buckets > symbols[s] ? **buckets : symbols[s];
    return ACCEL_OK;
}

bool sdk_reads_weight(const struct accel_graph *graph, const struct accel_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != ACCEL_NO_VALUE && graph->values[node->inputs[i]]->role == ACCEL_ROLE_WEIGHT)
            return true;
    return false;
}

bool sdk_alias(const struct accel_graph *graph, uint32_t *roots, uint32_t input, uint32_t output)
{
    uint32_t root = roots[input];

    if (graph->values[output]->role == ACCEL_ROLE_INTERMEDIATE) {
        roots[output] = root;
        return true;
    }
    if (graph->values[root]->role != ACCEL_ROLE_INTERMEDIATE)
        return false;
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (roots[v] == root)
            roots[v] = output;
    return true;
}

void sdk_value_lifetimes(const struct accel_graph *graph, const uint32_t *roots, struct sdk_block *blocks)
{
    for (uint32_t v = 0; v < graph->value_count; v++)
        blocks[v].first = UINT32_MAX;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];

        for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
            uint32_t v = i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
            struct sdk_block *block = v == ACCEL_NO_VALUE ? NULL : &blocks[roots[v]];

            if (block == NULL)
                continue;
            block->first = n < block->first ? n : block->first;
            block->last = n;
        }
    }
}
