/* SPDX-License-Identifier: Apache-2.0 */
/* Which type a tensor gets, how the file that follows from it lies, and that it holds what the rows say. */
#include "config.h"

#include <math.h>
#include <unistd.h>

#include <accel/model/quantize.h>
#include <accel/quant/format.h>

#include "tests/unit/format_support.h"

#define GGUF "samples/stories260K/stories260K-f32.gguf"
#define FOLDER "samples/stories260K/hf"

struct fixture {
    struct accel_model_file *file;
    struct accel_quantize_job *job;
};

static struct fixture plan(const char *path, const struct accel_quantize_options *options)
{
    struct fixture f = {0};
    struct accel_error error = {0};
    char full[4096];
    if (accel_model_file_open(source_path(full, path), NULL, &f.file, &error) != ACCEL_OK ||
        accel_quantize_plan(f.file, options, &f.job, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return f;
}

static void done(struct fixture *f)
{
    accel_quantize_free(f->job);
    accel_model_file_close(f->file);
}

static const struct accel_quantize_row *row_of(const struct fixture *f, const char *name)
{
    for (uint64_t i = 0; i < accel_quantize_count(f->job); i++)
        if (strcmp(accel_quantize_get(f->job, i)->name, name) == 0)
            return accel_quantize_get(f->job, i);
    fail_msg("no %s", name);
    return NULL;
}

static void check_row(const struct fixture *f, const char *name, const char *type, const char *reason)
{
    const struct accel_quantize_row *row = row_of(f, name);
    if (strcmp(row->to_name, type) != 0 || strcmp(row->reason, reason) != 0)
        fail_msg("%s: %s (%s), not %s (%s)", name, row->to_name, row->reason, type, reason);
}

/* ---- words ---- */

static void test_words(void **state)
{
    static const struct {
        const char *type;
        uint32_t group;
        const char *scheme;
        const char *shown;
        const char *reason;
    } rows[] = {
        {"q4", 32, NULL, "q4_g32", ""},
        {"Q4", 32, "asymmetric", "q4_g32a", ""},
        {"q3", 64, "symmetric", "q3_g64", ""},
        {"q2", 0, NULL, "q2_g64", ""},
        {"q8", ACCEL_QUANTIZE_GROUP_ROW, "asymmetric", "q8_rowa", ""},
        {"nf4", 0, NULL, "nf4_g64", ""},
        {"cluster4", 0, NULL, "c4_row", ""},
        {"c4", 32, NULL, "c4_g32", ""},
        {"q4_g32", 64, NULL, "q4_g32", ""},
        /* Rows of 64. */
        {"q4", 0, NULL, "q4_g64", "rows are no whole number of blocks"},
        {"q3_g512a", 0, NULL, "q3_g64a", "rows are no whole number of blocks"},
        {"q4_k", 0, NULL, "Q5_0", "rows are no whole number of blocks"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct accel_quantize_options options = {
            .size = sizeof(options), .type = rows[i].type, .group = rows[i].group, .scheme = rows[i].scheme};
        struct fixture f = plan(GGUF, &options);
        const int planes = strchr(rows[i].shown, '_') != NULL && rows[i].shown[0] != 'Q';
        check_row(&f, "blk.0.attn_q.weight", rows[i].shown, rows[i].reason);
        /* Rows of 172, which no group divides. */
        check_row(&f, "blk.0.ffn_down.weight", "F16", "rows are no whole number of blocks");
        check_row(&f, "blk.0.attn_norm.weight", "F32", "no matrix");
        assert_string_equal(accel_quantize_layout(f.job), planes ? "accel 1" : "GGUF");
        done(&f);
    }
}

/* ---- roles ---- */

static const char *const roles[] = {"ffn=q4_0", "down=q8_0",      "q=nf4",
                                    "norm=f16", "embedding=q6_k", "attention.v=q3_g32"};

static const struct accel_quantize_options mixed = {.size = sizeof(mixed),
                                                    .type = "q2_g32a",
                                                    .roles = roles,
                                                    .role_count = sizeof(roles) / sizeof(*roles),
                                                    .critical = "q8_0"};

static void test_roles(void **state)
{
    struct fixture f = plan(GGUF, &mixed);
    (void)state;
    check_row(&f, "token_embd.weight", "Q8_0", "rows are no whole number of blocks");
    check_row(&f, "blk.3.attn_q.weight", "nf4_g64", "");
    check_row(&f, "blk.3.attn_k.weight", "Q8_0", "");
    check_row(&f, "blk.3.attn_v.weight", "q3_g32", "");
    check_row(&f, "blk.3.attn_output.weight", "Q8_0", "");
    check_row(&f, "blk.3.ffn_gate.weight", "Q4_0", "");
    check_row(&f, "blk.3.ffn_down.weight", "F16", "rows are no whole number of blocks");
    check_row(&f, "blk.3.ffn_norm.weight", "F16", "");
    assert_string_equal(accel_quantize_layout(f.job), "accel 1");
    done(&f);
}

static void test_folders(void **state)
{
    static const char *const keep[] = {"*gate_proj*", "*up_proj*"}, *const head[] = {"embedding=q4_0"};
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q4_g32", .keep = keep, .keep_count = 2};
    struct fixture f = plan(FOLDER, &options);
    (void)state;
    assert_string_equal(accel_quantize_layout(f.job), "GPTQ");
    check_row(&f, "model.layers.1.mlp.up_proj.weight", "F32", "unchanged on request");
    check_row(&f, "model.layers.1.mlp.down_proj.weight", "F16", "rows are no whole number of blocks");
    check_row(&f, "model.embed_tokens.weight", "F32", "no linear layer");
    done(&f);
    /* 172 rows are no words of zero points. */
    options.keep_count = 0;
    f = plan(FOLDER, &options);
    assert_string_equal(accel_quantize_layout(f.job), "accel 1");
    done(&f);
    options.keep_count = 2;
    options.roles = head;
    options.role_count = 1;
    f = plan(FOLDER, &options);
    assert_string_equal(accel_quantize_layout(f.job), "accel 1");
    check_row(&f, "model.embed_tokens.weight", "Q4_0", "");
    done(&f);
    options = (struct accel_quantize_options){.size = sizeof(options), .type = "f16"};
    f = plan(FOLDER, &options);
    assert_string_equal(accel_quantize_layout(f.job), "safetensors");
    check_row(&f, "model.layers.1.mlp.up_proj.weight", "F16", "");
    check_row(&f, "model.embed_tokens.weight", "F32", "no linear layer");
    done(&f);
}

/* ---- what is written ---- */

/* Relative error of a tensor of the file that was written. */
static double error_of(const struct accel_model_file *file, const struct accel_model_file *reference, const char *name)
{
    const struct accel_model_tensor *tensor = accel_model_file_find(file, name);
    const struct accel_model_tensor *original = accel_model_file_find(reference, name);
    const float *values = accel_model_file_data(reference, original);
    const size_t width = tensor->dims[tensor->rank - 1], rows = tensor->rank == 1 ? 1 : tensor->dims[0];
    float *again = malloc(width * sizeof(*again));
    double difference = 0, power = 0;
    struct accel_format format;
    assert_int_equal(accel_format_describe(tensor->type, &format), ACCEL_OK);
    assert_memory_equal(tensor->dims, original->dims, sizeof(tensor->dims));
    for (size_t r = 0; r < rows; r++) {
        const void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        for (uint32_t p = 0; p < format.planes; p++) {
            size_t bytes = 0;
            uint64_t all;
            assert_int_equal(accel_format_row_bytes(tensor->type, p, width, &bytes), ACCEL_OK);
            planes[p] = (const unsigned char *)accel_model_file_plane(file, tensor, p, &all) + r * bytes;
            assert_int_equal(all, rows * bytes);
        }
        assert_int_equal(accel_format_decode(tensor->type, planes, width, again), ACCEL_OK);
        for (size_t i = 0; i < width; i++) {
            const double d = (double)again[i] - (double)values[r * width + i];
            difference += d * d;
            power += (double)values[r * width + i] * (double)values[r * width + i];
        }
    }
    free(again);
    return sqrt(difference / power);
}

static void check_written(const char *in, const struct accel_quantize_options *options, const char *out,
                          const char *weights)
{
    struct fixture f = plan(in, options);
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    uint64_t converted = 0;
    if (accel_quantize_run(f.job, out, NULL, &error) != ACCEL_OK ||
        accel_model_file_open(weights, NULL, &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_file_part_bytes(file, 0), accel_quantize_bytes(f.job));
    assert_int_equal(accel_model_file_tensor_count(file), accel_quantize_count(f.job));
    for (uint64_t i = 0; i < accel_quantize_count(f.job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(f.job, i);
        const struct accel_model_tensor *tensor = accel_model_file_find(file, row->name);
        assert_non_null(tensor);
        assert_int_equal(tensor->type, row->to);
        assert_int_equal(tensor->bytes, row->bytes);
        assert_string_equal(tensor->type_name, row->to_name);
        if (!row->converted)
            continue;
        converted++;
        assert_true(row->relative_error < 0.6);
        if (fabs(error_of(file, f.file, row->name) - row->relative_error) > 1e-6)
            fail_msg("%s: %g, not %g", row->name, error_of(file, f.file, row->name), row->relative_error);
    }
    assert_true(converted > 30);
    accel_model_file_close(file);
    done(&f);
}

static void test_written(void **state)
{
    char out[64], path[128];
    static const char *const files[] = {"model.safetensors",      "config.json",
                                        "tokenizer.json",         "tokenizer_config.json",
                                        "generation_config.json", "special_tokens_map.json",
                                        "tokenizer.model",        ""};
    (void)state;
    snprintf(out, sizeof(out), "quantize_choose-%d.gguf", (int)getpid());
    check_written(GGUF, &mixed, out, out);
    assert_int_equal(unlink(out), 0);
    snprintf(out, sizeof(out), "quantize_choose-%d", (int)getpid());
    snprintf(path, sizeof(path), "%s/model.safetensors", out);
    check_written(FOLDER, &mixed, out, path);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        snprintf(path, sizeof(path), "%s/%s", out, files[i]);
        if (files[i][0] != '\0')
            unlink(path);
    }
    assert_int_equal(rmdir(out), 0);
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    static const struct {
        const char *role;
        int32_t code;
        const char *text;
    } rows[] = {
        {"ffn", ACCEL_E_INVALID, "ROLE=TYPE"},
        {"lm=q4_0", ACCEL_E_INVALID, "\"lm=q4_0\" is none of"},
        {"conv=f16", ACCEL_E_INVALID, "no tensor has the role"},
        {"q=q9", ACCEL_E_UNSUPPORTED, "\"q9\""},
        {"q=tq1_0", ACCEL_E_UNSUPPORTED, "\"tq1_0\""},
        {"q=i8", ACCEL_E_UNSUPPORTED, "\"i8\""},
    };
    struct accel_model_file *file = NULL;
    char full[4096];
    (void)state;
    assert_int_equal(accel_model_file_open(source_path(full, GGUF), NULL, &file, NULL), ACCEL_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct accel_quantize_options options = {
            .size = sizeof(options), .type = "q4_0", .roles = &rows[i].role, .role_count = 1};
        struct accel_quantize_job *job = NULL;
        struct accel_error error = {0};
        const int32_t code = accel_quantize_plan(file, &options, &job, &error);
        if (code != rows[i].code || strstr(error.text, rows[i].text) == NULL)
            fail_msg("%s: %d, %s", rows[i].role, code, error.text);
        assert_null(job);
    }
    accel_model_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),   cmocka_unit_test(test_roles),   cmocka_unit_test(test_folders),
        cmocka_unit_test(test_written), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
