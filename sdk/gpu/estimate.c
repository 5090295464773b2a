/* SPDX-License-Identifier: Apache-2.0 */
/* What a module of these graphs, its sets, weights and states will take: what the room's own files would take for them,
 * for the highest symbols, without a pipeline or a byte on the device. */
#include "sdk/gpu/room.h"

#include <stdio.h>
#include <string.h>

struct estimate {
    uint64_t scratch, program, weights, host;
    uint32_t kernels, kept; /* that are compiled, and of them what needs no compiler */
    uint64_t stage, bounce; /* the largest weight and row of a state: what copies pass through */
};

/* What the host keeps of one plane of a weight or part of a state: its row in lists and the record of its memory. */
#define PLACE_BYTES 256u

/* Adds the weights of a graph that no graph before it has, as they lie on the device. */
static void add_weights(const struct gpu_room *room, const struct accel_graph *const *graphs, uint32_t g,
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
        gpu_tensor_measure(&room->limits, &tensor, graphs[g], v, NULL, 1);
        gpu_storage_of(&room->limits, tensor.type, tensor.rank, tensor.rows, tensor.width, &storage);
        out->weights += gpu_storage_total(&storage);
        out->stage = gpu_storage_total(&storage) > out->stage ? gpu_storage_total(&storage) : out->stage;
        out->host +=
            sizeof(struct gpu_weight) + strlen(value->key) + 1 + (uint64_t)storage.parts * storage.planes * PLACE_BYTES;
    }
}

/* Adds what a graph has beside its launches: constants, padding between the parts of a state, and a ring for what is
 * read where the first one is too small. */
static void add_values(const struct gpu_room *room, const struct accel_graph *graph, const uint64_t *symbols,
                       struct estimate *out)
{
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const struct accel_value *value = graph->values[v];
        struct gpu_tensor tensor = {.rows = 0};

        if (value->role == ACCEL_ROLE_CONSTANT)
            out->program += gpu_place_bytes(value->bytes);
        if (value->role != ACCEL_ROLE_STATE && value->role != ACCEL_ROLE_OUTPUT)
            continue;
        gpu_tensor_measure(&room->limits, &tensor, graph, v, symbols, 1);
        if (value->role == ACCEL_ROLE_STATE) {
            out->program += GPU_ALIGNMENT;
            out->host += PLACE_BYTES;
            out->bounce = tensor.pitch[0] > out->bounce ? tensor.pitch[0] : out->bounce;
            if (out->bounce < GPU_BOUNCE_BYTES)
                out->bounce = GPU_BOUNCE_BYTES;
        } else if (!room->limits.reads && gpu_tensor_bytes(&tensor) > GPU_DOWNLOAD_BYTES) {
            out->program += gpu_tensor_bytes(&tensor) + 4096;
        }
    }
}

static int32_t measure(struct gpu_module *module, const struct accel_graph *const *graphs,
                       const struct accel_compile_options *options, struct estimate *out, struct accel_error *error)
{
    const uint64_t *buckets = options == NULL ? NULL : options->buckets;

    *out = (struct estimate){.host = sizeof(struct gpu_instance) + sizeof(struct gpu_room) +
                                     gpu_cache_most(&module->room->cache),
                             .program = sizeof *module + module->program_count * sizeof(struct gpu_program) +
                                        2 * GPU_API_QUEUE_BYTES + gpu_queue_bytes(&module->room->limits)};
    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct accel_graph *graph = graphs[p];
        uint32_t sets = buckets == NULL ? 1 : options->bucket_counts[p];
        uint64_t symbols[SDK_SYMBOLS];
        uint64_t scratch = 0;
        uint32_t launches = 0;
        int32_t code = sdk_highest(graph, &buckets, sets, symbols, error);

        if (code == ACCEL_OK)
            code = gpu_program_walk(module, &module->programs[p], symbols, GPU_EMIT_WANT, &scratch, &launches, error);
        if (code != ACCEL_OK)
            return code;
        out->scratch = scratch > out->scratch ? scratch : out->scratch;
        out->program += gpu_program_bytes(graph) + gpu_set_bytes(graph, launches, GPU_RECORDINGS) +
                        (sets > 1 ? (sets - 1) * gpu_set_bytes(graph, launches, 1) : 0);
        out->program += launches * (sizeof(struct gpu_compiled) + sizeof(struct gpu_hold));
        out->host += gpu_skeleton_bytes(graph) + (graph->value_count + 1u) * PLACE_BYTES;
        add_weights(module->room, graphs, p, out);
        add_values(module->room, graph, symbols, out);
    }
    out->program += out->stage < GPU_STAGING_BYTES ? out->stage : GPU_STAGING_BYTES;
    out->program += out->bounce;
    return ACCEL_OK;
}

/* The kernels that walking has put on the module's list. */
static void count_kernels(const struct gpu_module *module, struct estimate *out)
{
    const struct gpu_room *room = module->room;

    for (const struct gpu_hold *hold = module->holds; hold != NULL; hold = hold->next) {
        out->kernels++;
        if (room->api->pipeline_kept != NULL)
            out->kept += room->api->pipeline_kept(room->device, &hold->compiled->key);
    }
}

/* What small memories share is counted by its parts: how much more there may be is said. So is what the device's
 * compiler has to do before the first step. */
static void say_program(const struct gpu_room *room, const struct estimate *estimate, char *text, size_t bytes)
{
    int used = snprintf(text, bytes,
                        "extents of every value, recordings of every launch, a queue, what copies pass through, "
                        "constants, padding of states; what the API keeps is not in it%s%s",
                        room->api->slack != NULL ? ", nor " : "", room->api->slack != NULL ? room->api->slack : "");

    if (used < 0 || (size_t)used >= bytes)
        return;
    if (room->api->pipeline_kept != NULL)
        snprintf(text + used, bytes - (size_t)used, "; %u of %u kernels are kept compiled, %u are to be compiled",
                 estimate->kept, estimate->kernels, estimate->kernels - estimate->kept);
    else
        snprintf(text + used, bytes - (size_t)used,
                 "; which of %u kernels the %llu bytes that are kept spare the "
                 "compiler is known to the API alone",
                 estimate->kernels, (unsigned long long)room->cache.bytes);
}

int32_t gpu_estimate(struct accel_driver_device *base, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_estimate_sink *sink,
                     struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_room *room = (struct gpu_room *)base;
    struct gpu_module *module = NULL;
    struct estimate bytes;
    char text[500];
    int32_t code = gpu_module_create(room, graphs, graph_count, &module, error);

    if (code != ACCEL_OK)
        return code;
    code = measure(module, graphs, options, &bytes, error);
    if (code == ACCEL_OK) {
        count_kernels(module, &bytes);
        say_program(room, &bytes, text, sizeof text);
    }
    module->base.table->free(&module->base);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_WEIGHTS, bytes.weights, bytes.weights,
                           "planes of weights with rows padded to 4 bytes and planes to 256", error);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_SCRATCH, bytes.scratch, bytes.scratch,
                           "intermediates laid out by lifetime for the highest symbols, the largest graph", error);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_PROGRAM, bytes.program, bytes.program, text, error);
    if (code == ACCEL_OK)
        code = sink->bytes(sink, 0, ACCEL_MEMORY_HOST, 0, bytes.host,
                           "a record of every weight, part of a state and buffer, at most what reading and writing "
                           "the file of compiled kernels takes; what the API keeps is not in it",
                           error);
    return code;
}
