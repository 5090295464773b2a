/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers a graph to launches, and places barriers between them. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sdk/gpu/internal.h"

/* ---- helpers of rows ---- */

void gpu_fold(const struct gpu_limits *limits, uint64_t count, uint64_t groups[3])
{
    uint64_t most = limits->groups[0] < 65535u ? limits->groups[0] : 65535u;

    groups[0] = count < most ? count : most;
    groups[1] = count == 0 ? 0 : (count + most - 1) / most;
    groups[2] = count == 0 ? 0 : 1;
}

uint32_t gpu_float_word(float value)
{
    uint32_t word;

    memcpy(&word, &value, sizeof(word));
    return word;
}

/* ---- launches ---- */

static void fail(struct gpu_emitter *emitter, int32_t code, const char *format, ...) ACCEL_PRINTF(3, 4);

static void fail(struct gpu_emitter *emitter, int32_t code, const char *format, ...)
{
    char text[256];
    va_list values;

    if (emitter->code != ACCEL_OK)
        return;
    emitter->code = code;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    sdk_error(emitter->error, code, "%s", text);
}

static int32_t check_bind(struct gpu_emitter *emitter, const struct gpu_bind *bind)
{
    const struct gpu_tensor *tensor = bind->tensor;
    const struct gpu_limits *limits = &emitter->gpu->limits;
    uint64_t bytes, most = limits->binding_bytes;

    if (tensor == NULL)
        return ACCEL_OK;
    if (tensor->planes == 0)
        fail(emitter, ACCEL_E_LIMIT,
             "%s: the device binds at most %llu bytes at a time, and not one of its rows of %llu",
             emitter->graph->values[tensor->value]->name, (unsigned long long)most, (unsigned long long)tensor->width);
    if (emitter->code != ACCEL_OK)
        return emitter->code;
    if (bind->plane >= tensor->planes || bind->part >= tensor->parts) {
        fail(emitter, ACCEL_E_INTERNAL, "a kernel binds plane %u, part %u of a value that has fewer", bind->plane,
             bind->part);
        return emitter->code;
    }
    bytes = gpu_part_bytes(tensor, bind->part, bind->plane);
    if (bytes > most)
        fail(emitter, ACCEL_E_LIMIT, "%s has %llu bytes, the device binds at most %llu at a time",
             tensor->value == GPU_NO_VALUE ? "work space" : emitter->graph->values[tensor->value]->name,
             (unsigned long long)bytes, (unsigned long long)most);
    else if (bytes > gpu_place_most(limits))
        fail(emitter, ACCEL_E_LIMIT, "%s has %llu bytes, one memory of the device holds %llu",
             tensor->value == GPU_NO_VALUE ? "work space" : emitter->graph->values[tensor->value]->name,
             (unsigned long long)bytes, (unsigned long long)gpu_place_most(limits));
    return emitter->code;
}

static int32_t check_launch(struct gpu_emitter *emitter, const struct gpu_launch *launch,
                            const struct gpu_source **out_source)
{
    const struct gpu_limits *limits = &emitter->gpu->limits;
    uint32_t zeros = 0;

    *out_source = gpu_source_find(emitter->gpu, launch->source);
    if (*out_source == NULL)
        fail(emitter, ACCEL_E_UNSUPPORTED, "kernel %s is not made for this device", launch->source);
    if (launch->bind_count == 0 || launch->bind_count > GPU_BINDINGS ||
        launch->word_count > GPU_WORDS - launch->bind_count)
        fail(emitter, ACCEL_E_INTERNAL, "kernel %s: %u buffers, %u parameters", launch->source, launch->bind_count,
             launch->word_count);
    if (launch->bind_count > limits->bindings)
        fail(emitter, ACCEL_E_LIMIT, "kernel %s needs %u buffers, the device binds at most %u to a kernel",
             launch->source, launch->bind_count, limits->bindings);
    if (launch->constants[0] == 0 || launch->constants[0] > limits->group_items)
        fail(emitter, ACCEL_E_LIMIT, "kernel %s needs workgroups of %u items, the device has at most %u",
             launch->source, launch->constants[0], limits->group_items);
    for (uint32_t d = 0; d < 3; d++) {
        zeros += launch->groups[d] == 0;
        if (launch->groups[d] > limits->groups[d])
            fail(emitter, ACCEL_E_LIMIT, "kernel %s needs %llu workgroups in one dimension, the device has at most %u",
                 launch->source, (unsigned long long)launch->groups[d], limits->groups[d]);
    }
    if (zeros != 0 && zeros != 3)
        fail(emitter, ACCEL_E_INTERNAL, "kernel %s has no workgroups in %u of its dimensions", launch->source, zeros);
    for (uint32_t b = 0; emitter->code == ACCEL_OK && b < launch->bind_count; b++)
        check_bind(emitter, &launch->binds[b]);
    return emitter->code;
}

static struct gpu_key key_of(const struct gpu_launch *launch, const struct gpu_source *source)
{
    struct gpu_key key = {.source = source,
                          .constant_count = 1,
                          .bindings = launch->bind_count,
                          .words = launch->bind_count + launch->word_count,
                          .subgroup = launch->subgroup};

    for (const char *at = source->constants; *at != '\0'; at++)
        key.constant_count += *at == ' ';
    memcpy(key.constants, launch->constants, key.constant_count * sizeof(*key.constants));
    return key;
}

/* Returns the memory range of a plane of a part of a tensor. */
static void locate(struct gpu_emitter *emitter, const struct gpu_bind *bind, const struct gpu_location *home,
                   struct gpu_range *range)
{
    range->memory = home->memory;
    range->offset = home->offset + bind->tensor->begin;
    /* Buffers are of words; values of 16 bits may end in the middle of one. */
    range->bytes = (gpu_part_bytes(bind->tensor, bind->part, bind->plane) + 3u) & ~UINT64_C(3);
    if (home->container != NULL) {
        const struct gpu_weight *weight = &home->container->weights[home->weight];
        const struct gpu_place *place =
            &home->container->places[weight->places + (uint64_t)bind->part * weight->storage.planes + bind->plane];

        /* A reshaped weight may have another shape than the stored one. */
        if (bind->tensor->parts != weight->storage.parts ||
            range->bytes != gpu_storage_bytes(&weight->storage, bind->part, bind->plane))
            fail(emitter, ACCEL_E_UNSUPPORTED, "weight %s is read under another shape", weight->key);
        range->memory = home->container->arena.chunks[place->chunk];
        range->offset = place->offset;
    }
}

static const struct gpu_location *location_of(const struct gpu_set *set, const struct gpu_emitter *emitter,
                                              const struct gpu_tensor *tensor)
{
    if (tensor->value == GPU_NO_VALUE)
        return &set->locations[emitter->graph->value_count + emitter->node];
    return &set->locations[set->program->roots[tensor->value]];
}

/* Binds ranges at aligned offsets; word b holds the remaining offset of value b. An absent input is bound to the range
 * of a present one. */
static void bind_ranges(struct gpu_emitter *emitter, const struct gpu_launch *launch, struct gpu_dispatch *dispatch,
                        struct gpu_use *use)
{
    uint32_t alignment = emitter->gpu->limits.alignment;
    const struct gpu_bind *present = NULL;

    for (uint32_t b = 0; b < launch->bind_count && present == NULL; b++)
        present = launch->binds[b].tensor != NULL ? &launch->binds[b] : NULL;
    if (present == NULL) {
        fail(emitter, ACCEL_E_INTERNAL, "kernel %s binds nothing", launch->source);
        return;
    }
    for (uint32_t b = 0; b < launch->bind_count; b++) {
        const struct gpu_bind *bind = launch->binds[b].tensor != NULL ? &launch->binds[b] : present;
        struct gpu_range *range = &dispatch->ranges[b];
        uint64_t whole;

        locate(emitter, bind, location_of(emitter->set, emitter, bind->tensor), range);
        whole = range->offset;
        range->offset = alignment == 0 ? 0 : whole & ~(uint64_t)(alignment - 1);
        range->bytes += whole - range->offset;
        dispatch->words[b] = (uint32_t)((whole - range->offset) / 4);
        if (launch->binds[b].tensor != NULL)
            use->access |= (bind->access & 3u) << 2 * b;
        if (alignment != 0 && range->bytes > emitter->gpu->limits.binding_bytes)
            fail(emitter, ACCEL_E_LIMIT, "kernel %s: a value of %llu bytes cannot be bound, at most %llu can",
                 launch->source, (unsigned long long)range->bytes,
                 (unsigned long long)emitter->gpu->limits.binding_bytes);
    }
    dispatch->range_count = launch->bind_count;
}

static void fill(struct gpu_emitter *emitter, const struct gpu_launch *launch, const struct gpu_source *source)
{
    struct gpu_dispatch *dispatch = &emitter->dispatches[emitter->count];
    struct gpu_use *use = &emitter->uses[emitter->count];

    if (emitter->mode == GPU_EMIT_BIND) {
        struct gpu_key key = key_of(launch, source);
        struct gpu_pipeline *pipeline = NULL;

        *dispatch = (struct gpu_dispatch){.word_count = launch->bind_count + launch->word_count};
        *use = (struct gpu_use){.source = source, .node = emitter->node};
        emitter->code = gpu_pipeline_get(emitter->module, &key, &pipeline, emitter->error);
        dispatch->pipeline = pipeline;
        if (emitter->code == ACCEL_OK)
            bind_ranges(emitter, launch, dispatch, use);
    } else if (use->source != source || use->node != emitter->node ||
               dispatch->word_count != launch->bind_count + launch->word_count) {
        fail(emitter, ACCEL_E_INTERNAL, "kernel %s: launches differ from those recorded", launch->source);
    }
    if (emitter->code != ACCEL_OK)
        return;
    memcpy(dispatch->words + launch->bind_count, launch->words, launch->word_count * sizeof(*launch->words));
    for (uint32_t d = 0; d < 3; d++)
        dispatch->groups[d] = (uint32_t)launch->groups[d];
}

void gpu_emit(struct gpu_emitter *emitter, const struct gpu_launch *launch)
{
    const struct gpu_source *source = NULL;

    if (emitter->code != ACCEL_OK || check_launch(emitter, launch, &source) != ACCEL_OK)
        return;
    if (emitter->mode == GPU_EMIT_WANT) {
        struct gpu_key key = key_of(launch, source);
        struct gpu_compiled *compiled = NULL;

        emitter->code = gpu_pipeline_hold(emitter->module, &key, &compiled, emitter->error);
    } else if (emitter->mode >= GPU_EMIT_BIND) {
        if (emitter->count == emitter->capacity)
            fail(emitter, ACCEL_E_INTERNAL, "kernel %s: more launches than before", launch->source);
        else
            fill(emitter, launch, source);
    }
    emitter->count++;
}

void gpu_lower_node(struct gpu_emitter *emitter, const struct gpu_program *program, const struct gpu_tensor *tensors,
                    const struct gpu_tensor *scratches, uint32_t n)
{
    struct gpu_call call = gpu_call_of(emitter->gpu, program, tensors, n);

    if (program->rows[n] == NULL || emitter->code != ACCEL_OK)
        return;
    if (scratches != NULL && scratches[n].rank != 0)
        call.scratch = &scratches[n];
    emitter->node = n;
    program->rows[n]->lower(&call, emitter);
}

struct gpu_call gpu_call_of(const struct gpu_device_state *gpu, const struct gpu_program *program,
                            const struct gpu_tensor *tensors, uint32_t n)
{
    const struct accel_node *node = program->graph->nodes[n];
    struct gpu_call call = {.attributes = node->attributes, .limits = &gpu->limits, .row = program->rows[n]};

    for (uint32_t i = 0; i < node->input_count && i < GPU_INPUTS; i++)
        if (node->inputs[i] != ACCEL_NO_VALUE)
            call.inputs[i] = &tensors[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count && i < GPU_OUTPUTS; i++)
        call.outputs[i] = &tensors[node->outputs[i]];
    return call;
}

uint64_t gpu_scratch_bytes(const struct gpu_call *call)
{
    return call->row == NULL || call->row->scratch == NULL ? 0 : (call->row->scratch(call) + 3u) & ~UINT64_C(3);
}

/* ---- barriers ---- */

#define TOUCHED 64u

/* Ranges that launches since the last barrier have touched. */
struct touched {
    struct gpu_range ranges[TOUCHED];
    uint32_t access[TOUCHED];
    uint32_t count;
};

/* The bytes of the value itself: a range begins where it can be bound. */
static struct gpu_range exact(const struct gpu_dispatch *dispatch, uint32_t b)
{
    struct gpu_range range = dispatch->ranges[b];
    uint64_t skip = 4 * (uint64_t)dispatch->words[b];

    range.offset += skip;
    range.bytes -= skip;
    return range;
}

static bool collide(const struct touched *touched, const struct gpu_range *range, uint32_t access)
{
    for (uint32_t i = 0; i < touched->count; i++) {
        const struct gpu_range *other = &touched->ranges[i];

        if (((touched->access[i] | access) & GPU_BIND_WRITE) != 0 && other->memory == range->memory &&
            range->offset < other->offset + other->bytes && other->offset < range->offset + range->bytes)
            return true;
    }
    return false;
}

void gpu_lower_barriers(struct gpu_dispatch *dispatches, const struct gpu_use *uses, uint32_t count)
{
    struct touched touched = {.count = 0};

    for (uint32_t i = 0; i < count; i++) {
        struct gpu_dispatch *dispatch = &dispatches[i];

        dispatch->barrier = 0;
        if (dispatch->groups[0] == 0)
            continue;
        for (uint32_t b = 0; b < dispatch->range_count && !dispatch->barrier; b++) {
            struct gpu_range range = exact(dispatch, b);

            dispatch->barrier = collide(&touched, &range, uses[i].access >> 2 * b & 3u);
        }
        if (touched.count + dispatch->range_count > TOUCHED)
            dispatch->barrier = 1;
        if (dispatch->barrier)
            touched.count = 0;
        for (uint32_t b = 0; b < dispatch->range_count; b++) {
            if ((uses[i].access >> 2 * b & 3u) == 0)
                continue;
            touched.ranges[touched.count] = exact(dispatch, b);
            touched.access[touched.count++] = uses[i].access >> 2 * b & 3u;
        }
    }
}
