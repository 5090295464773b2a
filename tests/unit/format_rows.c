/* SPDX-License-Identifier: Apache-2.0 */
/* A row by itself: where its planes lie, that it comes back as it was encoded, and what it lost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/file/rows.h"

enum { WIDTH = 64, ROWS = 3 };

static const struct accel_model_tensor matrix = {.rank = 2, .dims = {ROWS, WIDTH}};

static void test_shape(void **state)
{
    const struct accel_model_tensor scalar = {.rank = 0}, vector = {.rank = 1, .dims = {7}};

    (void)state;
    assert_int_equal(model_tensor_width(&scalar), 1);
    assert_int_equal(model_tensor_elements(&scalar), 1);
    assert_int_equal(model_tensor_width(&vector), 7);
    assert_int_equal(model_tensor_elements(&vector), 7);
    assert_int_equal(model_tensor_elements(&matrix), ROWS * WIDTH);
}

static void test_planes(void **state)
{
    unsigned char row[WIDTH];
    void *planes[ACCEL_FORMAT_PLANES];
    struct model_rows rows;

    (void)state;
    /* Digits, a scale for each of two groups, a zero point for each. */
    assert_int_equal(model_rows_of(&matrix, ACCEL_PLANAR(4u, 5u, ACCEL_SCHEME_ASYMMETRIC), &rows), ACCEL_OK);
    assert_int_equal(rows.all_bytes, 32 + 4 + 2);
    model_row_planes(&rows, row, planes);
    assert_ptr_equal(planes[0], row);
    assert_ptr_equal(planes[1], row + 32);
    assert_ptr_equal(planes[2], row + 36);
    assert_int_equal(model_rows_plane(&rows, 2), ROWS * 36);
    assert_int_equal(model_rows_of(&matrix, ACCEL_I32, &rows), ACCEL_E_UNSUPPORTED);
    assert_int_equal(model_rows_of(&matrix, ACCEL_Q4_K, &rows), ACCEL_E_INVALID);
}

static void test_fit(void **state)
{
    float values[WIDTH], again[WIDTH];
    unsigned char row[WIDTH + 4];
    struct model_loss loss = {0, 0};
    struct model_rows rows;

    (void)state;
    for (int i = 0; i < WIDTH; i++)
        values[i] = sinf((float)i);
    assert_int_equal(model_rows_of(&matrix, ACCEL_Q8_G32, &rows), ACCEL_OK);
    assert_int_equal(rows.all_bytes, sizeof(row));
    assert_int_equal(model_row_fit(&rows, values, NULL, row, again), ACCEL_OK);
    model_loss_add(&loss, values, again, NULL, WIDTH);
    assert_true(model_loss_error(&loss) > 0 && model_loss_error(&loss) < 0.01);
    /* What was stored can be stored without loss. */
    assert_int_equal(model_row_fit(&rows, again, NULL, row, values), ACCEL_OK);
    assert_memory_equal(values, again, sizeof(values));
}

static void test_loss(void **state)
{
    const float values[] = {3, 4}, again[] = {3, 1}, weight[] = {1, 0};
    struct model_loss loss = {0, 0};

    (void)state;
    assert_true(model_loss_error(&loss) == 0);
    model_loss_add(&loss, values, again, weight, 2);
    assert_true(loss.difference == 0 && loss.power == 9);
    model_loss_add(&loss, values, again, NULL, 2);
    assert_true(loss.difference == 9 && loss.power == 34);
    assert_true(model_loss_error(&loss) == sqrt(9.0 / 34));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_planes),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
