/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods with a calibration: what matrices give for its inputs is nearer the more a method knows; the same bytes for
 * any number of threads, any limit of memory, and after a run that was cut off; what is missing is named.
 */
#include <stdbool.h>

#include <accel/model/quantize.h>

#include "session_support.h"

enum { TOKENS = 300, CHUNK = 64 };

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    char path[PATH_BYTES];
    char out[PATH_BYTES];
    char again[PATH_BYTES];
    int32_t ids[TOKENS];
};

/* What one run tells of its tensors. */
struct told {
    uint64_t resumed;
    uint32_t known;  /* tensors with an error of outputs */
    double outputs;  /* sum of squares of these */
    double relative; /* of values, of the same tensors */
};

static int set_up(void **state)
{
    static struct subject s;
    struct accel_error error = {0};

    stories_path(s.path);
    snprintf(s.out, sizeof(s.out), "quantize_methods-%ld-out.gguf", (long)getpid());
    snprintf(s.again, sizeof(s.again), "quantize_methods-%ld-again.gguf", (long)getpid());
    s.context = make_context();
    OK(accel_model_open(s.path, NULL, &s.model, &error));
    for (int i = 0; i < TOKENS; i++)
        s.ids[i] = (i * 37 + i / 7 + 11) % 512;
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct subject *s = *state;

    close_all(NULL, s->model, s->context);
    return 0;
}

static struct accel_quantize_options options_of(const struct subject *s, const char *type, uint32_t method)
{
    return (struct accel_quantize_options){.size = sizeof(struct accel_quantize_options),
                                           .threads = 1,
                                           .type = type,
                                           .context = s->context,
                                           .model = s->model,
                                           .ids = s->ids,
                                           .id_count = TOKENS,
                                           .chunk = CHUNK,
                                           .method = method};
}

static int32_t quantize(const struct subject *s, const struct accel_quantize_options *options, const char *out,
                        struct told *told, struct accel_error *error)
{
    struct accel_model_file *file = NULL;
    struct accel_quantize_job *job = NULL;
    int32_t code = accel_model_file_open(s->path, NULL, &file, error);

    *told = (struct told){0};
    if (code == ACCEL_OK)
        code = accel_quantize_plan(file, options, &job, error);
    if (code == ACCEL_OK)
        code = accel_quantize_run(job, out, &told->resumed, error);
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);
        if (!row->converted || row->output_error < 0)
            continue;
        told->known++;
        told->outputs += row->output_error * row->output_error;
        told->relative += row->relative_error * row->relative_error;
    }
    accel_quantize_free(job);
    accel_model_file_close(file);
    return code;
}

static void assert_same_file(const char *a, const char *b)
{
    FILE *first = fopen(a, "rb"), *second = fopen(b, "rb");
    int x, y;

    assert_non_null(first);
    assert_non_null(second);
    do {
        x = getc(first);
        y = getc(second);
        assert_int_equal(x, y);
    } while (x != EOF);
    fclose(first);
    fclose(second);
}

/* Values lose more than by search, outputs much less. */
static void test_compensated(void **state)
{
    static const char *const types[] = {"q4_0", "iq4_nl", "q3_g64", "q4_g32a"};
    const struct subject *s = *state;
    struct accel_error error = {0};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct accel_quantize_options options = options_of(s, types[i], ACCEL_QUANTIZE_METHOD_GPTQ);
        struct told told;

        OK(quantize(s, &options, s->out, &told, &error));
        /* 36 matrices, of which those with rows of 172 values are of no such type. */
        assert_true(told.known >= 30);
        assert_true(told.outputs < 0.6 * told.relative);
        assert_true(told.outputs > 0);
        remove(s->out);
    }
}

static void test_default_and_known(void **state)
{
    const struct subject *s = *state;
    struct accel_quantize_options options = options_of(s, "q4_0", ACCEL_QUANTIZE_METHOD_DEFAULT);
    struct accel_error error = {0};
    struct told told;

    OK(quantize(s, &options, s->out, &told, &error));
    options.method = ACCEL_QUANTIZE_METHOD_GPTQ;
    OK(quantize(s, &options, s->again, &told, &error));
    assert_same_file(s->out, s->again);
    options.method = ACCEL_QUANTIZE_METHOD_SEARCH;
    OK(quantize(s, &options, s->again, &told, &error));
    assert_int_equal(told.known, 0);
    options.model = NULL;
    options.ids = NULL;
    options.method = ACCEL_QUANTIZE_METHOD_DEFAULT;
    OK(quantize(s, &options, s->out, &told, &error));
    assert_same_file(s->out, s->again);
    options.flags = ACCEL_QUANTIZE_NEAREST;
    OK(quantize(s, &options, s->out, &told, &error));
    options.flags = 0;
    options.method = ACCEL_QUANTIZE_METHOD_NEAREST;
    OK(quantize(s, &options, s->again, &told, &error));
    assert_same_file(s->out, s->again);
    remove(s->out);
    remove(s->again);
}

struct cut {
    uint64_t calls;
    uint64_t most;
};

static int32_t ACCEL_CALL cut_off(void *data, uint64_t done, uint64_t all)
{
    struct cut *cut = data;
    (void)all;
    /* Calls without a byte come from the text. */
    return done > 0 && ++cut->calls > cut->most;
}

/* Threads, memory and an end in the middle do not change a byte; another text does, and takes nothing up. */
static void test_same_bytes(void **state)
{
    static const uint32_t methods[] = {ACCEL_QUANTIZE_METHOD_IMPORTANCE, ACCEL_QUANTIZE_METHOD_GPTQ};
    const struct subject *s = *state;
    struct accel_error error = {0};

    for (size_t i = 0; i < 2; i++) {
        struct accel_quantize_options options = options_of(s, "q4_0", methods[i]);
        struct cut cut = {.most = 20};
        struct told told;

        OK(quantize(s, &options, s->out, &told, &error));
        options.threads = 3;
        options.moments_bytes = 1;
        options.progress = cut_off;
        options.progress_data = &cut;
        assert_int_equal(quantize(s, &options, s->again, &told, &error), ACCEL_E_CANCELLED);
        cut = (struct cut){.most = UINT64_MAX};
        OK(quantize(s, &options, s->again, &told, &error));
        assert_true(told.resumed > 10);
        assert_same_file(s->out, s->again);
        remove(s->again);
        cut = (struct cut){.most = 20};
        assert_int_equal(quantize(s, &options, s->again, &told, &error), ACCEL_E_CANCELLED);
        cut = (struct cut){.most = UINT64_MAX};
        options.id_count--;
        OK(quantize(s, &options, s->again, &told, &error));
        assert_int_equal(told.resumed, 0);
        remove(s->out);
        remove(s->again);
    }
}

static void expect_refusal(const struct subject *s, const struct accel_quantize_options *options, int32_t code,
                           const char *word)
{
    struct accel_error error = {0};
    struct told told;

    assert_int_equal(quantize(s, options, s->out, &told, &error), code);
    assert_non_null(strstr(error.text, word));
    assert_true(access(s->out, F_OK) != 0);
}

static void test_refused(void **state)
{
    const struct subject *s = *state;
    struct accel_quantize_options options = options_of(s, "q4_0", ACCEL_QUANTIZE_METHOD_GPTQ + 1);

    expect_refusal(s, &options, ACCEL_E_UNSUPPORTED, "method");
    options = options_of(s, "q4_0", ACCEL_QUANTIZE_METHOD_GPTQ);
    options.context = NULL;
    expect_refusal(s, &options, ACCEL_E_INVALID, "context");
    options = options_of(s, "q4_0", ACCEL_QUANTIZE_METHOD_DEFAULT);
    options.id_count = 0;
    expect_refusal(s, &options, ACCEL_E_INVALID, "ids");
    options = options_of(s, "q4_0", ACCEL_QUANTIZE_METHOD_IMPORTANCE);
    options.model = NULL;
    expect_refusal(s, &options, ACCEL_E_INVALID, "model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compensated),
        cmocka_unit_test(test_default_and_known),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
