/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu driver's matmul and embed through the public headers, at every ISA that the machine has, with one and two
 * threads: all types of weights, random shapes of ranks 1 to 3, exact and rounded, bias, function, residual. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include <accel/quant/format.h>

#include "sdk/conform/reference.h"
#include "tests/drivers/cpu.h"

static const uint32_t types[] = {ACCEL_F32,
                                 ACCEL_F16,
                                 ACCEL_BF16,
                                 ACCEL_Q8_0,
                                 ACCEL_Q4_0,
                                 ACCEL_Q4_1,
                                 ACCEL_Q4_K,
                                 ACCEL_Q6_K,
                                 ACCEL_Q8_G32,
                                 ACCEL_Q8_G128,
                                 ACCEL_Q4_G32,
                                 ACCEL_Q4_G128,
                                 ACCEL_PLANAR(4u, 7u, 1u),
                                 ACCEL_PLANAR(4u, 6u, 0u),
                                 ACCEL_PLANAR(3u, 7u, 0u),
                                 ACCEL_PLANAR(3u, 5u, 1u),
                                 ACCEL_PLANAR(2u, 6u, 1u),
                                 ACCEL_PLANAR(8u, 9u, 1u),
                                 ACCEL_PLANAR(4u, 0u, 0u),
                                 ACCEL_PLANAR(3u, 0u, 1u),
                                 ACCEL_PLANAR(4u, 6u, ACCEL_SCHEME_NF4),
                                 ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_NF4),
                                 ACCEL_PLANAR(4u, 7u, ACCEL_SCHEME_CODEBOOK),
                                 ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_CODEBOOK)};
#define TYPES (sizeof(types) / sizeof(*types))

/* Weights [rows, width] of a type, and the numbers that they stand for. */
struct weights {
    void *planes[3];
    uint64_t bytes[3];
    float *exact;
};

static void weights_make(struct weights *w, uint32_t type, uint64_t rows, uint64_t width)
{
    struct accel_format format;
    float *row = calloc(width, sizeof(*row));
    size_t stride[3] = {0};

    memset(w, 0, sizeof(*w));
    assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
    for (uint32_t p = 0; p < format.planes; p++) {
        assert_int_equal(accel_format_row_bytes(type, p, width, &stride[p]), ACCEL_OK);
        w->bytes[p] = rows * stride[p];
        w->planes[p] = malloc(w->bytes[p]);
    }
    w->exact = malloc(rows * width * sizeof(*w->exact));
    for (uint64_t r = 0; r < rows; r++) {
        void *at[3] = {NULL};
        const void *from[3] = {NULL};

        for (uint32_t p = 0; p < format.planes; p++)
            from[p] = at[p] = (char *)w->planes[p] + r * stride[p];
        rig_fill(&cpu_random, row, width);
        assert_int_equal(accel_format_encode(type, row, width, at), ACCEL_OK);
        assert_int_equal(accel_format_decode(type, from, width, w->exact + r * width), ACCEL_OK);
    }
    free(row);
}

static void weights_free(struct weights *w)
{
    for (uint32_t p = 0; p < 3; p++)
        free(w->planes[p]);
    free(w->exact);
}

static struct rig_data weights_data(const char *name, const struct weights *w)
{
    return (struct rig_data){name, {w->planes[0], w->planes[1], w->planes[2]}, {w->bytes[0], w->bytes[1], w->bytes[2]}};
}

/* A random shape [..., k] of rank 1 to 3; answers the rows. */
static uint64_t leading(uint32_t rank, struct accel_dim *dims, uint64_t k)
{
    uint64_t rows = 1;

    for (uint32_t d = 0; d + 1 < rank; d++) {
        uint64_t extent = 1 + rig_below(&cpu_random, rank == 2 ? 40 : 9);

        dims[d] = rig_dim(extent);
        rows *= extent;
    }
    dims[rank - 1] = rig_dim(k);
    return rows;
}

struct product {
    uint64_t m, n, k;
    struct accel_matmul attributes;
    uint32_t type, bias, residual, zero;
    float *x, *b, *r;
    struct weights w;
    double *want;
};

static void expect(struct product *p)
{
    for (uint64_t i = 0; i < p->m; i++)
        for (uint64_t j = 0; j < p->n; j++) {
            double sum = 0;

            for (uint64_t l = 0; l < p->k; l++)
                sum += (double)p->x[i * p->k + l] * p->w.exact[j * p->k + l];
            sum = reference_function(p->attributes.function, sum + (p->bias ? p->b[j] : 0));
            p->want[i * p->n + j] = sum + (p->residual ? p->r[i * p->n + j] : 0);
        }
}

static void product_net(struct product *p, struct net *net, uint32_t rank)
{
    struct accel_dim dims[3];
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE};

    p->m = leading(rank, dims, p->k);
    net_begin(net, "matmul");
    inputs[0] = net_value(net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, rank, dims);
    dims[rank - 1] = rig_dim(p->n);
    if (p->residual)
        inputs[3] = net_value(net, ACCEL_ROLE_INPUT, "r", ACCEL_F32, rank, dims);
    dims[0] = rig_dim(p->n), dims[1] = rig_dim(p->k);
    inputs[1] = net_value(net, ACCEL_ROLE_WEIGHT, "w", p->type, 2, dims);
    if (p->bias)
        inputs[2] = net_value(net, ACCEL_ROLE_WEIGHT, "b", ACCEL_F32, 1, dims);
    net_output(net, net_node(net, ACCEL_OP_MATMUL, "matmul", inputs, 4, &p->attributes), "y");
    net_end(net);
}

/* `together`: rows of W are a multiple of it. */
static void product_try(struct rig *rig, uint32_t type, uint32_t together, uint32_t rounding, uint32_t threads)
{
    struct product p = {.type = type, .bias = rig_below(&cpu_random, 2), .residual = rig_below(&cpu_random, 2)};
    uint32_t rank = 1 + rig_below(&cpu_random, 3);
    struct accel_format format;
    struct rig_data data[4];
    struct net net;
    char what[160];

    accel_format_describe(type, &format);
    p.attributes = (struct accel_matmul){.size = sizeof(p.attributes), .rounding = rounding};
    p.attributes.function = rig_below(&cpu_random, ACCEL_FN_END);
    p.n = together * (1 + rig_below(&cpu_random, 90 / together));
    p.k = format.block_values == 1 ? 1 + rig_below(&cpu_random, 200)
                                   : format.block_values * (1 + rig_below(&cpu_random, 4));
    product_net(&p, &net, rank);
    p.x = cpu_floats(p.m * p.k);
    p.b = cpu_floats(p.n);
    p.r = cpu_floats(p.m * p.n);
    p.want = calloc(p.m * p.n, sizeof(*p.want));
    weights_make(&p.w, type, p.n, p.k);
    expect(&p);
    data[0] = (struct rig_data){"x", {p.x}, {p.m * p.k * sizeof(float)}};
    data[1] = (struct rig_data){"b", {p.b}, {p.n * sizeof(float)}};
    data[2] = (struct rig_data){"r", {p.r}, {p.m * p.n * sizeof(float)}};
    data[3] = weights_data("w", &p.w);
    snprintf(what, sizeof(what), "%s %s, [%u,%u]x[%u,%u], function %u%s%s, %u threads", format.name,
             rounding == ACCEL_F32 ? "exact" : "rounded", (unsigned)p.m, (unsigned)p.k, (unsigned)p.n, (unsigned)p.k,
             p.attributes.function, p.bias ? ", bias" : "", p.residual ? ", residual" : "", threads);
    cpu_compare(rig, &net, data, 4, threads, 0, what, p.want, p.m * p.n, 2 * sqrt((double)p.k) / 3);
    weights_free(&p.w);
    free(p.x), free(p.b), free(p.r), free(p.want);
    net_free(&net);
}

static void matmul_is_right(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open(&rig, isa))
            continue;
        for (uint32_t t = 0; t < TYPES; t++)
            for (uint32_t round = 0; round < 12; round++)
                product_try(&rig, types[t], 1, round % 2 == 0 ? ACCEL_F32 : ACCEL_Q8_0, 1 + round / 6);
        rig_close(&rig);
    }
}

/* The same with weights in panels, where the ISA has them for the type; else they stay in rows. */
static void matmul_in_panels_is_right(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open_with(&rig, isa, "panels"))
            continue;
        for (uint32_t t = 0; t < TYPES; t++)
            for (uint32_t round = 0; round < 12; round++)
                product_try(&rig, types[t], 16, round % 2 == 0 ? ACCEL_F32 : ACCEL_Q8_0, 1 + round / 6);
        rig_close(&rig);
    }
}

static void embed_try(struct rig *rig, uint32_t type, uint32_t threads)
{
    struct accel_format format;
    struct accel_dim dims[2];
    struct weights table;
    struct rig_data data[2];
    struct net net;
    uint32_t inputs[2], rows = 3 + rig_below(&cpu_random, 40), count = 4 + rig_below(&cpu_random, 9);
    uint64_t width;
    int32_t ids[16];
    double *want;
    char what[64];

    accel_format_describe(type, &format);
    width = format.block_values == 1 ? 1 + rig_below(&cpu_random, 100)
                                     : format.block_values * (1 + rig_below(&cpu_random, 3));
    weights_make(&table, type, rows, width);
    want = calloc(count * width, sizeof(*want));
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = (int32_t)rig_below(&cpu_random, rows);
        ids[i] = i == 1 ? -1 : i == 2 ? (int32_t)rows : i == 3 ? INT32_MAX : ids[i];
        for (uint64_t e = 0; e < width; e++)
            want[i * width + e] = table.exact[(i >= 1 && i <= 3 ? 0 : (uint64_t)ids[i]) * width + e];
    }
    net_begin(&net, "embed");
    dims[0] = rig_dim(rows), dims[1] = rig_dim(width);
    inputs[0] = net_value(&net, ACCEL_ROLE_WEIGHT, "table", type, 2, dims);
    dims[0] = rig_dim(count);
    inputs[1] = net_value(&net, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, 1, dims);
    net_output(&net, net_node(&net, ACCEL_OP_EMBED, "embed", inputs, 2, NULL), "y");
    net_end(&net);
    data[0] = weights_data("table", &table);
    data[1] = (struct rig_data){"ids", {ids}, {count * sizeof(*ids)}};
    snprintf(what, sizeof(what), "embed %s, %u threads", format.name, threads);
    cpu_compare(rig, &net, data, 2, threads, 0, what, want, count * width, 0);
    weights_free(&table);
    free(want);
    net_free(&net);
}

static void embed_is_right(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open(&rig, isa))
            continue;
        for (uint32_t t = 0; t < TYPES; t++)
            for (uint32_t round = 0; round < 4; round++)
                embed_try(&rig, types[t], 1 + round % 2);
        rig_close(&rig);
    }
}

/* Runs a net with a number of threads and copies its output, of `bytes` bytes. */
static void *run_net(struct rig *rig, const struct net *net, const struct rig_data *data, uint32_t count,
                     uint32_t threads, uint64_t bytes)
{
    const uint64_t none = 0;
    void *y = malloc(bytes);
    struct rig_step step;

    assert_non_null(y);
    rig_step_make(rig, &step, net->graph, data, count, &none, threads, 0);
    rig_step_run(&step, &none);
    memcpy(y, rig_step_value(&step, "y"), bytes);
    rig_step_free(&step);
    return y;
}

/* Weights that are rounded with as many rows as a piece of places has, and otherwise with fewer; those whose sums
 * depend on the number of rows; those that are not rounded. */
static const struct {
    uint32_t type, rounding;
} pieces[] = {{ACCEL_Q8_ROW, ACCEL_Q8_ROW}, {ACCEL_BF16, ACCEL_BF16}, {ACCEL_Q4_K, ACCEL_Q8_0}, {ACCEL_F32, ACCEL_F32}};
#define PIECES (sizeof(pieces) / sizeof(*pieces))

/* Shares of the places differ with the number of threads, and rows that are multiplied together do not. */
static void conv_try(struct rig *rig, uint32_t type, uint32_t rounding, uint32_t places, uint32_t channels,
                     uint32_t groups)
{
    const struct accel_conv attributes = {.size = sizeof(attributes),
                                          .groups = groups,
                                          .kernel = {1, 3},
                                          .stride = {1, 1},
                                          .dilation = {1, 1},
                                          .before = {0, 1},
                                          .after = {0, 1},
                                          .rounding = rounding};
    const uint32_t outputs = 8 * groups;
    struct accel_dim dims[3] = {rig_dim(1), rig_dim(places), rig_dim(channels)};
    const uint64_t k = (uint64_t)channels / groups * 3, bytes = (uint64_t)places * outputs * sizeof(float);
    float *x = cpu_floats((uint64_t)places * channels);
    struct weights w;
    struct rig_data data[2];
    uint32_t inputs[2];
    void *want, *y;
    struct net net;

    weights_make(&w, type, outputs, k);
    net_begin(&net, "conv");
    inputs[0] = net_value(&net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 3, dims);
    dims[0] = rig_dim(outputs), dims[1] = rig_dim(k);
    inputs[1] = net_value(&net, ACCEL_ROLE_WEIGHT, "w", type, 2, dims);
    net_output(&net, net_node(&net, ACCEL_OP_CONV, "conv", inputs, 2, &attributes), "y");
    net_end(&net);
    data[0] = (struct rig_data){"x", {x}, {(uint64_t)places * channels * sizeof(float)}};
    data[1] = weights_data("w", &w);
    want = run_net(rig, &net, data, 2, 1, bytes);
    for (uint32_t threads = 2; threads <= 3; threads++) {
        y = run_net(rig, &net, data, 2, threads, bytes);
        if (memcmp(y, want, bytes) != 0)
            fail_msg("conv of type 0x%x, %u places, %u groups: not the same with %u threads", type, places, groups,
                     threads);
        free(y);
    }
    free(want), free(x);
    weights_free(&w);
    net_free(&net);
}

static void threads_change_no_bit_of_a_conv(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open(&rig, isa))
            continue;
        for (uint32_t p = 0; p < PIECES; p++) {
            conv_try(&rig, pieces[p].type, pieces[p].rounding, 293, 512, 1);
            conv_try(&rig, pieces[p].type, pieces[p].rounding, 389, 256, 1);
            conv_try(&rig, pieces[p].type, pieces[p].rounding, 197, 512, 2);
            conv_try(&rig, pieces[p].type, pieces[p].rounding, 41, 512, 2);
        }
        rig_close(&rig);
    }
}

/* Equal rows of an expert give equal results, wherever they stand among more rows than are staged together. */
static void expert_try(struct rig *rig, uint32_t type, uint32_t rounding)
{
    enum { TOKENS = 1500, EQUAL = 3, MOST = 1024, N = 16, K = 256 };
    const struct accel_expert_matmul attributes = {.size = sizeof(attributes), .experts = 3, .rounding = rounding};
    const uint64_t bytes = (uint64_t)TOKENS * N * sizeof(float);
    struct accel_dim dims[2] = {rig_dim(TOKENS), rig_dim(K)};
    float *x = cpu_floats(TOKENS * K), *y;
    int32_t ids[TOKENS];
    struct rig_data data[3];
    uint32_t inputs[3];
    struct weights w;
    struct net net;

    /* Expert 1 begins in the middle of the first MOST rows and ends EQUAL behind them; expert 2 has more than MOST. */
    for (uint32_t large = 1; large <= 2; large++) {
        const uint32_t first = large == 1 ? 500 : 0, last = (large == 1 ? 0 : first) + MOST;

        for (uint32_t t = 0; t < TOKENS; t++)
            ids[t] = t < first ? 0 : t < last + EQUAL ? (int32_t)large : -1;
        memcpy(x + (uint64_t)last * K, x + (uint64_t)first * K, EQUAL * K * sizeof(*x));
        weights_make(&w, type, 3 * N, K);
        net_begin(&net, "experts");
        dims[0] = rig_dim(TOKENS), dims[1] = rig_dim(K);
        inputs[0] = net_value(&net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims);
        dims[0] = rig_dim(3 * N);
        inputs[1] = net_value(&net, ACCEL_ROLE_WEIGHT, "w", type, 2, dims);
        dims[0] = rig_dim(TOKENS), dims[1] = rig_dim(1);
        inputs[2] = net_value(&net, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, 2, dims);
        net_output(&net, net_node(&net, ACCEL_OP_EXPERT_MATMUL, "experts", inputs, 3, &attributes), "y");
        net_end(&net);
        data[0] = (struct rig_data){"x", {x}, {TOKENS * K * sizeof(*x)}};
        data[1] = weights_data("w", &w);
        data[2] = (struct rig_data){"ids", {ids}, {sizeof(ids)}};
        y = run_net(rig, &net, data, 3, 2, bytes);
        if (memcmp(y + (uint64_t)last * N, y + (uint64_t)first * N, EQUAL * N * sizeof(*y)) != 0)
            fail_msg("experts of type 0x%x: rows %u and %u of expert %u differ", type, first, last, large);
        free(y);
        weights_free(&w);
        net_free(&net);
    }
    free(x);
}

static void pieces_of_an_expert_are_rounded_alike(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open(&rig, isa))
            continue;
        for (uint32_t p = 0; p < PIECES; p++)
            expert_try(&rig, pieces[p].type, pieces[p].rounding);
        rig_close(&rig);
    }
}

static int seed(void **state)
{
    (void)state;
    cpu_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_is_right),
        cmocka_unit_test(matmul_in_panels_is_right),
        cmocka_unit_test(embed_is_right),
        cmocka_unit_test(threads_change_no_bit_of_a_conv),
        cmocka_unit_test(pieces_of_an_expert_are_rounded_alike),
    };
    return cmocka_run_group_tests(tests, seed, NULL);
}
