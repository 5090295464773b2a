/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, and writes to the caches that it reads. */
#include "plugins/cpu/operators/operators.h"

#include <string.h>

/* Fewest tokens for each rank from which on whole tokens are shared out, so that kernels find tiles of rows. */
#define TOKENS_FOR_TILES 8u

/* Keys from which on cutting them is worth a barrier. */
#define KEYS_TO_CUT 256u

/* Bits of a planar type, 0 of others. */
static uint32_t bits_of(uint32_t type)
{
    return ACCEL_IS_PLANAR(type) ? ACCEL_PLANAR_BITS(type) : 0;
}

const char *cpu_attention_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_attention *attributes = node->node->attributes;
    const uint64_t size = sdk_input(node, 0)->dims[2].add, row = sdk_input(node, 2)->dims[1].add;

    if ((kernel->variant & CPU_ROUNDED) != 0 &&
        (attributes->rounding != ACCEL_Q8_0 ||
         (bits_of(sdk_input(node, 1)->type) != 4 && bits_of(sdk_input(node, 2)->type) != 4)))
        return "the node does not allow rounding, or nothing is cached in 4 bits";
    if (size > CPU_HEAD || row / attributes->kv_heads > CPU_HEAD)
        return "heads have more than 1024 elements";
    if (!cpu_is_cache_type(sdk_input(node, 1)->type, size) ||
        !cpu_is_cache_type(sdk_input(node, 2)->type, row / attributes->kv_heads))
        return "keys and values have to be cached in F32, F16, or symmetric 8 or 4 bits in groups that divide a head";
    if (sdk_input(node, 0)->type != ACCEL_F32 || sdk_output(node, 0)->type != ACCEL_F32)
        return "q and y have to be F32";
    return NULL;
}

static struct cpu_cache cache_of(const struct sdk_tensor *state)
{
    return (struct cpu_cache){.data = state->planes[0],
                              .type = state->type,
                              .row = state->width,
                              .stride = cpu_cache_stride(state->type, state->width)};
}

/* Keys of the longest sequence. */
static uint64_t keys_of(const struct cpu_attention *attention)
{
    uint64_t most = 0;

    for (size_t s = 0; s < attention->sequences; s++)
        most = (uint64_t)attention->length[s] > most ? (uint64_t)attention->length[s] : most;
    return most;
}

/* Few tokens over many keys: each rank takes a part of the keys for all heads, so that no rank waits for one with more
 * heads, and then puts the parts of some heads together. */
static void cut_keys(const struct sdk_call *call, struct cpu_attention *attention, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const uint64_t items = attention->tokens * attention->heads, width = attention->value_size + 2;
    float *y = attention->y;
    uint64_t begin, end;

    attention->part = rank;
    attention->parts = ranks;
    attention->partial = (float *)call->scratch + rank * items * width;
    device->kernels.attention(attention, 0, items);
    sdk_barrier_wait(call->barrier);
    sdk_split(items, 1, rank, ranks, &begin, &end);
    cpu_attention_merge(call->scratch, ranks, items, attention->value_size, begin, end, y, attention->stats);
}

/* Keys that a token of a sequence sees, about: what its item costs. */
static uint64_t seen(const struct cpu_attention *attention, size_t s, int64_t token)
{
    uint64_t length = (uint64_t)attention->length[s];
    uint64_t keys = attention->causal ? length - (uint64_t)(attention->first[s + 1] - token) + 1 : length;

    return (attention->window != 0 && keys > attention->window ? attention->window + attention->sinks : keys) + 1;
}

/* The item at which the part of rank `rank` begins: parts see about as many keys as each other, whichever sequences
 * their tokens are of. Items of one head of keys, or of a whole token where there are many, stay together. */
static uint64_t part_begin(const struct cpu_attention *attention, uint32_t rank, uint32_t ranks)
{
    const uint64_t units = attention->tokens < (uint64_t)TOKENS_FOR_TILES * ranks ? attention->kv_heads : 1;
    uint64_t all = 0, before = 0, target;

    if (rank == 0 || rank == ranks)
        return rank == 0 ? 0 : attention->tokens * attention->heads;
    for (size_t s = 0; s < attention->sequences; s++)
        for (int64_t t = attention->first[s]; t < attention->first[s + 1]; t++)
            all += seen(attention, s, t);
    target = all * units * rank / ranks;
    for (size_t s = 0; s < attention->sequences; s++) {
        for (int64_t t = attention->first[s]; t < attention->first[s + 1]; t++) {
            uint64_t keys = seen(attention, s, t), here = (target - before) / keys;

            if (here < units)
                return ((uint64_t)t * units + here) * (attention->heads / units);
            before += keys * units;
        }
    }
    return attention->tokens * attention->heads;
}

/* Attributes may be those of an earlier minor. */
static uint32_t sinks_of(const struct accel_attention *attributes)
{
    return ACCEL_HAS(attributes, sinks) ? attributes->sinks : 0;
}

/* Parts of cut keys in scratch: bytes before those of the mass. */
static uint64_t partial_bytes(const struct sdk_call *call, uint32_t ranks)
{
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    uint64_t tokens = q->dims[0] < ranks ? q->dims[0] : ranks;

    if (ranks < 2)
        return 0;
    return ranks * tokens * q->dims[1] * (call->inputs[2]->width / attributes->kv_heads + 2) * sizeof(float);
}

/* With a mass: the stats of all items, and what each rank but the first adds up by itself. */
uint64_t cpu_attention_scratch(const struct sdk_call *call, uint32_t ranks)
{
    const struct sdk_tensor *q = call->inputs[0], *mass = call->outputs[1];
    uint64_t bytes = partial_bytes(call, ranks);

    if (mass != NULL)
        bytes += (q->dims[0] * q->dims[1] * 2 + (ranks - 1) * mass->rows * mass->width) * sizeof(float);
    return bytes;
}

/* Each rank adds up the weights of its items, or of its part of the keys, and then all ranks' for some places. Stats of
 * other ranks' items are read where keys were cut. */
static void add_mass(const struct sdk_call *call, struct cpu_attention *attention, uint64_t item, uint64_t item_end,
                     uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const uint64_t places = call->outputs[1]->rows * call->outputs[1]->width;
    float *mass = call->outputs[1]->planes[0], *others = attention->stats + attention->tokens * attention->heads * 2;
    uint64_t begin, end;

    attention->mass = rank == 0 ? mass : others + (rank - 1) * places;
    memset(attention->mass, 0, places * sizeof(float));
    sdk_barrier_wait(call->barrier);
    device->kernels.attention_mass(attention, item, item_end);
    sdk_barrier_wait(call->barrier);
    sdk_split(places, 16, rank, ranks, &begin, &end);
    for (uint32_t r = 1; r < ranks; r++)
        for (uint64_t i = begin; i < end; i++)
            mass[i] += others[(r - 1) * places + i];
}

static void take_mask(const struct sdk_call *call, struct cpu_attention *attention)
{
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *mask = call->inputs[6];

    if (mask == NULL)
        return;
    attention->mask = mask->planes[0];
    attention->block = attributes->block;
    attention->blocks = mask->dims[1];
}

void cpu_attention_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    const struct sdk_tensor *k = call->inputs[1];
    const struct sdk_tensor *v = call->inputs[2];
    const struct sdk_tensor *table = call->inputs[3];
    struct cpu_attention attention = {
        .q = q->planes[0],
        .y = call->outputs[0]->planes[0],
        .k = cache_of(k),
        .v = cache_of(v),
        .tokens = q->dims[0],
        .heads = q->dims[1],
        .kv_heads = attributes->kv_heads,
        .size = q->dims[2],
        .value_size = v->width / attributes->kv_heads,
        .sequences = table->dims[0],
        .first = call->inputs[4]->planes[0],
        .length = call->inputs[5]->planes[0],
        .table = table->planes[0],
        .pages = table->dims[1],
        .page = attributes->page,
        .window = attributes->window,
        .sinks = sinks_of(attributes),
        .causal = attributes->causal,
        .rounding = (call->variant & CPU_ROUNDED) != 0 ? ACCEL_Q8_0 : 0,
        .scale = attributes->scale,
        .softcap = attributes->softcap,
    };
    uint64_t keys = keys_of(&attention), begin = 0, end = attention.tokens * attention.heads;

    take_mask(call, &attention);
    if (call->outputs[1] != NULL)
        attention.stats = (float *)((char *)call->scratch + partial_bytes(call, ranks));
    if (attention.tokens <= ranks && ranks > 1 && keys >= KEYS_TO_CUT) {
        cut_keys(call, &attention, rank, ranks);
    } else {
        begin = part_begin(&attention, rank, ranks);
        end = part_begin(&attention, rank + 1, ranks);
        device->kernels.attention(&attention, begin, end);
    }
    if (call->outputs[1] != NULL)
        add_mass(call, &attention, begin, end, rank, ranks);
}

/* Keys that a query sees at most: how many there are stands in an input. */
uint64_t cpu_attention_work(const struct sdk_call *call)
{
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    uint64_t keys = call->inputs[3]->dims[1] * attributes->page;

    if (attributes->window != 0 && attributes->window < keys)
        keys = attributes->window;
    return cpu_time(call, q->rows * q->width * keys * 2, 4);
}

const char *cpu_cache_write_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    /* What divides the row of a slot divides each group of it. */
    if (!cpu_is_cache_type(sdk_input(node, 2)->type, sdk_input(node, 2)->dims[1].add))
        return "the cache has to be F32, F16, or symmetric 8 or 4 bits in groups";
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_input(node, 1)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and slot I32";
}

/* Of a single token whose cache has one number after the other, elements; else tokens. */
static uint32_t writes_elements(const struct sdk_call *call)
{
    return call->inputs[1]->width == 1 && !ACCEL_IS_PLANAR(call->inputs[2]->type);
}

uint64_t cpu_cache_write_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    if (!writes_elements(call))
        return call->inputs[1]->width;
    *out_grain = CPU_MATMUL_ROWS;
    return call->inputs[2]->width;
}

void cpu_cache_write_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const float *x = call->inputs[0]->planes[0];
    struct cpu_cache cache = cache_of(call->inputs[2]);

    if (!writes_elements(call)) {
        device->kernels.cache_write(x, call->inputs[1]->planes[0], &cache, begin, end);
        return;
    }
    cache.data = (const char *)cache.data + cpu_cache_stride(cache.type, begin);
    cache.row = end - begin;
    device->kernels.cache_write(x + begin, call->inputs[1]->planes[0], &cache, 0, 1);
}

uint64_t cpu_cache_write_work(const struct sdk_call *call)
{
    const struct sdk_tensor *slot = call->inputs[1];

    return slot->width < 2 ? 0 : cpu_time(call, slot->width * call->inputs[2]->width, 4);
}
