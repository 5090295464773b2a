/* SPDX-License-Identifier: Apache-2.0 */
/* Extents with symbols, and the bytes of every type held against the registry of formats. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <accel/builder.h>
#include <accel/quant/format.h>

#include "core/graph/dim.h"
#include "core/graph/types.h"

#define T(m, d, a)                                                                                                     \
    {                                                                                                                  \
        1, m, d, 0, a                                                                                                  \
    }
#define S(m, d, a)                                                                                                     \
    {                                                                                                                  \
        2, m, d, 0, a                                                                                                  \
    }
#define N(a)                                                                                                           \
    {                                                                                                                  \
        0, 0, 0, 0, a                                                                                                  \
    }

static void test_value(void **state)
{
    static const struct {
        struct accel_dim dim;
        int32_t code;
        uint64_t extent;
    } cases[] = {
        {N(7), ACCEL_OK, 7},
        {T(1, 1, 0), ACCEL_OK, 12},
        {T(3, 4, 5), ACCEL_OK, 14},
        {T(1, 5, 0), ACCEL_E_INVALID, 0},
        {T(1, 0, 0), ACCEL_E_INVALID, 0},
        {S(4, 1, 0), ACCEL_E_INVALID, 0},
        {S(1, 1, 0), ACCEL_OK, UINT64_MAX / 2},
        {T(1, 1, UINT64_MAX), ACCEL_E_INVALID, 0},
        {{3, 1, 1, 0, 0}, ACCEL_E_INVALID, 0},
    };
    const uint64_t symbols[] = {12, UINT64_MAX / 2};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t extent = 0;
        assert_int_equal(accel_dim_value(&cases[i].dim, symbols, 2, &extent, NULL), cases[i].code);
        assert_int_equal(extent, cases[i].extent);
    }
    assert_int_equal(accel_dim_value(NULL, symbols, 2, &(uint64_t){0}, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_dim_value(&cases[1].dim, NULL, 2, &(uint64_t){0}, NULL), ACCEL_E_INVALID);
}

static void test_equal(void **state)
{
    struct accel_dim a = T(6, 4, 1), b = T(3, 2, 1), c = T(3, 2, 0), d = S(3, 2, 1), e = N(1), sum;
    (void)state;
    assert_true(accel_dim_equal(&a, &b));
    assert_false(accel_dim_equal(&a, &c));
    assert_false(accel_dim_equal(&a, &d));
    assert_false(accel_dim_equal(&a, &e));
    assert_true(accel_dim_plus(&c, 1, &sum));
    assert_true(accel_dim_equal(&sum, &b));
    e.add = UINT64_MAX;
    assert_false(accel_dim_plus(&e, 1, &sum));
}

static void test_product(void **state)
{
    static const struct {
        uint32_t a_rank, b_rank;
        struct accel_dim a[6], b[6];
        bool same;
    } cases[] = {
        {2, 3, {T(1, 1, 0), N(64)}, {T(1, 1, 0), N(4), N(16)}, true},
        {2, 2, {T(1, 1, 0), N(64)}, {N(32), T(2, 1, 0)}, true},
        {2, 1, {T(1, 1, 0), N(64)}, {T(64, 1, 0)}, true},
        {2, 2, {T(1, 2, 0), N(64)}, {T(1, 1, 0), N(32)}, true},
        {2, 2, {T(1, 1, 0), S(1, 1, 0)}, {S(1, 1, 0), T(1, 1, 0)}, true},
        {2, 2, {T(1, 1, 0), T(1, 1, 0)}, {T(2, 1, 0), T(1, 2, 0)}, true},
        {2, 2, {T(1, 1, 1), N(6)}, {N(6), T(1, 1, 1)}, true},
        {2, 2, {T(1, 1, 0), N(64)}, {T(1, 1, 0), N(63)}, false},
        {2, 1, {T(1, 1, 0), N(64)}, {N(64)}, false},
        {2, 2, {T(1, 1, 0), N(64)}, {S(1, 1, 0), N(64)}, false},
        {2, 1, {T(1, 1, 0), T(1, 1, 0)}, {T(1, 1, 0)}, false},
        {1, 2, {T(1, 1, 1)}, {T(1, 1, 0), N(1)}, false},
        {3, 1, {N(UINT64_MAX), N(UINT64_MAX), N(2)}, {N(2)}, false},
        {1, 1, {N(0)}, {N(1)}, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (accel_dims_same_product(cases[i].a_rank, cases[i].a, cases[i].b_rank, cases[i].b) != cases[i].same)
            fail_msg("case %zu", i);
        if (accel_dims_same_product(cases[i].b_rank, cases[i].b, cases[i].a_rank, cases[i].a) != cases[i].same)
            fail_msg("case %zu, turned round", i);
    }
}

/* Every id that one of the two knows, both know, with the same bytes and name. */
static void test_types(void **state)
{
    uint32_t known = 0;
    (void)state;
    for (uint32_t type = 0; type < 0x12000u; type++) {
        struct accel_format format;
        struct accel_type_layout layout;
        char name[ACCEL_TYPE_TEXT];
        bool ours = accel_type_describe(type, &layout);
        assert_int_equal(ours, accel_format_describe(type, &format) == ACCEL_OK);
        if (!ours)
            continue;
        known++;
        assert_int_equal(layout.block_values, format.block_values);
        assert_int_equal(layout.planes, format.planes);
        for (uint32_t p = 0; p < ACCEL_TYPE_PLANES; p++) {
            assert_int_equal(layout.plane_bytes[p], format.plane_bytes[p]);
            assert_int_equal(layout.row_bytes[p], format.row_bytes[p]);
        }
        assert_string_equal(accel_type_text(type, name), format.name);
    }
    enum {
        FORMATS = 0
#define ACCEL_FORMAT(...) +1
#define ACCEL_ELEMENT(...) +1
#include <accel/quant/formats.def>
        ,
        PLANAR = 0
#define ACCEL_PLANAR_FORMAT(...) +1
#include <accel/quant/formats.def>
    };
    assert_int_equal(known, FORMATS + PLANAR * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
