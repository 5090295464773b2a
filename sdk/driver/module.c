/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: a kernel for each node, and the storage that values share. */
#include <stdatomic.h>

#include "sdk/driver/program.h"

/* Copies a reshaped value where it cannot share storage with its input: from an input of the graph to an output. */
static void reshape_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const char *from = call->inputs[0]->planes[0];
    char *to = call->outputs[0]->planes[0];
    uint64_t bytes = call->outputs[0]->rows * sdk_row_bytes(call->outputs[0]->type, call->outputs[0]->width);
    uint64_t begin, end;

    sdk_split(bytes, 4096, thread, threads, &begin, &end);
    __builtin_memmove(to + begin, from + begin, end - begin);
}

static uint64_t reshape_work(const struct sdk_call *call)
{
    return call->outputs[0]->rows * sdk_row_bytes(call->outputs[0]->type, call->outputs[0]->width) / 8;
}

static const struct sdk_kernel reshape_kernel = {
    .op = ACCEL_OP_RESHAPE, .name = "reshape", .precision = ACCEL_F32, .run = reshape_run, .work = reshape_work};

static int32_t program_build(struct sdk_module *module, struct sdk_program *program, const struct accel_graph *graph,
                             struct accel_error *error)
{
    for (uint32_t v = 0; v < graph->value_count; v++)
        program->roots[v] = v;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        const char *reason;

        if (node->op == ACCEL_OP_RESHAPE) {
            if (!sdk_alias(graph, program->roots, node->inputs[0], node->outputs[0]))
                program->kernels[n] = &reshape_kernel;
            continue;
        }
        program->kernels[n] = sdk_select_kernel(module->device, graph, n, &reason);
        if (program->kernels[n] == NULL)
            return sdk_error(error, ACCEL_E_REFUSED, "graph %s, node %u (%s): %s", graph->name, n, node->name, reason);
    }
    return ACCEL_OK;
}

static int32_t program_create(struct sdk_module *module, struct sdk_program *program, const struct accel_graph *graph,
                              struct accel_error *error)
{
    const struct accel_host *host = module->device->host;
    uint64_t kernels = (uint64_t)graph->node_count * sizeof(void *);
    uint64_t roots = (uint64_t)graph->value_count * sizeof(uint32_t);
    void *memory = NULL;
    int32_t code = host->allocate(host, ACCEL_MEMORY_PROGRAM, kernels + roots + 1, 64, &memory, error);

    if (code != ACCEL_OK)
        return code;
    program->graph = graph;
    program->kernels = memory;
    program->roots = (uint32_t *)((char *)memory + kernels);
    return program_build(module, program, graph, error);
}

static int32_t module_free(struct accel_driver_module *base)
{
    struct sdk_module *module = (struct sdk_module *)base;
    struct sdk_device *device = module->device;

    for (uint32_t p = 0; p < module->program_count; p++)
        device->host->release(device->host, module->programs[p].kernels);
    device->host->release(device->host, module);
    atomic_fetch_sub(&device->modules, 1);
    return ACCEL_OK;
}

int32_t sdk_module_create(struct accel_driver_device *base, const struct accel_graph *const *graphs,
                          uint32_t graph_count, const struct accel_compile_options *options,
                          const struct accel_source *source, const struct accel_blob_writer *writer,
                          const struct accel_task *task, struct accel_driver_module **out_module,
                          struct accel_error *error)
{
    struct sdk_device *device = (struct sdk_device *)base;
    struct sdk_module *module;
    void *memory = NULL;
    int32_t code;

    (void)source;
    *out_module = NULL;
    code = sdk_check_abi(graphs, graph_count, options, error);
    if (code != ACCEL_OK)
        return code;
    if (writer != NULL)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "this driver compiles in memory and writes no blobs");
    code = device->host->allocate(device->host, ACCEL_MEMORY_PROGRAM,
                                  sizeof(*module) + graph_count * sizeof(struct sdk_program), 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    module = memory;
    module->base.table = &sdk_module_table;
    module->device = device;
    module->programs = (struct sdk_program *)(module + 1);
    module->program_count = graph_count;
    atomic_fetch_add(&device->modules, 1);
    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++) {
        code = program_create(module, &module->programs[g], graphs[g], error);
        if (code == ACCEL_OK && task != NULL && task->progress(task, g + 1, graph_count) != ACCEL_OK)
            code = sdk_error(error, ACCEL_E_CANCELLED, "compiling was cancelled");
    }
    if (code != ACCEL_OK) {
        module_free(&module->base);
        return code;
    }
    *out_module = &module->base;
    return ACCEL_OK;
}

static int32_t module_scratch(struct accel_driver_module *base, uint32_t program, const uint64_t *symbols,
                              uint32_t threads, uint64_t *out_bytes, uint64_t *out_alignment, struct accel_error *error)
{
    struct sdk_set *set = NULL;
    int32_t code = sdk_set_prepare((struct sdk_module *)base, program, symbols, threads, &set, error);

    if (code != ACCEL_OK)
        return code;
    *out_bytes = set->scratch_bytes;
    *out_alignment = 64;
    sdk_set_release(set);
    return ACCEL_OK;
}

static int32_t module_report(struct accel_driver_module *base, const struct accel_report_sink *sink,
                             struct accel_error *error)
{
    const struct sdk_module *module = (const struct sdk_module *)base;
    const struct sdk_backend *backend = module->device->backend;

    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct sdk_program *program = &module->programs[p];

        for (uint32_t n = 0; n < program->graph->node_count; n++) {
            const struct sdk_kernel *kernel = program->kernels[n];
            struct accel_node_report report = {
                .graph = p, .node = n, .precision = ACCEL_F32, .unit = "", .kernel = "alias"};
            int32_t code;

            if (kernel != NULL) {
                report.precision = kernel->precision;
                report.unit = backend->unit == NULL ? "" : backend->unit(module->device->own, kernel);
                report.kernel = kernel->name;
            }
            code = sink->node(sink, &report, error);
            if (code != ACCEL_OK)
                return code;
        }
    }
    return ACCEL_OK;
}

const struct accel_module_table sdk_module_table = {
    .size = sizeof(sdk_module_table),
    .free = module_free,
    .scratch = module_scratch,
    .set_create = sdk_set_create,
    .report = module_report,
};
