/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types for a budget of bytes: the best of all choices on small instances, as found by trying every one; the budget is
 * kept, nothing that would fit and help is left out, the least that is possible is told where it is not enough.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convert/quantize/budget.h"

enum { MENUS = 6, CANDIDATES = 4, LARGE = 300 };

struct instance {
    struct quantize_menu menus[LARGE];
    struct accel_quantize_candidate candidates[LARGE][CANDIDATES];
    uint32_t state;
};

static uint32_t draw(struct instance *instance, uint32_t below)
{
    instance->state = instance->state * 1664525u + 1013904223u;
    return (instance->state >> 8) % below;
}

/* Bytes rise by multiples of `unit`; losses mostly fall, and convex they need not be. */
static void make(struct instance *instance, uint32_t menus, uint64_t unit, uint32_t seed)
{
    instance->state = seed;
    for (uint32_t i = 0; i < menus; i++) {
        uint64_t bytes = unit * (1 + draw(instance, 20));
        double loss = 1 + draw(instance, 1000);

        instance->menus[i] =
            (struct quantize_menu){.count = draw(instance, CANDIDATES + 1), .candidates = instance->candidates[i]};
        for (uint32_t c = 0; c < CANDIDATES; c++) {
            instance->candidates[i][c] = (struct accel_quantize_candidate){
                .size = sizeof(instance->candidates[i][c]), .bytes = bytes, .loss = loss};
            bytes += unit * draw(instance, 20);
            loss *= 0.05 + draw(instance, 100) / 95.0;
        }
    }
}

/* The least loss of all choices that keep to the budget. */
static double best_of(const struct instance *instance, uint32_t menu, uint64_t bytes)
{
    double best = INFINITY;

    if (menu == MENUS)
        return 0;
    if (instance->menus[menu].count == 0)
        return best_of(instance, menu + 1, bytes);
    for (uint32_t c = 0; c < instance->menus[menu].count; c++) {
        const struct accel_quantize_candidate *candidate = &instance->candidates[menu][c];

        if (candidate->bytes <= bytes)
            best = fmin(best, candidate->loss + best_of(instance, menu + 1, bytes - candidate->bytes));
    }
    return best;
}

static void check_marks(const struct instance *instance, uint32_t menus)
{
    for (uint32_t i = 0; i < menus; i++)
        for (uint32_t c = 0; c < instance->menus[i].count; c++)
            assert_int_equal(instance->candidates[i][c].chosen, c == instance->menus[i].chosen);
}

static void test_brute_force(void **state)
{
    static struct instance instance;
    struct accel_error error = {0};
    uint32_t solved = 0;

    (void)state;
    for (uint32_t seed = 0; seed < 500; seed++) {
        uint64_t least, bytes;
        double best, loss;

        make(&instance, MENUS, seed % 3 == 0 ? 1 : 4096, seed);
        least = quantize_menus_least(instance.menus, MENUS);
        bytes = least + draw(&instance, 150) * (seed % 3 == 0 ? 1u : 4099u);
        best = best_of(&instance, 0, bytes);
        assert_int_equal(quantize_budget_solve(instance.menus, MENUS, bytes, &error), ACCEL_OK);
        assert_true(quantize_menus_bytes(instance.menus, MENUS) <= bytes);
        loss = quantize_menus_loss(instance.menus, MENUS);
        assert_true(fabs(loss - best) <= 1e-9 * best);
        check_marks(&instance, MENUS);
        solved++;
    }
    assert_int_equal(solved, 500);
}

static void test_too_small(void **state)
{
    static struct instance instance;
    struct accel_error error = {0};
    uint64_t least;

    (void)state;
    make(&instance, MENUS, 100, 7);
    least = quantize_menus_least(instance.menus, MENUS);
    assert_true(least > 0);
    assert_int_equal(quantize_budget_solve(instance.menus, MENUS, least - 1, &error), ACCEL_E_LIMIT);
    assert_non_null(strstr(error.text, "the least that is possible"));
    assert_int_equal(quantize_budget_solve(instance.menus, MENUS, least, &error), ACCEL_OK);
    assert_true(quantize_menus_bytes(instance.menus, MENUS) == least);
    assert_int_equal(quantize_budget_solve(instance.menus, 0, 0, &error), ACCEL_OK);
}

/* The loss along the hulls, whose last step is cut where the room ends: no choice is better. */
static double bound_of(const struct instance *instance, uint32_t menus, uint64_t bytes)
{
    double low = 0, high = 1e6, bound = 0;

    /* For every price of a byte, the sum of least (loss + price * bytes) less the price of all is such a bound. */
    for (uint32_t turn = 0; turn < 400; turn++) {
        double price = turn < 200 ? low + (high - low) * exp(-0.15 * (double)turn) : (low + high) * 1e-6 * (turn - 199);
        double sum = -price * (double)bytes;

        for (uint32_t i = 0; i < menus; i++) {
            double best = instance->menus[i].count == 0 ? 0 : INFINITY;

            for (uint32_t c = 0; c < instance->menus[i].count; c++)
                best = fmin(best, instance->candidates[i][c].loss + price * (double)instance->candidates[i][c].bytes);
            sum += best;
        }
        bound = fmax(bound, sum);
    }
    return bound;
}

/* Sizes as those of a model, whose differences have no large divisor. */
static void test_large(void **state)
{
    static struct instance instance;
    struct accel_error error = {0};

    (void)state;
    for (uint32_t seed = 0; seed < 5; seed++) {
        uint64_t least, bytes;
        double loss, bound;

        make(&instance, LARGE, 1000003, seed);
        least = quantize_menus_least(instance.menus, LARGE);
        bytes = least + least / 3 + seed;
        assert_int_equal(quantize_budget_solve(instance.menus, LARGE, bytes, &error), ACCEL_OK);
        assert_true(quantize_menus_bytes(instance.menus, LARGE) <= bytes);
        loss = quantize_menus_loss(instance.menus, LARGE);
        bound = bound_of(&instance, LARGE, bytes);
        assert_true(loss >= bound * (1 - 1e-9));
        if (loss > 1.02 * bound)
            fail_msg("seed %u: loss %g, no choice is below %g", seed, loss, bound);
    }
}

/* More menus than a table is made for: along the hulls alone. */
static void test_many(void **state)
{
    enum { MANY = 5000 };
    struct quantize_menu *menus = calloc(MANY, sizeof(*menus));
    struct accel_error error = {0};
    uint64_t bytes;

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        menus[i] = (struct quantize_menu){.count = 3, .candidates = calloc(3, sizeof(*menus[i].candidates))};
        for (uint32_t c = 0; c < 3; c++)
            menus[i].candidates[c] = (struct accel_quantize_candidate){.bytes = (c + 2) * (100003u + i),
                                                                       .loss = (1 + i % 7) * pow(4, -(double)c)};
    }
    bytes = quantize_menus_least(menus, MANY) * 3 / 2;
    assert_int_equal(quantize_budget_solve(menus, MANY, bytes, &error), ACCEL_OK);
    assert_true(quantize_menus_bytes(menus, MANY) <= bytes);
    assert_true(quantize_menus_bytes(menus, MANY) + 200000 > bytes);
    /* What weighs more has not less. */
    assert_true(menus[6].chosen >= menus[0].chosen);
    assert_int_equal(menus[6].chosen, 2);
    quantize_menus_free(menus, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_too_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
