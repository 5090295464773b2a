/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats on normal data: real bits per weight, relative error of rounding to nearest and of the search, of the
 * search by importance where some values count a hundred times as much (error weighted likewise, plain search beside
 * it), and time of processor for each value. quant [NAME...]; without names all formats of the table.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <accel/quant/format.h>

enum { WIDTH = 4096, ROWS = 64, COUNT = WIDTH * ROWS, TURNS = 3 };

static const char *const names[] = {
    "q8_g32",   "q8_g128", "q8_row",  "q4_g32",   "q4_g64",  "q4_g128",  "q4_g256", "q4_g512",  "q4_row",   "q3_g32",
    "q3_g64",   "q3_g128", "q3_row",  "q2_g32",   "q2_g64",  "q2_g128",  "q2_row",  "q8_g128a", "q4_g32a",  "q4_g64a",
    "q4_g128a", "q4_rowa", "q3_g64a", "q3_g128a", "q2_g64a", "q2_g128a", "nf4_g32", "nf4_g64",  "nf4_g128", "nf4_row",
    "c4_g32",   "c4_g64",  "c4_g128", "c4_row",   "q8_0",    "q6_k",     "q5_k",    "q5_1",     "q5_0",     "q4_k",
    "q4_1",     "q4_0",    "iq4_nl",  "iq4_xs",   "mxfp4",   "q3_k",     "q2_k",
};

struct data {
    float *values;
    float *weight; /* [WIDTH] */
    float *again;
    void *planes[ACCEL_FORMAT_PLANES];
};

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What is measured of one way to encode. */
struct result {
    double error;
    double weighted;
    double encode; /* seconds */
    double decode;
};

static void run(uint32_t type, int search, int weighted, struct data *data, struct result *out)
{
    double sums[4] = {0}, before, between;
    *out = (struct result){0};
    for (size_t row = 0; row < ROWS; row++) {
        const float *values = data->values + row * WIDTH;
        before = seconds();
        if (search)
            (void)accel_format_fit(type, values, weighted ? data->weight : NULL, WIDTH, data->planes);
        else
            (void)accel_format_encode(type, values, WIDTH, data->planes);
        between = seconds();
        (void)accel_format_decode(type, (const void *const *)data->planes, WIDTH, data->again);
        out->decode += seconds() - between;
        out->encode += between - before;
        for (size_t i = 0; i < WIDTH; i++) {
            const double d = (double)data->again[i] - (double)values[i], x = (double)values[i], w = data->weight[i];
            sums[0] += d * d;
            sums[1] += x * x;
            sums[2] += w * d * d;
            sums[3] += w * x * x;
        }
    }
    out->error = sqrt(sums[0] / sums[1]);
    out->weighted = sqrt(sums[2] / sums[3]);
}

/* The quickest of some turns. */
static void run_turns(uint32_t type, int search, int weighted, struct data *data, struct result *out)
{
    for (int turn = 0; turn < TURNS; turn++) {
        struct result now;
        run(type, search, weighted, data, &now);
        if (turn > 0) {
            now.encode = now.encode < out->encode ? now.encode : out->encode;
            now.decode = now.decode < out->decode ? now.decode : out->decode;
        }
        *out = now;
    }
}

static int print_row(const char *name, struct data *data)
{
    const uint32_t type = accel_format_find(name);
    const double each = 1e9 / COUNT;
    struct result nearest, search, important;
    if (accel_format_bits(type, WIDTH) == 0) {
        fprintf(stderr, "quant: %s is no format that has rows of %d values\n", name, WIDTH);
        return 1;
    }
    run_turns(type, 0, 0, data, &nearest);
    run_turns(type, 1, 0, data, &search);
    run_turns(type, 1, 1, data, &important);
    printf("%-9s %9.4f %9.5f %9.5f %9.5f %9.5f %8.2f %8.2f %8.2f\n", name, accel_format_bits(type, WIDTH),
           nearest.error, search.error, search.weighted, important.weighted, nearest.encode * each,
           search.encode * each, search.decode * each);
    return 0;
}

int main(int argc, char **argv)
{
    struct data data = {
        malloc(COUNT * sizeof(float)), malloc(WIDTH * sizeof(float)), malloc(WIDTH * sizeof(float)), {NULL}};
    uint64_t random = 1;
    int failed = data.values == NULL || data.weight == NULL || data.again == NULL;
    for (size_t p = 0; p < ACCEL_FORMAT_PLANES; p++) {
        data.planes[p] = malloc(WIDTH * sizeof(float));
        failed |= data.planes[p] == NULL;
    }
    for (size_t i = 0; i < COUNT && !failed; i++)
        data.values[i] = (float)(sqrt(-2 * log(uniform(&random))) * cos(6.283185307179586 * uniform(&random)));
    for (size_t i = 0; i < WIDTH && !failed; i++)
        data.weight[i] = i % 7 == 0 ? 100 : 1;
    if (!failed)
        printf("%-9s %9s %9s %9s %9s %9s %8s %8s %8s\n", "format", "bits", "nearest", "search", "weighted", "by import",
               "ns near", "ns search", "ns read");
    for (int i = 1; i < argc && !failed; i++)
        failed |= print_row(argv[i], &data);
    for (size_t i = 0; argc < 2 && i < sizeof(names) / sizeof(names[0]) && !failed; i++)
        failed |= print_row(names[i], &data);
    for (size_t p = 0; p < ACCEL_FORMAT_PLANES; p++)
        free(data.planes[p]);
    free(data.values);
    free(data.weight);
    free(data.again);
    return failed;
}
