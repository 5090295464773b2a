/* SPDX-License-Identifier: Apache-2.0 */
/* Bound: operations, nine for each value and candidate. The inner loops run over candidates, one to a lane, so that
 * nothing is ever added across lanes. */
#include "search.h"
#include "fit.h"

#include <string.h>

#define CHUNK 512u

/* Sums of up to CHUNK values. */
struct chunk_sums {
    float q[QUANT_CANDIDATES];
    float qq[QUANT_CANDIDATES];
    float xq[QUANT_CANDIDATES];
};

static void chunk_symmetric(const float *values, const float *weight, size_t count, float lowest, float highest,
                            const struct quant_candidates *candidates, struct chunk_sums *out)
{
    for (size_t i = 0; i < count; i++) {
        const float x = values[i], w = weight ? weight[i] : 1;
        for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
            float q = x * candidates->inverse[c];
            q = q < lowest ? lowest : q;
            q = q > highest ? highest : q;
            q = quant_round(q);
            float wq = w * q;
            out->qq[c] += wq * q;
            out->xq[c] += wq * x;
        }
    }
}

static void chunk_affine(const float *values, const float *weight, size_t count, float highest,
                         const struct quant_candidates *candidates, struct chunk_sums *out)
{
    for (size_t i = 0; i < count; i++) {
        const float x = values[i], w = weight ? weight[i] : 1;
        for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
            float q = (x - candidates->from[c]) * candidates->inverse[c];
            q = q < 0 ? 0 : q;
            q = q > highest ? highest : q;
            q = quant_round(q);
            float wq = w * q;
            out->q[c] += wq;
            out->qq[c] += wq * q;
            out->xq[c] += wq * x;
        }
    }
}

static void chunk_levels(const float *values, const float *weight, size_t count, const float level[16],
                         const float middle[15], const struct quant_candidates *candidates, struct chunk_sums *out)
{
    for (size_t i = 0; i < count; i++) {
        const float x = values[i], w = weight ? weight[i] : 1;
        for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
            float scaled = x * candidates->inverse[c], q = level[0];
            for (size_t l = 0; l < 15; l++)
                q = scaled > middle[l] ? level[l + 1] : q;
            float wq = w * q;
            out->qq[c] += wq * q;
            out->xq[c] += wq * x;
        }
    }
}

/* ---- sums of any count ---- */

static void add_chunk(const struct chunk_sums *chunk, struct quant_sums *out)
{
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        out->q[c] += (double)chunk->q[c];
        out->qq[c] += (double)chunk->qq[c];
        out->xq[c] += (double)chunk->xq[c];
    }
}

static size_t chunk_at(size_t at, size_t count)
{
    return count - at < CHUNK ? count - at : CHUNK;
}

static const float *weight_at(const float *weight, size_t at)
{
    return weight ? weight + at : NULL;
}

void quant_sums_symmetric(const float *values, const float *weight, size_t count, float lowest, float highest,
                          const struct quant_candidates *candidates, struct quant_sums *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t at = 0; at < count; at += CHUNK) {
        struct chunk_sums chunk = {{0}, {0}, {0}};
        chunk_symmetric(values + at, weight_at(weight, at), chunk_at(at, count), lowest, highest, candidates, &chunk);
        add_chunk(&chunk, out);
    }
}

void quant_sums_affine(const float *values, const float *weight, size_t count, float highest,
                       const struct quant_candidates *candidates, struct quant_sums *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t at = 0; at < count; at += CHUNK) {
        struct chunk_sums chunk = {{0}, {0}, {0}};
        chunk_affine(values + at, weight_at(weight, at), chunk_at(at, count), highest, candidates, &chunk);
        add_chunk(&chunk, out);
    }
}

void quant_sums_levels(const float *values, const float *weight, size_t count, const float level[16],
                       const struct quant_candidates *candidates, struct quant_sums *out)
{
    float middle[15];
    for (size_t l = 0; l < 15; l++)
        middle[l] = (level[l] + level[l + 1]) * 0.5f;
    memset(out, 0, sizeof(*out));
    for (size_t at = 0; at < count; at += CHUNK) {
        struct chunk_sums chunk = {{0}, {0}, {0}};
        chunk_levels(values + at, weight_at(weight, at), chunk_at(at, count), level, middle, candidates, &chunk);
        add_chunk(&chunk, out);
    }
}
