/* SPDX-License-Identifier: Apache-2.0 */
/* Sets: extents and places of all values of a program, and recordings of its launches. */
#include "sdk/gpu/room.h"

#include <string.h>

#define LINE(bytes) (((bytes) + 63u) & ~UINT64_C(63))

/* ---- skeleton ---- */

/* One block of memory, cut in this order. */
struct cut {
    uint64_t tensors, scratches, blocks, offsets, bytes;
};

static struct cut cut_of(const struct accel_graph *graph)
{
    uint64_t values = graph->value_count, nodes = graph->node_count;
    struct cut cut;

    cut.tensors = 0;
    cut.scratches = LINE(values * sizeof(struct gpu_tensor));
    cut.blocks = cut.scratches + LINE(nodes * sizeof(struct gpu_tensor));
    cut.offsets = cut.blocks + LINE((values + nodes) * sizeof(struct sdk_block));
    cut.bytes = cut.offsets + LINE((values + nodes) * sizeof(uint64_t));
    return cut;
}

uint64_t gpu_skeleton_bytes(const struct accel_graph *graph)
{
    return cut_of(graph).bytes;
}

static void measure(const struct gpu_room *room, struct gpu_skeleton *skeleton, const struct accel_graph *graph,
                    const uint64_t *symbols, uint32_t most)
{
    for (uint32_t v = 0; v < graph->value_count; v++)
        gpu_tensor_measure(&room->limits, &skeleton->tensors[v], graph, v, symbols, most);
}

static void plan_values(struct gpu_skeleton *skeleton, const struct gpu_program *program)
{
    const struct accel_graph *graph = program->graph;

    for (uint32_t v = 0; v < graph->value_count; v++) {
        struct sdk_block *block = &skeleton->blocks[v];

        *block = (struct sdk_block){.bytes = 0};
        if (program->roots[v] != v || graph->values[v]->role != ACCEL_ROLE_INTERMEDIATE)
            continue;
        block->bytes = gpu_tensor_bytes(&skeleton->tensors[v]);
        block->address = (void **)(void *)&skeleton->offsets[v];
    }
    sdk_value_lives(graph, program->roots, skeleton->blocks);
}

static void plan_scratches(const struct gpu_room *room, struct gpu_skeleton *skeleton,
                           const struct gpu_program *program)
{
    const struct accel_graph *graph = program->graph;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        struct sdk_block *block = &skeleton->blocks[graph->value_count + n];
        struct gpu_call call = gpu_call_of(room, program, skeleton->tensors, n);
        uint64_t bytes = gpu_scratch_bytes(&call);

        *block = (struct sdk_block){.first = n, .last = n, .bytes = bytes};
        if (bytes == 0)
            continue;
        block->address = (void **)(void *)&skeleton->offsets[graph->value_count + n];
        skeleton->scratches[n] = gpu_work_space(bytes);
    }
}

/* The plan packs blocks one behind the other: of whole multiples of the alignment each begins where it can be bound, so
 * that no binding takes in the end of a neighbour that another launch may be writing. */
static void pad_blocks(const struct gpu_limits *limits, struct sdk_block *blocks, uint32_t count)
{
    uint64_t alignment = limits->alignment > 4 ? limits->alignment : 4;

    for (uint32_t b = 0; b < count; b++)
        blocks[b].bytes = (blocks[b].bytes + alignment - 1) / alignment * alignment;
}

void gpu_skeleton_make(const struct gpu_room *room, const struct gpu_program *program, const uint64_t *symbols,
                       void *memory, struct gpu_skeleton *out_skeleton)
{
    const struct accel_graph *graph = program->graph;
    struct cut cut = cut_of(graph);
    char *base = memory;
    uint32_t count = graph->value_count + graph->node_count;

    *out_skeleton = (struct gpu_skeleton){.tensors = (struct gpu_tensor *)(void *)(base + cut.tensors),
                                          .scratches = (struct gpu_tensor *)(void *)(base + cut.scratches),
                                          .blocks = (struct sdk_block *)(void *)(base + cut.blocks),
                                          .offsets = (uint64_t *)(void *)(base + cut.offsets)};
    measure(room, out_skeleton, graph, symbols, 1);
    plan_values(out_skeleton, program);
    plan_scratches(room, out_skeleton, program);
    pad_blocks(&room->limits, out_skeleton->blocks, count);
    out_skeleton->scratch_bytes = sdk_layout_plan(out_skeleton->blocks, count);
    for (uint32_t b = 0; b < count; b++)
        if (out_skeleton->blocks[b].address != NULL)
            *(uint64_t *)(void *)out_skeleton->blocks[b].address = out_skeleton->blocks[b].offset;
}

/* ---- homes ---- */

static int32_t bind_weight(struct gpu_set *set, const struct accel_binding *binding, struct gpu_home *home,
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
    struct gpu_home *home;

    if (binding->value >= graph->value_count || binding->object == NULL)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: value %u is bound to no memory of the device", graph->name,
                         binding->value);
    home = &set->homes[binding->value];
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

    if (set->skeleton.scratch_bytes > description->scratch_bytes)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: %llu bytes of scratch given, %llu needed", graph->name,
                         (unsigned long long)description->scratch_bytes,
                         (unsigned long long)set->skeleton.scratch_bytes);
    for (uint32_t b = 0; b < description->binding_count; b++) {
        int32_t code = bind_one(set, &description->bindings[b], error);

        if (code != ACCEL_OK)
            return code;
    }
    for (uint32_t v = 0; v < graph->value_count + graph->node_count; v++) {
        struct gpu_home *home = &set->homes[v];
        uint32_t role = v < graph->value_count ? graph->values[v]->role : ACCEL_ROLE_INTERMEDIATE;

        if (role == ACCEL_ROLE_INTERMEDIATE && scratch != NULL)
            *home = (struct gpu_home){.memory = scratch->memory, .offset = set->skeleton.offsets[v]};
        if (role == ACCEL_ROLE_CONSTANT)
            *home = (struct gpu_home){.memory = set->module->constants.chunks[set->program->constants[v].chunk],
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
    struct gpu_emitter emitter = {.room = set->module->room,
                                  .module = set->module,
                                  .graph = graph,
                                  .set = set,
                                  .dispatches = recording == NULL ? NULL : recording->dispatches,
                                  .uses = set->uses,
                                  .mode = mode,
                                  .capacity = set->launch_count,
                                  .error = error};

    for (uint32_t n = 0; n < graph->node_count; n++)
        gpu_lower_node(&emitter, set->program, set->skeleton.tensors, set->skeleton.scratches, n);
    if (emitter.code == ACCEL_OK && mode == GPU_EMIT_CHECK)
        set->launch_count = emitter.count;
    else if (emitter.code == ACCEL_OK && emitter.count != set->launch_count)
        return sdk_error(error, ACCEL_E_INTERNAL, "graph %s: %u launches, %u were recorded", graph->name, emitter.count,
                         set->launch_count);
    if (emitter.code == ACCEL_OK && recording != NULL)
        gpu_lower_barriers(recording->dispatches, set->uses, set->launch_count);
    return emitter.code;
}

/* Every launch of the highest symbols; later recordings differ in words, groups and barriers alone. */
static int32_t make_recordings(struct gpu_set *set, const uint64_t *symbols, struct accel_error *error)
{
    const struct gpu_room *room = set->module->room;
    uint32_t symbol_count = set->program->graph->symbol_count;
    int32_t code = ACCEL_OK;

    for (uint32_t t = 0; t < set->recording_count && code == ACCEL_OK && set->launch_count != 0; t++) {
        struct gpu_recording *recording = &set->recordings[t];

        memcpy(recording->symbols, symbols, symbol_count * sizeof *symbols);
        code = lower(set, GPU_EMIT_BIND, recording, error);
        if (code == ACCEL_OK)
            code =
                room->api->list_create(room->device, recording->dispatches, set->launch_count, &recording->list, error);
    }
    return code;
}

int32_t gpu_set_recording(struct gpu_set *set, const uint64_t *symbols, struct gpu_recording **out_recording,
                          struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    const struct gpu_room *room = set->module->room;
    uint64_t bytes = graph->symbol_count * sizeof *symbols;
    struct gpu_recording *recording = NULL;
    int32_t code;

    *out_recording = NULL;
    for (uint32_t t = 0; t < set->recording_count; t++) {
        struct gpu_recording *one = &set->recordings[t];

        if (memcmp(one->symbols, symbols, bytes) == 0) {
            *out_recording = one;
            return ACCEL_OK;
        }
        if ((one->value == 0 || gpu_timeline_over(one->timeline, one->value)) &&
            (recording == NULL || one->value < recording->value))
            recording = one;
    }
    if (recording == NULL)
        return sdk_error(error, ACCEL_E_AGAIN, "all recordings of the set are in flight with other symbols");
    measure(room, &set->skeleton, graph, symbols, 0);
    memset(recording->symbols, 0, bytes);
    code = set->launch_count == 0 ? ACCEL_OK : lower(set, GPU_EMIT_RECORD, recording, error);
    if (code == ACCEL_OK && set->launch_count != 0)
        code = room->api->list_record(recording->list, error);
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
    struct gpu_room *room = set->module->room;

    for (uint32_t t = 0; t < set->recording_count; t++)
        if (set->recordings[t].list != NULL)
            room->api->list_free(set->recordings[t].list);
    gpu_release(room, set->uses);
    gpu_release(room, set);
    return ACCEL_OK;
}

static const struct accel_set_table set_table = {.size = sizeof set_table, .free = set_free};

static uint64_t fixed_bytes(const struct accel_graph *graph)
{
    return LINE(sizeof(struct gpu_set)) + gpu_skeleton_bytes(graph) +
           LINE(((uint64_t)graph->value_count + graph->node_count) * sizeof(struct gpu_home));
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

/* The lists whose length the launches decide. */
static int32_t allocate_lists(struct gpu_set *set, const uint64_t *symbols, struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;
    uint32_t recordings = recordings_of(graph, symbols);
    void *memory = NULL;
    char *at;
    int32_t code = gpu_allocate(set->module->room, ACCEL_MEMORY_PROGRAM,
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
    code = gpu_allocate(module->room, ACCEL_MEMORY_PROGRAM, fixed_bytes(graph), &memory, error);
    if (code != ACCEL_OK)
        return code;
    set = memory;
    set->base.table = &set_table;
    set->module = module;
    set->program = program;
    set->homes = (struct gpu_home *)(void *)((char *)memory + LINE(sizeof *set) + gpu_skeleton_bytes(graph));
    gpu_skeleton_make(module->room, program, description->symbols, (char *)memory + LINE(sizeof *set), &set->skeleton);
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
    gpu_pipeline_keep(module->room);
    *out_set = &set->base;
    return ACCEL_OK;
}
