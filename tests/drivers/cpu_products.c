/* SPDX-License-Identifier: Apache-2.0 */
/* [TEST]: the kernel that runs a matmul is the one that claims name: for types, rows of x, layouts and every ISA that
 * this machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/cpu/operators/operators.h"

static cpu_matmul_fn *real[CPU_PRODUCTS];
static uint32_t ran, times;

/* In place of the kernels of a family: records it and runs the kernel. */
#define RECORD(ID, name, activations)                                                                                  \
    static void record_##name(const struct cpu_matmul *call, size_t begin, size_t end)                                 \
    {                                                                                                                  \
        ran = CPU_##ID;                                                                                                \
        times++;                                                                                                       \
        real[CPU_##ID](call, begin, end);                                                                              \
    }
CPU_PRODUCT_FAMILIES(RECORD)

static cpu_matmul_fn *const records[CPU_PRODUCTS] = {
#define RECORDER(ID, name, activations) record_##name,
    CPU_PRODUCT_FAMILIES(RECORDER)};

/* A matmul of one type, with memory for its most rows. */
struct trial {
    struct cpu_device device;
    struct cpu_prepared prepared;
    struct sdk_tensor x, w, y;
    struct accel_matmul attributes;
    struct sdk_call call;
};

enum { N = 48, K = 1024, MOST = 40 };

static void *zeros(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);

    assert_non_null(memory);
    return memset(memory, 0, (bytes + 127) / 64 * 64);
}

/* `rounding`: 0, CPU_ROUNDED, or CPU_ROUNDED | CPU_BY_ROW. */
static void prepare(struct trial *t, uint32_t isa, uint32_t type, uint32_t rounding, bool panels)
{
    const uint32_t weight = (uint32_t)cpu_weight_of(type);
    uint32_t format;
    size_t row;

    memset(t, 0, sizeof(*t));
    cpu_kernels_fill(&t->device.kernels, isa);
    for (uint32_t i = 0; i < CPU_PLANAR; i++)
        accel_format_describe(cpu_type_at(i), &t->device.formats[i]);
    for (uint32_t f = 0; f < CPU_PRODUCTS; f++) {
        real[f] = t->device.kernels.product[f][weight];
        if (real[f] != NULL)
            t->device.kernels.product[f][weight] = records[f];
    }
    t->x =
        (struct sdk_tensor){.type = ACCEL_F32, .rows = MOST, .width = K, .planes = {zeros(MOST * K * sizeof(float))}};
    t->w = (struct sdk_tensor){.type = type, .rows = N, .width = K};
    t->y =
        (struct sdk_tensor){.type = ACCEL_F32, .rows = MOST, .width = N, .planes = {zeros(MOST * N * sizeof(float))}};
    for (uint32_t p = 0; p < 3 && accel_format_row_bytes(type, p, K, &row) == ACCEL_OK; p++)
        t->w.planes[p] = zeros(N * row);
    t->attributes.size = sizeof(t->attributes);
    t->call = (struct sdk_call){.inputs = {&t->x, &t->w},
                                .outputs = {&t->y},
                                .attributes = &t->attributes,
                                .device = &t->device,
                                .variant = weight | rounding,
                                .prepared = &t->prepared};
    if (panels)
        t->w.packed = zeros(cpu_packed_bytes(isa, type, N, K));
    t->call.staged = zeros(cpu_matmul_act(&t->call, &format));
}

static void release(struct trial *t)
{
    free(t->x.planes[0]), free(t->y.planes[0]), free(t->call.staged), free((void *)(uintptr_t)t->w.packed);
    for (uint32_t p = 0; p < 3; p++)
        free(t->w.planes[p]);
}

/* Runs a number of rows as the driver library does, and compares what ran with what a claim says. */
static void run_rows(struct trial *t, uint64_t rows)
{
    uint64_t grain = 1, parts;
    uint32_t variant;
    char name[64];

    t->x.rows = t->y.rows = rows;
    variant = cpu_matmul_describe(&t->call, name, sizeof(name));
    cpu_matmul_prepare(&t->call, &t->prepared);
    parts = cpu_matmul_act_parts(&t->call, &grain);
    if (parts != 0)
        cpu_matmul_act_part(&t->call, 0, parts);
    times = 0;
    cpu_matmul_part(&t->call, 0, cpu_matmul_parts(&t->call, &grain));
    if (times == 0 || variant != ACCEL_VARIANT_OWN + ran ||
        strncmp(name, cpu_product_name(ran), strlen(cpu_product_name(ran))) != 0)
        fail_msg("type 0x%x, %u rows: %s ran, claimed: %s (%u)", t->w.type, (unsigned)rows, cpu_product_name(ran), name,
                 variant);
}

static void what_is_claimed_runs(void **state)
{
    static const uint64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 23, 24, MOST};

    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        for (uint32_t i = 0; i < 6 * CPU_TYPES && cpu_isa_why_unavailable(isa) == NULL; i++) {
            static const uint32_t roundings[] = {0, CPU_ROUNDED, CPU_ROUNDED | CPU_BY_ROW};
            const uint32_t type = cpu_type_at(i / 6), weight = (uint32_t)cpu_weight_of(type);
            const uint32_t rounded = roundings[i % 3];
            const bool panels = i % 6 >= 3, has_rows = weight == CPU_Q8_G128 || weight == CPU_PLANAR;
            struct trial t;

            if ((rounded && (weight < CPU_Q8_0 || weight == CPU_PLANAR_F8)) ||
                (panels && (!rounded || cpu_packed_bytes(isa, type, N, K) == 0)) ||
                ((rounded & CPU_BY_ROW) != 0 && (!has_rows || ACCEL_PLANAR_BITS(type) != 8)))
                continue;
            prepare(&t, isa, type, rounded, panels);
            for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
                run_rows(&t, rows[r]);
            release(&t);
        }
    }
}

/* A row of the table, by ISA: what runs for a type, rows of x and a layout. */
struct choice {
    uint32_t isa, type, rows, panels, family;
};

/* ISAs that are not in the build fall back. */
static void check_choice(const struct choice *c, uint32_t rounding)
{
    struct cpu_kernels kernels;

    cpu_kernels_fill(&kernels, c->isa);
    if (kernels.isa == c->isa)
        assert_string_equal(cpu_product_name(cpu_product_of(&kernels, c->type, rounding, c->panels, c->rows, K).family),
                            cpu_product_name(c->family));
}

static void table_decides(void **state)
{
    static const struct choice cases[] = {
        {CPU_ISA_SCALAR, ACCEL_Q4_0, 1, 0, CPU_SCALAR8},      {CPU_ISA_SCALAR, ACCEL_IQ2_S, 40, 0, CPU_SCALAR8},
        {CPU_ISA_AVX2, ACCEL_Q4_0, 2, 0, CPU_GEMV_ROW4},      {CPU_ISA_AVX2, ACCEL_Q4_0, 3, 0, CPU_GEMM8},
        {CPU_ISA_AVX2, ACCEL_Q8_0, 6, 0, CPU_GEMV_ROW4},      {CPU_ISA_AVX2, ACCEL_Q8_0, 7, 0, CPU_GEMM8},
        {CPU_ISA_AVX2, ACCEL_Q3_K, 1, 0, CPU_GEMV_K},         {CPU_ISA_AVX2, ACCEL_Q4_K, 2, 0, CPU_GEMV_K},
        {CPU_ISA_AVX2, ACCEL_IQ4_XS, 2, 0, CPU_GEMV_K},       {CPU_ISA_AVX2, ACCEL_Q4_K, 3, 0, CPU_GEMM8},
        {CPU_ISA_AVX2, ACCEL_Q5_0, 2, 0, CPU_GEMV_ROW4},      {CPU_ISA_AVX2, ACCEL_Q5_0, 3, 0, CPU_GEMM8},
        {CPU_ISA_AVX2, ACCEL_MXFP4, 2, 0, CPU_GEMV_UNPACKED}, {CPU_ISA_AVX2, ACCEL_IQ2_S, 40, 0, CPU_GEMV_UNPACKED},
        {CPU_ISA_AVX2, ACCEL_Q4_G128, 2, 0, CPU_GEMV_ROW4},   {CPU_ISA_AVX512, ACCEL_Q4_G32, 2, 0, CPU_GEMV_ROW4},
        {CPU_ISA_AVX2, ACCEL_Q4_0, 8, 1, CPU_GEMV_PACKED},    {CPU_ISA_AVX2, ACCEL_Q4_0, 9, 1, CPU_GEMM8},
        {CPU_ISA_AVX512, ACCEL_Q3_K, 1, 0, CPU_GEMV_K},       {CPU_ISA_AVX512, ACCEL_Q4_0, 4, 0, CPU_GEMV_ROW4},
        {CPU_ISA_AVX512, ACCEL_Q4_0, 16, 1, CPU_GEMV_PACKED}, {CPU_ISA_AVX512, ACCEL_Q6_K, 5, 1, CPU_GEMM8},
        {CPU_ISA_AMX, ACCEL_Q4_0, 23, 0, CPU_GEMM8},          {CPU_ISA_AMX, ACCEL_Q4_0, 24, 0, CPU_GEMM16},
        {CPU_ISA_AMX, ACCEL_Q4_0, 24, 1, CPU_GEMM16},         {CPU_ISA_AMX, ACCEL_F16, 10, 0, CPU_GEMM16},
        {CPU_ISA_AMX, ACCEL_F16, 9, 0, CPU_GEMV32},           {CPU_ISA_NEON, ACCEL_Q8_0, 4, 0, CPU_GEMV_ROW4},
        {CPU_ISA_NEON, ACCEL_Q8_0, 5, 0, CPU_GEMM8},          {CPU_ISA_I8MM, ACCEL_Q6_K, 1, 0, CPU_GEMV_K},
    };

    /* Rows of x may have one scale each. */
    static const struct choice by_row[] = {
        {CPU_ISA_AVX2, ACCEL_Q8_ROW, 16, 0, CPU_GEMM8},        {CPU_ISA_AVX2, ACCEL_Q8_ROW, 17, 0, CPU_GEMM8_ROW},
        {CPU_ISA_AVX512, ACCEL_Q8_G128, 17, 1, CPU_GEMM8_ROW}, {CPU_ISA_AVX512, ACCEL_Q8_0, 17, 0, CPU_GEMM8},
        {CPU_ISA_AMX, ACCEL_Q8_ROW, 16, 0, CPU_GEMM8},         {CPU_ISA_AMX, ACCEL_Q8_ROW, 24, 0, CPU_GEMM8_ROW},
        {CPU_ISA_AMX, ACCEL_Q8_G128, 24, 1, CPU_GEMM8_ROW},    {CPU_ISA_AMX, ACCEL_Q8_0, 24, 0, CPU_GEMM16},
        {CPU_ISA_SCALAR, ACCEL_Q8_ROW, 17, 0, CPU_SCALAR8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_choice(&cases[i], CPU_ROUND_BLOCKS);
    for (size_t i = 0; i < sizeof(by_row) / sizeof(by_row[0]); i++)
        check_choice(&by_row[i], CPU_ROUND_ROWS);
}

/* Returns the precision of the first kernel of an operator that stages rows of its own, for weights of a type. */
static uint32_t precision_of(uint32_t op, const void *attributes, uint32_t isa, uint32_t type)
{
    const struct accel_value x = {.type = ACCEL_F32}, w = {.type = type}, ids = {.type = ACCEL_I32};
    const struct accel_value *values[] = {&x, &w, &ids};
    const uint32_t inputs[] = {0, 1, op == ACCEL_OP_CONV ? ACCEL_NO_VALUE : 2}, outputs[] = {0};
    const struct accel_graph graph = {.values = values, .value_count = 3};
    const struct accel_node node = {
        .op = op, .inputs = inputs, .input_count = 3, .outputs = outputs, .output_count = 1, .attributes = attributes};
    struct cpu_device device = {.experts = NULL};
    const struct sdk_node view = {&graph, &node, &device};

    cpu_kernels_fill(&device.kernels, isa);
    for (uint32_t i = 0; i < CPU_OPERATORS; i++)
        if (cpu_operators[i].op == op && cpu_operators[i].check(&cpu_operators[i], &view) == NULL)
            return cpu_operators[i].precision;
    return ACCEL_TYPE_NONE;
}

/* Experts and convolutions round as matmuls do: rows with one scale each if the node allows it and there are products.
 */
static void gathered_rows_are_rounded_as_allowed(void **state)
{
    struct accel_expert_matmul expert = {.size = sizeof(expert), .experts = 4};
    struct accel_conv conv = {.size = sizeof(conv), .groups = 1};
    const struct {
        uint32_t rounding, isa, type, precision;
    } cases[] = {
        {ACCEL_Q8_ROW, CPU_ISA_AVX2, ACCEL_Q8_ROW, ACCEL_Q8_ROW},
        {ACCEL_Q8_0, CPU_ISA_AVX2, ACCEL_Q8_ROW, ACCEL_Q8_0},
        {ACCEL_Q8_ROW, CPU_ISA_AVX2, ACCEL_Q8_G128, ACCEL_Q8_ROW},
        {ACCEL_Q8_ROW, CPU_ISA_AVX2, ACCEL_Q8_0, ACCEL_Q8_0},
        {ACCEL_Q8_ROW, CPU_ISA_AVX2, ACCEL_Q4_G128, ACCEL_Q8_0},
        {ACCEL_Q8_ROW, CPU_ISA_SCALAR, ACCEL_Q8_ROW, ACCEL_Q8_0},
        {ACCEL_F32, CPU_ISA_AVX2, ACCEL_Q8_ROW, ACCEL_F32},
    };
    struct cpu_kernels kernels;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cpu_kernels_fill(&kernels, cases[i].isa);
        if (cases[i].isa != CPU_ISA_SCALAR && kernels.product[CPU_GEMM8_ROW][CPU_PLANAR] == NULL)
            continue; /* the build has no kernels of this ISA */
        expert.rounding = conv.rounding = cases[i].rounding;
        assert_int_equal(precision_of(ACCEL_OP_EXPERT_MATMUL, &expert, cases[i].isa, cases[i].type),
                         cases[i].precision);
        assert_int_equal(precision_of(ACCEL_OP_CONV, &conv, cases[i].isa, cases[i].type), cases[i].precision);
    }
}

/* Packed weights are read by kernels that round activations: by no other operator, and no product is chosen for one. */
static void packed_weights_have_rounded_activations(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CPU_OPERATORS; i++)
        assert_true(cpu_operators[i].packed_inputs == 0 || (cpu_operators[i].variant & CPU_ROUNDED) != 0);
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        struct cpu_kernels kernels;

        cpu_kernels_fill(&kernels, isa);
        for (uint32_t i = 0; i < CPU_TYPES * MOST; i++)
            assert_null(cpu_product_of(&kernels, cpu_type_at(i / MOST), CPU_ROUND_NONE, true, i % MOST + 1, K).run);
    }
}

/* What a product is chosen by: a type, how far x may be rounded, the layout. */
enum { WAYS = 6 * CPU_TYPES };

/* The limits of an ISA that is not in the build decide over the kernels of AVX2. */
static void fill(struct cpu_kernels *kernels, uint32_t isa)
{
    cpu_kernels_fill(kernels, cpu_isa_is_built(isa) ? isa : CPU_ISA_AVX2);
    kernels->isa = isa;
}

static struct cpu_product product_of(const struct cpu_kernels *kernels, uint32_t way, size_t rows, size_t k)
{
    return cpu_product_of(kernels, cpu_type_at(way / 6), way % 3, way % 6 >= 3, rows, k);
}

/* Every kernel of the table runs for some rows. kernels.def lists kernels of unpacked weights by the column `code`, and
 * so for types, too, which GEMV_ROW4 unpacks. No aarch64 kernel reads packed weights. */
static void every_kernel_is_chosen(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        bool chosen[CPU_PRODUCTS][CPU_WEIGHTS] = {{false}};
        struct cpu_kernels kernels;

        fill(&kernels, isa);
        for (uint32_t way = 0; way < WAYS; way++)
            for (size_t i = 0; i < 2 * (CPU_PRODUCT_ROWS + 1); i++) {
                const struct cpu_product product = product_of(&kernels, way, i / 2 + 1, i % 2 == 0 ? 256 : 65536);

                if (product.run != NULL)
                    chosen[product.family][cpu_weight_of(cpu_type_at(way / 6))] = true;
            }
        for (uint32_t f = 0; f < CPU_PRODUCTS; f++)
            for (uint32_t w = 0; w < CPU_WEIGHTS; w++)
                if (kernels.product[f][w] != NULL && !chosen[f][w] &&
                    (f != CPU_GEMV_UNPACKED || kernels.product[CPU_GEMV_ROW4][w] == NULL) &&
                    (f != CPU_GEMV_PACKED || isa < CPU_ISA_NEON))
                    fail_msg("%s %s: no rule chooses it for slot %u", cpu_product_name(f), cpu_isa_name(isa), w);
    }
}

/* Products are prepared for up to CPU_PRODUCT_ROWS rows, the last one for all more. */
static void many_rows_have_one_kernel(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        struct cpu_kernels kernels;

        fill(&kernels, isa);
        for (uint32_t way = 0; way < WAYS; way++) {
            cpu_matmul_fn *const last = product_of(&kernels, way, CPU_PRODUCT_ROWS, 256).run;

            for (size_t rows = CPU_PRODUCT_ROWS + 1; rows <= 600; rows++)
                if (product_of(&kernels, way, rows, 256).run != last)
                    fail_msg("%s, type 0x%x: %u rows have a kernel other than %u rows", cpu_isa_name(isa),
                             cpu_type_at(way / 6), (unsigned)rows, CPU_PRODUCT_ROWS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_claimed_runs),
                                       cmocka_unit_test(table_decides),
                                       cmocka_unit_test(gathered_rows_are_rounded_as_allowed),
                                       cmocka_unit_test(packed_weights_have_rounded_activations),
                                       cmocka_unit_test(every_kernel_is_chosen),
                                       cmocka_unit_test(many_rows_have_one_kernel)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
