/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the arguments that create modules and sets: graphs, buckets, binds. */
#include "config.h"

#include <accel/builder.h>

#include "core/base/checked.h"
#include "core/base/open.h"
#include "core/graph/verify.h"
#include "core/runtime/check.h"

#define MOST_GRAPHS 4096u
#define OFFSET_STEP 64u /* alignment of a bind's offset, promised to drivers by accel/run.h */

/* Checks the buckets, one list without gaps: each graph in turn has bucket_counts rows with one value per symbol.
 * A graph without symbols has empty rows, and a count nevertheless. */
static int32_t check_options(const struct accel_graph *const *graphs, uint32_t count,
                             const struct accel_compile_options *options, struct accel_error *error)
{
    const uint64_t *bucket;
    int32_t code = accel_open_check(options, ACCEL_END_OF(struct accel_compile_options, bucket_counts),
                                    sizeof(*options), "the caller", "accel_compile_options", error);
    if (code != ACCEL_OK)
        return code;
    if ((options->flags & ~ACCEL_COMPILE_DETERMINISTIC) != 0)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_compile_options.flags 0x%x has unknown bits",
                               options->flags);
    if (options->bucket_counts == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_compile_options has no bucket_counts");
    bucket = options->buckets;
    for (uint32_t g = 0; g < count; g++) {
        if (options->bucket_counts[g] == 0 || (bucket == NULL && graphs[g]->symbol_count != 0))
            return accel_error_set(error, ACCEL_E_INVALID, "graph %s needs at least one bucket", graphs[g]->name);
        for (uint32_t b = 0; b < options->bucket_counts[g] && graphs[g]->symbol_count != 0; b++) {
            code = accel_graph_check_symbols(graphs[g], bucket, error);
            if (code != ACCEL_OK)
                return code;
            bucket += graphs[g]->symbol_count;
        }
    }
    return ACCEL_OK;
}

int32_t accel_check_graphs(const struct accel_graph *const *graphs, uint32_t count,
                           const struct accel_compile_options *options, struct accel_error *error)
{
    if (graphs == NULL || count == 0 || count > MOST_GRAPHS)
        return accel_error_set(error, ACCEL_E_INVALID, "a module needs 1 to %u graphs", MOST_GRAPHS);
    for (uint32_t g = 0; g < count; g++) {
        int32_t code = accel_graph_verify(graphs[g], error);
        if (code != ACCEL_OK)
            return code;
    }
    return options == NULL ? ACCEL_OK : check_options(graphs, count, options, error);
}

static int32_t check_range(const struct accel_module *module, const struct accel_value *value, uint64_t bytes,
                           struct accel_error *error)
{
    uint64_t most = module->device->listed->info.facts->limits->binding_bytes;
    if (bytes <= most)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_LIMIT, "%s has %llu bytes, device %s binds at most %llu", value->name,
                           (unsigned long long)bytes, module->device->listed->info.name, (unsigned long long)most);
}

static int32_t check_buffer_bind(const struct accel_module *module, const struct accel_graph *graph,
                                 const uint64_t *symbols, const struct accel_bind *bind, struct accel_error *error)
{
    const struct accel_value *value = graph->values[bind->value];
    uint64_t bytes = 0;
    int32_t code = accel_value_bytes(graph, bind->value, symbols, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    if (bind->buffer->device != module->device || bind->part != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: its buffer belongs to another device, or part is set",
                               value->name);
    if (bind->offset % OFFSET_STEP != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: offset %llu is no multiple of %u", value->name,
                               (unsigned long long)bind->offset, OFFSET_STEP);
    if (!accel_within_u64(bind->offset, bytes, bind->buffer->bytes))
        return accel_error_set(error, ACCEL_E_INVALID, "%s needs %llu bytes at %llu, its buffer has %llu", value->name,
                               (unsigned long long)bytes, (unsigned long long)bind->offset,
                               (unsigned long long)bind->buffer->bytes);
    return check_range(module, value, bytes, error);
}

/* Checks a state bind. A state may have more slots than the graph requires, since many graphs of one module share
 * it. Type and row must match, since they determine the slot layout. */
static int32_t check_state_bind(const struct accel_module *module, const struct accel_graph *graph,
                                const uint64_t *symbols, const struct accel_bind *bind, struct accel_error *error)
{
    const struct accel_value *value = graph->values[bind->value];
    const struct accel_state *state = bind->state;
    uint64_t slots = 0;
    uint64_t row = 0;
    uint64_t bytes = 0;
    int32_t code;
    if (state->device != module->device || bind->offset != 0 || bind->part >= state->part_count)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "%s: its state belongs to another device, has no part %u, or offset is set", value->name,
                               bind->part);
    code = accel_dim_value(&value->dims[0], symbols, graph->symbol_count, &slots, error);
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[1], symbols, graph->symbol_count, &row, error);
    if (code != ACCEL_OK)
        return code;
    if (value->type != state->parts[bind->part].type || row != state->parts[bind->part].row || slots > state->slots)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "%s is [%llu, %llu] of type 0x%x, part %u of its state [%llu, %llu] of 0x%x",
                               value->name, (unsigned long long)slots, (unsigned long long)row, value->type, bind->part,
                               (unsigned long long)state->slots, (unsigned long long)state->parts[bind->part].row,
                               state->parts[bind->part].type);
    code = accel_value_bytes(graph, bind->value, symbols, &bytes, error);
    return code == ACCEL_OK ? check_range(module, value, bytes, error) : code;
}

static int32_t check_bind(const struct accel_module *module, const struct accel_graph *graph, const uint64_t *symbols,
                          const struct accel_bind *bind, struct accel_error *error)
{
    uint32_t role;
    if (bind->value >= graph->value_count)
        return accel_error_set(error, ACCEL_E_INVALID, "graph %s has no value %u", graph->name, bind->value);
    if ((bind->buffer == NULL) == (bind->state == NULL))
        return accel_error_set(error, ACCEL_E_INVALID, "%s must be bound to either a buffer or a state",
                               graph->values[bind->value]->name);
    role = graph->values[bind->value]->role;
    if (role == ACCEL_ROLE_STATE && bind->state != NULL)
        return check_state_bind(module, graph, symbols, bind, error);
    if ((role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT) && bind->buffer != NULL)
        return check_buffer_bind(module, graph, symbols, bind, error);
    return accel_error_set(error, ACCEL_E_INVALID, "%s has role %u, which this bind does not fit",
                           graph->values[bind->value]->name, role);
}

/* Rejects an output that overlaps another value's bytes, which a step may still read. */
static int32_t check_overlaps(const struct accel_graph *graph, const uint64_t *symbols, const struct accel_bind *a,
                              const struct accel_bind *b, struct accel_error *error)
{
    uint64_t a_bytes = 0;
    uint64_t b_bytes = 0;
    bool writes =
        graph->values[a->value]->role == ACCEL_ROLE_OUTPUT || graph->values[b->value]->role == ACCEL_ROLE_OUTPUT;
    if (a->value == b->value)
        return accel_error_set(error, ACCEL_E_INVALID, "%s is bound twice", graph->values[a->value]->name);
    if (a->buffer == NULL || a->buffer != b->buffer || !writes)
        return ACCEL_OK;
    if (accel_value_bytes(graph, a->value, symbols, &a_bytes, error) != ACCEL_OK ||
        accel_value_bytes(graph, b->value, symbols, &b_bytes, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    if (a->offset < b->offset + b_bytes && b->offset < a->offset + a_bytes)
        return accel_error_set(error, ACCEL_E_INVALID, "%s and %s overlap in their buffer",
                               graph->values[a->value]->name, graph->values[b->value]->name);
    return ACCEL_OK;
}

static bool is_bound(const struct accel_bind *binds, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (binds[i].value == value)
            return true;
    return false;
}

int32_t accel_check_binds(const struct accel_module *module, uint32_t program, const uint64_t *symbols,
                          const struct accel_bind *binds, uint32_t count, struct accel_error *error)
{
    const struct accel_graph *graph;
    int32_t code;
    if (program >= module->graph_count)
        return accel_error_set(error, ACCEL_E_INVALID, "the module has %u programs, and no program %u",
                               module->graph_count, program);
    graph = module->graphs[program];
    if ((symbols == NULL && graph->symbol_count != 0) || (binds == NULL && count != 0) || count > graph->value_count)
        return accel_error_set(error, ACCEL_E_INVALID, "graph %s: symbols or binds are missing, or too many",
                               graph->name);
    code = accel_graph_check_symbols(graph, symbols, error);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        code = check_bind(module, graph, symbols, &binds[i], error);
        for (uint32_t j = 0; j < i && code == ACCEL_OK; j++)
            code = check_overlaps(graph, symbols, &binds[i], &binds[j], error);
    }
    for (uint32_t v = 0; v < graph->value_count && code == ACCEL_OK; v++) {
        uint32_t role = graph->values[v]->role;
        bool outside = role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT || role == ACCEL_ROLE_STATE;
        if (outside && !is_bound(binds, count, v))
            code = accel_error_set(error, ACCEL_E_INVALID, "graph %s: %s is not bound", graph->name,
                                   graph->values[v]->name);
    }
    return code;
}
