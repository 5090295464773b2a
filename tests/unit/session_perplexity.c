/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perplexity of SmolLM2-135M on the first 2048 tokens of a text, in chunks of 512: that of the reference with
 * activations in F32, and within 0.2 of it with activations of 8 bits. Prints both. Skipped by name without the model
 * and the text.
 */
#include <accel/model/tokenizer.h>

#include "session_support.h"

enum { CHUNK = 512, CHUNKS = 4 };

#define REFERENCE 25.494 /* the reference implementation, f32, weights decoded from the file */

struct sum {
    const int32_t *ids;
    uint32_t vocabulary;
    double total; /* of -log p */
    uint64_t count;
};

static int32_t add_loss(void *data, uint64_t index, const float *logits)
{
    struct sum *sum = data;
    double largest = logits[0], total = 0;

    if (index + 1 == CHUNK)
        return ACCEL_OK;
    for (uint32_t i = 1; i < sum->vocabulary; i++)
        largest = fmax(largest, (double)logits[i]);
    for (uint32_t i = 0; i < sum->vocabulary; i++)
        total += exp((double)logits[i] - largest);
    sum->total += largest + log(total) - (double)logits[sum->ids[index + 1]];
    sum->count++;
    return ACCEL_OK;
}

static double perplexity(struct accel_context *context, const struct accel_model *model, const int32_t *ids,
                         const char *activations)
{
    const struct accel_named_value given[] = {
        {"kv.type.k", "f32", "test"}, {"kv.type.v", "f32", "test"}, {"compute.activations", activations, "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 3, .outputs = 64};
    struct sum sum = {.vocabulary = accel_model_facts_of(model)->vocabulary};
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        sum.ids = ids + (size_t)chunk * CHUNK;
        OK(accel_session_truncate(session, 0, &error));
        OK(accel_session_score(session, sum.ids, CHUNK, add_loss, &sum, &error));
    }
    accel_session_free(session);
    assert_int_equal(sum.count, CHUNKS * (CHUNK - 1));
    return exp(sum.total / (double)sum.count);
}

static char *read_beginning(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, bytes + 1);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, bytes, file) == bytes);
    fclose(file);
    while ((text[bytes - 1] & 0xc0) == 0x80 || (text[bytes - 1] & 0x80) != 0)
        text[--bytes] = '\0';
    return text;
}

static void test_perplexity(void **state)
{
    const char *folder = getenv("ACCEL_REAL_MODELS");
    const char *shared = getenv("ACCEL_SHARED_FIXTURES");
    char path[PATH_BYTES], text_path[PATH_BYTES];
    struct accel_error error = {0};
    struct accel_context *context;
    struct accel_model *model = NULL;
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_token_list ids = {0};
    double exact, rounded;
    char *text;

    (void)state;
    snprintf(path, sizeof(path), "%s/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", folder == NULL ? "." : folder);
    snprintf(text_path, sizeof(text_path), "%s/../data/text/wikitext2_test.txt", shared == NULL ? "." : shared);
    if (access(path, R_OK) != 0 || access(text_path, R_OK) != 0) {
        print_message("skipped: SmolLM2-135M is not in ACCEL_REAL_MODELS, or its text is not here\n");
        skip();
    }
    context = make_context();
    OK(accel_model_open(path, NULL, &model, &error));
    OK(accel_tokenizer_create_file(accel_model_file_of(model), &tokenizer, &error));
    text = read_beginning(text_path, 16384);
    OK(accel_tokenizer_encode(tokenizer, text, strlen(text), 0, &ids, &error));
    assert_true(ids.count >= CHUNK * CHUNKS);
    exact = perplexity(context, model, ids.ids, "f32");
    rounded = perplexity(context, model, ids.ids, "q8");
    print_message("perplexity: reference %.3f, f32 activations %.3f, 8-bit activations %.3f\n", REFERENCE, exact,
                  rounded);
    assert_true(fabs(exact - REFERENCE) < 0.01);
    assert_true(fabs(rounded - exact) < 0.2 && rounded != exact);
    free(text);
    accel_token_list_free(&ids);
    accel_tokenizer_free(tokenizer);
    close_all(NULL, model, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_perplexity)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
