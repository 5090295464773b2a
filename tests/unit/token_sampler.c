/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: distributions that can be worked out by hand, the published vectors of the generator, refusals. */
#include <math.h>

#include <accel/driver/sample.h>
#include <accel/model/sampler.h>

#include "tests/unit/token_support.h"

#define MAX_TOKENS 4096

static struct accel_sample_candidate scratch[MAX_TOKENS];

/* Vectors of the paper's own distribution (kat_vectors, philox4x32-10). */
static void test_philox(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];

        accel_sample_philox(vectors[i].counter, vectors[i].key, out);
        assert_memory_equal(out, vectors[i].out, sizeof(out));
    }
}

/* Powers of two against the C library, and arithmetic against that of the processor, which rounds to nearest even. */
static void test_arithmetic(void **state)
{
    uint32_t word = 1;

    (void)state;
    for (uint32_t i = 0; i < 400000; i++) {
        float x = (float)i * 8.3e-5f;
        double want = ldexp(exp2(-(double)x), 31);

        if (!(fabs(accel_sample_power(accel_sample_bits(x)) - want) < 12))
            fail_msg("2^-%g is %u and should be %.9g", (double)x, accel_sample_power(accel_sample_bits(x)), want);
    }
    assert_int_equal(accel_sample_power(0), ACCEL_SAMPLE_ONE);
    for (uint32_t i = 0; i < 1000000; i++) {
        uint32_t a_bits = word = word * 1664525 + 1013904223, b_bits = word = word * 1664525 + 1013904223;
        float a, b, high, low;

        /* exponents of 2^-31 to 2^32 */
        a_bits = (a_bits & 0x807fffff) | (96 + (a_bits >> 8) % 64) << 23;
        b_bits = (b_bits & 0x807fffff) | (96 + (b_bits >> 8) % 64) << 23;
        memcpy(&a, &a_bits, sizeof(a));
        memcpy(&b, &b_bits, sizeof(b));
        high = a > b ? a : b;
        low = a > b ? b : a;
        assert_int_equal(accel_sample_product(a_bits, b_bits), accel_sample_bits(a * b));
        assert_int_equal(accel_sample_difference(accel_sample_bits(high), accel_sample_bits(low)),
                         accel_sample_bits(high - low));
        assert_int_equal(accel_sample_reciprocal(a_bits & 0x7fffffff), accel_sample_bits(1 / fabsf(a)));
        assert_true((a < b) == (accel_sample_key(a_bits) < accel_sample_key(b_bits)));
    }
}

static struct accel_sampling sampling(float temperature)
{
    struct accel_sampling made;

    accel_sampling_init(&made);
    made.temperature = temperature;
    return made;
}

/* Checks ids and probabilities of what the filters leave. */
static void expect_left(const struct accel_sampling *how, const float *logits, size_t count, size_t wanted,
                        const int32_t *ids, const double *shares)
{
    struct accel_error error = {0};
    uint64_t total = 0;
    size_t left = 0;

    expect_ok(accel_sample_candidates(how, logits, count, NULL, 0, scratch, &left, &total, &error), &error);
    assert_int_equal(left, wanted);
    for (size_t i = 0; i < wanted; i++) {
        assert_int_equal(scratch[i].id, ids[i]);
        if (fabs((double)scratch[i].weight / (double)total - shares[i]) > 1e-8)
            fail_msg("candidate %zu has %.15g, wanted %.15g", i, (double)scratch[i].weight / (double)total, shares[i]);
    }
}

/* Logits are logarithms of 1, 2, 4, 8 in some order, so probabilities are fifteenths. */
static void test_filters(void **state)
{
    const float logits[] = {(float)log(2), (float)log(8), 0, (float)log(4)};
    struct accel_sampling how = sampling(1);

    (void)state;
    /* logf is rounded to 24 bits, hence shares of the rounded ones */
    {
        double sum = 0, shares[4];
        int32_t ids[] = {0, 1, 2, 3}, sorted[] = {1, 3, 0, 2};

        for (int i = 0; i < 4; i++)
            sum += exp(logits[i]);
        for (int i = 0; i < 4; i++)
            shares[i] = exp(logits[i]) / sum;
        expect_left(&how, logits, 4, 4, ids, shares);
        assert_true(fabs(shares[1] - 8.0 / 15) < 1e-7);
        how.top_k = 2;
        sum = exp(logits[1]) + exp(logits[3]);
        expect_left(&how, logits, 4, 2, sorted, (double[]){exp(logits[1]) / sum, exp(logits[3]) / sum});
        how.top_k = 1;
        expect_left(&how, logits, 4, 1, sorted, (double[]){1});
        how.top_k = 0;
        how.top_p = 0.5f; /* 8/15 alone reaches it */
        expect_left(&how, logits, 4, 1, sorted, (double[]){1});
        how.top_p = 0.54f; /* and 12/15 is needed here */
        expect_left(&how, logits, 4, 2, sorted, (double[]){exp(logits[1]) / sum, exp(logits[3]) / sum});
        how.top_k = 3; /* top-p counts what top-k left: 12/14 */
        how.top_p = 0.84f;
        expect_left(&how, logits, 4, 2, sorted, (double[]){exp(logits[1]) / sum, exp(logits[3]) / sum});
        how.top_k = 0; /* of all it is 12/15, so one more is needed */
        sum += exp(logits[0]);
        expect_left(&how, logits, 4, 3, sorted,
                    (double[]){exp(logits[1]) / sum, exp(logits[3]) / sum, exp(logits[0]) / sum});
        how.top_p = 0; /* never fewer than one */
        expect_left(&how, logits, 4, 1, sorted, (double[]){1});
        how.top_p = 1;
        how.min_p = 0.3f; /* a quarter of the highest goes, a half stays */
        sum -= exp(logits[0]);
        expect_left(&how, logits, 4, 2, sorted, (double[]){exp(logits[1]) / sum, exp(logits[3]) / sum});
    }
    how = sampling(0.5f); /* squares: 4, 64, 1, 16 of 85 */
    {
        double shares[4], sum = 0;

        for (int i = 0; i < 4; i++)
            sum += shares[i] = exp(2 * (double)logits[i]);
        for (int i = 0; i < 4; i++)
            shares[i] /= sum;
        assert_true(fabs(shares[1] - 64.0 / 85) < 1e-6);
        expect_left(&how, logits, 4, 4, (int32_t[]){0, 1, 2, 3}, shares);
    }
}

/* The order of many candidates with ties, against a plain sort. */
static void test_order(void **state)
{
    float logits[1000];
    struct accel_sampling how = sampling(1);
    struct accel_error error = {0};
    uint64_t total;
    size_t left;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        logits[i] = (float)(i * 7919 % 101) / 10;
    how.top_k = 400;
    expect_ok(accel_sample_candidates(&how, logits, 1000, NULL, 0, scratch, &left, &total, &error), &error);
    assert_int_equal(left, 400);
    for (size_t i = 0; i < left; i++) {
        size_t higher = 0;

        for (int32_t j = 0; j < 1000; j++)
            higher += logits[j] > scratch[i].logit || (logits[j] == scratch[i].logit && j < scratch[i].id);
        assert_int_equal(higher, i);
    }
}

static int32_t draw(const struct accel_sampling *how, const float *logits, size_t count, const int32_t *recent,
                    size_t recent_count, uint64_t sequence, uint64_t step)
{
    struct accel_error error = {0};
    int32_t id = -1;

    expect_ok(accel_sample(how, logits, count, recent, recent_count, sequence, step, scratch, &id, &error), &error);
    return id;
}

static void test_greedy(void **state)
{
    const float logits[] = {1, 3, 3, -INFINITY, 2};
    struct accel_sampling how = sampling(0);
    const int32_t recent[] = {1, 1, 2, -7, 99};

    (void)state;
    assert_int_equal(draw(&how, logits, 5, NULL, 0, 0, 0), 1);
    how.repetition_penalty = 2; /* 3 -> 1.5 once, not 0.75 */
    assert_int_equal(draw(&how, logits, 5, recent, 5, 0, 0), 4);
    how.repetition_window = 3; /* the latest three: 2, -7, 99 */
    assert_int_equal(draw(&how, logits, 5, recent, 5, 0, 0), 1);
    how.repetition_window = 0;
    {
        const float negative[] = {38, 24, 12, 24, 17, 19, 24, 12, 19, 19, 31, 62};

        assert_int_equal(draw(&how, negative, 2, (int32_t[]){0}, 1, 0, 0), 1);
    }
}

/* Frequencies of 60000 draws within five standard deviations; equal arguments draw equally, others differ. */
static void test_draws(void **state)
{
    const double shares[] = {0.1, 0.2, 0.3, 0.4};
    float logits[4];
    size_t seen[4] = {0}, same = 0, count = 60000;
    struct accel_sampling how = sampling(1), other;

    (void)state;
    how.seed = 42;
    other = how;
    other.seed = 43;
    for (int i = 0; i < 4; i++)
        logits[i] = (float)log(shares[i]);
    for (uint64_t step = 0; step < count; step++) {
        int32_t id = draw(&how, logits, 4, NULL, 0, 7, step);

        seen[id]++;
        same += draw(&other, logits, 4, NULL, 0, 7, step) == id;
        if (step < 100)
            assert_int_equal(draw(&how, logits, 4, NULL, 0, 7, step), id);
    }
    for (int i = 0; i < 4; i++) {
        double wanted = shares[i] * (double)count;

        assert_true(fabs((double)seen[i] - wanted) < 5 * sqrt(wanted * (1 - shares[i])));
    }
    /* two independent draws agree in 0.3 of all cases */
    assert_true(fabs((double)same - 0.3 * (double)count) < 5 * sqrt(0.21 * (double)count));
    {
        size_t equal = 0;

        for (uint64_t step = 0; step < 1000; step++)
            equal += draw(&how, logits, 4, NULL, 0, 7, step) == draw(&how, logits, 4, NULL, 0, 8, step);
        assert_true(equal > 220 && equal < 380);
    }
}

/* Ids of an independent implementation (Python, exact integers); they must be the same on every machine. */
static void test_fixed(void **state)
{
    static const int32_t wanted[] = {19, 43, 31, 43, 55, 10, 48, 24, 5, 12, 31, 55};
    float logits[64];
    struct accel_sampling how = sampling(0.8f);

    (void)state;
    for (int i = 0; i < 64; i++)
        logits[i] = (float)(i * 37 % 64) / 8;
    how.seed = 0x123456789abcdefu;
    how.top_p = 0.95f;
    for (uint64_t step = 0; step < sizeof(wanted) / sizeof(wanted[0]); step++)
        assert_int_equal(draw(&how, logits, 64, NULL, 0, 3, step), wanted[step]);
}

static void expect_refused(struct accel_sampling how, const float *logits, size_t count, const char *word)
{
    struct accel_error error = {0};
    int32_t id = -1;

    assert_int_equal(accel_sample(&how, logits, count, NULL, 0, 0, 0, scratch, &id, &error), ACCEL_E_INVALID);
    if (strstr(error.text, word) == NULL)
        fail_msg("\"%s\" does not say %s", error.text, word);
}

static void test_refusals(void **state)
{
    const float good[] = {0, 1}, nan[] = {0, NAN}, infinite[] = {INFINITY, 0}, barred[] = {-INFINITY, -INFINITY};
    struct accel_sampling how = sampling(1);

    (void)state;
    expect_refused(how, nan, 2, "logits[1] is not a number");
    expect_refused(sampling(0), nan, 2, "logits[1] is not a number");
    expect_refused(how, infinite, 2, "logits[0] is infinite");
    expect_refused(how, barred, 2, "barred");
    expect_refused(how, good, 0, "vocabulary of 0");
    expect_refused(sampling(-1), good, 2, "temperature");
    expect_refused(sampling(NAN), good, 2, "temperature");
    how.top_p = 1.5f;
    expect_refused(how, good, 2, "top_p");
    how = sampling(1);
    how.min_p = -1;
    expect_refused(how, good, 2, "min_p");
    how = sampling(1);
    how.repetition_penalty = 0;
    expect_refused(how, good, 2, "repetition_penalty");
    how = sampling(1);
    how.size = 4;
    expect_refused(how, good, 2, "4 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox), cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_filters),
        cmocka_unit_test(test_order),  cmocka_unit_test(test_greedy),     cmocka_unit_test(test_draws),
        cmocka_unit_test(test_fixed),  cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
