/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and KV cache writes. */
#include <stdbool.h>
#include <string.h>

#include "plugins/cpu/operators/operators.h"

/* Tokens per thread from which on whole tokens are distributed, so that kernels can fill tiles of rows. */
#define TOKENS_FOR_TILES 8u

/* Tokens of a step up to which the keys of each are divided into parts: of this many keys, of a sequence from two parts
 * on. The number of threads has no say in it, so that results do not depend on it. */
#define TOKENS_IN_PARTS 4u
#define KEYS_OF_PART 512u
#define PARTS_MOST 32u

const char *cpu_attention_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_attention *attributes = node->node->attributes;
    const uint64_t size = sdk_input(node, 0)->dims[2].add, row = sdk_input(node, 2)->dims[1].add;

    if ((kernel->variant & CPU_ROUNDED) != 0 &&
        (attributes->rounding != ACCEL_Q8_0 ||
         (cpu_code_bits(sdk_input(node, 1)->type) != 4 && cpu_code_bits(sdk_input(node, 2)->type) != 4)))
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

/* Returns the parts that visible keys are divided into. */
static uint64_t parts_of(const struct cpu_attention *attention, uint64_t keys)
{
    uint64_t parts;

    if (attention->window != 0 && keys > attention->window + attention->sinks)
        keys = attention->window + attention->sinks;
    parts = keys / KEYS_OF_PART;
    return parts < 2 ? 1 : parts > PARTS_MOST ? PARTS_MOST : parts;
}

/* Returns the most parts of a sequence; 1: whole tokens or KV heads are distributed. */
static uint64_t most_parts(const struct cpu_attention *attention)
{
    uint64_t most = 1;

    for (size_t s = 0; s < attention->sequences && attention->tokens <= TOKENS_IN_PARTS; s++)
        if (attention->first[s] < attention->first[s + 1] && parts_of(attention, cpu_keys_of(attention, s)) > most)
            most = parts_of(attention, cpu_keys_of(attention, s));
    return most;
}

/* Computes KV heads begin .. end of a part of a token. */
static void run_part(const struct sdk_call *call, struct cpu_attention *attention, uint64_t token, uint64_t begin,
                     uint64_t end)
{
    const struct cpu_device *device = call->device;
    const uint64_t items = attention->tokens * attention->heads, group = attention->heads / attention->kv_heads;

    attention->partial =
        attention->parts == 1 ? NULL : (float *)call->scratch + attention->part * items * (attention->value_size + 2);
    device->kernels.attention(attention, token * attention->heads + begin * group,
                              token * attention->heads + end * group);
}

/* Distributes the parts of the keys of all tokens and KV heads over the threads, for few tokens with many keys: the
 * load is balanced whatever the number of heads. After a barrier each thread merges the parts of its items. */
static void split_keys(const struct sdk_call *call, struct cpu_attention *attention, uint32_t thread, uint32_t threads)
{
    const uint64_t heads = attention->kv_heads, items = attention->tokens * attention->heads;
    uint64_t units = 0, unit = 0, begin, end;

    if (thread == 0) { /* rows of no sequence */
        const struct cpu_device *device = call->device;

        device->kernels.attention(attention, 0, (uint64_t)attention->first[0] * attention->heads);
        device->kernels.attention(attention, (uint64_t)attention->first[attention->sequences] * attention->heads,
                                  items);
    }
    for (size_t s = 0; s < attention->sequences; s++)
        units += (uint64_t)(attention->first[s + 1] - attention->first[s]) *
                 parts_of(attention, cpu_keys_of(attention, s)) * heads;
    sdk_split(units, 1, thread, threads, &begin, &end);
    for (size_t s = 0; s < attention->sequences; s++) {
        attention->parts = parts_of(attention, cpu_keys_of(attention, s));
        for (int64_t t = attention->first[s]; t < attention->first[s + 1]; t++)
            for (attention->part = 0; attention->part < attention->parts; attention->part++, unit += heads)
                if (unit < end && unit + heads > begin)
                    run_part(call, attention, (uint64_t)t, begin > unit ? begin - unit : 0,
                             end - unit < heads ? end - unit : heads);
    }
    sdk_barrier_wait(call->barrier);
    sdk_split(items, 1, thread, threads, &begin, &end);
    for (size_t s = 0; s < attention->sequences; s++) {
        const uint64_t first = (uint64_t)attention->first[s] * attention->heads;
        const uint64_t last = (uint64_t)attention->first[s + 1] * attention->heads;
        const uint64_t parts = parts_of(attention, cpu_keys_of(attention, s));

        if (parts > 1 && begin < last && first < end)
            cpu_attention_merge(call->scratch, parts, items, attention->value_size, begin > first ? begin : first,
                                end < last ? end : last, attention->y, attention->stats);
    }
    /* Score sums are of other parts: a thread has its own keys of all items. */
    attention->part = thread;
    attention->parts = threads;
}

/* Estimates the cost of an item: the number of keys that a token of sequence `s` sees. */
static uint64_t visible_keys(const struct cpu_attention *attention, size_t s, int64_t token)
{
    const uint64_t length = cpu_keys_of(attention, s), ahead = (uint64_t)(attention->first[s + 1] - token);
    uint64_t keys = !attention->causal ? length : length + 1 > ahead ? length + 1 - ahead : 0;

    if (attention->before != 0 && keys > attention->before + attention->after)
        keys = attention->before + attention->after;
    return (attention->window != 0 && keys > attention->window ? attention->window + attention->sinks : keys) + 1;
}

/* Returns the first item of a thread. Threads get about the same number of visible keys, across sequences. Items of one
 * KV head, or of a whole token if there are many tokens, stay together. */
static uint64_t part_begin(const struct cpu_attention *attention, uint32_t thread, uint32_t threads)
{
    const uint64_t units = attention->tokens < (uint64_t)TOKENS_FOR_TILES * threads ? attention->kv_heads : 1;
    uint64_t all = 0, before = 0, target;

    if (thread == 0 || thread == threads)
        return thread == 0 ? 0 : attention->tokens * attention->heads;
    for (size_t s = 0; s < attention->sequences; s++)
        for (int64_t t = attention->first[s]; t < attention->first[s + 1]; t++)
            all += visible_keys(attention, s, t);
    target = all * units * thread / threads;
    for (size_t s = 0; s < attention->sequences; s++) {
        for (int64_t t = attention->first[s]; t < attention->first[s + 1]; t++) {
            uint64_t keys = visible_keys(attention, s, t), here = (target - before) / keys;

            if (here < units)
                return ((uint64_t)t * units + here) * (attention->heads / units);
            before += keys * units;
        }
    }
    return attention->tokens * attention->heads;
}

/* Returns the bytes of partial results in scratch, of up to `keys` keys; the score sums follow them. */
static uint64_t partial_bytes(const struct sdk_call *call, uint64_t keys)
{
    const struct sdk_tensor *q = call->inputs[0];
    const uint64_t tokens = q->dims[0] < TOKENS_IN_PARTS ? q->dims[0] : TOKENS_IN_PARTS;
    const uint64_t parts = keys / KEYS_OF_PART < PARTS_MOST ? keys / KEYS_OF_PART : PARTS_MOST;

    return parts < 2 ? 0 : parts * tokens * q->dims[1] * (call->outputs[0]->width + 2) * sizeof(float);
}

/* Returns the most keys that a cache has for a sequence. */
static uint64_t cached_keys(const struct sdk_call *call)
{
    const struct accel_attention *attributes = call->attributes;

    return call->inputs[3]->dims[1] * attributes->page;
}

/* Adds scratch space for score sums: the softmax statistics of all items, and an accumulator for each thread but the
 * first. */
uint64_t cpu_attention_scratch(const struct sdk_call *call, uint32_t threads)
{
    const struct sdk_tensor *q = call->inputs[0], *score_sums = call->outputs[1];
    uint64_t bytes = partial_bytes(call, cached_keys(call));

    if (score_sums != NULL)
        bytes += (q->dims[0] * q->dims[1] * 2 + (threads - 1) * score_sums->rows * score_sums->width) * sizeof(float);
    return bytes;
}

/* Sums attention weights per key. Each thread first sums its items or its part of the keys, then reduces the
 * accumulators of all threads for a range of keys. Threads read the statistics of other threads' items if keys were
 * split. */
static void add_score_sums(const struct sdk_call *call, struct cpu_attention *attention, uint64_t item,
                           uint64_t item_end, uint32_t thread, uint32_t threads)
{
    const struct cpu_device *device = call->device;
    const uint64_t places = call->outputs[1]->rows * call->outputs[1]->width;
    float *score_sums = call->outputs[1]->planes[0],
          *others = attention->stats + attention->tokens * attention->heads * 2;
    uint64_t begin, end;

    attention->score_sums = thread == 0 ? score_sums : others + (thread - 1) * places;
    memset(attention->score_sums, 0, places * sizeof(float));
    sdk_barrier_wait(call->barrier);
    device->kernels.attention_score_sums(attention, item, item_end);
    sdk_barrier_wait(call->barrier);
    sdk_split(places, 16, thread, threads, &begin, &end);
    for (uint32_t r = 1; r < threads; r++)
        for (uint64_t i = begin; i < end; i++)
            score_sums[i] += others[(r - 1) * places + i];
}

static const void *optional(const struct sdk_tensor *input)
{
    return input == NULL ? NULL : input->planes[0];
}

static void run_attention(const struct sdk_call *call, struct cpu_attention *attention, uint32_t thread,
                          uint32_t threads)
{
    const struct cpu_device *device = call->device;
    uint64_t begin = 0, end = attention->tokens * attention->heads;

    if (call->outputs[1] != NULL)
        attention->stats = (float *)((char *)call->scratch + partial_bytes(call, cached_keys(call)));
    if (most_parts(attention) > 1) {
        split_keys(call, attention, thread, threads);
    } else {
        begin = part_begin(attention, thread, threads);
        end = part_begin(attention, thread + 1, threads);
        device->kernels.attention(attention, begin, end);
    }
    if (call->outputs[1] != NULL)
        add_score_sums(call, attention, begin, end, thread, threads);
}

void cpu_attention_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    const struct sdk_tensor *k = call->inputs[1];
    const struct sdk_tensor *v = call->inputs[2];
    const struct sdk_tensor *table = call->inputs[3], *mask = call->inputs[6];
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
        .sinks = ACCEL_HAS(attributes, sinks) ? attributes->sinks : 0,
        .causal = attributes->causal,
        .rounding = (call->variant & CPU_ROUNDED) != 0 ? ACCEL_Q8_0 : 0,
        .scale = attributes->scale,
        .softcap = attributes->softcap,
        .mask = optional(mask),
        .block = mask == NULL ? 0 : attributes->block,
        .blocks = mask == NULL ? 0 : mask->dims[1],
        .slope = optional(call->inputs[7]),
        .sink = optional(call->inputs[8]),
    };

    run_attention(call, &attention, thread, threads);
}

const char *cpu_dense_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    if (!sdk_all_f32(node, 3u << 3))
        return "q, k, v, bias, relative, sink and y have to be F32";
    return sdk_input(node, 0)->dims[2].add > CPU_HEAD || sdk_input(node, 2)->dims[2].add > CPU_HEAD
               ? "heads have more than 1024 elements"
               : NULL;
}

/* Keys and values are read as a cache of one page. */
void cpu_dense_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct accel_dense_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    const struct sdk_tensor *bias = call->inputs[5], *relative = call->inputs[6];
    const size_t row = k->dims[1] * k->dims[2], value_row = v->dims[1] * v->dims[2];
    struct cpu_attention attention = {
        .q = q->planes[0],
        .y = call->outputs[0]->planes[0],
        .k = {k->planes[0], ACCEL_F32, row, row * sizeof(float)},
        .v = {v->planes[0], ACCEL_F32, value_row, value_row * sizeof(float)},
        .tokens = q->dims[0],
        .heads = q->dims[1],
        .kv_heads = k->dims[1],
        .size = q->dims[2],
        .value_size = v->dims[2],
        .sequences = call->inputs[3]->width - 1,
        .first = call->inputs[3]->planes[0],
        .first_key = call->inputs[4]->planes[0],
        .page = SIZE_MAX,
        .causal = attributes->causal,
        .scale = attributes->scale,
        .softcap = attributes->softcap,
        .before = attributes->before,
        .after = attributes->after,
        .bias = optional(bias),
        .kinds = bias == NULL ? 0 : bias->dims[0],
        .rows = bias == NULL ? 0 : bias->dims[2],
        .columns = bias == NULL ? 0 : bias->dims[3],
        .relative = optional(relative),
        .span = relative == NULL ? 0 : relative->width,
        .center = attributes->center,
        .sink = optional(call->inputs[7]),
    };

    run_attention(call, &attention, thread, threads);
}

uint64_t cpu_dense_scratch(const struct sdk_call *call, uint32_t threads)
{
    (void)threads;
    return partial_bytes(call, call->inputs[1]->dims[0]);
}

uint64_t cpu_dense_work(const struct sdk_call *call)
{
    const struct sdk_tensor *q = call->inputs[0];

    return cpu_time(call, q->rows * q->width * call->inputs[1]->dims[0] * 2, 4);
}

/* Uses the maximum number of keys; the current number is an input of the step. */
uint64_t cpu_attention_work(const struct sdk_call *call)
{
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    uint64_t keys = cached_keys(call);

    if (attributes->window != 0 && attributes->window < keys)
        keys = attributes->window;
    return cpu_time(call, q->rows * q->width * keys * 2, 4);
}

const char *cpu_cache_write_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    /* A divisor of the slot's row divides each of its groups. */
    if (!cpu_is_cache_type(sdk_input(node, 2)->type, sdk_input(node, 2)->dims[1].add))
        return "the cache has to be F32, F16, or symmetric 8 or 4 bits in groups";
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_input(node, 1)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and slot I32";
}

/* Returns 1 if a single token is split by elements, which scalar caches allow; else tokens are split. */
static bool writes_elements(const struct sdk_call *call)
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
