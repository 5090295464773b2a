/* SPDX-License-Identifier: Apache-2.0 */
/* Sets: extents and places of all values of a program, and recordings of its launches. */
#include <string.h>

#include "sdk/gpu/internal.h"

#define LINE(bytes) (((bytes) + 63u) & ~UINT64_C(63))

/* ---- shape plan ---- */

/* One block of memory, cut in this order. */
struct allocation {
    uint64_t tensors, scratches, blocks, offsets, bytes;
};

static struct allocation allocation_of(const struct accel_graph *graph)
{
    uint64_t values = graph->value_count, nodes = graph->node_count;
    struct allocation allocation;

    allocation.tensors = 0;
    allocation.scratches = LINE(values * sizeof(struct gpu_tensor));
    allocation.blocks = allocation.scratches + LINE(nodes * sizeof(struct gpu_tensor));
    allocation.offsets = allocation.blocks + LINE((values + nodes) * sizeof(struct sdk_block));
    allocation.bytes = allocation.offsets + LINE((values + nodes) * sizeof(uint64_t));
    return allocation;
}

uint64_t gpu_shape_plan_bytes(const struct accel_graph *graph)
{
    return allocation_of(graph).bytes;
}

static void measure(const struct gpu_device_state *gpu, struct gpu_shape_plan *plan, const struct accel_graph *graph,
                    const uint64_t *symbols, uint32_t most)
{
    for (uint32_t v = 0; v < graph->value_count; v++)
        gpu_tensor_measure(&gpu->limits, &plan->tensors[v], graph, v, symbols, most);
}

static void plan_values(struct gpu_shape_plan *plan, const struct gpu_program *program)
{
    const struct accel_graph *graph = program->graph;

    for (uint32_t v = 0; v < graph->value_count; v++) {
        struct sdk_block *block = &plan->blocks[v];

        *block = (struct sdk_block){.bytes = 0};
        if (program->roots[v] != v || graph->values[v]->role != ACCEL_ROLE_INTERMEDIATE)
            continue;
        block->bytes = gpu_tensor_bytes(&plan->tensors[v]);
        block->address = (void **)(void *)&plan->offsets[v];
    }
    sdk_value_lifetimes(graph, program->roots, plan->blocks);
}

static void plan_scratches(const struct gpu_device_state *gpu, struct gpu_shape_plan *plan,
                           const struct gpu_program *program)
{
    const struct accel_graph *graph = program->graph;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        struct sdk_block *block = &plan->blocks[graph->value_count + n];
        struct gpu_call call = gpu_call_of(gpu, program, plan->tensors, n);
        uint64_t bytes = gpu_scratch_bytes(&call);

        *block = (struct sdk_block){.first = n, .last = n, .bytes = bytes};
        if (bytes == 0)
            continue;
        block->address = (void **)(void *)&plan->offsets[graph->value_count + n];
        plan->scratches[n] = gpu_work_space(bytes);
    }
}

/* Pads blocks to multiples of the alignment: the plan packs them densely, and each block has to begin where it can be
 * bound, without the end of a neighbour that another launch may write. */
static void pad_blocks(const struct gpu_limits *limits, struct sdk_block *blocks, uint32_t count)
{
    uint64_t alignment = limits->alignment > 4 ? limits->alignment : 4;

    for (uint32_t b = 0; b < count; b++)
        blocks[b].bytes = (blocks[b].bytes + alignment - 1) / alignment * alignment;
}

void gpu_shape_plan_make(const struct gpu_device_state *gpu, const struct gpu_program *program, const uint64_t *symbols,
                         void *memory, struct gpu_shape_plan *out_plan)
{
    const struct accel_graph *graph = program->graph;
    struct allocation allocation = allocation_of(graph);
    char *base = memory;
    uint32_t count = graph->value_count + graph->node_count;

    *out_plan = (struct gpu_shape_plan){.tensors = (struct gpu_tensor *)(void *)(base + allocation.tensors),
                                        .scratches = (struct gpu_tensor *)(void *)(base + allocation.scratches),
                                        .blocks = (struct sdk_block *)(void *)(base + allocation.blocks),
                                        .offsets = (uint64_t *)(void *)(base + allocation.offsets)};
    measure(gpu, out_plan, graph, symbols, 1);
    plan_values(out_plan, program);
    plan_scratches(gpu, out_plan, program);
    pad_blocks(&gpu->limits, out_plan->blocks, count);
    out_plan->scratch_bytes = sdk_layout_plan(out_plan->blocks, count);
    for (uint32_t b = 0; b < count; b++)
        if (out_plan->blocks[b].address != NULL)
            *(uint64_t *)(void *)out_plan->blocks[b].address = out_plan->blocks[b].offset;
}

/* ---- homes ---- */

static int32_t bind_weight(struct gpu_set *set, const struct accel_binding *binding, struct gpu_location *home,
                           struct accel_error *error)
{
    const struct accel_value *value = set->program->graph->values[binding->value];
    const struct gpu_container *container = binding->object;
    int64_t found = container == NULL || value->key == NULL ? -1 : gpu_weights_find(container, value->key);

    if (found < 0)
        return sdk_error(error, ACCEL_E_INVALID, "weight %s is not in the container that is bound", value->name);
    if (container->weights[found].storage.type != value->type)
        return sdk_error(error, ACCEL_E_INVALID, "weight %s has another type in the container", value->name);
    home->container = container;
    home->weight = (uint32_t)found;
    return ACCEL_OK;
}

static int32_t bind_one(struct gpu_set *set, const struct accel_binding *binding, struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    struct gpu_location *home;

    if (binding->value >= graph->value_count || binding->object == NULL)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: value %u is bound to no memory of the device", graph->name,
                         binding->value);
    home = &set->locations[binding->value];
    if (binding->kind == ACCEL_BIND_WEIGHTS)
        return bind_weight(set, binding, home, error);
    if (binding->kind == ACCEL_BIND_STATE) {
        const struct gpu_state *state = binding->object;

        if (binding->part >= state->part_count)
            return sdk_error(error, ACCEL_E_INVALID, "graph %s: value %u is part %u of a state with %u", graph->name,
                             binding->value, binding->part, state->part_count);
        home->memory = state->arena.chunks[state->parts[binding->part].place.chunk];
        home->offset = state->parts[binding->part].place.offset;
        return ACCEL_OK;
    }
    if (binding->offset % 4 != 0)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "graph %s: value %u begins at byte %llu, no multiple of 4",
                         graph->name, binding->value, (unsigned long long)binding->offset);
    home->memory = ((const struct gpu_buffer *)binding->object)->memory;
    home->offset = binding->offset;
    return ACCEL_OK;
}

static int32_t bind_values(struct gpu_set *set, const struct accel_set_description *description,
                           struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    const struct gpu_buffer *scratch = (const struct gpu_buffer *)description->scratch_buffer;

    if (set->plan.scratch_bytes > description->scratch_bytes)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: %llu bytes of scratch given, %llu needed", graph->name,
                         (unsigned long long)description->scratch_bytes, (unsigned long long)set->plan.scratch_bytes);
    for (uint32_t b = 0; b < description->binding_count; b++) {
        int32_t code = bind_one(set, &description->bindings[b], error);

        if (code != ACCEL_OK)
            return code;
    }
    for (uint32_t v = 0; v < graph->value_count + graph->node_count; v++) {
        struct gpu_location *home = &set->locations[v];
        uint32_t role = v < graph->value_count ? graph->values[v]->role : ACCEL_ROLE_INTERMEDIATE;

        if (role == ACCEL_ROLE_INTERMEDIATE && scratch != NULL)
            *home = (struct gpu_location){.memory = scratch->memory, .offset = set->plan.offsets[v]};
        if (role == ACCEL_ROLE_CONSTANT)
            *home = (struct gpu_location){.memory = set->module->constants.chunks[set->program->constants[v].chunk],
                                          .offset = set->program->constants[v].offset};
        if (v < graph->value_count && home->memory == NULL && home->container == NULL && set->program->roots[v] == v)
            return sdk_error(error, ACCEL_E_INVALID, "graph %s: value %u (%s) is not bound", graph->name, v,
                             graph->values[v]->name);
    }
    return ACCEL_OK;
}

/* ---- recordings ---- */

static int32_t lower(struct gpu_set *set, uint32_t mode, struct gpu_recording *recording, struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    struct gpu_emitter emitter = {.gpu = set->module->gpu,
                                  .module = set->module,
                                  .graph = graph,
                                  .set = set,
                                  .dispatches = recording == NULL ? NULL : recording->dispatches,
                                  .uses = set->uses,
                                  .mode = mode,
                                  .capacity = set->launch_count,
                                  .error = error};

    for (uint32_t n = 0; n < graph->node_count; n++)
        gpu_lower_node(&emitter, set->program, set->plan.tensors, set->plan.scratches, n);
    if (emitter.code == ACCEL_OK && mode == GPU_EMIT_CHECK)
        set->launch_count = emitter.count;
    else if (emitter.code == ACCEL_OK && emitter.count != set->launch_count)
        return sdk_error(error, ACCEL_E_INTERNAL, "graph %s: %u launches, %u were recorded", graph->name, emitter.count,
                         set->launch_count);
    if (emitter.code == ACCEL_OK && recording != NULL)
        gpu_lower_barriers(recording->dispatches, set->uses, set->launch_count);
    return emitter.code;
}

/* Records every launch for the highest symbols; later recordings differ in words, groups and barriers only. */
static int32_t make_recordings(struct gpu_set *set, const uint64_t *symbols, struct accel_error *error)
{
    const struct gpu_device_state *gpu = set->module->gpu;
    uint32_t symbol_count = set->program->graph->symbol_count;
    int32_t code = ACCEL_OK;

    for (uint32_t t = 0; t < set->recording_count && code == ACCEL_OK && set->launch_count != 0; t++) {
        struct gpu_recording *recording = &set->recordings[t];

        memcpy(recording->symbols, symbols, symbol_count * sizeof(*symbols));
        code = lower(set, GPU_EMIT_BIND, recording, error);
        if (code == ACCEL_OK)
            code =
                gpu->api->list_create(gpu->device, recording->dispatches, set->launch_count, &recording->list, error);
    }
    return code;
}

int32_t gpu_set_recording(struct gpu_set *set, const uint64_t *symbols, struct gpu_recording **out_recording,
                          struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    const struct gpu_device_state *gpu = set->module->gpu;
    uint64_t bytes = graph->symbol_count * sizeof(*symbols);
    struct gpu_recording *recording = NULL;
    int32_t code;

    *out_recording = NULL;
    for (uint32_t t = 0; t < set->recording_count; t++) {
        struct gpu_recording *one = &set->recordings[t];

        if (memcmp(one->symbols, symbols, bytes) == 0) {
            *out_recording = one;
            return ACCEL_OK;
        }
        if ((one->value == 0 || gpu_timeline_is_over(one->timeline, one->value)) &&
            (recording == NULL || one->value < recording->value))
            recording = one;
    }
    if (recording == NULL)
        return sdk_error(error, ACCEL_E_AGAIN, "all recordings of the set are in flight with other symbols");
    measure(gpu, &set->plan, graph, symbols, 0);
    memset(recording->symbols, 0, bytes);
    code = set->launch_count == 0 ? ACCEL_OK : lower(set, GPU_EMIT_RECORD, recording, error);
    if (code == ACCEL_OK && set->launch_count != 0)
        code = gpu->api->list_record(recording->list, error);
    if (code != ACCEL_OK)
        return code;
    memcpy(recording->symbols, symbols, bytes);
    *out_recording = recording;
    return ACCEL_OK;
}

/* ---- the object ---- */

static int32_t set_free(struct accel_driver_set *base) ACCEL_NOEXCEPT
{
    struct gpu_set *set = (struct gpu_set *)base;
    struct gpu_device_state *gpu = set->module->gpu;

    for (uint32_t t = 0; t < set->recording_count; t++)
        if (set->recordings[t].list != NULL)
            gpu->api->list_free(set->recordings[t].list);
    gpu_release(gpu, set->uses);
    gpu_release(gpu, set);
    return ACCEL_OK;
}

static const struct accel_set_table set_table = {.size = sizeof(set_table), .free = set_free};

static uint64_t fixed_bytes(const struct accel_graph *graph)
{
    return LINE(sizeof(struct gpu_set)) + gpu_shape_plan_bytes(graph) +
           LINE(((uint64_t)graph->value_count + graph->node_count) * sizeof(struct gpu_location));
}

static uint64_t launch_bytes(const struct accel_graph *graph, uint32_t launches, uint32_t recordings)
{
    return LINE(launches * sizeof(struct gpu_use)) +
           recordings * (LINE(launches * sizeof(struct gpu_dispatch)) + LINE(graph->symbol_count * sizeof(uint64_t)));
}

uint64_t gpu_set_bytes(const struct accel_graph *graph, uint32_t launches, uint32_t recordings)
{
    return fixed_bytes(graph) + launch_bytes(graph, launches, recordings);
}

/* One recording is enough where steps have no choice. */
static uint32_t recordings_of(const struct accel_graph *graph, const uint64_t *symbols)
{
    for (uint32_t s = 0; s < graph->symbol_count; s++)
        if (graph->symbols[s]->lowest != symbols[s])
            return GPU_RECORDINGS;
    return 1;
}

/* Allocates the lists whose length is the number of launches. */
static int32_t allocate_lists(struct gpu_set *set, const uint64_t *symbols, struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    uint32_t recordings = recordings_of(graph, symbols);
    void *memory = NULL;
    char *at;
    int32_t code = gpu_allocate(set->module->gpu, ACCEL_MEMORY_PROGRAM,
                                launch_bytes(graph, set->launch_count, recordings), &memory, error);

    if (code != ACCEL_OK)
        return code;
    set->uses = memory;
    set->recording_count = recordings;
    at = (char *)memory + LINE(set->launch_count * sizeof(struct gpu_use));
    for (uint32_t t = 0; t < recordings; t++) {
        set->recordings[t].dispatches = (struct gpu_dispatch *)(void *)at;
        at += LINE(set->launch_count * sizeof(struct gpu_dispatch));
        set->recordings[t].symbols = (uint64_t *)(void *)at;
        at += LINE(graph->symbol_count * sizeof(uint64_t));
    }
    return ACCEL_OK;
}

int32_t gpu_set_create(struct accel_driver_module *base, const struct accel_set_description *description,
                       struct accel_driver_set **out_set, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_module *module = (struct gpu_module *)base;
    const struct gpu_program *program;
    const struct accel_graph *graph;
    struct gpu_set *set;
    void *memory = NULL;
    int32_t code =
        sdk_check_size(description, ACCEL_END_OF(struct accel_set_description, zero), "accel_set_description", error);

    *out_set = NULL;
    if (code != ACCEL_OK)
        return code;
    program = &module->programs[description->program];
    graph = program->graph;
    code = gpu_allocate(module->gpu, ACCEL_MEMORY_PROGRAM, fixed_bytes(graph), &memory, error);
    if (code != ACCEL_OK)
        return code;
    set = memory;
    set->base.table = &set_table;
    set->module = module;
    set->program = program;
    set->locations = (struct gpu_location *)(void *)((char *)memory + LINE(sizeof(*set)) + gpu_shape_plan_bytes(graph));
    gpu_shape_plan_make(module->gpu, program, description->symbols, (char *)memory + LINE(sizeof(*set)), &set->plan);
    code = bind_values(set, description, error);
    if (code == ACCEL_OK)
        code = lower(set, GPU_EMIT_CHECK, NULL, error);
    if (code == ACCEL_OK)
        code = allocate_lists(set, description->symbols, error);
    if (code == ACCEL_OK)
        code = make_recordings(set, description->symbols, error);
    if (code != ACCEL_OK) {
        set_free(&set->base);
        return code;
    }
    gpu_pipeline_store(module->gpu);
    *out_set = &set->base;
    return ACCEL_OK;
}
