/* SPDX-License-Identifier: Apache-2.0 */
/* Matmul in both modes, embed, rounding to 8 bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "support.h"

/* Guarded weights [n, k] with random codes and sane scales, and the same decoded. */
struct weights {
    struct accel_format format;
    struct cpu_matrix matrix;
    size_t bytes[3];
    float *decoded;
    size_t decoded_bytes;
};

static void scale_put(uint8_t *at)
{
    float scale = random_below(20) == 0 ? 0 : random_float() * 0.02f;
    uint16_t half = accel_f16_from_f32(scale);
    memcpy(at, &half, sizeof(half));
}

/* Digits at random; some blocks all of one extreme byte. */
static void codes_put(uint8_t *at, size_t bytes)
{
    static const uint8_t extremes[4] = {0x00, 0xff, 0x80, 0x7f};
    uint32_t kind = random_below(12);
    for (size_t i = 0; i < bytes; i++)
        at[i] = kind < 4 ? extremes[kind] : (uint8_t)random_bits();
}

/* Where the scales in halves of an interleaved format stand: one or two, the second right after the first. */
static size_t scales_at(uint32_t type, size_t *out_count)
{
    *out_count = 1;
    switch (type) {
    case ACCEL_Q4_1:
    case ACCEL_Q5_1:
    case ACCEL_Q4_K:
    case ACCEL_Q5_K:
        *out_count = 2;
        return 0;
    case ACCEL_Q2_K:
        *out_count = 2;
        return 80;
    case ACCEL_Q3_K:
        return 108;
    case ACCEL_Q6_K:
        return 208;
    case ACCEL_TQ1_0:
        return 52;
    case ACCEL_TQ2_0:
        return 64;
    case ACCEL_IQ1_M:
    case ACCEL_NVFP4:
        *out_count = 0;
        return 0;
    default:
        return 0;
    }
}

/* Stores the scale of iq1_m in the upper four bits of its last four words. */
static void scale_put_iq1_m(uint8_t *block)
{
    uint8_t half[2];
    scale_put(half);
    for (size_t i = 0; i < 4; i++)
        block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (half[i / 2] >> i % 2 * 4 & 15) << 4);
}

static void block_put(const struct accel_format *format, uint8_t *codes, uint8_t *scale, uint8_t *zero)
{
    if (format->kind == ACCEL_FORMAT_PLANAR) {
        codes_put(codes, format->plane_bytes[0]);
        if (format->plane_bytes[1] > 0)
            scale_put(scale);
        if (format->plane_bytes[2] > 0) /* most of them as encoders write them, some at the ends of the byte */
            *zero = (uint8_t)(random_bits() >> (random_below(4) ? 8 - format->digit_bits : 0));
    } else if (format->kind == ACCEL_FORMAT_INTERLEAVED) {
        size_t count, at = scales_at(format->type, &count);
        codes_put(codes, format->plane_bytes[0]);
        if (format->type == ACCEL_IQ1_M)
            scale_put_iq1_m(codes);
        for (size_t g = 0; g < 4 && format->type == ACCEL_NVFP4; g++) /* up to 1/8; subnormals and zero too */
            codes[g] = random_below(20) == 0 ? 0x7f : (uint8_t)random_below(0x20);
        if (format->type == ACCEL_MXFP4) /* an exponent: zero is the smallest subnormal scale */
            codes[0] = random_below(20) == 0 ? 0 : (uint8_t)(112 + random_below(8));
        for (size_t i = 0; i < count && format->type != ACCEL_MXFP4; i++)
            scale_put(codes + at + 2 * i);
    } else {
        float value = random_float() * 0.05f;
        void *plane = codes;
        assert_int_equal(accel_format_encode(format->type, &value, 1, &plane), ACCEL_OK);
    }
}

/* Fills the data of a row: a scale, a zero point or a codebook of 16 entries in any order and size. */
static void row_put(const struct accel_format *format, uint8_t *scale, uint8_t *last)
{
    if (format->row_bytes[1] > 0)
        scale_put(scale);
    if (format->row_bytes[2] == 1)
        *last = (uint8_t)(random_bits() >> (random_below(4) ? 8 - format->digit_bits : 0));
    for (uint32_t i = 0; i + 1 < format->row_bytes[2]; i += 2) {
        uint16_t half = accel_f16_from_f32(random_float() * (random_below(8) ? 1.0f : 3.0f));
        memcpy(last + i, &half, sizeof(half));
    }
}

/* Returns whether weights are floats of 8 bits in planes, which are multiplied with floats alone. */
static bool is_planar_float(uint32_t type)
{
    return ACCEL_IS_PLANAR(type) && ACCEL_PLANAR_SCHEME(type) == ACCEL_SCHEME_FLOAT8;
}

static struct weights weights_new(uint32_t type, size_t n, size_t k)
{
    struct weights w = {.matrix = {.type = type}};
    assert_int_equal(accel_format_describe(type, &w.format), ACCEL_OK);
    for (uint32_t p = 0; p < w.format.planes; p++) {
        assert_int_equal(accel_format_row_bytes(w.format.type, p, k, &w.matrix.stride[p]), ACCEL_OK);
        w.bytes[p] = n * w.matrix.stride[p];
        w.matrix.plane[p] = guard_new(w.bytes[p]);
    }
    for (size_t b = 0; b < n * k / w.format.block_values; b++)
        block_put(&w.format, (uint8_t *)w.matrix.plane[0] + b * w.format.plane_bytes[0],
                  (uint8_t *)w.matrix.plane[1] + b * w.format.plane_bytes[1],
                  (uint8_t *)w.matrix.plane[2] + b * w.format.plane_bytes[2]);
    /* The code with all bits is no number. */
    for (size_t i = 0; is_planar_float(type) && i < w.bytes[0]; i++)
        ((uint8_t *)w.matrix.plane[0])[i] &= 0xfeu;
    for (size_t j = 0; j < n; j++)
        row_put(&w.format, (uint8_t *)w.matrix.plane[1] + j * w.matrix.stride[1],
                (uint8_t *)w.matrix.plane[2] + j * w.matrix.stride[2]);
    w.decoded_bytes = n * k * sizeof(float);
    w.decoded = guard_new(w.decoded_bytes);
    for (size_t j = 0; j < n; j++) {
        const void *planes[3] = {(const char *)w.matrix.plane[0] + j * w.matrix.stride[0],
                                 (const char *)w.matrix.plane[1] + j * w.matrix.stride[1],
                                 (const char *)w.matrix.plane[2] + j * w.matrix.stride[2]};
        assert_int_equal(accel_format_decode(w.format.type, planes, k, w.decoded + j * k), ACCEL_OK);
    }
    return w;
}

static void weights_free(struct weights *w)
{
    for (uint32_t p = 0; p < w->format.planes; p++)
        guard_free((void *)w->matrix.plane[p], w->bytes[p]);
    guard_free(w->decoded, w->decoded_bytes);
}

/* How far x may be rounded: bits, and ROWS_OF_8 for 8 bits with one scale for a row of x. */
#define ROWS_OF_8 9

/* Guarded activations in all forms; some blocks are constant, so that every product has its largest size. */
struct inputs {
    float *x;
    float *bias;
    float *residual;
    float *y;
    struct cpu_act_q8 act_q8;
    void *rounded;
    uint16_t *act_bf16; /* in rows */
    uint16_t *bf16_isa; /* as the ISA's kernels read it */
    float *arranged;
    size_t m, n, k;
};

/* Rounds rows of k values to BF16, in rows padded with zeros. */
static void round_rows(const float *x, size_t stride, size_t rows, size_t k, uint16_t *out)
{
    const size_t row = cpu_act_bf16_row(k);
    for (size_t i = 0; i < rows * row; i++)
        out[i] = i % row < k ? accel_bf16_from_f32(x[i / row * stride + i % row]) : 0;
}

static struct inputs inputs_new(const struct tables *tables, bool by_row, size_t m, size_t n, size_t k)
{
    struct inputs in = {.m = m, .n = n, .k = k};
    in.x = guard_new(m * k * sizeof(float));
    in.bias = guard_new(n * sizeof(float));
    in.residual = guard_new(m * n * sizeof(float));
    in.y = guard_new(m * n * sizeof(float));
    random_fill(in.x, m * k);
    for (size_t i = 0; i + 32 <= m * k; i += 32) {
        for (size_t l = 0; l < 32 && random_below(32) == 0; l++)
            in.x[i + l] = 3;
    }
    for (size_t l = 0; l < k && m > 2; l++)
        in.x[2 * k + l] = l % 64 < 32 ? -1.5f : 0;
    random_fill(in.bias, n);
    random_fill(in.residual, m * n);
    in.rounded = guard_new(cpu_act_q8_bytes(m, k));
    cpu_act_q8_map(in.rounded, m, k, &in.act_q8);
    if (k % 32 == 0)
        (by_row ? tables->kernels.quantize_rows : tables->kernels.quantize)(in.x, k, k, &in.act_q8, 0, m);
    in.act_bf16 = guard_new(cpu_act_bf16_bytes(m, k));
    round_rows(in.x, k, m, k, in.act_bf16);
    in.bf16_isa = guard_new(cpu_act_bf16_bytes(m, k));
    if (tables->kernels.round16 != NULL)
        tables->kernels.round16(in.x, k, m, k, in.bf16_isa, 0, m);
    in.arranged = guard_new(cpu_act_f32_bytes(m, k));
    if (tables->kernels.arrange == NULL)
        return in;
    tables->kernels.arrange(in.x, k, m, k, in.arranged, 0, m > CPU_ACT_F32_ROWS ? CPU_ACT_F32_ROWS : m);
    tables->kernels.arrange(in.x, k, m, k, in.arranged, CPU_ACT_F32_ROWS, m > CPU_ACT_F32_ROWS ? m : CPU_ACT_F32_ROWS);
    return in;
}

static void inputs_free(struct inputs *in)
{
    guard_free(in->x, in->m * in->k * sizeof(float));
    guard_free(in->bias, in->n * sizeof(float));
    guard_free(in->residual, in->m * in->n * sizeof(float));
    guard_free(in->y, in->m * in->n * sizeof(float));
    guard_free(in->rounded, cpu_act_q8_bytes(in->m, in->k));
    guard_free(in->act_bf16, cpu_act_bf16_bytes(in->m, in->k));
    guard_free(in->bf16_isa, cpu_act_bf16_bytes(in->m, in->k));
    guard_free(in->arranged, cpu_act_f32_bytes(in->m, in->k));
}

static double largest_half(const struct weights *w, uint32_t plane, size_t row)
{
    const uint8_t *halves = (const uint8_t *)w->matrix.plane[plane] + row * w->matrix.stride[plane];
    double most = 0;
    for (size_t i = 0; i < w->matrix.stride[plane]; i += 2)
        most = fmax(most, fabs((double)accel_f16_to_f32((uint16_t)(halves[i] | halves[i + 1] << 8))));
    return most;
}

/* With rounded activations codebooks are rounded to 16 bits: each entry is off by 1.6e-5 of the largest. */
static double codebook_error(const struct weights *w, int bits, size_t row)
{
    const uint32_t scheme = w->format.type & 15u;
    if (bits != 8 || w->format.kind != ACCEL_FORMAT_PLANAR || scheme < ACCEL_SCHEME_NF4)
        return 0;
    return 1.6e-5 * largest_half(w, 1, row) * (scheme == ACCEL_SCHEME_CODEBOOK ? largest_half(w, 2, row) : 1);
}

/* A weight as the kernel sees it. */
static double w_value(const struct weights *w, int bits, size_t at)
{
    const float value = w->decoded[at];
    return bits == 16 && w->format.type != ACCEL_F16 ? accel_bf16_to_f32(accel_bf16_from_f32(value)) : value;
}

/* x as the kernel sees it. */
static double x_value(const struct inputs *in, int bits, size_t i, size_t l)
{
    if (bits == 32)
        return in->x[i * in->k + l];
    if (bits == 16)
        return accel_bf16_to_f32(in->act_bf16[i * cpu_act_bf16_row(in->k) + l]);
    return (double)in->act_q8.scale[i * (in->k / 32) + l / 32] * in->act_q8.q[i * in->k + l];
}

/* Kernels may take codes from 128, those of q5_k from 16, and correct the sum: codes near it then leave what is rounded
 * of far larger numbers. */
static double rounding_of(const struct accel_format *format, int bits)
{
    const int moved = format->type == ACCEL_Q5_K || (format->kind == ACCEL_FORMAT_PLANAR && format->digit_bits == 8);
    return bits == 8 && moved ? 2e-5 : 2e-6;
}

/* What sums of k products in f32 may lose, of the sum of their magnitudes: products that are all alike, as some rows
 * here give, are rounded the same way each time, at most by 2^-24 of what is there already; kernels add up in several
 * chains. */
static double summing_error(size_t k)
{
    return fmax(1e-5, 0x1p-24 * (double)k / 4);
}

/* Weights that are rounded once to BF16, and by the reference to F32 first, may differ by one place where that is next
 * to a tie: of the largest products so many may. */
#define NEAR_TIES 3

static void check_result(const char *what, const struct weights *w, const struct inputs *in, int bits,
                         const struct cpu_matmul *call, size_t begin, size_t end)
{
    for (size_t i = 0; i < in->m; i++) {
        for (size_t j = 0; j < in->n; j++) {
            size_t at = i * in->n + j;
            uint32_t untouched;
            memcpy(&untouched, in->y + at, sizeof(untouched));
            if (j < begin || j >= end) {
                assert_int_equal(untouched, 0xa5a5a5a5u);
                continue;
            }
            double sum = 0, size = 0, most = 0, off = codebook_error(w, bits, j);
            for (size_t l = 0; l < in->k; l++) {
                double product = w_value(w, bits, j * in->k + l) * x_value(in, bits, i, l);
                sum += product;
                most = fmax(most, fabs(product));
                size += fabs(product) + 1e5 * off * fabs(x_value(in, bits, i, l));
            }
            sum += call->bias ? in->bias[j] : 0;
            double want = function_value(call->function, sum) + (call->residual ? in->residual[at] : 0);
            near_enough(what, at, in->y[at], want,
                        summing_error(in->k) * size + rounding_of(&w->format, bits) * (1 + fabs(want)) +
                            (bits == 16 ? NEAR_TIES * 0x1p-8 * most : 0));
        }
    }
}

/* The bits of x as a kernel reads it. */
static int bits_of(uint32_t act)
{
    return act == CPU_ACT_Q8 || act == CPU_ACT_Q8_ROW ? 8 : act == CPU_ACT_BF16 ? 16 : 32;
}

/* The kernel for weights of a type and x in `bits` bits; of BF16 for any number of rows. */
static struct cpu_product product_of(const struct cpu_kernels *kernels, uint32_t type, int bits, int packed, size_t m,
                                     size_t k)
{
    struct cpu_product product = {.act = CPU_ACT_BF16};
    if (bits != 16)
        return cpu_product_of(kernels, type,
                              bits == 32  ? CPU_ROUND_NONE
                              : bits == 8 ? CPU_ROUND_BLOCKS
                                          : CPU_ROUND_ROWS,
                              packed, m, k);
    product.run = kernels->product[CPU_GEMM16][cpu_weight_of(type)];
    return product;
}

/* Where W lies. */
#define IN_ROWS 0
#define IN_PANELS 1

/* A product of tiles with one scale for a row has the bits of that of AVX-512. */
static void check_row_bits(const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t bytes = call->m * call->n * sizeof(float);
    struct cpu_matmul again = *call;
    struct cpu_kernels below;
    cpu_kernels_fill(&below, CPU_ISA_AVX512);
    assert_int_equal(below.isa, CPU_ISA_AVX512);
    again.y = memcpy(guard_new(bytes), call->y, bytes);
    below.product[CPU_GEMM8_ROW][cpu_weight_of(call->w.type)](&again, begin, end);
    assert_memory_equal(again.y, call->y, bytes);
    guard_free(again.y, bytes);
}

/* Of panels whole ones are asked for. */
static void run_way(const struct tables *tables, int way, uint32_t type, int bits, size_t m, size_t n, size_t k)
{
    const size_t unit = way == IN_PANELS ? CPU_MATMUL_ROWS : 1;
    const size_t bytes = way == IN_PANELS ? cpu_packed_bytes(tables->kernels.isa, type, n, k) : 0;
    /* Many rows of x may be read as rounded ones or as they are. */
    const struct cpu_product product = product_of(&tables->kernels, type, bits, way == IN_PANELS, m, k);
    struct weights w = weights_new(type, n, k);
    struct inputs in = inputs_new(tables, product.act == CPU_ACT_Q8_ROW, m, n, k);
    struct cpu_matmul call = {.w = w.matrix, .m = m, .n = n, .k = k, .y = in.y, .y_stride = n};
    void *panels = way == IN_PANELS ? guard_new(bytes) : NULL;
    char what[96];
    size_t begin = random_below(3) == 0 ? random_below((uint32_t)(n / unit)) * unit : 0,
           end = random_below(3) ? n : (begin + n + 1) / 2 / unit * unit;
    if (way == IN_PANELS) {
        assert_int_equal(bytes, w.bytes[0] + w.bytes[1]);
        cpu_pack_weights(&w.matrix, k, 0, n, panels);
        call.w = (struct cpu_matrix){.packed = panels, .type = type};
    }
    /* What the kernel does not need is not there. */
    bits = bits_of(product.act);
    if (bits == 8)
        call.act_q8 = in.act_q8;
    else if (product.act == CPU_ACT_BF16)
        call.act_bf16 = in.bf16_isa;
    else if (product.act == CPU_ACT_F32)
        call.act_f32 = in.arranged;
    else
        call.x = in.x;
    call.x_stride = k;
    call.bias = random_below(2) ? in.bias : NULL;
    call.residual = random_below(2) ? in.residual : NULL;
    call.residual_stride = n;
    call.function = random_below(2) ? random_below(ACCEL_FN_END) : ACCEL_FN_NONE;
    call.w.streams = (struct cpu_streams){(uint16_t)random_below(CPU_STREAMS + 1), (uint16_t)(256 * random_below(3))};
    snprintf(what, sizeof(what), "%s x%d%s [%zu, %zu, %zu] %zu..%zu fn %u streams %u", w.format.name, bits,
             way == IN_PANELS ? " panels" : "", m, n, k, begin, end, call.function, call.w.streams.count);
    product.run(&call, begin, end);
    check_result(what, &w, &in, bits, &call, begin, end);
    if (product.act == CPU_ACT_Q8_ROW && tables->kernels.isa == CPU_ISA_AMX)
        check_row_bits(&call, begin, end);
    guard_free(panels, bytes);
    inputs_free(&in);
    weights_free(&w);
}

static void run_case(const struct tables *tables, uint32_t type, int bits, size_t m, size_t n, size_t k)
{
    run_way(tables, IN_ROWS, type, bits, m, n, k);
}

static const size_t some_m[] = {1, 2, 3, 4, 5, 6, 7, 9, 33, 131};
static const size_t some_n[] = {1, 2, 3, 4, 5, 15, 16, 17, 37};
static const size_t some_k[] = {128, 512, 640, 1152};
static const size_t super_k[] = {256, 512, 2048, 2816};
static const size_t hyper_k[] = {512, 1024, 2560};
static const size_t odd_k[] = {1, 7, 8, 17, 172, 519, 1037};

#define PICK(list) list[random_below((uint32_t)(sizeof(list) / sizeof(list[0])))]

static size_t block_of(uint32_t type)
{
    struct accel_format format;
    assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
    return format.block_values;
}

/* A row's width of whole blocks. */
static size_t some_width(size_t block)
{
    return block > 256 ? PICK(hyper_k) : block > 128 ? PICK(super_k) : PICK(some_k);
}

/* Planar types without a place of their own share a kernel: fewer cases each. A sample has every number of rows of
 * some_m, and a sixth of the cases beyond. */
static size_t case_count(const struct tables *tables, uint32_t index, size_t count)
{
    const size_t cases = tables->is_sampled ? 10 + (count - 10) / 6 : count;
    return index < CPU_PLANAR ? cases : cases / 3;
}

void test_matmul(void **state)
{
    const struct tables *tables = *state;
    for (uint32_t w = 0; w < CPU_TYPES; w++) {
        for (size_t c = 0; c < case_count(tables, w, 40); c++) {
            size_t m = c < 10 ? some_m[c] : PICK(some_m);
            size_t k = w <= CPU_BF16 && c % 2 ? PICK(odd_k) : some_width(block_of(cpu_type_at(w)));
            run_case(tables, cpu_type_at(w), 32, m, PICK(some_n), k);
        }
    }
}

void test_matmul8(void **state)
{
    const struct tables *tables = *state;
    for (uint32_t w = CPU_Q8_0; w < CPU_TYPES; w++) {
        size_t block = block_of(cpu_type_at(w));
        for (size_t c = 0; c < case_count(tables, w, 60) && !is_planar_float(cpu_type_at(w)); c++) {
            size_t m = c < 10 ? some_m[c] : PICK(some_m);
            size_t k = block == 32 && c % 3 == 0 ? 32 + 32 * random_below(20) : some_width(block);
            run_case(tables, cpu_type_at(w), 8, m, PICK(some_n), k);
        }
    }
}

static bool has_row_kernel(const struct tables *tables, uint32_t type)
{
    struct accel_format format;
    assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
    return tables->kernels.product[CPU_GEMM8_ROW][cpu_weight_of(type)] != NULL && format.digit_bits == 8;
}

/* Rows of x with one scale each, in tiles of four and with rows of W in panels of 16: ends of both, of one panel and of
 * groups. */
void test_matmul8_rows(void **state)
{
    static const size_t rows[] = {CPU_ACT_Q8_ROW_FROM, 20, 33, 131, 515}, columns[] = {1, 16, 17, 32, 37, 48};
    const struct tables *tables = *state;
    for (uint32_t w = CPU_Q8_0; w < CPU_TYPES; w++) {
        const uint32_t type = cpu_type_at(w);
        const size_t block = block_of(type);
        for (size_t c = 0; c < 10 && has_row_kernel(tables, type); c++) {
            const size_t m = rows[c % (tables->is_sampled ? 3 : 5)], n = PICK(columns);
            const size_t k = block == 32 && c % 2 ? 32 + 32 * random_below(40) : some_width(block);
            assert_int_equal(product_of(&tables->kernels, type, ROWS_OF_8, 0, m, k).act, CPU_ACT_Q8_ROW);
            run_case(tables, type, ROWS_OF_8, m, n, k);
            if (cpu_packed_bytes(tables->kernels.isa, type, 16, k) != 0)
                run_way(tables, IN_PANELS, type, ROWS_OF_8, m, 16 * (1 + random_below(4)), k);
        }
    }
}

/* A sample that an emulated processor finishes: every type with a place of its own, one planar type of each width. */
static int in_sample(uint32_t index)
{
    return index < CPU_PLANAR || (index - CPU_PLANAR) % 9 == 0;
}

void test_matmul_few(void **state)
{
    const struct tables *tables = *state;
    for (uint32_t w = 0; w < CPU_TYPES; w++) {
        const size_t block = block_of(cpu_type_at(w));
        if (in_sample(w))
            run_case(tables, cpu_type_at(w), 32, w % 2 ? 1 : 7, 17, w <= CPU_BF16 ? 39 : block > 128 ? block : 128);
    }
}

void test_matmul8_few(void **state)
{
    static const size_t rows[] = {1, 2, 5};
    const struct tables *tables = *state;
    for (uint32_t w = CPU_Q8_0; w < CPU_TYPES; w++) {
        const size_t block = block_of(cpu_type_at(w));
        for (size_t i = 0; i < 3 && in_sample(w) && !is_planar_float(cpu_type_at(w)); i++)
            run_case(tables, cpu_type_at(w), 8, rows[i], 17, block > 128 ? block : 160 / block * block);
    }
}

/* Tests ISAs with BF16 products. */
void test_matmul16(void **state)
{
    static const size_t wide_n[] = {32, 48, 129, 150, 300};
    const struct tables *tables = *state;
    for (uint32_t w = CPU_F16; w < CPU_TYPES; w++) {
        const uint32_t type = cpu_type_at(w);
        if (product_of(&tables->kernels, type, 16, 0, 1, 1).run == NULL)
            continue;
        for (size_t c = 0; c < case_count(tables, w, 16); c++) {
            size_t k = w <= CPU_BF16 && c % 2 ? PICK(odd_k) : some_width(block_of(type));
            run_case(tables, type, 16, c < 10 ? some_m[c] : 530, c % 3 ? PICK(some_n) : PICK(wide_n), k);
        }
    }
}

/* Returns the index of value l of row r of act_bf16: in tiles of 16 or 8 rows, pair by pair. */
static size_t place16(uint32_t isa, size_t row, size_t r, size_t l)
{
    const size_t tile = isa == CPU_ISA_AMX ? 16 : 8;
    return r / tile * tile * row + l / 2 * 2 * tile + r % tile * 2 + l % 2;
}

/* Every ISA rounds to the same bits, except for subnormal numbers, which may be zeros. */
void test_round16(void **state)
{
    static const float edges[] = {0.0f,    -0.0f,    1.00390625f, 1.01171875f, -1.00390625f,
                                  3.4e38f, -3.4e38f, INFINITY,    1e-40f};
    const struct tables *tables = *state;
    enum { M = 37, K = 75, STRIDE = 80 };
    const size_t bytes = cpu_act_bf16_bytes(M, K), row = cpu_act_bf16_row(K);
    float *x = guard_new(M * STRIDE * sizeof(float));
    uint16_t *a = guard_new(bytes), *b = guard_new(bytes);
    random_fill(x, M * STRIDE);
    memcpy(x + 30, edges, sizeof(edges));
    x[70] = NAN;
    round_rows(x, STRIDE, M, K, b);
    if (tables->kernels.round16 != NULL) {
        tables->kernels.round16(x, STRIDE, M, K, a, 0, CPU_ACT_BF16_ROWS);
        tables->kernels.round16(x, STRIDE, M, K, a, CPU_ACT_BF16_ROWS, M);
        for (size_t i = 0; i < M * row; i++) {
            const uint16_t got = a[place16(tables->kernels.isa, row, i / row, i % row)];
            assert_true(got == b[i] || (fabsf(accel_bf16_to_f32(b[i])) < 0x1p-126f && (got & 0x7fff) == 0));
        }
    }
    for (size_t i = 0; i < M; i++) {
        for (size_t l = 0; l < row; l++) {
            const float value = l < K ? x[i * STRIDE + l] : 0, got = accel_bf16_to_f32(b[i * row + l]);
            if (value != value)
                assert_true(got != got);
            else if (fabsf(value) < 3.38e38f)
                near_enough("round16", i * row + l, got, value, fabs((double)value) / 256 + 1e-40);
            else
                assert_true(isinf(got) && signbit(got) == signbit(value));
        }
    }
    guard_free(x, M * STRIDE * sizeof(float));
    guard_free(a, bytes);
    guard_free(b, bytes);
}

/* The residual may be y itself, and rows may lie apart. */
void test_matmul_alias(void **state)
{
    const struct tables *tables = *state;
    enum { M = 6, N = 21, K = 256, STRIDE = 300 };
    struct weights w = weights_new(ACCEL_Q4_0, N, K);
    struct inputs in = inputs_new(tables, false, M, N, K);
    float x[M * STRIDE], y[M * STRIDE], apart[M * STRIDE];
    for (size_t i = 0; i < M; i++) {
        memcpy(x + i * STRIDE, in.x + i * K, K * sizeof(float));
        memcpy(y + i * STRIDE, in.residual + i * N, N * sizeof(float));
    }
    struct cpu_matmul call = {.w = w.matrix,
                              .m = M,
                              .n = N,
                              .k = K,
                              .x = x,
                              .x_stride = STRIDE,
                              .act_f32 = in.arranged,
                              .act_q8 = in.act_q8,
                              .y = apart,
                              .y_stride = STRIDE,
                              .residual = in.residual,
                              .residual_stride = N};
    for (int eight = 0; eight < 2; eight++) {
        cpu_matmul_fn *kernel =
            cpu_product_of(&tables->kernels, ACCEL_Q4_0, eight ? CPU_ROUND_BLOCKS : CPU_ROUND_NONE, 0, M, K).run;
        float again[M * STRIDE];
        memcpy(again, y, sizeof(y));
        kernel(&call, 0, N);
        struct cpu_matmul over = call;
        over.y = again;
        over.residual = again;
        over.residual_stride = STRIDE;
        kernel(&over, 0, N);
        for (size_t i = 0; i < M; i++)
            assert_memory_equal(again + i * STRIDE, apart + i * STRIDE, N * sizeof(float));
    }
    inputs_free(&in);
    weights_free(&w);
}

void test_embed(void **state)
{
    const struct tables *tables = *state;
    enum { ROWS = 11, TOKENS = 5 };
    static const int32_t ids[TOKENS] = {3, 10, -1, 11, 0};
    static const size_t right[TOKENS] = {3, 10, 0, 0, 0};
    for (uint32_t index = 0; index < CPU_TYPES; index++) {
        const int weight = cpu_weight_of(cpu_type_at(index));
        size_t k = weight <= CPU_BF16 ? 173 : block_of(cpu_type_at(index)) > 128 ? 512 : 384;
        struct weights w = weights_new(cpu_type_at(index), ROWS, k);
        float *y = guard_new(TOKENS * k * sizeof(float));
        size_t minima;
        (void)scales_at(w.format.type, &minima);
        tables->kernels.embed[weight](&w.matrix, ROWS, k, ids, y, 0, 2);
        tables->kernels.embed[weight](&w.matrix, ROWS, k, ids, y, 2, TOKENS);
        for (size_t i = 0; i < TOKENS * k; i++) {
            double want = w.decoded[right[i / k] * k + i % k];
            /* Where a minimum is added, a fused multiply-add rounds once. */
            near_enough(w.format.name, i, y[i], want, minima == 2 ? 1e-7 + 1e-6 * fabs(want) : 0);
        }
        guard_free(y, TOKENS * k * sizeof(float));
        weights_free(&w);
    }
}

/* Checks that tiles have the codes, scales and sums of their rows, and zeros past the last row. AVX-512 has initial
 * sums 8 times in 32 bits, others twice in 16. */
static void check_tiles(uint32_t isa, const struct cpu_act_q8 *rows, size_t blocks)
{
    for (size_t i = 0; i < (rows->rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS * CPU_TILE_ROWS * blocks; i++) {
        const size_t r = i / blocks, lane = r % CPU_TILE_ROWS;
        const struct cpu_tile *tile = cpu_tile_of(rows, blocks, r / CPU_TILE_ROWS, i % blocks);
        const float scale = r < rows->rows ? rows->scale[i] : 0;
        int minus[3][2] = {{0}};
        assert_true(tile->scale[lane] == scale);
        for (size_t c = 0; c < CPU_BLOCK; c++) {
            const int code = r < rows->rows ? rows->q[i * CPU_BLOCK + c] : 0;
            assert_int_equal(tile->q[c / 4][lane][c % 4], code);
            minus[0][c / 2 % 2] -= code;
            minus[1 + c / 16][c / 2 % 2] -= code;
        }
        for (size_t part = 0; part < 3; part++) {
            const union cpu_tile_sum *got = &tile->minus[part][lane];
            const int sum = minus[part][0] + minus[part][1];
            assert_true(tile->sum[part][lane] == scale * (float)-sum);
            if (isa >= CPU_ISA_AVX512 && isa <= CPU_ISA_AMX)
                assert_int_equal(got->minus8, 8 * sum);
            else
                assert_true(got->minus[0] == minus[part][0] && got->minus[1] == minus[part][1]);
        }
    }
}

/* Rounds with both, and compares; `group`: values under a scale. */
static void compare_quantized(const struct tables *tables, cpu_quantize_fn *kernel, cpu_quantize_fn *twin,
                              const float *x, size_t stride, size_t m, size_t k, size_t group)
{
    const size_t bytes = cpu_act_q8_bytes(m, k);
    void *first = guard_new(bytes), *second = guard_new(bytes);
    struct cpu_act_q8 a, b;
    cpu_act_q8_map(first, m, k, &a);
    cpu_act_q8_map(second, m, k, &b);
    kernel(x, stride, k, &a, 0, 4);
    kernel(x, stride, k, &a, 4, m);
    twin(x, stride, k, &b, 0, m);
    const size_t tiles = (size_t)((char *)a.q - (char *)first);
    if (tables->kernels.isa != CPU_ISA_SCALAR)
        check_tiles(tables->kernels.isa, &a, k / CPU_BLOCK);
    assert_memory_equal(a.q, b.q, bytes - tiles);
    for (size_t i = 0; i < m * k; i++) {
        double scale = a.scale[i / 32];
        near_enough("quantize", i, scale * a.q[i], x[i / k * stride + i % k], 0.5001 * scale + 1e-36);
        assert_true(a.scale[i / 32] == a.scale[i / k * (k / 32) + i % k / group * group / 32]);
    }
    guard_free(first, bytes);
    guard_free(second, bytes);
}

/* Every ISA rounds to the same bits. */
void test_quantize(void **state)
{
    const struct tables *tables = *state;
    enum { M = 9, K = 352, STRIDE = 360 };
    float *x = guard_new(M * STRIDE * sizeof(float));
    random_fill(x, M * STRIDE);
    memset(x, 0, 32 * sizeof(float));
    x[40] = 1e-40f;
    for (size_t i = 64; i < 96; i++)
        x[i] = 1e-39f * (float)i;
    for (size_t i = 96; i < 128; i++)
        x[i] = (float)(i - 96) - 15.5f; /* ties */
    for (size_t i = 0; i < K; i++)
        x[STRIDE + i] = 0, x[2 * STRIDE + i] = 1e-39f * (float)i;
    compare_quantized(tables, tables->kernels.quantize, tables->twins.quantize, x, STRIDE, M, K, 32);
    compare_quantized(tables, tables->kernels.quantize_rows, tables->twins.quantize_rows, x, STRIDE, M, K, K);
    guard_free(x, M * STRIDE * sizeof(float));
}

/* ---- panels ---- */

/* All ways of x with one type: there are none in F32. */
static void run_panels(const struct tables *tables, uint32_t type, size_t m, size_t n)
{
    const size_t block = block_of(type), k = some_width(block);
    run_way(tables, IN_PANELS, type, 8, m, n, k);
    assert_null(product_of(&tables->kernels, type, 32, IN_PANELS, m, k).run);
    if (tables->kernels.product[CPU_GEMM16][cpu_weight_of(type)] != NULL)
        run_way(tables, IN_PANELS, type, 16, m, n, k);
}

/* An ISA with packed weights supports the common model types; none supports other types than its own. */
void test_panels(void **state)
{
    static const size_t rows[] = {1, 2, 3, 4, 5, 8, 9, 11, 16, 17, 23, 40}, columns[] = {16, 32, 80, 112};
    const struct tables *tables = *state;
    const uint32_t isa = tables->kernels.isa;
    uint32_t types = 0;
    for (uint32_t t = 0; t < CPU_TYPES; t++) {
        const uint32_t type = cpu_type_at(t);
        if (cpu_packed_bytes(isa, type, 32, 2048) == 0)
            continue;
        types++;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            run_panels(tables, type, rows[i], PICK(columns));
        assert_int_equal(cpu_packed_bytes(isa, type, 24, 2048), 0);
        assert_int_equal(cpu_packed_bytes(isa, type, 32, 2048 + 16), 0);
        assert_int_equal(cpu_packed_bytes(isa, type, 0, 2048), 0);
        assert_int_equal(cpu_packed_bytes(isa, type, 32, (size_t)1 << 30), 0);
    }
    assert_true((types != 0) == (tables->kernels.product[CPU_GEMV_PACKED][CPU_Q4_0] != NULL));
    assert_true(types == 0 ||
                (cpu_packed_bytes(isa, ACCEL_Q4_0, 32, 2048) != 0 && cpu_packed_bytes(isa, ACCEL_Q4_K, 32, 2048) != 0));
    assert_int_equal(cpu_packed_bytes(isa, ACCEL_F16, 32, 2048), 0);
}
