/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed checkpoints: matrices packed here, value by value as the tools that write them do, come back as planar tensors
 * of exactly scale * (digit - zero), read whole and in pieces, from mapped files and from read ones; what is not read
 * is refused by name.
 */
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "format_support.h"
#include "model/file/packed.h"

#define MOST_ROWS 640u
#define MOST_WIDTH 1536u

/* A matrix as digits, zero points and scales. */
struct matrix {
    uint32_t bits;
    uint64_t rows, width, group, groups;
    uint8_t *digits; /* [rows, width] */
    uint8_t *zeros;  /* [rows, groups] */
    uint16_t *scales;
};

static uint32_t seed = 12345;

static uint32_t random_bits(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static struct matrix matrix_new(uint32_t bits, uint64_t rows, uint64_t width, uint64_t group, bool symmetric)
{
    struct matrix m = {bits, rows, width, group, (width + group - 1) / group, NULL, NULL, NULL};
    m.digits = malloc(rows * width);
    m.zeros = malloc(rows * m.groups);
    m.scales = malloc(rows * m.groups * 2);
    for (uint64_t i = 0; i < rows * width; i++)
        m.digits[i] = (uint8_t)(random_bits() & ((1u << bits) - 1));
    for (uint64_t i = 0; i < rows * m.groups; i++) {
        m.zeros[i] = (uint8_t)(symmetric ? 1u << (bits - 1) : random_bits() & ((1u << bits) - 1));
        m.scales[i] = accel_f16_from_f32(((float)(random_bits() % 2001) - 1000) * 1e-4f);
    }
    return m;
}

static void matrix_free(struct matrix *m)
{
    free(m->digits);
    free(m->zeros);
    free(m->scales);
}

/* Puts value `index` of a stream of digits into words that lie `stride` apart, three-bit ones with the two values that
 * cross a word taken apart by hand. */
static void put(uint32_t *words, uint64_t stride, uint32_t bits, uint64_t index, uint32_t value)
{
    uint64_t run = index / 32, i = index % 32, per = 32 / bits;
    uint32_t *at = words + run * bits * stride;
    if (bits != 3)
        at[i / per * stride] |= value << i % per * bits;
    else if (i < 10)
        at[0] |= value << 3 * i;
    else if (i == 10)
        at[0] |= value << 30, at[stride] |= value >> 2;
    else if (i < 21)
        at[stride] |= value << (3 * (i - 11) + 1);
    else if (i == 21)
        at[stride] |= value << 31, at[2 * stride] |= value >> 1;
    else
        at[2 * stride] |= value << (3 * (i - 22) + 2);
}

static void put_awq(uint32_t *line, uint64_t column, uint32_t value)
{
    static const uint32_t order[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    for (uint32_t p = 0; p < 8; p++)
        if (order[p] == column % 8)
            line[column / 8] |= value << 4 * p;
}

/* The tensors of a folder. */
struct packed_file {
    uint64_t digits[2], zeros[2], scales[2], order;
    uint32_t *digit_words, *zero_words, *order_words;
    uint16_t *scale_words;
};

static void pack(const struct matrix *m, uint32_t layout, uint32_t zero_less, struct packed_file *f)
{
    bool awq = layout == MODEL_PACKED_AWQ;
    *f = (struct packed_file){{awq ? m->width : m->width / 32 * m->bits, awq ? m->rows / 8 : m->rows},
                              {m->groups, m->rows * m->bits / 32},
                              {m->groups, m->rows},
                              m->width,
                              NULL,
                              NULL,
                              NULL,
                              NULL};
    f->digit_words = calloc(f->digits[0] * f->digits[1], 4);
    f->zero_words = calloc(f->zeros[0] * f->zeros[1], 4);
    f->order_words = calloc(f->order, 4);
    f->scale_words = calloc(m->groups * m->rows, 2);
    for (uint64_t r = 0; r < m->rows; r++) {
        for (uint64_t i = 0; i < m->width; i++) {
            if (awq)
                put_awq(f->digit_words + i * f->digits[1], r, m->digits[r * m->width + i]);
            else
                put(f->digit_words + r, f->digits[1], m->bits, i, m->digits[r * m->width + i]);
        }
        for (uint64_t g = 0; g < m->groups; g++) {
            uint32_t zero = (uint32_t)(m->zeros[r * m->groups + g] - zero_less) & ((1u << m->bits) - 1);
            f->scale_words[g * m->rows + r] = m->scales[r * m->groups + g];
            if (awq)
                put_awq(f->zero_words + g * f->zeros[1], r, zero);
            else
                put(f->zero_words + g * f->zeros[1], 1, m->bits, r, zero);
        }
    }
    for (uint64_t i = 0; i < m->width; i++)
        f->order_words[i] = (uint32_t)(i / m->group);
}

static void packed_free(struct packed_file *f)
{
    free(f->digit_words);
    free(f->zero_words);
    free(f->order_words);
    free(f->scale_words);
}

static void folder_name(char folder[FOLDER_BYTES])
{
    snprintf(folder, FOLDER_BYTES, "format_packed-%ld", (long)getpid());
    mkdir(folder, 0777);
}

static void write_folder(const char *folder, const struct packed_file *f, bool with_order, const char *config)
{
    static const float plain[2] = {1, 2};
    static const uint64_t two = 2;
    struct accel_safetensors_entry list[] = {
        {sizeof(*list), ACCEL_I32, "a.b.qweight", f->digits, f->digit_words, 2, 0},
        {sizeof(*list), ACCEL_I32, "a.b.qzeros", f->zeros, f->zero_words, 2, 0},
        {sizeof(*list), ACCEL_F16, "a.b.scales", f->scales, f->scale_words, 2, 0},
        {sizeof(*list), ACCEL_F32, "a.scales", &two, plain, 1, 0}, /* no part of a matrix */
        {sizeof(*list), ACCEL_I32, "a.b.g_idx", &f->order, f->order_words, 1, 0},
    };
    const struct accel_safetensors_entry *entries[5] = {&list[0], &list[1], &list[2], &list[3], &list[4]};
    write_checkpoint(folder, entries, with_order ? 5 : 4, config);
}

/* Pointers to row `row` in the planes that lie one after the other at `bytes`. */
static void planes_of(const struct accel_format *format, const struct matrix *m, const unsigned char *bytes,
                      uint64_t row, const void *out_planes[3])
{
    for (uint32_t p = 0; p < format->planes; p++) {
        uint64_t row_bytes = m->width / format->block_values * format->plane_bytes[p];
        out_planes[p] = bytes + row * row_bytes;
        bytes += m->rows * row_bytes;
    }
}

static void check_values(const struct matrix *m, const struct accel_model_tensor *tensor, const unsigned char *bytes)
{
    static float values[MOST_WIDTH];
    struct accel_format format;
    assert_int_equal(accel_format_describe(tensor->type, &format), ACCEL_OK);
    for (uint64_t r = 0; r < m->rows; r++) {
        const void *planes[3];
        planes_of(&format, m, bytes, r, planes);
        assert_int_equal(accel_format_decode(tensor->type, planes, m->width, values), ACCEL_OK);
        for (uint64_t i = 0; i < m->width; i++) {
            uint64_t at = r * m->groups + i / m->group;
            float want =
                accel_f16_to_f32(m->scales[at]) * (float)((int)m->digits[r * m->width + i] - (int)m->zeros[at]);
            if (values[i] != want)
                fail_msg("%s row %d value %d: %g, expected %g", format.name, (int)r, (int)i, (double)values[i],
                         (double)want);
        }
    }
}

static void check_folder(const char *folder, const struct matrix *m, uint32_t group, bool symmetric, uint32_t flags)
{
    struct accel_model_open_options options = {sizeof(options), flags};
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    const struct accel_model_tensor *tensor;
    struct accel_format format;
    unsigned char *whole, *pieces;
    assert_int_equal(accel_model_file_open(folder, &options, &file, &error), ACCEL_OK);
    if (model_packed_replace(file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_file_tensor_count(file), 2);
    assert_non_null(accel_model_file_find(file, "a.scales"));
    assert_null(accel_model_file_find(file, "a.b.qweight"));
    tensor = accel_model_file_find(file, "a.b.weight");
    assert_non_null(tensor);
    assert_null(accel_model_file_data(file, tensor));
    assert_int_equal(accel_format_describe(tensor->type, &format), ACCEL_OK);
    assert_int_equal(format.digit_bits, m->bits);
    assert_int_equal(format.block_values, group);
    assert_int_equal(format.planes, symmetric ? 2 : 3);
    assert_string_equal(tensor->type_name, format.name);
    assert_int_equal(tensor->dims[0], m->rows);
    assert_int_equal(tensor->dims[1], m->width);
    whole = malloc(tensor->bytes);
    pieces = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(file, tensor, 0, tensor->bytes, whole, &error), ACCEL_OK);
    check_values(m, tensor, whole);
    for (uint64_t at = 0; at < tensor->bytes;) {
        uint64_t count = 1 + random_bits() % (tensor->bytes / 3);
        count = count < tensor->bytes - at ? count : tensor->bytes - at;
        assert_int_equal(accel_model_file_read(file, tensor, at, count, pieces + at, &error), ACCEL_OK);
        at += count;
    }
    assert_memory_equal(whole, pieces, tensor->bytes);
    assert_int_equal(accel_model_file_read(file, tensor, 1, tensor->bytes, whole, &error), ACCEL_E_INVALID);
    free(whole);
    free(pieces);
    accel_model_file_close(file);
}

static void test_gptq(void **state)
{
    static const struct {
        uint32_t bits;
        int group_size;
        uint64_t rows, width;
        uint32_t group; /* of the planar type */
    } cases[] = {
        {4, 128, 640, 256, 128}, {3, 128, 544, 384, 128}, {2, 64, 272, 192, 64},    {8, 32, 256, 96, 32},
        {4, -1, 24, 1536, 512},  {3, -1, 32, 96, 32},     {4, 1024, 64, 1536, 512}, {2, 128, 16, 160, 32},
        {8, -1, 4, 512, 512},    {4, 96, 8, 192, 32},
    };
    char folder[FOLDER_BYTES], config[512];
    (void)state;
    folder_name(folder);
    for (uint32_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t version = 1 + i % 2;
        bool symmetric = i / 2 % 2;
        uint64_t width = cases[i / 4].width;
        uint64_t group = cases[i / 4].group_size < 0 ? width : (uint64_t)cases[i / 4].group_size;
        struct matrix m = matrix_new(cases[i / 4].bits, cases[i / 4].rows, width, group, symmetric);
        struct packed_file f;
        assert_true(m.rows <= MOST_ROWS && m.width <= MOST_WIDTH);
        pack(&m, MODEL_PACKED_GPTQ, version == 1, &f);
        snprintf(config, sizeof(config),
                 "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": %u, \"group_size\": %d, "
                 "\"desc_act\": false, \"checkpoint_format\": \"%s\"}}",
                 m.bits, cases[i / 4].group_size, version == 1 ? "gptq" : "gptq_v2");
        write_folder(folder, &f, i % 3 != 0, config);
        check_folder(folder, &m, cases[i / 4].group, symmetric, i % 2 ? ACCEL_MODEL_OPEN_READ : 0);
        packed_free(&f);
        matrix_free(&m);
    }
    remove_checkpoint(folder);
}

static void test_awq(void **state)
{
    char folder[FOLDER_BYTES];
    (void)state;
    folder_name(folder);
    for (uint32_t symmetric = 0; symmetric < 2; symmetric++) {
        struct matrix m = matrix_new(4, 528, 256, 64, symmetric);
        struct packed_file f;
        pack(&m, MODEL_PACKED_AWQ, 0, &f);
        write_folder(folder, &f, false,
                     "{\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 64, "
                     "\"version\": \"GEMM\", \"zero_point\": true}}");
        check_folder(folder, &m, 64, symmetric, 0);
        packed_free(&f);
        matrix_free(&m);
    }
    remove_checkpoint(folder);
}

static void refused(const char *folder, int32_t code, const char *word)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    uint64_t count;
    assert_int_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
    count = accel_model_file_tensor_count(file);
    assert_int_equal(model_packed_replace(file, &error), code);
    assert_int_equal(error.code, code);
    if (strstr(error.text, word) == NULL)
        fail_msg("\"%s\" does not say %s", error.text, word);
    assert_int_equal(accel_model_file_tensor_count(file), count);
    accel_model_file_close(file);
}

static void test_refused(void **state)
{
    static const struct {
        const char *config, *word;
        int32_t code;
    } cases[] = {
        {"{}", "no quantization_config", ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"quant_method\": \"bitsandbytes\"}}", "bitsandbytes", ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"quant_method\": \"compressed-tensors\"}}", "another method",
         ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"bits\": 5, \"group_size\": 64}}", "bits", ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"bits\": 42, \"group_size\": 64}}", "bits", ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"bits\": 4}}", "group_size", ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"bits\": 4, \"group_size\": 40}}", "group_size", ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"bits\": 4, \"group_size\": 64, \"checkpoint_format\": \"marlin\"}}", "marlin",
         ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"bits\": 4, \"group_size\": 64, \"dynamic\": {\"x\": 1}}}", "dynamic",
         ACCEL_E_UNSUPPORTED},
        {"{\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 64, \"version\": "
         "\"gemv\"}}",
         "gemv", ACCEL_E_UNSUPPORTED},

        {"{\"quantization_config\": {\"bits\": 4, \"group_size\": 32}}", "qzeros", ACCEL_E_CORRUPT},
        {"{\"quantization_config\": {\"bits\": 8, \"group_size\": 64}}", "qzeros", ACCEL_E_CORRUPT},
        {"{\"quantization_config\": {\"bits\": 3, \"group_size\": 64}}", "qweight", ACCEL_E_CORRUPT},
        {"{\"quantization_config\"", "config.json", ACCEL_E_CORRUPT},
    };
    struct matrix m = matrix_new(4, 32, 128, 64, false);
    struct packed_file f;
    char folder[FOLDER_BYTES];
    (void)state;
    folder_name(folder);
    pack(&m, MODEL_PACKED_GPTQ, 1, &f);
    f.order_words[3] = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_folder(folder, &f, true, cases[i].config);
        refused(folder, cases[i].code, cases[i].word);
    }
    packed_free(&f);
    matrix_free(&m);
    remove_checkpoint(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gptq),
        cmocka_unit_test(test_awq),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
