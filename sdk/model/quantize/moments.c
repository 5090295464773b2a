/* SPDX-License-Identifier: Apache-2.0 */
/* Bound: operations. A tile of the matrix stays in registers while the rows pass by; its sum over them is added to the
 * matrix once, so that rounding grows with the number of calls and not of rows. */
#include "config.h"

#include "sdk/model/quantize/moments.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TALL = 4, WIDE = 16, BAND = 64 };

/* Bands of BAND matrix rows of all sums, taken one after the other by whoever is free. */
struct team {
    const struct quantize_product *products;
    uint32_t count;
    atomic_uint_least64_t next;
};

static void add_tile(const struct quantize_product *p, uint64_t i, uint64_t j, uint64_t tall, uint64_t wide)
{
    float sums[TALL][WIDE] = {{0}};

    if (tall == TALL && wide == WIDE) {
        for (uint64_t row = 0; row < p->rows; row++) {
            const float *x = p->x + row * p->width;

            for (uint32_t a = 0; a < TALL; a++)
                for (uint32_t b = 0; b < WIDE; b++)
                    sums[a][b] += x[i + a] * x[j + b];
        }
    } else {
        for (uint64_t row = 0; row < p->rows; row++) {
            const float *x = p->x + row * p->width;

            for (uint64_t a = 0; a < tall; a++)
                for (uint64_t b = 0; b < wide; b++)
                    sums[a][b] += x[i + a] * x[j + b];
        }
    }
    for (uint64_t a = 0; a < tall; a++)
        for (uint64_t b = 0; b < wide && j + b <= i + a; b++)
            p->matrix[(i + a) * p->width + j + b] += sums[a][b];
}

static void add_band(const struct quantize_product *p, uint64_t first)
{
    uint64_t end = p->width - first < BAND ? p->width : first + BAND;

    for (uint64_t j = 0; j < end; j += WIDE)
        for (uint64_t i = first; i < end; i += TALL)
            if (j < i + TALL)
                add_tile(p, i, j, end - i < TALL ? end - i : TALL, p->width - j < WIDE ? p->width - j : WIDE);
}

static void *work(void *data)
{
    struct team *team = data;

    for (;;) {
        uint64_t band = atomic_fetch_add(&team->next, 1);
        uint32_t at = 0;

        for (; at < team->count && band >= (team->products[at].width + BAND - 1) / BAND; at++)
            band -= (team->products[at].width + BAND - 1) / BAND;
        if (at == team->count)
            return NULL;
        add_band(&team->products[at], band * BAND);
    }
}

void quantize_products_add(const struct quantize_product *products, uint32_t count, uint32_t threads)
{
    struct team team = {.products = products, .count = count};
    uint32_t started = 0, wanted = threads > 0 ? threads - 1 : 0;
    pthread_t *others = count == 0 ? NULL : calloc((size_t)wanted + 1, sizeof *others);
    sigset_t all, before;

    /* Signals are for the caller's thread. Where another thread cannot be had, the rest do its part. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (others != NULL && started < wanted && pthread_create(&others[started], NULL, work, &team) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(&team);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    free(others);
}

void quantize_product_finish(float *matrix, uint64_t width, double by)
{
    for (uint64_t i = 0; i < width; i++)
        for (uint64_t j = 0; j <= i; j++) {
            matrix[i * width + j] = (float)((double)matrix[i * width + j] / by);
            matrix[j * width + i] = matrix[i * width + j];
        }
}
