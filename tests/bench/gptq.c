/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What methods of quantization lose: a random matrix under correlated inputs, in every type that can be encoded. Per
 * type the bits of a weight, and for each method the relative error of what the matrix gives for these inputs, in per
 * mille. Arguments: width, rows, and names of types (none: all).
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <accel/quant/format.h>

#include "convert/quantize/dense.h"
#include "convert/quantize/gptq_solve.h"

static const char *const names[] = {
    "q8_0",    "q6_k",   "q5_k",   "q5_1",    "q5_0",    "q4_k",     "q4_1",    "q4_0",     "iq4_nl",   "iq4_xs",
    "mxfp4",   "q3_k",   "q2_k",   "q8_g128", "q4_g32",  "q4_g32a",  "q4_g128", "q4_g128a", "q4_row",   "nf4_g64",
    "c4_g128", "c4_row", "q3_g64", "q3_g64a", "q3_g128", "q3_g128a", "q2_g32a", "q2_g64a",  "q2_g128a",
};

struct bench {
    size_t width, rows;
    float *weights; /* [rows, width] */
    float *h, *u;   /* [width, width] */
    float *power, *cost;
    float *values, *again, *row, *work;
    float damping;
    unsigned char *out;
    void *scratch;
    struct dense_team team;
};

static float normal(uint64_t *state)
{
    float sum = 0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (float)(*state >> 40) * 0x1p-24f;
    }
    return sum - 6;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Inputs of rank width / 4 and some noise, with a few columns that are much larger, as transformers have them. */
static void make_inputs(struct bench *b, uint64_t *state)
{
    const size_t n = b->width, count = 2 * n, rank = n / 4;
    float *x = calloc(count * n, sizeof(*x)), *z = calloc(count * rank, sizeof(*z)), *a = calloc(rank * n, sizeof(*a));
    struct dense_product product = {.rows = count,
                                    .columns = n,
                                    .depth = rank,
                                    .a = z,
                                    .a_row = rank,
                                    .a_depth = 1,
                                    .b = a,
                                    .b_depth = n,
                                    .b_column = 1,
                                    .c = x,
                                    .c_row = n,
                                    .sign = 1};
    for (size_t i = 0; i < count * rank; i++)
        z[i] = normal(state);
    for (size_t i = 0; i < rank * n; i++)
        a[i] = normal(state) / sqrtf((float)rank);
    for (size_t i = 0; i < count * n; i++)
        x[i] = 0.3f * normal(state);
    dense_multiply_together(&product, &b->team);
    for (size_t i = 0; i < count * n; i++)
        x[i] *= (i % n) % 97 == 5 ? 10.0f : expf(0.5f * sinf((float)(i % n)));
    dense_add_outer(b->h, x, count, n, &b->team);
    dense_mirror(b->h, n);
    for (size_t i = 0; i < n * n; i++)
        b->h[i] /= (float)count;
    free(x), free(z), free(a);
}

static double output_error(const struct bench *b, const float *values)
{
    size_t n = b->rows * b->width;
    for (size_t i = 0; i < n; i++)
        b->again[i] = values[i] - b->weights[i];
    double lost = dense_quadratic(b->again, b->rows, b->width, b->h, b->row, b->scratch);
    double all = dense_quadratic(b->weights, b->rows, b->width, b->h, b->row, b->scratch);
    return sqrt(lost / all);
}

static size_t planes_at(uint32_t type, size_t width, unsigned char *row, void *planes[ACCEL_FORMAT_PLANES])
{
    struct accel_format format;
    size_t bytes = 0, plane = 0;
    accel_format_describe(type, &format);
    for (uint32_t p = 0; p < format.planes; p++, bytes += plane) {
        planes[p] = row + bytes;
        accel_format_row_bytes(type, p, width, &plane);
    }
    return bytes;
}

/* Of one method: 0 nearest, 1 search, 2 importance, 3 error compensation alone, 4 with second thoughts. */
static double method_error(struct bench *b, uint32_t type, int method, double *out_seconds)
{
    void *planes[ACCEL_FORMAT_PLANES];
    size_t bytes = planes_at(type, b->width, b->out, planes);
    double begin = seconds();
    if (method >= 3) {
        const struct gptq_matrix matrix = {.type = type,
                                           .sweeps = 2,
                                           .width = b->width,
                                           .u = b->u,
                                           .weight = b->cost,
                                           .h = b->h,
                                           .damping = b->damping};
        memcpy(b->values, b->weights, b->rows * b->width * sizeof(float));
        if (gptq_solve(&matrix, b->values, b->rows, b->out, bytes, b->scratch) != ACCEL_OK)
            return NAN;
        if (method == 4)
            gptq_refine(&matrix, b->weights, b->work, b->rows, b->out, bytes, b->scratch);
    }
    for (size_t r = 0; r < b->rows && method < 3; r++) {
        const float *row = b->weights + r * b->width;
        planes_at(type, b->width, b->out + r * bytes, planes);
        if (method == 0)
            accel_format_encode(type, row, b->width, planes);
        else
            accel_format_fit(type, row, method == 2 ? b->power : NULL, b->width, planes);
    }
    *out_seconds = seconds() - begin;
    for (size_t r = 0; r < b->rows; r++) {
        planes_at(type, b->width, b->out + r * bytes, planes);
        accel_format_decode(type, (const void *const *)planes, b->width, b->values + r * b->width);
    }
    return output_error(b, b->values);
}

static void print_type(struct bench *b, const char *name)
{
    uint32_t type = accel_format_find(name);
    struct accel_format format;
    double took = 0;
    if (type == ACCEL_TYPE_NONE || accel_format_describe(type, &format) != ACCEL_OK)
        return;
    printf("%-10s %6.3f", name, accel_format_bits(type, b->width));
    for (int method = 0; method < 5; method++)
        printf(" %9.2f", 1000 * method_error(b, type, method, &took));
    printf(" %8.3f s\n", took);
}

int main(int argc, char **argv)
{
    struct bench b = {.width = argc > 1 ? (size_t)atoi(argv[1]) : 512, .rows = argc > 2 ? (size_t)atoi(argv[2]) : 256};
    size_t n = b.width, count = b.rows * b.width;
    uint64_t state = 1;
    double share = 0.01, begin;
    struct accel_error error = {0};
    if (n == 0 || n % 256 != 0 || b.rows == 0 || dense_team_create(2, &b.team, &error) != ACCEL_OK)
        return 2;
    b.weights = malloc(count * sizeof(float)), b.values = malloc(count * sizeof(float));
    b.again = malloc(count * sizeof(float)), b.row = malloc(count * sizeof(float));
    b.h = calloc(n * n, sizeof(float)), b.u = malloc(n * n * sizeof(float));
    b.power = malloc(n * sizeof(float)), b.cost = malloc(n * sizeof(float));
    b.work = malloc(count * sizeof(float));
    b.out = malloc(count * 4), b.scratch = malloc(gptq_scratch_bytes(b.rows, n));
    make_inputs(&b, &state);
    for (size_t i = 0; i < count; i++)
        b.weights[i] = 0.02f * normal(&state);
    begin = seconds();
    if (dense_inverse_factor(b.h, n, &b.team, &share, b.u, &error) != ACCEL_OK)
        return 1;
    printf("factor of %zu: %.3f s, damping %g\n", n, seconds() - begin, share);
    gptq_weights(b.u, n, b.cost);
    for (size_t i = 0; i < n; i++) {
        b.power[i] = b.h[i * n + i];
        b.damping += (float)share * b.power[i] / (float)n;
    }
    printf("%-10s %6s %9s %9s %9s %9s %9s   output error, per mille\n", "type", "bits", "nearest", "search",
           "importance", "solved", "refined");
    for (int i = 3; i < argc; i++)
        print_type(&b, argv[i]);
    for (size_t i = 0; argc < 4 && i < sizeof(names) / sizeof(names[0]); i++)
        print_type(&b, names[i]);
    free(b.weights), free(b.values), free(b.again), free(b.row), free(b.h), free(b.u), free(b.power), free(b.cost);
    free(b.out), free(b.scratch), free(b.work);
    dense_team_free(&b.team);
    return 0;
}
