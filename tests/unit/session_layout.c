/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights in panels (cpu.layout) beside the same weights in rows, in one context: the same text, logits that differ by
 * rounding alone, memory as planned; from a mapped file and from one that is read, with weights that are made while
 * they are loaded, and with layers on two devices of which one packs.
 */
#include <inttypes.h>

#include <accel/model/plan.h>

#include "session_second.h"

enum { PROMPT = 20, WRITTEN = 24, SETTINGS = 8 };

/* A run of a model: its plan, and the text that it writes. */
struct run {
    struct accel_model_plan *plan;
    struct accel_session *session;
    uint32_t vocabulary;
    int32_t ids[WRITTEN];
    float *logits; /* of the last step */
};

/* Settings up to one without a key, after those that all runs share. */
static void run_open(struct run *run, const char *file, const struct accel_named_value *more)
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    struct accel_named_value given[SETTINGS] = {{"kv.type.k", "f32", "test"},
                                                {"kv.type.v", "f32", "test"},
                                                {"batch", "16tok", "test"},
                                                {"log.quantization", "true", "test"}};
    char path[PATH_BYTES];
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = path, .overrides = given, .override_count = 4};
    struct accel_error error = {0};

    for (; more->key != NULL; more++)
        given[options.override_count++] = *more;
    assert_in_range(options.override_count, 4, SETTINGS);
    snprintf(path, sizeof(path), "%s/samples/stories260K/%s", tree == NULL ? "." : tree, file);
    memset(run, 0, sizeof(*run));
    OK(accel_model_plan_create(context, &options, &run->plan, &error));
    OK(accel_model_plan_session(run->plan, &run->session, &error));
    OK(accel_session_load(run->session, &error));
    run->vocabulary = accel_model_facts_of(accel_model_plan_model(run->plan))->vocabulary;
    run->logits = calloc(run->vocabulary, sizeof(*run->logits));
    assert_non_null(run->logits);
}

static void run_close(struct run *run)
{
    accel_model_plan_free(run->plan);
    free(run->logits);
}

/* Writes the likeliest tokens, or those of another run: rounding of activations can decide between two that are nearly
 * as likely. */
static void write_text(struct run *run, const struct run *other)
{
    struct accel_error error = {0};
    int32_t prompt[PROMPT];
    const float *logits = NULL;

    for (int32_t i = 0; i < PROMPT; i++)
        prompt[i] = i == 0 ? 1 : 260 + i * 7;
    OK(accel_session_feed(run->session, prompt, PROMPT, &logits, &error));
    for (uint32_t i = 0; i < WRITTEN; i++) {
        run->ids[i] = other == NULL ? (int32_t)best_of(logits, run->vocabulary) : other->ids[i];
        OK(accel_session_feed(run->session, &run->ids[i], 1, &logits, &error));
    }
    memcpy(run->logits, logits, run->vocabulary * sizeof(*logits));
}

static void assert_same(const struct run *a, const struct run *b, double tolerance)
{
    double most = 0, largest = 0;

    for (uint32_t i = 0; i < a->vocabulary; i++) {
        most = fmax(most, fabs((double)a->logits[i] - (double)b->logits[i]));
        largest = fmax(largest, fabs((double)a->logits[i]));
    }
    print_message("  logits differ by %.2e of %.2f\n", most, largest);
    assert_true(most <= tolerance * largest);
}

static uint64_t planned(const struct run *run, uint32_t memory_class)
{
    const struct accel_plan *plan = accel_session_plan(run->session);

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == memory_class)
            return accel_plan_memory_get(plan, i)->bytes;
    return 0;
}

/* Both runs are there: what the context holds is what both plans say. Pages of the file are no memory of the context.
 */
static void assert_memory(const struct run *a, const struct run *b)
{
    for (uint32_t c = 1; c < ACCEL_MEMORY_END; c++) {
        const uint64_t sum = planned(a, c) + planned(b, c);
        uint64_t now = 0, peak = 0;

        assert_int_equal(accel_memory_usage(context, c, &now, &peak), ACCEL_OK);
        if (c == ACCEL_MEMORY_HOST)
            assert_true(now <= sum); /* each plan has the instances */
        else if (c != ACCEL_MEMORY_MAPPED)
            assert_int_equal(now, sum);
    }
}

static bool has_no_effect(const struct run *run)
{
    const struct accel_plan *plan = accel_session_plan(run->session);

    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        if (strstr(accel_plan_note_get(plan, i)->text, "panels changes nothing") != NULL)
            return true;
    return false;
}

static uint32_t count_notes(const struct accel_session *session, const char *text)
{
    const struct accel_plan_note *note;
    uint32_t count = 0;

    for (uint32_t i = 0; (note = accel_session_note_get(session, i)) != NULL; i++) {
        assert_int_equal(note->level, ACCEL_NOTE_INFO);

        count += strcmp(note->key, "log.quantization") == 0 && (text == NULL || strcmp(note->text, text) == 0);
    }
    return count;
}

/* Each weight that is converted is told once, with the same error, in whatever order and bands it was read. */
static void assert_same_notes(const struct run *a, const struct run *b, uint32_t some)
{
    assert_int_equal(count_notes(a->session, NULL) != 0, some);
    assert_int_equal(count_notes(a->session, NULL), count_notes(b->session, NULL));
    for (uint32_t i = 0; i < accel_session_note_count(a->session); i++) {
        const struct accel_plan_note *note = accel_session_note_get(a->session, i);

        if (strcmp(note->key, "log.quantization") == 0 && count_notes(b->session, note->text) != 1)
            fail_msg("the other run does not say once: %s", note->text);
    }
}

/* Settings of a run, in either layout. */
static const struct variant {
    const char *name, *file;
    struct accel_named_value overrides[3];
    double tolerance; /* rounding of activations may turn the last bit of a sum into one of 8 bits */
    uint32_t packs;   /* 1: there are panels of the type of its matrices, and rounded activations, which read them */
    uint32_t converts;
} variants[] = {
    {"f32, mapped", "stories260K-f32.gguf", {{"compute.activations", "f32", "test"}}, 1e-4, 0, 0},
    {"q8_0, mapped", "stories260K-q8_0.gguf", {{"compute.activations", "f32", "test"}}, 1e-4, 0, 0},
    {"q8_0, rounded", "stories260K-q8_0.gguf", {{NULL, NULL, NULL}}, 2e-2, 1, 0},
    {"q8_0, read", "stories260K-q8_0.gguf", {{"weights.load", "read", "test"}}, 2e-2, 1, 0},
    {"q8_0, auto", "stories260K-q8_0.gguf", {{"weights.load", "auto", "test"}}, 2e-2, 1, 0},
    {"q4 of f32",
     "stories260K-f32.gguf",
     {{"weights.type", "q4", "test"}, {"weights.group", "32", "test"}},
     2e-2,
     1,
     1},
    {"q8 of f32, read",
     "stories260K-f32.gguf",
     {{"weights.type", "q8", "test"}, {"weights.group", "32", "test"}, {"weights.load", "read", "test"}},
     2e-2,
     1,
     1},
};

/* Levels of instructions that read panels. */
static uint32_t has_panels(const struct run *run)
{
    const char *detail = accel_plan_device(accel_session_plan(run->session))->facts->detail;

    return strstr(detail, "isa=avx") != NULL || strstr(detail, "isa=amx") != NULL;
}

static void the_same_text_in_either_layout(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
        const struct variant *v = &variants[i];
        const struct accel_named_value in_rows[] = {
            {"cpu.layout", "rows", "test"}, v->overrides[0], v->overrides[1], v->overrides[2], {NULL, NULL, NULL}};
        const struct accel_named_value packed[] = {
            {"cpu.layout", "panels", "test"}, v->overrides[0], v->overrides[1], v->overrides[2], {NULL, NULL, NULL}};
        struct run rows, panels;

        print_message("%s\n", v->name);
        run_open(&rows, v->file, in_rows);
        run_open(&panels, v->file, packed);
        assert_int_equal(planned(&panels, ACCEL_MEMORY_WEIGHTS) > planned(&rows, ACCEL_MEMORY_WEIGHTS),
                         v->packs && has_panels(&panels));
        assert_int_equal(has_no_effect(&panels), !v->converts && !(v->packs && has_panels(&panels)));
        assert_false(has_no_effect(&rows));
        assert_memory(&rows, &panels);
        write_text(&panels, NULL);
        write_text(&rows, &panels);
        assert_same(&rows, &panels, v->tolerance);
        assert_same_notes(&rows, &panels, v->converts);
        run_close(&rows);
        run_close(&panels);
    }
}

/* Options belong to a driver: the other device of a plan leaves its weights in rows. */
static void layers_in_panels_beside_layers_in_rows(void **state)
{
    static const struct accel_named_value alone[] = {{"cpu.layout", "rows", "test"}, {NULL, NULL, NULL}};
    static const char *const placements[] = {"0-1=cpu:cpu0,2-4=second:cpu0", "0-2=second:cpu0,3-4=cpu:cpu0"};
    struct run rows, both;

    (void)state;
    run_open(&rows, "stories260K-q8_0.gguf", alone);
    write_text(&rows, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        const struct accel_named_value split[] = {
            {"cpu.layout", "panels", "test"}, {"placement", placements[i], "test"}, {NULL, NULL, NULL}};

        run_open(&both, "stories260K-q8_0.gguf", split);
        assert_int_equal(planned(&both, ACCEL_MEMORY_WEIGHTS) > 0, has_panels(&rows));
        assert_memory(&rows, &both);
        write_text(&both, &rows);
        assert_same(&rows, &both, 2e-2);
        run_close(&both);
    }
    run_close(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_text_in_either_layout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(layers_in_panels_beside_layers_in_rows, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("session_layout", tests, NULL, NULL);
}
