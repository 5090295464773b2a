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
#include "attention_staged.h"

#include "plugins/cpu/kernels/view.h"

/* A block of query rows that share a head of keys, and what is carried for each. */
struct block {
    const int32_t *pages;
    size_t sequence;
    size_t count;
    size_t first, end; /* keys that any row sees */
    size_t sinks;      /* keys before `first` that every row sees */
    size_t item[ROWS];
    size_t from[ROWS]; /* keys that a row sees */
    size_t to[ROWS];
    const uint32_t *mask[ROWS]; /* or NULL */
    uint32_t seen[ROWS];        /* keys of the tile that a row sees, as bits */
    float most[ROWS];
    float sum[ROWS];
};

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

/* ---- softmax ---- */

/* Bits from .. to of a tile. */
static uint32_t bits_of(size_t from, size_t to)
{
    const uint32_t below = from < KEYS ? (1u << from) - 1 : ~0u;
    return (to < KEYS ? (1u << to) - 1 : ~0u) & ~below;
}

/* What a row sees of a tile of `count` keys from key `j` on, as bits. */
static uint32_t see(const struct cpu_attention *call, const struct block *block, size_t r, size_t j, size_t count)
{
    const size_t from = block->from[r] > j ? least(block->from[r] - j, KEYS) : 0;
    const size_t to = block->to[r] > j ? least(block->to[r] - j, count) : 0;
    uint32_t seen = bits_of(from, to) | bits_of(0, call->sinks > j ? least(call->sinks - j, to) : 0);
    for (size_t l = 0, next; block->mask[r] != NULL && l < to; l = next) {
        const size_t at = (j + l) / call->block;
        next = least(to, (at + 1) * call->block - j);
        if ((block->mask[r][at / 32] >> at % 32 & 1) == 0)
            seen &= ~bits_of(l, next);
    }
    return seen;
}

/* Caps the scores of one row, and those that it does not see are -infinity. */
static void hide(const struct cpu_attention *call, uint32_t seen, float *score)
{
    for (size_t j = 0; call->softcap != 0 && j < KEYS; j += VN)
        v_store(score + j, call->softcap * v_tanh(v_load(score + j) / call->softcap));
    for (size_t j = 0; seen != ~0u && j < KEYS; j++)
        if ((seen >> j & 1) == 0)
            score[j] = -INFINITY;
}

/* Turns the scores of one row, some of which it sees, into weights; answers what to multiply its sums with. */
static float weigh(const struct cpu_attention *call, struct block *block, size_t r, float *score)
{
    vf most = v_set(-INFINITY), sums = {0};
    hide(call, block->seen[r], score);
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
        if (call->stats != NULL) {
            call->stats[2 * block->item[r]] = block->most[r];
            call->stats[2 * block->item[r] + 1] = block->sum[r];
        }
        const float inverse = block->sum[r] > 0 ? 1 / block->sum[r] : 0;
        for (size_t i = 0; i < call->value_size; i++)
            y[i] = o[i] * inverse;
    }
}

/* What a block goes through: tiles of the sinks, then of the window; each part has whole ones. */
struct tiles {
    size_t padded_k, padded_v; /* elements of a staged row */
    size_t step;               /* keys of a tile */
    size_t sunk;               /* tiles of the sinks */
    size_t begin, end;         /* of the part */
};

/* Elements of a staged row: whole vectors. */
static size_t padded_of(size_t size)
{
    return (size + VN - 1) / VN * VN;
}

static struct tiles tiles_of(const struct cpu_attention *call, const struct block *block)
{
    struct tiles t = {.padded_k = padded_of(call->size), .padded_v = padded_of(call->value_size)};
    t.step = least(KEYS, TILE / (t.padded_k > t.padded_v ? t.padded_k : t.padded_v) / 4 * 4);
    t.sunk = (block->sinks + t.step - 1) / t.step;
    t.end = t.sunk + (block->end - block->first + t.step - 1) / t.step;
    if (call->parts > 1) {
        const size_t tiles = t.end;
        t.begin = tiles * call->part / call->parts;
        t.end = tiles * (call->part + 1) / call->parts;
    }
    return t;
}

/* The scores of tile `t`, whose first key and number of keys are answered; 0 keys where no row sees any. */
static size_t score_keys(const struct cpu_attention *call, struct block *block, const struct tiles *tiles, size_t t,
                         size_t kv_head, size_t *out_first, struct scratch *s)
{
    const size_t j = t < tiles->sunk ? t * tiles->step : block->first + (t - tiles->sunk) * tiles->step;
    const size_t count = least(tiles->step, (t < tiles->sunk ? block->sinks : block->end) - j);
    const size_t keys = (count + 3) / 4 * 4;
    uint32_t seen = 0;
    *out_first = j;
    for (size_t r = 0; r < block->count; r++)
        seen |= block->seen[r] = see(call, block, r, j, count);
    if (seen == 0)
        return 0;
    slots_of(call, block->pages, j, count, s->slot);
    /* Keys that round up to four are any; their scores do not count. */
    for (size_t l = count; l < keys; l++)
        s->slot[l] = s->slot[0];
    if (s->k_digits) {
        score_digits(&call->k, s, block->count, keys, kv_head * call->size, call->size);
    } else {
        stage(&call->k, s->slot, keys, kv_head * call->size, call->size, tiles->padded_k, s->k);
        score_tile(s, block->count, keys, tiles->padded_k, s->score);
    }
    return count;
}

/* Sums of one tile. */
static void do_tile(const struct cpu_attention *call, struct block *block, const struct tiles *tiles, size_t t,
                    size_t kv_head, struct scratch *s)
{
    const size_t at = kv_head * call->value_size, size = call->value_size;
    float keep[ROWS];
    size_t first;
    const size_t count = score_keys(call, block, tiles, t, kv_head, &first, s);
    if (count == 0)
        return;
    for (size_t r = 0; r < block->count; r++) {
        keep[r] = 1;
        if (block->seen[r] != 0)
            keep[r] = weigh(call, block, r, s->score[r]);
        else
            memset(s->score[r], 0, sizeof(s->score[r]));
    }
    if (s->v_digits) {
        add_digits(&call->v, s, block->count, count, at, size, tiles->padded_v, keep);
    } else {
        stage(&call->v, s->slot, count, at, size, tiles->padded_v, s->v);
        add_tile(s, block->count, count, tiles->padded_v, keep);
    }
}

/* Sinks that reach into the keys of a window are part of them. */
static void join_sinks(const struct cpu_attention *call, struct block *block)
{
    if (call->sinks >= block->first)
        block->first = 0;
    block->sinks = least(call->sinks, block->first);
}

/* The queries of a block, ready for its tiles. */
static struct tiles begin_block(const struct cpu_attention *call, struct block *block, struct scratch *s)
{
    join_sinks(call, block);
    const struct tiles tiles = tiles_of(call, block);
    s->k_digits = call->rounding == ACCEL_Q8_0 && has_digits(&call->k);
    s->v_digits = call->rounding == ACCEL_Q8_0 && has_digits(&call->v);
    load_rows(call, block, tiles.padded_k, s);
    if (s->k_digits)
        round_rows(s, block->count, call->size, tiles.padded_k, &call->k);
    /* Staged rows end in zeros, which no conversion overwrites. */
    memset(s->k, 0, tiles.step * tiles.padded_k * sizeof(float));
    return tiles;
}

static void do_block(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s)
{
    const struct tiles tiles = begin_block(call, block, s);
    memset(s->o, 0, block->count * tiles.padded_v * sizeof(float));
    memset(s->v, 0, tiles.step * tiles.padded_v * sizeof(float));
    for (size_t t = tiles.begin; t < tiles.end; t++)
        do_tile(call, block, &tiles, t, kv_head, s);
    store_rows(call, block, tiles.padded_v, s);
}

/* Scores once more, and what softmax made of them, summed over the rows. */
static void do_mass(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s)
{
    const struct tiles tiles = begin_block(call, block, s);
    float *mass = call->mass + block->sequence * call->pages * call->page;
    for (size_t t = tiles.begin; t < tiles.end; t++) {
        _Alignas(64) float sums[KEYS] = {0};
        size_t first;
        const size_t count = score_keys(call, block, &tiles, t, kv_head, &first, s);
        for (size_t r = 0; count != 0 && r < block->count; r++) {
            if (block->seen[r] == 0)
                continue;
            const float most = call->stats[2 * block->item[r]], inverse = 1 / call->stats[2 * block->item[r] + 1];
            hide(call, block->seen[r], s->score[r]);
            for (size_t j = 0; j < KEYS; j += VN)
                v_store(sums + j, v_load(sums + j) + v_exp(v_load(s->score[r] + j) - most) * inverse);
        }
        for (size_t j = 0; j < count; j++)
            mass[first + j] += sums[j];
    }
}

/* ---- items ---- */

/* Adds the items of a token that are in begin .. end and read `kv_head`. */
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
            *block =
                (struct block){.pages = view.pages, .sequence = view.sequence, .first = view.first, .end = view.end};
        block->first = view.first < block->first ? view.first : block->first;
        block->end = view.end > block->end ? view.end : block->end;
        block->item[r] = item;
        block->from[r] = view.first;
        block->to[r] = view.end;
        block->mask[r] = view.mask;
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
    const int32_t *pages = cpu_view_of(call, token).pages;
    size_t count = 1;
    while (count < most && token + count < last && cpu_view_of(call, token + count).pages == pages)
        count++;
    return count;
}

typedef void block_fn(const struct cpu_attention *call, struct block *block, size_t kv_head, struct scratch *s);

/* Heads of one group past the rows of a block are done in blocks of their own. */
static void do_tokens(const struct cpu_attention *call, size_t token, size_t tokens, size_t begin, size_t end,
                      block_fn *function, struct scratch *s)
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

static void do_items(const struct cpu_attention *call, size_t begin, size_t end, block_fn *function)
{
    struct scratch scratch;
    size_t tokens;
    if (begin >= end)
        return;
    const size_t last = (end - 1) / call->heads + 1;
    for (size_t token = begin / call->heads; token < last; token += tokens) {
        tokens = tokens_of(call, token, last);
        do_tokens(call, token, tokens, begin, end, function, &scratch);
    }
}

void CPU_NAME(attention)(const struct cpu_attention *call, size_t begin, size_t end)
{
    do_items(call, begin, end, do_block);
}

void CPU_NAME(attention_mass)(const struct cpu_attention *call, size_t begin, size_t end)
{
    do_items(call, begin, end, do_mass);
}
