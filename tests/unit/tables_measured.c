/* SPDX-License-Identifier: Apache-2.0 */
/* What claims.yaml and advice.yaml say about errors and bits of weights, measured with this library's own encoders:
 * numbers in the tables have to be what comes out here. The generator has a fixed seed. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/quant/format.h>
#include <accel/types.h>

#include "tools/tables/tables.h"

enum { VALUES = 1 << 17 };

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

/* Normal, or with the tails of Student's t of five degrees of freedom. */
static float *make_values(int heavy)
{
    float *values = malloc(VALUES * sizeof(*values));
    uint64_t state = 0x9e3779b97f4a7c15u;
    assert_non_null(values);
    for (size_t i = 0; i < VALUES; i++) {
        double value = normal(&state), squares = 0;
        for (int k = 0; heavy && k < 5; k++) {
            double other = normal(&state);
            squares += other * other;
        }
        values[i] = (float)(heavy ? value / sqrt(squares / 5) : value);
    }
    return values;
}

/* Relative RMS error of one type on these values. */
static double error_of(uint32_t type, const float *values)
{
    struct accel_format format;
    void *planes[ACCEL_FORMAT_PLANES] = {NULL};
    float *decoded = malloc(VALUES * sizeof(*decoded));
    double error = 0, total = 0;
    size_t bytes;
    assert_non_null(decoded);
    assert_int_equal(accel_format_describe(type, &format), 0);
    for (uint32_t p = 0; p < format.planes; p++) {
        assert_int_equal(accel_format_row_bytes(type, p, VALUES, &bytes), 0);
        planes[p] = malloc(bytes);
        assert_non_null(planes[p]);
    }
    assert_int_equal(accel_format_encode(type, values, VALUES, planes), 0);
    assert_int_equal(accel_format_decode(type, (const void *const *)planes, VALUES, decoded), 0);
    for (size_t i = 0; i < VALUES; i++) {
        double off = (double)decoded[i] - (double)values[i];
        error += off * off;
        total += (double)values[i] * (double)values[i];
    }
    for (uint32_t p = 0; p < format.planes; p++)
        free(planes[p]);
    free(decoded);
    return sqrt(error / total);
}

/* The numbers as the tables print them. */
static const struct {
    uint32_t type;
    int heavy;
    const char *printed;
} errors[] = {
    {ACCEL_PLANAR(2u, 7u, ACCEL_SCHEME_SYMMETRIC), 0, "0.42"},
    {ACCEL_PLANAR(2u, 5u, ACCEL_SCHEME_SYMMETRIC), 0, "0.36"},
    {ACCEL_PLANAR(3u, 7u, ACCEL_SCHEME_SYMMETRIC), 0, "0.21"},
    {ACCEL_PLANAR(8u, 7u, ACCEL_SCHEME_SYMMETRIC), 0, "0.0065"},
    {ACCEL_PLANAR(2u, 7u, ACCEL_SCHEME_ASYMMETRIC), 0, "0.50"},
    {ACCEL_PLANAR(4u, 7u, ACCEL_SCHEME_SYMMETRIC), 1, "0.15"},
    {ACCEL_PLANAR(4u, 7u, ACCEL_SCHEME_ASYMMETRIC), 1, "0.13"},
};

static void errors_of_types(void **state)
{
    float *values[2] = {make_values(0), make_values(1)};
    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        double error = error_of(errors[i].type, values[errors[i].heavy]);
        print_message("%#x: %.4f\n", errors[i].type, error);
        if (!accel_formula_agrees(errors[i].printed, error))
            fail_msg("type %#x: %.4f is not %s", errors[i].type, error, errors[i].printed);
    }
    free(values[0]);
    free(values[1]);
}

/* Bits of a weight, scales included, as every formula of the tables takes them. */
static void bits_of_types(void **state)
{
    static const struct {
        uint32_t type;
        double bits;
    } rows[] = {
        {ACCEL_PLANAR(2u, 7u, ACCEL_SCHEME_SYMMETRIC), 2 + 16.0 / 128},
        {ACCEL_PLANAR(3u, 7u, ACCEL_SCHEME_SYMMETRIC), 3 + 16.0 / 128},
        {ACCEL_PLANAR(4u, 7u, ACCEL_SCHEME_SYMMETRIC), 4 + 16.0 / 128},
        {ACCEL_PLANAR(4u, 9u, ACCEL_SCHEME_SYMMETRIC), 4 + 16.0 / 512},
        {ACCEL_PLANAR(8u, 7u, ACCEL_SCHEME_SYMMETRIC), 8 + 16.0 / 128},
    };
    struct accel_format format;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(accel_format_describe(rows[i].type, &format), 0);
        assert_true(format.bits_per_value == rows[i].bits);
    }
}

/* A claim whose number is measured names one that was measured above, or the rows of `accelctl scores` that it is of.
 */
static void measured_claims(void **state)
{
    struct accel_tables *tables = NULL;
    struct accel_error error = {0};
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    uint32_t measured = 0;
    char folder[4096];
    (void)state;
    snprintf(folder, sizeof(folder), "%s/profiles", top ? top : ".");
    assert_int_equal(accel_tables_load(folder, &tables, &error), ACCEL_OK);
    for (uint32_t i = 0; i < accel_promise_count(tables); i++) {
        const struct accel_promise *promise = accel_promise_get(tables, i);
        int known = 0;
        if (strcmp(promise->origin, "measured") != 0 || strncmp(promise->check, "accelctl scores", 15) == 0)
            continue;
        for (size_t k = 0; k < sizeof(errors) / sizeof(errors[0]); k++)
            known = known || strcmp(promise->ours, errors[k].printed) == 0;
        if (!known || strstr(promise->formula, "tests/unit/tables_measured") == NULL)
            fail_msg("%s: %s was not measured here", promise->place, promise->ours);
        measured++;
    }
    assert_true(measured > 0);
    accel_tables_free(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_types),
        cmocka_unit_test(bits_of_types),
        cmocka_unit_test(measured_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
