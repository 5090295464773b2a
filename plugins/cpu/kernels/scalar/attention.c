/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention in plain C: the reference of the vector kernels.
 * Layout: caches row by row through the page table. Tile: one query head, key by key, with online softmax (largest
 * score so far, sum and weighted values), so that scratch does not grow with the length. Bound: bytes of the caches.
 * Weighted values are accumulated in y, in float; sums of scores in double.
 */
#include "scalar.h"

#include "plugins/cpu/kernels/view.h"

#include <accel/quant/half.h>
#include <math.h>
#include <string.h>

/* Decodes element `at` of a planar row of 4 or 8 bits. */
static float planar_element(const struct cpu_cache *cache, size_t slot, size_t at)
{
    const unsigned char *run = cpu_cache_codes(cache, slot, at / 32 * 32);
    const unsigned char *scale = cpu_cache_scales(cache, slot, at);
    const float d = accel_f16_to_f32((uint16_t)(scale[0] | scale[1] << 8));
    const size_t i = at % 32;
    if (ACCEL_PLANAR_BITS(cache->type) == 8)
        return d * (float)(run[i] - 128);
    return d * (float)((run[i % 16] >> (i / 16 * 4) & 15) - 8);
}

static float element(const struct cpu_cache *cache, size_t slot, size_t at)
{
    const char *row = (const char *)cache->data + slot * cache->stride;
    if (cache->type == ACCEL_F32)
        return ((const float *)row)[at];
    return cache->type == ACCEL_F16 ? accel_f16_to_f32(((const uint16_t *)row)[at]) : planar_element(cache, slot, at);
}

/* Returns the sinks: visible keys before the window. */
static size_t sinks_of(const struct cpu_attention *call, const struct cpu_view *view)
{
    return call->sinks < view->first ? call->sinks : view->first;
}

/* Returns the range of a part in the visible keys: sinks, then the window. */
static void part_of(const struct cpu_attention *call, const struct cpu_view *view, size_t *out_begin, size_t *out_end)
{
    const size_t span = sinks_of(call, view) + view->end - view->first;
    *out_begin = call->parts > 1 ? span * call->part / call->parts : 0;
    *out_end = call->parts > 1 ? span * (call->part + 1) / call->parts : span;
}

/* Finds the position of visible key i. Returns whether its block is unmasked. */
static int key_position(const struct cpu_attention *call, const struct cpu_view *view, size_t i, size_t *out_position)
{
    const size_t sinks = sinks_of(call, view), j = i < sinks ? i : view->first + i - sinks;
    *out_position = j;
    return view->mask == NULL || (view->mask[j / call->block / 32] >> (j / call->block % 32) & 1) != 0;
}

static size_t slot_of(const struct cpu_attention *call, const struct cpu_view *view, size_t position)
{
    return view->slot + (size_t)view->pages[position / call->page] * call->page + position % call->page;
}

/* Returns the score of key j for an item. */
static float score_of(const struct cpu_attention *call, const struct cpu_view *view, size_t item, size_t j)
{
    const float *q = call->q + item * call->size;
    const size_t head = item % call->heads, at = head / (call->heads / call->kv_heads) * call->size;
    double sum = 0;
    for (size_t i = 0; i < call->size; i++)
        sum += (double)q[i] * element(&call->k, slot_of(call, view, j), at + i);
    float score = (float)sum * call->scale;
    score = call->softcap != 0 ? call->softcap * tanhf(score / call->softcap) : score;
    cpu_add_biases(call, view->sequence, head, view->at, j, 1, &score);
    return score;
}

static void do_item(const struct cpu_attention *call, size_t item)
{
    struct cpu_view view = cpu_view_of(call, item / call->heads);
    size_t head = item % call->heads, kv_head = head / (call->heads / call->kv_heads), begin, end, j;
    float *partial = call->partial + item * (call->value_size + 2);
    float *y = call->partial ? partial + 2 : call->y + item * call->value_size;
    const int sunk = call->sink != NULL && call->part == 0;
    float most = sunk ? call->sink[head] : -INFINITY;
    double sum = sunk;
    part_of(call, &view, &begin, &end);
    for (size_t i = 0; i < call->value_size; i++)
        y[i] = 0;
    for (size_t i = begin; i < end; i++) {
        if (!key_position(call, &view, i, &j))
            continue;
        float score = score_of(call, &view, item, j);
        if (score == -INFINITY)
            continue;
        float next = score > most ? score : most;
        float rescale = expf(most - next), weight = expf(score - next);
        for (size_t e = 0; e < call->value_size; e++)
            y[e] = y[e] * rescale + weight * element(&call->v, slot_of(call, &view, j), kv_head * call->value_size + e);
        sum = sum * rescale + weight;
        most = next;
    }
    if (call->partial) {
        partial[0] = most;
        partial[1] = (float)sum;
        return;
    }
    if (call->stats) {
        call->stats[2 * item] = most;
        call->stats[2 * item + 1] = (float)sum;
    }
    for (size_t i = 0; i < call->value_size && sum > 0; i++)
        y[i] = (float)(y[i] / sum);
}

void cpu_attention_scalar(const struct cpu_attention *call, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        do_item(call, i);
}

void cpu_attention_score_sums_scalar(const struct cpu_attention *call, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const struct cpu_view view = cpu_view_of(call, i / call->heads);
        const float most = call->stats[2 * i], sum = call->stats[2 * i + 1];
        float *score_sums = call->score_sums + view.sequence * call->pages * call->page;
        size_t from, to, j;
        part_of(call, &view, &from, &to);
        for (size_t key = from; key < to; key++)
            if (key_position(call, &view, key, &j))
                score_sums[j] += expf(score_of(call, &view, i, j) - most) / sum;
    }
}

/* Four at a time, which compilers make one vector at any level of optimization. */
static void add_scaled(float *restrict out, const float *restrict from, float weight, size_t count)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        out[i] += weight * from[i];
        out[i + 1] += weight * from[i + 1];
        out[i + 2] += weight * from[i + 2];
        out[i + 3] += weight * from[i + 3];
    }
    for (; i < count; i++)
        out[i] += weight * from[i];
}

void cpu_attention_merge(const float *partial, size_t parts, size_t items, size_t value_size, size_t begin, size_t end,
                         float *y, float *stats)
{
    const size_t width = value_size + 2;
    for (size_t item = begin; item < end; item++) {
        float *out = y + item * value_size, most = -INFINITY, sum = 0;
        for (size_t p = 0; p < parts; p++)
            most = fmaxf(most, partial[(p * items + item) * width]);
        memset(out, 0, value_size * sizeof(float));
        for (size_t p = 0; p < parts; p++) {
            const float *from = partial + (p * items + item) * width;
            /* A part without keys has the score -infinity, as have all parts of a row without keys. A NaN stays. */
            const float weight = from[1] != 0 ? expf(from[0] - most) : 0;
            sum += weight * from[1];
            if (weight != 0)
                add_scaled(out, from + 2, weight, value_size);
        }
        if (sum != 0)
            for (size_t i = 0; i < value_size; i++)
                out[i] /= sum;
        if (stats) {
            stats[2 * item] = most;
            stats[2 * item + 1] = sum;
        }
    }
}
