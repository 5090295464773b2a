/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over an axis: reduce, group norm. Neighbouring columns are summed side by side, LANES at a time; a sum over many
 * rows is one of sums of BLOCK rows, which keeps its error small. Bound: bytes.
 */
#include "plain.h"

#define BLOCK 64u

/* Adds `rows` rows, `stride` apart, of up to LANES columns to sums: the elements, or with `mean` the squares of their
 * distances from it. */
static void add_columns(const float *x, size_t stride, size_t rows, size_t columns, const float *mean, float *sums)
{
    for (size_t r = 0; r < rows; r += BLOCK) {
        float block[LANES] = {0};

        for (size_t i = r; i < least(rows, r + BLOCK); i++) {
            const float *row = x + i * stride;

            for (size_t c = 0; mean == NULL && c < columns; c++)
                block[c] += row[c];
            for (size_t c = 0; mean != NULL && c < columns; c++)
                block[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
        }
        for (size_t c = 0; c < columns; c++)
            sums[c] += block[c];
    }
}

static void largest_columns(const float *x, size_t stride, size_t rows, size_t columns, float *most)
{
    memcpy(most, x, columns * sizeof(*most));
    for (size_t r = 1; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            most[c] = x[r * stride + c] > most[c] ? x[r * stride + c] : most[c];
}

/* Reduces columns of `rows` rows to y. */
static void reduce_columns(uint32_t kind, const float *x, size_t stride, size_t rows, size_t columns, float *y)
{
    const float factor = kind == ACCEL_REDUCE_MEAN ? 1 / (float)rows : 1;

    for (size_t c = 0; c < columns; c += LANES) {
        const size_t count = least(LANES, columns - c);
        float sums[LANES] = {0};

        if (kind == ACCEL_REDUCE_MAX && rows != 0)
            largest_columns(x + c, stride, rows, count, sums);
        else
            add_columns(x + c, stride, rows, count, NULL, sums);
        for (size_t i = 0; i < count; i++)
            y[c + i] = rows == 0 ? 0 : sums[i] * factor;
    }
}

/* Reduces `n` neighbours: whole rows of LANES columns first, then what is left and the columns. */
static float reduce_row(uint32_t kind, const float *x, size_t n)
{
    const size_t whole = n / LANES;
    float lanes[2 * LANES], y = 0;
    size_t count = n - whole * LANES;

    memcpy(lanes, x + whole * LANES, count * sizeof(*x));
    if (whole != 0) {
        reduce_columns(kind == ACCEL_REDUCE_MAX ? kind : ACCEL_REDUCE_SUM, x, LANES, whole, LANES, lanes + count);
        count += LANES;
    }
    reduce_columns(kind == ACCEL_REDUCE_MAX ? kind : ACCEL_REDUCE_SUM, lanes, 1, count, 1, &y);
    return kind == ACCEL_REDUCE_MEAN ? y / (float)n : y;
}

/* Parts: elements of y. */
void CPU_NAME(reduce)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_reduce *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const int32_t *first = call->inputs[1] == NULL ? NULL : call->inputs[1]->planes[0];
    const float *from = x->planes[0];
    float *y = call->outputs[0]->planes[0];
    uint64_t inner = 1, n = x->dims[attributes->axis];

    for (uint32_t d = attributes->axis + 1; d < x->rank; d++)
        inner *= x->dims[d];
    for (uint64_t at = begin, count; at < end; at += count) {
        const uint64_t row = at / inner, column = at % inner;
        uint64_t low = row * n, rows = n;

        if (first != NULL) {
            low = first[row] < 0 ? 0 : least((uint64_t)first[row], n);
            rows = first[row + 1] < 0 ? 0 : least((uint64_t)first[row + 1], n);
            rows = rows > low ? rows - low : 0;
        }
        count = least(inner - column, end - at);
        if (inner == 1 && rows != 0)
            y[at] = reduce_row(attributes->kind, from + low, rows);
        else
            reduce_columns(attributes->kind, from + low * inner + column, inner, rows, count, y + at);
    }
}

/* One group of one image: [places, size] of rows of `stride` channels. */
struct group {
    const float *x;
    size_t stride, places, size;
};

/* Returns the mean of the elements of a group, or of the squares of their distances from `mean`. */
static float group_mean(const struct group *group, const float *mean)
{
    double sum = 0;

    for (size_t c = 0; c < group->size; c += LANES) {
        const size_t count = least(LANES, group->size - c);
        float sums[LANES] = {0};

        add_columns(group->x + c, group->stride, group->places, count, mean, sums);
        for (size_t i = 0; i < count; i++)
            sum += sums[i];
    }
    return (float)(sum / ((double)group->places * (double)group->size));
}

/* Parts: groups of images. */
void CPU_NAME(group_norm)(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_group_norm *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const float *weight = call->inputs[1]->planes[0],
                *bias = call->inputs[2] == NULL ? NULL : call->inputs[2]->planes[0];
    struct group group = {.stride = x->width, .places = x->rows / x->dims[0], .size = x->width / attributes->groups};

    for (uint64_t part = begin; part < end; part++) {
        const uint64_t channel = part % attributes->groups * group.size;
        const uint64_t at = part / attributes->groups * group.places * group.stride + channel;
        float *y = (float *)call->outputs[0]->planes[0] + at, mean[LANES], factor;

        group.x = (const float *)x->planes[0] + at;
        mean[0] = group_mean(&group, NULL);
        for (size_t i = 1; i < LANES; i++)
            mean[i] = mean[0];
        factor = 1 / sqrtf(group_mean(&group, mean) + attributes->epsilon);
        for (size_t p = 0; p < group.places; p++)
            for (size_t c = 0; c < group.size; c++)
                y[p * group.stride + c] = (group.x[p * group.stride + c] - mean[0]) * (factor * weight[channel + c]) +
                                          (bias == NULL ? 0 : bias[channel + c]);
    }
}
