/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over keys and values of the step: reference and cases. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

/* One query of one head. */
struct query {
    const struct reference_call *call;
    uint64_t sequence, head;
    int64_t place, queries, keys; /* of the sequence */
    int64_t first_key;
    const double *q;
};

static bool sees(const struct query *query, int64_t j)
{
    const struct accel_dense_attention *at = query->call->attributes;
    int64_t i = query->place;

    return !(at->causal && j > i + query->keys - query->queries) && (at->before == 0 || j > i - (int64_t)at->before) &&
           (at->after == 0 || j < i + (int64_t)at->after);
}

/* Returns the head of keys and values that the query reads. */
static uint64_t key_head(const struct query *query)
{
    return query->head / (query->call->inputs[0]->extents[1] / query->call->inputs[1]->extents[1]);
}

static double score_of(const struct query *query, int64_t j)
{
    const struct accel_dense_attention *at = query->call->attributes;
    const struct reference_value *k = query->call->inputs[1], *bias = query->call->inputs[5];
    const struct reference_value *relative = query->call->inputs[6];
    uint64_t heads = query->call->inputs[0]->extents[1], size = k->extents[2];
    const double *key = k->at + ((uint64_t)(query->first_key + j) * k->extents[1] + key_head(query)) * size;
    double score = 0;

    for (uint64_t e = 0; e < size; e++)
        score += query->q[e] * key[e];
    score *= at->scale;
    if (at->softcap != 0)
        score = at->softcap * tanh(score / at->softcap);
    if (bias != NULL && query->place < (int64_t)bias->extents[2] && j < (int64_t)bias->extents[3])
        score += bias->at[((query->sequence % bias->extents[0] * heads + query->head) * bias->extents[2] +
                           (uint64_t)query->place) *
                              bias->extents[3] +
                          (uint64_t)j];
    if (relative != NULL) {
        int64_t place = j - query->place + (int64_t)at->center, last = (int64_t)relative->extents[1] - 1;

        score += relative->at[query->head * relative->extents[1] + (uint64_t)(place < 0      ? 0
                                                                              : place > last ? last
                                                                                             : place)];
    }
    return score;
}

static void attend(const struct query *query, double *scores, double *y)
{
    const struct reference_value *v = query->call->inputs[2], *sink = query->call->inputs[7];
    double most = -INFINITY, sum = 0;

    for (uint64_t e = 0; e < v->extents[2]; e++)
        y[e] = 0;
    for (int64_t j = 0; j < query->keys; j++) {
        scores[j] = sees(query, j) ? score_of(query, j) : -INFINITY;
        most = scores[j] > most ? scores[j] : most;
    }
    if (most == -INFINITY)
        return;
    for (int64_t j = 0; j < query->keys; j++)
        sum += exp(scores[j] - most);
    if (sink != NULL)
        sum += exp(sink->at[query->head] - most);
    for (int64_t j = 0; j < query->keys; j++)
        for (uint64_t e = 0; e < v->extents[2]; e++)
            y[e] += exp(scores[j] - most) / sum *
                    v->at[((uint64_t)(query->first_key + j) * v->extents[1] + key_head(query)) * v->extents[2] + e];
}

/* Rows of no sequence are NaN, which stands for any finite value. */
static void compute_dense_attention(const struct reference_call *call)
{
    const struct reference_value *q = call->inputs[0], *first = call->inputs[3], *first_key = call->inputs[4];
    const struct reference_value *y = call->outputs[0];
    uint64_t heads = q->extents[1], size = q->extents[2], value_size = y->extents[2];
    double *scores = malloc(call->inputs[1]->extents[0] * sizeof(*scores));

    for (uint64_t i = 0; i < q->extents[0] * heads * value_size; i++)
        y->at[i] = NAN;
    for (uint64_t s = 0; scores != NULL && s + 1 < first->extents[0]; s++) {
        struct query query = {.call = call, .sequence = s, .first_key = (int64_t)first_key->at[s]};

        query.queries = (int64_t)(first->at[s + 1] - first->at[s]);
        query.keys = (int64_t)(first_key->at[s + 1] - first_key->at[s]);
        for (query.place = 0; query.place < query.queries; query.place++)
            for (query.head = 0; query.head < heads; query.head++) {
                uint64_t row = ((uint64_t)first->at[s] + (uint64_t)query.place) * heads + query.head;

                query.q = q->at + row * size;
                attend(&query, scores, y->at + row * value_size);
            }
    }
    free(scores);
}

/* ---- cases ---- */

/* How rows are divided into sequences. */
#define SAME 1u    /* queries and keys of a sequence are the same rows of the step */
#define GAPS 2u    /* rows before the first sequence and behind the last belong to none */
#define EMPTY 4u   /* some sequences have no queries, some no keys */
#define LOUD 8u    /* queries of +-8: scores far from each other, for soft caps and learned sinks */
#define BARRED 16u /* biases of -infinity */

/* Divides `rows` rows into `count` sequences. */
static void divide(struct conform *conform, int32_t *first, uint32_t count, uint32_t rows, uint32_t how)
{
    first[0] = how & GAPS && rows > 2 * count ? 1 : 0;
    for (uint32_t s = 1; s <= count; s++) {
        uint32_t left = rows - (uint32_t)first[s - 1], share = left / (count + 1 - s);
        bool is_empty = how & EMPTY && s > 1 && conform_below(conform, 3) == 0;

        first[s] = first[s - 1] + (is_empty || share == 0 ? 0 : 1 + (int32_t)conform_below(conform, share));
    }
    if (!(how & GAPS))
        first[count] = (int32_t)rows;
}

/* Bars the first key, some others, in a third of the rows the first half of the keys, and in another third all. */
static void bar_keys(struct trial_inputs *inputs)
{
    const uint64_t rows = inputs->extents[5][2], keys = inputs->extents[5][3];

    for (uint64_t e = 0; e < inputs->elements[5]; e++) {
        const uint64_t row = e / keys % rows, key = e % keys;

        if (key == 0 || 2 * key < row % 3 * keys || conform_below(inputs->conform, 4) == 0)
            inputs->floats[5][e] = -INFINITY;
    }
}

static void fill_sequences(struct trial_inputs *inputs)
{
    uint32_t count = (uint32_t)inputs->elements[3] - 1, how = (uint32_t)inputs->row->parameter;

    divide(inputs->conform, inputs->numbers[3], count, (uint32_t)inputs->extents[0][0], how);
    if (how & SAME)
        memcpy(inputs->numbers[4], inputs->numbers[3], inputs->elements[3] * sizeof(int32_t));
    else
        divide(inputs->conform, inputs->numbers[4], count, (uint32_t)inputs->extents[1][0], how);
    for (uint64_t e = 0; e < inputs->elements[0] && how & LOUD; e++)
        inputs->floats[0][e] *= 8;
    if (how & BARRED)
        bar_keys(inputs);
}

/* The seventh argument of accel_dense_attention is `zero`. */
#define DENSE(values, how, ...)                                                                                        \
    {                                                                                                                  \
        .op = ACCEL_OP_DENSE_ATTENTION, .ceiling = TRIAL_F32, .inputs = values,                                        \
        TRIAL_ATTRIBUTES(dense_attention, __VA_ARGS__), .scale = 0.5, .mixes_rows = true, .fill = fill_sequences,      \
        .parameter = how                                                                                               \
    }

static const struct trial_case plain_cases[] = {
    DENSE("f:1,1,1 f:1,1,1 f:1,1,1 i:2 i:2", SAME, .scale = 1),
    DENSE("f:t17,2,16 f:t17,2,16 f:t17,2,16 i:2 i:2", SAME, .scale = 0.25f),
    DENSE("f:t197,3,64 f:t197,3,64 f:t197,3,64 i:2 i:2", SAME, .scale = 0.25f),
    DENSE("f:t40,2,32 f:t40,2,32 f:t40,2,32 i:4 i:4", SAME, .scale = 0.4f),
    DENSE("f:t33,4,8 f:50,2,8 f:50,2,8 i:3 i:3", 0, .scale = 0.7f),
    DENSE("f:t9,6,24 f:70,2,24 f:70,2,40 i:2 i:2", 0, .scale = 0.4f),
    DENSE("f:12,4,80 f:t31,1,80 f:t31,1,48 i:3 i:3", 0, .scale = 0.2f),
    DENSE("f:t60,2,16 f:45,2,16 f:45,2,16 i:7 i:7", GAPS | EMPTY, .scale = 0.5f),
    DENSE("f:t64,1,128 f:t64,1,128 f:t64,1,128 i:t64+1 i:t64+1", SAME, .scale = 0.2f),
    DENSE("f:t5,1,7 f:3,1,7 f:3,1,5 i:2 i:2", 0, .scale = 0.9f),
    DENSE("f:t4,2,256 f:300,1,256 f:300,1,384 i:2 i:2", 0, .scale = 0.1f),
    DENSE("f:t2,1,16 f:4300,1,16 f:4300,1,16 i:2 i:2", 0, .scale = 0.5f),
    DENSE("f:4,2,8 f:9000,1,8 f:9000,1,8 i:2 i:2", GAPS, .scale = 0.5f),
    DENSE("f:t70001,1,2 f:6,1,2 f:6,1,2 i:3 i:3", 0, .scale = 1),
    DENSE("f:3,1,2 f:t70001,1,2 f:t70001,1,3 i:2 i:2", 0, .scale = 1),
};

static const struct trial_case causal_cases[] = {
    DENSE("f:t17,2,16 f:t17,2,16 f:t17,2,16 i:2 i:2", SAME, .causal = 1, .scale = 0.4f),
    DENSE("f:t130,2,32 f:t130,1,32 f:t130,1,32 i:4 i:4", SAME, .causal = 1, .scale = 0.4f),
    /* More keys than queries, and fewer: the first queries of a sequence see none. */
    DENSE("f:t9,2,16 f:40,2,16 f:40,2,16 i:2 i:2", 0, .causal = 1, .scale = 0.5f),
    DENSE("f:t40,2,16 f:9,2,16 f:9,2,16 i:2 i:2", 0, .causal = 1, .scale = 0.5f),
    DENSE("f:t50,3,8 f:60,3,8 f:60,3,12 i:5 i:5", GAPS | EMPTY, .causal = 1, .scale = 0.5f),
    DENSE("f:t70,2,16 f:t70,2,16 f:t70,2,16 i:3 i:3", SAME, .causal = 1, .scale = 0.5f, .before = 9),
};

static const struct trial_case window_cases[] = {
    DENSE("f:t90,2,16 f:t90,2,16 f:t90,2,16 i:3 i:3", SAME, .scale = 0.5f, .before = 8, .after = 8),
    DENSE("f:t90,2,16 f:t90,2,16 f:t90,2,16 i:3 i:3", SAME, .scale = 0.5f, .before = 65, .after = 65),
    DENSE("f:t50,2,16 f:t50,2,16 f:t50,2,16 i:2 i:2", SAME, .scale = 0.5f, .before = 5),
    DENSE("f:t50,2,16 f:t50,2,16 f:t50,2,16 i:2 i:2", SAME, .scale = 0.5f, .after = 5),
    DENSE("f:t30,1,16 f:t30,1,16 f:t30,1,16 i:2 i:2", SAME, .scale = 0.5f, .before = 1, .after = 1),
    DENSE("f:t30,1,16 f:t30,1,16 f:t30,1,16 i:2 i:2", SAME, .scale = 0.5f, .before = 1, .after = 4),
    /* Queries far behind the keys see none. */
    DENSE("f:t40,2,8 f:12,1,8 f:12,1,8 i:3 i:3", 0, .scale = 0.5f, .before = 4, .after = 2),
    DENSE("f:t60,2,8 f:55,2,8 f:55,2,8 i:6 i:6", GAPS | EMPTY, .scale = 0.5f, .before = 3, .after = 7),
    DENSE("f:t6,2,8 f:300,2,8 f:300,2,8 i:2 i:2", 0, .scale = 0.5f, .before = 4294967295u, .after = 4294967295u),
};

/* Tables of biases that are smaller than the sequence, larger, of one kind and of several; relative places that lie
 * outside of the table on either side. */
static const struct trial_case bias_cases[] = {
    DENSE("f:t16,2,16 f:t16,2,16 f:t16,2,16 i:2 i:2 f:1,2,16,16", SAME, .scale = 0.5f),
    DENSE("f:t36,3,8 f:t36,3,8 f:t36,3,8 i:5 i:5 f:4,3,9,9", SAME, .scale = 0.5f),
    DENSE("f:t60,2,8 f:70,1,8 f:70,1,8 i:8 i:8 f:3,2,5,7", GAPS | EMPTY, .scale = 0.5f),
    DENSE("f:t9,2,8 f:14,2,8 f:14,2,8 i:2 i:2 f:1,2,30,40", 0, .scale = 0.5f),
    DENSE("f:t20,2,16 f:t20,2,16 f:t20,2,16 i:2 i:2 - F:2,39", SAME, .scale = 0.5f, .center = 19),
    DENSE("f:t50,2,16 f:t50,2,16 f:t50,2,16 i:3 i:3 - f:2,9", SAME, .scale = 0.5f, .center = 4),
    DENSE("f:t50,4,16 f:30,2,16 f:30,2,16 i:3 i:3 - f:4,6", 0, .scale = 0.5f, .center = 0),
    DENSE("f:t50,2,16 f:30,2,16 f:30,2,16 i:3 i:3 - f:2,6", 0, .scale = 0.5f, .center = 5),
    DENSE("f:t30,2,16 f:30,2,16 f:30,2,16 i:2 i:2 - f:2,6", 0, .scale = 0.5f, .center = 100),
    DENSE("f:t30,2,8 f:t30,2,8 f:t30,2,8 i:3 i:3 f:2,2,8,9 f:2,21", SAME, .scale = 0.5f, .center = 10, .causal = 1),
    DENSE("f:t20,2,16 f:300,2,16 f:300,2,16 i:2 i:2 f:1,2,20,300", BARRED, .scale = 0.5f),
    DENSE("f:t3,2,16 f:2100,1,16 f:2100,1,16 i:2 i:2 f:1,2,3,2100", BARRED, .scale = 0.5f),
};

static const struct trial_case sink_cases[] = {
    DENSE("f:t17,2,16 f:t17,2,16 f:t17,2,16 i:2 i:2 - - f:2", SAME, .scale = 0.5f),
    DENSE("f:t40,6,8 f:50,2,8 f:50,2,8 i:4 i:4 - - F:6", LOUD, .scale = 0.5f),
    DENSE("f:t60,4,8 f:45,2,8 f:45,2,8 i:7 i:7 - - f:4", GAPS | EMPTY, .scale = 0.5f, .causal = 1),
    DENSE("f:t50,2,8 f:t50,2,8 f:t50,2,8 i:3 i:3 - - f:2", SAME, .scale = 0.5f, .before = 4, .after = 3),
    DENSE("f:t20,2,16 f:70,2,16 f:70,2,16 i:2 i:2 f:1,2,20,70 - f:2", BARRED, .scale = 0.5f),
    DENSE("f:t30,2,16 f:t30,2,16 f:t30,2,16 i:2 i:2 - - -", SAME | LOUD, .scale = 1, .softcap = 1.5f),
    DENSE("f:t30,2,16 f:t30,2,16 f:t30,2,16 i:2 i:2 f:1,2,20,30 f:2,31 f:2", SAME | LOUD, .scale = 1, .softcap = 2,
          .center = 12, .causal = 1, .before = 11),
};

/* Any combination of attributes and optional inputs. */
static void any_case(struct conform *conform)
{
    uint32_t kv_heads = 1 + conform_below(conform, 3), heads = kv_heads * (1 + conform_below(conform, 3));
    uint32_t size = 1 + conform_below(conform, 70), value_size = conform_below(conform, 2) ? size : 1 + size / 2;
    uint32_t queries = 1 + conform_below(conform, 70), sequences = 1 + conform_below(conform, 5);
    uint32_t how = conform_below(conform, 16), keys = how & SAME ? queries : 1 + conform_below(conform, 70);
    char text[240], bias[40] = "-", relative[40] = "-", sink[20] = "-";
    struct accel_dense_attention at = {.size = sizeof(at), .causal = conform_below(conform, 3) == 0};

    at.scale = 1 / sqrtf((float)size);
    at.softcap = conform_below(conform, 3) == 0 ? 2 : 0;
    at.before = conform_below(conform, 3) == 0 ? 1 + conform_below(conform, 20) : 0;
    at.after = conform_below(conform, 3) == 0 ? 1 + conform_below(conform, 20) : 0;
    if (conform_below(conform, 3) == 0)
        snprintf(bias, sizeof(bias), "f:%u,%u,%u,%u", 1 + conform_below(conform, 3), heads,
                 1 + conform_below(conform, 40), 1 + conform_below(conform, 40));
    if (conform_below(conform, 3) == 0) {
        snprintf(relative, sizeof(relative), "f:%u,%u", heads, 1 + conform_below(conform, 40));
        at.center = conform_below(conform, 40);
    }
    if (conform_below(conform, 3) == 0)
        snprintf(sink, sizeof(sink), "f:%u", heads);
    snprintf(text, sizeof(text), "f:t%u,%u,%u f:%s%u,%u,%u f:%s%u,%u,%u i:%u i:%u %s %s %s", queries, heads, size,
             how & SAME ? "t" : "", keys, kv_heads, size, how & SAME ? "t" : "", keys, kv_heads, value_size,
             sequences + 1, sequences + 1, bias, relative, sink);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_DENSE_ATTENTION,
                                                 .ceiling = TRIAL_F32,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = at.causal ? "causal" : "",
                                                 .scale = 0.5,
                                                 .mixes_rows = true,
                                                 .fill = fill_sequences,
                                                 .parameter = how});
}

static void any(struct conform *conform)
{
    for (uint32_t i = 0; i < 12 + conform->rounds; i++)
        any_case(conform);
}

const struct conform_operator conform_op_dense_attention = {
    .compute = compute_dense_attention,
    .tests = {CONFORM_CASES("plain", plain_cases, NULL), CONFORM_CASES("causal", causal_cases, NULL),
              CONFORM_CASES("window", window_cases, NULL), CONFORM_CASES("bias", bias_cases, NULL),
              CONFORM_CASES("sink", sink_cases, NULL), CONFORM_TEST("any", any, 0)}};
