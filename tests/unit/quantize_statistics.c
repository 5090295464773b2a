/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mean squares and products of inputs against sums made here in double, window by window; the same bytes for any number
 * of threads and any limit of memory; what cannot run is refused by name.
 */
#include "convert/quantize/statistics.h"
#include "quantize_support.h"

enum { TOKENS = 45, CHUNK = 16, WEIGHTS = 36, HIDDEN = 64, FFN = 172 };

static struct quantize_text text_of(const struct subject *subject)
{
    return (struct quantize_text){.context = subject->context,
                                  .model = subject->model,
                                  .ids = subject->ids,
                                  .id_count = TOKENS,
                                  .chunk = CHUNK,
                                  .threads = 1,
                                  .moments = 1};
}

static struct quantize_statistics *make(const struct quantize_text *text)
{
    struct quantize_statistics *statistics = NULL;
    struct accel_error error = {0};

    OK(quantize_statistics_create(text, &statistics, &error));
    return statistics;
}

static int32_t ignore_logits(void *data, uint64_t index, const float *logits)
{
    (void)data;
    (void)index;
    (void)logits;
    return ACCEL_OK;
}

/* The mean products of what weight `index` is multiplied with, in double; steps of one whole window. */
static double *products_of(const struct subject *subject, uint32_t index, uint64_t width)
{
    struct accel_session *session = make_session(subject->context, subject->model, ACCEL_SESSION_INPUTS, CHUNK);
    double *sums = calloc(width * width, sizeof(*sums));
    struct accel_error error = {0};

    for (uint64_t at = 0; at < TOKENS; at += CHUNK) {
        struct accel_session_input input = {.size = sizeof(input)};
        uint64_t count = TOKENS - at < CHUNK ? TOKENS - at : CHUNK;

        OK(accel_session_truncate(session, 0, &error));
        OK(accel_session_score(session, subject->ids + at, count, ignore_logits, NULL, &error));
        OK(accel_session_input(session, index, &input, &error));
        assert_int_equal(input.width, width);
        for (uint64_t t = 0; t < count; t++)
            for (uint64_t i = 0; i < width; i++)
                for (uint64_t j = 0; j < width; j++)
                    sums[i * width + j] +=
                        (double)input.values[t * width + i] * (double)input.values[t * width + j] / TOKENS;
    }
    accel_session_free(session);
    return sums;
}

static void check_weight(const struct subject *subject, struct quantize_statistics *statistics, uint32_t index,
                         const char *name, uint64_t wanted_width)
{
    double *wanted = products_of(subject, index, wanted_width), scale = 0;
    const float *moments = NULL, *power;
    struct accel_error error = {0};
    uint64_t width = 0;
    uint32_t input;

    power = quantize_statistics_power(statistics, name, &width);
    assert_non_null(power);
    assert_int_equal(width, wanted_width);
    OK(quantize_statistics_moments(statistics, name, &moments, &input, &error));
    assert_int_equal(input, quantize_statistics_input(statistics, name));
    for (uint64_t i = 0; i < width; i++)
        scale = fmax(scale, wanted[i * width + i]);
    for (uint64_t i = 0; i < width; i++) {
        assert_true(fabs((double)power[i] - wanted[i * width + i]) < 1e-5 * scale);
        for (uint64_t j = 0; j < width; j++) {
            assert_true(fabs((double)moments[i * width + j] - wanted[i * width + j]) < 1e-5 * scale);
            assert_true(memcmp(&moments[i * width + j], &moments[j * width + i], sizeof(*moments)) == 0);
        }
    }
    free(wanted);
}

static void test_sums(void **state)
{
    struct subject *subject = *state;
    struct quantize_text text = text_of(subject);
    struct quantize_statistics *statistics = make(&text);
    uint64_t width;

    assert_int_equal(quantize_statistics_tokens(statistics), TOKENS);
    assert_int_equal(quantize_statistics_inputs(statistics), 21);
    assert_int_equal(quantize_statistics_input(statistics, "blk.0.attn_q.weight"), 0);
    assert_int_equal(quantize_statistics_input(statistics, "blk.0.attn_v.weight"), 0);
    assert_int_equal(quantize_statistics_input(statistics, "blk.1.ffn_up.weight"), 6);
    /* The table of embeddings is the output matrix too. */
    assert_int_equal(quantize_statistics_input(statistics, "token_embd.weight"), 20);
    assert_int_equal(quantize_statistics_input(statistics, "blk.0.attn_norm.weight"), QUANTIZE_NO_INPUT);
    assert_null(quantize_statistics_power(statistics, "blk.0.attn_norm.weight", &width));
    check_weight(subject, statistics, 0, "blk.0.attn_q.weight", HIDDEN);
    check_weight(subject, statistics, 6, "blk.0.ffn_down.weight", FFN);
    check_weight(subject, statistics, 31, "blk.4.attn_output.weight", HIDDEN);
    check_weight(subject, statistics, 35, "token_embd.weight", HIDDEN);
    assert_int_equal(quantize_statistics_runs(statistics), 1);
    quantize_statistics_free(statistics);
}

/* A last window of one token is left out. */
static void test_last_token(void **state)
{
    struct subject *subject = *state;
    struct quantize_text text = text_of(subject);
    struct quantize_statistics *statistics;

    text.id_count = 2 * CHUNK + 1;
    statistics = make(&text);
    assert_int_equal(quantize_statistics_tokens(statistics), 2 * CHUNK);
    quantize_statistics_free(statistics);
}

static const struct accel_model_tensor *matrix_at(const struct subject *subject, uint64_t index)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(accel_model_file_of(subject->model), index);

    return tensor->rank == 2 ? tensor : NULL;
}

/* Every matrix's moments and power are the same bytes in both. */
static void compare_all(const struct subject *subject, struct quantize_statistics *one,
                        struct quantize_statistics *other)
{
    const struct accel_model_file *file = accel_model_file_of(subject->model);
    struct accel_error error = {0};
    uint32_t compared = 0;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = matrix_at(subject, i);
        const float *a = NULL, *b = NULL;
        uint64_t width = 0;
        uint32_t input;

        if (tensor == NULL)
            continue;
        OK(quantize_statistics_moments(one, tensor->name, &a, &input, &error));
        OK(quantize_statistics_moments(other, tensor->name, &b, &input, &error));
        width = tensor->dims[1];
        assert_memory_equal(a, b, width * width * sizeof(*a));
        a = quantize_statistics_power(one, tensor->name, &width);
        b = quantize_statistics_power(other, tensor->name, &width);
        assert_memory_equal(a, b, width * sizeof(*a));
        compared++;
    }
    assert_int_equal(compared, WEIGHTS);
}

static void test_threads_and_memory(void **state)
{
    struct subject *subject = *state;
    struct quantize_text text = text_of(subject);
    struct quantize_statistics *one = make(&text), *other;

    text.threads = 5;
    text.moments = 0;
    other = make(&text);
    compare_all(subject, one, other);
    assert_int_equal(quantize_statistics_runs(other), 2);
    quantize_statistics_free(other);
    /* Room for less than one: one at a time, each by a run of its own, unless one that is held is asked for. */
    text.moments_bytes = 1;
    text.threads = 2;
    other = make(&text);
    compare_all(subject, one, other);
    assert_true(quantize_statistics_runs(other) >= 21);
    quantize_statistics_free(other);
    quantize_statistics_free(one);
}

struct watch {
    uint64_t calls, last, all, stop_at;
};

static int32_t watch_tokens(void *data, uint64_t done, uint64_t all)
{
    struct watch *watch = data;

    assert_true(done > watch->last);
    watch->last = done;
    watch->all = all;
    return ++watch->calls == watch->stop_at;
}

static void test_progress(void **state)
{
    struct subject *subject = *state;
    struct watch watch = {0};
    struct quantize_text text = text_of(subject);
    struct quantize_statistics *statistics;
    struct accel_error error = {0};

    text.progress = watch_tokens;
    text.progress_data = &watch;
    quantize_statistics_free(make(&text));
    assert_int_equal(watch.last, TOKENS);
    assert_int_equal(watch.all, TOKENS);
    watch = (struct watch){.stop_at = 2};
    assert_int_equal(quantize_statistics_create(&text, &statistics, &error), ACCEL_E_CANCELLED);
    assert_null(statistics);
    assert_non_null(strstr(error.text, "32 of 45 tokens"));
}

/* A second run that is cancelled leaves nothing half done, and the next one is whole. */
static void test_cancelled_run(void **state)
{
    struct subject *subject = *state;
    struct watch watch = {.stop_at = 4};
    struct quantize_text text = text_of(subject);
    struct quantize_statistics *whole = make(&text), *statistics;
    const float *moments, *wanted;
    struct accel_error error = {0};
    uint32_t input;

    text.moments = 0;
    text.progress = watch_tokens;
    text.progress_data = &watch;
    statistics = make(&text);
    watch.last = 0;
    assert_int_equal(quantize_statistics_moments(statistics, "blk.0.attn_q.weight", &moments, &input, NULL),
                     ACCEL_E_CANCELLED);
    assert_null(moments);
    watch.last = 0;
    OK(quantize_statistics_moments(statistics, "blk.0.attn_q.weight", &moments, &input, &error));
    OK(quantize_statistics_moments(whole, "blk.0.attn_q.weight", &wanted, &input, &error));
    assert_memory_equal(moments, wanted, HIDDEN * HIDDEN * sizeof(*moments));
    assert_int_equal(quantize_statistics_moments(statistics, "output_norm.weight", &moments, &input, &error),
                     ACCEL_E_NOT_FOUND);
    assert_int_equal(input, QUANTIZE_NO_INPUT);
    quantize_statistics_free(statistics);
    quantize_statistics_free(whole);
}

static void refuse(const struct quantize_text *text, const char *words)
{
    struct quantize_statistics *statistics = (void *)(uintptr_t)text;
    struct accel_error error = {0};

    assert_int_equal(quantize_statistics_create(text, &statistics, &error), ACCEL_E_INVALID);
    assert_null(statistics);
    if (strstr(error.text, words) == NULL)
        fail_msg("\"%s\" has not \"%s\"", error.text, words);
}

static void test_refused(void **state)
{
    struct subject *subject = *state;
    struct quantize_text text = text_of(subject);

    text.context = NULL;
    refuse(&text, "no context");
    text = text_of(subject);
    text.model = NULL;
    refuse(&text, "no model");
    text = text_of(subject);
    text.id_count = 1;
    refuse(&text, "a text of 1 tokens");
    text.id_count = TOKENS;
    text.ids = NULL;
    refuse(&text, "a text of 0 tokens");
    text = text_of(subject);
    text.chunk = 513;
    refuse(&text, "windows of 513 tokens");
    text.chunk = CHUNK;
    subject->ids[7] = 512;
    refuse(&text, "token 7 is 512");
    subject->ids[7] = -1;
    refuse(&text, "token 7 is -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_last_token, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_threads_and_memory, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_progress, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_cancelled_run, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_refused, make_subject, free_subject),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
