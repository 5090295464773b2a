/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector versions of the loops of search.c. Included once per instruction set, with NAME(f), TARGET (the compiler's
 * target attribute), `lanes` (a vector of floats) and lanes_set, lanes_load, lanes_store, lanes_min, lanes_max defined:
 * minimum and maximum return their second argument if one is NaN, like the comparisons of the plain version.
 */
#define VECTORS (QUANT_CANDIDATES * sizeof(float) / sizeof(lanes))
#define LANES (sizeof(lanes) / sizeof(float))

/* A constant index for each vector, so that all of them stay in registers. */
#define EACH(v) UNROLL for (size_t v = 0; v < VECTORS; v++)

TARGET static inline __attribute__((always_inline)) lanes NAME(round)(lanes value)
{
    const lanes magic = lanes_set(12582912.0f);
    return (value + magic) - magic;
}

TARGET static void NAME(symmetric)(const float *values, const float *weight, size_t count, float lowest, float highest,
                                   const struct quant_candidates *candidates, struct quant_sums *out)
{
    const lanes low = lanes_set(lowest), high = lanes_set(highest);
    lanes inverse[VECTORS], qq[VECTORS], xq[VECTORS];
    EACH(v)
    {
        inverse[v] = lanes_load(candidates->inverse + v * LANES);
        qq[v] = xq[v] = lanes_set(0);
    }
    for (size_t i = 0; i < count; i++) {
        const lanes x = lanes_set(values[i]), w = lanes_set(weight ? weight[i] : 1);
        EACH(v)
        {
            const lanes q = NAME(round)(lanes_min(high, lanes_max(low, x * inverse[v])));
            const lanes wq = w * q;
            qq[v] += wq * q;
            xq[v] += wq * x;
        }
    }
    EACH(v)
    {
        lanes_store(out->qq + v * LANES, qq[v]);
        lanes_store(out->xq + v * LANES, xq[v]);
    }
}

TARGET static void NAME(affine)(const float *values, const float *weight, size_t count, float highest,
                                const struct quant_candidates *candidates, struct quant_sums *out)
{
    const lanes low = lanes_set(0), high = lanes_set(highest);
    lanes inverse[VECTORS], from[VECTORS], sum[VECTORS], qq[VECTORS], xq[VECTORS];
    EACH(v)
    {
        inverse[v] = lanes_load(candidates->inverse + v * LANES);
        from[v] = lanes_load(candidates->from + v * LANES);
        sum[v] = qq[v] = xq[v] = lanes_set(0);
    }
    for (size_t i = 0; i < count; i++) {
        const lanes x = lanes_set(values[i]), w = lanes_set(weight ? weight[i] : 1);
        EACH(v)
        {
            const lanes q = NAME(round)(lanes_min(high, lanes_max(low, (x - from[v]) * inverse[v])));
            const lanes wq = w * q;
            sum[v] += wq;
            qq[v] += wq * q;
            xq[v] += wq * x;
        }
    }
    EACH(v)
    {
        lanes_store(out->q + v * LANES, sum[v]);
        lanes_store(out->qq + v * LANES, qq[v]);
        lanes_store(out->xq + v * LANES, xq[v]);
    }
}

static const struct search_kernels NAME(kernels) = {NAME(symmetric), NAME(affine), avx2_codebook,
                                                    avx2_measure,    avx2_codes,   avx2_widen};

#undef EACH
#undef LANES
#undef VECTORS
