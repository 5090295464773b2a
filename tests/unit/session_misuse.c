/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions used against their contract: twice loaded, with structs of other sizes, unknown flags, no tokens. */
#include <accel/model/describe.h>
#include <accel/model/generate.h>
#include <accel/model/plan.h>

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

#define REFUSED(call)                                                                                                  \
    do {                                                                                                               \
        struct accel_error error = {0};                                                                                \
        assert_int_equal(call, ACCEL_E_INVALID);                                                                       \
        assert_non_null(strstr(error.text, "is NULL"));                                                                \
    } while (0)

/* An argument that may not be NULL is refused by name of the function, and nothing is done. */
static void test_null_arguments(void **state)
{
    struct used *used = *state;
    struct accel_session *s = used->session, *session = (void *)s;
    const int32_t ids[] = {1, 2, 3};
    const struct accel_session_part part = {.ids = ids, .count = 1, .outputs = 1};
    struct accel_generate_options options = {.size = sizeof(options), .tokens = 3};
    struct accel_generate_result result = {.size = sizeof(result)}, *results[] = {NULL};
    const struct accel_generate_text text = {ids, 1, NULL};
    struct accel_stage stage = {.size = sizeof(stage)};
    const float *logits = NULL;
    struct accel_model *model;
    uint32_t sequence;

    REFUSED(accel_model_open(NULL, NULL, &model, &error));
    REFUSED(accel_model_open("x", NULL, NULL, &error));
    REFUSED(accel_session_create(used->context, NULL, NULL, &session, &error));
    REFUSED(accel_session_create(used->context, used->model, NULL, NULL, &error));
    REFUSED(accel_session_load(NULL, &error));
    REFUSED(accel_session_store(NULL, NULL, &error));
    REFUSED(accel_session_feed(NULL, ids, 1, &logits, &error));
    REFUSED(accel_session_feed(s, NULL, 1, &logits, &error));
    REFUSED(accel_session_feed(s, ids, 1, NULL, &error));
    REFUSED(accel_session_score(s, ids, 1, NULL, NULL, &error));
    REFUSED(accel_session_step(s, NULL, 1, &logits, &error));
    REFUSED(accel_session_step(s, &part, 1, NULL, &error));
    REFUSED(accel_session_open(s, NULL, &error));
    REFUSED(accel_session_fork(s, 0, 0, NULL, &error));
    REFUSED(accel_session_close(NULL, 0, &error));
    REFUSED(accel_session_truncate(NULL, 0, &error));
    REFUSED(accel_session_fork(NULL, 0, 0, &sequence, &error));
    REFUSED(accel_session_stage(s, 0, NULL, &error));
    REFUSED(accel_session_stage(NULL, 0, &stage, &error));
    REFUSED(accel_session_input(s, 0, NULL, &error));
    REFUSED(accel_session_report_nonfinite(s, NULL, &error));
    REFUSED(accel_generate(s, used->tokenizer, ids, 1, &options, NULL, &error));
    REFUSED(accel_generate(s, NULL, ids, 1, &options, &result, &error));
    REFUSED(accel_generate_texts(s, used->tokenizer, &text, 1, &options, NULL, &error));
    REFUSED(accel_generate_texts(s, used->tokenizer, &text, 1, &options, results, &error));
    REFUSED(accel_weights_label_read(NULL, (char[ACCEL_WEIGHTS_LABEL]){0}, &error));
    REFUSED(accel_plan_open_device(NULL, NULL, &error));
    assert_int_equal(accel_session_length(s), 0);
}

static void test_null_arguments_of_files(void **state)
{
    struct used *used = *state;
    const struct accel_model_file *file = accel_model_file_of(used->model);
    const struct accel_model_value *value = accel_model_file_value(file, 0);
    struct accel_model_text text;
    struct accel_model_mapping mapping;
    uint64_t number;

    assert_non_null(value);
    REFUSED(accel_model_file_check(NULL, &error));
    REFUSED(accel_model_file_mapping(file, 0, NULL, &error));
    REFUSED(accel_model_file_get_u64(file, NULL, &number, &error));
    REFUSED(accel_model_file_get_u64(NULL, "x", &number, &error));
    REFUSED(accel_model_file_get_i64(file, "x", NULL, &error));
    REFUSED(accel_model_file_get_f64(file, "x", NULL, &error));
    REFUSED(accel_model_file_get_bool(file, "x", NULL, &error));
    REFUSED(accel_model_file_get_text(file, NULL, &text, &error));
    REFUSED(accel_model_file_get_list(file, "x", ACCEL_MODEL_TEXT, NULL, &error));
    REFUSED(accel_model_value_u64(NULL, 0, &number, &error));
    REFUSED(accel_model_value_i64(value, 0, NULL, &error));
    REFUSED(accel_model_value_f64(value, 0, NULL, &error));
    REFUSED(accel_model_describe(used->context, "x", NULL, &error));
    REFUSED(accel_model_description_runs(NULL, &error));
    assert_int_equal(accel_model_file_mapping(NULL, 0, &mapping, NULL), ACCEL_E_NOT_FOUND);
    assert_null(accel_model_file_find(file, NULL));
    accel_session_cancel(NULL);
}

static void test_null_arguments_of_plans(void **state)
{
    struct used *used = *state;
    const struct accel_model_plan_options options = {.size = sizeof(options),
                                                     .path = accel_model_file_path(accel_model_file_of(used->model))};
    const struct accel_named_value unnamed = {NULL, "1", "test"};
    struct accel_model_plan_range range = {"context", NULL, 1, 2, 0, 0};
    struct accel_model_plan *plan = NULL, *other = NULL;
    struct accel_error why = {0}, order = {0};
    uint64_t value;
    uint32_t fits;
    char *text;

    REFUSED(accel_model_plan_create(used->context, &options, NULL, &error));
    assert_int_equal(accel_model_plan_create(used->context, &options, &plan, &why), ACCEL_OK);
    REFUSED(accel_model_plan_session(plan, NULL, &error));
    REFUSED(accel_model_plan_note_tokenizer(NULL, &error));
    REFUSED(accel_model_plan_vary(NULL, NULL, 0, &other, &error));
    REFUSED(accel_model_plan_vary(plan, NULL, 0, NULL, &error));
    assert_int_equal(accel_model_plan_vary(plan, NULL, 3, &other, &why), ACCEL_E_INVALID);
    assert_int_equal(accel_model_plan_vary(plan, &unnamed, 1, &other, &why), ACCEL_E_INVALID);
    assert_null(other);
    REFUSED(accel_model_plan_search(plan, NULL, &value, &fits, &error));
    REFUSED(accel_model_plan_search(plan, &range, &value, &fits, &error));
    range = (struct accel_model_plan_range){"context", "tok", 3, 2, 0, 0};
    assert_int_equal(accel_model_plan_search(plan, &range, &value, &fits, &order), ACCEL_E_INVALID);
    assert_non_null(strstr(order.text, "low 3 is above high 2"));
    range = (struct accel_model_plan_range){"context", "tok", 1, 2, 0, 1};
    assert_int_equal(accel_model_plan_search(plan, &range, &value, &fits, NULL), ACCEL_E_INVALID);
    range = (struct accel_model_plan_range){"context", "tok", 1, 2, 7, 0};
    assert_int_equal(accel_model_plan_search(plan, &range, &value, &fits, NULL), ACCEL_E_INVALID);
    REFUSED(accel_model_plan_max_context(plan, NULL, &error));
    REFUSED(accel_model_plan_json(plan, NULL, &error));
    REFUSED(accel_model_plan_json(NULL, &text, &error));
    REFUSED(accel_model_plan_write(plan, NULL, &error));
    REFUSED(accel_model_plan_repeat(used->context, NULL, NULL, &other, &error));
    accel_model_plan_free(plan);
}

/* More tokens than the context or a step holds are refused before one of them is read; a feed that is cancelled before
 * its first step speaks of no tokens that it fed. */
static void test_counts(void **state)
{
    struct used *used = *state;
    const int32_t ids[] = {1, 2, 3};
    struct accel_session_part part = {.ids = ids, .count = UINT64_MAX, .outputs = 1};
    const float *logits = NULL;
    struct accel_error error = {0}, step = {0}, cancel = {0};

    assert_int_equal(accel_session_feed(used->session, ids, UINT64_MAX, &logits, &error), ACCEL_E_LIMIT);
    assert_non_null(strstr(error.text, "tokens do not fit: the context of "));
    assert_int_equal(accel_session_step(used->session, &part, 1, &logits, &step), ACCEL_E_LIMIT);
    part.count = 1;
    part.ids = NULL;
    assert_int_equal(accel_session_step(used->session, &part, 1, &logits, NULL), ACCEL_E_INVALID);
    OK(accel_session_feed(used->session, ids, 2, &logits, &cancel));
    accel_session_cancel(used->session);
    assert_int_equal(accel_session_feed(used->session, ids, 3, &logits, &cancel), ACCEL_E_CANCELLED);
    assert_string_equal(cancel.text, "cancelled; tokens in the context: 2");
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
        cmocka_unit_test_setup_teardown(test_null_arguments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_arguments_of_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_arguments_of_plans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
