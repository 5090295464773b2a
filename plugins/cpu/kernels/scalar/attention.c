/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention in plain C: the twin of the vector kernels.
 * Layout: caches row by row, found through the page table. Tile: one query head, one key after the other, softmax
 * carried along (largest score so far, sum and weighted values under it), so no scratch grows with the length. Bound:
 * bytes of the caches. The weighted values are kept in y, in float; sums of scores in double.
 */
#include "scalar.h"

#include <accel/quant/half.h>
#include <math.h>

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

static float element(const void *cache, uint32_t type, size_t at)
{
    return type == ACCEL_F32 ? ((const float *)cache)[at] : accel_f16_to_f32(((const uint16_t *)cache)[at]);
}

static float score_of(const struct cpu_attention *call, const float *q, size_t row)
{
    double sum = 0;
    for (size_t i = 0; i < call->size; i++)
        sum += (double)q[i] * element(call->k, call->k_type, row + i);
    float score = (float)sum * call->scale;
    return call->softcap != 0 ? call->softcap * tanhf(score / call->softcap) : score;
}

static void item(const struct cpu_attention *call, size_t token, size_t head)
{
    struct view view = view_of(call, token);
    size_t kv_head = head / (call->heads / call->kv_heads);
    const float *q = call->q + (token * call->heads + head) * call->size;
    float *y = call->y + (token * call->heads + head) * call->value_size;
    float most = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < call->value_size; i++)
        y[i] = 0;
    for (size_t j = view.first; j < view.end; j++) {
        size_t slot = (size_t)view.pages[j / call->page] * call->page + j % call->page;
        float score = score_of(call, q, slot * call->k_stride + kv_head * call->size);
        float next = score > most ? score : most;
        float keep = expf(most - next), weight = expf(score - next);
        size_t row = slot * call->v_stride + kv_head * call->value_size;
        for (size_t i = 0; i < call->value_size; i++)
            y[i] = y[i] * keep + weight * element(call->v, call->v_type, row + i);
        sum = sum * keep + weight;
        most = next;
    }
    for (size_t i = 0; i < call->value_size && sum > 0; i++)
        y[i] = (float)(y[i] / sum);
}

void cpu_attention_scalar(const struct cpu_attention *call, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        item(call, i / call->heads, i % call->heads);
}
