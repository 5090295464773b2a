/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divergence of a model with some weights made worse: nothing where nothing is worse, more with fewer bits and with
 * more weights, and the same as between two sessions over two files, the second of which holds that weight in that
 * type.
 */
#include <accel/quant/format.h>

#include "convert/quantize/probe.h"
#include "quantize_support.h"

enum { TOKENS = SUBJECT_TOKENS, WINDOW = 40, VOCABULARY = SUBJECT_VOCABULARY };

static struct quantize_text text_of(const struct subject *subject)
{
    return (struct quantize_text){.context = subject->context,
                                  .model = subject->model,
                                  .ids = subject->ids,
                                  .id_count = TOKENS,
                                  .chunk = WINDOW,
                                  .threads = 1};
}

static void test_order(void **state)
{
    struct subject *subject = *state;
    const uint32_t q2 = accel_format_find("q2_g64"), q3 = accel_format_find("q3_g64"), q8 = accel_format_find("q8_g64");
    /* Sorted by name, as probes want them. */
    const struct weight_type more[] = {{.name = "blk.1.ffn_up.weight", .type = q3},
                                       {.name = "blk.2.attn_k.weight", .type = q3},
                                       {.name = "token_embd.weight", .type = q3}};
    const struct weight_type less = {.name = "token_embd.weight", .type = q8};
    const struct weight_type worse = {.name = "token_embd.weight", .type = q2};
    struct quantize_probe probes[] = {{.count = 0},
                                      {.rows = &less, .count = 1},
                                      {.rows = &more[2], .count = 1},
                                      {.rows = more, .count = 3},
                                      {.rows = &worse, .count = 1},
                                      {.rows = more, .count = 2}};
    struct quantize_text text = text_of(subject);
    struct accel_error error = {0};

    OK(quantize_probe_run(&text, TOKENS, probes, 6, &error));
    /* Log-probabilities are kept in F32. */
    assert_true(probes[0].divergence < 1e-6);
    assert_true(probes[1].divergence > probes[0].divergence && probes[1].divergence < 1e-3);
    assert_true(probes[2].divergence > 10 * probes[1].divergence);
    assert_true(probes[3].divergence > 2 * probes[5].divergence && probes[5].divergence > 1e-3);
    assert_true(probes[4].divergence > 2 * probes[2].divergence);
}

struct logits {
    float all[TOKENS][VOCABULARY];
    uint64_t at;
};

static int32_t keep_logits(void *data, uint64_t index, const float *values)
{
    struct logits *logits = data;

    memcpy(logits->all[logits->at + index], values, sizeof(logits->all[0]));
    return ACCEL_OK;
}

static void read_text(const struct subject *subject, const struct accel_model *model, struct logits *out_logits)
{
    struct accel_session *session = make_session(subject->context, model, 0, 32);
    struct accel_error error = {0};

    for (out_logits->at = 0; out_logits->at < TOKENS; out_logits->at += WINDOW) {
        uint64_t left = TOKENS - out_logits->at;

        OK(accel_session_truncate(session, 0, &error));
        OK(accel_session_score(session, subject->ids + out_logits->at, left < WINDOW ? left : WINDOW, keep_logits,
                               out_logits, &error));
    }
    accel_session_free(session);
}

static double divergence_of(const float *p, const float *q)
{
    double sum_p = 0, sum_q = 0, divergence = 0;

    for (int i = 0; i < VOCABULARY; i++) {
        sum_p += exp((double)p[i]);
        sum_q += exp((double)q[i]);
    }
    for (int i = 0; i < VOCABULARY; i++)
        divergence += exp((double)p[i]) / sum_p * ((double)p[i] - log(sum_p) - (double)q[i] + log(sum_q));
    return divergence;
}

/* A file whose one matrix has another type. */
static struct accel_model *one_worse(const struct subject *subject, const char *path)
{
    static const char *const roles[] = {"embedding=q3_g64"};
    static const char *const keep[] = {"blk.*"};
    const struct accel_quantize_options options = {
        .size = sizeof(options), .type = "q3_g64", .keep = keep, .keep_count = 1, .roles = roles, .role_count = 1};
    struct accel_quantize_job *job = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};

    OK(accel_quantize_plan(accel_model_file_of(subject->model), &options, &job, &error));
    OK(accel_quantize_run(job, path, NULL, &error));
    accel_quantize_free(job);
    OK(accel_model_open(path, NULL, &model, &error));
    return model;
}

static void test_two_files(void **state)
{
    struct subject *subject = *state;
    const struct weight_type row = {.name = "token_embd.weight", .type = accel_format_find("q3_g64")};
    struct quantize_probe probe = {.rows = &row, .count = 1};
    struct quantize_text text = text_of(subject);
    struct logits *logits = calloc(2, sizeof(*logits));
    struct accel_model *worse;
    struct accel_error error = {0};
    double sum = 0;
    char path[64];

    snprintf(path, sizeof(path), "quantize_probe-%ld.gguf", (long)getpid());
    worse = one_worse(subject, path);
    read_text(subject, subject->model, &logits[0]);
    read_text(subject, worse, &logits[1]);
    for (int t = 0; t < TOKENS; t++)
        sum += divergence_of(logits[0].all[t], logits[1].all[t]) / TOKENS;
    OK(quantize_probe_run(&text, TOKENS, &probe, 1, &error));
    assert_true(sum > 1e-3);
    assert_true(fabs(probe.divergence - sum) < 1e-3 * sum);
    accel_model_close(worse);
    free(logits);
    unlink(path);
}

static int32_t stop(void *data, uint64_t done, uint64_t all)
{
    *(uint64_t *)data = all;
    return done > TOKENS;
}

static void test_cancelled(void **state)
{
    struct subject *subject = *state;
    const struct weight_type row = {.name = "token_embd.weight", .type = accel_format_find("q3_g64")};
    struct quantize_probe probe = {.rows = &row, .count = 1};
    struct quantize_text text = text_of(subject);
    struct accel_error error = {0};
    uint64_t all = 0;

    text.progress = stop;
    text.progress_data = &all;
    assert_int_equal(quantize_probe_run(&text, TOKENS, &probe, 1, &error), ACCEL_E_CANCELLED);
    assert_int_equal(all, 2 * TOKENS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_two_files, make_subject, free_subject),
        cmocka_unit_test_setup_teardown(test_cancelled, make_subject, free_subject),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
