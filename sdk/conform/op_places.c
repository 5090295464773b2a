/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move or rotate rows: gather, reshape, rotary positions; references and cases. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

/* ---- gather ---- */

/* An index out of range reads row 0. */
static void compute_gather(const struct reference_call *call)
{
    const struct reference_value *x = call->inputs[0], *index = call->inputs[1];
    const uint64_t row = reference_elements(x) / x->extents[0];

    for (uint64_t i = 0; i < index->extents[0]; i++) {
        const bool is_inside = index->at[i] >= 0 && index->at[i] < (double)x->extents[0];

        memcpy(call->outputs[0]->at + i * row, x->at + (is_inside ? (uint64_t)index->at[i] : 0) * row,
               row * sizeof(*x->at));
    }
}

/* Fills indices of which some are out of range; the last one is that of the last row. */
static void fill_index(struct trial_inputs *inputs)
{
    static const int32_t outside[] = {-1, INT32_MIN, INT32_MAX};
    const uint64_t rows = inputs->extents[0][0], count = inputs->elements[1];

    for (uint64_t i = 0; i < count; i++) {
        uint32_t wild = conform_below(inputs->conform, 12);

        inputs->numbers[1][i] = wild < 3    ? outside[wild]
                                : wild == 3 ? (int32_t)rows
                                            : (int32_t)conform_below(inputs->conform, (uint32_t)rows);
    }
    inputs->numbers[1][count - 1] = (int32_t)rows - 1;
}

/* Gathers rows of x in the type of the test. */
static void gather(struct conform *conform)
{
    static const uint32_t cases[][3] = {{1, 1, 1},   {7, 3, 5},   {300, 1, 2048},  {40, 500, 3},
                                        {5, 64, 64}, {2, 9, 129}, {70001, 500, 3}, {9, 65551, 2}};
    const uint32_t type = conform->parameter;
    const char letter = type == ACCEL_I32 ? 'i' : type == ACCEL_F16 ? 'h' : type == ACCEL_BF16 ? 'b' : 'f';

    for (uint32_t i = 0; i < COUNT(cases) + conform->rounds; i++) {
        const uint32_t random[3] = {1 + conform_below(conform, 60), 1 + conform_below(conform, 60),
                                    1 + conform_below(conform, 200)};
        const uint32_t *extents = i < COUNT(cases) ? cases[i] : random;
        char inputs[60];

        snprintf(inputs, sizeof(inputs), conform_below(conform, 2) ? "%c:%u,2,%u i:t%u" : "%c:%u,%u i:t%u", letter,
                 extents[0], extents[2], extents[1]);
        trial_case_run(conform,
                       &(struct trial_case){.op = ACCEL_OP_GATHER, .inputs = inputs, .text = "", .fill = fill_index});
    }
}

/* ---- reshape ---- */

static void compute_reshape(const struct reference_call *call)
{
    memcpy(call->outputs[0]->at, call->inputs[0]->at, reference_elements(call->inputs[0]) * sizeof(double));
}

/* Reshapes the heads of a token to a row, and back; a multiplication keeps the reshape from being the whole graph.
 * With `is_kept` the reshaped input is an output too, so it cannot share the storage of the input. */
static void reshape_case(struct conform *conform, uint32_t tokens, uint32_t heads, uint32_t size, bool is_kept)
{
    struct accel_dim dims[3], flat[2];
    uint32_t values[2], shaped = 0;
    struct conform_tensor row;
    struct trial trial;
    float *x;

    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u, %u] as [%u, %u]%s", tokens, heads, size, tokens, heads * size,
                is_kept ? ", which is an output" : "");
    dims[0] = flat[0] = trial_rows(&trial, tokens);
    dims[1] = trial_fixed(heads);
    dims[2] = trial_fixed(size);
    flat[1] = trial_fixed((uint64_t)heads * size);
    x = conform_floats(conform, (uint64_t)tokens * heads * size);
    conform_tensor_make(conform, ACCEL_F32, 1, (uint64_t)heads * size, &row);
    values[0] = trial_input(&trial, "x", ACCEL_F32, 3, dims, x);
    if (trial.code == ACCEL_OK)
        trial.code = accel_builder_reshape(trial.builder, "rows", values[0], 2, flat, &shaped, &conform->error);
    if (is_kept)
        trial_expect(&trial, shaped, 0);
    values[0] = shaped;
    values[1] = trial_weight(&trial, "b", 1, &row);
    shaped = trial_node(&trial, ACCEL_OP_MUL, "mul", values, 2, NULL);
    if (trial.code == ACCEL_OK)
        trial.code = accel_builder_reshape(trial.builder, "heads", shaped, 3, dims, &shaped, &conform->error);
    trial_expect(&trial, shaped, 1);
    trial_run(&trial);
    conform_tensor_free(&row);
    free(x);
}

static void reshape(struct conform *conform)
{
    reshape_case(conform, 1, 1, 1, false);
    reshape_case(conform, 3, 5, 7, true);
    reshape_case(conform, 65, 8, 16, false);
    reshape_case(conform, 65, 8, 16, true);
    reshape_case(conform, 65551, 1, 3, true);
    for (uint32_t i = 0; i < conform->rounds; i++)
        reshape_case(conform, 1 + conform_below(conform, 40), 1 + conform_below(conform, 9),
                     1 + conform_below(conform, 70), conform_below(conform, 2) == 0);
}

/* ---- rotary ---- */

/* The angle is a product in F32, as its inputs are F32. */
static void compute_rotary(const struct reference_call *call)
{
    const struct accel_rotary *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *frequency = call->inputs[2];
    const uint64_t heads = x->extents[1], size = x->extents[2], pairs = frequency->extents[0];
    const bool is_halves = at->pairing == ACCEL_PAIR_HALVES;
    double *y = call->outputs[0]->at;

    memcpy(y, x->at, reference_elements(x) * sizeof(*y));
    for (uint64_t r = 0; r < x->extents[0] * heads; r++)
        for (uint64_t i = 0; i < pairs; i++) {
            uint64_t a = r * size + (is_halves ? i : 2 * i), b = is_halves ? a + pairs : a + 1;
            double angle = (double)((float)call->inputs[1]->at[r / heads] * (float)frequency->at[i]);
            double cosine = at->scale * cos(angle), sine = at->scale * sin(angle);

            y[a] = x->at[a] * cosine - x->at[b] * sine;
            y[b] = x->at[a] * sine + x->at[b] * cosine;
        }
}

/* Fills positions below the parameter of the case, and frequencies of a model. */
static void fill_rotary(struct trial_inputs *inputs)
{
    const uint32_t positions = (uint32_t)inputs->row->parameter, pairs = (uint32_t)inputs->extents[2][0];

    for (uint64_t t = 0; t < inputs->elements[1]; t++)
        inputs->numbers[1][t] = (int32_t)(t == 0 ? 0 : t == 1 ? positions : conform_below(inputs->conform, positions));
    for (uint32_t i = 0; i < pairs && inputs->floats[2] != NULL; i++)
        inputs->floats[2][i] = (float)pow(10000, -1.0 * i / pairs);
}

/* Frequencies are an input of the step, or random weights. */
static void rotary_case(struct conform *conform, uint32_t tokens, uint32_t heads, uint32_t size, uint32_t pairs,
                        uint32_t positions, bool is_input)
{
    const struct accel_rotary at = {
        .size = sizeof(at), .pairing = conform->parameter, .scale = conform_below(conform, 2) == 0 ? 1.0f : 1.1931f};
    char inputs[80], text[60];

    snprintf(inputs, sizeof(inputs), "f:t%u,%u,%u i:t%u %c:%u", tokens, heads, size, tokens, is_input ? 'f' : 'F',
             pairs);
    snprintf(text, sizeof(text), "positions up to %u, scale %g", positions, (double)at.scale);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_ROTARY,
                                                 .ceiling = TRIAL_F32,
                                                 .inputs = inputs,
                                                 .attributes = &at,
                                                 .text = text,
                                                 .scale = 1,
                                                 .fill = fill_rotary,
                                                 .parameter = positions});
}

static void rotary(struct conform *conform)
{
    static const uint32_t cases[][5] = {{1, 1, 2, 1, 1},        {3, 4, 8, 4, 3000},     {1, 9, 64, 32, 1},
                                        {130, 2, 16, 8, 3000},  {7, 3, 80, 20, 3000},   {4, 32, 128, 64, 3000},
                                        {9, 2, 64, 32, 131071}, {65551, 1, 6, 2, 40000}};

    for (uint32_t i = 0; i < COUNT(cases); i++)
        rotary_case(conform, cases[i][0], cases[i][1], cases[i][2], cases[i][3], cases[i][4], i % 2 == 0);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint32_t size = 2 + conform_below(conform, 100);

        rotary_case(conform, 1 + conform_below(conform, 30), 1 + conform_below(conform, 6), size,
                    1 + conform_below(conform, size / 2), 3000, conform_below(conform, 2) == 0);
    }
}

/* ---- the operators ---- */

const struct conform_operator conform_op_gather = {
    .compute = compute_gather,
    .tests = {CONFORM_TEST("f32", gather, ACCEL_F32), CONFORM_TEST("i32", gather, ACCEL_I32),
              CONFORM_TEST("x_f16", gather, ACCEL_F16), CONFORM_TEST("x_bf16", gather, ACCEL_BF16)}};
const struct conform_operator conform_op_reshape = {.compute = compute_reshape,
                                                    .tests = {CONFORM_TEST("rows", reshape, 0)}};
const struct conform_operator conform_op_rotary = {
    .compute = compute_rotary,
    .tests = {CONFORM_TEST("halves", rotary, ACCEL_PAIR_HALVES),
              CONFORM_TEST("neighbours", rotary, ACCEL_PAIR_NEIGHBOURS)}};
