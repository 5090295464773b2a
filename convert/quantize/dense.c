/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies matrices: tiles of both factors are packed into panels for a micro-kernel of 6 by 16 sums. */
#include "convert/quantize/dense.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/parallel.h"

/* Tile sizes: half of a small L2 cache for each factor. */
#define TILE_ROWS ((size_t)192)
#define TILE_COLUMNS ((size_t)256)
#define TILE_DEPTH ((size_t)256)

/* Kernel size: 12 registers of sums, two of b and two of a. */
#define ROWS ((size_t)6)
#define COLUMNS ((size_t)16)

/* Fewest multiplications worth starting threads. */
#define WORTH_THREADS ((size_t)1 << 22)

_Static_assert(DENSE_SCRATCH >= sizeof(float) * TILE_DEPTH * (TILE_ROWS + TILE_COLUMNS), "scratch holds both tiles");

typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));

/* sums [ROWS][COLUMNS] of panels a [depth][ROWS] and b [depth][COLUMNS]. */
DENSE_CLONES static void kernel(size_t depth, const float *a, const float *b, float *sums)
{
    lanes s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0};
    lanes s30 = {0}, s31 = {0}, s40 = {0}, s41 = {0}, s50 = {0}, s51 = {0};
    lanes *out = (lanes *)sums;
    for (size_t k = 0; k < depth; k++, a += ROWS, b += COLUMNS) {
        const lanes b0 = *(const lanes *)b, b1 = *(const lanes *)(b + 8);
        s00 += a[0] * b0;
        s01 += a[0] * b1;
        s10 += a[1] * b0;
        s11 += a[1] * b1;
        s20 += a[2] * b0;
        s21 += a[2] * b1;
        s30 += a[3] * b0;
        s31 += a[3] * b1;
        s40 += a[4] * b0;
        s41 += a[4] * b1;
        s50 += a[5] * b0;
        s51 += a[5] * b1;
    }
    out[0] = s00, out[1] = s01, out[2] = s10, out[3] = s11, out[4] = s20, out[5] = s21;
    out[6] = s30, out[7] = s31, out[8] = s40, out[9] = s41, out[10] = s50, out[11] = s51;
}

/* Panels [ceil(count / width)][depth][width] of elements (i, k) at from[i * step + k * deep]; zeros past the end. The
 * width is a constant of each caller, so that copies are a few instructions. */
static inline void pack(const float *from, size_t step, size_t deep, size_t count, size_t depth, const size_t width,
                        float *out)
{
    for (size_t i = 0; i < count; i += width, out += depth * width) {
        size_t valid = count - i < width ? count - i : width;
        const float *panel = from + i * step;
        if (valid < width)
            memset(out, 0, depth * width * sizeof(*out));
        if (valid == width && step == 1)
            for (size_t k = 0; k < depth; k++)
                memcpy(out + k * width, panel + k * deep, width * sizeof(*out));
        else if (valid == width)
            for (size_t k = 0; k < depth; k++)
                for (size_t j = 0; j < width; j++)
                    out[k * width + j] = panel[j * step + k * deep];
        else
            for (size_t k = 0; k < depth; k++)
                for (size_t j = 0; j < valid; j++)
                    out[k * width + j] = panel[j * step + k * deep];
    }
}

DENSE_CLONES static void pack_a(const struct dense_product *p, size_t row, size_t k, size_t rows, size_t depth,
                                float *out)
{
    pack(p->a + row * p->a_row + k * p->a_depth, p->a_row, p->a_depth, rows, depth, ROWS, out);
}

DENSE_CLONES static void pack_b(const struct dense_product *p, size_t k, size_t column, size_t depth, size_t columns,
                                float *out)
{
    pack(p->b + k * p->b_depth + column * p->b_column, p->b_column, p->b_depth, columns, depth, COLUMNS, out);
}

/* Adds or stores the part of a kernel's sums that lies in the matrix. */
DENSE_CLONES static void store(const struct dense_product *p, const float *sums, size_t row, size_t column,
                               bool overwrite)
{
    size_t rows = p->rows - row < ROWS ? p->rows - row : ROWS;
    size_t columns = p->columns - column < COLUMNS ? p->columns - column : COLUMNS;
    const float sign = p->sign;
    for (size_t i = 0; i < rows; i++) {
        float *c = p->c + (row + i) * p->c_row + column;
        const float *s = sums + i * COLUMNS;
        if (columns == COLUMNS && !overwrite) {
            for (size_t j = 0; j < COLUMNS; j++)
                c[j] += sign * s[j];
            continue;
        }
        for (size_t j = 0; j < columns; j++)
            c[j] = overwrite ? sign * s[j] : c[j] + sign * s[j];
    }
}

/* Computes the tile of c at `row`, `column`. */
static void multiply_tile(const struct dense_product *p, size_t row, size_t column, float *scratch)
{
    size_t rows = p->rows - row < TILE_ROWS ? p->rows - row : TILE_ROWS;
    size_t columns = p->columns - column < TILE_COLUMNS ? p->columns - column : TILE_COLUMNS;
    float *a = scratch, *b = scratch + TILE_DEPTH * TILE_ROWS, sums[ROWS * COLUMNS];
    /* Above its diagonal a lower triangular b is zero, but c is to be overwritten once even so. */
    size_t first = p->b_lower ? column / TILE_DEPTH * TILE_DEPTH : 0, begin = first < p->depth ? first : 0;
    for (size_t k = begin; k < p->depth; k += TILE_DEPTH) {
        size_t depth = p->depth - k < TILE_DEPTH ? p->depth - k : TILE_DEPTH;
        bool overwrite = p->overwrite && k == begin;
        pack_a(p, row, k, rows, depth, a);
        pack_b(p, k, column, depth, columns, b);
        for (size_t j = 0; j < columns; j += COLUMNS)
            for (size_t i = 0; i < rows; i += ROWS) {
                if (p->lower && column + j >= row + i + ROWS)
                    continue;
                kernel(depth, a + i * depth, b + j * depth, sums);
                store(p, sums, row + i, column + j, overwrite);
            }
    }
}

static size_t tiles(size_t count, size_t tile)
{
    return (count + tile - 1) / tile;
}

static bool is_wanted(const struct dense_product *p, size_t row, size_t column)
{
    return !p->lower || column < row + TILE_ROWS;
}

void dense_multiply(const struct dense_product *product, float *scratch)
{
    for (size_t row = 0; row < product->rows; row += TILE_ROWS)
        for (size_t column = 0; column < product->columns; column += TILE_COLUMNS)
            if (is_wanted(product, row, column))
                multiply_tile(product, row, column, scratch);
}

/* ---- teams ---- */

struct together {
    const struct dense_product *product;
    const struct dense_team *team;
    atomic_size_t next; /* tile */
};

static void work(void *data, uint32_t index)
{
    struct together *together = data;
    const struct dense_product *p = together->product;
    float *scratch = together->team->scratch + index * (DENSE_SCRATCH / sizeof(float));
    size_t across = tiles(p->columns, TILE_COLUMNS), all = across * tiles(p->rows, TILE_ROWS), tile;
    while ((tile = atomic_fetch_add(&together->next, 1)) < all) {
        size_t row = tile / across * TILE_ROWS, column = tile % across * TILE_COLUMNS;
        if (is_wanted(p, row, column))
            multiply_tile(p, row, column, scratch);
    }
}

void dense_multiply_together(const struct dense_product *product, const struct dense_team *team)
{
    struct together together = {.product = product, .team = team};
    const bool worth = product->rows * product->columns * product->depth >= WORTH_THREADS;
    model_parallel_for(worth ? team->threads : 1, work, &together);
}

int32_t dense_team_create(uint32_t threads, struct dense_team *out_team, struct accel_error *error)
{
    uint32_t count = threads == 0 ? 1 : threads;
    float *scratch = aligned_alloc(64, count * DENSE_SCRATCH);
    if (scratch == NULL)
        return accel_error_no_memory(error, "for %zu bytes", count * DENSE_SCRATCH);
    *out_team = (struct dense_team){.threads = count, .scratch = scratch};
    return ACCEL_OK;
}

void dense_team_free(struct dense_team *team)
{
    free(team->scratch);
    *team = (struct dense_team){0};
}

/* ---- sums of outer products ---- */

void dense_add_outer(float *sum, const float *x, size_t rows, size_t width, const struct dense_team *team)
{
    const struct dense_product product = {.rows = width,
                                          .columns = width,
                                          .depth = rows,
                                          .a = x,
                                          .a_row = 1,
                                          .a_depth = width,
                                          .b = x,
                                          .b_depth = width,
                                          .b_column = 1,
                                          .c = sum,
                                          .c_row = width,
                                          .sign = 1,
                                          .lower = 1};
    dense_multiply_together(&product, team);
}

void dense_mirror(float *matrix, size_t width)
{
    /* In blocks, since one side runs down the columns. */
    enum { BLOCK = 32 };
    for (size_t i = 0; i < width; i += BLOCK)
        for (size_t j = 0; j <= i; j += BLOCK)
            for (size_t row = i; row < i + BLOCK && row < width; row++)
                for (size_t column = j; column < j + BLOCK && column < row; column++)
                    matrix[column * width + row] = matrix[row * width + column];
}

double dense_quadratic(const float *x, size_t rows, size_t width, const float *h, float *product, float *scratch)
{
    const struct dense_product p = {.rows = rows,
                                    .columns = width,
                                    .depth = width,
                                    .a = x,
                                    .a_row = width,
                                    .a_depth = 1,
                                    .b = h,
                                    .b_depth = width,
                                    .b_column = 1,
                                    .c = product,
                                    .c_row = width,
                                    .sign = 1,
                                    .overwrite = true};
    double sum = 0;
    dense_multiply(&p, scratch);
    for (size_t i = 0; i < rows * width; i++)
        sum += (double)x[i] * (double)product[i];
    return sum;
}
