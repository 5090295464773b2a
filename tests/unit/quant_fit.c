/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders: the error of rounding to nearest is what theory gives for normal data, a search leaves less, values on the
 * grid of a format come back as they were, and no group makes a number that is none.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/quant/format.h>

enum { VALUES = 1 << 16 };

/* Planes for VALUES values of any format. */
struct planes {
    void *plane[ACCEL_FORMAT_PLANES];
};

static struct planes planes_new(void)
{
    struct planes p;

    for (size_t i = 0; i < ACCEL_FORMAT_PLANES; i++) {
        p.plane[i] = calloc(VALUES, 4);
        assert_non_null(p.plane[i]);
    }
    return p;
}

static void planes_free(struct planes *p)
{
    for (size_t i = 0; i < ACCEL_FORMAT_PLANES; i++)
        free(p->plane[i]);
}

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static float *normal_values(void)
{
    float *values = malloc(VALUES * sizeof(*values));
    uint64_t state = 88172645463325252u;

    assert_non_null(values);
    for (size_t i = 0; i < VALUES; i++)
        values[i] = (float)(sqrt(-2.0 * log(uniform(&state))) * cos(6.283185307179586 * uniform(&state)));
    return values;
}

/* Root of the weighted sum of squared errors over that of squares. */
static double error_of(uint32_t type, const struct planes *p, const float *values, const float *weight)
{
    float *again = malloc(VALUES * sizeof(*again));
    double difference = 0, power = 0;

    assert_non_null(again);
    assert_int_equal(accel_format_decode(type, (const void *const *)p->plane, VALUES, again), ACCEL_OK);
    for (size_t i = 0; i < VALUES; i++) {
        double w = weight == NULL ? 1 : weight[i], d = (double)again[i] - (double)values[i];

        assert_true(isfinite(again[i]));
        difference += w * d * d;
        power += w * (double)values[i] * (double)values[i];
    }
    free(again);
    return sqrt(difference / power);
}

/* Every format with an encoder that rounds, with the error of rounding to nearest on normal data where it is known. */
static const struct {
    const char *name;
    double nearest; /* 0: not stated */
} formats[] = {
    {"q2_g128", 0.422},  {"q3_g32", 0.174},   {"q3_g128", 0.207},  {"q4_g32", 0.086},    {"q4_g64", 0.095},
    {"q4_g128", 0.103},  {"q4_g256", 0.110},  {"q4_g512", 0.117},  {"q8_g32", 0},        {"q8_g128", 0.0064},
    {"q2_g128a", 0.499}, {"q3_g128a", 0.213}, {"q4_g128a", 0.100}, {"q8_g128a", 0.0058}, {"q4_0", 0.086},
    {"q4_1", 0},         {"q5_0", 0},         {"q5_1", 0},         {"q8_0", 0},          {"q2_k", 0},
    {"q3_k", 0},         {"q4_k", 0},         {"q5_k", 0},         {"q6_k", 0},          {"iq4_nl", 0},
    {"iq4_xs", 0},       {"mxfp4", 0},        {"q2_row", 0},       {"q3_row", 0},        {"q4_row", 0},
    {"q8_row", 0},       {"q4_rowa", 0},      {"nf4_g64", 0},      {"nf4_g128", 0},      {"nf4_row", 0},
    {"c4_g64", 0},       {"c4_g128", 0},      {"c4_row", 0},
};
enum { FORMATS = sizeof(formats) / sizeof(*formats) };

/* One scale, or one book, for all of the 65536 values has nothing to choose between them. */
static bool is_whole_row(const struct accel_format *format)
{
    return format->kind == ACCEL_FORMAT_PLANAR && format->group == 0;
}

static void errors_of_normal_data(void **state)
{
    float *values = normal_values();
    struct planes p = planes_new();

    (void)state;
    print_message("  format     bits/value  nearest  searched\n");
    for (size_t i = 0; i < FORMATS; i++) {
        uint32_t type = accel_format_find(formats[i].name);
        struct accel_format format;
        double nearest, searched;

        assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
        assert_int_equal(accel_format_encode(type, values, VALUES, p.plane), ACCEL_OK);
        nearest = error_of(type, &p, values, NULL);
        assert_int_equal(accel_format_fit(type, values, NULL, VALUES, p.plane), ACCEL_OK);
        searched = error_of(type, &p, values, NULL);
        print_message("  %-9s  %10.3f  %.5f  %.5f\n", formats[i].name, format.bits_per_value, nearest, searched);
        if (formats[i].nearest != 0)
            assert_true(fabs(nearest / formats[i].nearest - 1) < 0.03);
        /* Digits of 8 bits leave a search nothing to gain. */
        assert_true(searched <= nearest * (format.digit_bits == 8 ? 1.03 : 1.0));
        if (format.digit_bits <= 4 && format.block_values < 256 && !is_whole_row(&format))
            assert_true(searched < 0.98 * nearest);
    }
    planes_free(&p);
    free(values);
}

/* A search gains what it did when this was written, so that none becomes worse unseen. */
static void searches_gain(void **state)
{
    static const struct {
        const char *name;
        double most;
    } rows[] = {
        {"q2_g128", 0.375},  {"q3_g128", 0.190},  {"q4_g32", 0.082},   {"q4_g128", 0.098}, {"q8_g128", 0.0063},
        {"q2_g128a", 0.371}, {"q3_g128a", 0.190}, {"q4_g128a", 0.097}, {"q4_row", 0.111},  {"q3_row", 0.206},
        {"q2_row", 0.394},   {"nf4_g64", 0.0845}, {"nf4_g128", 0.09},  {"c4_g64", 0.082},  {"c4_g128", 0.088},
        {"c4_row", 0.0992},  {"q4_0", 0.082},     {"iq4_nl", 0.0747},  {"q4_k", 0.0749},   {"q2_k", 0.275},
    };
    float *values = normal_values();
    struct planes p = planes_new();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint32_t type = accel_format_find(rows[i].name);
        double error;

        assert_int_equal(accel_format_fit(type, values, NULL, VALUES, p.plane), ACCEL_OK);
        error = error_of(type, &p, values, NULL);
        if (error > rows[i].most)
            fail_msg("%s: %g, at most %g expected", rows[i].name, error, rows[i].most);
    }
    planes_free(&p);
    free(values);
}

/* Where some values count a hundred times as much, they get more of the precision. */
static void weights_count(void **state)
{
    float *values = normal_values(), *weight = malloc(VALUES * sizeof(*weight));
    struct planes p = planes_new();

    (void)state;
    assert_non_null(weight);
    for (size_t i = 0; i < VALUES; i++)
        weight[i] = i % 7 == 0 ? 100.0f : 1.0f;
    for (size_t i = 0; i < FORMATS; i++) {
        uint32_t type = accel_format_find(formats[i].name);
        struct accel_format format;
        double plain, weighted;

        assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
        assert_int_equal(accel_format_fit(type, values, NULL, VALUES, p.plane), ACCEL_OK);
        plain = error_of(type, &p, values, weight);
        assert_int_equal(accel_format_fit(type, values, weight, VALUES, p.plane), ACCEL_OK);
        weighted = error_of(type, &p, values, weight);
        print_message("  %-9s  %.5f  %.5f\n", formats[i].name, plain, weighted);
        assert_true(weighted <= plain * 1.02);
        /* A whole zero point leaves two bits little to choose. */
        if (format.digit_bits <= 4 && format.planes == 2 && !is_whole_row(&format))
            assert_true(weighted < 0.98 * plain);
    }
    planes_free(&p);
    free(weight);
    free(values);
}

/* What a planar row decodes to, encoded again, is the same row: every digit and every scale. */
static void grids_come_back(void **state)
{
    static const uint32_t bits[] = {2, 3, 4, 8};
    uint64_t random = 42;
    struct planes p = planes_new(), again = planes_new();
    float *values = malloc(VALUES * sizeof(*values));

    (void)state;
    assert_non_null(values);
    for (size_t i = 0; i < 4; i++)
        for (uint32_t group = 5; group <= 9; group++) {
            uint32_t type = ACCEL_PLANAR(bits[i], group, ACCEL_SCHEME_SYMMETRIC);
            struct accel_format format;

            assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
            for (size_t v = 0; v < VALUES; v++) {
                int half = 1 << (bits[i] - 1), digit = (int)(uniform(&random) * 2 * half) - half;

                /* The extreme is the lowest digit, or its twin where 8 bits use both sides. */
                if (v % format.block_values == 3)
                    digit = bits[i] == 8 ? -127 : -half;
                values[v] = 0.0625f * (float)(digit == -128 ? -127 : digit);
            }
            assert_int_equal(accel_format_encode(type, values, VALUES, p.plane), ACCEL_OK);
            assert_true(error_of(type, &p, values, NULL) == 0);
            assert_int_equal(accel_format_fit(type, values, NULL, VALUES, again.plane), ACCEL_OK);
            assert_true(error_of(type, &again, values, NULL) < 1e-6);
        }
    planes_free(&p);
    planes_free(&again);
    free(values);
}

/* Values out of 16 levels, whatever these are, come back as close as halves are: k-means finds them all. */
static void books_are_found(void **state)
{
    static const char *const names[] = {"c4_row", "c4_g64", "c4_g512"};
    struct planes p = planes_new();
    float *values = malloc(VALUES * sizeof(*values));
    uint64_t random = 7;

    (void)state;
    assert_non_null(values);
    for (size_t round = 0; round < 20; round++) {
        float level[16];

        for (size_t l = 0; l < 16; l++)
            level[l] = (float)(((double)l + 0.8 * uniform(&random)) / 8 - 1);
        level[0] = 1.5f;
        for (size_t v = 0; v < VALUES; v++)
            values[v] = level[v % 64 == 5 ? 0 : (size_t)(uniform(&random) * 16)];
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            uint32_t type = accel_format_find(names[i]);

            assert_int_equal(accel_format_encode(type, values, VALUES, p.plane), ACCEL_OK);
            assert_true(error_of(type, &p, values, NULL) < 1e-3);
            assert_int_equal(accel_format_fit(type, values, NULL, VALUES, p.plane), ACCEL_OK);
            assert_true(error_of(type, &p, values, NULL) < 1e-3);
        }
    }
    planes_free(&p);
    free(values);
}

/* A book is never worse than the fixed levels that it could have taken, and follows data that is not normal. */
static void books_follow_the_data(void **state)
{
    float *values = normal_values();
    struct planes p = planes_new();
    double fixed, book;

    (void)state;
    for (size_t v = 0; v < VALUES; v++)
        values[v] = values[v] * values[v] * values[v];
    assert_int_equal(accel_format_fit(accel_format_find("nf4_g128"), values, NULL, VALUES, p.plane), ACCEL_OK);
    fixed = error_of(accel_format_find("nf4_g128"), &p, values, NULL);
    assert_int_equal(accel_format_fit(accel_format_find("c4_g128"), values, NULL, VALUES, p.plane), ACCEL_OK);
    book = error_of(accel_format_find("c4_g128"), &p, values, NULL);
    print_message("  cubes of normal values: nf4_g128 %.5f, c4_g128 %.5f\n", fixed, book);
    assert_true(book < 0.9 * fixed);
    planes_free(&p);
    free(values);
}

/* No value is further from what it decodes to than the widest step of the levels around it. */
static void errors_are_bounded(void **state)
{
    static const struct {
        const char *name;
        double bound; /* of the error over the largest magnitude of its group */
    } rows[] = {
        {"q2_row", 0.5},     {"q3_row", 0.25},    {"q4_row", 0.125},   {"q8_row", 0.0041},  {"q4_rowa", 0.07},
        {"q8_rowa", 0.0042}, {"nf4_g32", 0.1530}, {"nf4_g512", 0.153}, {"nf4_row", 0.1530},
    };
    float *values = normal_values(), *again = malloc(VALUES * sizeof(*again));
    struct planes p = planes_new();

    (void)state;
    assert_non_null(again);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const size_t width = 2048;
        uint32_t type = accel_format_find(rows[i].name);
        struct accel_format format;

        assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
        for (size_t row = 0; row < 16; row++) {
            const float *x = values + row * width;
            size_t group = format.group != 0 ? format.group : width;

            assert_int_equal(accel_format_encode(type, x, width, p.plane), ACCEL_OK);
            assert_int_equal(accel_format_decode(type, (const void *const *)p.plane, width, again), ACCEL_OK);
            for (size_t v = 0; v < width; v++) {
                double most = 0;

                for (size_t g = v / group * group; g < (v / group + 1) * group; g++)
                    most = fmax(most, fabs((double)x[g]));
                if (fabs((double)again[v] - (double)x[v]) > rows[i].bound * most)
                    fail_msg("%s: %g became %g in a group of %g", rows[i].name, (double)x[v], (double)again[v], most);
            }
        }
    }
    planes_free(&p);
    free(again);
    free(values);
}

/* Zero points end at the highest digit, so that values far from zero on one side have steps from zero on. A search
 * knows that on both sides. */
static void values_far_from_zero(void **state)
{
    static const char *const names[] = {"q8_g32a", "q4_g128a", "q4_rowa", "q3_g64a", "q2_g32a"};
    float *values = normal_values();
    struct planes p = planes_new();

    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        for (size_t v = 0; v < VALUES; v++)
            values[v] = (float)side * (fabsf(values[v]) + (side < 0 ? 5.0f : 0));
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            uint32_t type = accel_format_find(names[i]);
            double nearest;

            assert_int_equal(accel_format_encode(type, values, VALUES, p.plane), ACCEL_OK);
            nearest = error_of(type, &p, values, NULL);
            assert_int_equal(accel_format_fit(type, values, NULL, VALUES, p.plane), ACCEL_OK);
            if (error_of(type, &p, values, NULL) > 1.05 * nearest)
                fail_msg("%s: a search leaves %g, rounding to nearest %g", names[i], error_of(type, &p, values, NULL),
                         nearest);
        }
    }
    planes_free(&p);
    free(values);
}

/* A step that no half is small enough for is the smallest half, not zero. */
static void steps_below_halves(void **state)
{
    static const char *const names[] = {"q8_g128", "q8_g32a", "q4_g32"};
    static const double most[] = {0.02, 0.02, 0.2}, size[] = {1e-6, 1e-6, 1e-7};
    float *values = normal_values(), *small = malloc(VALUES * sizeof(*small));
    struct planes p = planes_new();

    (void)state;
    assert_non_null(small);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        uint32_t type = accel_format_find(names[i]);

        for (size_t v = 0; v < VALUES; v++)
            small[v] = (float)((double)values[v] * size[i]);
        assert_int_equal(accel_format_encode(type, small, VALUES, p.plane), ACCEL_OK);
        assert_true(error_of(type, &p, small, NULL) < most[i]);
        assert_int_equal(accel_format_fit(type, small, NULL, VALUES, p.plane), ACCEL_OK);
        assert_true(error_of(type, &p, small, NULL) < most[i]);
    }
    planes_free(&p);
    free(small);
    free(values);
}

static void odd_groups(void **state)
{
    static float groups[][512] = {{0},          {[7] = 3.5f},   {[0] = -1e30f, [1] = 1e30f}, {[3] = 1e-30f},
                                  {[5] = 6e4f}, {[3] = 1e-38f}, {[0] = -3e38f, [1] = 3e38f}};
    struct planes p = planes_new();
    float again[512], constant[512];

    (void)state;
    for (size_t i = 0; i < 512; i++)
        constant[i] = -0.75f;
    for (size_t i = 0; i < FORMATS; i++)
        for (size_t g = 0; g <= sizeof(groups) / sizeof(*groups); g++) {
            const float *values = g < sizeof(groups) / sizeof(*groups) ? groups[g] : constant;
            uint32_t type = accel_format_find(formats[i].name);

            for (int search = 0; search < 2; search++) {
                if (search)
                    assert_int_equal(accel_format_fit(type, values, NULL, 512, p.plane), ACCEL_OK);
                else
                    assert_int_equal(accel_format_encode(type, values, 512, p.plane), ACCEL_OK);
                assert_int_equal(accel_format_decode(type, (const void *const *)p.plane, 512, again), ACCEL_OK);
                for (size_t v = 0; v < 512; v++)
                    assert_true(isfinite(again[v]) && (g != 0 || again[v] == 0));
            }
        }
    planes_free(&p);
}

/* Where a group's scale passes what a half holds its values saturate, each on its own side of zero. */
static void sides_are_kept(void **state)
{
    struct planes p = planes_new();
    float values[512], again[512];

    (void)state;
    for (size_t i = 0; i < 512; i++)
        values[i] = i % 2 ? -1e20f : 2e20f;
    for (size_t i = 0; i < FORMATS; i++) {
        uint32_t type = accel_format_find(formats[i].name);

        for (int search = 0; search < 2; search++) {
            assert_int_equal(search ? accel_format_fit(type, values, NULL, 512, p.plane)
                                    : accel_format_encode(type, values, 512, p.plane),
                             ACCEL_OK);
            assert_int_equal(accel_format_decode(type, (const void *const *)p.plane, 512, again), ACCEL_OK);
            for (size_t v = 0; v < 512; v++)
                assert_true(v % 2 ? again[v] <= 0 : again[v] >= 0);
        }
    }
    planes_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_normal_data),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(searches_gain),
        cmocka_unit_test(grids_come_back),
        cmocka_unit_test(values_far_from_zero),
        cmocka_unit_test(steps_below_halves),
        cmocka_unit_test(odd_groups),
        cmocka_unit_test(books_are_found),
        cmocka_unit_test(books_follow_the_data),
        cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(sides_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
