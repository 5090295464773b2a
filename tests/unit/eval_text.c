/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perplexity, divergence and agreement against sums made here token by token, each window fed anew from its beginning;
 * windows with and without an overlap and a token before them; errors of tensors against those that were put in.
 */
#include <accel/model/eval.h>
#include <accel/model/tokenizer.h>

#include "session_support.h"

enum { TOKENS = 100, CHUNK = 32 };

struct both {
    struct accel_context *context;
    struct accel_model *models[2]; /* Q8_0, F32 */
    struct accel_session *sessions[2];
    struct accel_token_list ids;
};

static const char text[] =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park with her friends. "
    "One day, she saw a big red ball under a tree. She wanted to play with it, but it was too high. Her friend Tom "
    "said, \"I can help you!\" He climbed up the tree and got the ball. Lily was very happy and said thank you.";

static int open_both(void **state)
{
    static const char *const names[] = {"stories260K-q8_0.gguf", "stories260K-f32.gguf"};
    static struct both both;
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    *state = &both;
    both = (struct both){.context = make_context()};
    for (int i = 0; i < 2; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "%s/samples/stories260K/%s", tree == NULL ? "." : tree, names[i]);
        OK(accel_model_open(path, NULL, &both.models[i], &error));
        both.sessions[i] = make_session(both.context, both.models[i], 0, 32);
    }
    OK(accel_tokenizer_create_file(accel_model_file_of(both.models[0]), &tokenizer, &error));
    OK(accel_tokenizer_encode(tokenizer, text, strlen(text), 0, &both.ids, &error));
    accel_tokenizer_free(tokenizer);
    assert_true(both.ids.count >= TOKENS);
    return 0;
}

static int close_both(void **state)
{
    struct both *both = *state;

    accel_session_free(both->sessions[0]);
    accel_model_close(both->models[0]);
    accel_token_list_free(&both->ids);
    close_all(both->sessions[1], both->models[1], both->context);
    return 0;
}

/* Log of each probability after `count` tokens, fed one window at a time. */
static void log_probabilities(struct accel_session *session, const int32_t *ids, uint64_t count, uint32_t vocabulary,
                              double *out)
{
    struct accel_error error = {0};
    const float *logits;
    long double sum = 0;

    OK(accel_session_truncate(session, 0, &error));
    OK(accel_session_feed(session, ids, count, &logits, &error));
    for (uint32_t i = 0; i < vocabulary; i++)
        sum += expl((long double)logits[i]);
    for (uint32_t i = 0; i < vocabulary; i++)
        out[i] = (double)((long double)logits[i] - logl(sum));
}

struct wanted {
    double loss, kl, most, agreed, reference;
    uint64_t predicted, windows;
};

static uint32_t likeliest(const double *values, uint32_t count)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < count; i++)
        best = values[i] > values[best] ? i : best;
    return best;
}

static void add_token(const struct both *both, const int32_t *window, uint64_t before, int32_t next,
                      struct wanted *wanted)
{
    uint32_t vocabulary = accel_model_facts_of(both->models[0])->vocabulary;
    double *q = calloc(vocabulary, sizeof(*q)), *p = calloc(vocabulary, sizeof(*p)), kl = 0;

    assert_true(q != NULL && p != NULL);
    log_probabilities(both->sessions[0], window, before, vocabulary, q);
    log_probabilities(both->sessions[1], window, before, vocabulary, p);
    for (uint32_t i = 0; i < vocabulary; i++)
        kl += exp(p[i]) * (p[i] - q[i]);
    wanted->predicted++;
    wanted->loss -= q[next];
    wanted->reference -= p[next];
    wanted->kl += kl;
    wanted->most = kl > wanted->most ? kl : wanted->most;
    wanted->agreed += likeliest(p, vocabulary) == likeliest(q, vocabulary);
    free(p);
    free(q);
}

/* The definition of the header, word by word. */
static struct wanted compute(const struct both *both, uint64_t stride, int64_t bos)
{
    struct wanted wanted = {0};
    uint64_t done = 0, lead = bos >= 0;

    for (uint64_t begin = 0; done < TOKENS; begin += stride) {
        int32_t window[CHUNK + 1] = {(int32_t)bos};

        wanted.windows++;
        for (uint64_t i = begin; i < TOKENS && i - begin < CHUNK - lead; i++) {
            window[lead + i - begin] = both->ids.ids[i];
            if (i >= done && lead + i - begin > 0)
                add_token(both, window, lead + i - begin, both->ids.ids[i], &wanted);
        }
        done = begin + CHUNK - lead;
    }
    wanted.loss /= (double)wanted.predicted;
    wanted.reference /= (double)wanted.predicted;
    wanted.kl /= (double)wanted.predicted;
    wanted.agreed /= (double)wanted.predicted;
    return wanted;
}

static void close_to(double value, double wanted, const char *what)
{
    if (!(fabs(value - wanted) <= 2e-6 * (1 + fabs(wanted))))
        fail_msg("%s: %.9g, not %.9g", what, value, wanted);
}

static void check(const struct both *both, uint64_t stride, int64_t bos, uint64_t predicted)
{
    struct accel_eval_options options = {.size = sizeof(options), .chunk = CHUNK, .stride = stride, .bos = bos};
    struct wanted wanted = compute(both, stride - (bos >= 0 && stride == CHUNK), bos);
    const struct accel_eval_result *result, *reference;
    struct accel_error error = {0};
    struct accel_eval *eval = NULL;

    OK(accel_eval_text(both->sessions[1], &both->sessions[0], 1, both->ids.ids, TOKENS, &options, &eval, &error));
    result = accel_eval_get(eval, 0);
    reference = accel_eval_get(eval, 1);
    assert_int_equal(wanted.predicted, predicted);
    assert_int_equal(result->predicted, predicted);
    assert_int_equal(result->windows, wanted.windows);
    close_to(result->loss, wanted.loss, "loss");
    close_to(result->perplexity, exp(wanted.loss), "perplexity");
    close_to(reference->loss, wanted.reference, "loss of the reference");
    close_to(result->loss_change, wanted.loss - wanted.reference, "change");
    close_to(result->kl, wanted.kl, "divergence");
    close_to(result->kl_most, wanted.most, "largest divergence");
    close_to(result->top1, wanted.agreed, "agreement");
    assert_true(result->kl > 1e-6 && result->kl < 0.01 && result->kl_median < result->kl_99);
    assert_true(result->kl_99 <= result->kl_most && accel_eval_quantile(eval, 0, 1) == result->kl_most);
    assert_true(accel_eval_quantile(eval, 0, 0) <= result->kl_median && result->loss_error > 0);
    assert_true(reference->kl == 0 && accel_eval_get(eval, 2) == NULL);
    assert_int_equal(accel_session_length(both->sessions[0]), 0);
    accel_eval_free(eval);
}

static void test_windows(void **state)
{
    const struct both *both = *state;

    /* 100 tokens in windows of 32: 32, 32, 32 and 4, without the first of each. */
    check(both, CHUNK, -1, 96);
    check(both, 12, -1, 99);
    check(both, CHUNK, 1, 100);
    check(both, 7, 1, 100);
}

static void test_same(void **state)
{
    const struct both *both = *state;
    const struct accel_eval_result *result;
    struct accel_error error = {0};
    struct accel_eval *eval = NULL;

    OK(accel_eval_text(NULL, both->sessions, 2, both->ids.ids, TOKENS, NULL, &eval, &error));
    assert_true(accel_eval_get(eval, 0)->loss != accel_eval_get(eval, 1)->loss);
    assert_true(accel_eval_get(eval, 0)->kl == 0 && accel_eval_get(eval, 2) == NULL);
    assert_int_equal(accel_eval_get(eval, 0)->predicted, TOKENS - 1);
    assert_true(accel_eval_quantile(eval, 0, 0.5) == 0);
    accel_eval_free(eval);
    OK(accel_eval_text(both->sessions[0], NULL, 0, both->ids.ids, TOKENS, NULL, &eval, &error));
    result = accel_eval_get(eval, 0);
    assert_true(result->perplexity > 1 && result->perplexity < 50);
    accel_eval_free(eval);
}

static int32_t stop(void *data, uint64_t done, uint64_t all)
{
    assert_true(done <= all);
    return ++*(uint32_t *)data == 3;
}

static void test_refused(void **state)
{
    const struct both *both = *state;
    struct accel_eval_options options = {.size = sizeof(options), .chunk = CHUNK, .stride = CHUNK + 1, .bos = -1};
    struct accel_error error = {0};
    struct accel_eval *eval = NULL;
    uint32_t calls = 0;

    assert_int_equal(accel_eval_text(NULL, both->sessions, 1, both->ids.ids, TOKENS, &options, &eval, &error),
                     ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "no gaps"));
    options.stride = 0;
    options.chunk = 100000;
    assert_int_equal(accel_eval_text(NULL, both->sessions, 1, both->ids.ids, TOKENS, &options, &eval, NULL),
                     ACCEL_E_INVALID);
    assert_int_equal(accel_eval_text(NULL, both->sessions, 1, both->ids.ids, 1, NULL, &eval, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_eval_text(NULL, NULL, 0, both->ids.ids, 9, NULL, &eval, NULL), ACCEL_E_INVALID);
    options.chunk = CHUNK;
    options.progress = stop;
    options.progress_data = &calls;
    assert_int_equal(accel_eval_text(NULL, both->sessions, 2, both->ids.ids, TOKENS, &options, &eval, NULL),
                     ACCEL_E_CANCELLED);
    assert_int_equal(calls, 3);
    assert_null(eval);
    assert_int_equal(accel_session_length(both->sessions[0]), 0);
}

/* Q8_0 keeps about 1 % of a block's largest value; norms are the same in both files. */
static void test_tensors(void **state)
{
    const struct both *both = *state;
    const struct accel_model_file *files[] = {accel_model_file_of(both->models[0]),
                                              accel_model_file_of(both->models[1])};
    const struct accel_eval_tensor_sums *sums;
    struct accel_eval_tensors *table = NULL;
    struct accel_error error = {0};
    uint32_t calls = 0, exact = 0;

    OK(accel_eval_tensors(files[0], files[1], NULL, NULL, &table, &error));
    sums = accel_eval_tensors_sums(table);
    assert_int_equal(accel_eval_tensors_count(table), sums->tensors);
    assert_int_equal(sums->compared, sums->tensors);
    assert_true(sums->missing == 0 && sums->extra == 0);
    assert_int_equal(sums->elements, accel_model_facts_of(both->models[0])->parameters);
    assert_int_equal(sums->bytes, accel_model_facts_of(both->models[0])->weight_bytes);
    assert_true(sums->bits_per_weight > 8 && sums->bits_per_weight < 12);
    assert_true(sums->file_bytes > sums->bytes);
    assert_true(sums->relative_error > 0.001 && sums->relative_error < 0.01);
    for (uint64_t i = 0; i < sums->tensors; i++) {
        const struct accel_eval_tensor *tensor = accel_eval_tensors_get(table, i);

        assert_true(i == 0 || tensor->relative_error <= accel_eval_tensors_get(table, i - 1)->relative_error);
        assert_true((strcmp(tensor->type, "F32") == 0) == (tensor->relative_error == 0));
        assert_string_equal(tensor->reference, "F32");
        exact += tensor->relative_error == 0;
    }
    assert_true(exact > 0 && accel_eval_tensors_get(table, sums->tensors) == NULL);
    accel_eval_tensors_free(table);
    OK(accel_eval_tensors(files[1], files[1], NULL, NULL, &table, &error));
    assert_true(accel_eval_tensors_sums(table)->relative_error == 0);
    accel_eval_tensors_free(table);
    OK(accel_eval_tensors(files[1], NULL, NULL, NULL, &table, &error));
    assert_true(accel_eval_tensors_sums(table)->bits_per_weight == 32 && accel_eval_tensors_count(table) == 0);
    accel_eval_tensors_free(table);
    assert_int_equal(accel_eval_tensors(files[0], files[1], stop, &calls, &table, NULL), ACCEL_E_CANCELLED);
    assert_null(table);
}

/* One tensor of two values, as safetensors. */
static struct accel_model_file *tiny(const char *name, const char *type, const char *shape, float first, float second,
                                     char memory[256])
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    float values[2] = {first, second};
    uint64_t length;

    length = (uint64_t)snprintf(memory + 8, 240, "{\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[0,8]}}",
                                name, type, shape);
    while (length % 8 != 0)
        memory[8 + length++] = ' ';
    memcpy(memory, &length, 8);
    memcpy(memory + 8 + length, values, 8);
    OK(accel_model_file_open_memory(memory, 8 + length + 8, name, &file, &error));
    return file;
}

static void test_hand_made(void **state)
{
    static const struct {
        const char *name, *type, *shape;
        float first, second;
        double error;
        uint32_t compared, extra;
    } cases[] = {
        {"w", "F32", "[2]", 3, 4, 0, 1, 0},        {"w", "F32", "[2]", 3, 5, 0.2, 1, 0},
        {"w", "F32", "[1,2]", 0, 0, 1, 1, 0},      {"w", "F32", "[2,1]", 3, 4, 0, 0, 0},
        {"w", "F32", "[2]", 3, INFINITY, 0, 0, 0}, {"v", "F32", "[2]", 3, 4, 0, 0, 1},
        {"w", "I32", "[2]", 3, 4, 0, 0, 0},
    };
    char one[256], other[256];
    struct accel_model_file *reference = tiny("w", "F32", "[2]", 3, 4, other);
    struct accel_eval_tensors *table = NULL;
    struct accel_error error = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct accel_model_file *file =
            tiny(cases[i].name, cases[i].type, cases[i].shape, cases[i].first, cases[i].second, one);
        const struct accel_eval_tensor *tensor;

        OK(accel_eval_tensors(file, reference, NULL, NULL, &table, &error));
        tensor = accel_eval_tensors_get(table, 0);
        assert_int_equal(accel_eval_tensors_sums(table)->extra, cases[i].extra);
        assert_int_equal(accel_eval_tensors_sums(table)->missing, cases[i].extra);
        assert_int_equal(accel_eval_tensors_sums(table)->compared, cases[i].compared);
        assert_int_equal(tensor == NULL, cases[i].extra);
        assert_true(tensor == NULL || fabs(tensor->relative_error - cases[i].error) < 1e-12);
        assert_true(tensor == NULL || (tensor->reason[0] == '\0') == (cases[i].compared == 1));
        accel_eval_tensors_free(table);
        accel_model_file_close(file);
    }
    accel_model_file_close(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows), cmocka_unit_test(test_same),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_tensors), cmocka_unit_test(test_hand_made),
    };

    return cmocka_run_group_tests(tests, open_both, close_both);
}
