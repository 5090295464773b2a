/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const char *reference_function_name(uint32_t function)
{
    static const char *const names[ACCEL_FN_END] = {"none",       "relu", "gelu",    "gelu_tanh",
                                                    "gelu_quick", "silu", "sigmoid", "tanh"};

    return function < ACCEL_FN_END ? names[function] : "?";
}

double reference_function(uint32_t function, double x)
{
    switch (function) {
    case ACCEL_FN_RELU:
        return x > 0 ? x : 0;
    case ACCEL_FN_GELU:
        return x * (1 + erf(x / sqrt(2))) / 2;
    case ACCEL_FN_GELU_TANH:
        return x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x))) / 2;
    case ACCEL_FN_GELU_QUICK:
        return x / (1 + exp(-1.702 * x));
    case ACCEL_FN_SILU:
        return x / (1 + exp(-x));
    case ACCEL_FN_SIGMOID:
        return 1 / (1 + exp(-x));
    case ACCEL_FN_TANH:
        return tanh(x);
    default:
        return x;
    }
}

uint64_t reference_elements(const struct reference_value *value)
{
    uint64_t count = 1;

    for (uint32_t d = 0; d < value->rank; d++)
        count *= value->extents[d];
    return count;
}

/* Returns whether key position `key` <= p is masked for the query at position `p`: it precedes the window and is
 * no sink, or the mask excludes its block. */
static bool is_hidden(const struct reference_attention *a, uint64_t s, uint64_t p, uint64_t key)
{
    uint64_t block = a->attributes->block, window = a->attributes->window, blocks, words;

    if (window != 0 && key + window <= p && key >= a->attributes->sinks)
        return 1;
    if (a->mask == NULL)
        return 0;
    blocks = (a->pages * a->attributes->page + block - 1) / block;
    words = (blocks + 31) / 32;
    return ((uint32_t)a->mask[(s * blocks + p / block) * words + key / block / 32] >> key / block % 32 & 1u) == 0;
}

/* Computes attention of one query of one head at position `p` of sequence `s`. */
static void attend_one(const struct reference_attention *a, uint64_t s, int64_t p, uint64_t head, const float *q,
                       double *scores, double *y)
{
    const struct accel_attention *at = a->attributes;
    uint64_t group = head / (a->heads / at->kv_heads);
    double most = -INFINITY, sum = 0;
    int64_t begin = at->window != 0 && at->sinks == 0 && p >= (int64_t)at->window ? p - (int64_t)at->window + 1 : 0;
    int64_t end = at->causal ? p + 1 : a->length[s];

    memset(y, 0, a->value_size * sizeof(*y));
    for (int64_t j = begin; j < end; j++) {
        uint64_t slot = (uint64_t)a->table[s * a->pages + (uint64_t)j / at->page] * at->page + (uint64_t)j % at->page;
        const float *k = a->k + (slot * at->kv_heads + group) * a->size;

        scores[j] = -INFINITY;
        if (is_hidden(a, s, (uint64_t)p, (uint64_t)j))
            continue;
        scores[j] = 0;
        for (uint64_t i = 0; i < a->size; i++)
            scores[j] += (double)q[i] * k[i];
        scores[j] *= at->scale;
        if (at->softcap != 0)
            scores[j] = at->softcap * tanh(scores[j] / at->softcap);
        if (a->slope != NULL)
            scores[j] += (double)a->slope[head] * (double)(j - p);
        most = scores[j] > most ? scores[j] : most;
    }
    for (int64_t j = begin; j < end; j++) {
        uint64_t slot = (uint64_t)a->table[s * a->pages + (uint64_t)j / at->page] * at->page + (uint64_t)j % at->page;
        const float *v = a->v + (slot * at->kv_heads + group) * a->value_size;
        double weight = most == -INFINITY ? 0 : exp(scores[j] - most);

        sum += weight;
        for (uint64_t i = 0; i < a->value_size; i++)
            y[i] += weight * v[i];
    }
    if (sum == 0)
        return;
    if (a->sink != NULL)
        sum += exp(a->sink[head] - most);
    for (uint64_t i = 0; i < a->value_size; i++)
        y[i] /= sum;
    for (int64_t j = begin; a->score_sums != NULL && j < end; j++)
        a->score_sums[s * a->pages * at->page + (uint64_t)j] += exp(scores[j] - most) / sum;
}

void reference_attend(const struct reference_attention *a, double *scores, double *y)
{
    for (uint64_t s = 0; s < a->sequences; s++)
        for (int64_t row = a->first[s]; row < a->first[s + 1]; row++)
            for (uint64_t h = 0; h < a->heads; h++) {
                uint64_t at = (uint64_t)row * a->heads + h;

                attend_one(a, s, a->length[s] - (a->first[s + 1] - row), h, a->q + at * a->size, scores,
                           y + at * a->value_size);
            }
}
