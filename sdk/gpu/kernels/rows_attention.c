/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of rotary, cache_write and attention. */
#include <stdbool.h>
#include <string.h>

#include <accel/ops.h>

#include "sdk/gpu/kernels/rows.h"

#define HEAD 1024u    /* elements of a head at most */
#define FEW_TOKENS 4u /* up to which keys are cut in parts */

#define BINDS 8u         /* of the kernels of attention */
#define BIASED_BINDS 10u /* of those with slopes and learned sinks */

/* ---- caches ---- */

/* Bits of an element of a cache, 0 of a type that kernels do not read; values of a group. */
static uint32_t cache_bits(uint32_t type, uint32_t *out_span)
{
    const uint32_t bits = ACCEL_PLANAR_BITS(type), log2_group = ACCEL_PLANAR_LOG2_GROUP(type);

    *out_span = 1;
    if (type == ACCEL_F32)
        return 32;
    if (type == ACCEL_F16)
        return 16;
    if ((bits != 4 && bits != 8) || log2_group < 5 || log2_group > 7 ||
        type != ACCEL_PLANAR(bits, log2_group, ACCEL_SCHEME_SYMMETRIC))
        return 0;
    *out_span = 1u << log2_group;
    return bits;
}

static bool fits(uint32_t type, uint64_t size)
{
    uint32_t span;

    return cache_bits(type, &span) != 0 && size % span == 0;
}

const char *gpu_cache_write_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    if (!fits(sdk_input(node, 2)->type, sdk_input(node, 2)->dims[1].add))
        return "the cache has to be F32, F16, or symmetric 8 or 4 bits in groups";
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_input(node, 1)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and slot I32";
}

void gpu_cache_write_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *slot = call->inputs[1], *state = call->inputs[2];
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t tokens = slot->rows * slot->width;
    uint32_t span;
    const uint32_t bits = cache_bits(state->type, &span);
    /* Elements of an item: those of a word, or of two groups. */
    const uint64_t each = bits == 32 ? 1 : 2 * (uint64_t)span;
    struct gpu_launch launch = {
        .source = "cache_write",
        .constants = {group, bits, span},
        .bind_count = 3,
        .binds = {gpu_read(call->inputs[0]), gpu_read(slot), gpu_write(state)},
        .words = {(uint32_t)state->width, (uint32_t)tokens, (uint32_t)state->rows, (uint32_t)(state->pitch[0] / 4)},
        .word_count = 4};

    gpu_grid(&launch, gpu_pieces(state->width, each * group), tokens);
    gpu_emit(emitter, &launch);
}

/* ---- attention ---- */

const char *gpu_attention_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const struct accel_attention *attributes = node->node->attributes;
    const uint64_t size = sdk_input(node, 0)->dims[2].add;
    const uint64_t value_size = sdk_input(node, 2)->dims[1].add / attributes->kv_heads;

    (void)row;
    if (size > HEAD || value_size > HEAD)
        return "heads have more than 1024 elements";
    if (!fits(sdk_input(node, 1)->type, size) || !fits(sdk_input(node, 2)->type, value_size))
        return "keys and values have to be cached in F32, F16, or symmetric 8 or 4 bits in groups that divide a head";
    if (sdk_input(node, 6) != NULL && sdk_input(node, 6)->type != ACCEL_I32)
        return "the mask has to be I32";
    for (uint32_t i = 7; i < 9; i++)
        if (sdk_input(node, i) != NULL && sdk_input(node, i)->type != ACCEL_F32)
            return "slopes and learned sinks have to be F32";
    if ((sdk_input(node, 7) != NULL || sdk_input(node, 8) != NULL) && gpu_limits_of(node)->bindings < BIASED_BINDS)
        return "the device binds too few buffers to a kernel for slopes and learned sinks";
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_output(node, 0)->type == ACCEL_F32 ? NULL
                                                                                           : "q and y have to be F32";
}

static uint32_t parts_of(const struct gpu_call *call)
{
    const struct gpu_tensor *q = call->inputs[0];
    const uint64_t most_tokens = q->dims[1] == 0 ? 0 : q->most_rows / q->dims[1];

    return most_tokens <= FEW_TOKENS ? gpu_arrange(call->limits).parts : 1;
}

/* Returns whether the kernel writes the maximum, sum and values per part: attention_score_sum reads them too. */
static bool is_split(const struct gpu_call *call)
{
    return parts_of(call) > 1 || call->outputs[1] != NULL;
}

uint64_t gpu_attention_scratch(const struct gpu_call *call)
{
    const uint32_t parts = parts_of(call);

    if (!is_split(call))
        return 0;
    return 4 * parts * call->inputs[0]->most_rows * (call->outputs[0]->width + 2);
}

static void emit_merge(const struct gpu_call *call, struct gpu_emitter *emitter, uint32_t parts)
{
    const struct gpu_tensor *q = call->inputs[0];
    const uint32_t group = gpu_arrange(call->limits).attention;
    struct gpu_launch launch = {.source = "attention_merge",
                                .constants = {group, parts},
                                .bind_count = 2,
                                .binds = {gpu_read(call->scratch), gpu_write(call->outputs[0])},
                                .words = {(uint32_t)q->rows, (uint32_t)call->outputs[0]->width},
                                .word_count = 2};

    gpu_grid(&launch, q->rows, 1);
    gpu_emit(emitter, &launch);
}

/* Returns whether there are slopes or learned sinks, which kernels of their own read. */
static bool is_biased(const struct gpu_call *call)
{
    return call->inputs[7] != NULL || call->inputs[8] != NULL;
}

/* Returns the common part of the launches of attention: all buffers but 2 and 6, and the parameters. */
static struct gpu_launch attention_of(const struct gpu_call *call)
{
    const struct gpu_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2], *table = call->inputs[3],
                            *length = call->inputs[5], *mask = call->inputs[6];
    const struct accel_attention *attributes = call->attributes;
    const uint32_t sinks = ACCEL_HAS(attributes, sinks) ? attributes->sinks : 0;

    return (struct gpu_launch){
        .bind_count = is_biased(call) ? BIASED_BINDS : BINDS,
        .binds = {gpu_read(q), gpu_read(k), gpu_read(v), gpu_read(table), gpu_read(call->inputs[4]), gpu_read(length),
                  gpu_write(call->outputs[0]), gpu_read(mask), gpu_read(call->inputs[7]), gpu_read(call->inputs[8])},
        .words = {(uint32_t)q->dims[0], (uint32_t)q->dims[1], attributes->kv_heads,
                  (uint32_t)(length->rows * length->width), (uint32_t)table->width, attributes->page,
                  attributes->window, attributes->causal, (uint32_t)(k->pitch[0] / 4), (uint32_t)(v->pitch[0] / 4),
                  (uint32_t)k->rows, gpu_float_word(attributes->scale), gpu_float_word(attributes->softcap), sinks,
                  mask == NULL ? 0 : attributes->block,
                  (call->inputs[7] != NULL ? 1u : 0u) | (call->inputs[8] != NULL ? 2u : 0u)},
        .word_count = is_biased(call) ? 16 : 15};
}

static void emit_score_sum(const struct gpu_call *call, struct gpu_emitter *emitter, uint32_t parts)
{
    const struct gpu_tensor *q = call->inputs[0], *k = call->inputs[1], *score_sum = call->outputs[1];
    const uint32_t group = gpu_arrange(call->limits).element_group;
    struct gpu_launch launch = attention_of(call);
    uint32_t span;
    const uint32_t bits = cache_bits(k->type, &span);

    launch.source = is_biased(call) ? "attention_score_sum_biased" : "attention_score_sum";
    memcpy(launch.constants,
           (uint32_t[]){group, bits, span, (uint32_t)q->width, (uint32_t)call->outputs[0]->width, parts},
           6 * sizeof(*launch.constants));
    launch.binds[2] = gpu_read(call->scratch);
    launch.binds[6] = gpu_write(score_sum);
    launch.bind_count = is_biased(call) ? BIASED_BINDS - 1 : BINDS; /* sums have the sinks */
    gpu_grid(&launch, gpu_pieces(score_sum->width, group), score_sum->rows);
    gpu_emit(emitter, &launch);
}

void gpu_attention_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    const uint32_t parts = parts_of(call), split = is_split(call);
    uint32_t key_span, value_span;
    const uint32_t key_bits = cache_bits(k->type, &key_span), value_bits = cache_bits(v->type, &value_span);
    const uint32_t constants[] = {
        gpu_arrange(call->limits).attention, key_bits, key_span, value_bits, value_span, (uint32_t)q->width,
        (uint32_t)call->outputs[0]->width,   parts,    split};
    struct gpu_launch launch = attention_of(call);

    launch.source = is_biased(call) ? "attention_biased" : "attention";
    memcpy(launch.constants, constants, sizeof(constants));
    gpu_use_subgroups(call->limits, &launch, 9);
    launch.binds[6] = gpu_write(split ? call->scratch : call->outputs[0]);
    gpu_grid(&launch, q->rows, parts);
    gpu_emit(emitter, &launch);
    if (split)
        emit_merge(call, emitter, parts);
    if (call->outputs[1] != NULL)
        emit_score_sum(call, emitter, parts);
}

/* ---- rotary ---- */

const char *gpu_rotary_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    return sdk_all_f32(node, 1u << 1) && sdk_input(node, 1)->type == ACCEL_I32
               ? NULL
               : "x and frequency have to be F32 and position I32";
}

void gpu_rotary_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *frequency = call->inputs[2];
    const struct accel_rotary *attributes = call->attributes;
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t pairs = frequency->width, items = x->dims[0] * (x->dims[2] - pairs);
    const uint32_t heads = gpu_arrange(call->limits).heads, each = heads == 0 ? (uint32_t)x->dims[1] : heads;
    struct gpu_launch launch = {
        .source = "rotary",
        .constants = {group, attributes->pairing == ACCEL_PAIR_NEIGHBOURS},
        .bind_count = 4,
        .binds = {gpu_read(x), gpu_read(call->inputs[1]), gpu_read(frequency), gpu_write(call->outputs[0])},
        .words = {(uint32_t)x->dims[0], (uint32_t)x->dims[1], (uint32_t)x->dims[2], (uint32_t)pairs, each,
                  gpu_float_word(attributes->scale)},
        .word_count = 6};

    gpu_grid(&launch, gpu_pieces(items, group), gpu_pieces(x->dims[1], each));
    gpu_emit(emitter, &launch);
}

/* ---- dense attention ---- */

#define DENSE_BINDS 8u /* without a sink */

const char *gpu_dense_attention_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    if (!sdk_all_f32(node, 3u << 3) || sdk_input(node, 3)->type != ACCEL_I32 || sdk_input(node, 4)->type != ACCEL_I32)
        return "first and first_key have to be I32, and all others F32";
    if (sdk_input(node, 0)->dims[2].add > HEAD || sdk_input(node, 2)->dims[2].add > HEAD)
        return "heads have more than 1024 elements";
    if (sdk_input(node, 7) != NULL && gpu_limits_of(node)->bindings <= DENSE_BINDS)
        return "the device binds too few buffers to a kernel for learned sinks";
    return NULL;
}

void gpu_dense_attention_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *q = call->inputs[0], *k = call->inputs[1], *first = call->inputs[3],
                            *bias = call->inputs[5], *relative = call->inputs[6], *sink = call->inputs[7];
    const struct accel_dense_attention *attributes = call->attributes;
    const uint32_t biases =
        (bias != NULL ? 1u : 0u) | (relative != NULL ? 2u : 0u) | (relative != NULL && relative->tile > 1 ? 4u : 0u);
    const uint64_t sequences = first->rows * first->width;
    struct gpu_launch launch = {
        .source = sink == NULL ? "dense_attention" : "dense_attention_sink",
        .constants = {gpu_arrange(call->limits).attention, (uint32_t)q->width, (uint32_t)call->outputs[0]->width,
                      biases},
        .bind_count = sink == NULL ? DENSE_BINDS : DENSE_BINDS + 1,
        .binds = {gpu_read(q), gpu_read(k), gpu_read(call->inputs[2]), gpu_read(first), gpu_read(call->inputs[4]),
                  gpu_write(call->outputs[0]), gpu_read(bias), gpu_read(relative), gpu_read(sink)},
        .words = {(uint32_t)q->dims[0], (uint32_t)k->dims[0], (uint32_t)q->dims[1], (uint32_t)k->dims[1],
                  sequences == 0 ? 0 : (uint32_t)sequences - 1, attributes->causal, gpu_float_word(attributes->scale),
                  gpu_float_word(attributes->softcap), attributes->before, attributes->after},
        .word_count = 15};

    if (bias != NULL) {
        launch.words[10] = (uint32_t)bias->dims[0];
        launch.words[11] = (uint32_t)bias->dims[2];
        launch.words[12] = (uint32_t)bias->dims[3];
    }
    if (relative != NULL) {
        launch.words[13] = (uint32_t)relative->width;
        launch.words[14] = attributes->center;
    }
    gpu_use_subgroups(call->limits, &launch, 4);
    gpu_fold(call->limits, q->rows, launch.groups);
    gpu_emit(emitter, &launch);
}
