/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention on vectors.
 * Layout: caches row by row through the page table, F32 or F16. Tile: one query head, KEYS keys: their scores in one
 * small array, softmax carried from tile to tile (largest score, sum), values added to y. Scratch is two arrays of
 * KEYS. Bound: bytes of the caches for one token, operations (2 multiply-adds per element and head) for many.
 */
#include "functions.h"

#define KEYS 32u

/* What one item sees. */
struct view {
    const int32_t *pages;
    size_t first; /* first visible key */
    size_t end;   /* one past the last */
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
static void slots_of(const struct cpu_attention *call, const struct view *view, size_t first, size_t count, size_t *out)
{
    size_t page = first / call->page, within = first % call->page;
    for (size_t j = 0; j < count; j++) {
        out[j] = (size_t)view->pages[page] * call->page + within;
        if (++within == call->page) {
            within = 0;
            page++;
        }
    }
}

/* Vector i of a cache row. */
CPU_INLINE vf load_cache(const int half, const void *cache, size_t at)
{
    return half ? v_load_f16((const uint16_t *)cache + at) : v_load((const float *)cache + at);
}

CPU_INLINE float load_one(const int half, const void *cache, size_t at)
{
    return half ? half_to_float((const uint16_t *)cache + at) : ((const float *)cache)[at];
}

/* q . k for the keys whose rows begin at at[0 .. count), count a constant. */
CPU_INLINE void dots(const int half, const float *q, const void *k, const size_t *at, const size_t count, size_t size,
                     float *out)
{
    vf sums[4] = {{0}};
    size_t i = 0;
    for (; i + VN <= size; i += VN) {
        vf x = v_load(q + i);
        CPU_UNROLL
        for (size_t j = 0; j < count; j++)
            sums[j] = v_fma(x, load_cache(half, k, at[j] + i), sums[j]);
    }
    for (size_t j = 0; j < count; j++) {
        out[j] = v_sum(sums[j]);
        for (size_t l = i; l < size; l++)
            out[j] += q[l] * load_one(half, k, at[j] + l);
    }
}

CPU_INLINE void scores(const int half, const float *q, const void *k, const size_t *at, size_t count, size_t size,
                       float *out)
{
    size_t j = 0;
    for (; j + 4 <= count; j += 4)
        dots(half, q, k, at + j, 4, size, out + j);
    for (; j < count; j++)
        dots(half, q, k, at + j, 1, size, out + j);
}

/* `vectors` (a constant) vectors of y from element i on: y * keep + sum of weight * v. */
CPU_INLINE void add_values(const int half, const size_t vectors, const void *v, const size_t *at, const float *weight,
                           size_t count, float keep, size_t i, float *y)
{
    vf sums[4];
    CPU_UNROLL
    for (size_t u = 0; u < vectors; u++)
        sums[u] = v_load(y + i + u * VN) * keep;
    for (size_t j = 0; j < count; j++) {
        CPU_UNROLL
        for (size_t u = 0; u < vectors; u++)
            sums[u] = v_fma(v_set(weight[j]), load_cache(half, v, at[j] + i + u * VN), sums[u]);
    }
    CPU_UNROLL
    for (size_t u = 0; u < vectors; u++)
        v_store(y + i + u * VN, sums[u]);
}

CPU_INLINE void values(const int half, const void *v, const size_t *at, const float *weight, size_t count, size_t size,
                       float keep, float *y)
{
    size_t i = 0;
    for (; i + 4 * VN <= size; i += 4 * VN)
        add_values(half, 4, v, at, weight, count, keep, i, y);
    for (; i + VN <= size; i += VN)
        add_values(half, 1, v, at, weight, count, keep, i, y);
    for (; i < size; i++) {
        float sum = y[i] * keep;
        for (size_t j = 0; j < count; j++)
            sum += weight[j] * load_one(half, v, at[j] + i);
        y[i] = sum;
    }
}

/* Scales and caps the scores of a tile, pads it, and gives its largest. */
CPU_INLINE float prepare(const struct cpu_attention *call, float *score, size_t count)
{
    vf most = v_set(-INFINITY);
    for (size_t j = count; j < KEYS; j++)
        score[j] = -INFINITY;
    for (size_t j = 0; j < KEYS; j += VN) {
        vf s = v_load(score + j) * call->scale;
        if (call->softcap != 0)
            s = call->softcap * v_tanh(s / call->softcap);
        v_store(score + j, s);
        /* The cap turns the padding finite. */
        for (size_t l = count > j ? count - j : 0; l < VN; l++)
            score[j + l] = -INFINITY;
        most = v_max(most, v_load(score + j));
    }
    return v_most(most);
}

CPU_INLINE void one_item(const struct cpu_attention *call, const int half_k, const int half_v, size_t token,
                         size_t head)
{
    struct view view = view_of(call, token);
    size_t kv_head = head / (call->heads / call->kv_heads);
    const float *q = call->q + (token * call->heads + head) * call->size;
    float *y = call->y + (token * call->heads + head) * call->value_size;
    float most = -INFINITY, sum = 0;
    memset(y, 0, call->value_size * sizeof(float));
    for (size_t j = view.first; j < view.end; j += KEYS) {
        size_t slot[KEYS], at[KEYS], count = least(KEYS, view.end - j);
        float score[KEYS];
        slots_of(call, &view, j, count, slot);
        for (size_t l = 0; l < count; l++)
            at[l] = slot[l] * call->k_stride + kv_head * call->size;
        scores(half_k, q, call->k, at, count, call->size, score);
        float here = prepare(call, score, count), next = here > most ? here : most;
        vf sums = {0};
        for (size_t l = 0; l < KEYS; l += VN) {
            vf weight = v_exp(v_load(score + l) - next);
            v_store(score + l, weight);
            sums += weight;
        }
        float keep = most == next ? 1 : expf(most - next);
        sum = sum * keep + v_sum(sums);
        most = next;
        for (size_t l = 0; l < count; l++)
            at[l] = slot[l] * call->v_stride + kv_head * call->value_size;
        values(half_v, call->v, at, score, count, call->value_size, keep, y);
    }
    float inverse = sum > 0 ? 1 / sum : 0;
    for (size_t i = 0; i < call->value_size; i++)
        y[i] *= inverse;
}

CPU_INLINE void items(const struct cpu_attention *call, const int half_k, const int half_v, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        one_item(call, half_k, half_v, i / call->heads, i % call->heads);
}

void CPU_NAME(attention)(const struct cpu_attention *call, size_t begin, size_t end)
{
    int half_k = call->k_type == ACCEL_F16, half_v = call->v_type == ACCEL_F16;
    if (half_k && half_v)
        items(call, 1, 1, begin, end);
    else if (half_k)
        items(call, 1, 0, begin, end);
    else if (half_v)
        items(call, 0, 1, begin, end);
    else
        items(call, 0, 0, begin, end);
}
