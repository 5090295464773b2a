/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the memory of a module, its sets, weights and states for the highest symbols, without allocating device
 * memory. One pipeline is compiled if nothing else shows whether the API exports pipelines (gpu_cache_probe). */
#include <stdio.h>
#include <string.h>

#include "sdk/gpu/internal.h"

struct estimate {
    uint64_t scratch, program, weights, host;
    uint32_t kernels, cached; /* needed, and of these already compiled */
    uint64_t stage;           /* staging memory for the largest weight */
    uint64_t widest, largest; /* row and part of a state, which size the bounce memory */
    uint64_t places;          /* share of `host`: PLACE_BYTES */
    uint64_t later;           /* bytes of all classes that are allocated after the kernels are compiled */
    uint64_t cache;           /* share of `host`: upper bound for reading and writing the cache file beyond `later` */
};

/* Most host bytes per plane of a weight or part of a state: its list entry and the record of its memory, which parts
 * may share. */
#define PLACE_BYTES 256u

/* Adds the device bytes of the weights of a graph that no earlier graph has. */
static void add_weights(const struct gpu_device_state *gpu, const struct accel_graph *const *graphs, uint32_t g,
                        struct estimate *out)
{
    for (uint32_t v = 0; v < graphs[g]->value_count; v++) {
        const struct accel_value *value = graphs[g]->values[v];
        struct gpu_tensor tensor = {.rows = 0};
        struct gpu_storage storage;
        uint32_t known = 0;

        if (value->role != ACCEL_ROLE_WEIGHT)
            continue;
        for (uint32_t before = 0; before <= g && !known; before++)
            for (uint32_t o = 0; o < (before == g ? v : graphs[before]->value_count) && !known; o++) {
                const struct accel_value *other = graphs[before]->values[o];

                known = other->role == ACCEL_ROLE_WEIGHT && strcmp(other->key, value->key) == 0;
            }
        if (known)
            continue;
        gpu_tensor_measure(&gpu->limits, &tensor, graphs[g], v, NULL, 1);
        gpu_storage_of(&gpu->limits, tensor.type, tensor.rank, tensor.rows, tensor.width, &storage);
        out->weights += gpu_storage_total(&storage);
        out->stage = gpu_storage_total(&storage) > out->stage ? gpu_storage_total(&storage) : out->stage;
        out->host += sizeof(struct gpu_weight) + strlen(value->key) + 1;
        out->places += (uint64_t)storage.parts * storage.planes * PLACE_BYTES;
    }
}

/* Adds the bytes of a graph beside its launches: constants, padding between the parts of a state, and a larger download
 * ring if an output does not fit the default one. */
static void add_values(const struct gpu_device_state *gpu, const struct accel_graph *graph, const uint64_t *symbols,
                       struct estimate *out)
{
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const struct accel_value *value = graph->values[v];
        struct gpu_tensor tensor = {.rows = 0};

        if (value->role == ACCEL_ROLE_CONSTANT)
            out->program += gpu_place_bytes(value->bytes);
        if (value->role != ACCEL_ROLE_STATE && value->role != ACCEL_ROLE_OUTPUT)
            continue;
        gpu_tensor_measure(&gpu->limits, &tensor, graph, v, symbols, 1);
        if (value->role == ACCEL_ROLE_STATE) {
            out->program += GPU_ALIGNMENT;
            out->places += PLACE_BYTES;
            out->widest = tensor.pitch[0] > out->widest ? tensor.pitch[0] : out->widest;
            if (gpu_tensor_bytes(&tensor) > out->largest)
                out->largest = gpu_tensor_bytes(&tensor);
            out->later += gpu_tensor_bytes(&tensor);
        } else if (!gpu->limits.reads && gpu_tensor_bytes(&tensor) > GPU_DOWNLOAD_BYTES) {
            out->program += gpu_tensor_bytes(&tensor) + 4096;
        }
    }
}

/* Returns the size of the bounce memory that gpu_state_create allocates. */
static uint64_t bounce_bytes(const struct estimate *estimate)
{
    uint64_t bytes = estimate->widest > GPU_BOUNCE_BYTES ? estimate->widest : GPU_BOUNCE_BYTES;

    return bytes < estimate->largest ? bytes : estimate->largest;
}

static int32_t measure(struct gpu_module *module, const struct accel_graph *const *graphs,
                       const struct accel_compile_options *options, struct estimate *out, struct accel_error *error)
{
    const uint64_t *buckets = options == NULL ? NULL : options->buckets;
    const uint64_t queue = module->gpu->api->queue_bytes + gpu_queue_bytes(&module->gpu->limits);

    *out = (struct estimate){.host = sizeof(struct gpu_instance) + sizeof(struct gpu_device_state),
                             .program = sizeof(*module) + module->program_count * sizeof(struct gpu_program) +
                                        module->gpu->api->queue_bytes + queue,
                             .later = queue};
    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct accel_graph *graph = graphs[p];
        uint32_t sets = buckets == NULL ? 1 : options->bucket_counts[p];
        uint64_t symbols[SDK_SYMBOLS];
        uint64_t scratch = 0, all;
        uint32_t launches = 0;
        int32_t code = sdk_highest(graph, &buckets, sets, symbols, error);

        if (code == ACCEL_OK)
            code = gpu_program_walk(module, &module->programs[p], symbols, GPU_EMIT_WANT, &scratch, &launches, error);
        if (code != ACCEL_OK)
            return code;
        out->scratch = scratch > out->scratch ? scratch : out->scratch;
        all = gpu_set_bytes(graph, launches, GPU_RECORDINGS) +
              (sets > 1 ? (sets - 1) * gpu_set_bytes(graph, launches, 1) : 0);
        out->later += all;
        out->program += gpu_program_bytes(graph) + all;
        out->program += launches * (sizeof(struct gpu_compiled) + sizeof(struct gpu_hold));
        out->host += gpu_shape_plan_bytes(graph);
        out->places += (graph->value_count + 1u) * PLACE_BYTES;
        add_weights(module->gpu, graphs, p, out);
        add_values(module->gpu, graph, symbols, out);
    }
    out->stage = out->stage < GPU_STAGING_BYTES ? out->stage : GPU_STAGING_BYTES;
    out->program += out->stage + bounce_bytes(out);
    out->later += out->weights + out->scratch + bounce_bytes(out);
    out->host += out->places;
    return ACCEL_OK;
}

/* The kernels that walking has put on the module's list, and the file of their cache. */
static void count_kernels(const struct gpu_module *module, struct estimate *out)
{
    struct gpu_device_state *gpu = module->gpu;

    if (module->holds != NULL)
        gpu_cache_probe(&gpu->cache, &module->holds->compiled->key);
    for (const struct gpu_hold *hold = module->holds; hold != NULL; hold = hold->next) {
        out->kernels++;
        if (gpu->api->pipeline_cached != NULL)
            out->cached += gpu->api->pipeline_cached(gpu->device, &hold->compiled->key);
    }
    /* Kernels that are compiled with a set need the cache beside all else. */
    out->cache = gpu_cache_most(&gpu->cache, out->cached == out->kernels);
    if (gpu->precompiles)
        out->cache -= out->cache < out->later ? out->cache : out->later;
    out->host += out->cache;
}

/* Describes the program bytes: shared blocks are counted by their parts, so the text names the possible excess, and the
 * number of kernels that are still to be compiled. */
static void describe_program(const struct gpu_device_state *gpu, const struct estimate *estimate, char *text,
                             size_t bytes)
{
    int used =
        snprintf(text, bytes,
                 "extents of every value, recordings of every launch, a queue, what copies pass through, "
                 "constants, padding of states; at most %llu bytes of it are in use while weights are loaded alone, "
                 "when the rest is not; memory of the API is not included%s%s",
                 (unsigned long long)estimate->stage, gpu->api->slack != NULL ? ", nor " : "",
                 gpu->api->slack != NULL ? gpu->api->slack : "");

    if (used < 0 || (size_t)used >= bytes)
        return;
    if (gpu->api->pipeline_cached != NULL)
        snprintf(text + used, bytes - (size_t)used, "; %u of %u kernels are cached, %u are to be compiled",
                 estimate->cached, estimate->kernels, estimate->kernels - estimate->cached);
    else
        snprintf(text + used, bytes - (size_t)used,
                 "; the API does not report which of %u kernels its cache of %llu bytes holds", estimate->kernels,
                 (unsigned long long)gpu->cache.bytes);
}

/* Describes the host bytes. The size of compiled kernels is known only after compilation, so the plan uses a bound. It
 * is needed before the larger part of the memory is allocated. */
static void describe_host(const struct estimate *estimate, char *text, size_t bytes)
{
    int used = snprintf(text, bytes, "a record of every weight, part of a state and buffer, at most %llu bytes",
                        (unsigned long long)estimate->places);

    if (estimate->cache != 0)
        used +=
            snprintf(text + used, bytes - (size_t)used,
                     ", and at most %llu bytes for reading and writing the file of compiled kernels, beyond what is "
                     "allocated after that",
                     (unsigned long long)estimate->cache);
    snprintf(text + used, bytes - (size_t)used, "; memory of the API is not included");
}

int32_t gpu_estimate(struct accel_driver_device *base, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_estimate_sink *sink,
                     struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    struct gpu_module *module = NULL;
    struct estimate bytes;
    char text[600];
    int32_t code = gpu_module_create(gpu, graphs, graph_count, &module, error);

    if (code != ACCEL_OK)
        return code;
    code = measure(module, graphs, options, &bytes, error);
    if (code == ACCEL_OK) {
        count_kernels(module, &bytes);
        describe_program(gpu, &bytes, text, sizeof(text));
    }
    module->base.table->free(&module->base);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_WEIGHTS, bytes.weights, bytes.weights,
                           "planes of weights with rows padded to 4 bytes and planes to 256", error);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_SCRATCH, bytes.scratch, bytes.scratch,
                           "intermediates laid out by lifetime for the highest symbols, the largest graph", error);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_PROGRAM, bytes.program - bytes.stage, bytes.program, text, error);
    describe_host(&bytes, text, sizeof(text));
    if (code == ACCEL_OK)
        code =
            sink->bytes(sink, 0, ACCEL_MEMORY_HOST, bytes.host - bytes.cache - bytes.places, bytes.host, text, error);
    return code;
}
