/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same tokens by other ways: keys and values in F16 against F32, steps shorter than a window against one pass, and
 * a sharded checkpoint against the same steps token by token.
 */
#include "session_support.h"

enum { COUNT = 60 };

/* Logits after COUNT tokens that were fed in steps of `step`. */
static float *logits_of(const char *name, const char *caches, uint32_t step, uint32_t *out_vocabulary)
{
    const struct accel_named_value given[] = {{"kv.type.k", caches, "test"},
                                              {"kv.type.v", caches, "test"},
                                              {"compute.activations", "f32", "test"},
                                              {"batch", "64tok", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 4};
    struct accel_context *context = make_context();
    struct accel_model *model = NULL;
    struct accel_session *session = NULL;
    struct accel_error error = {0};
    char path[PATH_BYTES];
    float *last;

    assert_true(fixture_path(name, path));
    OK(accel_model_open(path, NULL, &model, &error));
    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    *out_vocabulary = accel_model_facts_of(model)->vocabulary;
    last = calloc(*out_vocabulary, sizeof(*last));
    assert_non_null(last);
    for (uint32_t at = 0; at < COUNT; at += step) {
        uint32_t tokens = COUNT - at < step ? COUNT - at : step;

        int32_t ids[COUNT];
        const float *logits;

        for (uint32_t i = 0; i < tokens; i++)
            ids[i] = (int32_t)(3 + (at + i) * 41 % (*out_vocabulary - 5));
        OK(accel_session_feed(session, ids, tokens, &logits, &error));
        memcpy(last, logits, *out_vocabulary * sizeof(*last));
    }
    close_all(session, model, context);
    return last;
}

/* Largest difference after the last token, relative to the largest logit. */
static double apart(const char *name, const char *caches, uint32_t step, const char *other_caches, uint32_t other_step)
{
    uint32_t vocabulary;
    float *a = logits_of(name, caches, step, &vocabulary), *b = logits_of(name, other_caches, other_step, &vocabulary);
    double worst = 0, largest = 0;

    for (uint32_t i = 0; i < vocabulary; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)a[i]));
    }
    free(a);
    free(b);
    print_message("%s: %s in steps of %u and %s in steps of %u: %.3g of %.3g\n", name, caches, step, other_caches,
                  other_step, worst, largest);
    return worst / largest;
}

static void test_caches(void **state)
{
    char path[PATH_BYTES];

    if (!fixture_path(*state, path)) {
        print_message("skipped: %s is not here\n", (const char *)*state);
        skip();
    }
    assert_true(apart(*state, "f32", 20, "f16", 20) < 2e-3);
}

/* Steps of 1, 3 and 60 tokens over 60: the window of the fixture is passed in each way. */
static void test_steps(void **state)
{
    char path[PATH_BYTES];

    if (!fixture_path(*state, path)) {
        print_message("skipped: %s is not here\n", (const char *)*state);
        skip();
    }
    assert_true(apart(*state, "f32", 60, "f32", 3) < 2e-5);
    assert_true(apart(*state, "f32", 60, "f32", 1) < 2e-5);
}

int main(void)
{
    static char wide[] = "gguf-wide/wide-q8_0.gguf", stories[] = "stories260K/stories260K-f32.gguf";
    static char window[] = "mistral-window", sharded[] = "llama-sharded";
    const struct CMUnitTest tests[] = {
        {"caches in F16, gguf-wide", test_caches, NULL, NULL, wide},
        {"caches in F16, stories260K", test_caches, NULL, NULL, stories},
        {"steps shorter than a window", test_steps, NULL, NULL, window},
        {"steps of a sharded checkpoint", test_steps, NULL, NULL, sharded},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
