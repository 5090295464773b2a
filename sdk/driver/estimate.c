/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the memory of a module by preparing its sets, without a step. */
#include "sdk/driver/program.h"

/* Scratch is shared by the sets of a queue: the largest counts. Bookkeeping adds up, with a set for each bucket. */
static int32_t measure(struct sdk_module *module, const struct accel_compile_options *options, uint64_t *out_scratch,
                       uint64_t *out_program, struct accel_error *error)
{
    const uint64_t *buckets = options == NULL ? NULL : options->buckets;
    uint32_t threads = options != NULL && ACCEL_HAS(options, threads) ? options->threads : 1;

    *out_scratch = 0;
    *out_program = sizeof(*module) + module->program_count * sizeof(struct sdk_program);
    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct accel_graph *graph = module->programs[p].graph;
        uint64_t symbols[SDK_SYMBOLS];
        uint32_t sets = buckets == NULL ? 1 : options->bucket_counts[p];
        struct sdk_set *set = NULL;
        int32_t code = sdk_highest(graph, &buckets, sets, symbols, error);

        if (code == ACCEL_OK)
            code = sdk_set_prepare(module, p, symbols, threads, &set, error);
        if (code != ACCEL_OK)
            return code;
        *out_scratch = set->scratch_bytes > *out_scratch ? set->scratch_bytes : *out_scratch;
        *out_program += sets * sdk_set_bytes(set->program) + graph->node_count * sizeof(void *) +
                        graph->value_count * sizeof(uint32_t) + 1;
        sdk_set_release(set);
    }
    return ACCEL_OK;
}

int32_t sdk_estimate(struct accel_driver_device *base, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_estimate_sink *sink,
                     struct accel_error *error)
{
    const struct sdk_device *device = (const struct sdk_device *)base;
    uint64_t host = sizeof(struct sdk_instance) + sdk_device_bytes(device->backend);
    struct accel_driver_module *module = NULL;
    uint64_t scratch = 0, program = 0, least = 0, weights, copies;
    int32_t code = sdk_module_create(base, graphs, graph_count, options, NULL, NULL, NULL, &module, error);

    if (code != ACCEL_OK)
        return code;
    code = measure((struct sdk_module *)module, options, &scratch, &program, error);
    weights = sdk_weights_bytes((struct sdk_module *)module);
    module->table->free(module);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_SCRATCH, scratch, scratch,
                           "intermediates laid out by lifetime for the highest symbols, the largest graph", error);
    if (code == ACCEL_OK)
        code =
            sink->bytes(sink, 0, ACCEL_MEMORY_PROGRAM, program, program,
                        "a kernel per node of every graph, a tensor per value and a call per node of every set", error);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_HOST, host, host, "the instance and a device of the driver", error);
    if (code == ACCEL_OK && weights != 0)
        code =
            sink->bytes(sink, 0, ACCEL_MEMORY_HOST, weights, weights, "a record of every weight that is packed", error);
    copies = device->backend->copies == NULL ? 0 : device->backend->copies(device->own, graphs, graph_count, &least);
    if (code == ACCEL_OK && copies != 0)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_MAPPED, least, copies,
                           "copies of experts, read as tokens are routed to them", error);
    return code;
}
