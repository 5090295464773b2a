/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of compressed-tensors, and those of GPTQ whose columns are out of order or packed in several ways: packed
 * here value by value, they come back as scale * (digit - zero), exactly where the header of the reader says so.
 * The same reader was held against compressed-tensors 0.20.0 (torch 2.15) by hand: 2, 3, 4 and 8 bits, symmetric and
 * asymmetric, by group, channel and tensor, scales in F16, BF16 and F32, pack-, int- and naive-quantized, 37 folders
 * compressed by it: equal to what it decompresses in F32, or within 2^-11 of it where scales or values are rounded.
 */
#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "format_support.h"
#include "model/file/packed.h"

static uint32_t seed = 777;

static uint32_t random_below(uint32_t end)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % end;
}

/* A matrix, its tensors as a folder has them, and what it is shown as. */
struct matrix {
    uint32_t bits, scale_type;
    uint64_t rows, width, group, groups;
    bool asymmetric, bytes, gptq;
    const uint32_t *order; /* group of each column; NULL: they rise */
    const char *type;      /* what it is shown as */
    double error;          /* relative */
};

struct tensors {
    int32_t *digits; /* also the bytes of I8 */
    int32_t *zeros;
    uint32_t *order;
    void *scales;
    float *values;
    int64_t shape[2];
};

static void put_digit(int32_t *words, uint64_t stride, uint32_t bits, uint64_t index, uint32_t digit)
{
    for (uint32_t b = 0; b < bits; b++) {
        const uint64_t at = index * bits + b;
        words[at / 32 * stride] |= (int32_t)((digit >> b & 1u) << at % 32);
    }
}

static float put_scale(const struct matrix *m, void *scales, uint64_t at)
{
    float scale = ((float)random_below(2001) - 1000) * 3.1e-5f;
    uint16_t half;
    if (fabsf(scale) < 1e-4f)
        scale = 1e-3f;
    if (m->scale_type == ACCEL_F32) {
        ((float *)scales)[at] = scale;
        return scale;
    }
    half = m->scale_type == ACCEL_F16 ? accel_f16_from_f32(scale) : accel_bf16_from_f32(scale);
    ((uint16_t *)scales)[at] = half;
    return m->scale_type == ACCEL_F16 ? accel_f16_to_f32(half) : accel_bf16_to_f32(half);
}

static struct tensors pack(const struct matrix *m)
{
    struct tensors t = {calloc(m->rows * m->width, 4),  calloc(m->rows * (m->groups + 32), 4), calloc(m->width, 4),
                        calloc(m->rows * m->groups, 4), calloc(m->rows * m->width, 4),         {0}};
    const uint64_t words = (m->width * m->bits + 31) / 32, zero_words = m->rows * m->bits / 32;
    float *scales = calloc(m->rows * m->groups, 4);
    uint32_t *zeros = calloc(m->rows * m->groups, 4);
    t.shape[0] = (int64_t)m->rows;
    t.shape[1] = (int64_t)m->width;
    for (uint64_t i = 0; i < m->rows * m->groups; i++) {
        const uint64_t row = i / m->groups, g = i % m->groups;
        const uint32_t zero = m->asymmetric ? random_below(1u << m->bits) : 1u << (m->bits - 1);
        zeros[i] = zero;
        scales[i] = put_scale(m, t.scales, m->gptq ? g * m->rows + row : i);
        if (m->bytes)
            ((int8_t *)t.zeros)[i] = (int8_t)((int)zero - 128);
        else if (m->gptq)
            put_digit(t.zeros + g * zero_words, 1, m->bits, row, zero);
        else
            put_digit(t.zeros + g, m->groups, m->bits, row, zero);
    }
    for (uint64_t i = 0; i < m->rows * m->width; i++) {
        const uint64_t row = i / m->width, column = i % m->width;
        const uint64_t g = m->order ? m->order[column] : column / m->group;
        const uint32_t digit = random_below(1u << m->bits);
        t.order[column] = (uint32_t)g;
        if (m->bytes)
            ((int8_t *)t.digits)[i] = (int8_t)((int)digit - 128);
        else if (m->gptq)
            put_digit(t.digits + row, m->rows, m->bits, column, digit);
        else
            put_digit(t.digits + row * words, 1, m->bits, column, digit);
        t.values[i] = scales[row * m->groups + g] * (float)((int)digit - (int)zeros[row * m->groups + g]);
    }
    free(scales);
    free(zeros);
    return t;
}

static void tensors_free(struct tensors *t)
{
    free(t->digits);
    free(t->zeros);
    free(t->order);
    free(t->scales);
    free(t->values);
}

static void write_folder(const char *folder, const struct matrix *m, const struct tensors *t, const char *config)
{
    static const uint64_t two = 2;
    static const float plain[2] = {1, 2};
    const uint64_t rows_words = (m->rows * m->bits + 31) / 32;
    const uint64_t by_row[2] = {m->rows, m->bytes ? m->width : (m->width * m->bits + 31) / 32};
    const uint64_t by_column[2] = {m->width * m->bits / 32, m->rows}, scales[2] = {m->rows, m->groups};
    const uint64_t scales_gptq[2] = {m->groups, m->rows}, zeros_gptq[2] = {m->groups, rows_words};
    const uint64_t zeros[2] = {m->bytes ? m->rows : rows_words, m->groups};
    const uint32_t type = m->bytes ? ACCEL_I8 : ACCEL_I32, size = sizeof(struct accel_safetensors_entry);
    const struct accel_safetensors_entry ours[] = {
        {size, type, m->bytes ? "a.b.weight" : "a.b.weight_packed", by_row, t->digits, 2, 0},
        {size, m->scale_type, "a.b.weight_scale", scales, t->scales, 2, 0},
        {size, ACCEL_F32, "a.b.bias", &two, plain, 1, 0},
        {size, ACCEL_I64, m->bytes ? "c.weight_shape" : "a.b.weight_shape", &two, t->shape, 1, 0},
        {size, type, "a.b.weight_zero_point", zeros, t->zeros, 2, 0},
    };
    const struct accel_safetensors_entry theirs[] = {
        {size, ACCEL_I32, "a.b.qweight", by_column, t->digits, 2, 0},
        {size, m->scale_type, "a.b.scales", scales_gptq, t->scales, 2, 0},
        {size, ACCEL_F32, "a.b.bias", &two, plain, 1, 0},
        {size, ACCEL_I32, "a.b.qzeros", zeros_gptq, t->zeros, 2, 0},
        {size, ACCEL_I32, "a.b.g_idx", &m->width, t->order, 1, 0},
    };
    const struct accel_safetensors_entry *entries[5];
    for (size_t i = 0; i < 5; i++)
        entries[i] = m->gptq ? &theirs[i] : &ours[i];
    write_checkpoint(folder, entries, m->gptq || m->asymmetric ? 5 : 4, config);
}

static void check_values(const struct matrix *m, const float *want, const struct accel_model_tensor *tensor,
                         const unsigned char *bytes)
{
    float *values = malloc(m->width * sizeof(float));
    struct accel_format format;
    assert_int_equal(accel_format_describe(tensor->type, &format), ACCEL_OK);
    for (uint64_t r = 0; r < m->rows; r++, want += m->width) {
        const void *planes[4] = {0};
        const unsigned char *plane = bytes;
        for (uint32_t p = 0; p < format.planes; p++) {
            size_t row_bytes;
            assert_int_equal(accel_format_row_bytes(tensor->type, p, m->width, &row_bytes), ACCEL_OK);
            planes[p] = plane + r * row_bytes;
            plane += m->rows * row_bytes;
        }
        assert_int_equal(accel_format_decode(tensor->type, planes, m->width, values), ACCEL_OK);
        for (uint64_t i = 0; i < m->width; i++)
            if (!(fabs((double)values[i] - (double)want[i]) <= m->error * fabs((double)want[i])))
                fail_msg("%s row %d value %d: %g, expected %g", m->type, (int)r, (int)i, (double)values[i],
                         (double)want[i]);
    }
    free(values);
}

static void check(const struct matrix *m, const char *config)
{
    char folder[FOLDER_BYTES];
    struct tensors t = pack(m);
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    const struct accel_model_tensor *tensor;
    unsigned char *whole;
    snprintf(folder, sizeof(folder), "format_compressed-%ld", (long)getpid());
    mkdir(folder, 0777);
    write_folder(folder, m, &t, config);
    assert_int_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
    if (model_packed_replace(file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_file_tensor_count(file), m->bytes ? 3 : 2);
    tensor = accel_model_file_find(file, "a.b.weight");
    assert_non_null(tensor);
    assert_null(accel_model_file_data(file, tensor));
    assert_string_equal(tensor->type_name, m->type);
    assert_int_equal(tensor->dims[0], m->rows);
    assert_int_equal(tensor->dims[1], m->width);
    whole = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(file, tensor, 0, tensor->bytes, whole, &error), ACCEL_OK);
    check_values(m, t.values, tensor, whole);
    check_pieces(file, tensor, whole, random_below);
    free(whole);
    accel_model_file_close(file);
    tensors_free(&t);
    remove_checkpoint(folder);
}

/* Most that rounding to halves may lose. */
#define HALF 0x1p-11

static void test_words(void **state)
{
    static const struct matrix cases[] = {
        {4, ACCEL_F16, 304, 256, 128, 2, false, false, false, NULL, "q4_g128", 0},
        {4, ACCEL_BF16, 304, 256, 128, 2, true, false, false, NULL, "q4_g128a", 0},
        {8, ACCEL_BF16, 40, 128, 32, 4, true, false, false, NULL, "q8_g32a", 0},
        {2, ACCEL_F32, 48, 128, 64, 2, false, false, false, NULL, "q2_g64", HALF},
        {3, ACCEL_F16, 300, 96, 96, 1, true, false, false, NULL, "q3_g32a", 0},
        {4, ACCEL_F16, 37, 100, 100, 1, true, false, false, NULL, "F16", HALF},
    };
    char config[512];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct matrix *m = &cases[i];
        snprintf(config, sizeof(config),
                 "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", "
                 "\"config_groups\": {\"group_0\": {\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": %u, "
                 "\"type\": \"int\", \"symmetric\": %s, \"strategy\": \"%s\", \"group_size\": %d}}}, "
                 "\"ignore\": [\"lm_head\"]}}",
                 m->bits, m->asymmetric ? "false" : "true", m->groups > 1 ? "group" : "channel",
                 m->groups > 1 ? (int)m->group : -1);
        check(m, config);
    }
}

static void test_bytes(void **state)
{
    static const struct matrix cases[] = {
        {8, ACCEL_BF16, 300, 256, 256, 1, false, true, false, NULL, "q8_g256", 0},
        {8, ACCEL_F16, 33, 128, 64, 2, true, true, false, NULL, "q8_g64a", 0},
        {8, ACCEL_F16, 33, 72, 72, 1, true, true, false, NULL, "F16", HALF},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i], cases[i].groups > 1
                             ? "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": "
                               "\"int-quantized\", \"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 8, "
                               "\"strategy\": \"group\", \"group_size\": 64}}}}}"
                             : "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": "
                               "\"int-quantized\", \"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 8, "
                               "\"strategy\": \"channel\"}}}}}");
}

static void test_order(void **state)
{
    static uint32_t order[256];
    const struct matrix cases[] = {
        {4, ACCEL_F16, 304, 256, 64, 4, true, false, true, order, "F16", HALF},
        {3, ACCEL_F16, 64, 256, 128, 2, false, false, true, order, "F16", HALF},
        {4, ACCEL_BF16, 304, 256, 64, 4, true, false, true, NULL, "q4_g64a", 0},
    };
    char config[256];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t c = 0; c < 256; c++)
            order[c] = c / (uint32_t)cases[i].group;
        for (uint32_t c = 255; c > 0; c--) {
            const uint32_t other = random_below(c + 1), kept = order[c];
            order[c] = order[other];
            order[other] = kept;
        }
        /* The bits and group of this matrix are those that `dynamic` gives to some. */
        snprintf(config, sizeof(config),
                 "{\"quantization_config\": {\"bits\": 8, \"group_size\": 32, \"desc_act\": true, "
                 "\"checkpoint_format\": \"gptq_v2\", \"dynamic\": {\"-:lm_head\": {}, \"+:.*b$\": {\"bits\": %u, "
                 "\"group_size\": %d}}}}",
                 cases[i].bits, (int)cases[i].group);
        check(&cases[i], config);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *config, *word;
        int32_t code;
    } cases[] = {
        {"\"format\": \"marlin-24\"", "marlin-24", ACCEL_E_UNSUPPORTED},
        {"\"config_groups\": {\"g\": {\"weights\": {\"type\": \"float\", \"num_bits\": 4}}}", "describes floats",
         ACCEL_E_UNSUPPORTED},
        {"\"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 5}}}", "num_bits is 5", ACCEL_E_UNSUPPORTED},
        {"\"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 4, \"strategy\": \"block\"}}}", "block",
         ACCEL_E_UNSUPPORTED},
        {"\"sparsity_config\": {\"format\": \"sparse-bitmask\"}", "sparse-bitmask", ACCEL_E_UNSUPPORTED},
        {"\"config_groups\": {}", "does not describe", ACCEL_E_UNSUPPORTED},
        {"\"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 8, \"strategy\": \"channel\"}}}", "weight_packed",
         ACCEL_E_CORRUPT},
        {"\"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 4, \"strategy\": \"group\", \"group_size\": 32}}}",
         "weight_scale", ACCEL_E_CORRUPT},
    };
    const struct matrix m = {4, ACCEL_F16, 32, 128, 64, 2, true, false, false, NULL, "", 0};
    struct tensors t = pack(&m);
    char folder[FOLDER_BYTES], config[512];
    (void)state;
    snprintf(folder, sizeof(folder), "format_compressed-%ld", (long)getpid());
    mkdir(folder, 0777);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel_model_file *file = NULL;
        struct accel_error error = {0};
        snprintf(config, sizeof(config), "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", %s}}",
                 cases[i].config);
        write_folder(folder, &m, &t, config);
        assert_int_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
        assert_int_equal(model_packed_replace(file, &error), cases[i].code);
        assert_int_equal(error.code, cases[i].code);
        if (strstr(error.text, cases[i].word) == NULL)
            fail_msg("\"%s\" does not say %s", error.text, cases[i].word);
        assert_int_equal(accel_model_file_tensor_count(file), 5);
        accel_model_file_close(file);
    }
    tensors_free(&t);
    remove_checkpoint(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
