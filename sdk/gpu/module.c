/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: a row for each node, the storage that values share, constants on the device, and all pipelines. */
#include "sdk/gpu/internal.h"

/* ---- programs ---- */

static int32_t program_build(struct gpu_device_state *gpu, struct gpu_program *program, struct accel_error *error)
{
    const struct accel_graph *graph = program->graph;

    for (uint32_t v = 0; v < graph->value_count; v++)
        program->roots[v] = v;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        const char *reason;

        if (node->op == ACCEL_OP_RESHAPE && sdk_alias(graph, program->roots, node->inputs[0], node->outputs[0]))
            continue;
        program->rows[n] = gpu_select_row(gpu, graph, n, &reason);
        if (program->rows[n] == NULL)
            return sdk_error(error, ACCEL_E_REFUSED, "graph %s, node %u (%s): %s", graph->name, n, node->name, reason);
    }
    return ACCEL_OK;
}

uint64_t gpu_program_bytes(const struct accel_graph *graph)
{
    return graph->node_count * sizeof(void *) + graph->value_count * (sizeof(struct gpu_place) + sizeof(uint32_t)) + 1;
}

static int32_t program_create(struct gpu_device_state *gpu, struct gpu_program *program,
                              const struct accel_graph *graph, struct accel_error *error)
{
    void *memory = NULL;
    int32_t code = gpu_allocate(gpu, ACCEL_MEMORY_PROGRAM, gpu_program_bytes(graph), &memory, error);

    if (code != ACCEL_OK)
        return code;
    program->graph = graph;
    program->rows = memory;
    program->constants = (struct gpu_place *)(void *)(program->rows + graph->node_count);
    program->roots = (uint32_t *)(void *)(program->constants + graph->value_count);
    return program_build(gpu, program, error);
}

/* ---- pipelines ---- */

int32_t gpu_program_walk(struct gpu_module *module, const struct gpu_program *program, const uint64_t *symbols,
                         uint32_t mode, uint64_t *out_scratch, uint32_t *out_launches, struct accel_error *error)
{
    struct gpu_device_state *gpu = module->gpu;
    struct gpu_emitter emitter = {.gpu = gpu, .module = module, .graph = program->graph, .mode = mode, .error = error};
    struct gpu_shape_plan plan;
    void *memory = NULL;
    int32_t code = gpu_allocate(gpu, ACCEL_MEMORY_HOST, gpu_shape_plan_bytes(program->graph), &memory, error);

    if (code != ACCEL_OK)
        return code;
    gpu_shape_plan_make(gpu, program, symbols, memory, &plan);
    for (uint32_t n = 0; n < program->graph->node_count; n++)
        gpu_lower_node(&emitter, program, plan.tensors, plan.scratches, n);
    *out_scratch = plan.scratch_bytes;
    *out_launches = emitter.count;
    gpu_release(gpu, memory);
    return emitter.code;
}

/* A blob has all kernels, whatever the device was opened with. */
static int32_t make_pipelines(struct gpu_module *module, const struct accel_compile_options *options, uint32_t all,
                              const struct accel_task *task, struct accel_error *error)
{
    const uint64_t *buckets = options == NULL ? NULL : options->buckets;

    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct accel_graph *graph = module->programs[p].graph;
        uint32_t sets = buckets == NULL ? 1 : options->bucket_counts[p];
        uint64_t symbols[SDK_SYMBOLS];
        uint64_t scratch;
        uint32_t launches;
        int32_t code = sdk_highest(graph, &buckets, sets, symbols, error);

        if (code == ACCEL_OK)
            code = gpu_program_walk(module, &module->programs[p], symbols, GPU_EMIT_WANT, &scratch, &launches, error);
        if (code != ACCEL_OK)
            return code;
    }
    return all ? gpu_pipeline_compile(module, task, error) : ACCEL_OK;
}

/* ---- constants ---- */

static int32_t place_constants(struct gpu_module *module, struct accel_error *error)
{
    uint64_t items = 0;
    int32_t code;

    for (uint32_t p = 0; p < module->program_count; p++)
        for (uint32_t v = 0; v < module->programs[p].graph->value_count; v++)
            items += module->programs[p].graph->values[v]->role == ACCEL_ROLE_CONSTANT;
    if (items == 0)
        return ACCEL_OK;
    code = gpu_arena_init(module->gpu, &module->constants, ACCEL_MEMORY_PROGRAM, items, error);
    for (uint32_t p = 0; p < module->program_count && code == ACCEL_OK; p++)
        for (uint32_t v = 0; v < module->programs[p].graph->value_count; v++)
            if (module->programs[p].graph->values[v]->role == ACCEL_ROLE_CONSTANT)
                module->programs[p].constants[v] =
                    gpu_arena_place(&module->constants, module->programs[p].graph->values[v]->bytes);
    return code == ACCEL_OK ? gpu_arena_fill(module->gpu, &module->constants, error) : code;
}

static int32_t write_constants(struct gpu_module *module, struct accel_error *error)
{
    int32_t code = place_constants(module, error);

    for (uint32_t p = 0; p < module->program_count && code == ACCEL_OK; p++) {
        const struct gpu_program *program = &module->programs[p];

        for (uint32_t v = 0; v < program->graph->value_count && code == ACCEL_OK; v++) {
            const struct accel_value *value = program->graph->values[v];

            if (value->role == ACCEL_ROLE_CONSTANT && value->bytes != 0)
                code = gpu_transfer_write(module->gpu, module->constants.chunks[program->constants[v].chunk],
                                          program->constants[v].offset, value->data, value->bytes, error);
        }
    }
    return code;
}

/* ---- the object ---- */

static int32_t module_free(struct accel_driver_module *base) ACCEL_NOEXCEPT
{
    struct gpu_module *module = (struct gpu_module *)base;
    struct gpu_device_state *gpu = module->gpu;

    for (uint32_t p = 0; p < module->program_count; p++)
        gpu_release(gpu, module->programs[p].rows);
    gpu_arena_free(gpu, &module->constants);
    gpu_pipeline_drop(module);
    gpu_release(gpu, module);
    atomic_fetch_sub(&gpu->children, 1);
    return ACCEL_OK;
}

static int32_t module_scratch(struct accel_driver_module *base, uint32_t program, const uint64_t *symbols,
                              uint32_t threads, uint64_t *out_bytes, uint64_t *out_alignment,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_module *module = (struct gpu_module *)base;
    struct gpu_shape_plan plan;
    void *memory = NULL;
    int32_t code = gpu_allocate(module->gpu, ACCEL_MEMORY_HOST, gpu_shape_plan_bytes(module->programs[program].graph),
                                &memory, error);

    (void)threads;
    if (code != ACCEL_OK)
        return code;
    gpu_shape_plan_make(module->gpu, &module->programs[program], symbols, memory, &plan);
    *out_bytes = plan.scratch_bytes;
    *out_alignment = GPU_ALIGNMENT;
    gpu_release(module->gpu, memory);
    return ACCEL_OK;
}

static int32_t module_report(struct accel_driver_module *base, const struct accel_report_sink *sink,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct gpu_module *module = (const struct gpu_module *)base;

    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct gpu_program *program = &module->programs[p];

        for (uint32_t n = 0; n < program->graph->node_count; n++) {
            const struct gpu_row *row = program->rows[n];
            char title[GPU_TITLE];
            struct accel_node_report report = {.graph = p,
                                               .node = n,
                                               .precision = row == NULL ? ACCEL_F32 : row->precision,
                                               .unit = row == NULL ? "" : module->gpu->api->name,
                                               .kernel = row == NULL ? "alias"
                                                                     : gpu_row_title(row, program->graph, n, title)};
            int32_t code = sink->node(sink, &report, error);

            if (code != ACCEL_OK)
                return code;
        }
    }
    return ACCEL_OK;
}

static const struct accel_module_table module_table = {
    .size = sizeof(module_table),
    .free = module_free,
    .scratch = module_scratch,
    .set_create = gpu_set_create,
    .report = module_report,
};

int32_t gpu_module_create(struct gpu_device_state *gpu, const struct accel_graph *const *graphs, uint32_t graph_count,
                          struct gpu_module **out_module, struct accel_error *error)
{
    struct gpu_module *module;
    void *memory = NULL;
    int32_t code = gpu_allocate(gpu, ACCEL_MEMORY_PROGRAM, sizeof(*module) + graph_count * sizeof(struct gpu_program),
                                &memory, error);

    *out_module = NULL;
    if (code != ACCEL_OK)
        return code;
    module = memory;
    module->base.table = &module_table;
    module->gpu = gpu;
    module->programs = (struct gpu_program *)(module + 1);
    module->program_count = graph_count;
    atomic_fetch_add(&gpu->children, 1);
    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++)
        code = program_create(gpu, &module->programs[g], graphs[g], error);
    if (code != ACCEL_OK) {
        module_free(&module->base);
        return code;
    }
    *out_module = module;
    return ACCEL_OK;
}

/* With a writer the pipelines are made for the sake of the API's cache. */
int32_t gpu_module_compile(struct accel_driver_device *base, const struct accel_graph *const *graphs,
                           uint32_t graph_count, const struct accel_compile_options *options,
                           const struct accel_source *source, const struct accel_blob_writer *writer,
                           const struct accel_task *task, struct accel_driver_module **out_module,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    struct gpu_module *module = NULL;
    int32_t code;

    (void)source;
    *out_module = NULL;
    if (writer != NULL && gpu->api->cache_write == NULL)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "%s has no cache of compiled programs", gpu->api->name);
    code = sdk_check_abi(graphs, graph_count, options, error);
    if (code == ACCEL_OK)
        code = gpu_module_create(gpu, graphs, graph_count, &module, error);
    if (code != ACCEL_OK)
        return code;
    code = make_pipelines(module, options, writer != NULL || gpu->precompiles, task, error);
    if (code == ACCEL_OK && writer != NULL)
        code = gpu->api->cache_write(gpu->device, NULL, 0, writer, error);
    else if (code == ACCEL_OK)
        code = write_constants(module, error);
    if (code != ACCEL_OK || writer != NULL) {
        module_free(&module->base);
        return code;
    }
    *out_module = &module->base;
    return ACCEL_OK;
}

int32_t gpu_module_load(struct accel_driver_device *base, const void *blob, uint64_t bytes,
                        const struct accel_graph *const *graphs, uint32_t graph_count,
                        const struct accel_source *source, const struct accel_task *task,
                        struct accel_driver_module **out_module, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    int32_t code = ACCEL_E_MISS;

    *out_module = NULL;
    if (gpu->api->cache_read == NULL)
        return sdk_error(error, ACCEL_E_MISS, "%s has no cache of compiled programs", gpu->api->name);
    code = gpu->api->cache_read(gpu->device, blob, bytes, error);
    if (code != ACCEL_OK)
        return code;
    return gpu_module_compile(base, graphs, graph_count, NULL, source, NULL, task, out_module, error);
}
