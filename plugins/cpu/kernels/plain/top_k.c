/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The k largest elements of a row, and the largest. Parts: rows. The output holds the heap of the places found so far,
 * the least of them first; what is not above its element is passed over LANES at a time. Bound: bytes for small k.
 */
#include "plain.h"

/* Returns whether place a follows place b in the output: a smaller element, or the higher place of equals; a NaN is
 * smaller than every number. */
static int follows(const float *x, int32_t a, int32_t b)
{
    const float u = x[a], v = x[b];

    if (u < v || u > v)
        return u < v;
    if (u != u || v != v)
        return (u != u) != (v != v) ? u != u : a > b;
    return a > b;
}

/* Moves the place at `at` of a heap down to where it belongs. */
static void sift(const float *x, int32_t *heap, size_t count, size_t at)
{
    const int32_t moved = heap[at];

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && follows(x, heap[child + 1], heap[child]);
        if (!follows(x, heap[child], moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Returns whether one of LANES elements is above `bound`. */
static int any_above(const float *x, float bound)
{
    int any = 0;

    for (size_t i = 0; i < LANES; i++)
        any |= x[i] > bound;
    return any;
}

static void find_row(const float *x, size_t n, size_t k, int32_t *y)
{
    size_t i = k;

    for (size_t j = 0; j < k; j++)
        y[j] = (int32_t)j;
    for (size_t j = k / 2; j-- > 0;)
        sift(x, y, k, j);
    while (i < n) {
        const float bound = x[y[0]];
        const size_t count = least(LANES, n - i);

        if (count == LANES && bound == bound && !any_above(x + i, bound)) {
            i += LANES;
            continue;
        }
        for (const size_t end = i + count; i < end; i++) {
            if (!follows(x, y[0], (int32_t)i))
                continue;
            y[0] = (int32_t)i;
            sift(x, y, k, 0);
        }
    }
    for (size_t j = k; j-- > 1;) {
        const int32_t last = y[0];

        y[0] = y[j];
        y[j] = last;
        sift(x, y, j, 0);
    }
}

void CPU_NAME(top_k)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const size_t k = ((const struct accel_top_k *)call->attributes)->k, n = call->inputs[0]->width;

    for (uint64_t r = begin; r < end; r++) {
        const float *x = (const float *)call->inputs[0]->planes[0] + r * n;
        int32_t *y = (int32_t *)call->outputs[0]->planes[0] + r * k;

        find_row(x, n, k, y);
        for (size_t j = 0; call->outputs[1] != NULL && j < k; j++)
            ((float *)call->outputs[1]->planes[0])[r * k + j] = x[y[j]];
    }
}

void CPU_NAME(argmax)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const size_t n = call->inputs[0]->width;

    for (uint64_t r = begin; r < end; r++)
        find_row((const float *)call->inputs[0]->planes[0] + r * n, n, 1, (int32_t *)call->outputs[0]->planes[0] + r);
}
