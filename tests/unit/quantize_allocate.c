/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types for a budget of bytes through the public face: the file keeps to it and uses it, candidates tell what was
 * chosen, more bytes lose less, a calibration weighs tensors by what the model says, threads change nothing; what
 * cannot be is refused by name.
 */
#include <accel/model/eval.h>
#include <accel/model/quantize.h>
#include <accel/model/tokenizer.h>

#include "session_support.h"

enum { TOKENS = 96 };

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_model_file *file;
    int32_t ids[TOKENS];
    char path[PATH_BYTES];
};

static int set_up(void **state)
{
    static struct subject subject;
    struct accel_error error = {0};

    stories_path(subject.path);
    subject.context = make_context();
    OK(accel_model_open(subject.path, NULL, &subject.model, &error));
    OK(accel_model_file_open(subject.path, NULL, &subject.file, &error));
    for (int i = 0; i < TOKENS; i++)
        subject.ids[i] = (i * 37 + 11) % 512;
    *state = &subject;
    return 0;
}

static int tear_down(void **state)
{
    struct subject *subject = *state;

    accel_model_file_close(subject->file);
    close_all(NULL, subject->model, subject->context);
    return 0;
}

static struct accel_quantize_options options_of(uint64_t budget)
{
    return (struct accel_quantize_options){
        .size = sizeof(struct accel_quantize_options), .threads = 2, .type = "q4_g64", .budget = budget};
}

static void calibrate(const struct subject *subject, struct accel_quantize_options *options)
{
    options->context = subject->context;
    options->model = subject->model;
    options->ids = subject->ids;
    options->id_count = TOKENS;
}

static struct accel_quantize_job *plan(const struct accel_model_file *file,
                                       const struct accel_quantize_options *options)
{
    struct accel_quantize_job *job = NULL;
    struct accel_error error = {0};

    OK(accel_quantize_plan(file, options, &job, &error));
    return job;
}

/* The sum of losses of what was chosen; every menu is in order and has one choice, which its row shows. */
static double check_menus(const struct accel_quantize_job *job, uint64_t wanted_menus)
{
    uint64_t menus = 0;
    double loss = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);
        const struct accel_quantize_candidate *candidate;
        uint64_t bytes = 0;
        uint32_t chosen = 0, count = 0;

        for (; (candidate = accel_quantize_candidate_get(job, i, count)) != NULL; count++) {
            assert_true(candidate->bytes >= bytes);
            assert_true(candidate->error >= 0 && isfinite(candidate->loss));
            assert_non_null(candidate->type_name);
            bytes = candidate->bytes;
            if (!candidate->chosen)
                continue;
            chosen++;
            loss += candidate->loss;
            assert_int_equal(row->to, candidate->type);
            assert_true(row->bytes == candidate->bytes);
        }
        assert_int_equal(chosen, count > 0);
        menus += count > 0;
    }
    assert_int_equal(menus, wanted_menus);
    return loss;
}

static void test_keeps_to_it(void **state)
{
    struct subject *subject = *state;
    double before = INFINITY;

    for (uint64_t budget = 200000; budget <= 300000; budget += 20001) {
        struct accel_quantize_options options = options_of(budget);
        struct accel_quantize_job *job = plan(subject->file, &options);
        double loss = check_menus(job, 36);

        assert_true(accel_quantize_bytes(job) <= budget);
        assert_true(accel_quantize_bytes(job) + 1000 > budget);
        assert_true(loss < before);
        before = loss;
        accel_quantize_free(job);
    }
}

/* Bytes of the least, as the refusal says them: enough, and no byte too many. */
static void test_least(void **state)
{
    struct subject *subject = *state;
    struct accel_quantize_options options = options_of(1000);
    struct accel_quantize_job *job = NULL;
    struct accel_error error = {0};
    unsigned long long least = 0;
    const char *words;

    assert_int_equal(accel_quantize_plan(subject->file, &options, &job, &error), ACCEL_E_LIMIT);
    assert_null(job);
    words = strstr(error.text, "a budget of 1000 bytes; ");
    assert_non_null(words);
    assert_int_equal(sscanf(words, "a budget of 1000 bytes; %llu", &least), 1);
    options.budget = least - 1;
    assert_int_equal(accel_quantize_plan(subject->file, &options, &job, NULL), ACCEL_E_LIMIT);
    options.budget = least;
    job = plan(subject->file, &options);
    assert_int_equal(accel_quantize_bytes(job), least);
    accel_quantize_free(job);
}

static void compare_jobs(const struct accel_quantize_job *one, const struct accel_quantize_job *other)
{
    for (uint64_t i = 0; i < accel_quantize_count(one); i++) {
        const struct accel_quantize_candidate *a, *b;

        assert_int_equal(accel_quantize_get(one, i)->to, accel_quantize_get(other, i)->to);
        for (uint32_t c = 0; (a = accel_quantize_candidate_get(one, i, c)) != NULL; c++) {
            b = accel_quantize_candidate_get(other, i, c);
            assert_non_null(b);
            assert_memory_equal(&a->loss, &b->loss, sizeof(a->loss));
        }
    }
}

/* Weights measured with the model differ from those of the table, and not with the number of threads. */
static void test_calibrated(void **state)
{
    struct subject *subject = *state;
    struct accel_quantize_options options = options_of(220000);
    struct accel_quantize_job *plain = plan(subject->file, &options), *one, *other;
    uint64_t different = 0;

    calibrate(subject, &options);
    options.threads = 1;
    one = plan(subject->file, &options);
    options.threads = 3;
    other = plan(subject->file, &options);
    check_menus(one, 36);
    compare_jobs(one, other);
    for (uint64_t i = 0; i < accel_quantize_count(one); i++)
        different += accel_quantize_get(one, i)->to != accel_quantize_get(plain, i)->to;
    assert_true(different > 0);
    accel_quantize_free(plain);
    accel_quantize_free(one);
    accel_quantize_free(other);
}

/* The file that is written has those bytes and runs. */
static void test_written(void **state)
{
    static const char *const candidates[] = {"q2_g64", "q3_g32", "q4_g64a", "q8_0"};
    struct subject *subject = *state;
    struct accel_quantize_options options = options_of(210000);
    struct accel_quantize_job *job;
    struct accel_session *session;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    const float *logits = NULL;
    char path[64];

    snprintf(path, sizeof(path), "quantize_allocate-%ld.gguf", (long)getpid());
    options.candidates = candidates;
    options.candidate_count = 4;
    options.keep = (const char *const[]){"blk.0.attn_q.weight"};
    options.keep_count = 1;
    job = plan(subject->file, &options);
    /* One is kept, and down's rows are no whole groups of any of the four. */
    check_menus(job, 30);
    OK(accel_quantize_run(job, path, NULL, &error));
    OK(accel_model_open(path, NULL, &model, &error));
    assert_int_equal(accel_model_file_part_bytes(accel_model_file_of(model), 0), accel_quantize_bytes(job));
    assert_int_equal(accel_model_file_find(accel_model_file_of(model), "blk.0.attn_q.weight")->type, ACCEL_F32);
    session = make_session(subject->context, model, 0, 1);
    OK(accel_session_feed(session, subject->ids, 10, &logits, &error));
    assert_true(isfinite(logits[0]));
    accel_session_free(session);
    accel_model_close(model);
    accel_quantize_free(job);
    unlink(path);
}

/* ---- better than one type for all ---- */

static const char calibration_text[] =
    "Once upon a time there was a small dog called Max. Max liked to run in the garden and chase the birds. One day "
    "Max "
    "found a shiny key under the old bench. He took the key in his mouth and ran to his friend Anna. Anna looked at "
    "the "
    "key and said, \"Where did you find it, Max?\" Max barked and ran back to the bench. Anna followed him. Under the "
    "bench there was a little box. The key opened the box and inside they found a toy car and a note.";
static const char held_out_text[] =
    "One day a little bird could not fly. She was scared and sat on a branch. A big owl came and asked, \"Why are you "
    "sad?\" The bird said, \"I want to fly but I am afraid.\" The owl said, \"Try with me. I will be next to you.\" "
    "The "
    "bird opened her wings and jumped. She went up and up into the blue sky. She was so happy that she sang a song.";

static struct accel_token_list encode(const struct subject *subject, const char *text)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_token_list ids = {0};
    struct accel_error error = {0};

    OK(accel_tokenizer_create_file(subject->file, &tokenizer, &error));
    OK(accel_tokenizer_encode(tokenizer, text, strlen(text), 0, &ids, &error));
    accel_tokenizer_free(tokenizer);
    return ids;
}

/* Writes the file and measures its divergence from the model over the held-out text. */
static double divergence_of(const struct subject *subject, const struct accel_quantize_options *options,
                            const struct accel_token_list *ids, uint64_t *out_bytes)
{
    struct accel_quantize_job *job = plan(subject->file, options);
    struct accel_session *reference = make_session(subject->context, subject->model, 0, 32), *session;
    struct accel_model *model = NULL;
    struct accel_eval *eval = NULL;
    struct accel_error error = {0};
    char path[64];
    double kl;

    snprintf(path, sizeof(path), "quantize_mix-%ld.gguf", (long)getpid());
    *out_bytes = accel_quantize_bytes(job);
    OK(accel_quantize_run(job, path, NULL, &error));
    OK(accel_model_open(path, NULL, &model, &error));
    session = make_session(subject->context, model, 0, 32);
    OK(accel_eval_text(reference, &session, 1, ids->ids, ids->count, NULL, &eval, &error));
    kl = accel_eval_get(eval, 0)->kl;
    accel_eval_free(eval);
    accel_session_free(session);
    accel_session_free(reference);
    accel_model_close(model);
    accel_quantize_free(job);
    unlink(path);
    return kl;
}

/* A mix loses less than 0.7 of what one type for all loses, on a text that it has not seen, in no more bytes. */
static void test_beats_one_type(void **state)
{
    struct subject *subject = *state;
    struct accel_token_list seen = encode(subject, calibration_text), held = encode(subject, held_out_text);
    struct accel_quantize_options options = options_of(0);
    uint64_t bytes, mixed_bytes;
    double one, mixed;

    options.type = "q3_g32a";
    options.method = ACCEL_QUANTIZE_METHOD_SEARCH;
    one = divergence_of(subject, &options, &held, &bytes);
    options.budget = bytes;
    options.context = subject->context;
    options.model = subject->model;
    options.ids = seen.ids;
    options.id_count = seen.count;
    mixed = divergence_of(subject, &options, &held, &mixed_bytes);
    accel_token_list_free(&seen);
    accel_token_list_free(&held);
    assert_true(mixed_bytes <= bytes);
    if (!(mixed < 0.7 * one))
        fail_msg("the mix diverges by %g, one type for all by %g", mixed, one);
}

/* A folder of safetensors. */
static void test_folder(void **state)
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    struct accel_quantize_options options = options_of(240000);
    struct accel_model_file *file = NULL;
    struct accel_quantize_job *job;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    snprintf(path, sizeof(path), "%s/samples/stories260K/hf", tree == NULL ? "." : tree);
    OK(accel_model_file_open(path, NULL, &file, &error));
    job = plan(file, &options);
    assert_true(accel_quantize_bytes(job) <= 240000);
    assert_true(accel_quantize_bytes(job) > 230000);
    check_menus(job, 36);
    accel_quantize_free(job);
    accel_model_file_close(file);
}

static void refuse(const struct subject *subject, const struct accel_quantize_options *options, int32_t code,
                   const char *words)
{
    struct accel_quantize_job *job = NULL;
    struct accel_error error = {0};

    assert_int_equal(accel_quantize_plan(subject->file, options, &job, &error), code);
    assert_null(job);
    if (strstr(error.text, words) == NULL)
        fail_msg("\"%s\" has not \"%s\"", error.text, words);
}

static int32_t stop(void *data, uint64_t done, uint64_t all)
{
    assert_true(done <= all);
    return ++*(int *)data > 2;
}

static void test_refused(void **state)
{
    static const char *const unknown[] = {"q4_g64", "q5_g64"};
    struct subject *subject = *state;
    struct accel_quantize_options options = options_of(220000);
    int calls = 0;

    options.candidates = unknown;
    options.candidate_count = 2;
    refuse(subject, &options, ACCEL_E_UNSUPPORTED, "q5_g64");
    options.candidates = NULL;
    refuse(subject, &options, ACCEL_E_INVALID, "candidates");
    options.candidate_count = 0;
    calibrate(subject, &options);
    options.context = NULL;
    refuse(subject, &options, ACCEL_E_INVALID, "context is missing");
    calibrate(subject, &options);
    options.model = NULL;
    refuse(subject, &options, ACCEL_E_INVALID, "model is missing");
    calibrate(subject, &options);
    options.id_count = 31;
    refuse(subject, &options, ACCEL_E_INVALID, "a text of 31 tokens, 32 are the least");
    options.budget = 0;
    refuse(subject, &options, ACCEL_E_INVALID, "a text of 31 tokens, 32 are the least");
    options = options_of(220000);
    calibrate(subject, &options);
    options.progress = stop;
    options.progress_data = &calls;
    refuse(subject, &options, ACCEL_E_CANCELLED, "cancelled after");
    assert_int_equal(calls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keeps_to_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_least, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calibrated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_beats_one_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
