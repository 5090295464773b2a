/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector attention, tile by tile (flash attention).
 * Layout: caches slot by slot through the page table. Tile: up to ROWS query rows that share a KV head, and up to KEYS
 * keys, which are converted to floats once for all rows (staged), or multiplied as 4-bit codes. The softmax state
 * (largest score and sum of each row) persists across tiles. Scratch is struct scratch, at most 90 KiB on the
 * stack for any sequence length. Bound: bytes of the caches for one token, operations (2 multiply-adds per element and
 * row) for many.
 */
#include "attention_q4.h"
#include "attention_staged.h"

#include "plugins/cpu/kernels/view.h"

/* A block of query rows that share a KV head, and the softmax state of each. */
struct block {
    const int32_t *pages;
    size_t slot; /* of the first key of a tensor */
    size_t sequence;
    size_t count;
    size_t first, end; /* keys that are visible to any row, from the begin of a tile on */
    size_t reached;    /* first visible key behind the sinks: those before it may have no page any more */
    size_t sinks;      /* keys before `first` that are visible to every row */
    size_t item[ROWS];
    size_t from[ROWS]; /* keys that are visible to a row */
    size_t to[ROWS];
    size_t at[ROWS];            /* place of a row */
    const uint32_t *mask[ROWS]; /* or NULL */
    uint32_t visible[ROWS];     /* keys of the tile that are visible to a row, as bits */
    float most[ROWS];
    float sum[ROWS];
};

/* Finds the slots of keys first .. first + count. */
static void slots_of(const struct cpu_attention *call, const struct block *block, size_t first, size_t count,
                     size_t *out)
{
    size_t page = first / call->page, within = first % call->page;
    for (size_t j = 0; j < count; j++) {
        out[j] = block->slot + (size_t)block->pages[page] * call->page + within;
        if (++within == call->page) {
            within = 0;
            page++;
        }
    }
}

/* ---- softmax ---- */

/* Returns bits from .. to of a tile. */
static uint32_t bits_of(size_t from, size_t to)
{
    const uint32_t below = from < KEYS ? (1u << from) - 1 : ~0u;
    return (to < KEYS ? (1u << to) - 1 : ~0u) & ~below;
}

/* Returns the keys of a tile of `count` keys from key `j` on that are visible to a row, as bits. */
static uint32_t find_visible(const struct cpu_attention *call, const struct block *block, size_t r, size_t j,
                             size_t count)
{
    const size_t from = block->from[r] > j ? least(block->from[r] - j, KEYS) : 0;
    const size_t to = block->to[r] > j ? least(block->to[r] - j, count) : 0;
    uint32_t visible = bits_of(from, to) | bits_of(0, call->sinks > j ? least(call->sinks - j, to) : 0);
    for (size_t l = 0, next; block->mask[r] != NULL && l < to; l = next) {
        const size_t at = (j + l) / call->block;
        next = least(to, (at + 1) * call->block - j);
        if ((block->mask[r][at / 32] >> at % 32 & 1) == 0)
            visible &= ~bits_of(l, next);
    }
    return visible;
}

/* Applies the softcap and biases to the scores of one row, of keys from `first` on, and sets masked ones to -infinity.
 */
static void mask_scores(const struct cpu_attention *call, const struct block *block, size_t r, size_t first,
                        float *score)
{
    const uint32_t visible = block->visible[r];
    for (size_t j = 0; call->softcap != 0 && j < KEYS; j += VN)
        v_store(score + j, call->softcap * v_tanh(v_load(score + j) / call->softcap));
    if (call->slope != NULL || call->bias != NULL || call->relative != NULL)
        cpu_add_biases(call, block->sequence, block->item[r] % call->heads, block->at[r], first, KEYS, score);
    for (size_t j = 0; visible != ~0u && j < KEYS; j++)
        if ((visible >> j & 1) == 0)
            score[j] = -INFINITY;
}

/* Turns the scores of one row into weights, of -infinity into 0; returns the factor that rescales its earlier sums. */
static float softmax_row(const struct cpu_attention *call, struct block *block, size_t r, size_t first, float *score)
{
    vf most = v_set(-INFINITY), sums = {0};
    mask_scores(call, block, r, first, score);
    for (size_t j = 0; j < KEYS; j += VN)
        most = v_max(most, v_load(score + j));
    const float here = v_most(most), before = block->most[r], next = here > before ? here : before;
    const float base = next == -INFINITY ? 0 : next;
    for (size_t j = 0; j < KEYS; j += VN) {
        vf weight = v_exp(v_load(score + j) - base);
        v_store(score + j, weight);
        sums += weight;
    }
    const float rescale = before == next ? 1 : expf(before - next);
    block->sum[r] = block->sum[r] * rescale + v_sum(sums);
    block->most[r] = next;
    return rescale;
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
        if (call->stats != NULL) {
            call->stats[2 * block->item[r]] = block->most[r];
            call->stats[2 * block->item[r] + 1] = block->sum[r];
        }
        const float inverse = block->sum[r] > 0 ? 1 / block->sum[r] : 0;
        for (size_t i = 0; i < call->value_size; i++)
            y[i] = o[i] * inverse;
    }
}

/* Tiles of a block: those of the sinks, then of the window; each part has whole tiles. */
struct tiles {
    size_t padded_k, padded_v; /* elements of a staged row */
    size_t step;               /* keys of a tile */
    size_t sunk;               /* tiles of the sinks */
    size_t begin, end;         /* range of the part */
};

/* Returns the elements of a staged row: whole vectors. */
static size_t padded_of(size_t size)
{
    return (size + VN - 1) / VN * VN;
}

/* A tile begins at a multiple of its keys, so that the sums of a row do not depend on the other rows of its block. */
static struct tiles tiles_of(const struct cpu_attention *call, struct block *block)
{
    struct tiles t = {.padded_k = padded_of(call->size), .padded_v = padded_of(call->value_size)};
    t.step = least(KEYS, TILE / (t.padded_k > t.padded_v ? t.padded_k : t.padded_v) / 4 * 4);
    block->reached = block->first;
    block->first -= block->first % t.step;
    if (call->sinks >= block->first) /* sinks that overlap the window are part of it */
        block->first = 0;
    block->sinks = least(call->sinks, block->first);
    t.sunk = (block->sinks + t.step - 1) / t.step;
    t.end = t.sunk + (block->end - block->first + t.step - 1) / t.step;
    if (call->parts > 1) {
        const size_t tiles = t.end;
        t.begin = tiles * call->part / call->parts;
        t.end = tiles * (call->part + 1) / call->parts;
    }
    return t;
}

/* Computes the scores of tile `t`. Returns the number of its keys, 0 if all are masked, and its first key in out_first.
 */
static size_t score_keys(const struct cpu_attention *call, struct block *block, const struct tiles *tiles, size_t t,
                         size_t kv_head, size_t *out_first, struct scratch *s)
{
    const size_t j = t < tiles->sunk ? t * tiles->step : block->first + (t - tiles->sunk) * tiles->step;
    const size_t count = least(tiles->step, (t < tiles->sunk ? block->sinks : block->end) - j);
    const size_t keys = (count + 3) / 4 * 4;
    uint32_t visible = 0;
    *out_first = j;
    for (size_t r = 0; r < block->count; r++)
        visible |= block->visible[r] = find_visible(call, block, r, j, count);
    if (visible == 0)
        return 0;
    slots_of(call, block, j, count, s->slot);
    /* Keys between the sinks and the first visible one are masked, and another key is read in their place. */
    for (size_t l = call->sinks > j ? call->sinks - j : 0; t >= tiles->sunk && l < count && j + l < block->reached; l++)
        s->slot[l] = s->slot[block->reached - j < count ? block->reached - j : 0];
    /* Keys that pad to a multiple of four are arbitrary; their scores are unused. */
    for (size_t l = count; l < keys; l++)
        s->slot[l] = s->slot[0];
    if (s->k_codes) {
        score_codes(&call->k, s, block->count, keys, kv_head * call->size, call->size);
    } else {
        stage(&call->k, s->slot, keys, kv_head * call->size, call->size, tiles->padded_k, s->k);
        score_tile(s, block->count, keys, tiles->padded_k, s->score);
    }
    return count;
}

/* Accumulates one tile. */
static void do_tile(const struct cpu_attention *call, struct block *block, const struct tiles *tiles, size_t t,
                    size_t kv_head, struct scratch *s)
{
    const size_t at = kv_head * call->value_size, size = call->value_size;
    float rescale[ROWS];
    size_t first;
    const size_t count = score_keys(call, block, tiles, t, kv_head, &first, s);
    if (count == 0)
        return;
    for (size_t r = 0; r < block->count; r++)
        rescale[r] = softmax_row(call, block, r, first, s->score[r]);
    if (s->v_codes) {
        add_codes(&call->v, s, block->count, count, at, size, tiles->padded_v, rescale);
    } else {
        stage(&call->v, s->slot, count, at, size, tiles->padded_v, s->v);
        add_tile(s, block->count, count, tiles->padded_v, rescale);
    }
}

/* Prepares the queries of a block for its tiles. */
static struct tiles begin_block(const struct cpu_attention *call, struct block *block, struct scratch *s)
{
    const struct tiles tiles = tiles_of(call, block);
    s->k_codes = call->rounding == ACCEL_Q8_0 && is_q4_cache(&call->k);
    s->v_codes = call->rounding == ACCEL_Q8_0 && is_q4_cache(&call->v);
    load_rows(call, block, tiles.padded_k, s);
    if (s->k_codes)
        round_rows(s, block->count, call->size, tiles.padded_k, &call->k);
    /* Padding of staged rows stays zero, no conversion overwrites it. */
    if (tiles.padded_k > call->size)
        memset(s->k, 0, tiles.step * tiles.padded_k * sizeof(float));
    return tiles;
}

static void do_block(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s)
{
    const struct tiles tiles = begin_block(call, block, s);
    memset(s->o, 0, block->count * tiles.padded_v * sizeof(float));
    if (tiles.padded_v > call->value_size)
        memset(s->v, 0, tiles.step * tiles.padded_v * sizeof(float));
    for (size_t t = tiles.begin; t < tiles.end; t++)
        do_tile(call, block, &tiles, t, kv_head, s);
    store_rows(call, block, tiles.padded_v, s);
}

/* Recomputes the scores and sums the attention weights over the rows. */
static void sum_scores(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s)
{
    const struct tiles tiles = begin_block(call, block, s);
    float *score_sums = call->score_sums + block->sequence * call->pages * call->page;
    for (size_t t = tiles.begin; t < tiles.end; t++) {
        _Alignas(64) float sums[KEYS] = {0};
        size_t first;
        const size_t count = score_keys(call, block, &tiles, t, kv_head, &first, s);
        for (size_t r = 0; count != 0 && r < block->count; r++) {
            if (block->visible[r] == 0)
                continue;
            const float most = call->stats[2 * block->item[r]], inverse = 1 / call->stats[2 * block->item[r] + 1];
            mask_scores(call, block, r, first, s->score[r]);
            for (size_t j = 0; j < KEYS; j += VN)
                v_store(sums + j, v_load(sums + j) + v_exp(v_load(s->score[r] + j) - most) * inverse);
        }
        for (size_t j = 0; j < count; j++)
            score_sums[first + j] += sums[j];
    }
}

/* ---- items ---- */

/* Adds the items of a token in begin .. end that read `kv_head` to a block. */
static void add_token(const struct cpu_attention *call, size_t token, size_t kv_head, size_t begin, size_t end,
                      struct block *block)
{
    const size_t group = call->heads / call->kv_heads;
    const struct cpu_view view = cpu_view_of(call, token);
    for (size_t g = 0; g < group; g++) {
        const size_t item = token * call->heads + kv_head * group + g, r = block->count;
        if (item < begin || item >= end)
            continue;
        if (r == 0)
            *block = (struct block){view.pages, view.slot, view.sequence, .first = view.first, .end = view.end};
        block->first = view.first < block->first ? view.first : block->first;
        block->end = view.end > block->end ? view.end : block->end;
        block->item[r] = item;
        block->from[r] = view.first;
        block->to[r] = view.end;
        block->mask[r] = view.mask;
        block->at[r] = view.at;
        /* A learned sink is a key without a value, seen in the first part. */
        const int sunk = call->sink != NULL && call->part == 0;
        block->most[r] = sunk ? call->sink[item % call->heads] : -INFINITY;
        block->sum[r] = (float)sunk;
        block->count = r + 1;
    }
}

/* Returns the rows of a block. */
static size_t rows_of(const struct cpu_attention *call)
{
    return least(ROWS, TILE / padded_of(call->size > call->value_size ? call->size : call->value_size));
}

/* Returns the tokens of a block: those of one sequence, as many as rows allow. */
static size_t tokens_of(const struct cpu_attention *call, size_t token, size_t last)
{
    const size_t together = rows_of(call) / (call->heads / call->kv_heads), most = together == 0 ? 1 : together;
    const size_t sequence = cpu_view_of(call, token).sequence;
    size_t count = 1;
    while (count < most && token + count < last && cpu_view_of(call, token + count).sequence == sequence)
        count++;
    return count;
}

typedef void block_fn(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s);

/* Computes the items of KV heads h .. last. Heads of one group that exceed the rows of a block get their own blocks. */
static void do_tokens(const struct cpu_attention *call, size_t token, size_t tokens, size_t begin, size_t end, size_t h,
                      size_t last, block_fn *function, struct scratch *s)
{
    const size_t group = call->heads / call->kv_heads, rows = rows_of(call);
    for (; h < last; h++) {
        struct block block = {0};
        if (tokens * group <= rows) {
            for (size_t t = 0; t < tokens; t++)
                add_token(call, token + t, h, begin, end, &block);
            if (block.count != 0)
                function(call, &block, h, s);
            continue;
        }
        for (size_t g = 0; g < group; g += rows) {
            const size_t low = token * call->heads + h * group + g, high = low + least(rows, group - g);
            block.count = 0;
            add_token(call, token, h, begin > low ? begin : low, end < high ? end : high, &block);
            if (block.count != 0)
                function(call, &block, h, s);
        }
    }
}

/* Tensors are read head by head: many blocks of queries share keys that stay in the cache. */
static void do_items(const struct cpu_attention *call, size_t begin, size_t end, block_fn *function)
{
    struct scratch scratch;
    size_t tokens;
    if (begin >= end)
        return;
    const size_t last = (end - 1) / call->heads + 1, heads = call->first_key == NULL ? call->kv_heads : 1;
    for (size_t h = 0; h < call->kv_heads; h += heads) {
        for (size_t token = begin / call->heads; token < last; token += tokens) {
            tokens = tokens_of(call, token, last);
            do_tokens(call, token, tokens, begin, end, h, h + heads, function, &scratch);
        }
    }
}

void CPU_NAME(attention)(const struct cpu_attention *call, size_t begin, size_t end)
{
    do_items(call, begin, end, do_block);
}

void CPU_NAME(attention_score_sums)(const struct cpu_attention *call, size_t begin, size_t end)
{
    do_items(call, begin, end, sum_scores);
}
