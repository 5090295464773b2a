/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logits of files in every type that runs, against those computed in double from the decoded weights: with activations
 * in F32 closely, with activations of 8 bits within what that rounding costs. And long greedy texts of a trained model.
 */
#include "session_support.h"

/* A row: model, file of logits, tensor, largest error of F32 activations relative to the largest logit, largest
 * absolute error of 8-bit activations (0: the type takes none). */
struct row {
    const char *model;
    const char *logits;
    const char *tensor;
    double exact;
    double rounded;
};

static const struct row rows[] = {
    {"gguf-wide/wide-f16.gguf", "gguf-wide/logits.safetensors", "f16", 1e-4, 0},
    {"gguf-wide/wide-bf16.gguf", "gguf-wide/logits.safetensors", "bf16", 1e-4, 0},
    {"gguf-wide/wide-q8_0.gguf", "gguf-wide/logits.safetensors", "q8_0", 1e-4, 0.6},
    {"gguf-wide/wide-q4_0.gguf", "gguf-wide/logits.safetensors", "q4_0", 1e-4, 0.6},
    {"gguf-wide/wide-q4_1.gguf", "gguf-wide/logits.safetensors", "q4_1", 1e-4, 0.6},
    {"gguf-wide/wide-q5_0.gguf", "gguf-wide/logits.safetensors", "q5_0", 1e-4, 0.6},
    {"gguf-wide/wide-q5_1.gguf", "gguf-wide/logits.safetensors", "q5_1", 1e-4, 0.6},
    {"gguf-wide/wide-q2_k.gguf", "gguf-wide/logits.safetensors", "q2_k", 1e-4, 0.6},
    {"gguf-wide/wide-q3_k_m.gguf", "gguf-wide/logits.safetensors", "q3_k_m", 1e-4, 0.6},
    {"gguf-wide/wide-q4_k_m.gguf", "gguf-wide/logits.safetensors", "q4_k_m", 1e-4, 0.6},
    {"gguf-wide/wide-q5_k_m.gguf", "gguf-wide/logits.safetensors", "q5_k_m", 1e-4, 0.6},
    {"gguf-wide/wide-q6_k.gguf", "gguf-wide/logits.safetensors", "q6_k", 1e-4, 0.6},
    {"gguf-wide/wide-iq4_nl.gguf", "gguf-wide/logits.safetensors", "iq4_nl", 1e-4, 0.6},
    {"gguf-wide/wide-iq4_xs.gguf", "gguf-wide/logits.safetensors", "iq4_xs", 1e-4, 0.6},
    {"stories260K/stories260K-f32.gguf", "stories260K/logits.safetensors", "logits", 1e-4, 0},
    {"stories260K/hf", "stories260K/logits.safetensors", "logits", 1e-4, 0},
    {"stories260K/stories260K-q8_0.gguf", "stories260K/logits-quantized.safetensors", "Q8_0", 1e-4, 0.6},
    {"stories260K/stories260K-q4_0.gguf", "stories260K/logits-quantized.safetensors", "Q4_0", 1e-4, 0.6},
    {"stories260K/stories260K-q4_1.gguf", "stories260K/logits-quantized.safetensors", "Q4_1", 1e-4, 0.6},
};

struct comparison {
    const float *expected;
    uint32_t vocabulary;
    double worst;
    double largest;
};

static int32_t compare_row(void *data, uint64_t index, const float *logits)
{
    struct comparison *c = data;
    const float *expected = c->expected + index * c->vocabulary;

    for (uint32_t i = 0; i < c->vocabulary; i++) {
        double difference = fabs((double)logits[i] - (double)expected[i]);

        c->worst = difference > c->worst || isnan(difference) ? difference : c->worst;
        c->largest = fmax(c->largest, fabs((double)expected[i]));
    }
    return ACCEL_OK;
}

static void *read_tensor(const struct accel_model_file *file, const char *name, uint64_t *out_bytes)
{
    const struct accel_model_tensor *tensor = accel_model_file_find(file, name);
    void *bytes;

    assert_non_null(tensor);
    bytes = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(file, tensor, 0, tensor->bytes, bytes, NULL), 0);
    *out_bytes = tensor->bytes;
    return bytes;
}

static struct accel_session *session_with(struct accel_context *context, const struct accel_model *model,
                                          const char *activations)
{
    const struct accel_named_value given[] = {
        {"kv.type.k", "f32", "test"}, {"kv.type.v", "f32", "test"}, {"compute.activations", activations, "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 3, .outputs = 64};
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    return session;
}

static void compare_logits(const struct row *row, const char *activations)
{
    struct accel_error error = {0};
    struct accel_context *context = make_context();
    struct accel_model *model = NULL;
    struct accel_model_file *file = NULL;
    struct accel_session *session;
    struct comparison c = {0};
    char path[PATH_BYTES], logits[PATH_BYTES];
    uint64_t id_bytes, bytes;
    int32_t *ids;

    assert_true(fixture_path(row->model, path) && fixture_path(row->logits, logits));
    OK(accel_model_open(path, NULL, &model, &error));
    OK(accel_model_file_open(logits, NULL, &file, &error));
    ids = read_tensor(file, "input_ids", &id_bytes);
    c.expected = read_tensor(file, row->tensor, &bytes);
    c.vocabulary = accel_model_facts_of(model)->vocabulary;
    session = session_with(context, model, activations);
    OK(accel_session_score(session, ids, id_bytes / sizeof(*ids), compare_row, &c, &error));
    print_message("%s, activations %s: worst difference %.3g of %.3g\n", row->model, activations, c.worst, c.largest);
    if (strcmp(activations, "f32") == 0)
        assert_true(c.worst <= row->exact * c.largest);
    else
        assert_true(c.worst <= row->rounded && c.worst > 0);
    free(ids);
    free((void *)(uintptr_t)c.expected);
    accel_model_file_close(file);
    close_all(session, model, context);
}

static void test_logits(void **state)
{
    const struct row *row = *state;
    char path[PATH_BYTES];

    if (!fixture_path(row->model, path) || !fixture_path(row->logits, path)) {
        print_message("skipped: %s or its logits are not here\n", row->model);
        skip();
    }
    compare_logits(row, "f32");
    if (row->rounded > 0)
        compare_logits(row, "q8");
}

/* ---- long greedy texts ---- */

static void compare_text(struct accel_session *session, const json_t *run, uint32_t vocabulary)
{
    const json_t *prompt = json_object_get(run, "prompt_ids");
    const json_t *ids = json_object_get(run, "ids");
    struct accel_error error = {0};
    int32_t fed[512];
    uint64_t count = json_array_size(prompt);
    const float *logits;

    assert_true(count <= 512 && json_array_size(ids) > 0);
    for (size_t i = 0; i < count; i++)
        fed[i] = (int32_t)json_integer_value(json_array_get(prompt, i));
    OK(accel_session_truncate(session, 0, &error));
    OK(accel_session_feed(session, fed, count, &logits, &error));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int32_t id = (int32_t)json_integer_value(json_array_get(ids, i));

        if ((int32_t)best_of(logits, vocabulary) != id)
            fail_msg("token %zu after \"%s\" is %u, not %d", i, json_string_value(json_object_get(run, "prompt")),
                     best_of(logits, vocabulary), id);
        if (i + 1 < json_array_size(ids))
            OK(accel_session_feed(session, &id, 1, &logits, &error));
    }
}

static void compare_texts(const char *model_path, const char *texts)
{
    struct accel_error error = {0};
    struct accel_context *context;
    struct accel_model *model = NULL;
    struct accel_session *session;
    json_t *whole = json_load_file(texts, 0, NULL);
    const json_t *run;
    size_t index;

    assert_non_null(whole);
    context = make_context();
    OK(accel_model_open(model_path, NULL, &model, &error));
    session = session_with(context, model, "f32");
    assert_true(json_array_size(json_object_get(whole, "runs")) > 0);
    json_array_foreach(json_object_get(whole, "runs"), index, run)
    {
        compare_text(session, run, accel_model_facts_of(model)->vocabulary);
    }
    close_all(session, model, context);
    json_decref(whole);
}

static void test_stories(void **state)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    char model[PATH_BYTES], texts[PATH_BYTES];

    snprintf(model, sizeof(model), "%s/samples/stories260K/%s", top == NULL ? "." : top, (const char *)*state);
    assert_true(fixture_path("stories260K/greedy.json", texts));
    compare_texts(model, texts);
}

static void test_smollm2(void **state)
{
    const char *folder = getenv("ACCEL_REAL_MODELS");
    char model[PATH_BYTES], texts[PATH_BYTES];

    (void)state;
    snprintf(model, sizeof(model), "%s/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", folder == NULL ? "." : folder);
    if (access(model, R_OK) != 0 || !fixture_path("real/smollm2.json", texts)) {
        print_message("skipped: SmolLM2-135M is not in ACCEL_REAL_MODELS\n");
        skip();
    }
    compare_texts(model, texts);
}

int main(void)
{
    enum { COUNT = sizeof(rows) / sizeof(*rows) };
    struct CMUnitTest tests[COUNT + 3];
    char names[COUNT][96];

    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[0]), "logits of %s", rows[i].model);
        tests[i] = (struct CMUnitTest){names[i], test_logits, NULL, NULL, (void *)(uintptr_t)&rows[i]};
    }
    tests[COUNT] = (struct CMUnitTest){"texts of stories260K, GGUF", test_stories, NULL, NULL,
                                       (void *)(uintptr_t) "stories260K-f32.gguf"};
    tests[COUNT + 1] =
        (struct CMUnitTest){"texts of stories260K, safetensors", test_stories, NULL, NULL, (void *)(uintptr_t) "hf"};
    tests[COUNT + 2] = (struct CMUnitTest){"texts of SmolLM2-135M", test_smollm2, NULL, NULL, NULL};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
