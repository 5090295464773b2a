/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of one model on two devices: the cpu driver, and the same driver under another name. Logits are those of one
 * device to the bit, memory is as planned, and a device that is lost ends its run alone.
 */
#include <inttypes.h>

#include <accel/model/plan.h>

#include "session_second.h"

enum { PROMPT = 20, WRITTEN = 24, GIVEN = 6, STEPS = 40 };

/* An exact plan for the small model with its layers as `placement` says, loaded; its session is *out_session. With
 * `slides` it has two sequences of 48 tokens, of which the oldest leave. */
static struct accel_model_plan *make_plan(const char *placement, bool slides, uint32_t flags,
                                          struct accel_session **out_session)
{
    const struct accel_named_value given[] = {
        {"kv.type.k", "f32", "test"},     {"kv.type.v", "f32", "test"}, {"compute.activations", "f32", "test"},
        {"placement", placement, "test"}, {"batch", "16tok", "test"},   {"cpu.threads", "1", "test"},
        {"sequences", "2", "test"},       {"context", "48tok", "test"}, {"kv.full", "slide", "test"},
    };
    char path[PATH_BYTES];
    struct accel_model_plan_options options = {.size = sizeof(options),
                                               .path = path,
                                               .flags = flags,
                                               .overrides = given,
                                               .override_count = slides ? sizeof(given) / sizeof(*given) : GIVEN};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    stories_path(path);
    OK(accel_model_plan_create(context, &options, &plan, &error));
    OK(accel_model_plan_session(plan, out_session, &error));
    OK(accel_session_load(*out_session, &error));
    return plan;
}

/* Feeds the prompt and then the likeliest tokens; keeps the logits of the last step. Returns the first failure. */
static int32_t write_text(struct accel_session *session, int32_t ids[WRITTEN], float *last, uint32_t vocabulary,
                          struct accel_error *error)
{
    int32_t prompt[PROMPT];
    const float *logits = NULL;
    int32_t code;

    for (int32_t i = 0; i < PROMPT; i++)
        prompt[i] = i == 0 ? 1 : 260 + i * 7;
    code = accel_session_feed(session, prompt, PROMPT, &logits, error);
    for (uint32_t i = 0; code == ACCEL_OK && i < WRITTEN; i++) {
        ids[i] = (int32_t)best_of(logits, vocabulary);
        code = accel_session_feed(session, &ids[i], 1, &logits, error);
    }
    if (code == ACCEL_OK)
        memcpy(last, logits, vocabulary * sizeof(*last));
    return code;
}

static void check_memory(const struct accel_session *session)
{
    const struct accel_plan *plan = accel_session_plan(session);

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(plan, i);
        uint64_t now = 0, peak = 0;

        assert_int_equal(accel_memory_usage(context, row->memory_class, &now, &peak), ACCEL_OK);
        print_message("  %-16s planned %10" PRIu64 ", now %10" PRIu64 "\n", row->name, row->bytes, now);
        /* Both drivers keep an instance each, which the plan of each piece has, and other drivers may be attached. */
        if (row->memory_class != ACCEL_MEMORY_MAPPED && row->memory_class != ACCEL_MEMORY_HOST)
            assert_int_equal(row->bytes, now);
        if (row->memory_class == ACCEL_MEMORY_HOST)
            assert_true(now <= row->bytes);
    }
}

static void the_same_text_wherever_layers_lie(void **state)
{
    static const char *const placements[] = {
        "single",
        "0-1=cpu:cpu0,2-4=second:cpu0",
        "0-2=second:cpu0,3-4=cpu:cpu0",
        "0=cpu:cpu0,1-3=second:cpu0,4=cpu:cpu0",
    };
    static const uint32_t pieces[] = {1, 2, 2, 3};
    float *first = NULL, *last = NULL;
    int32_t wanted[WRITTEN], ids[WRITTEN];
    struct accel_error error = {0};

    (void)state;
    for (uint32_t i = 0; i < sizeof(placements) / sizeof(*placements); i++) {
        struct accel_session *session;
        struct accel_model_plan *plan = make_plan(placements[i], false, 0, &session);
        uint32_t vocabulary = accel_model_facts_of(accel_model_plan_model(plan))->vocabulary, graphs = 0;
        const struct accel_plan *placed = accel_session_plan(session);

        for (uint32_t n = 0; n < accel_plan_node_count(placed); n++)
            graphs = accel_plan_node_get(placed, n)->graph + 1;
        assert_int_equal(graphs, pieces[i]);
        first = first == NULL ? calloc(vocabulary, sizeof(*first)) : first;
        last = last == NULL ? calloc(vocabulary, sizeof(*last)) : last;
        second.runs = 0;
        OK(write_text(session, i == 0 ? wanted : ids, i == 0 ? first : last, vocabulary, &error));
        assert_int_equal(second.runs, i == 0 ? 0 : 2 + WRITTEN);
        if (i != 0) {
            assert_memory_equal(ids, wanted, sizeof(ids));
            assert_memory_equal(last, first, vocabulary * sizeof(*last));
        }
        check_memory(session);
        accel_model_plan_free(plan);
    }
    free(first);
    free(last);
}

/* A fork copies the page that both sequences write on every device, and the tables of all stages lose the same pages.
 */
static void forked_sequences_slide_alike(void **state)
{
    static const char *const placements[] = {"single", "0-1=cpu:cpu0,2-4=second:cpu0"};
    struct accel_error error = {0};
    float *wanted = NULL;

    (void)state;
    for (uint32_t i = 0; i < sizeof(placements) / sizeof(*placements); i++) {
        struct accel_session *session;
        struct accel_model_plan *plan = make_plan(placements[i], true, 0, &session);
        const uint32_t vocabulary = accel_model_facts_of(accel_model_plan_model(plan))->vocabulary;
        int32_t prompt[PROMPT], ids[] = {300, 400};
        const float *logits = NULL;
        uint32_t fork = 0;

        for (int32_t t = 0; t < PROMPT; t++)
            prompt[t] = t == 0 ? 1 : 260 + t * 7;
        OK(accel_session_feed(session, prompt, PROMPT, &logits, &error));
        OK(accel_session_fork(session, 0, 13, &fork, &error));
        for (uint32_t step = 0; step < STEPS; step++) {
            const struct accel_session_part parts[] = {{&ids[0], 1, 0, 1}, {&ids[1], 1, fork, 1}};

            OK(accel_session_step(session, parts, 2, &logits, &error));
            ids[0] = (int32_t)best_of(logits, vocabulary);
            ids[1] = (int32_t)best_of(logits + vocabulary, vocabulary);
        }
        if (i == 0) {
            wanted = malloc(2 * sizeof(*wanted) * vocabulary);
            assert_non_null(wanted);
            memcpy(wanted, logits, 2 * sizeof(*wanted) * vocabulary);
        }
        assert_memory_equal(logits, wanted, 2 * sizeof(*wanted) * vocabulary);
        assert_true(accel_session_sequence_length(session, 0) <= 48);
        check_memory(session);
        accel_model_plan_free(plan);
    }
    free(wanted);
}

/* The named stages of all devices are those of one device, in its order. */
static void traces_are_alike(void **state)
{
    struct accel_session *whole, *split;
    struct accel_model_plan *plan = make_plan("single", false, ACCEL_SESSION_STAGES, &whole);
    struct accel_model_plan *other =
        make_plan("0=cpu:cpu0,1-3=second:cpu0,4=cpu:cpu0", false, ACCEL_SESSION_STAGES, &split);
    const int32_t ids[] = {1, 300, 400, 401};
    struct accel_error error = {0};
    const float *logits;

    (void)state;
    OK(accel_session_feed(whole, ids, 4, &logits, &error));
    OK(accel_session_feed(split, ids, 4, &logits, &error));
    assert_int_equal(accel_session_stage_count(split), accel_session_stage_count(whole));
    for (uint32_t i = 0; i < accel_session_stage_count(whole); i++) {
        struct accel_stage one = {.size = sizeof(one)}, two = {.size = sizeof(two)};

        OK(accel_session_stage(whole, i, &one, &error));
        OK(accel_session_stage(split, i, &two, &error));
        assert_string_equal(two.name, one.name);
        assert_int_equal(two.rows, one.rows);
        assert_int_equal(two.width, one.width);
        assert_memory_equal(two.values, one.values, one.rows * one.width * sizeof(*one.values));
    }
    assert_true(accel_session_stage_count(whole) > 5);
    accel_model_plan_free(other);
    accel_model_plan_free(plan);
}

/* The run ends with the name of the device and what to do; everything is freed, and another run goes on. */
static void a_lost_device_ends_its_run(void **state)
{
    struct accel_session *session;
    struct accel_model_plan *plan = make_plan("0-1=cpu:cpu0,2-4=second:cpu0", false, 0, &session);
    uint32_t vocabulary = accel_model_facts_of(accel_model_plan_model(plan))->vocabulary;
    float *last = calloc(vocabulary, sizeof(*last));
    struct accel_error error = {0};
    int32_t ids[WRITTEN];
    const float *logits;

    (void)state;
    second.runs = 0;
    second.losing = 9;
    assert_int_equal(write_text(session, ids, last, vocabulary, &error), ACCEL_E_DEVICE_LOST);
    assert_int_equal(second.runs, 9);
    assert_non_null(
        strstr(error.text, "device second:cpu0 was lost: driver second, run: the mock was told to lose it in run 9"));
    assert_non_null(strstr(error.remedy, "--device"));
    accel_error_clear(&error);
    /* What comes after is refused with the same name, and does not reach the device. */
    assert_int_equal(accel_session_feed(session, ids, 1, &logits, &error), ACCEL_E_DEVICE_LOST);
    assert_int_equal(second.runs, 9);
    accel_model_plan_free(plan);
    plan = make_plan("single", false, 0, &session);
    OK(write_text(session, ids, last, vocabulary, &error));
    accel_model_plan_free(plan);
    /* It may come back. */
    second.losing = 0;
    plan = make_plan("0-1=cpu:cpu0,2-4=second:cpu0", false, 0, &session);
    OK(write_text(session, ids, last, vocabulary, &error));
    accel_model_plan_free(plan);
    free(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_text_wherever_layers_lie, set_up, tear_down),
        cmocka_unit_test_setup_teardown(forked_sequences_slide_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(traces_are_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_device_ends_its_run, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("session_split", tests, NULL, NULL);
}
