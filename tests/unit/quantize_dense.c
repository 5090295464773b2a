/* SPDX-License-Identifier: Apache-2.0 */
/* Products against three loops in binary64, the factor against what it has to fulfil, and both with more threads. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convert/quantize/dense.h"

static float *noise(size_t count, uint32_t seed)
{
    float *values = malloc(count * sizeof(*values));
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) * 0x1p-24f - 0.5f;
    }
    return values;
}

static struct dense_team team_of(uint32_t threads)
{
    struct dense_team team;
    struct accel_error error = {0};
    assert_int_equal(dense_team_create(threads, &team, &error), ACCEL_OK);
    return team;
}

/* One product, plain or with both factors transposed in memory, with every flag. */
static void check_product(size_t rows, size_t columns, size_t depth, int transposed, int overwrite, int lower,
                          int b_lower)
{
    struct dense_team team = team_of(1), several = team_of(3);
    float *a = noise(rows * depth, 1), *b = noise(depth * columns, 2), *c = noise(rows * columns, 3);
    float *before = noise(rows * columns, 3), *again = noise(rows * columns, 3);
    struct dense_product p = {.rows = rows, .columns = columns, .depth = depth, .a = a, .b = b, .c = c, .sign = -1};
    p.a_row = transposed ? 1 : depth, p.a_depth = transposed ? rows : 1;
    p.b_column = transposed ? depth : 1, p.b_depth = transposed ? 1 : columns;
    p.c_row = columns;
    p.overwrite = (uint32_t)overwrite, p.lower = (uint32_t)lower, p.b_lower = (uint32_t)b_lower;
    for (size_t k = 0; k < depth && b_lower; k++)
        for (size_t j = k + 1; j < columns; j++)
            b[k * p.b_depth + j * p.b_column] = 0;
    dense_multiply(&p, team.scratch);
    p.c = again;
    dense_multiply_together(&p, &several);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < (lower ? i + 1 : columns); j++) {
            double sum = overwrite ? 0 : before[i * columns + j];
            for (size_t k = 0; k < depth; k++)
                sum -= (double)a[i * p.a_row + k * p.a_depth] * b[k * p.b_depth + j * p.b_column];
            assert_true(fabs(sum - c[i * columns + j]) < 1e-5 * (1 + (double)depth));
            assert_true(c[i * columns + j] == again[i * columns + j]);
        }
    free(a), free(b), free(c), free(before), free(again);
    dense_team_free(&team);
    dense_team_free(&several);
}

static void products_of_all_shapes(void **state)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {6, 16, 5}, {7, 17, 300}, {200, 300, 31}, {257, 260, 257}};
    (void)state;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
        for (int flags = 0; flags < 16; flags++) {
            /* A triangle needs a square. */
            size_t columns = flags & 8 ? shapes[s][2] : shapes[s][1], rows = flags & 4 ? columns : shapes[s][0];
            check_product(rows, columns, shapes[s][2], flags & 1, flags >> 1 & 1, flags >> 2 & 1, flags >> 3 & 1);
        }
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    check_product(400, 600, 300, 0, 0, 0, 0);
    check_product(400, 400, 300, 1, 0, 1, 0);
}

/* Means of products of `rows` rows of correlated noise. */
static float *moments(size_t rows, size_t n)
{
    struct dense_team team = team_of(2);
    float *x = noise(rows * n, 7), *h = calloc(n * n, sizeof(*h));
    assert_non_null(h);
    for (size_t i = 1; i < rows * n; i++)
        x[i] += i % n > 0 ? 0.9f * x[i - 1] : 0;
    dense_add_outer(h, x, rows, n, &team);
    dense_mirror(h, n);
    free(x);
    dense_team_free(&team);
    return h;
}

/* u (h + d) u^T is the identity. */
static void check_factor(const float *h, const float *u, size_t n, double share)
{
    double *half = calloc(n * n, sizeof(*half)), mean = 0;
    assert_non_null(half);
    for (size_t i = 0; i < n; i++)
        mean += (double)h[i * n + i] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            for (size_t j = 0; j < n; j++)
                half[i * n + j] += (double)u[i * n + k] * ((double)h[k * n + j] + (k == j ? share * mean : 0));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = j; k < n; k++)
                sum += half[i * n + k] * u[j * n + k];
            assert_true(fabs(sum - (i == j)) < 1e-3);
            assert_true(j >= i || u[i * n + j] == 0);
        }
    free(half);
}

static void the_factor_fulfils_its_equation(void **state)
{
    static const size_t sizes[] = {1, 5, 128, 131, 300};
    struct dense_team team = team_of(1), several = team_of(3);
    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        size_t n = sizes[s];
        double share = 0.01, same = 0.01;
        struct accel_error error = {0};
        /* Fewer rows than columns: without the damping there is no factor. */
        float *h = moments(n / 2 + 1, n), *u = malloc(n * n * sizeof(*u)), *again = malloc(n * n * sizeof(*again));
        assert_non_null(u);
        assert_non_null(again);
        assert_int_equal(dense_inverse_factor(h, n, &team, &share, u, &error), ACCEL_OK);
        assert_true(share == 0.01);
        check_factor(h, u, n, share);
        assert_int_equal(dense_inverse_factor(h, n, &several, &same, again, &error), ACCEL_OK);
        assert_memory_equal(u, again, n * n * sizeof(*u));
        free(h), free(u), free(again);
    }
    dense_team_free(&team);
    dense_team_free(&several);
}

static void the_share_is_raised_where_it_must(void **state)
{
    struct dense_team team = team_of(1);
    struct accel_error error = {0};
    double share = 0.01;
    /* Eigenvalues 3 and -1. */
    float h[4] = {1, 2, 2, 1}, zeros[4] = {0}, u[4];
    (void)state;
    assert_int_equal(dense_inverse_factor(h, 2, &team, &share, u, &error), ACCEL_OK);
    assert_true(share > 1 && share < 100);
    check_factor(h, u, 2, share);
    share = 0.01;
    assert_int_equal(dense_inverse_factor(zeros, 2, &team, &share, u, &error), ACCEL_OK);
    assert_true(u[0] == 1 && u[1] == 0 && u[3] == 1);
    h[0] = NAN;
    assert_int_equal(dense_inverse_factor(h, 2, &team, &share, u, &error), ACCEL_E_CORRUPT);
    h[0] = 1, h[2] = NAN, share = 0.01;
    assert_int_equal(dense_inverse_factor(h, 2, &team, &share, u, &error), ACCEL_E_CORRUPT);
    dense_team_free(&team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_shapes),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(the_factor_fulfils_its_equation),
        cmocka_unit_test(the_share_is_raised_where_it_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
