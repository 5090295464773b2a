/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how often plans of a model and their sessions open a device and ask it: a plan opens it once and asks once for
 * claims and once for estimates, and its session takes it over. Plans that are made again, and variants, share it. The
 * header of the model's file is read once too.
 */
#include <accel/model/plan.h>

#include "model/file/container.h"
#include "session_second.h"

/* Calls of the slots of the driver "second". */
static struct calls {
    uint32_t open, claim, estimate, compile, close;
} calls;

static uint32_t headers_read;

/* The linker replaces calls of model_gguf_read by the first and names that itself as the second (--wrap). */
int32_t __wrap_model_gguf_read(struct accel_model_file *file, uint32_t part, struct accel_error *error);
int32_t __real_model_gguf_read(struct accel_model_file *file, uint32_t part, struct accel_error *error);

int32_t __wrap_model_gguf_read(struct accel_model_file *file, uint32_t part, struct accel_error *error)
{
    headers_read++;
    return __real_model_gguf_read(file, part, error);
}

static int32_t count_call(const char *slot, struct accel_error *error)
{
    (void)error;
    calls.open += strcmp(slot, "open") == 0;
    calls.claim += strcmp(slot, "claim") == 0;
    calls.estimate += strcmp(slot, "estimate") == 0;
    calls.compile += strcmp(slot, "compile") == 0;
    calls.close += strcmp(slot, "close") == 0;
    return ACCEL_OK;
}

static struct accel_model_plan *plan_with(const char *device, const struct accel_named_value *overrides, uint32_t count)
{
    static char path[PATH_BYTES];
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = path, .device = device, .overrides = overrides, .override_count = count};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    stories_path(path);
    calls = (struct calls){0};
    headers_read = 0;
    second.before = count_call;
    OK(accel_model_plan_create(context, &options, &plan, &error));
    return plan;
}

static void test_plan(void **state)
{
    struct accel_model_plan *plan = plan_with("second", NULL, 0);

    (void)state;
    assert_int_equal(calls.open, 1);
    assert_int_equal(calls.claim, 1);
    assert_int_equal(calls.estimate, 1);
    assert_int_equal(headers_read, 1);
    accel_model_plan_free(plan);
    assert_int_equal(calls.close, 1);
}

static void test_run(void **state)
{
    struct accel_model_plan *plan = plan_with("second", NULL, 0);
    struct accel_session *session;
    struct accel_error error = {0};
    const int32_t ids[] = {1, 260, 261};
    const float *logits;

    (void)state;
    OK(accel_model_plan_session(plan, &session, &error));
    OK(accel_session_load(session, &error));
    OK(accel_session_feed(session, ids, 3, &logits, &error));
    assert_int_equal(calls.open, 1);
    assert_int_equal(calls.estimate, 1);
    assert_int_equal(calls.compile, 1);
    /* The module that is compiled claims for itself: it may be made without a plan. */
    assert_int_equal(calls.claim, 2);
    assert_int_equal(headers_read, 1);
    accel_model_plan_free(plan);
    assert_int_equal(calls.close, 1);
}

/* Matrices that step down to fewer bits until the model fits change the graph, of which the device is asked again. */
static void test_adapted(void **state)
{
    static const struct accel_named_value settings[] = {
        {"precision.dynamic", "true", "test"}, {"memory.budget", "1200KiB", "test"}, {"context", "64tok", "test"}};
    struct accel_model_plan *plan = plan_with("second", settings, 3);

    (void)state;
    assert_true(calls.claim > 1);
    assert_int_equal(calls.estimate, calls.claim);
    assert_int_equal(calls.open, 1);
    accel_model_plan_free(plan);
    assert_int_equal(calls.close, 1);
}

static void test_search(void **state)
{
    static const struct accel_named_value budget = {"memory.budget", "3MiB", "test"};
    struct accel_model_plan *plan = plan_with("second", &budget, 1);
    struct accel_error error = {0};
    uint64_t tokens;

    (void)state;
    OK(accel_model_plan_max_context(plan, &tokens, &error));
    assert_in_range(tokens, 1, 512);
    assert_true(calls.claim > 2);
    assert_int_equal(calls.open, 1);
    assert_int_equal(calls.close, 0);
    accel_model_plan_free(plan);
    assert_int_equal(calls.close, 1);
}

static void state_no_precision(struct accel_claim *claim)
{
    claim->precision = 0;
}

/* A driver that states no precision may round rows: only one that states another gets the note that none is rounded. */
static void test_precision(void **state)
{
    static const struct accel_named_value rows = {"compute.activations", "q8_row", "test"};

    (void)state;
    for (uint32_t stated = 0; stated < 2; stated++) {
        struct accel_model_plan *made;
        const struct accel_plan *plan;
        uint32_t notes = 0;

        second.claiming = stated ? NULL : state_no_precision;
        made = plan_with("second", &rows, 1);
        plan = accel_model_plan_plan(made);
        for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
            notes += strstr(accel_plan_note_get(plan, i)->text, "q8_row changes nothing") != NULL;
        assert_int_equal(notes, stated);
        accel_model_plan_free(made);
    }
}

/* A device lives as long as one of the plans that share it. */
static void test_variants(void **state)
{
    static const struct accel_named_value batch = {"batch", "4tok", "test"};
    struct accel_model_plan *plan = plan_with("second", NULL, 0), *variant = NULL;
    struct accel_session *session;
    struct accel_error error = {0};

    (void)state;
    OK(accel_model_plan_vary(plan, &batch, 1, &variant, &error));
    assert_int_equal(headers_read, 1);
    accel_model_plan_free(plan);
    assert_int_equal(calls.open, 1);
    assert_int_equal(calls.close, 0);
    OK(accel_model_plan_session(variant, &session, &error));
    OK(accel_session_load(session, &error));
    accel_model_plan_free(variant);
    assert_int_equal(calls.open, 1);
    assert_int_equal(calls.close, 1);
}

/* Two of three stages lie on one device. */
static void test_stages(void **state)
{
    static const struct accel_named_value layers = {"placement", "0-1=second:cpu0,2-3=cpu:cpu0,4-4=second:cpu0",
                                                    "test"};
    struct accel_model_plan *plan = plan_with(NULL, &layers, 1);
    struct accel_session *session;
    struct accel_error error = {0};
    const int32_t ids[] = {1, 260, 261};
    const float *logits;

    (void)state;
    assert_int_equal(calls.claim, 2);
    assert_int_equal(calls.estimate, 2);
    assert_int_equal(calls.open, 1);
    OK(accel_model_plan_session(plan, &session, &error));
    OK(accel_session_load(session, &error));
    OK(accel_session_feed(session, ids, 3, &logits, &error));
    assert_int_equal(calls.open, 1);
    accel_model_plan_free(plan);
    assert_int_equal(calls.close, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),      cmocka_unit_test(test_run),      cmocka_unit_test(test_adapted),
        cmocka_unit_test(test_search),    cmocka_unit_test(test_variants), cmocka_unit_test(test_stages),
        cmocka_unit_test(test_precision),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
