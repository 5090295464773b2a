/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints whose matrices are floats of 8 or 4 bits with scales in tensors of their own: their values are the code
 * times its scale, within the rounding that the header of the reader names. The same reader ran a model of 256 columns
 * whose matrices PyTorch 2.15 had rounded (a scale for a tensor, a row, a block of 128 by 128, NVFP4 of both spellings,
 * MXFP4, MXFP8): its logits are those of the same values in F32, within what rounding to BF16 or F16 changes.
 */
#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "format_support.h"
#include "model/file/derived.h"
#include "model/file/packed.h"

#define ROWS 300u
#define WIDTH 416u

static uint32_t seed = 4242;

static uint32_t random_below(uint32_t end)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % end;
}

/* How a matrix is stored. */
struct stored {
    uint32_t codes, scales; /* types */
    const char *codes_end, *scales_end, *global_end;
    uint64_t rows, columns; /* that share a scale; 0: all */
    const char *config;
    const char *type; /* as which it is read */
    bool listed;      /* scales have one dimension */
    bool small;       /* scales that make values too small for halves */
};

static const float e2m1[16] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

static float value_of(uint32_t type, uint32_t code)
{
    const unsigned char byte = (unsigned char)code;
    const void *planes[] = {&byte};
    float value;

    if (type == ACCEL_U8)
        return e2m1[code];
    assert_int_equal(accel_format_decode(type, planes, 1, &value), ACCEL_OK);
    return value;
}

static float put_scale(const struct stored *s, unsigned char *scales, uint64_t at)
{
    const float base = s->small ? 1e-4F : 0.25F, scale = base * (1 + (float)random_below(1000) / 1000);
    uint16_t half;

    switch (s->scales) {
    case ACCEL_F32:
        memcpy(scales + 4 * at, &scale, 4);
        return scale;
    case ACCEL_BF16:
        half = accel_bf16_from_f32(scale);
        memcpy(scales + 2 * at, &half, 2);
        return accel_bf16_to_f32(half);
    case ACCEL_U8:
        scales[at] = (unsigned char)(125 + random_below(4));
        return ldexpf(1, scales[at] - 127);
    default:
        scales[at] = (unsigned char)(0x30 + random_below(0x40));
        return value_of(ACCEL_F8_E4M3, scales[at]);
    }
}

/* A matrix as its tensors, and its values. */
struct tensors {
    unsigned char codes[ROWS * WIDTH];
    unsigned char scales[ROWS * WIDTH];
    float values[ROWS * WIDTH];
    float global;
    uint64_t lines, groups;
};

static struct tensors *create_tensors(const struct stored *s)
{
    struct tensors *t = calloc(1, sizeof(*t));
    const uint64_t rows = s->rows ? s->rows : ROWS, columns = s->columns ? s->columns : WIDTH;
    float *scales = calloc(ROWS * WIDTH, sizeof(float));

    assert_non_null(t);
    assert_non_null(scales);
    t->lines = (ROWS + rows - 1) / rows;
    t->groups = (WIDTH + columns - 1) / columns;
    t->global = 448.0F * 6 / 3.7F;
    if (s->global_end != NULL && strcmp(s->global_end, ".weight_scale_2") == 0)
        t->global = 1 / t->global;
    for (uint64_t i = 0; i < t->lines * t->groups; i++)
        scales[i] = put_scale(s, t->scales, i);
    for (uint64_t i = 0; i < ROWS * WIDTH; i++) {
        const uint64_t row = i / WIDTH, column = i % WIDTH;
        float scale = scales[row / rows * t->groups + column / columns];
        uint32_t code = random_below(s->codes == ACCEL_U8 ? 16 : 256);

        if (s->codes != ACCEL_U8 && !isfinite(value_of(s->codes, code)))
            code = 0;
        if (s->codes == ACCEL_U8)
            t->codes[i / 2] |= (unsigned char)(code << 4 * (i % 2));
        else
            t->codes[i] = (unsigned char)code;
        if (s->global_end != NULL)
            scale = strcmp(s->global_end, ".weight_scale_2") == 0 ? scale * t->global : scale / t->global;
        t->values[i] = scale * value_of(s->codes, code);
    }
    free(scales);
    return t;
}

static void write_folder(const char *folder, const struct stored *s, const struct tensors *t, const char *config)
{
    static const float one = 1, plain[2] = {1, 2};
    static const uint64_t two = 2, single = 1;
    const uint64_t codes[2] = {ROWS, s->codes == ACCEL_U8 ? WIDTH / 2 : WIDTH}, scales[2] = {t->lines, t->groups};
    const uint32_t size = sizeof(struct accel_safetensors_entry);
    char names[4][64];
    const char *const ends[] = {s->codes_end, s->scales_end, s->global_end ? s->global_end : ".other",
                                strcmp(s->codes_end, ".weight") == 0 ? ".input_scale" : ".input_global_scale"};
    const bool all = s->rows == 0 && s->columns == 0;
    const struct accel_safetensors_entry entries[] = {
        {size, s->codes, names[0], codes, t->codes, 2, 0},
        {size, s->scales, names[1], all ? &single : scales, t->scales, all || s->listed ? 1 : 2, 0},
        {size, ACCEL_F32, names[2], &single, &t->global, 1, 0},
        {size, ACCEL_F32, names[3], &single, &one, 1, 0},
        {size, ACCEL_F32, "a.b.bias", &two, plain, 1, 0},
    };
    const struct accel_safetensors_entry *list[] = {&entries[0], &entries[1], &entries[2], &entries[3], &entries[4]};

    for (size_t i = 0; i < 4; i++)
        snprintf(names[i], sizeof(names[i]), "a.b%s", ends[i]);
    write_checkpoint(folder, list, 5, config);
}

static void check_values(const struct stored *s, const float *want, const struct accel_model_tensor *tensor,
                         const unsigned char *bytes)
{
    const float error = tensor->type == ACCEL_BF16 ? 0x1p-8F : 0x1p-11F;
    size_t row_bytes[2] = {0};
    uint32_t planes = 0;
    float values[WIDTH];

    while (planes < 2 && accel_format_row_bytes(tensor->type, planes, WIDTH, &row_bytes[planes]) == ACCEL_OK)
        planes++;
    assert_int_equal(tensor->bytes, ROWS * (row_bytes[0] + row_bytes[1]));
    for (uint64_t r = 0; r < ROWS; r++, want += WIDTH) {
        const void *row[] = {bytes + r * row_bytes[0], bytes + ROWS * row_bytes[0] + r * row_bytes[1]};

        assert_int_equal(accel_format_decode(tensor->type, row, WIDTH, values), ACCEL_OK);
        for (uint64_t i = 0; i < WIDTH; i++)
            if (!(fabsf(values[i] - want[i]) <= error * fabsf(want[i])))
                fail_msg("%s%s row %d value %d: %g, expected %g", s->codes_end, s->scales_end, (int)r, (int)i,
                         (double)values[i], (double)want[i]);
    }
}

static void check(const struct stored *s)
{
    struct tensors *t = create_tensors(s);
    const struct accel_model_tensor *tensor;
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    unsigned char *whole;
    char folder[FOLDER_BYTES];

    snprintf(folder, sizeof(folder), "format_floats-%ld", (long)getpid());
    mkdir(folder, 0777);
    write_folder(folder, s, t, s->config);
    assert_int_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
    if (model_packed_replace(file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_file_tensor_count(file), s->global_end ? 2 : 3);
    tensor = accel_model_file_find(file, "a.b.weight");
    assert_non_null(tensor);
    assert_string_equal(tensor->type_name, s->type);
    assert_int_equal(tensor->dims[0], ROWS);
    assert_int_equal(tensor->dims[1], WIDTH);
    whole = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(file, tensor, 0, tensor->bytes, whole, &error), ACCEL_OK);
    check_values(s, t->values, tensor, whole);
    check_pieces(file, tensor, whole, random_below);
    free(whole);
    free(t);
    accel_model_file_close(file);
    remove_checkpoint(folder);
}

#define COMPRESSED(format, weights)                                                                                    \
    "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": \"" format                       \
    "\", \"config_groups\": {\"g\": {\"weights\": {\"type\": \"float\", " weights "}}}}}"
#define FP8(more) "{\"quantization_config\": {\"quant_method\": \"fp8\", \"activation_scheme\": \"dynamic\"" more "}}"
#define MODELOPT(algorithm)                                                                                            \
    "{\"quantization_config\": {\"quant_method\": \"modelopt\", \"quant_algo\": \"" algorithm "\"}}"
#define W ".weight"
#define S ".weight_scale"

static const struct stored whole = {ACCEL_F8_E4M3,   ACCEL_F32, W,     S,    NULL, 0, 0,
                                    MODELOPT("FP8"), "f8_g32",  false, false};
static const struct stored nvfp4 = {
    ACCEL_U8,
    ACCEL_F8_E4M3,
    ".weight_packed",
    S,
    ".weight_global_scale",
    1,
    16,
    COMPRESSED("nvfp4-pack-quantized", "\"num_bits\": 4, \"strategy\": \"tensor_group\", \"group_size\": 16"),
    "F16",
    false,
    false};

static void test_scales(void **state)
{
    static const struct stored cases[] = {
        {ACCEL_F8_E4M3, ACCEL_BF16, W, S, NULL, 1, 0,
         COMPRESSED("float-quantized", "\"num_bits\": 8, \"strategy\": \"channel\""), "f8_g32", false, false},
        {ACCEL_F8_E4M3, ACCEL_F32, W, S, NULL, 1, 0, "{\"quantization_config\": {\"quant_method\": \"fbgemm_fp8\"}}",
         "f8_g32", true, false},
        {ACCEL_F8_E5M2, ACCEL_F32, W, S, NULL, 0, 0,
         COMPRESSED("float-quantized", "\"num_bits\": 8, \"strategy\": \"tensor\""), "BF16", false, false},
        /* The last block of rows and of columns is not whole. */
        {ACCEL_F8_E4M3, ACCEL_F32, W, ".weight_scale_inv", NULL, 128, 128, FP8(", \"weight_block_size\": [128, 128]"),
         "f8_g32", false, true},
        {ACCEL_F8_E4M3, ACCEL_F32, W, S, NULL, 64, 32,
         COMPRESSED("float-quantized", "\"num_bits\": 8, \"strategy\": \"block\", \"block_structure\": [64, 32]"),
         "f8_g32", false, false},
        {ACCEL_F8_E4M3, ACCEL_U8, W, S, NULL, 1, 32,
         COMPRESSED("mxfp8-quantized", "\"num_bits\": 8, \"strategy\": \"group\", \"group_size\": 32"), "f8_g32", false,
         false},
        {ACCEL_U8, ACCEL_U8, ".weight_packed", S, NULL, 1, 32,
         COMPRESSED("mxfp4-pack-quantized", "\"num_bits\": 4, \"strategy\": \"group\", \"group_size\": 32"), "MXFP4",
         false, false},
        {ACCEL_U8, ACCEL_F8_E4M3, W, S, ".weight_scale_2", 1, 16, MODELOPT("NVFP4"), "F16", false, false},
    };

    (void)state;
    check(&whole);
    check(&nvfp4);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i]);
}

enum { BLOCK_ROWS = 3, BLOCK_WIDTH = 128, BLOCK_SCALES = BLOCK_ROWS * BLOCK_WIDTH / 16 };

/* Opens a folder with one matrix of NVFP4 in blocks, whose global scale divides, if `first` is its first scale. */
static struct accel_model_file *open_blocks(unsigned char first, float global, unsigned char *codes,
                                            unsigned char *scales)
{
    static const uint64_t shape[2] = {BLOCK_ROWS, BLOCK_WIDTH / 2}, lines[2] = {BLOCK_ROWS, BLOCK_WIDTH / 16}, one = 1;
    const uint32_t size = sizeof(struct accel_safetensors_entry);
    const struct accel_safetensors_entry entries[] = {
        {size, ACCEL_U8, "a.b.weight_packed", shape, codes, 2, 0},
        {size, ACCEL_F8_E4M3, "a.b.weight_scale", lines, scales, 2, 0},
        {size, ACCEL_F32, "a.b.weight_global_scale", &one, &global, 1, 0},
    };
    const struct accel_safetensors_entry *list[] = {&entries[0], &entries[1], &entries[2]};
    const struct accel_model_open_options options = {sizeof(options),
                                                     ACCEL_MODEL_OPEN_PACKED | ACCEL_MODEL_OPEN_BLOCKS};
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    char folder[FOLDER_BYTES];

    for (size_t i = 0; i < BLOCK_ROWS * BLOCK_WIDTH / 2; i++)
        codes[i] = (unsigned char)random_below(256);
    for (size_t i = 0; i < BLOCK_SCALES; i++) /* zero, subnormals and the largest too */
        scales[i] = i < 2 ? (unsigned char)(0x7e * i) : (unsigned char)random_below(0x7f);
    scales[0] = first;
    snprintf(folder, sizeof(folder), "format_floats-%ld", (long)getpid());
    mkdir(folder, 0777);
    write_checkpoint(folder, list, 3, nvfp4.config);
    if (accel_model_file_open(folder, &options, &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    remove_checkpoint(folder);
    return file;
}

/* Blocks of NVFP4 have the codes and the scales of groups, exactly, and leave the global scale to the product. */
static void test_blocks(void **state)
{
    unsigned char codes[BLOCK_ROWS * BLOCK_WIDTH / 2], scales[BLOCK_SCALES], bytes[BLOCK_ROWS * BLOCK_WIDTH * 9 / 16];
    const struct accel_model_tensor *tensor;
    struct accel_model_file *file = open_blocks(0, 640, codes, scales);
    struct accel_error error = {0};
    const void *planes[] = {bytes};
    float values[BLOCK_ROWS * BLOCK_WIDTH], factor = 0;

    (void)state;
    tensor = accel_model_file_find(file, "a.b.weight");
    assert_int_equal(tensor->type, ACCEL_NVFP4);
    assert_string_equal(tensor->type_name, "NVFP4");
    assert_int_equal(tensor->bytes, sizeof(bytes));
    assert_true(model_product_factors(tensor, 1, &factor));
    assert_true(factor == 1 / 640.0F);
    assert_int_equal(accel_model_file_read(file, tensor, 0, sizeof(bytes), bytes, &error), ACCEL_OK);
    assert_int_equal(accel_format_decode(ACCEL_NVFP4, planes, BLOCK_ROWS * BLOCK_WIDTH, values), ACCEL_OK);
    for (size_t i = 0; i < BLOCK_ROWS * BLOCK_WIDTH; i++)
        assert_true(values[i] == e2m1[codes[i / 2] >> 4 * (i % 2) & 15] * value_of(ACCEL_F8_E4M3, scales[i / 16]));
    check_pieces(file, tensor, bytes, random_below);
    accel_model_file_close(file);

    /* Scales with a sign or without a number, which blocks lack, and a global scale whose reciprocal is not normal. */
    static const unsigned char first[] = {0x80, 0x7f, 0xb8, 0};

    for (size_t i = 0; i < sizeof(first); i++) {
        file = open_blocks(first[i], first[i] != 0 ? 640 : 0x1p127F, codes, scales);
        tensor = accel_model_file_find(file, "a.b.weight");
        assert_int_not_equal(tensor->type, ACCEL_NVFP4);
        assert_false(model_product_factors(tensor, 1, &factor));
        accel_model_file_close(file);
    }
}

static void refuse(const struct stored *s, const struct tensors *t, const char *config, int32_t code, const char *word)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    char folder[FOLDER_BYTES];

    snprintf(folder, sizeof(folder), "format_floats-%ld", (long)getpid());
    mkdir(folder, 0777);
    write_folder(folder, s, t, config);
    assert_int_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
    assert_int_equal(model_packed_replace(file, &error), code);
    if (strstr(error.text, word) == NULL)
        fail_msg("\"%s\" does not say %s", error.text, word);
    assert_int_equal(accel_model_file_tensor_count(file), 5);
    accel_model_file_close(file);
    remove_checkpoint(folder);
}

static void test_refused(void **state)
{
    struct tensors *t = create_tensors(&whole), *four = create_tensors(&nvfp4);

    (void)state;
    refuse(&whole, t, "{}", ACCEL_E_UNSUPPORTED, "no quantization_config");
    refuse(&whole, t, MODELOPT("W4A8_AWQ"), ACCEL_E_UNSUPPORTED, "quant_algo is 'W4A8_AWQ'");
    refuse(&whole, t, MODELOPT("NVFP4"), ACCEL_E_UNSUPPORTED, "floats of its type");
    refuse(&whole, t, FP8(", \"weight_block_size\": [100, 128]"), ACCEL_E_UNSUPPORTED, "divides 256");
    refuse(&whole, t, FP8(", \"weight_block_size\": [0, 128]"), ACCEL_E_UNSUPPORTED, "divides 256");
    refuse(&whole, t, COMPRESSED("float-quantized", "\"num_bits\": 6, \"strategy\": \"tensor\""), ACCEL_E_UNSUPPORTED,
           "num_bits is 6, supported: 8, 4");
    refuse(&whole, t, COMPRESSED("float-quantized", "\"num_bits\": 8, \"strategy\": \"block\""), ACCEL_E_UNSUPPORTED,
           "block_structure is missing, supported: a pair of numbers");
    refuse(&whole, t,
           "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": "
           "{\"weights\": {\"num_bits\": 8, \"strategy\": \"channel\"}}}}}",
           ACCEL_E_UNSUPPORTED, "floats of its type");
    refuse(&whole, t, FP8(", \"weight_block_size\": [128, 128]"), ACCEL_E_CORRUPT, "does not match the codes");
    refuse(&whole, t, FP8(", \"weight_block_size\": [128, 128, 1]"), ACCEL_E_UNSUPPORTED, "divides 256");
    refuse(&whole, t, FP8(", \"fmt\": \"e5m2\""), ACCEL_E_UNSUPPORTED, "fmt is 'e5m2'");
    refuse(&whole, t, COMPRESSED("float-quantized", "\"num_bits\": 4294967304, \"strategy\": \"tensor\""),
           ACCEL_E_UNSUPPORTED, "num_bits is 4294967304, supported: 8, 4");
    refuse(&whole, t, COMPRESSED("float-quantized", "\"num_bits\": 8, \"strategy\": \"tensor\", \"symmetric\": false"),
           ACCEL_E_UNSUPPORTED, "symmetric is false");
    /* Without its scales, or with those of another type, a matrix would have other values. */
    refuse(&(struct stored){ACCEL_F8_E4M3, ACCEL_F32, W, ".none", NULL, 0, 0, NULL, NULL, false, false}, t, FP8(""),
           ACCEL_E_CORRUPT, "its .weight_scale is missing");
    refuse(&(struct stored){ACCEL_F8_E4M3, ACCEL_F32, W, S, ".output_scale", 0, 0, NULL, NULL, false, false}, t,
           FP8(""), ACCEL_E_UNSUPPORTED, "a.b.output_scale': is not applied");
    refuse(&(struct stored){ACCEL_U8, ACCEL_F8_E4M3, ".weight_packed", S, NULL, 1, 16, NULL, NULL, false, false}, four,
           nvfp4.config, ACCEL_E_CORRUPT, "its .weight_global_scale is missing");
    refuse(&(struct stored){ACCEL_U8, ACCEL_U8, ".weight_packed", S, NULL, 1, 16, NULL, NULL, false, false}, four,
           nvfp4.config, ACCEL_E_UNSUPPORTED, "scales of such groups");
    t->lines = 7;
    t->groups = 3;
    refuse(&(struct stored){ACCEL_F8_E4M3, ACCEL_F32, W, S, NULL, 7, 3, NULL, NULL, false, false}, t, FP8(""),
           ACCEL_E_CORRUPT, "a.b.weight_scale': does not match the codes");
    four->global = 0;
    refuse(&nvfp4, four, nvfp4.config, ACCEL_E_CORRUPT, "a.b.weight_global_scale': is not a scale above zero");
    four->global = NAN;
    refuse(&nvfp4, four, nvfp4.config, ACCEL_E_CORRUPT, "is not a scale above zero");
    free(t);
    free(four);
}

/* A stack of which one matrix is decoded has no mapping by parts, though its others are mapped. */
static void test_stack(void **state)
{
    static const uint64_t codes[2] = {BLOCK_ROWS, BLOCK_WIDTH / 2}, lines[2] = {BLOCK_ROWS, BLOCK_WIDTH / 16};
    static const uint64_t shape[2] = {BLOCK_ROWS, BLOCK_WIDTH}, one = 1, bytes = 2 * BLOCK_ROWS * BLOCK_WIDTH;
    static const unsigned char zeros[2 * BLOCK_ROWS * BLOCK_WIDTH];
    static const float global = 640;
    static const char *const names[] = {"a.c.weight", "a.b.weight", "a.d.weight"}, *const plain[] = {"a.c.weight",
                                                                                                     "a.d.weight"};
    static const struct model_derivation stacks[] = {{.name = "mixed", .sources = names, .count = 3, .step = 1},
                                                     {.name = "plain", .sources = plain, .count = 2, .step = 1}};
    const uint32_t size = sizeof(struct accel_safetensors_entry);
    const struct accel_safetensors_entry entries[] = {
        {size, ACCEL_U8, "a.b.weight_packed", codes, zeros, 2, 0},
        {size, ACCEL_F8_E4M3, "a.b.weight_scale", lines, zeros, 2, 0},
        {size, ACCEL_F32, "a.b.weight_global_scale", &one, &global, 1, 0},
        {size, ACCEL_F16, "a.c.weight", shape, zeros, 2, 0},
        {size, ACCEL_F16, "a.d.weight", shape, zeros, 2, 0},
    };
    const struct accel_safetensors_entry *list[] = {&entries[0], &entries[1], &entries[2], &entries[3], &entries[4]};
    const struct accel_model_tensor *tensor;
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    char folder[FOLDER_BYTES];

    (void)state;
    snprintf(folder, sizeof(folder), "format_floats-%ld", (long)getpid());
    mkdir(folder, 0777);
    write_checkpoint(folder, list, 5, nvfp4.config);
    assert_int_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
    assert_int_equal(model_packed_replace(file, &error), ACCEL_OK);
    assert_int_equal(model_derive(file, stacks, 2, &error), ACCEL_OK);
    tensor = accel_model_file_find(file, "mixed");
    assert_non_null(model_derived_part(file, tensor, 0, 0, bytes));
    assert_null(model_derived_part(file, tensor, 0, bytes, bytes));
    assert_non_null(model_derived_part(file, tensor, 0, 2 * bytes, bytes));
    assert_null(model_derived_part(file, tensor, 0, 0, 0));
    tensor = accel_model_file_find(file, "plain");
    assert_non_null(model_derived_part(file, tensor, 0, 0, 0));
    assert_null(model_derived_part(file, tensor, 1, 0, 0));
    accel_model_file_close(file);
    remove_checkpoint(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scales), cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_stack)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
