/* SPDX-License-Identifier: Apache-2.0 */
/* Measures batched decode: each step generates one token of each of several sequences, at a given depth. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/cost.h"
#include "tools/accelctl/bench/model.h"
#include "tools/accelctl/bench/rows.h"

enum { SEQUENCES_MOST = 1024 };

struct batch {
    struct bench *bench;
    struct accel_session *session;
    const int32_t *ids;
    uint32_t count;
    uint32_t numbers[SEQUENCES_MOST];
    struct accel_session_part parts[SEQUENCES_MOST];
};

/* Sequence 0 is open from the beginning. */
static int32_t open_all(struct batch *b)
{
    int32_t code = ACCEL_OK;

    b->numbers[0] = 0;
    for (uint32_t s = 1; code == ACCEL_OK && s < b->count; s++)
        code = accel_session_open(b->session, &b->numbers[s], &b->bench->error);
    return code;
}

static void close_all(struct batch *b)
{
    for (uint32_t s = 1; s < b->count; s++)
        (void)accel_session_close(b->session, b->numbers[s], NULL);
}

/* Prefills one sequence to `depth` tokens. */
static int32_t go_to(struct batch *b, uint32_t sequence, uint64_t depth)
{
    const uint64_t most = accel_session_batch(b->session);
    uint64_t length = accel_session_sequence_length(b->session, sequence);
    const float *logits;
    int32_t code = ACCEL_OK;

    if (length > depth && accel_session_sequence_truncate(b->session, sequence, depth, NULL) == ACCEL_OK)
        return ACCEL_OK;
    /* A KV cache with a window does not restore evicted tokens, so the sequence is prefilled again. */
    if (length > depth) {
        accel_session_sequence_truncate(b->session, sequence, 0, NULL);
        length = 0;
    }
    while (code == ACCEL_OK && length < depth) {
        const struct accel_session_part part = {
            .ids = b->ids + length, .count = depth - length < most ? depth - length : most, .sequence = sequence};

        code = accel_session_step(b->session, &part, 1, &logits, &b->bench->error);
        length += part.count;
    }
    return code;
}

static int32_t run_round(struct batch *b, uint64_t depth, uint64_t tokens, double *out_seconds)
{
    const float *logits;
    double begun;
    int32_t code = ACCEL_OK;

    for (uint32_t s = 0; code == ACCEL_OK && s < b->count; s++)
        code = go_to(b, b->numbers[s], depth);
    begun = measure_seconds();
    for (uint64_t t = 0; code == ACCEL_OK && t < tokens; t++) {
        for (uint32_t s = 0; s < b->count; s++)
            b->parts[s] = (struct accel_session_part){.ids = b->ids + (depth + t + s) % (depth + tokens),
                                                      .count = 1,
                                                      .sequence = b->numbers[s],
                                                      .outputs = 1};
        code = accel_session_step(b->session, b->parts, b->count, &logits, &b->bench->error);
    }
    *out_seconds = measure_seconds() - begun;
    return code;
}

static struct bench_row *add_row(struct batch *b, uint64_t depth, uint64_t tokens)
{
    const struct accel_graph *graph = accel_session_graph(b->session);
    struct bench_row *row;
    char where[32] = "";

    if (depth != 0)
        snprintf(where, sizeof(where), " at %llu", (unsigned long long)depth);
    row = bench_row_add(b->bench, BENCH_BATCH, (uint32_t)b->bench->chosen->rounds, "batch %u x %llu%s", b->count,
                        (unsigned long long)tokens, where);
    if (row == NULL)
        return NULL;
    row->depth = depth;
    row->tokens = tokens;
    row->sequences = b->count;
    row->units = (double)tokens * b->count;
    for (uint64_t t = 1; t <= tokens; t++)
        if (bench_cost_step(graph, 1, b->count, depth + t, &row->cost, &b->bench->error) != ACCEL_OK)
            return NULL;
    return row;
}

static int32_t run_test(struct batch *b, uint64_t depth, uint64_t tokens)
{
    struct bench *bench = b->bench;
    struct bench_row *row;
    double seconds;
    int32_t code;

    if (b->count > accel_session_sequences(b->session) || b->count > accel_session_batch(b->session) ||
        depth + tokens > accel_session_context(b->session)) {
        bench_warn(
            bench, "batch of %u x %llu at %llu is left out: the session has %u sequences of %llu tokens, steps of %llu",
            b->count, (unsigned long long)tokens, (unsigned long long)depth, accel_session_sequences(b->session),
            (unsigned long long)accel_session_context(b->session), (unsigned long long)accel_session_batch(b->session));
        return ACCEL_OK;
    }
    row = add_row(b, depth, tokens);
    if (row == NULL)
        return bench->error.code;
    code = run_round(b, depth, tokens, &seconds);
    for (uint64_t r = 0; code == ACCEL_OK && r < bench->chosen->rounds; r++) {
        if (progress_update(&bench->progress, r, bench->chosen->rounds) != 0) {
            bench->interrupted = 1;
            return ACCEL_OK;
        }
        code = run_round(b, depth, tokens, &seconds);
        if (code == ACCEL_OK)
            bench_row_time(row, seconds);
    }
    return code;
}

int32_t bench_batch(struct bench *bench, struct accel_session *session, const int32_t *ids)
{
    struct batch *b = calloc(1, sizeof(*b));
    int32_t code = ACCEL_OK;

    if (b == NULL)
        return accel_error_no_memory(&bench->error, "for a batch");
    b->bench = bench;
    b->session = session;
    b->ids = ids;
    for (uint32_t i = 0; code == ACCEL_OK && i < bench->sequences.count; i++) {
        b->count = bench->sequences.items[i] < SEQUENCES_MOST ? (uint32_t)bench->sequences.items[i] : SEQUENCES_MOST;
        progress_next(&bench->progress, "writing several texts");
        if (b->count <= accel_session_sequences(session))
            code = open_all(b);
        for (uint32_t d = 0; d < bench->depths.count; d++)
            for (uint32_t t = 0; code == ACCEL_OK && !bench->interrupted && t < bench->tokens.count; t++)
                code = run_test(b, bench->depths.items[d], bench->tokens.items[t]);
        close_all(b);
    }
    free(b);
    if (code == ACCEL_E_CANCELLED)
        bench->interrupted = 1;
    return code == ACCEL_E_CANCELLED ? ACCEL_OK : code;
}
