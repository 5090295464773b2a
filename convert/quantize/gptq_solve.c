/* SPDX-License-Identifier: Apache-2.0 */
/* Compensates errors: the columns of a block of 128 one by one, all later columns by one product per block. */
#include "convert/quantize/gptq_solve.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "convert/quantize/dense.h"
#include "model/file/rows.h"

#define BLOCK ((size_t)128)

typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
#define LANES ((size_t)8)

struct solver {
    const struct gptq_matrix *matrix;
    struct accel_format format;
    struct model_rows rows;
    size_t fitted; /* values fitted together */
    size_t column; /* the first of the block */
    size_t columns;
    float *u;       /* [BLOCK, BLOCK] of the block, of the factor or of h; zeros where it has less */
    float *inverse; /* [BLOCK] of the diagonal */
    float *errors;  /* [rows, BLOCK], or gradients */
    float *product; /* DENSE_SCRATCH */
};

size_t gptq_scratch_bytes(size_t rows, size_t width)
{
    (void)width;
    return DENSE_SCRATCH + sizeof(float) * BLOCK * (BLOCK + 1 + rows);
}

void gptq_weights(const float *u, size_t width, float *weight)
{
    for (size_t i = 0; i < width; i++) {
        float d = u[i * width + i];
        weight[i] = 1 / (d * d);
    }
}

/* Divides the scratch memory; the layout of a separate row is the same for all rows. */
static int32_t divide_scratch(const struct gptq_matrix *matrix, void *scratch, struct solver *s)
{
    const struct accel_model_tensor row = {.rank = 1, .dims = {matrix->width}};
    *s = (struct solver){.matrix = matrix, .product = scratch};
    int32_t code = accel_format_describe(matrix->type, &s->format);
    if (code == ACCEL_OK)
        code = model_rows_of(&row, matrix->type, &s->rows);
    s->u = s->product + DENSE_SCRATCH / sizeof(float);
    s->inverse = s->u + BLOCK * BLOCK;
    s->errors = s->inverse + BLOCK;
    s->fitted = s->format.block_values;
    for (uint32_t p = 0; code == ACCEL_OK && p < s->format.planes; p++)
        s->fitted = s->format.row_bytes[p] > 0 ? matrix->width : s->fitted;
    return code;
}

/* Loads the block's columns of `u` and the inverse of its diagonal. */
static void load_block(struct solver *s)
{
    const size_t width = s->matrix->width;
    memset(s->u, 0, BLOCK * BLOCK * sizeof(*s->u));
    for (size_t i = 0; i < s->columns; i++) {
        memcpy(s->u + i * BLOCK, s->matrix->u + (s->column + i) * width + s->column, s->columns * sizeof(*s->u));
        s->inverse[i] = 1 / s->u[i * BLOCK + i];
    }
}

/* Fits the scales of the values from `column` on. */
static int32_t fit_scales(const struct solver *s, const float *row, size_t column, void *const *planes)
{
    const struct gptq_matrix *m = s->matrix;
    void *at[ACCEL_FORMAT_PLANES] = {NULL};
    for (uint32_t p = 0; p < s->format.planes; p++)
        at[p] = (unsigned char *)planes[p] + column / s->format.block_values * s->format.plane_bytes[p];
    return accel_format_fit(m->type, row + column, m->weight + column, s->fitted, at);
}

/* Returns the code of the nearest level. */
static int32_t find_nearest_code(const struct accel_format_run *run, float inverse, float value)
{
    float scaled = run->levels ? value * inverse : (value - run->offset) * inverse;
    float low = (float)run->lowest, high = (float)run->highest, distance;
    int32_t best = 0;
    if (!run->levels) {
        scaled = scaled > low ? scaled < high ? scaled : high : low;
        return (int32_t)lrintf(scaled);
    }
    distance = fabsf(scaled - run->level[0]);
    for (uint32_t i = 1; i < run->levels; i++) {
        float other = fabsf(scaled - run->level[i]);
        best = other < distance ? (int32_t)i : best;
        distance = other < distance ? other : distance;
    }
    return best;
}

static float value_of_code(const struct accel_format_run *run, int32_t code)
{
    return run->levels ? run->scale * run->level[code] : run->scale * (float)code + run->offset;
}

/* Subtracts the error of a column from later columns of the block. Earlier values are final and may change. */
DENSE_CLONES static void compensate(float *values, const float *u, size_t column, float error)
{
    for (size_t k = column / LANES * LANES; k < BLOCK; k += LANES)
        *(lanes *)(values + k) -= error * *(const lanes *)(u + k);
}

/* Encodes the block's columns of one row. */
static int32_t solve_row(const struct solver *s, float *row, float *errors, void *const *planes)
{
    const struct gptq_matrix *m = s->matrix;
    struct accel_format_run run = {.count = 0};
    float values[BLOCK] = {0}, inverse = 0;
    int32_t codes[BLOCK], code = ACCEL_OK;
    size_t end = 0;
    memcpy(values, row + s->column, s->columns * sizeof(*values));
    for (size_t i = 0; i < s->columns && code == ACCEL_OK; i++) {
        if ((s->column + i) % s->fitted == 0) {
            memcpy(row + s->column + i, values + i, (s->columns - i) * sizeof(*values));
            code = fit_scales(s, row, s->column + i, planes);
            end = i;
        }
        if (i >= end && code == ACCEL_OK) {
            code = accel_format_levels(m->type, (const void *const *)planes, m->width, s->column + i, &run);
            inverse = run.scale != 0 && isfinite(1 / run.scale) ? 1 / run.scale : 0;
            end = i + run.count;
        }
        if (code != ACCEL_OK)
            break;
        codes[i] = find_nearest_code(&run, inverse, values[i]);
        errors[i] = (values[i] - value_of_code(&run, codes[i])) * s->inverse[i];
        compensate(values, s->u + i * BLOCK, i, errors[i]);
    }
    return code == ACCEL_OK ? accel_format_put(m->type, planes, m->width, s->column, s->columns, codes) : code;
}

/* Encodes the block in all rows, and compensates later columns. */
static int32_t solve_block(const struct solver *s, float *values, size_t rows, unsigned char *out, size_t row_bytes)
{
    const size_t width = s->matrix->width, after = s->column + s->columns;
    const struct dense_product rest = {.rows = rows,
                                       .columns = width - after,
                                       .depth = s->columns,
                                       .a = s->errors,
                                       .a_row = BLOCK,
                                       .a_depth = 1,
                                       .b = s->matrix->u + s->column * width + after,
                                       .b_depth = width,
                                       .b_column = 1,
                                       .c = values + after,
                                       .c_row = width,
                                       .sign = -1};
    int32_t code = ACCEL_OK;
    for (size_t r = 0; r < rows && code == ACCEL_OK; r++) {
        void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        model_row_planes(&s->rows, out + r * row_bytes, planes);
        code = solve_row(s, values + r * width, s->errors + r * BLOCK, planes);
    }
    if (code == ACCEL_OK && after < width)
        dense_multiply(&rest, s->product);
    return code;
}

/* ---- refinement ---- */

/* Returns whether a block is one group and begins with its scale, a half: of the formats with an encoder those whose
 * blocks have two bytes or more beside the codes. */
static bool has_scale_first(uint32_t type)
{
    switch (type) {
#define HAS_READ false
#define HAS_ENCODED true
#define HAS_WRITTEN true
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, number, file_type, narrow, use, cache)            \
    case ACCEL_##ID:                                                                                                   \
        return HAS_##use && (values) == (group) && (bytes) >= (values) * (bits) / 8 + 2;
#include <accel/quant/formats.def>
    default:
        return false;
    }
}

/* Returns the address of a value's scale, or NULL if it has none of its own. */
static unsigned char *scale_at(const struct solver *s, size_t column, void *const *planes)
{
    if (s->format.kind == ACCEL_FORMAT_PLANAR)
        return (unsigned char *)planes[1] + (s->format.group ? column / s->format.group : 0) * 2;
    return has_scale_first(s->matrix->type)
               ? (unsigned char *)planes[0] + column / s->format.block_values * s->format.plane_bytes[0]
               : NULL;
}

/* Returns the quadratic form of the damped block of h for a change of level [BLOCK], which is zero outside of first ..
 * end. */
DENSE_CLONES static float compute_curvature(const float *u, const float *level, size_t first, size_t end)
{
    lanes sum = {0};
    float whole = 0;
    for (size_t i = first; i < end; i++) {
        lanes row = {0};
        for (size_t k = first / LANES * LANES; k < end; k += LANES)
            row += *(const lanes *)(u + i * BLOCK + k) * *(const lanes *)(level + k);
        sum += level[i] * row;
    }
    for (size_t k = 0; k < LANES; k++)
        whole += sum[k];
    return whole;
}

/* Replaces the scale shared by columns first .. end by the best one for its codes; returns the change. */
static float rescale(const struct solver *s, const struct accel_format_run *run, const float *level, const float *lost,
                     const float *gradient, size_t first, size_t end, unsigned char *scale)
{
    const float damping = s->matrix->damping;
    float slope = 0, curve = compute_curvature(s->u, level, first, end), wanted;
    for (size_t i = first; i < end; i++) {
        curve += damping * level[i] * level[i];
        slope += level[i] * (gradient[i] + damping * lost[s->column + i]);
    }
    wanted = run->scale + slope / curve;
    if (!isfinite(wanted) || !(wanted * run->scale > 0))
        return 0;
    const uint16_t half = accel_f16_from_f32(wanted);
    wanted = accel_f16_to_f32(half);
    if (wanted == 0 || !isfinite(wanted))
        return 0;
    memcpy(scale, &half, sizeof(half));
    return wanted - run->scale;
}

/* Refines the scale of a group whose codes were just chosen. */
static void refine_scale(const struct solver *s, const struct accel_format_run *run, const int32_t *codes, size_t first,
                         size_t end, float *lost, float *gradient, void *const *planes)
{
    unsigned char *scale = scale_at(s, s->column + first, planes);
    float level[BLOCK] = {0}, change;
    if (scale == NULL || end - first != (s->format.group != 0 ? s->format.group : s->fitted))
        return; /* the scale is also that of other blocks of columns */
    for (size_t i = first; i < end; i++)
        level[i] = run->levels ? run->level[codes[i]] : (float)codes[i];
    change = rescale(s, run, level, lost, gradient, first, end, scale);
    for (size_t i = first; i < end && change != 0; i++) {
        lost[s->column + i] -= change * level[i];
        compensate(gradient, s->u + i * BLOCK, first, change * level[i]);
    }
}

/* Gives each column of the block in one row its best level while the others stay. `gradient` [BLOCK] is the block of h
 * times the row's error. */
static int32_t refine_row(const struct solver *s, float *lost, const float *weights, float *gradient,
                          void *const *planes)
{
    const struct gptq_matrix *m = s->matrix;
    struct accel_format_run run = {.count = 0};
    float inverse = 0, change;
    int32_t codes[BLOCK], code = ACCEL_OK;
    size_t end = 0, first = 0;
    for (size_t i = 0; i < s->columns; i++) {
        const size_t column = s->column + i;
        if (i >= end) {
            first = i;
            code = accel_format_levels(m->type, (const void *const *)planes, m->width, column, &run);
            if (code != ACCEL_OK)
                return code;
            inverse = run.scale != 0 && isfinite(1 / run.scale) ? 1 / run.scale : 0;
            end = i + run.count;
        }
        float value = weights[column] - lost[column];
        codes[i] = find_nearest_code(&run, inverse, value + (gradient[i] + m->damping * lost[column]) * s->inverse[i]);
        change = value_of_code(&run, codes[i]) - value;
        lost[column] -= change;
        if (change != 0)
            compensate(gradient, s->u + i * BLOCK, first, change);
        if (i + 1 == end)
            refine_scale(s, &run, codes, first, end, lost, gradient, planes);
    }
    return accel_format_put(m->type, planes, m->width, s->column, s->columns, codes);
}

/* Refines the block in all rows. Gradients are recomputed per block: they stay in the cache and need no memory. */
static int32_t refine_block(const struct solver *s, const float *weights, float *lost, size_t rows, unsigned char *out,
                            size_t row_bytes)
{
    const size_t width = s->matrix->width;
    const struct dense_product product = {.rows = rows,
                                          .columns = s->columns,
                                          .depth = width,
                                          .a = lost,
                                          .a_row = width,
                                          .a_depth = 1,
                                          .b = s->matrix->h + s->column,
                                          .b_depth = width,
                                          .b_column = 1,
                                          .c = s->errors,
                                          .c_row = BLOCK,
                                          .sign = 1,
                                          .overwrite = true};
    int32_t code = ACCEL_OK;
    dense_multiply(&product, s->product);
    for (size_t r = 0; r < rows && code == ACCEL_OK; r++) {
        void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        model_row_planes(&s->rows, out + r * row_bytes, planes);
        code = refine_row(s, lost + r * width, weights + r * width, s->errors + r * BLOCK, planes);
    }
    return code;
}

/* Loads the block's rows and columns of h, with damping. */
static void load_moments(struct solver *s)
{
    const size_t width = s->matrix->width;
    memset(s->u, 0, BLOCK * BLOCK * sizeof(*s->u));
    for (size_t i = 0; i < s->columns; i++) {
        const float *row = s->matrix->h + (s->column + i) * width + s->column;
        memcpy(s->u + i * BLOCK, row, s->columns * sizeof(*s->u));
        s->inverse[i] = 1 / (row[i] + s->matrix->damping);
    }
}

int32_t gptq_refine(const struct gptq_matrix *matrix, const float *weights, float *lost, size_t rows,
                    unsigned char *out, size_t row_bytes, void *scratch)
{
    struct solver s;
    int32_t code = divide_scratch(matrix, scratch, &s);
    for (size_t r = 0; r < rows && code == ACCEL_OK; r++) {
        void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        float *row = lost + r * matrix->width;
        model_row_planes(&s.rows, out + r * row_bytes, planes);
        code = accel_format_decode(matrix->type, (const void *const *)planes, matrix->width, row);
        for (size_t i = 0; i < matrix->width && code == ACCEL_OK; i++)
            row[i] = weights[r * matrix->width + i] - row[i];
    }
    for (uint32_t sweep = 0; sweep < matrix->sweeps && code == ACCEL_OK; sweep++)
        for (s.column = 0; s.column < matrix->width && code == ACCEL_OK; s.column += BLOCK) {
            s.columns = matrix->width - s.column < BLOCK ? matrix->width - s.column : BLOCK;
            load_moments(&s);
            code = refine_block(&s, weights, lost, rows, out, row_bytes);
        }
    return code;
}

int32_t gptq_solve(const struct gptq_matrix *matrix, float *values, size_t rows, unsigned char *out, size_t row_bytes,
                   void *scratch)
{
    struct solver s;
    int32_t code = divide_scratch(matrix, scratch, &s);
    for (s.column = 0; s.column < matrix->width && code == ACCEL_OK; s.column += BLOCK) {
        s.columns = matrix->width - s.column < BLOCK ? matrix->width - s.column : BLOCK;
        load_block(&s);
        code = solve_block(&s, values, rows, out, row_bytes);
    }
    return code;
}
