/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders written with packed digits: they come back as exactly the values that the encoder stored, for every width and
 * scheme, groups without negative values included; a session over them computes what one over the decoded values does;
 * a run that was killed is taken up and ends in the same bytes.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <accel/model/safetensors.h>
#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "model/file/packed.h"
#include "quantize_support.h"

#define NAME_BYTES 256u
#define LAYER "model.layers.0.self_attn.q_proj"

static void folder_name(char out[NAME_BYTES], const char *what)
{
    snprintf(out, NAME_BYTES, "quantize_gptq-%s-%ld", what, (long)getpid());
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"};
    char path[NAME_BYTES + 32];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[NAME_BYTES + 32];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct accel_model_file *open_shown(const char *folder)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};

    OK(accel_model_file_open(folder, NULL, &file, &error));
    OK(model_packed_replace(file, &error));
    return file;
}

/* Row `row` in planes that lie one after the other at `bytes`. */
static void planes_of(uint32_t type, const uint64_t dims[2], unsigned char *bytes, uint64_t row, void *out_planes[3])
{
    struct accel_format format;

    assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
    for (uint32_t p = 0; p < format.planes; p++) {
        size_t row_bytes;

        assert_int_equal(accel_format_row_bytes(type, p, dims[1], &row_bytes), ACCEL_OK);
        out_planes[p] = bytes + row * row_bytes;
        bytes += dims[0] * row_bytes;
    }
}

/* Values of a packed tensor, which the caller frees. */
static float *values_of(const struct accel_model_file *file, const struct accel_model_tensor *tensor)
{
    unsigned char *bytes = malloc(tensor->bytes);
    float *values = malloc(tensor->dims[0] * tensor->dims[1] * sizeof(*values));
    struct accel_error error = {0};

    OK(accel_model_file_read(file, tensor, 0, tensor->bytes, bytes, &error));
    for (uint64_t r = 0; r < tensor->dims[0]; r++) {
        void *planes[3];

        planes_of(tensor->type, tensor->dims, bytes, r, planes);
        assert_int_equal(accel_format_decode(tensor->type, (const void *const *)planes, tensor->dims[1],
                                             values + r * tensor->dims[1]),
                         ACCEL_OK);
    }
    free(bytes);
    return values;
}

/* What the reference encoder and decoder make of F32 values, in place. */
static void round_values(uint32_t type, bool nearest, const uint64_t dims[2], float *values)
{
    const uint64_t one[2] = {1, dims[1]};
    unsigned char *row = malloc(dims[1] * 8);

    for (uint64_t r = 0; r < dims[0]; r++, values += dims[1]) {
        void *planes[3];

        planes_of(type, one, row, 0, planes);
        assert_int_equal(nearest ? accel_format_encode(type, values, dims[1], planes)
                                 : accel_format_fit(type, values, NULL, dims[1], planes),
                         ACCEL_OK);
        assert_int_equal(accel_format_decode(type, (const void *const *)planes, dims[1], values), ACCEL_OK);
    }
    free(row);
}

/* A folder with one linear layer of F32; groups without negative values, without positive ones, of zeros, and mixed. */
static void write_layer(const char *folder, const uint64_t dims[2], const float *values, const float *plain)
{
    static const uint64_t three = 3;
    const struct accel_safetensors_entry list[] = {
        {sizeof(*list), ACCEL_F32, LAYER ".weight", dims, values, 2, 0},
        {sizeof(*list), ACCEL_F32, LAYER ".bias", &three, plain, 1, 0},
    };
    const struct accel_safetensors_entry *entries[] = {&list[0], &list[1]};
    struct accel_error error = {0};
    char path[NAME_BYTES + 32];

    mkdir(folder, 0777);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    OK(accel_safetensors_write(path, entries, 2, &error));
    write_text(folder, "config.json", "{\"model_type\": \"llama\"}");
    write_text(folder, "tokenizer.json", "{\"of\": \"the source\"}");
}

static void check_layer(const char *folder, uint32_t type, const uint64_t dims[2], const float *wanted)
{
    struct accel_model_file *file = open_shown(folder);
    const struct accel_model_tensor *tensor = accel_model_file_find(file, LAYER ".weight");
    struct accel_format format, found;
    float *values;

    assert_non_null(tensor);
    assert_non_null(accel_model_file_find(file, LAYER ".bias"));
    assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
    assert_int_equal(accel_format_describe(tensor->type, &found), ACCEL_OK);
    assert_int_equal(found.digit_bits, format.digit_bits);
    assert_int_equal(found.block_values, format.block_values);
    assert_memory_equal(tensor->dims, dims, 2 * sizeof(*dims));
    values = values_of(file, tensor);
    for (uint64_t i = 0; i < dims[0] * dims[1]; i++)
        if (values[i] != wanted[i])
            fail_msg("%s value %d: %g, expected %g", format.name, (int)i, (double)values[i], (double)wanted[i]);
    free(values);
    accel_model_file_close(file);
}

/* Zero points are in version 2: other readers disagree about those of version 1. */
static void check_version(const char *folder, bool zeros)
{
    char path[NAME_BYTES + 32];
    json_t *root, *packing;

    snprintf(path, sizeof(path), "%s/config.json", folder);
    root = json_load_file(path, 0, NULL);
    packing = json_object_get(root, "quantization_config");
    assert_string_equal(json_string_value(json_object_get(packing, "checkpoint_format")), zeros ? "gptq_v2" : "gptq");
    assert_int_equal(json_is_true(json_object_get(packing, "sym")), !zeros);
    json_decref(root);
}

static void test_types(void **state)
{
    static const uint32_t widths[] = {2, 3, 4, 8};
    static const float plain[3] = {1, 2, 3};
    const uint64_t dims[2] = {2112, 1024};
    float *values = malloc(dims[0] * dims[1] * sizeof(*values)), *rounded = malloc(dims[0] * dims[1] * sizeof(*values));
    char in[NAME_BYTES], out[NAME_BYTES];
    struct accel_error error = {0};

    (void)state;
    folder_name(in, "in");
    folder_name(out, "out");
    srand(7);
    for (uint64_t i = 0; i < dims[0] * dims[1]; i++) {
        float value = (float)rand() / (float)RAND_MAX - 0.5f;
        uint64_t kind = i / 512 % 4;

        values[i] = kind == 0 ? value : kind == 1 ? fabsf(value) : kind == 2 ? -fabsf(value) : 0;
    }
    write_layer(in, dims, values, plain);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t type = ACCEL_PLANAR(widths[i / 2], 5u + i % 5, i % 2);
        struct accel_quantize_options options = {
            .size = sizeof(options), .threads = 3, .flags = ACCEL_QUANTIZE_NEAREST};
        struct accel_format format;

        assert_int_equal(accel_format_describe(type, &format), ACCEL_OK);
        options.type = format.name;
        OK(write_as(in, out, &options, NULL, &error));
        memcpy(rounded, values, dims[0] * dims[1] * sizeof(*values));
        round_values(type, true, dims, rounded);
        check_layer(out, type, dims, rounded);
        check_version(out, i % 2);
        remove_folder(out);
    }
    remove_folder(in);
    free(values);
    free(rounded);
}

/* ---- a session ---- */

/* The same folder with decoded values in F32; `method` is what its configuration says, `matrices` are packed. */
static void write_decoded(const char *from, const char *to, const char *method, uint64_t matrices)
{
    struct accel_model_file *file = open_shown(from);
    uint64_t count = accel_model_file_tensor_count(file), packed = 0;
    struct accel_safetensors_entry *list = calloc(count, sizeof(*list));
    const struct accel_safetensors_entry **entries = calloc(count, sizeof(*entries));
    struct accel_error error = {0};
    char path[NAME_BYTES + 32], *config = NULL;
    json_t *root;

    mkdir(to, 0777);
    for (uint64_t i = 0; i < count; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        bool plain = accel_model_file_data(file, tensor) != NULL;

        packed += !plain;
        list[i] =
            (struct accel_safetensors_entry){sizeof(*list),
                                             plain ? tensor->type : ACCEL_F32,
                                             tensor->name,
                                             tensor->dims,
                                             plain ? accel_model_file_data(file, tensor) : values_of(file, tensor),
                                             tensor->rank,
                                             0};
        entries[i] = &list[i];
    }
    assert_int_equal(packed, matrices);
    snprintf(path, sizeof(path), "%s/model.safetensors", to);
    OK(accel_safetensors_write(path, entries, count, &error));
    for (uint64_t i = 0; i < count; i++)
        if (accel_model_file_data(file, accel_model_file_tensor(file, i)) == NULL)
            free((void *)(uintptr_t)list[i].data);
    snprintf(path, sizeof(path), "%s/config.json", from);
    root = json_load_file(path, 0, NULL);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(root, "quantization_config"), "quant_method")), method);
    json_object_del(root, "quantization_config");
    config = json_dumps(root, 0);
    write_text(to, "config.json", config);
    free(config);
    json_decref(root);
    free(list);
    free(entries);
    accel_model_file_close(file);
}

static float *logits_of(const char *folder, uint32_t *out_vocabulary)
{
    static const int32_t ids[] = {1, 403, 407, 261, 378, 30, 12};
    struct accel_context *context = make_context();
    struct accel_model *model = NULL;
    struct accel_session *session;
    struct accel_error error = {0};
    const float *logits;
    float *copy;

    OK(accel_model_open(folder, NULL, &model, &error));
    *out_vocabulary = accel_model_facts_of(model)->vocabulary;
    session = make_session(context, model, 0, 1);
    OK(accel_session_feed(session, ids, sizeof(ids) / sizeof(*ids), &logits, &error));
    copy = malloc(*out_vocabulary * sizeof(*copy));
    memcpy(copy, logits, *out_vocabulary * sizeof(*copy));
    close_all(session, model, context);
    return copy;
}

static double furthest(const float *a, const float *b, uint32_t count)
{
    double most = 0, size = 0;

    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)a[i] - b[i]));
        size = fmax(size, fabs((double)b[i]));
    }
    return most / size;
}

static void test_session(void **state)
{
    /* Matrices of 172 rows, which the layout of GPTQ cannot pack; those of rows of 172 values become F16. */
    static const char *const keep[] = {"*gate_proj*", "*up_proj*"};
    static const char *const types[] = {"q4_g32", "q3_g32a", "q2_g32a", "q8_g32"};
    const char *source = getenv("ACCEL_TEST_SRCDIR");
    char in[PATH_BYTES], out[NAME_BYTES], decoded[NAME_BYTES];
    struct accel_error error = {0};
    uint32_t vocabulary;
    float *full;

    (void)state;
    snprintf(in, sizeof(in), "%s/samples/stories260K/hf", source == NULL ? "." : source);
    folder_name(out, "out");
    folder_name(decoded, "decoded");
    full = logits_of(in, &vocabulary);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct accel_quantize_options options = {.size = sizeof(options), .type = types[i], .keep = keep};
        const bool gptq = i % 2 == 0;
        float *a, *b;

        options.keep_count = gptq ? 2 : 0;

        OK(write_as(in, out, &options, NULL, &error));
        write_decoded(out, decoded, gptq ? "gptq" : "accel", gptq ? 20 : 30);
        a = logits_of(out, &vocabulary);
        b = logits_of(decoded, &vocabulary);
        assert_true(furthest(a, b, vocabulary) < 2e-5);
        assert_true(furthest(a, full, vocabulary) > 1e-4); /* it is quantized at all */
        free(a);
        free(b);
        remove_folder(out);
        remove_folder(decoded);
    }
    free(full);
}

/* ---- interruptions ---- */

static int32_t kill_late(void *data, uint64_t done, uint64_t all)
{
    (void)data;
    if (done > all * 9 / 10)
        raise(SIGKILL);
    return 0;
}

/* Layers and an embedding: 26 MB when written, more than what lies between two synchronisations. */
static void write_large(const char *folder)
{
    static const uint64_t dims[2] = {1024, 1024}, rows[2] = {1536, 2048};
    struct accel_safetensors_entry list[13];
    const struct accel_safetensors_entry *entries[13];
    static char names[13][64];
    uint16_t *half = malloc(dims[0] * dims[1] * 2);
    float *wide = calloc(rows[0] * rows[1], sizeof(*wide));
    struct accel_error error = {0};
    char path[NAME_BYTES + 32];

    for (uint64_t i = 0; i < dims[0] * dims[1]; i++)
        half[i] = accel_f16_from_f32((float)rand() / (float)RAND_MAX - 0.5f);
    for (uint32_t i = 0; i < 13; i++) {
        snprintf(names[i], sizeof(names[i]),
                 i == 12 ? "model.embed_tokens.weight" : "model.layers.%u.mlp.up_proj.weight", i);
        list[i] = i == 12 ? (struct accel_safetensors_entry){sizeof(*list), ACCEL_F32, names[i], rows, wide, 2, 0}
                          : (struct accel_safetensors_entry){sizeof(*list), ACCEL_F16, names[i], dims, half, 2, 0};
        entries[i] = &list[i];
    }
    mkdir(folder, 0777);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    OK(accel_safetensors_write(path, entries, 13, &error));
    write_text(folder, "config.json", "{}");
    free(half);
    free(wide);
}

static void compare_weights(const char *a, const char *b)
{
    char command[2 * NAME_BYTES + 64];

    snprintf(command, sizeof(command), "cmp %s/model.safetensors %s/model.safetensors", a, b);
    assert_int_equal(system(command), 0);
}

static void test_killed(void **state)
{
    struct accel_quantize_options options = {
        .size = sizeof(options), .type = "q8_g32", .threads = 2, .flags = ACCEL_QUANTIZE_NEAREST};
    struct accel_error error = {0};
    char in[NAME_BYTES], out[NAME_BYTES], again[NAME_BYTES], path[NAME_BYTES + 32];
    uint64_t resumed = 0;
    int status;
    pid_t child;

    (void)state;
    folder_name(in, "large");
    folder_name(out, "whole");
    folder_name(again, "killed");
    write_large(in);
    OK(write_as(in, out, &options, NULL, &error));
    child = fork();
    if (child == 0) {
        options.progress = kill_late;
        write_as(in, again, &options, NULL, &error);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    snprintf(path, sizeof(path), "%s/model.safetensors", again);
    assert_int_not_equal(access(path, F_OK), 0);
    OK(write_as(in, again, &options, &resumed, &error));
    assert_true(resumed > 0);
    compare_weights(out, again);
    remove_folder(in);
    remove_folder(out);
    remove_folder(again);
}

static void test_refused(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q4_g32"};
    const char *source = getenv("ACCEL_TEST_SRCDIR");
    char in[PATH_BYTES], out[NAME_BYTES], other[NAME_BYTES];
    struct accel_error error = {0};

    (void)state;
    snprintf(in, sizeof(in), "%s/samples/stories260K/hf", source == NULL ? "." : source);
    folder_name(out, "out");
    folder_name(other, "other");
    OK(write_as(in, out, &options, NULL, &error));
    assert_int_equal(write_as(out, out, &options, NULL, &error), ACCEL_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "is q4_g32 already, which can be converted and not copied"));
    accel_error_clear(&error);
    options.type = "iq2_xs";
    assert_int_equal(write_as(in, other, &options, NULL, &error), ACCEL_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "iq2_xs"));
    assert_non_null(strstr(error.remedy, "q4_g128"));
    accel_error_clear(&error);
    options.type = "q4_g32";
    assert_int_equal(write_as(in, in, &options, NULL, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "is the file that is read"));
    assert_int_not_equal(access(other, F_OK), 0);
    remove_folder(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
