/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of operators that move or rotate rows: gather, reshape, rotary positions. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial.h"

#define FIXED 8u /* cases in addition to the random ones */

/* ---- gather ---- */

/* Gathers rows of x [n, a, b], F32 or I32. Some indices are out of range and read row 0; the last one is that of
 * the last row. */
static void gather_case(struct conform *conform, uint32_t type, uint32_t rows, uint32_t chosen, uint32_t width)
{
    struct accel_dim dims[3] = {trial_fixed(rows), trial_fixed(1 + conform_below(conform, 2)), trial_fixed(width)};
    uint32_t inputs[2], rank = 2 + (uint32_t)(dims[1].add > 1), row = width * (uint32_t)dims[1].add;
    struct accel_dim count;
    struct trial trial;
    int32_t *index, *numbers;
    float *x;
    double *want;

    trial_begin(&trial, conform, TRIAL_EXACT, "%u of [%u, %u]", chosen, rows, row);
    count = trial_rows(&trial, chosen);
    x = conform_floats(conform, (uint64_t)rows * row);
    numbers = (int32_t *)x;
    want = conform_memory(conform, (uint64_t)chosen * row, sizeof(*want));
    index = conform_memory(conform, chosen, sizeof(*index));
    for (uint64_t i = 0; i < (uint64_t)rows * row && type == ACCEL_I32; i++)
        numbers[i] = (int32_t)conform_below(conform, 1u << 30) - (1 << 29);
    for (uint32_t i = 0; i < chosen; i++) {
        static const int32_t outside[] = {-1, INT32_MIN, INT32_MAX, 0};
        uint32_t wild = conform_below(conform, 12);
        uint32_t from;

        index[i] = wild < 3 ? outside[wild] : wild == 3 ? (int32_t)rows : (int32_t)conform_below(conform, rows);
        index[i] = i + 1 == chosen ? (int32_t)rows - 1 : index[i];
        from = index[i] >= 0 && index[i] < (int32_t)rows ? (uint32_t)index[i] : 0;
        for (uint32_t e = 0; e < row; e++)
            want[(uint64_t)i * row + e] =
                type == ACCEL_I32 ? numbers[(uint64_t)from * row + e] : (double)x[(uint64_t)from * row + e];
    }
    if (rank == 2)
        dims[1] = dims[2];
    inputs[0] = trial_input(&trial, "x", type, rank, dims, x);
    inputs[1] = trial_input(&trial, "index", ACCEL_I32, 1, &count, index);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_GATHER, "gather", inputs, 2, NULL), want, 0);
    trial_run(&trial);
    free(x), free(want), free(index);
}

static void gather(struct conform *conform)
{
    static const uint32_t cases[FIXED][3] = {{1, 1, 1},   {7, 3, 5},   {300, 1, 2048},  {40, 500, 3},
                                             {5, 64, 64}, {2, 9, 129}, {70001, 500, 3}, {9, 65551, 2}};

    for (uint32_t i = 0; i < FIXED; i++)
        gather_case(conform, conform->parameter, cases[i][0], cases[i][1], cases[i][2]);
    for (uint32_t i = 0; i < conform->rounds; i++)
        gather_case(conform, conform->parameter, 1 + conform_below(conform, 60), 1 + conform_below(conform, 60),
                    1 + conform_below(conform, 200));
}

/* ---- reshape ---- */

/* Reshapes the heads of a token to a row, and back; a multiplication keeps the reshape from being the whole graph.
 * With `is_kept` the reshaped input is an output too, so it cannot share the storage of the input. */
static void reshape_case(struct conform *conform, uint32_t tokens, uint32_t heads, uint32_t size, bool is_kept)
{
    struct accel_dim dims[3], flat[2];
    uint64_t count = (uint64_t)tokens * heads * size;
    uint32_t values[2], shaped = 0;
    struct conform_tensor row;
    struct trial trial;
    double *want, *copy;
    float *x;

    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u, %u] as [%u, %u]%s", tokens, heads, size, tokens, heads * size,
                is_kept ? ", which is an output" : "");
    dims[0] = flat[0] = trial_rows(&trial, tokens);
    dims[1] = trial_fixed(heads);
    dims[2] = trial_fixed(size);
    flat[1] = trial_fixed((uint64_t)heads * size);
    x = conform_floats(conform, count);
    want = conform_memory(conform, 2 * count, sizeof(*want));
    copy = want + count;
    conform_tensor_make(conform, ACCEL_F32, 1, (uint64_t)heads * size, &row);
    for (uint64_t i = 0; i < count; i++) {
        want[i] = (double)x[i] * row.exact[i % ((uint64_t)heads * size)];
        copy[i] = x[i];
    }
    values[0] = trial_input(&trial, "x", ACCEL_F32, 3, dims, x);
    if (trial.code == ACCEL_OK)
        trial.code = accel_builder_reshape(trial.builder, "rows", values[0], 2, flat, &shaped, &conform->error);
    if (is_kept)
        trial_output(&trial, shaped, copy, 0);
    values[0] = shaped;
    values[1] = trial_weight(&trial, "b", 1, &row);
    shaped = trial_node(&trial, ACCEL_OP_MUL, "mul", values, 2, NULL);
    if (trial.code == ACCEL_OK)
        trial.code = accel_builder_reshape(trial.builder, "heads", shaped, 3, dims, &shaped, &conform->error);
    trial_output(&trial, shaped, want, 1);
    trial_run(&trial);
    conform_tensor_free(&row);
    free(x), free(want);
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

static void rotary_case(struct conform *conform, uint32_t tokens, uint32_t heads, uint32_t size, uint32_t pairs,
                        uint32_t positions, bool is_input)
{
    struct accel_rotary attributes = {.size = sizeof(attributes), .pairing = conform->parameter, .scale = 1};
    uint64_t count = (uint64_t)tokens * heads * size;
    struct conform_tensor frequency;
    struct accel_dim dims[3];
    struct trial trial;
    int32_t *position;
    uint32_t inputs[3];
    double *want;
    float *x;

    attributes.scale = conform_below(conform, 2) == 0 ? 1.0f : 1.1931f;
    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u, %u], %u pairs, positions up to %u, scale %g, frequency %s",
                tokens, heads, size, pairs, positions, (double)attributes.scale, is_input ? "of the step" : "a weight");
    dims[0] = trial_rows(&trial, tokens);
    dims[1] = trial_fixed(heads);
    dims[2] = trial_fixed(size);
    x = conform_floats(conform, count);
    want = conform_memory(conform, count, sizeof(*want));
    position = conform_memory(conform, tokens, sizeof(*position));
    conform_tensor_make(conform, ACCEL_F32, 1, pairs, &frequency);
    for (uint32_t i = 0; i < pairs; i++)
        frequency.exact[i] = ((float *)frequency.planes[0])[i] = (float)pow(10000, -1.0 * i / pairs);
    for (uint32_t t = 0; t < tokens; t++)
        position[t] = (int32_t)(t == 0 ? 0 : t == 1 ? positions : conform_below(conform, positions));
    reference_rotary(&attributes, x, position, frequency.exact, tokens, heads, size, pairs, want);
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, 3, dims, x);
    inputs[1] = trial_input(&trial, "position", ACCEL_I32, 1, dims, position);
    dims[0] = trial_fixed(pairs);
    inputs[2] = is_input ? trial_input(&trial, "frequency", ACCEL_F32, 1, dims, frequency.exact)
                         : trial_weight(&trial, "frequency", 1, &frequency);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_ROTARY, "rotary", inputs, 3, &attributes), want, 1);
    trial_run(&trial);
    conform_tensor_free(&frequency);
    free(x), free(want), free(position);
}

static void rotary(struct conform *conform)
{
    static const uint32_t cases[FIXED][5] = {{1, 1, 2, 1, 1},        {3, 4, 8, 4, 3000},     {1, 9, 64, 32, 1},
                                             {130, 2, 16, 8, 3000},  {7, 3, 80, 20, 3000},   {4, 32, 128, 64, 3000},
                                             {9, 2, 64, 32, 131071}, {65551, 1, 6, 2, 40000}};

    for (uint32_t i = 0; i < FIXED; i++)
        rotary_case(conform, cases[i][0], cases[i][1], cases[i][2], cases[i][3], cases[i][4], i % 2 == 0);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint32_t size = 2 + conform_below(conform, 100);

        rotary_case(conform, 1 + conform_below(conform, 30), 1 + conform_below(conform, 6), size,
                    1 + conform_below(conform, size / 2), 3000, conform_below(conform, 2) == 0);
    }
}

/* ---- the operators ---- */

static void add_gather(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_F32, gather, "gather/f32");
    conform_add(list, CONFORM_DEVICE, ACCEL_I32, gather, "gather/i32");
}

static void add_reshape(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, 0, reshape, "reshape/rows");
}

static void add_rotary(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_PAIR_HALVES, rotary, "rotary/halves");
    conform_add(list, CONFORM_DEVICE, ACCEL_PAIR_NEIGHBOURS, rotary, "rotary/neighbours");
}

const struct conform_operator conform_op_gather = {.add = add_gather};
const struct conform_operator conform_op_reshape = {.add = add_reshape};
const struct conform_operator conform_op_rotary = {.add = add_rotary};
