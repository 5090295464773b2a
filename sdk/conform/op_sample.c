/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sampling. The reference sorts a row and adds up in that order; of accel/driver/sample.h it takes the power
 * of two and the generator, which have numbers of their own in tests/unit. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <accel/driver/sample.h>

#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

/* A token of the row that is being drawn from. */
struct token {
    float logit;
    uint32_t id;
    uint64_t weight;
    bool passes;
};

static float flush(double value)
{
    return fabs(value) < 0x1p-126 ? 0.0f : (float)value;
}

static int by_logit(const void *one, const void *other)
{
    const struct token *a = one, *b = other;

    return a->logit != b->logit ? (a->logit > b->logit ? -1 : 1) : a->id < b->id ? -1 : 1;
}

static int by_id(const void *one, const void *other)
{
    const struct token *a = one, *b = other;

    return a->id < b->id ? -1 : 1;
}

static bool is_within(double value, double low, double high)
{
    return value >= low && value <= high;
}

/* Returns the high half of a * b by columns of 16 bits. */
static uint64_t high_half(uint64_t a, uint64_t b)
{
    uint64_t columns[8] = {0}, result = 0;

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            uint64_t product = (a >> 16 * i & 0xffff) * (b >> 16 * j & 0xffff);

            columns[i + j] += product & 0xffff;
            columns[i + j + 1] += product >> 16;
        }
    for (int i = 0; i < 7; i++)
        columns[i + 1] += columns[i] >> 16;
    for (int i = 7; i >= 4; i--)
        result = result << 16 | (columns[i] & 0xffff);
    return result;
}

/* Penalizes tokens, once each; the weight marks those that were. */
static void penalize(struct token *tokens, uint64_t n, const double *recent, uint64_t count, float penalty)
{
    const float reciprocal = flush(1.0 / (double)penalty);

    for (uint64_t i = 0; i < count; i++) {
        struct token *token = recent[i] >= 0 && recent[i] < (double)n ? &tokens[(uint64_t)recent[i]] : NULL;

        if (token == NULL || token->weight != 0 || penalty == 1)
            continue;
        token->weight = 1;
        if (isfinite(token->logit))
            token->logit = flush((double)token->logit * (double)(token->logit > 0 ? reciprocal : penalty));
    }
}

/* Weighs tokens in descending order, marks those that pass the filters, and returns the sum of their weights. */
static uint64_t filter(struct token *tokens, uint64_t n, const double *settings, int32_t top_k)
{
    const float scale = flush((double)flush(1.0 / settings[0]) * (double)0x1.715476p+0f), top_p = (float)settings[1];
    const uint64_t candidates = top_k > 0 && (uint64_t)top_k < n ? (uint64_t)top_k : n;
    const uint64_t least = (uint64_t)(settings[2] * 0x1p31);
    uint64_t sum = 0, before = 0, wanted = UINT64_MAX;

    for (uint64_t i = 0; i < n; i++) {
        float distance = flush(flush((double)tokens[0].logit - (double)tokens[i].logit));

        tokens[i].weight = isfinite(tokens[i].logit)
                               ? accel_sample_power(accel_sample_bits(flush((double)distance * (double)scale)))
                               : 0;
        sum += i < candidates ? tokens[i].weight : 0;
    }
    if (top_p < 1) {
        uint64_t fraction = (uint64_t)((double)top_p * 0x1p32);

        /* The product has to be exact: its high and low words apart. */
        wanted = (sum >> 32) * fraction + ((sum & 0xffffffffu) * fraction >> 32) +
                 ((sum & 0xffffffffu) * fraction % 0x100000000u != 0);
    }
    sum = 0;
    for (uint64_t i = 0; i < candidates && (i == 0 || before < wanted); i++) {
        before += tokens[i].weight;
        tokens[i].passes = tokens[i].weight >= least;
        sum += tokens[i].passes ? tokens[i].weight : 0;
    }
    return sum;
}

static uint64_t random_of(const double *draw)
{
    uint32_t numbers[6], words[4], counter[4];

    for (int i = 0; i < 6; i++)
        numbers[i] = (uint32_t)(int32_t)draw[i];
    counter[0] = numbers[4];
    counter[1] = numbers[5];
    counter[2] = numbers[2];
    counter[3] = numbers[3];
    accel_sample_philox(counter, numbers, words);
    return (uint64_t)words[1] << 32 | words[0];
}

static double draw_row(struct token *tokens, uint64_t n, const double *settings, const double *draw,
                       const double *recent, uint64_t recent_count)
{
    uint64_t point, sum;

    if (!is_within(settings[0], 0, (double)FLT_MAX) || !is_within(settings[1], 0, 1) || !is_within(settings[2], 0, 1) ||
        !is_within(settings[3], 0x1p-126, (double)FLT_MAX))
        return -1;
    for (uint64_t i = 0; i < n; i++)
        if (!(tokens[i].logit < INFINITY))
            return -1;
    penalize(tokens, n, recent, recent_count, (float)settings[3]);
    qsort(tokens, n, sizeof(*tokens), by_logit);
    if (!isfinite(tokens[0].logit))
        return -1;
    if (settings[0] < 0x1p-126)
        return tokens[0].id;
    sum = filter(tokens, n, settings, (int32_t)draw[6]);
    qsort(tokens, n, sizeof(*tokens), by_id);
    point = high_half(random_of(draw), sum);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t weight = tokens[i].passes ? tokens[i].weight : 0;

        if (point < weight)
            return tokens[i].id;
        point -= weight;
    }
    return -1;
}

static void compute_sample(const struct reference_call *call)
{
    const struct reference_value *logits = call->inputs[0], *recent = call->inputs[3];
    const uint64_t n = logits->extents[1], recent_count = recent == NULL ? 0 : recent->extents[1];
    struct token *tokens = calloc(n, sizeof(*tokens));

    for (uint64_t r = 0; r < logits->extents[0]; r++) {
        for (uint64_t i = 0; i < n && tokens != NULL; i++)
            tokens[i] = (struct token){.logit = (float)logits->at[r * n + i], .id = (uint32_t)i};
        call->outputs[0]->at[r] = tokens == NULL
                                      ? NAN
                                      : draw_row(tokens, n, call->inputs[1]->at + r * ACCEL_SAMPLE_SETTINGS,
                                                 call->inputs[2]->at + r * ACCEL_SAMPLE_DRAW,
                                                 recent == NULL ? NULL : recent->at + r * recent_count, recent_count);
    }
    free(tokens);
}

/* ---- cases ---- */

enum { FILTERS, TIES, REFUSED };

/* Fills a row of logits: of a model, or all negative, of few levels, all equal, barred but some, or with what no logit
 * may be. */
static void fill_logits(struct trial_inputs *inputs, uint64_t r)
{
    struct conform *conform = inputs->conform;
    const uint64_t n = inputs->extents[0][1];
    float *logits = inputs->floats[0] + r * n;
    const bool has_ties = inputs->row->parameter == TIES;

    for (uint64_t i = 0; i < n; i++) {
        float level = (float)conform_below(conform, 5) - 2;

        logits[i] = has_ties ? (r % 3 == 2 ? 1 : level) : logits[i] * (r % 4 == 3 ? 300 : 12) - (r % 4 == 1 ? 13 : 0);
        if (has_ties && r % 3 == 1 && conform_below(conform, 2) == 0)
            logits[i] = -INFINITY;
    }
    if (inputs->row->parameter == REFUSED && r % 4 < 3)
        logits[conform_below(conform, (uint32_t)n)] = r % 4 == 0 ? NAN : r % 4 == 1 ? INFINITY : 2;
    for (uint64_t i = 0; i < n && inputs->row->parameter == REFUSED && r % 8 == 2; i++)
        logits[i] = -INFINITY;
}

static void fill_settings(struct trial_inputs *inputs, uint64_t r)
{
    static const float temperatures[] = {1, 0.7f, 0, 1.5f, 0.05f, 1, 100, 1e-30f};
    static const float top_ps[] = {1, 0.9f, 0.5f, 0, 0.99999f, 1, 1, 0.3f, 1};
    static const float min_ps[] = {0, 0, 0.05f, 0, 0.5f, 1, 0};
    static const float penalties[] = {1, 1.1f, 2, 0.5f, 1.3f};
    static const int32_t top_ks[] = {0, 40, 1, 3, 0, 2000, 7, -1, 0, 0, 100};
    struct conform *conform = inputs->conform;
    float *settings = inputs->floats[1] + r * ACCEL_SAMPLE_SETTINGS;
    int32_t *draw = inputs->numbers[2] + r * ACCEL_SAMPLE_DRAW;

    settings[0] = temperatures[conform_below(conform, COUNT(temperatures))];
    settings[1] = top_ps[conform_below(conform, COUNT(top_ps))];
    settings[2] = min_ps[conform_below(conform, COUNT(min_ps))];
    settings[3] = penalties[conform_below(conform, COUNT(penalties))];
    draw[6] = top_ks[conform_below(conform, COUNT(top_ks))];
    if (inputs->row->parameter == REFUSED && r % 4 == 3)
        settings[conform_below(conform, 4)] = r % 8 == 3 ? -1.0f : NAN;
}

/* Fills recent tokens, of which some occur twice and some are none. */
static void fill_recent(struct trial_inputs *inputs)
{
    const uint64_t n = inputs->extents[0][1];

    for (uint64_t i = 0; i < inputs->elements[3]; i++) {
        int32_t id = (int32_t)conform_below(inputs->conform, (uint32_t)n + 2) - 1;

        if (i % 7 == 6)
            id = id < 0 ? INT32_MAX : INT32_MIN + id;
        inputs->numbers[3][i] = i % 5 == 4 ? inputs->numbers[3][i - 1] : id;
    }
}

static void fill(struct trial_inputs *inputs)
{
    for (uint64_t r = 0; r < inputs->extents[0][0]; r++) {
        fill_logits(inputs, r);
        fill_settings(inputs, r);
    }
    if (inputs->count > 3)
        fill_recent(inputs);
}

static void sample_case(struct conform *conform, uint32_t rows, uint32_t n, uint32_t recent)
{
    static const char *const kinds[] = {"filters", "ties", "rows that are refused"};
    char inputs[100], window[20] = "";

    if (recent > 0)
        snprintf(window, sizeof(window), " i:t%u,%u", rows, recent);
    snprintf(inputs, sizeof(inputs), "f:t%u,%u f:t%u,4 i:t%u,7%s", rows, n, rows, rows, window);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_SAMPLE,
                                                 .inputs = inputs,
                                                 .text = kinds[conform->parameter],
                                                 .fill = fill,
                                                 .parameter = conform->parameter});
}

static void sample(struct conform *conform)
{
    static const uint32_t cases[][3] = {{1, 1, 0},     {40, 2, 1},   {64, 7, 0},     {300, 64, 3},     {130, 255, 20},
                                        {33, 1000, 0}, {9, 4097, 9}, {5, 32000, 64}, {2, 151936, 300}, {70, 512, 600}};

    for (uint32_t i = 0; i < COUNT(cases); i++)
        sample_case(conform, cases[i][0], cases[i][1], cases[i][2]);
    for (uint32_t i = 0; i < conform->rounds; i++)
        sample_case(conform, 1 + conform_below(conform, 20), 1 + conform_below(conform, 5000),
                    conform_below(conform, 2) * conform_below(conform, 100));
}

const struct conform_operator conform_op_sample = {.compute = compute_sample,
                                                   .tests = {CONFORM_TEST("filters", sample, FILTERS),
                                                             CONFORM_TEST("ties", sample, TIES),
                                                             CONFORM_TEST("refused", sample, REFUSED)}};
