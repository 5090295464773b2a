/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: sizes, windows, pages, several sequences, cache types. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "support.h"

#define MOST_KEYS 1300u

struct shape {
    size_t heads, kv_heads, size, value_size, page;
    size_t old[2]; /* tokens already cached, per sequence */
    size_t fresh[2];
    size_t window;
    uint32_t causal, k_type, v_type;
    float softcap;
    uint32_t rounding;
    size_t sinks;
    size_t block;         /* places that share a bit of a random mask; 0: none */
    double of_score_sums; /* how far a score sum may be off, times the tokens of its sequence; 0: not asked for */
};

/* What a cache stands for, by the reference decoder. */
struct truth {
    float *values; /* [slots, row] */
    size_t row;
    float *exact; /* [slots, row], before they were encoded */
};

static struct cpu_cache cache_new(uint32_t type, size_t slots, size_t row, struct truth *out_truth)
{
    struct cpu_cache cache = {.type = type, .row = row, .stride = cpu_cache_stride(type, row)};
    float *values = malloc(slots * row * sizeof(float)), *exact = malloc(slots * row * sizeof(float));
    assert_non_null(values);
    assert_non_null(exact);
    cache.data = guard_new(slots * cache.stride);
    for (size_t slot = 0; slot < slots; slot++) {
        char *to = (char *)(uintptr_t)cache.data + slot * cache.stride;
        void *planes[4] = {to, (void *)(uintptr_t)cpu_cache_scales(&cache, slot, 0)};
        const void *read[4] = {planes[0], planes[1]};
        for (size_t i = 0; i < row; i++)
            exact[slot * row + i] = values[slot * row + i] = random_float();
        assert_int_equal(accel_format_encode(type, values + slot * row, row, planes), ACCEL_OK);
        assert_int_equal(accel_format_decode(type, read, row, values + slot * row), ACCEL_OK);
    }
    *out_truth = (struct truth){values, row, exact};
    return cache;
}

static void cache_free(const struct cpu_cache *cache, size_t slots, struct truth *truth)
{
    guard_free((void *)(uintptr_t)cache->data, slots * cache->stride);
    free(truth->values);
    free(truth->exact);
}

/* A row of y for one head, by the operator's definition. */
struct row {
    const struct truth *k, *v;
    size_t slot[MOST_KEYS];
    size_t place[MOST_KEYS];
    double weight[MOST_KEYS]; /* of the keys, with the sum 1 */
    size_t keys;
    double step; /* an element of q, rounded to 8 bits, changes a score by less than this times the key's element */
};

static int is_masked(const struct cpu_attention *c, size_t s, size_t place, size_t key)
{
    const size_t words = (c->blocks + 31) / 32;
    return c->mask != NULL &&
           (c->mask[(s * c->blocks + place / c->block) * words + key / c->block / 32] >> (key / c->block % 32) & 1) ==
               0;
}

static void row_weigh(const struct cpu_attention *c, size_t s, size_t token, size_t head, struct row *row)
{
    const size_t place = (size_t)c->length[s] - (size_t)c->first[s + 1] + token, kv = head / (c->heads / c->kv_heads);
    const float *q = c->q + (token * c->heads + head) * c->size;
    double most = -INFINITY, sum = 0, largest = 0;
    row->keys = 0;
    for (size_t j = 0; j < (size_t)c->length[s]; j++) {
        if ((c->causal && j > place) || (c->window && j + c->window <= place && j >= c->sinks) ||
            is_masked(c, s, place, j))
            continue;
        const size_t slot = (size_t)c->table[s * c->pages + j / c->page] * c->page + j % c->page;
        double dot = 0;
        for (size_t i = 0; i < c->size; i++)
            dot += q[i] * row->k->values[slot * row->k->row + kv * c->size + i];
        dot *= c->scale;
        row->slot[row->keys] = slot;
        row->place[row->keys] = j;
        row->weight[row->keys++] = c->softcap != 0 ? c->softcap * tanh(dot / c->softcap) : dot;
        most = fmax(most, row->weight[row->keys - 1]);
    }
    for (size_t j = 0; j < row->keys; j++)
        sum += row->weight[j] = exp(row->weight[j] - most);
    for (size_t j = 0; j < row->keys; j++)
        row->weight[j] /= sum;
    for (size_t i = 0; i < c->size; i++)
        largest = fmax(largest, fabs(q[i]));
    row->step = c->scale * largest / 254;
}

static double row_value(const struct row *row, size_t column)
{
    double value = 0;
    for (size_t j = 0; j < row->keys; j++)
        value += row->weight[j] * row->v->values[row->slot[j] * row->v->row + column];
    return value;
}

/*
 * How far rounding may move one element y of a row. Each element of q moves by at most a 254th of the largest, evenly
 * spread and each for itself, and y by the sum of weight * (value - y) * (change of the score) over the keys: six
 * standard deviations of it. What comes on top is the second order, where no value is further than 2 from y, and the
 * weights in 14 bits.
 */
static double row_rounding(const struct row *row, size_t key_column, size_t size, size_t column, double y)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < size; i++) {
        double slope = 0;
        for (size_t j = 0; j < row->keys; j++) {
            const double key = row->k->values[row->slot[j] * row->k->row + key_column + i];
            slope += row->weight[j] * (row->v->values[row->slot[j] * row->v->row + column] - y) * key;
            second += row->weight[j] * key * key;
        }
        first += slope * slope;
    }
    return 6 * row->step * sqrt(first / 3) + 2 * row->step * row->step * second / 3 + 1e-3;
}

static void check_row(const struct cpu_attention *c, struct row *row, size_t token, size_t head)
{
    const size_t s = (int64_t)token < c->first[1] ? 0 : 1, kv = head / (c->heads / c->kv_heads);
    const size_t at = (token * c->heads + head) * c->value_size;
    row_weigh(c, s, token, head, row);
    for (size_t i = 0; i < c->value_size; i++) {
        const size_t column = kv * c->value_size + i;
        const double y = row_value(row, column);
        const double limit = c->rounding == ACCEL_Q8_0 ? row_rounding(row, kv * c->size, c->size, column, y) : 3e-6;
        near_enough("attention", at + i, c->y[at + i], y, limit);
    }
}

static void check(const struct cpu_attention *c, const struct truth *k, const struct truth *v)
{
    struct row row = {.k = k, .v = v};
    for (size_t i = 0; i < c->tokens * c->heads; i++) {
        if ((int64_t)(i / c->heads) < c->first[2]) {
            check_row(c, &row, i / c->heads, i % c->heads);
            continue;
        }
        for (size_t e = 0; e < c->value_size; e++) /* a row of no sequence */
            assert_true(isfinite(c->y[i * c->value_size + e]));
    }
}

/* How far y lies at most from what the keys and values would give that nobody rounded. */
static double error_of(const struct cpu_attention *c, const struct truth *k, const struct truth *v)
{
    const struct truth exact_k = {k->exact, k->row, NULL}, exact_v = {v->exact, v->row, NULL};
    struct row row = {.k = &exact_k, .v = &exact_v};
    double most = 0;
    for (size_t i = 0; i < (size_t)c->first[2] * c->heads; i++) {
        const size_t token = i / c->heads, head = i % c->heads, kv = head / (c->heads / c->kv_heads);
        row_weigh(c, (int64_t)token < c->first[1] ? 0 : 1, token, head, &row);
        for (size_t e = 0; e < c->value_size; e++)
            most = fmax(most, fabs(c->y[i * c->value_size + e] - row_value(&row, kv * c->value_size + e)));
    }
    return most;
}

/* The score sum of every place against the eager form, that is as far off as `limit` says. */
static void check_score_sums(const struct cpu_attention *c, const struct truth *k, double limit)
{
    const size_t places = c->pages * c->page;
    double *score_sums = calloc(2 * places, sizeof(double));
    struct row row = {.k = k};
    assert_non_null(score_sums);
    for (size_t i = 0; i < (size_t)c->first[2] * c->heads; i++) {
        const size_t token = i / c->heads, s = (int64_t)token < c->first[1] ? 0 : 1;
        row_weigh(c, s, token, i % c->heads, &row);
        for (size_t j = 0; j < row.keys; j++)
            score_sums[s * places + row.place[j]] += row.weight[j];
    }
    for (size_t i = 0; i < 2 * places; i++)
        near_enough("score sums", i, c->score_sums[i], score_sums[i],
                    limit * (double)(c->first[i / places + 1] - c->first[i / places]));
    free(score_sums);
}

/* Items cut in two, then, by parts, keys. */
static void run_score_sums(const struct cpu_kernels *kernels, struct cpu_attention *c, const struct truth *k,
                           double limit)
{
    const size_t items = c->tokens * c->heads, bytes = 2 * c->pages * c->page * sizeof(float);
    const size_t cut = random_below((uint32_t)items);
    if (limit == 0)
        return;
    c->score_sums = guard_new(bytes);
    memset(c->score_sums, 0, bytes);
    kernels->attention_score_sums(c, 0, cut);
    kernels->attention_score_sums(c, cut, items);
    check_score_sums(c, k, limit);
    memset(c->score_sums, 0, bytes);
    c->parts = 3;
    for (c->part = 0; c->part < c->parts; c->part++)
        kernels->attention_score_sums(c, 0, items);
    check_score_sums(c, k, limit);
    c->parts = c->part = 0;
    guard_free(c->score_sums, bytes);
    c->score_sums = NULL;
}

/* The keys cut into three parts, which are put together here. */
static void run_parts(const struct cpu_kernels *kernels, struct cpu_attention *c)
{
    const size_t items = c->tokens * c->heads, width = c->value_size + 2, parts = 3;
    float *partial = calloc(parts * items * width, sizeof(float));
    assert_non_null(partial);
    c->parts = parts;
    for (c->part = 0; c->part < parts; c->part++) {
        c->partial = partial + c->part * items * width;
        kernels->attention(c, 0, items);
    }
    c->parts = c->part = 0;
    c->partial = NULL;
    memset(c->y, 0xff, items * c->value_size * sizeof(float));
    if (c->stats != NULL)
        memset(c->stats, 0xff, 2 * items * sizeof(float));
    cpu_attention_merge(partial, parts, items, c->value_size, 0, items, c->y, c->stats);
    free(partial);
}

/* A random half of all blocks; a query may see none. */
static uint32_t *mask_new(struct cpu_attention *c, size_t block)
{
    uint32_t *mask;
    size_t words;
    if (block == 0)
        return NULL;
    c->block = block;
    c->blocks = (c->pages * c->page + block - 1) / block;
    words = 2 * c->blocks * ((c->blocks + 31) / 32);
    mask = malloc(words * sizeof(uint32_t));
    assert_non_null(mask);
    for (size_t i = 0; i < words; i++)
        mask[i] = random_below(UINT32_MAX);
    c->mask = mask;
    return mask;
}

/* Answers the error by the types of the caches, where that is asked for. */
static void run_shape_error(const struct cpu_kernels *kernels, const struct shape *shape, double *out_error)
{
    size_t longest = shape->old[0] + shape->fresh[0], other = shape->old[1] + shape->fresh[1];
    longest = longest > other ? longest : other;
    size_t pages = (longest + shape->page - 1) / shape->page, slots = 2 * pages * shape->page;
    size_t tokens = shape->fresh[0] + shape->fresh[1] + 1;
    int32_t first[3] = {0, (int32_t)shape->fresh[0], (int32_t)(shape->fresh[0] + shape->fresh[1])};
    int32_t length[2] = {(int32_t)(shape->old[0] + shape->fresh[0]), (int32_t)other};
    int32_t *table = malloc(2 * pages * sizeof(int32_t));
    assert_non_null(table);
    /* Pages of both sequences alternate, from the end. */
    for (size_t p = 0; p < 2 * pages; p++)
        table[p / 2 + p % 2 * pages] = (int32_t)(2 * pages - 1 - p);
    struct truth k, v;
    struct cpu_attention c = {.k = cache_new(shape->k_type, slots, shape->kv_heads * shape->size, &k),
                              .v = cache_new(shape->v_type, slots, shape->kv_heads * shape->value_size, &v),
                              .rounding = shape->rounding,
                              .tokens = tokens,
                              .heads = shape->heads,
                              .kv_heads = shape->kv_heads,
                              .size = shape->size,
                              .value_size = shape->value_size,
                              .sequences = 2,
                              .first = first,
                              .length = length,
                              .table = table,
                              .pages = pages,
                              .page = shape->page,
                              .window = shape->window,
                              .sinks = shape->sinks,
                              .causal = shape->causal,
                              .scale = 2 / sqrtf((float)shape->size),
                              .softcap = shape->softcap};
    size_t q_bytes = tokens * c.heads * c.size * sizeof(float),
           y_bytes = tokens * c.heads * c.value_size * sizeof(float);
    float *q = guard_new(q_bytes);
    random_fill(q, tokens * c.heads * c.size);
    c.q = q;
    c.y = guard_new(y_bytes);
    float *stats = shape->of_score_sums != 0 ? guard_new(tokens * c.heads * 2 * sizeof(float)) : NULL;
    c.stats = stats;
    uint32_t *mask = mask_new(&c, shape->block);
    size_t cut = random_below((uint32_t)(tokens * c.heads));
    kernels->attention(&c, 0, cut);
    kernels->attention(&c, cut, tokens * c.heads);
    check(&c, &k, &v);
    run_score_sums(kernels, &c, &k, shape->of_score_sums);
    run_parts(kernels, &c);
    check(&c, &k, &v);
    run_score_sums(kernels, &c, &k, shape->of_score_sums);
    if (stats != NULL)
        guard_free(stats, tokens * c.heads * 2 * sizeof(float));
    free(mask);
    if (out_error != NULL)
        *out_error = error_of(&c, &k, &v);
    guard_free(q, q_bytes);
    guard_free(c.y, y_bytes);
    cache_free(&c.k, slots, &k);
    cache_free(&c.v, slots, &v);
    free(table);
}

static void run_shape(const struct cpu_kernels *kernels, const struct shape *shape)
{
    run_shape_error(kernels, shape, NULL);
}

void test_attention(void **state)
{
    const struct tables *tables = *state;
    static const struct shape shapes[] = {
        {4, 2, 8, 8, 512, {0, 3}, {5, 1}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {2, 2, 18, 18, 512, {31, 0}, {2, 33}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {8, 1, 64, 64, 512, {100, 64}, {1, 1}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {3, 3, 9, 9, 512, {10, 0}, {1, 4}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {2, 1, 128, 40, 512, {40, 0}, {3, 2}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {2, 1, 32, 32, 512, {70, 5}, {4, 9}, 3, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {2, 1, 32, 32, 512, {70, 5}, {4, 9}, 40, 1, ACCEL_F32, ACCEL_F32, 5, 0, 0, 0, 0},
        {2, 2, 16, 16, 512, {20, 0}, {9, 7}, 0, 0, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
        {1, 1, 1, 1, 512, {0, 0}, {1, 1}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        run_shape(&tables->kernels, &shapes[i]);
}

void test_attention_pages(void **state)
{
    const struct tables *tables = *state;
    static const size_t pages[] = {1, 3, 16, 64};
    for (size_t p = 0; p < 4; p++) {
        struct shape shape = {4, 2, 24, 24, pages[p], {67, 12}, {3, 40}, 0, 1, ACCEL_F32, ACCEL_F32, 0, 0, 0, 0, 0};
        run_shape(&tables->kernels, &shape);
        shape.window = 17;
        run_shape(&tables->kernels, &shape);
    }
}

/* Sinks that lie before the window, reach into it, or into the tokens of this step. */
void test_attention_sinks(void **state)
{
    const struct tables *tables = *state;
    static const size_t sinks[] = {1, 4, 33, 60, 200};
    for (size_t i = 0; i < 15; i++) {
        const uint32_t type = i % 2 == 0 ? ACCEL_F32 : ACCEL_PLANAR(4u, 6u, 0u);
        struct shape shape = {4, 2,    64,   64, 16, {167, 12},    {3, 40}, i < 5 ? 17 : i < 10 ? 40 : 1,
                              1, type, type, 0,  0,  sinks[i % 5], 0,       0};
        run_shape(&tables->kernels, &shape);
        shape.rounding = ACCEL_Q8_0;
        shape.fresh[1] = 1;
        run_shape(&tables->kernels, &shape);
    }
}

/* A long cache, whole and by a window with sinks, in every type: near the eager form over what is cached, and no
 * further than its type allows from the one over what was not rounded. Keys and values lie between -1 and 1. */
void test_attention_eager(void **state)
{
    const struct tables *tables = *state;
    static const struct {
        const char *name;
        uint32_t type, rounding;
        double most;
    } rows[] = {
        {"f32", ACCEL_F32, 0, 1e-3},
        {"f16", ACCEL_F16, 0, 1e-3},
        {"q8", ACCEL_PLANAR(8u, 6u, 0u), 0, 3e-3},
        {"q4", ACCEL_PLANAR(4u, 6u, 0u), 0, 6e-2},
        {"q4, in 8 bits", ACCEL_PLANAR(4u, 6u, 0u), ACCEL_Q8_0, 6e-2},
    };
    random_start(42);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct shape shape = {
            4, 2, 64, 64, 64, {1190, 700}, {1, 2}, 0, 1, rows[i].type, rows[i].type, 0, rows[i].rounding, 0, 0, 0};
        double whole, window;
        run_shape_error(&tables->kernels, &shape, &whole);
        shape.window = 300;
        shape.sinks = 4;
        run_shape_error(&tables->kernels, &shape, &window);
        printf("keys and values in %s: error %.2g, in a window with sinks %.2g\n", rows[i].name, whole, window);
        assert_true(whole <= rows[i].most && window <= rows[i].most);
    }
}

/* What places are attended to with, at every kind of call; of caches whose scores nobody rounds as near as floats are.
 */
void test_attention_score_sums(void **state)
{
    const struct tables *tables = *state;
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16, ACCEL_PLANAR(8u, 6u, 0u), ACCEL_PLANAR(4u, 6u, 0u)};
    static const struct shape shapes[] = {
        {.heads = 4, .kv_heads = 2, .size = 64, .page = 16, .old = {167, 12}, .fresh = {3, 40}, .causal = 1},
        {.heads = 4, .kv_heads = 4, .size = 64, .page = 1, .old = {1000, 0}, .fresh = {1, 1}, .causal = 1},
        {.heads = 17, .kv_heads = 1, .size = 64, .page = 5, .old = {67, 2}, .fresh = {2, 9}, .softcap = 3},
        {.heads = 2,
         .kv_heads = 1,
         .size = 128,
         .page = 64,
         .old = {90, 5},
         .fresh = {4, 9},
         .causal = 1,
         .window = 30,
         .sinks = 4},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (size_t t = 0; t < 5; t++) {
            struct shape shape = shapes[i];
            shape.value_size = shape.size;
            shape.rounding = t == 3 ? ACCEL_Q8_0 : 0;
            shape.k_type = shape.v_type = t == 4 ? types[3] : types[t];
            shape.of_score_sums = t == 3 ? 2e-2 : 1e-5;
            run_shape(&tables->kernels, &shape);
            shape.block = 7;
            run_shape(&tables->kernels, &shape);
        }
    }
}

/* Blocks of less than a page, of several tiles, and of all keys. */
void test_attention_blocks(void **state)
{
    const struct tables *tables = *state;
    static const size_t blocks[] = {1, 8, 33, 64, 5000};
    for (size_t i = 0; i < 20; i++) {
        struct shape shape = {.heads = 6, .kv_heads = 2, .size = 64, .value_size = 64, .page = 16};
        shape.old[0] = 267, shape.old[1] = 12, shape.fresh[0] = 3, shape.fresh[1] = 40;
        shape.block = blocks[i % 5];
        shape.causal = i < 10;
        shape.window = i < 5 ? 40 : 0;
        shape.sinks = i < 5 ? 3 : 0;
        shape.rounding = i < 15 ? 0 : ACCEL_Q8_0;
        shape.k_type = shape.v_type = i < 10 ? ACCEL_F16 : ACCEL_PLANAR(4u, 6u, 0u);
        run_shape(&tables->kernels, &shape);
    }
}

void test_attention_f16(void **state)
{
    const struct tables *tables = *state;
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16};
    for (size_t c = 0; c < 4; c++) {
        struct shape shape = {4, 2, 64, 64, 16, {67, 12}, {3, 40}, 0, 1, types[c % 2], types[c / 2], 0, 0, 0, 0, 0};
        run_shape(&tables->kernels, &shape);
        shape.size = shape.value_size = 13;
        shape.softcap = 4;
        run_shape(&tables->kernels, &shape);
    }
}

void test_attention_planar(void **state)
{
    const struct tables *tables = *state;
    static const uint32_t types[] = {ACCEL_F16, ACCEL_PLANAR(8u, 6u, 0u), ACCEL_PLANAR(4u, 6u, 0u)};
    for (size_t c = 0; c < 18; c++) {
        struct shape shape = {6, 2, 64, 64, 16, {67, 12}, {3, 4}, 0, 1, types[c % 3], types[c / 3 % 3], 0, 0, 0, 0, 0};
        shape.rounding = c < 9 ? 0 : ACCEL_Q8_0;
        run_shape(&tables->kernels, &shape);
        shape.window = 33;
        shape.size = shape.value_size = 128;
        run_shape(&tables->kernels, &shape);
    }
}

void test_attention_groups(void **state)
{
    const struct tables *tables = *state;
    for (uint32_t c = 0; c < 6; c++) {
        const uint32_t type = ACCEL_PLANAR(4u, 5u + c % 3, 0u);
        struct shape shape = {17, 1, 128, 128, 16, {70, 1}, {2, 5}, 0, 1, type, type, 0, c < 3 ? 0 : ACCEL_Q8_0,
                              0,  0, 0};
        run_shape(&tables->kernels, &shape);
    }
}
