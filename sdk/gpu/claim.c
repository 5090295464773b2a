/* SPDX-License-Identifier: Apache-2.0 */
/* Selects a row for each node and reports the claims to the core. */
#include <stdio.h>

#include <accel/quant/format.h>

#include "sdk/gpu/internal.h"

/* Returns why a row cannot read a weight as it is stored, or NULL. */
static const char *storage_reason(const struct gpu_row *row, const struct sdk_node *node)
{
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const struct accel_value *value = sdk_input(node, i);
        struct gpu_tensor tensor = {.rows = 0};

        if (value == NULL || value->role != ACCEL_ROLE_WEIGHT)
            continue;
        if (value->rank == 2 && (row->matrices >> i & 1u) == 0)
            return "weights of two dimensions are stored in tiles, which the kernel does not read";
        gpu_tensor_measure(gpu_limits_of(node), &tensor, node->graph, node->node->inputs[i], NULL, 1);
        if (tensor.parts > 1 && (row->split >> i & 1u) == 0)
            return "a weight is too large for one binding, and the kernel does not read it in parts";
    }
    return NULL;
}

const struct gpu_row *gpu_select_row(const struct gpu_device_state *gpu, const struct accel_graph *graph, uint32_t node,
                                     const char **out_reason)
{
    struct sdk_node view = {graph, graph->nodes[node], &gpu->limits};

    *out_reason = "no kernel of this driver does this operator";
    if (view.node->input_count > GPU_INPUTS || view.node->output_count > GPU_OUTPUTS)
        return NULL;
    for (uint32_t i = 0; i < gpu_row_count; i++) {
        const struct gpu_row *row = &gpu_rows[i];
        const char *reason;

        if (row->op != view.node->op)
            continue;
        if ((row->features & ~gpu->limits.features) != 0) {
            *out_reason = "the device lacks what the kernel needs";
            continue;
        }
        if (row->check != NULL)
            reason = row->check(row, &view);
        else
            reason = sdk_all_f32(&view, 0) ? NULL : "only F32 values";
        if (reason == NULL)
            reason = storage_reason(row, &view);
        if (reason == NULL)
            return row;
        *out_reason = reason;
    }
    return NULL;
}

/* The type of a matrix, "q4_0"; "?" where it has no name. */
static const char *type_name(const struct accel_value *value, struct accel_format *format)
{
    return value != NULL && accel_format_describe(value->type, format) == ACCEL_OK ? format->name : "?";
}

const char *gpu_row_title(const struct gpu_row *row, const struct accel_graph *graph, uint32_t node,
                          char text[GPU_TITLE])
{
    const struct sdk_node view = {graph, graph->nodes[node], NULL};
    const char *x = row->precision == ACCEL_Q8_0     ? "q8"
                    : row->precision == ACCEL_Q8_ROW ? "q8_row"
                    : row->precision == ACCEL_F16    ? "f16"
                                                     : "f32";
    struct accel_format format;

    /* The matrix of a product comes behind x; tables have no x. */
    if ((row->split >> 1 & 1u) != 0)
        snprintf(text, GPU_TITLE, "%s %s x %s", row->name, type_name(sdk_input(&view, 1), &format), x);
    else if (row->split != 0)
        snprintf(text, GPU_TITLE, "%s %s", row->name, type_name(sdk_input(&view, 0), &format));
    else
        return row->name;
    return text;
}

/* Lowers a node for the highest symbols, so that limits of the device show at claim time. */
static int32_t try_node(struct gpu_device_state *gpu, const struct accel_graph *graph, uint32_t n,
                        struct gpu_tensor *tensors, struct gpu_program *program, struct accel_error *reason)
{
    struct gpu_emitter emitter = {.gpu = gpu, .graph = graph, .mode = GPU_EMIT_CHECK, .error = reason};
    struct gpu_call call = gpu_call_of(gpu, program, tensors, n);
    struct gpu_tensor scratch = gpu_work_space(gpu_scratch_bytes(&call));

    if (scratch.width != 0)
        call.scratch = &scratch;
    program->rows[n]->lower(&call, &emitter);
    return emitter.code;
}

static int32_t claim_node(struct gpu_device_state *gpu, struct gpu_program *program, struct gpu_tensor *tensors,
                          struct accel_claim *claim, const struct accel_claim_sink *sink, struct accel_error *error)
{
    const struct accel_graph *graph = program->graph;
    const struct accel_node *node = graph->nodes[claim->node];
    struct accel_error reason = {.code = ACCEL_OK};
    char title[GPU_TITLE];

    claim->kernel = "";
    claim->reason = "";
    claim->answer = ACCEL_CLAIM_NATIVE;
    claim->weights = sdk_reads_weight(graph, node) ? ACCEL_RESIDENT : 0;
    if (node->op == ACCEL_OP_RESHAPE && sdk_alias(graph, program->roots, node->inputs[0], node->outputs[0])) {
        claim->kernel = "reshape";
        return sink->claim(sink, claim, error);
    }
    program->rows[claim->node] = gpu_select_row(gpu, graph, claim->node, &claim->reason);
    if (program->rows[claim->node] == NULL) {
        claim->answer = ACCEL_CLAIM_NO;
    } else if (try_node(gpu, graph, claim->node, tensors, program, &reason) != ACCEL_OK) {
        claim->answer = ACCEL_CLAIM_NO;
        claim->reason = reason.text;
    } else {
        claim->reason = "";
        claim->kernel = gpu_row_title(program->rows[claim->node], graph, claim->node, title);
        claim->tolerance = program->rows[claim->node]->tolerance;
        claim->precision = program->rows[claim->node]->precision;
        claim->variant = node->op == ACCEL_OP_ATTENTION ? ACCEL_VARIANT_TILED : ACCEL_VARIANT_PLAIN;
    }
    return sink->claim(sink, claim, error);
}

static int32_t claim_graph(struct gpu_device_state *gpu, const struct accel_graph *graph, uint32_t g,
                           const uint64_t *symbols, const struct accel_claim_sink *sink, struct accel_error *error)
{
    struct gpu_program program = {.graph = graph};
    struct gpu_tensor *tensors;
    void *memory = NULL;
    int32_t code =
        gpu_allocate(gpu, ACCEL_MEMORY_HOST, graph->value_count * sizeof(struct gpu_tensor) + gpu_program_bytes(graph),
                     &memory, error);

    if (code != ACCEL_OK)
        return code;
    tensors = memory;
    program.rows = (const struct gpu_row **)(void *)(tensors + graph->value_count);
    program.roots = (uint32_t *)(void *)(program.rows + graph->node_count);
    for (uint32_t v = 0; v < graph->value_count; v++) {
        program.roots[v] = v;
        gpu_tensor_measure(&gpu->limits, &tensors[v], graph, v, symbols, 1);
    }
    for (uint32_t n = 0; n < graph->node_count && code == ACCEL_OK; n++) {
        struct accel_claim claim = {.graph = g, .node = n};

        code = claim_node(gpu, &program, tensors, &claim, sink, error);
    }
    gpu_release(gpu, memory);
    return code;
}

int32_t gpu_claim(struct accel_driver_device *base, const struct accel_graph *const *graphs, uint32_t graph_count,
                  const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                  struct accel_error *error) ACCEL_NOEXCEPT
{
    const uint64_t *buckets = NULL;
    int32_t code = sdk_check_abi(graphs, graph_count, options, error);

    if (code == ACCEL_OK && options != NULL)
        buckets = options->buckets;
    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++) {
        uint64_t symbols[SDK_SYMBOLS];
        uint32_t sets = buckets == NULL ? 1 : options->bucket_counts[g];

        code = sdk_highest(graphs[g], &buckets, sets, symbols, error);
        if (code == ACCEL_OK)
            code = claim_graph((struct gpu_device_state *)base, graphs[g], g, symbols, sink, error);
    }
    return code;
}
