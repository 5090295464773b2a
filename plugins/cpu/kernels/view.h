/* SPDX-License-Identifier: Apache-2.0 */
/* Private to attention: the keys that a token sees, for every ISA. */
#ifndef CPU_KERNELS_VIEW_H
#define CPU_KERNELS_VIEW_H

#include "attention.h"

/* The keys that an item sees. */
struct cpu_view {
    const int32_t *pages;
    const uint32_t *mask; /* bits of the blocks of keys, or NULL */
    size_t sequence;
    size_t slot;  /* of the first key of a tensor */
    size_t first; /* first key of the window; sinks before it are visible too */
    size_t end;   /* one past the last */
    size_t at;    /* place of the query among the keys, or over tensors among the queries */
};

/* Limits the keys of a view to the windows of attention over tensors. */
static void cpu_view_limit(const struct cpu_attention *call, struct cpu_view *view, size_t row)
{
    view->slot = (size_t)call->first_key[view->sequence];
    view->at = row;
    if (call->after != 0 && row + call->after < view->end)
        view->end = row + call->after;
    view->first = call->before != 0 && row + 1 > call->before ? row + 1 - call->before : 0;
    view->first = view->first < view->end ? view->first : view->end;
}

/* Returns the sequence of a token and its visible keys; an empty range for a row without a sequence. Not inline: one
 * call serves many keys. */
static struct cpu_view cpu_view_of(const struct cpu_attention *call, size_t token)
{
    static const int32_t one_page;
    struct cpu_view view = {.pages = call->first_key == NULL ? call->table : &one_page};
    view.slot = call->first_key == NULL ? 0 : (size_t)call->first_key[0];
    for (size_t s = 0; s < call->sequences; s++) {
        if ((int64_t)token < call->first[s] || (int64_t)token >= call->first[s + 1])
            continue;
        const size_t length = cpu_keys_of(call, s), ahead = (size_t)call->first[s + 1] - token;
        view.sequence = s;
        /* Queries over tensors may lie before the first key. */
        view.end = !call->causal ? length : length + 1 > ahead ? length + 1 - ahead : 0;
        if (call->first_key != NULL) {
            cpu_view_limit(call, &view, token - (size_t)call->first[s]);
            break;
        }
        view.at = length - ahead;
        view.pages = call->table + s * call->pages;
        if (call->mask != NULL)
            view.mask = call->mask + (s * call->blocks + view.at / call->block) * ((call->blocks + 31) / 32);
        view.first = call->window && view.at + 1 > call->window ? view.at + 1 - call->window : 0;
        break;
    }
    return view;
}

/* Adds slopes and biases to the scores of keys first .. first + count (a constant) of the query at `at`. */
static inline __attribute__((always_inline)) void cpu_add_biases(const struct cpu_attention *call, size_t sequence,
                                                                 size_t head, size_t at, size_t first,
                                                                 const size_t count, float *score)
{
    const int64_t apart = (int64_t)first - (int64_t)at, begin = apart + (int64_t)call->center;
    const float slope = call->slope != NULL ? call->slope[head] : 0;
    for (size_t j = 0; call->slope != NULL && j < count; j++)
        score[j] += slope * (float)((int32_t)apart + (int32_t)j);
    if (call->bias != NULL && at < call->rows && first < call->columns) {
        const float *bias =
            call->bias + ((sequence % call->kinds * call->heads + head) * call->rows + at) * call->columns + first;
        const size_t known = call->columns - first;
        for (size_t j = 0; known >= count && j < count; j++)
            score[j] += bias[j];
        for (size_t j = 0; known < count && j < known; j++)
            score[j] += bias[j];
    }
    if (call->relative != NULL) {
        const float *relative = call->relative + head * call->span;
        const int64_t last = (int64_t)call->span - 1;
        const int inside = begin >= 0 && begin + (int64_t)count - 1 <= last;
        for (size_t j = 0; inside && j < count; j++)
            score[j] += relative[(size_t)begin + j];
        for (int64_t j = begin; !inside && j < begin + (int64_t)count; j++)
            score[j - begin] += relative[j < 0 ? 0 : j > last ? last : j];
    }
}

#endif
