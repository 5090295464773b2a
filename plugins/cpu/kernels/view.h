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
    size_t first; /* first key of the window; sinks before it are visible too */
    size_t end;   /* one past the last */
};

/* Returns the sequence of a token and its visible keys; an empty range for a row without a sequence. Not inline: one
 * call serves many keys. */
static struct cpu_view cpu_view_of(const struct cpu_attention *call, size_t token)
{
    struct cpu_view view = {.pages = call->table};
    for (size_t s = 0; s < call->sequences; s++) {
        if ((int64_t)token < call->first[s] || (int64_t)token >= call->first[s + 1])
            continue;
        size_t length = (size_t)call->length[s];
        size_t position = length - (size_t)call->first[s + 1] + token;
        view.pages = call->table + s * call->pages;
        view.sequence = s;
        if (call->mask != NULL)
            view.mask = call->mask + (s * call->blocks + position / call->block) * ((call->blocks + 31) / 32);
        view.end = call->causal ? position + 1 : length;
        view.first = call->window && position + 1 > call->window ? position + 1 - call->window : 0;
    }
    return view;
}

#endif
