/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions used against their contract: twice loaded, with structs of other sizes, unknown flags, no tokens. */
#include <accel/model/generate.h>

#include "session_support.h"

struct used {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_session *session;
    struct accel_tokenizer *tokenizer;
};

static int set_up(void **state)
{
    struct used *used = calloc(1, sizeof(*used));
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    struct accel_error error = {0};
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "%s/samples/stories260K/stories260K-q8_0.gguf", tree == NULL ? "." : tree);
    used->context = make_context();
    OK(accel_model_open(path, NULL, &used->model, &error));
    OK(accel_tokenizer_create_file(accel_model_file_of(used->model), &used->tokenizer, &error));
    used->session = make_session(used->context, used->model, 0, 1);
    *state = used;
    return 0;
}

/* The context can only be freed when nothing was lost. */
static int tear_down(void **state)
{
    struct used *used = *state;

    accel_tokenizer_free(used->tokenizer);
    close_all(used->session, used->model, used->context);
    free(used);
    return 0;
}

static void test_second_load(void **state)
{
    struct used *used = *state;
    const int32_t ids[] = {1, 2, 3};
    const float *logits = NULL;
    struct accel_error error = {0};

    assert_int_equal(accel_session_load(used->session, NULL), ACCEL_E_INVALID);
    OK(accel_session_feed(used->session, ids, 3, &logits, &error));
    assert_non_null(logits);
}

static void refuse_session(const struct used *used, struct accel_session_options *options, int32_t code)
{
    struct accel_session *session = NULL;

    assert_int_equal(accel_session_create(used->context, used->model, options, &session, NULL), code);
    assert_null(session);
}

static void test_session_options(void **state)
{
    struct {
        struct accel_session_options options;
        uint64_t later;
    } longer = {.options = {.size = sizeof(longer)}, .later = 1};
    struct accel_session_options options = {.size = 0};
    struct accel_session *session = NULL;
    struct used *used = *state;
    struct accel_error error = {0};

    refuse_session(used, &options, ACCEL_E_INVALID);
    options.size = 8;
    refuse_session(used, &options, ACCEL_E_INVALID);
    options.size = sizeof(options);
    options.flags = 1u << 31;
    refuse_session(used, &options, ACCEL_E_UNSUPPORTED);
    refuse_session(used, &longer.options, ACCEL_E_UNSUPPORTED);
    longer.later = 0;
    OK(accel_session_create(used->context, used->model, &longer.options, &session, &error));
    accel_session_free(session);
}

/* Settings that no run carries out are refused by name when a session is made, never passed over. */
static void test_session_settings(void **state)
{
    static const struct accel_named_value wrong[] = {
        {"kernels.sparse", "true", "test 1"}, {"measure.folder", "x", "test 2"}, {"role.norm", "f16", "test 3"},
        {"compute.type", "f16", "test 4"},    {"kv.enabled", "false", "test 5"}, {"vision.type", "q4", "test 6"},
    };
    struct used *used = *state;

    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct accel_session_options options = {.size = sizeof(options), .overrides = &wrong[i], .override_count = 1};
        struct accel_session *session = NULL;
        struct accel_error error = {0};

        assert_int_equal(accel_session_create(used->context, used->model, &options, &session, &error),
                         ACCEL_E_UNSUPPORTED);
        assert_null(session);
        assert_non_null(strstr(error.text, wrong[i].key));
        assert_non_null(strstr(error.text, wrong[i].origin));
    }
}

/* The types that settings request are those of the plan of a session. */
static void test_session_types(void **state)
{
    static const struct accel_named_value type = {"weights.type", "q4", "test"};
    struct accel_session_options options = {.size = sizeof(options), .overrides = &type, .override_count = 1};
    struct used *used = *state;
    struct accel_session *session = NULL;
    struct accel_error error = {0};
    uint32_t converted = 0;

    OK(accel_session_create(used->context, used->model, &options, &session, &error));
    for (uint32_t i = 0; i < accel_plan_weight_count(accel_session_plan(session)); i++)
        converted += accel_plan_weight_get(accel_session_plan(session), i)->converted;
    assert_true(converted > 0);
    accel_session_free(session);
}

static void test_generate_options(void **state)
{
    struct used *used = *state;
    const int32_t ids[] = {1};
    struct accel_sampling sampling;
    struct accel_generate_options options = {.size = 0, .tokens = 3};
    struct accel_generate_result result = {.size = sizeof(result)};

    accel_sampling_init(&sampling);
    assert_int_equal(accel_generate(used->session, used->tokenizer, ids, 1, &options, &result, NULL), ACCEL_E_INVALID);
    options.size = sizeof(options);
    options.flags = 2;
    assert_int_equal(accel_generate(used->session, used->tokenizer, ids, 1, &options, &result, NULL),
                     ACCEL_E_UNSUPPORTED);
    options.flags = 0;
    sampling.size = 8;
    options.sampling = &sampling;
    assert_int_equal(accel_generate(used->session, used->tokenizer, ids, 1, &options, &result, NULL), ACCEL_E_INVALID);
    options.sampling = NULL;
    assert_int_equal(accel_generate(used->session, used->tokenizer, NULL, 0, &options, &result, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_length(used->session), 0);
}

/* A program of an earlier minor has a shorter result: nothing past its size is written. */
static void test_short_result(void **state)
{
    struct used *used = *state;
    const int32_t ids[] = {1};
    struct accel_generate_options options = {.size = sizeof(options), .tokens = 3};
    struct accel_generate_result result;
    struct accel_stage stage = {.size = 8};
    struct accel_error error = {0};

    memset(&result, 0x5a, sizeof(result));
    result.size = offsetof(struct accel_generate_result, prompt_time);
    OK(accel_generate(used->session, used->tokenizer, ids, 1, &options, &result, &error));
    assert_int_equal(result.size, offsetof(struct accel_generate_result, prompt_time));
    assert_int_equal(result.stop, ACCEL_STOP_LENGTH);
    assert_int_equal(result.tokens, 3);
    assert_int_equal(result.prompt_time, 0x5a5a5a5a5a5a5a5aull);
    assert_int_equal(result.steps, 0x5a5a5a5a5a5a5a5aull);
    assert_int_equal(accel_session_stage(used->session, 0, &stage, NULL), ACCEL_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_second_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_session_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_session_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_session_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_generate_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short_result, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
