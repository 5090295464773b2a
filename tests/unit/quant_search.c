/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the encoders: what vectors come to is what plain C comes to, bit for bit, on every level of this
 * machine. The room's own file is part of this program, since its loops have no names outside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "quant/search.c"

enum { COUNT = 512 };

static float uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) / 8388608.0f - 1.0f;
}

/* Values, importance and candidates; some groups have extremes and ends that are no numbers. */
struct problem {
    float values[COUNT];
    float weight[COUNT];
    float level[16];
    struct quant_candidates candidates;
};

static void problem_make(struct problem *p, uint64_t *random)
{
    const float size = ldexpf(1, (int)(uniform(random) * 20));
    for (size_t i = 0; i < COUNT; i++) {
        p->values[i] = uniform(random) * uniform(random) * size;
        p->weight[i] = fabsf(uniform(random));
    }
    if (uniform(random) > 0.8f)
        p->values[7] = 3e38f;
    for (size_t l = 0; l < 16; l++)
        p->level[l] = -1 + (float)l / 8 + 0.06f * uniform(random);
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        p->candidates.inverse[c] = 10 * uniform(random) / size;
        p->candidates.from[c] = uniform(random) * size;
    }
    if (uniform(random) > 0.8f)
        p->candidates.inverse[3] = INFINITY;
}

/* Not a number equals itself here: which bits it has is the processor's choice. */
static void same_floats(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof(a[i])) != 0 && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("%zu: %a against %a", i, (double)a[i], (double)b[i]);
}

static void same_sums(const struct quant_sums *a, const struct quant_sums *b)
{
    same_floats(a->q, b->q, QUANT_CANDIDATES);
    same_floats(a->qq, b->qq, QUANT_CANDIDATES);
    same_floats(a->xq, b->xq, QUANT_CANDIDATES);
}

static void compare_sums(const struct search_kernels *kernels, const struct problem *p, const float *weight,
                         size_t count)
{
    struct quant_sums plain, vectors;
    float middle[15];
    find_thresholds(p->level, middle);
    memset(&plain, 0, sizeof(plain));
    memset(&vectors, 0, sizeof(vectors));
    plain_kernels.symmetric(p->values, weight, count, -8, 7, &p->candidates, &plain);
    kernels->symmetric(p->values, weight, count, -8, 7, &p->candidates, &vectors);
    same_sums(&plain, &vectors);
    memset(&plain, 0, sizeof(plain));
    plain_kernels.affine(p->values, weight, count, 15, &p->candidates, &plain);
    kernels->affine(p->values, weight, count, 15, &p->candidates, &vectors);
    same_sums(&plain, &vectors);
    memset(&plain, 0, sizeof(plain));
    memset(&vectors, 0, sizeof(vectors));
    plain_kernels.codebook(p->values, weight, count, p->level, middle, &p->candidates, &plain);
    kernels->codebook(p->values, weight, count, p->level, middle, &p->candidates, &vectors);
    same_sums(&plain, &vectors);
}

static void compare_others(const struct search_kernels *kernels, const struct problem *p, size_t count)
{
    struct lanes8 a[4], b[4];
    uint8_t plain[COUNT], vectors[COUNT];
    float middle[15];
    find_thresholds(p->level, middle);
    plain_kernels.codes(p->values, count, p->candidates.inverse[0], p->level, middle, plain);
    kernels->codes(p->values, count, p->candidates.inverse[0], p->level, middle, vectors);
    assert_memory_equal(plain, vectors, count);
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    plain_kernels.measure(p->values, count / 8 * 8, &a[0], &a[1], &a[2], &a[3]);
    kernels->measure(p->values, count / 8 * 8, &b[0], &b[1], &b[2], &b[3]);
    for (size_t i = 0; i < 4; i++)
        same_floats(a[i].lane, b[i].lane, 8);
}

static void compare(const struct search_kernels *kernels)
{
    static struct problem problem;
    static float plain[65536], vectors[65536];
    uint8_t *halves = malloc(2 * 65536);
    uint64_t random = 11;
    for (int round = 0; round < 300; round++) {
        const size_t count = round < 8 ? (size_t)round : (size_t)((uniform(&random) + 1) * (COUNT / 2 - 1));
        problem_make(&problem, &random);
        compare_sums(kernels, &problem, NULL, count);
        compare_sums(kernels, &problem, problem.weight, count);
        compare_others(kernels, &problem, count);
    }
    assert_non_null(halves);
    for (size_t i = 0; i < 65536; i++) {
        halves[2 * i] = (uint8_t)i;
        halves[2 * i + 1] = (uint8_t)(i >> 8);
    }
    plain_kernels.widen(halves, 65535, plain);
    kernels->widen(halves, 65535, vectors);
    assert_memory_equal(plain, vectors, 65535 * sizeof(plain[0]));
    free(halves);
}

static void levels_agree(void **state)
{
    (void)state;
#ifdef HAVE_VECTORS
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports(HALVES))
        skip();
    compare(&avx2_kernels);
    if (__builtin_cpu_supports("avx512f"))
        compare(&avx512_kernels);
#else
    skip();
#endif
}

/* A row in one piece and its sums in the order that is promised. */
static void long_rows(void **state)
{
    enum { LONG = 1300 };
    float *values = malloc(LONG * sizeof(*values));
    struct quant_candidates candidates = {{0}, {0}};
    struct quant_sums sums;
    struct quant_spread spread;
    uint64_t random = 3;
    double xq = 0, x = 0, xx = 0;
    (void)state;
    assert_non_null(values);
    candidates.inverse[5] = 4;
    for (size_t i = 0; i < LONG; i++) {
        values[i] = uniform(&random);
        float q = quant_round(quant_clamp(values[i] * 4, -2, 1));
        xq += (double)(q * values[i]);
        x += (double)values[i];
        xx += (double)values[i] * (double)values[i];
    }
    quant_sums_symmetric(values, NULL, LONG, -2, 1, &candidates, &sums);
    assert_true(fabs((double)sums.xq[5] / xq - 1) < 1e-5 && sums.xq[0] == 0);
    quant_measure(values, LONG, &spread);
    assert_true(fabs(spread.x - x) < 1e-3 && fabs(spread.xx / xx - 1) < 1e-5);
    for (size_t i = 0; i < LONG; i++)
        assert_true(values[i] >= spread.low && values[i] <= spread.high);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_agree), cmocka_unit_test(long_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
