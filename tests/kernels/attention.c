/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: sizes, windows, pages, several sequences, cache types. */
#include "support.h"

#include <accel/quant/half.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEYS 300u

struct shape {
    size_t heads, kv_heads, size, value_size, page;
    size_t old[2]; /* tokens already cached, per sequence */
    size_t fresh[2];
    size_t window;
    uint32_t causal, k_type, v_type;
    float softcap;
};

static size_t width(uint32_t type)
{
    return type == ACCEL_F16 ? 2 : 4;
}

static void *cache_new(uint32_t type, size_t count)
{
    void *cache = guard_new(count * width(type));
    for (size_t i = 0; i < count; i++) {
        float value = random_float();
        uint16_t half = accel_f16_from_f32(value);
        if (type == ACCEL_F16)
            memcpy((char *)cache + 2 * i, &half, 2);
        else
            memcpy((char *)cache + 4 * i, &value, 4);
    }
    return cache;
}

static double cached(const void *cache, uint32_t type, size_t at)
{
    return type == ACCEL_F16 ? accel_f16_to_f32(((const uint16_t *)cache)[at]) : ((const float *)cache)[at];
}

/* One element of y, by the operator's definition. */
static double expected(const struct cpu_attention *c, size_t s, size_t token, size_t head, size_t element)
{
    size_t place = (size_t)c->length[s] - (size_t)c->first[s + 1] + token, kv = head / (c->heads / c->kv_heads);
    double score[MOST_KEYS], most = -INFINITY, sum = 0, value = 0;
    for (size_t j = 0; j < (size_t)c->length[s]; j++) {
        score[j] = -INFINITY;
        if ((c->causal && j > place) || (c->window && j + c->window <= place))
            continue;
        size_t slot = (size_t)c->table[s * c->pages + j / c->page] * c->page + j % c->page;
        double dot = 0;
        for (size_t i = 0; i < c->size; i++)
            dot += c->q[(token * c->heads + head) * c->size + i] *
                   cached(c->k, c->k_type, slot * c->k_stride + kv * c->size + i);
        score[j] = dot * c->scale;
        if (c->softcap != 0)
            score[j] = c->softcap * tanh(score[j] / c->softcap);
        most = fmax(most, score[j]);
    }
    for (size_t j = 0; j < (size_t)c->length[s]; j++) {
        size_t slot = (size_t)c->table[s * c->pages + j / c->page] * c->page + j % c->page;
        double weight = exp(score[j] - most);
        sum += weight;
        value += weight * cached(c->v, c->v_type, slot * c->v_stride + kv * c->value_size + element);
    }
    return value / sum;
}

static void check(const struct cpu_attention *c)
{
    for (size_t i = 0; i < c->tokens * c->heads * c->value_size; i++) {
        size_t token = i / (c->heads * c->value_size), head = i / c->value_size % c->heads;
        size_t s = (int64_t)token < c->first[1] ? 0 : 1;
        if ((int64_t)token >= c->first[2])
            assert_true(isfinite(c->y[i])); /* a row of no sequence */
        else
            near_enough("attention", i, c->y[i], expected(c, s, token, head, i % c->value_size), 3e-6);
    }
}

static void run_shape(const struct cpu_kernels *kernels, const struct shape *shape)
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
    struct cpu_attention c = {.k_type = shape->k_type,
                              .v_type = shape->v_type,
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
                              .causal = shape->causal,
                              .scale = 2 / sqrtf((float)shape->size),
                              .softcap = shape->softcap};
    c.k_stride = shape->kv_heads * shape->size;
    c.v_stride = shape->kv_heads * shape->value_size;
    size_t q_bytes = tokens * c.heads * c.size * sizeof(float),
           y_bytes = tokens * c.heads * c.value_size * sizeof(float);
    float *q = guard_new(q_bytes);
    random_fill(q, tokens * c.heads * c.size);
    c.q = q;
    c.y = guard_new(y_bytes);
    c.k = cache_new(c.k_type, slots * c.k_stride);
    c.v = cache_new(c.v_type, slots * c.v_stride);
    size_t cut = random_below((uint32_t)(tokens * c.heads));
    kernels->attention(&c, 0, cut);
    kernels->attention(&c, cut, tokens * c.heads);
    check(&c);
    guard_free(q, q_bytes);
    guard_free(c.y, y_bytes);
    guard_free((void *)c.k, slots * c.k_stride * width(c.k_type));
    guard_free((void *)c.v, slots * c.v_stride * width(c.v_type));
    free(table);
}

void test_attention(void **state)
{
    const struct tables *tables = *state;
    static const struct shape shapes[] = {
        {4, 2, 8, 8, 512, {0, 3}, {5, 1}, 0, 1, ACCEL_F32, ACCEL_F32, 0},
        {2, 2, 18, 18, 512, {31, 0}, {2, 33}, 0, 1, ACCEL_F32, ACCEL_F32, 0},
        {8, 1, 64, 64, 512, {100, 64}, {1, 1}, 0, 1, ACCEL_F32, ACCEL_F32, 0},
        {3, 3, 9, 9, 512, {10, 0}, {1, 4}, 0, 1, ACCEL_F32, ACCEL_F32, 0},
        {2, 1, 128, 40, 512, {40, 0}, {3, 2}, 0, 1, ACCEL_F32, ACCEL_F32, 0},
        {2, 1, 32, 32, 512, {70, 5}, {4, 9}, 3, 1, ACCEL_F32, ACCEL_F32, 0},
        {2, 1, 32, 32, 512, {70, 5}, {4, 9}, 40, 1, ACCEL_F32, ACCEL_F32, 5},
        {2, 2, 16, 16, 512, {20, 0}, {9, 7}, 0, 0, ACCEL_F32, ACCEL_F32, 0},
        {1, 1, 1, 1, 512, {0, 0}, {1, 1}, 0, 1, ACCEL_F32, ACCEL_F32, 0},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        run_shape(&tables->kernels, &shapes[i]);
}

void test_attention_pages(void **state)
{
    const struct tables *tables = *state;
    static const size_t pages[] = {1, 3, 16, 64};
    for (size_t p = 0; p < 4; p++) {
        struct shape shape = {4, 2, 24, 24, pages[p], {67, 12}, {3, 40}, 0, 1, ACCEL_F32, ACCEL_F32, 0};
        run_shape(&tables->kernels, &shape);
        shape.window = 17;
        run_shape(&tables->kernels, &shape);
    }
}

void test_attention_f16(void **state)
{
    const struct tables *tables = *state;
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16};
    for (size_t c = 0; c < 4; c++) {
        struct shape shape = {4, 2, 64, 64, 16, {67, 12}, {3, 40}, 0, 1, types[c % 2], types[c / 2], 0};
        run_shape(&tables->kernels, &shape);
        shape.size = shape.value_size = 13;
        shape.softcap = 4;
        run_shape(&tables->kernels, &shape);
    }
}
