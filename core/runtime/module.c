/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: graphs that share weights and are claimed and compiled together. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/runtime/check.h"
#include "core/runtime/module.h"
#include "core/runtime/task.h"
#include "core/runtime/worker.h"

static void module_destroy(struct accel_object *object)
{
    struct accel_module *module = (struct accel_module *)object;
    struct accel_memory *memory = &object->context->memory;
    if (module->handle != NULL)
        ACCEL_FREE_HANDLE(module->device, module->handle, "free of a module");
    free(module->blob);
    for (uint32_t g = 0; module->value_weights != NULL && g < module->graph_count; g++)
        accel_memory_free(memory, module->value_weights[g]);
    accel_memory_free(memory, module->value_weights);
    accel_memory_free(memory, module->weights);
    accel_memory_free(memory, module->graphs);
    accel_object_release(&module->device->object);
}

/* Fills default options: one bucket per graph, of the highest values. The lists lie behind the struct, in its block. */
static int32_t default_options(struct accel_module *module, struct accel_compile_options **out_options,
                               struct accel_error *error)
{
    uint64_t symbols = 0;
    uint64_t bytes;
    struct accel_compile_options *options;
    uint64_t *buckets;
    uint32_t *counts;
    for (uint32_t g = 0; g < module->graph_count; g++)
        symbols += module->graphs[g]->symbol_count;
    bytes = sizeof(*options) + symbols * sizeof(*buckets) + module->graph_count * sizeof(*counts);
    *out_options = options = accel_object_array(&module->object, 1, bytes, error);
    if (options == NULL)
        return ACCEL_E_MEMORY;
    buckets = (uint64_t *)(options + 1);
    counts = (uint32_t *)(buckets + symbols);
    *options = (struct accel_compile_options){.size = sizeof(*options), .buckets = buckets, .bucket_counts = counts};
    for (uint32_t g = 0; g < module->graph_count; g++) {
        const struct accel_graph *graph = module->graphs[g];
        counts[g] = 1;
        for (uint32_t s = 0; s < graph->symbol_count; s++)
            *buckets++ = graph->symbols[s]->highest;
    }
    return ACCEL_OK;
}

static int32_t copy_graphs(struct accel_module *module, const struct accel_graph *const *graphs, uint32_t count,
                           struct accel_error *error)
{
    module->graphs = accel_object_array(&module->object, count, sizeof(*graphs), error);
    if (module->graphs == NULL)
        return ACCEL_E_MEMORY;
    memcpy(module->graphs, graphs, count * sizeof(*graphs));
    module->graph_count = count;
    return ACCEL_OK;
}

/* Validates the module handle that `compile` or `load` returned and stores it in the module. */
static int32_t import_module(struct accel_module *module, const struct accel_task *task, int32_t code,
                             struct accel_driver_module *handle, const char *slot, struct accel_error *error)
{
    struct accel_device *device = module->device;
    code = accel_task_import_code(device, task, code, slot, error);
    if (code == ACCEL_OK)
        code = accel_import_handle(code, handle, device->driver, slot, error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_OWN_HANDLE(module->handle, handle);
    return accel_import_table(handle, ACCEL_TABLE_MODULE, device->driver, error);
}

static int32_t load(struct accel_module *module, const struct accel_blob *blob, const struct accel_source *source,
                    const struct accel_task *task, struct accel_error *error)
{
    struct accel_device *device = module->device;
    struct accel_task_bridge bridge;
    struct accel_driver_module *handle = NULL;
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "load of a module",
                  device->handle->table->load(device->handle, blob->memory + ACCEL_BLOB_HEADER, blob->bytes,
                                              module->graphs, module->graph_count, source,
                                              accel_task_bridge_init(&bridge, device->object.context, task), &handle,
                                              error));
    accel_task_bridge_end(&bridge);
    return import_module(module, &bridge.task, code, handle, "load", error);
}

/* Compiles in a worker process, which returns only the blob. The blob of an earlier driver is compiled again. */
static int32_t compile_in_worker(struct accel_module *module, const struct accel_compile_options *options,
                                 const struct accel_source *source, const struct accel_task *task,
                                 struct accel_error *error)
{
    struct accel_error own = {0};
    struct accel_blob blob;
    int32_t code = accel_worker_compile(module, options, false, task, &blob, error);
    if (code != ACCEL_OK)
        return code;
    module->blob = blob.memory;
    code = load(module, &blob, source, task, &own);
    if (code == ACCEL_E_MISS) {
        free(module->blob);
        module->blob = NULL;
        code = accel_worker_compile(module, options, true, task, &blob, error);
        if (code != ACCEL_OK)
            return code;
        module->blob = blob.memory;
        return load(module, &blob, source, task, error);
    }
    return code == ACCEL_OK ? code : accel_error_by(error, own.origin, code, "%s", own.text);
}

static int32_t compile(struct accel_module *module, const struct accel_compile_options *options,
                       const struct accel_source *source, const struct accel_task *task, struct accel_error *error)
{
    struct accel_device *device = module->device;
    struct accel_task_bridge bridge;
    struct accel_driver_module *handle = NULL;
    int32_t code;
    if (accel_worker_is_required(device))
        return compile_in_worker(module, options, source, task, error);
    ACCEL_GUARDED(code, device->object.context, device->driver, "compile",
                  device->handle->table->compile(device->handle, module->graphs, module->graph_count, options, source,
                                                 NULL, accel_task_bridge_init(&bridge, device->object.context, task),
                                                 &handle, error));
    accel_task_bridge_end(&bridge);
    return import_module(module, &bridge.task, code, handle, "compile", error);
}

static int32_t build(struct accel_module *module, const struct accel_compile_options *options,
                     const struct accel_source *source, const struct accel_task *task, struct accel_error *error)
{
    struct accel_compile_options *defaults = NULL;
    int32_t code = ACCEL_OK;
    if (options == NULL) {
        code = default_options(module, &defaults, error);
        options = defaults;
    }
    if (code == ACCEL_OK)
        code = accel_module_claim(module, options, error);
    if (code == ACCEL_OK)
        code = compile(module, options, source, task, error);
    accel_memory_free(&module->object.context->memory, defaults);
    return code;
}

int32_t accel_module_create(struct accel_device *device, const struct accel_graph *const *graphs, uint32_t graph_count,
                            const struct accel_compile_options *options, const struct accel_source *source,
                            const struct accel_task *task, struct accel_module **out_module,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_object *object;
    struct accel_module *module;
    int32_t code;
    if (out_module == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_module_create: out_module is NULL");
    *out_module = NULL;
    code = accel_check_alive(device, error);
    if (code == ACCEL_OK)
        code = accel_check_graphs(graphs, graph_count, options, error);
    if (code == ACCEL_OK)
        code = accel_object_create(device->object.context, sizeof(*module), module_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    module = (struct accel_module *)object;
    module->device = device;
    accel_object_retain(&device->object);
    code = copy_graphs(module, graphs, graph_count, error);
    if (code == ACCEL_OK)
        code = build(module, options, source, task, error);
    *out_module = (struct accel_module *)accel_object_finish(object, code);
    return code;
}

void accel_module_free(struct accel_module *module) ACCEL_NOEXCEPT
{
    accel_object_drop((struct accel_object *)module);
}
