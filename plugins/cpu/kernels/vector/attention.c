/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention on vectors, tile by tile.
 * Layout: caches slot by slot through the page table. Tile: up to ROWS query rows that share a head of keys, and up to
 * KEYS keys, which are converted to floats once for all rows (staged), or multiplied as the 4-bit digits that they are.
 * Softmax is carried from tile to tile (largest score and sum of each row). Scratch is struct scratch, 90 KiB at most,
 * on the stack, however long the sequence is. Bound: bytes of the caches for one token, operations (2 multiply-adds per
 * element and row) for many.
 */
#include "attention_digits.h"

/* What one item sees. */
struct view {
    const int32_t *pages;
    size_t first; /* first visible key */
    size_t end;   /* one past the last */
};

/* A block of query rows that share a head of keys, and what is carried for each. */
struct block {
    const int32_t *pages;
    size_t count;
    size_t first, end; /* keys that any row sees */
    size_t sinks;      /* keys before `first` that every row sees */
    size_t item[ROWS];
    size_t from[ROWS]; /* keys that a row sees */
    size_t to[ROWS];
    float most[ROWS];
    float sum[ROWS];
};

/* The sequence of a token and the keys it sees; an empty range for a row without a sequence. */
static struct view view_of(const struct cpu_attention *call, size_t token)
{
    struct view view = {call->table, 0, 0};
    for (size_t s = 0; s < call->sequences; s++) {
        if ((int64_t)token < call->first[s] || (int64_t)token >= call->first[s + 1])
            continue;
        size_t length = (size_t)call->length[s];
        size_t place = length - (size_t)call->first[s + 1] + token;
        view.pages = call->table + s * call->pages;
        view.end = call->causal ? place + 1 : length;
        view.first = call->window && place + 1 > call->window ? place + 1 - call->window : 0;
    }
    return view;
}

/* Slots of keys first .. first + count. */
static void slots_of(const struct cpu_attention *call, const int32_t *pages, size_t first, size_t count, size_t *out)
{
    size_t page = first / call->page, within = first % call->page;
    for (size_t j = 0; j < count; j++) {
        out[j] = (size_t)pages[page] * call->page + within;
        if (++within == call->page) {
            within = 0;
            page++;
        }
    }
}

/* ---- staging ---- */

CPU_INLINE void stage_floats(const int half, const void *from, size_t size, float *out)
{
    size_t i = 0;
    for (; i + VN <= size; i += VN)
        v_store(out + i, half ? v_load_f16((const uint16_t *)from + i) : v_load((const float *)from + i));
    for (; i < size; i++)
        out[i] = half ? half_to_float((const uint16_t *)from + i) : ((const float *)from)[i];
}

CPU_INLINE void stage_planar(const uint32_t bits, const struct cpu_cache *cache, size_t slot, size_t at, size_t size,
                             float *out)
{
    const uint8_t *digits = cpu_cache_digits(cache, slot, at), *scales = cpu_cache_scales(cache, slot, at);
    const uint32_t log2_group = ACCEL_PLANAR_LOG2_GROUP(cache->type);
    for (size_t i = 0; i < size; i += 32, digits += 4 * bits) {
        const vf d = v_set(half_to_float(scales + (i >> log2_group) * 2)), less = d * (bits == 8 ? -128.0f : -8.0f);
        CPU_UNROLL
        for (size_t j = 0; j < 32; j += VN) {
            vf q = bits == 8 ? v_load_u8(digits + j, 0, 255) : v_load_u8(digits + j % 16, j < 16 ? 0 : 4, 15);
            v_store(out + i + j, v_fma(q, d, less));
        }
    }
}

/* Converts elements at .. at + size of `count` slots to rows of `padded` floats. */
static void stage(const struct cpu_cache *cache, const size_t *slot, size_t count, size_t at, size_t size,
                  size_t padded, float *out)
{
    for (size_t j = 0; j < count; j++, out += padded) {
        const char *row = (const char *)cache->data + slot[j] * cache->stride;
        if (cache->type == ACCEL_F16)
            stage_floats(1, row + at * 2, size, out);
        else if (cache->type == ACCEL_F32)
            stage_floats(0, row + at * 4, size, out);
        else if (ACCEL_PLANAR_BITS(cache->type) == 8)
            stage_planar(8, cache, slot[j], at, size, out);
        else
            stage_planar(4, cache, slot[j], at, size, out);
    }
}

/* ---- scores and values over staged tiles ---- */

/* `rows` (a constant) rows of q by four keys. */
CPU_INLINE void dots(const size_t rows, const float *q, const float *k, size_t padded, float *out)
{
    vf sums[2][4] = {{{0}}};
    for (size_t i = 0; i < padded; i += VN) {
        vf key[4];
        CPU_UNROLL
        for (size_t j = 0; j < 4; j++)
            key[j] = v_load(k + j * padded + i);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            vf x = v_load(q + r * padded + i);
            CPU_UNROLL
            for (size_t j = 0; j < 4; j++)
                sums[r][j] = v_fma(x, key[j], sums[r][j]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        v_sum4(sums[r], out + r * KEYS);
}

static void score_tile(const struct scratch *s, size_t rows, size_t keys, size_t padded, float score[][KEYS])
{
    for (size_t j = 0; j < keys; j += 4) {
        size_t r = 0;
        for (; r + 2 <= rows; r += 2)
            dots(2, s->q + r * padded, s->k + j * padded, padded, score[r] + j);
        if (r < rows)
            dots(1, s->q + r * padded, s->k + j * padded, padded, score[r] + j);
    }
}

/* `rows` rows (a constant) of sums, `vectors` (a constant) vectors of each from element i on. */
CPU_INLINE void add_values(const size_t rows, const size_t vectors, const float weight[][KEYS], const float *keep,
                           const float *v, size_t keys, size_t padded, float *o)
{
    vf sums[2][4];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        CPU_UNROLL
    for (size_t u = 0; u < vectors; u++)
        sums[r][u] = v_load(o + r * padded + u * VN) * keep[r];
    for (size_t j = 0; j < keys; j++, v += padded) {
        CPU_UNROLL
        for (size_t u = 0; u < vectors; u++) {
            vf value = v_load(v + u * VN);
            CPU_UNROLL
            for (size_t r = 0; r < rows; r++)
                sums[r][u] = v_fma(v_set(weight[r][j]), value, sums[r][u]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        CPU_UNROLL
    for (size_t u = 0; u < vectors; u++)
        v_store(o + r * padded + u * VN, sums[r][u]);
}

CPU_INLINE void add_rows(const size_t rows, const float weight[][KEYS], const float *keep, const float *v, size_t keys,
                         size_t padded, float *o)
{
    size_t i = 0;
    for (; i + 4 * VN <= padded; i += 4 * VN)
        add_values(rows, 4, weight, keep, v + i, keys, padded, o + i);
    for (; i < padded; i += VN)
        add_values(rows, 1, weight, keep, v + i, keys, padded, o + i);
}

static void add_tile(struct scratch *s, size_t rows, size_t keys, size_t padded, const float keep[ROWS])
{
    size_t r = 0;
    for (; r + 2 <= rows; r += 2)
        add_rows(2, (const float(*)[KEYS])s->score + r, keep + r, s->v, keys, padded, s->o + r * padded);
    if (r < rows)
        add_rows(1, (const float(*)[KEYS])s->score + r, keep + r, s->v, keys, padded, s->o + r * padded);
}

/* ---- softmax ---- */

/* Turns the scores of one row into weights; answers what to multiply its sums with. Of the tile, the first `sinks` keys
 * and keys from .. to count. */
static float weigh(const struct cpu_attention *call, struct block *block, size_t r, size_t sinks, size_t from,
                   size_t to, float *score)
{
    vf most = v_set(-INFINITY), sums = {0};
    for (size_t j = 0; j < KEYS; j += VN) {
        vf x = v_load(score + j);
        if (call->softcap != 0)
            x = call->softcap * v_tanh(x / call->softcap);
        v_store(score + j, x);
    }
    for (size_t j = sinks; j < from; j++)
        score[j] = -INFINITY;
    for (size_t j = to; j < KEYS; j++)
        score[j] = -INFINITY;
    for (size_t j = 0; j < KEYS; j += VN)
        most = v_max(most, v_load(score + j));
    const float here = v_most(most), before = block->most[r], next = here > before ? here : before;
    for (size_t j = 0; j < KEYS; j += VN) {
        vf weight = v_exp(v_load(score + j) - next);
        v_store(score + j, weight);
        sums += weight;
    }
    const float keep = before == next ? 1 : expf(before - next);
    block->sum[r] = block->sum[r] * keep + v_sum(sums);
    block->most[r] = next;
    return keep;
}

/* ---- a block of rows ---- */

static void load_rows(const struct cpu_attention *call, const struct block *block, size_t padded, struct scratch *s)
{
    memset(s->q, 0, block->count * padded * sizeof(float));
    for (size_t r = 0; r < block->count; r++)
        for (size_t i = 0; i < call->size; i++)
            s->q[r * padded + i] = call->q[block->item[r] * call->size + i] * call->scale;
}

static void store_rows(const struct cpu_attention *call, const struct block *block, size_t padded,
                       const struct scratch *s)
{
    for (size_t r = 0; r < block->count; r++) {
        const float *o = s->o + r * padded;
        if (call->partial != NULL) {
            float *to = call->partial + block->item[r] * (call->value_size + 2);
            to[0] = block->most[r];
            to[1] = block->sum[r];
            memcpy(to + 2, o, call->value_size * sizeof(float));
            continue;
        }
        float *y = call->y + block->item[r] * call->value_size;
        const float inverse = block->sum[r] > 0 ? 1 / block->sum[r] : 0;
        for (size_t i = 0; i < call->value_size; i++)
            y[i] = o[i] * inverse;
    }
}

/* Sums of one tile: `count` keys from key `j` on. */
static void do_tile(const struct cpu_attention *call, struct block *block, size_t kv_head, size_t j, size_t count,
                    size_t padded_k, size_t padded_v, struct scratch *s)
{
    const size_t keys = (count + 3) / 4 * 4;
    float keep[ROWS];
    slots_of(call, block->pages, j, count, s->slot);
    /* Keys that round up to four are any; their scores do not count. */
    for (size_t l = count; l < keys; l++)
        s->slot[l] = s->slot[0];
    if (s->k_digits) {
        score_digits(&call->k, s, block->count, keys, kv_head * call->size, call->size);
    } else {
        stage(&call->k, s->slot, keys, kv_head * call->size, call->size, padded_k, s->k);
        score_tile(s, block->count, keys, padded_k, s->score);
    }
    for (size_t r = 0; r < block->count; r++) {
        size_t from = block->from[r] > j ? least(block->from[r] - j, KEYS) : 0;
        size_t to = block->to[r] > j ? least(block->to[r] - j, count) : 0;
        size_t sinks = call->sinks > j ? least(call->sinks - j, to) : 0;
        keep[r] = 1;
        if (from < to || sinks > 0)
            keep[r] = weigh(call, block, r, sinks, from, to, s->score[r]);
        else
            memset(s->score[r], 0, sizeof(s->score[r]));
    }
    if (s->v_digits) {
        add_digits(&call->v, s, block->count, count, kv_head * call->value_size, call->value_size, padded_v, keep);
    } else {
        stage(&call->v, s->slot, count, kv_head * call->value_size, call->value_size, padded_v, s->v);
        add_tile(s, block->count, count, padded_v, keep);
    }
}

/* Elements of a staged row: whole vectors. */
static size_t padded_of(size_t size)
{
    return (size + VN - 1) / VN * VN;
}

/* Sinks that reach into the keys of a window are part of them. */
static void join_sinks(const struct cpu_attention *call, struct block *block)
{
    if (call->sinks >= block->first)
        block->first = 0;
    block->sinks = least(call->sinks, block->first);
}

static void do_block(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s)
{
    const size_t padded_k = padded_of(call->size), padded_v = padded_of(call->value_size);
    join_sinks(call, block);
    const size_t longest = padded_k > padded_v ? padded_k : padded_v, step = least(KEYS, TILE / longest / 4 * 4);
    /* Tiles of the sinks, then of the window; each part has whole ones. */
    const size_t sunk = (block->sinks + step - 1) / step;
    size_t begin = 0, end = sunk + (block->end - block->first + step - 1) / step;
    if (call->parts > 1) {
        const size_t tiles = end;
        begin = tiles * call->part / call->parts;
        end = tiles * (call->part + 1) / call->parts;
    }
    s->k_digits = call->rounding == ACCEL_Q8_0 && has_digits(&call->k);
    s->v_digits = call->rounding == ACCEL_Q8_0 && has_digits(&call->v);
    load_rows(call, block, padded_k, s);
    if (s->k_digits)
        round_rows(s, block->count, call->size, padded_k, &call->k);
    memset(s->o, 0, block->count * padded_v * sizeof(float));
    /* Staged rows end in zeros, which no conversion overwrites. */
    memset(s->k, 0, step * padded_k * sizeof(float));
    memset(s->v, 0, step * padded_v * sizeof(float));
    for (size_t t = begin; t < end; t++) {
        const size_t j = t < sunk ? t * step : block->first + (t - sunk) * step;
        const size_t last = t < sunk ? block->sinks : block->end;
        do_tile(call, block, kv_head, j, least(step, last - j), padded_k, padded_v, s);
    }
    store_rows(call, block, padded_v, s);
}

/* ---- items ---- */

/* Adds the items of a token that are in begin .. end and read `kv_head`. */
static void add_token(const struct cpu_attention *call, size_t token, size_t kv_head, size_t begin, size_t end,
                      struct block *block)
{
    const size_t group = call->heads / call->kv_heads;
    const struct view view = view_of(call, token);
    for (size_t g = 0; g < group; g++) {
        const size_t item = token * call->heads + kv_head * group + g, r = block->count;
        if (item < begin || item >= end)
            continue;
        if (r == 0)
            *block = (struct block){.pages = view.pages, .first = view.first, .end = view.end};
        block->first = view.first < block->first ? view.first : block->first;
        block->end = view.end > block->end ? view.end : block->end;
        block->item[r] = item;
        block->from[r] = view.first;
        block->to[r] = view.end;
        block->most[r] = -INFINITY;
        block->sum[r] = 0;
        block->count = r + 1;
    }
}

/* Tokens of a block: those of one sequence, as many as rows allow. */
static size_t tokens_of(const struct cpu_attention *call, size_t token, size_t last)
{
    const size_t group = call->heads / call->kv_heads;
    const size_t longest = padded_of(call->size > call->value_size ? call->size : call->value_size);
    const size_t rows = least(ROWS, TILE / longest), most = rows / group == 0 ? 1 : rows / group;
    const int32_t *pages = view_of(call, token).pages;
    size_t count = 1;
    while (count < most && token + count < last && view_of(call, token + count).pages == pages)
        count++;
    return count;
}

/* Heads of one group past the rows of a block are done in blocks of their own. */
static void do_tokens(const struct cpu_attention *call, size_t token, size_t tokens, size_t begin, size_t end,
                      struct scratch *s)
{
    const size_t group = call->heads / call->kv_heads;
    const size_t longest = padded_of(call->size > call->value_size ? call->size : call->value_size);
    const size_t rows = least(ROWS, TILE / longest);
    for (size_t h = 0; h < call->kv_heads; h++) {
        struct block block = {0};
        if (tokens * group <= rows) {
            for (size_t t = 0; t < tokens; t++)
                add_token(call, token + t, h, begin, end, &block);
            if (block.count != 0)
                do_block(call, &block, h, s);
            continue;
        }
        for (size_t g = 0; g < group; g += rows) {
            const size_t low = token * call->heads + h * group + g, high = low + least(rows, group - g);
            block.count = 0;
            add_token(call, token, h, begin > low ? begin : low, end < high ? end : high, &block);
            if (block.count != 0)
                do_block(call, &block, h, s);
        }
    }
}

void CPU_NAME(attention)(const struct cpu_attention *call, size_t begin, size_t end)
{
    struct scratch scratch;
    size_t tokens;
    if (begin >= end)
        return;
    const size_t last = (end - 1) / call->heads + 1;
    for (size_t token = begin / call->heads; token < last; token += tokens) {
        tokens = tokens_of(call, token, last);
        do_tokens(call, token, tokens, begin, end, &scratch);
    }
}
