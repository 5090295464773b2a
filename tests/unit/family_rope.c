/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frequencies of rotary positions of every scaling, against numbers computed apart from this library, with 50 decimal
 * digits, from the formulas that the configurations document.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family/rope.h"

enum { PAIRS = 8 };

struct row {
    struct accel_rope_config rope;
    uint64_t length;
    double expected[PAIRS];
};

static const struct row rows[] = {
    {{.kind = ACCEL_ROPE_PLAIN, .base = 10000, .factor = 1, .original_context = 64, .dims = 16},
     1,
     {1, 0.316227766016838, 0.1, 0.0316227766016838, 0.01, 0.00316227766016838, 0.001, 0.000316227766016838}},
    {{.kind = ACCEL_ROPE_LINEAR, .base = 500000, .factor = 2.5, .original_context = 64, .dims = 16},
     1,
     {0.4, 0.0775690978994743, 0.0150424123723456, 0.00291706589488684, 0.000565685424949238, 0.000109699270270483,
      2.127318358778e-05, 4.12535415088498e-06}},
    {{.kind = ACCEL_ROPE_DYNAMIC, .base = 10000, .factor = 4, .original_context = 64, .dims = 16},
     64,
     {1, 0.316227766016838, 0.1, 0.0316227766016838, 0.01, 0.00316227766016838, 0.001, 0.000316227766016838}},
    {{.kind = ACCEL_ROPE_DYNAMIC, .base = 10000, .factor = 4, .original_context = 64, .dims = 16},
     65,
     {1, 0.313500850261008, 0.0982827831143751, 0.0308117360723749, 0.00965950545670729, 0.00302826317377859,
      0.000949363079793686, 0.00029762613272173}},
    {{.kind = ACCEL_ROPE_DYNAMIC, .base = 10000, .factor = 4, .original_context = 64, .dims = 16},
     200,
     {1, 0.229258369442562, 0.0525593999594622, 0.0120496823335858, 0.00276249052409871, 0.000633324073155399,
      0.000145194844340329, 3.32871332649303e-05}},
    {{.kind = ACCEL_ROPE_YARN,
      .base = 10000,
      .factor = 4,
      .original_context = 2048,
      .beta_fast = 32,
      .beta_slow = 1,
      .truncate = true,
      .dims = 16},
     1,
     {1, 0.316227766016838, 0.1, 0.0256935059888681, 0.00625, 0.00138349647632367, 0.00025, 7.90569415042095e-05}},
    {{.kind = ACCEL_ROPE_YARN,
      .base = 10000,
      .factor = 4,
      .original_context = 2048,
      .beta_fast = 32,
      .beta_slow = 1,
      .dims = 16},
     1,
     {1, 0.316227766016838, 0.1, 0.0238701923217363, 0.00505697152112944, 0.000811290381701431, 0.00025,
      7.90569415042095e-05}},
    {{.kind = ACCEL_ROPE_LLAMA3,
      .base = 10000,
      .factor = 8,
      .original_context = 1024,
      .low_frequency_factor = 1,
      .high_frequency_factor = 4,
      .dims = 16},
     1,
     {1, 0.316227766016838, 0.1, 0.0316227766016838, 0.00308676096701127, 0.000395284707521047, 0.000125,
      3.95284707521047e-05}},
};

static void test_row(void **state)
{
    const struct row *row = *state;
    float found[PAIRS];

    rope_frequencies(&row->rope, row->length, NULL, found);
    for (uint32_t i = 0; i < PAIRS; i++)
        if (!(fabs(found[i] - row->expected[i]) <= 1e-7 * row->expected[i]))
            fail_msg("pair %u: %.9g, not %.9g", i, found[i], row->expected[i]);
}

static void test_divisors(void **state)
{
    const float divisors[PAIRS] = {1, 2, 4, 8, 16, 32, 64, 128};
    float plain[PAIRS], divided[PAIRS];

    (void)state;
    rope_frequencies(&rows[0].rope, 1, NULL, plain);
    rope_frequencies(&rows[0].rope, 1, divisors, divided);
    for (uint32_t i = 0; i < PAIRS; i++)
        assert_true(divided[i] == plain[i] / divisors[i]);
}

/* Only dynamic frequencies look at the length; not before the original context is passed. */
static void test_length(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        float within[PAIRS], at[PAIRS], past[PAIRS];

        rope_frequencies(&rows[r].rope, 1, NULL, within);
        rope_frequencies(&rows[r].rope, rows[r].rope.original_context, NULL, at);
        rope_frequencies(&rows[r].rope, rows[r].rope.original_context + 1u, NULL, past);
        for (uint32_t i = 0; i < PAIRS; i++) {
            assert_true(within[i] == at[i]);
            if (i > 0 && rows[r].rope.kind == ACCEL_ROPE_DYNAMIC)
                assert_true(past[i] < at[i]);
            else
                assert_true(past[i] == at[i]);
        }
    }
}

int main(void)
{
    enum { COUNT = sizeof(rows) / sizeof(*rows) };
    static const char *const names[COUNT] = {"plain",
                                             "linear by 2.5",
                                             "dynamic, 64 tokens",
                                             "dynamic, 65 tokens",
                                             "dynamic, 200 tokens",
                                             "yarn, whole bounds",
                                             "yarn, exact bounds",
                                             "llama3"};
    struct CMUnitTest tests[COUNT + 2];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){names[i], test_row, NULL, NULL, (void *)(uintptr_t)&rows[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_divisors);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(test_length);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
