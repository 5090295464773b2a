/* SPDX-License-Identifier: Apache-2.0 */
/* Measures prefill and decode at a depth, which is the number of tokens in the KV cache before. Tokens are random
 * ids of a fixed seed; nothing is sampled. The first round of each test is not counted. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/cost.h"
#include "tools/accelctl/bench/model.h"
#include "tools/accelctl/bench/operator.h"
#include "tools/accelctl/bench/rows.h"

enum { LIMIT_TEXT = 96 };

/* Tests of one model in the order in which they run. */
struct runner {
    struct bench *bench;
    struct accel_session *session;
    int32_t *ids;
    uint64_t capacity;      /* tokens of the context */
    char limit[LIMIT_TEXT]; /* whose that is */
    uint64_t done;          /* rounds, of `all` */
    uint64_t all;
};

static int32_t *make_ids(uint64_t count, uint32_t vocabulary)
{
    int32_t *ids = calloc(count, sizeof(*ids));
    uint32_t state = 1;

    for (uint64_t i = 0; ids != NULL && i < count; i++)
        ids[i] = (int32_t)((uint64_t)bench_random(&state) * vocabulary >> 32);
    return ids;
}

/* Prefills the KV cache to `depth` tokens, which is not timed. */
static int32_t go_to(struct runner *runner, uint64_t depth)
{
    uint64_t length = accel_session_length(runner->session);
    const float *logits;

    if (length > depth && accel_session_truncate(runner->session, depth, NULL) == ACCEL_OK)
        return ACCEL_OK;
    /* A KV cache with a window does not restore evicted tokens, so the sequence is prefilled again. */
    if (length > depth) {
        accel_session_truncate(runner->session, 0, NULL);
        length = 0;
    }
    if (length == depth)
        return ACCEL_OK;
    return accel_session_feed(runner->session, runner->ids + length, depth - length, &logits, &runner->bench->error);
}

/* Runs one round: `prompt` tokens in one feed, then `tokens` one by one. */
static int32_t run_round(struct runner *runner, uint64_t depth, uint64_t prompt, uint64_t tokens, double *out_seconds)
{
    struct accel_error *error = &runner->bench->error;
    const float *logits;
    double begun;
    int32_t code = go_to(runner, depth);

    begun = measure_seconds();
    if (code == ACCEL_OK && prompt > 0)
        code = accel_session_feed(runner->session, runner->ids + depth, prompt, &logits, error);
    for (uint64_t t = 0; code == ACCEL_OK && t < tokens; t++)
        code = accel_session_feed(runner->session, runner->ids + depth + prompt + t, 1, &logits, error);
    *out_seconds = measure_seconds() - begun;
    return code;
}

/* Adds the cost of a whole round: steps of at most a batch, then steps of one token. */
static int32_t add_cost(struct runner *runner, struct bench_row *row)
{
    const struct accel_graph *graph = accel_session_graph(runner->session);
    const uint64_t batch = accel_session_batch(runner->session);
    int32_t code = ACCEL_OK;

    for (uint64_t done = 0; code == ACCEL_OK && done < row->prompt;) {
        uint64_t tokens = row->prompt - done < batch ? row->prompt - done : batch;

        done += tokens;
        code = bench_cost_step(graph, tokens, 1, row->depth + done, &row->cost, &runner->bench->error);
    }
    for (uint64_t t = 1; code == ACCEL_OK && t <= row->tokens; t++)
        code = bench_cost_step(graph, 1, 1, row->depth + row->prompt + t, &row->cost, &runner->bench->error);
    return code;
}

static struct bench_row *add_row(struct runner *runner, enum bench_subject subject, uint64_t depth, uint64_t prompt,
                                 uint64_t tokens)
{
    struct bench *bench = runner->bench;
    const uint64_t count = prompt + tokens;
    struct bench_row *row;

    if (depth == 0)
        row = bench_row_add(bench, subject, (uint32_t)bench->chosen->rounds, "%s %llu", bench_subject_name(subject),
                            (unsigned long long)count);
    else
        row = bench_row_add(bench, subject, (uint32_t)bench->chosen->rounds, "%s %llu at %llu",
                            bench_subject_name(subject), (unsigned long long)count, (unsigned long long)depth);
    if (row == NULL)
        return NULL;
    row->depth = depth;
    row->prompt = prompt;
    row->tokens = tokens;
    row->units = (double)count;
    return add_cost(runner, row) == ACCEL_OK ? row : NULL;
}

/* Writes whose limit the tokens of the context are: the model's, or a setting's. */
static void write_limit_text(const struct opened *opened, char text[LIMIT_TEXT])
{
    const unsigned long long capacity = accel_session_context(opened->session);
    const uint64_t made_for = accel_model_facts_of(opened->model)->context;

    if (made_for != 0 && capacity >= made_for)
        snprintf(text, LIMIT_TEXT, "the model was made for %llu tokens", capacity);
    else
        snprintf(text, LIMIT_TEXT, "the context has %llu tokens (--set context=...)", capacity);
}

/* Counts the tests of one subject that fit the context. */
static uint32_t count_fitting(const struct bench *bench, const struct bench_numbers *counts, uint64_t capacity)
{
    uint32_t fitting = 0;

    for (uint32_t d = 0; d < bench->depths.count; d++)
        for (uint32_t i = 0; i < counts->count; i++)
            fitting += bench->depths.items[d] + counts->items[i] <= capacity;
    return fitting;
}

/* Counts the requested batch sizes that a step of the session supports. */
static uint32_t count_side_by_side(const struct bench *bench, const struct accel_session *session)
{
    uint32_t fitting = 0;

    for (uint32_t i = 0; i < bench->sequences.count; i++)
        fitting += bench->sequences.items[i] <= accel_session_sequences(session) &&
                   bench->sequences.items[i] <= accel_session_batch(session);
    return fitting;
}

int bench_model_check(const struct bench *bench, const struct opened *opened)
{
    const uint64_t capacity = accel_session_context(opened->session);
    const uint32_t side_by_side = count_side_by_side(bench, opened->session);
    uint32_t left = 0;
    char limit[LIMIT_TEXT];

    for (uint32_t s = 0; s < BENCH_SUBJECTS; s++)
        if (s != BENCH_PREFILL && s != BENCH_DECODE && s != BENCH_BATCH)
            left += bench->wanted[s];
    if (bench->wanted[BENCH_PREFILL])
        left += count_fitting(bench, &bench->prompts, capacity);
    if (bench->wanted[BENCH_DECODE] || (bench->wanted[BENCH_BATCH] && side_by_side > 0))
        left += count_fitting(bench, &bench->tokens, capacity);
    if (left > 0)
        return -1;
    if (bench->wanted[BENCH_BATCH] && side_by_side == 0)
        snprintf(limit, sizeof(limit), "the session has %u sequences, steps of %llu tokens",
                 accel_session_sequences(opened->session), (unsigned long long)accel_session_batch(opened->session));
    else
        write_limit_text(opened, limit);
    return report_error_format(bench->chosen->common.json, EXIT_USAGE, "usage",
                               "smaller numbers of --prompt, --tokens, --depth or --sequences",
                               "bench: no test fits the context, so nothing is measured: %s", limit);
}

/* Answers ACCEL_OK with bench->interrupted set after an interrupt. */
static int32_t run_test(struct runner *runner, enum bench_subject subject, uint64_t depth, uint64_t prompt,
                        uint64_t tokens)
{
    struct bench *bench = runner->bench;
    struct bench_row *row;
    double seconds;
    int32_t code;

    if (depth + prompt + tokens > runner->capacity) {
        bench_warn(bench, "%s %llu at depth %llu is left out: %s", bench_subject_name(subject),
                   (unsigned long long)(prompt + tokens), (unsigned long long)depth, runner->limit);
        return ACCEL_OK;
    }
    row = add_row(runner, subject, depth, prompt, tokens);
    if (row == NULL)
        return bench->error.code;
    code = run_round(runner, depth, prompt, tokens, &seconds);
    for (uint64_t r = 0; code == ACCEL_OK && r < bench->chosen->rounds; r++) {
        if (progress_update(&bench->progress, ++runner->done, runner->all) != 0) {
            bench->interrupted = 1;
            return ACCEL_OK;
        }
        code = run_round(runner, depth, prompt, tokens, &seconds);
        if (code == ACCEL_OK)
            bench_row_time(row, seconds);
    }
    if (code != ACCEL_E_CANCELLED)
        return code;
    bench->interrupted = 1;
    return ACCEL_OK;
}

static int32_t run_subject(struct runner *runner, enum bench_subject subject, const struct bench_numbers *counts)
{
    struct bench *bench = runner->bench;
    int32_t code = ACCEL_OK;

    if (!bench->wanted[subject])
        return ACCEL_OK;
    progress_next(&bench->progress, subject == BENCH_PREFILL ? "reading prompts" : "writing tokens");
    runner->done = 0;
    runner->all = counts->count * bench->depths.count * bench->chosen->rounds;
    for (uint32_t d = 0; d < bench->depths.count; d++)
        for (uint32_t i = 0; code == ACCEL_OK && !bench->interrupted && i < counts->count; i++)
            code = run_test(runner, subject, bench->depths.items[d], subject == BENCH_PREFILL ? counts->items[i] : 0,
                            subject == BENCH_PREFILL ? 0 : counts->items[i]);
    return code;
}

int bench_model(struct bench *bench, struct opened *opened)
{
    struct runner runner = {.bench = bench, .session = opened->session};
    int32_t code;

    bench->session = opened->session;
    progress_next(&bench->progress, "loading");
    code = load_session(opened, &bench->error);
    runner.capacity = accel_session_context(opened->session);
    write_limit_text(opened, runner.limit);
    if (code == ACCEL_OK) {
        runner.ids = make_ids(runner.capacity, accel_model_facts_of(opened->model)->vocabulary);
        if (runner.ids == NULL)
            code = accel_error_no_memory(&bench->error, "for the tokens of a prompt");
    }
    if (code == ACCEL_OK)
        code = run_subject(&runner, BENCH_PREFILL, &bench->prompts);
    if (code == ACCEL_OK && !bench->interrupted)
        code = run_subject(&runner, BENCH_DECODE, &bench->tokens);
    if (code == ACCEL_OK && !bench->interrupted && bench->wanted[BENCH_BATCH])
        code = bench_batch(bench, opened->session, runner.ids);
    bench->session = NULL;
    free(runner.ids);
    return code == ACCEL_OK ? -1 : report_error(bench->chosen->common.json, &bench->error);
}
