/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of models by the C interface: exact ones and shape plans, what would make them fit, the longest context, and
 * records that are repeated or refused.
 */
#include <accel/model/describe.h>
#include <accel/model/plan.h>

#include "session_support.h"
#include "tools/tables/steps.h"

#define MODEL "samples/stories260K/stories260K-q8_0.gguf"

static struct accel_context *context;

static int open_all(void **state)
{
    (void)state;
    context = make_context();
    return 0;
}

static int close_context(void **state)
{
    struct accel_error error = {0};

    (void)state;
    return accel_context_free(context, &error) == ACCEL_OK ? 0 : -1;
}

static const char *model_path(char path[PATH_BYTES])
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");

    snprintf(path, PATH_BYTES, "%s/" MODEL, tree == NULL ? "." : tree);
    return path;
}

static struct accel_model_plan *plan_model(const char *path, const struct accel_named_value *given, uint32_t count)
{
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = path, .overrides = given, .override_count = count};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    OK(accel_model_plan_create(context, &options, &plan, &error));
    assert_non_null(plan);
    return plan;
}

static struct accel_plan_fit fit_of(const struct accel_model_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_error error = {0};

    OK(accel_plan_fit(accel_model_plan_plan(plan), &fit, &error));
    return fit;
}

static const struct accel_plan_setting *setting_of(const struct accel_model_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(plan), key);

    assert_non_null(setting);
    return setting;
}

/* ---- exact plans ---- */

static void test_exact(void **state)
{
    char path[PATH_BYTES], key[] = "context", value[] = "64tok";
    struct accel_named_value given = {key, value, "test"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1);
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    (void)state;
    /* Settings are copies: the caller's may go. */
    memset(value, 'x', sizeof(value) - 1);
    memset(path, 'x', 8);
    assert_int_equal(accel_model_plan_exact(plan), 1);
    assert_non_null(accel_model_plan_model(plan));
    assert_non_null(accel_model_plan_description(plan));
    assert_string_equal(setting_of(plan, "context")->value, "64");
    OK(accel_model_plan_session(plan, &session, &error));
    assert_ptr_equal(accel_session_plan(session), accel_model_plan_plan(plan));
    OK(accel_session_load(session, &error));
    assert_int_equal(accel_session_context(session), 64);
    accel_model_plan_free(plan);
    accel_model_plan_free(NULL);
}

static void refuse(const struct accel_model_plan_options *options, int32_t code, const char *words)
{
    struct accel_model_plan *plan = (struct accel_model_plan *)&plan;
    struct accel_error error = {0};

    assert_int_equal(accel_model_plan_create(context, options, &plan, &error), code);
    assert_null(plan);
    assert_non_null(strstr(error.text, words));
}

static void test_misuse(void **state)
{
    char path[PATH_BYTES];
    struct accel_named_value nameless = {NULL, "1", "test"}, unknown = {"contxt", "64tok", "test"};
    struct accel_model_plan_options options = {.size = sizeof(options)};

    (void)state;
    refuse(&options, ACCEL_E_INVALID, "a path");
    refuse(NULL, ACCEL_E_INVALID, "no struct");
    options.path = "/nowhere/at/all";
    refuse(&options, ACCEL_E_NOT_FOUND, "/nowhere/at/all");
    options.path = model_path(path);
    options.overrides = &nameless;
    options.override_count = 1;
    refuse(&options, ACCEL_E_INVALID, "setting 0");
    options.overrides = &unknown;
    refuse(&options, ACCEL_E_NOT_FOUND, "did you mean \"context\"");
    options.override_count = 0;
    options.device = "gpu:none";
    refuse(&options, ACCEL_E_NOT_FOUND, "gpu:none");
    options.device = NULL;
    options.mode = "foo";
    refuse(&options, ACCEL_E_INVALID, "none of: stream components");
    options.mode = NULL;
    options.size = 12;
    refuse(&options, ACCEL_E_INVALID, "12 bytes");
}

/* ---- the longest context ---- */

static void test_longest(void **state)
{
    char path[PATH_BYTES], value[32];
    struct accel_named_value given[] = {{"memory.budget", "1200KiB", "test"}, {"context", value, "test"}};
    struct accel_model_plan *plan = plan_model(model_path(path), given, 1);
    struct accel_error error = {0};
    uint64_t tokens;

    (void)state;
    OK(accel_model_plan_max_context(plan, &tokens, &error));
    assert_in_range(tokens, 2, 511);
    accel_model_plan_free(plan);
    for (uint32_t more = 0; more < 2; more++) {
        snprintf(value, sizeof(value), "%llutok", (unsigned long long)tokens + more);
        plan = plan_model(path, given, 2);
        assert_int_equal(fit_of(plan).fits, !more);
        accel_model_plan_free(plan);
    }
    plan = plan_model(path, NULL, 0);
    OK(accel_model_plan_max_context(plan, &tokens, &error));
    assert_int_equal(tokens, 512);
    accel_model_plan_free(plan);
}

/* ---- shape plans ---- */

static void test_no_kernel(void **state)
{
    char path[PATH_BYTES];
    struct accel_named_value given = {"role.norm", "f16", "test says so"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1);
    struct accel_session *session = (struct accel_session *)&session;
    struct accel_error error = {0};

    (void)state;
    assert_int_equal(accel_model_plan_exact(plan), 0);
    assert_int_equal(accel_model_plan_session(plan, &session, &error), ACCEL_E_UNSUPPORTED);
    assert_null(session);
    assert_non_null(strstr(error.text, "role.norm"));
    assert_non_null(strstr(error.text, "test says so"));
    assert_true(fit_of(plan).needed > 100000);
    accel_model_plan_free(plan);
}

static struct accel_model_plan *plan_elsewhere(const char *name, const char *platform, const char *device,
                                               const struct accel_named_value *given, uint32_t count)
{
    struct accel_model_plan_options options = {.size = sizeof(options),
                                               .path = name,
                                               .platform = platform,
                                               .device = device,
                                               .overrides = given,
                                               .override_count = count};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    OK(accel_model_plan_create(context, &options, &plan, &error));
    return plan;
}

/* A platform without a device here: by formula, every fact with its origin. */
static void test_platform(void **state)
{
    struct accel_model_plan *plan = plan_elsewhere("llama-2-7b", "cuda", "t4", NULL, 0);
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    struct accel_session *session;
    struct accel_error error = {0};
    uint32_t from_device = 0;

    (void)state;
    assert_int_equal(accel_model_plan_exact(plan), 0);
    assert_string_equal(accel_plan_platform(inner), "cuda");
    assert_null(accel_plan_device(inner));
    assert_null(accel_model_plan_model(plan));
    assert_int_not_equal(accel_model_plan_session(plan, &session, &error), ACCEL_OK);
    for (uint32_t i = 0; i < accel_plan_fact_count(inner); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(inner, i);

        assert_true(fact->origin[0] != '\0');
        from_device += strstr(fact->origin, "devices/t4.yaml:") != NULL;
    }
    assert_true(from_device >= 1);
    assert_true(fit_of(plan).needed > UINT64_C(3000000000));
    accel_model_plan_free(plan);
}

/* ---- advice ---- */

static void test_fit(void **state)
{
    struct accel_named_value given[] = {{"memory.device", "3800MiB", "test"}, {"placement", "single", "test"}};
    struct accel_model_plan *plan = plan_elsewhere("llama-2-7b", "cuda", "t4", given, 2);
    struct accel_model_plan *fitted = NULL;
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    uint64_t needed = fit_of(plan).needed;
    uint32_t applied = 0;

    (void)state;
    assert_int_equal(fit_of(plan).fits, 0);
    OK(fit_model_plan(context, plan, &fitted, &steps, &error));
    for (uint32_t i = 0; i < plan_step_count(steps); i++) {
        const struct plan_step *step = plan_step_get(steps, i);

        assert_true(step->source[0] != '\0' && step->words[0] != '\0');
        assert_non_null(strstr(step->place, "advice.yaml:"));
        if (step->state == ACCEL_PLAN_STEP_REFUSED || step->state == ACCEL_PLAN_STEP_SAME)
            assert_true(step->text[0] != '\0');
        if (step->state != ACCEL_PLAN_STEP_APPLIED)
            continue;
        assert_int_equal(step->before, needed);
        assert_true(step->after < step->before);
        assert_true(strncmp(step->settings, "--set ", 6) == 0);
        needed = step->after;
        applied++;
    }
    assert_true(applied >= 1);
    assert_int_equal(fit_of(fitted).needed, needed);
    assert_int_equal(fit_of(fitted).fits, 1);
    plan_steps_free(steps);
    accel_model_plan_free(fitted);
    accel_model_plan_free(plan);
}

static void test_advise(void **state)
{
    char path[PATH_BYTES];
    struct accel_model_plan *plan = plan_model(model_path(path), NULL, 0);
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    uint32_t count;

    (void)state;
    OK(advise_on_plan(context, plan, "oom", &steps, &error));
    count = plan_step_count(steps);
    assert_true(count >= 1);
    assert_null(plan_step_get(steps, count));
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(plan_step_get(steps, i)->before, fit_of(plan).needed);
    plan_steps_free(steps);
    assert_int_equal(advise_on_plan(context, plan, "weather", &steps, &error), ACCEL_E_NOT_FOUND);
    assert_null(steps);
    assert_non_null(strstr(error.remedy, "oom"));
    plan_steps_free(NULL);
    accel_model_plan_free(plan);
}

/* ---- records ---- */

/* Writes a record with one text of it replaced. */
static void edit(const char *from, const char *to, const char *old, const char *new)
{
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    char line[8192];

    assert_non_null(in);
    assert_non_null(out);
    while (fgets(line, sizeof(line), in) != NULL) {
        char *at = strstr(line, old);

        if (at != NULL)
            fprintf(out, "%.*s%s%s", (int)(at - line), line, new, at + strlen(old));
        else
            fputs(line, out);
    }
    fclose(in);
    fclose(out);
}

static void test_record(void **state)
{
    static const char *const edits[][3] = {
        {"\"driver_version\": \"0.1.0\"", "\"driver_version\": \"7\"", "driver cpu was version 7"},
        {"\"bytes\": 3", "\"bytes\": 4", "another size"},
        {"\"kernel\": \"rms norm\"", "\"kernel\": \"other\"", "ran \"other\""},
    };
    char path[PATH_BYTES];
    struct accel_named_value given = {"context", "100tok", "test"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1), *again = NULL;
    struct accel_error error = {0};

    (void)state;
    OK(accel_model_plan_write(plan, "model_plan.json", &error));
    OK(accel_model_plan_repeat(context, "model_plan.json", NULL, &again, &error));
    assert_int_equal(fit_of(again).needed, fit_of(plan).needed);
    assert_string_equal(setting_of(again, "context")->value, "100");
    accel_model_plan_free(again);
    for (uint32_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
        edit("model_plan.json", "model_plan-2.json", edits[i][0], edits[i][1]);
        accel_error_clear(&error);
        assert_int_equal(accel_model_plan_repeat(context, "model_plan-2.json", NULL, &again, &error), ACCEL_E_REFUSED);
        assert_null(again);
        assert_non_null(strstr(error.text, edits[i][2]));
    }
    /* Settings as the record has them, whatever the request in it says. */
    edit("model_plan.json", "model_plan-2.json", "\"value\": \"100tok\"", "\"value\": \"50tok\"");
    accel_error_clear(&error);
    OK(accel_model_plan_repeat(context, "model_plan-2.json", NULL, &again, &error));
    assert_string_equal(setting_of(again, "context")->value, "100");
    assert_string_equal(setting_of(again, "context")->place, "model_plan-2.json");
    accel_model_plan_free(again);
    accel_error_clear(&error);
    assert_int_equal(accel_model_plan_repeat(context, "nothing.json", NULL, &again, &error), ACCEL_E_NOT_FOUND);
    accel_error_clear(&error);
    assert_int_equal(accel_model_plan_write(plan, "/nowhere/plan.json", &error), ACCEL_E_NOT_FOUND);
    accel_model_plan_free(plan);
    unlink("model_plan.json");
    unlink("model_plan-2.json");
}

/* Writes a text `times` over between two others. */
static void write_many(const char *path, const char *begin, const char *piece, uint32_t times, const char *end)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(begin, file);
    for (uint32_t i = 0; i < times; i++)
        fputs(piece, file);
    fputs(end, file);
    fclose(file);
}

/* Records that no plan of ours could be are refused before they cost memory or time. */
static void test_damaged_record(void **state)
{
    static const char *const edits[][3] = {
        {"\"length\": 0", "\"length\": -1", "request.length"},
        {"\"length\": 0", "\"length\": \"1\"", "request.length"},
        {"\"mode\": \"\"", "\"mode\": \"foo\"", "request.mode"},
        {"\"mode\": \"\"", "\"mode\": 3", "request.mode"},
    };
    static const struct {
        const char *begin, *piece;
        uint32_t times;
        const char *end, *words;
    } large[] = {
        {"[", "[],", 3000000, "1]", "8 MiB"},
        {"[", "[],", 2000000, "1]", "a million values"},
        {"{\"schema\": \"accelctl/plan/2\", \"nodes\": [", "1,", 70000,
         "1], \"model\": {\"path\": \"x\"}, \"settings\": {}}", "65536 nodes"},
        {"{\"schema\": \"accelctl/plan/2\", \"nodes\": [], \"request\": {\"given\": [", "1,", 5000,
         "1]}, \"model\": {\"path\": \"x\"}, \"settings\": {}}", "4096 settings were given"},
    };
    char path[PATH_BYTES];
    struct accel_model_plan *plan = plan_model(model_path(path), NULL, 0), *again = NULL;
    struct accel_error error = {0};

    (void)state;
    OK(accel_model_plan_write(plan, "model_plan-3.json", &error));
    accel_model_plan_free(plan);
    for (uint32_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
        edit("model_plan-3.json", "model_plan-4.json", edits[i][0], edits[i][1]);
        accel_error_clear(&error);
        assert_int_equal(accel_model_plan_repeat(context, "model_plan-4.json", NULL, &again, &error), ACCEL_E_CORRUPT);
        assert_non_null(strstr(error.text, edits[i][2]));
    }
    for (uint32_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
        write_many("model_plan-4.json", large[i].begin, large[i].piece, large[i].times, large[i].end);
        accel_error_clear(&error);
        assert_int_equal(accel_model_plan_repeat(context, "model_plan-4.json", NULL, &again, &error), ACCEL_E_CORRUPT);
        if (strstr(error.text, large[i].words) == NULL)
            fail_msg("\"%s\" is not in: %s", large[i].words, error.text);
    }
    unlink("model_plan-3.json");
    unlink("model_plan-4.json");
}

/* A shape plan is written, too, and no run follows it. */
static void test_sketch_record(void **state)
{
    struct accel_model_plan *plan = plan_elsewhere("llama-2-7b", "cuda", "t4", NULL, 0), *again = NULL;
    struct accel_error error = {0};
    json_t *document;
    char *text;

    (void)state;
    OK(accel_model_plan_json(plan, &text, &error));
    document = json_loads(text, 0, NULL);
    accel_model_plan_json_free(text);
    assert_non_null(document);
    assert_true(json_is_null(json_object_get(document, "device")));
    assert_true(json_array_size(json_object_get(document, "parts")) >= 5);
    assert_true(json_is_object(json_object_get(json_object_get(document, "facts"), "device.memory")));
    json_decref(document);
    OK(accel_model_plan_write(plan, "model_plan-3.json", &error));
    assert_int_equal(accel_model_plan_repeat(context, "model_plan-3.json", NULL, &again, &error), ACCEL_E_REFUSED);
    assert_non_null(strstr(error.text, "by formula"));
    unlink("model_plan-3.json");
    accel_model_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),         cmocka_unit_test(test_misuse),         cmocka_unit_test(test_longest),
        cmocka_unit_test(test_no_kernel),     cmocka_unit_test(test_platform),       cmocka_unit_test(test_fit),
        cmocka_unit_test(test_advise),        cmocka_unit_test(test_damaged_record), cmocka_unit_test(test_record),
        cmocka_unit_test(test_sketch_record),
    };

    return cmocka_run_group_tests(tests, open_all, close_context);
}
