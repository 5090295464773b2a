/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of casts, and of operators on activations in F16 and BF16: what a driver claims of them. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/half.h>

#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof(*(list))))

static const struct {
    uint32_t type;
    char letter; /* of an input */
    const char *name;
} types[] = {{ACCEL_F32, 'f', "f32"}, {ACCEL_F16, 'h', "f16"}, {ACCEL_BF16, 'b', "bf16"}, {ACCEL_I32, 'i', "i32"}};

/* ---- cast ---- */

/* Rounds to numbers of `bits` bits whose exponent is at least `lowest`. */
static double round_to(double x, int bits, int lowest, double most)
{
    double unit, rounded;
    int exponent;

    if (x == 0 || !isfinite(x))
        return x;
    (void)frexp(x, &exponent);
    unit = ldexp(1, (exponent - 1 > lowest ? exponent - 1 : lowest) - (bits - 1));
    rounded = nearbyint(x / unit) * unit;
    return fabs(rounded) > most ? copysign((double)INFINITY, x) : rounded;
}

static double cast_element(uint32_t type, double x)
{
    switch (type) {
    case ACCEL_F16:
        return round_to((double)(float)x, 11, -14, 65504);
    case ACCEL_BF16:
        return round_to((double)(float)x, 8, -126, 0x1.fep127);
    case ACCEL_I32:
        return isnan(x) ? 0 : x >= 0x1p31 ? 0x1p31 - 1 : x <= -0x1p31 ? -0x1p31 : trunc(x);
    default:
        return (double)(float)x;
    }
}

static void compute_cast(const struct reference_call *call)
{
    const struct reference_value *x = call->inputs[0], *y = call->outputs[0];
    uint64_t count = 1;

    for (uint32_t d = 0; d < x->rank; d++)
        count *= x->extents[d];
    for (uint64_t i = 0; i < count; i++)
        y->at[i] = cast_element(((const struct accel_cast *)call->attributes)->type, x->at[i]);
}

/* Fills numbers of all sizes, and those at which types end or round. */
static void fill_numbers(struct trial_inputs *inputs)
{
    static const float edges[] = {
        0,        -0.0f,   INFINITY,     -INFINITY,  NAN,      65504,      65519.99f,      65520,     -65536,
        6.1e-5f,  6e-8f,   0x1p-25f,     0x1.8p-25f, 0x1p-24f, 0x1.002p0f, 0x1.006p0f,     0x1.01p0f, 0x1.03p0f,
        3.39e38f, 3.4e38f, 0x1.ffp127f,  1e-40f,     0x1p31f,  -0x1p31f,   0x1.fffffep30f, 2.5f,      -2.5f,
        0.99f,    -1e20f,  0x1.ffffp-15f};
    static const int32_t whole[] = {0,         1,        -1,    INT32_MAX, INT32_MIN, 16777217,
                                    -16777219, 33554435, 65519, 65520,     257,       2049};
    struct conform *conform = inputs->conform;

    for (uint64_t e = 0; e < inputs->elements[0]; e++) {
        if (inputs->numbers[0] != NULL) {
            inputs->numbers[0][e] = conform_below(conform, 3) == 0
                                        ? whole[conform_below(conform, COUNT(whole))]
                                        : inputs->numbers[0][e] >> conform_below(conform, 30);
            continue;
        }
        inputs->floats[0][e] = conform_below(conform, 3) == 0
                                   ? edges[conform_below(conform, COUNT(edges))]
                                   : ldexpf(inputs->floats[0][e], (int)conform_below(conform, 70) - 35);
    }
}

static void cast(struct conform *conform)
{
    static const char *const shapes[] = {"t1",       "7",         "t3,64",        "t17,33",
                                         "t65551,3", "t5,3,2,17", "t2,3,2,4,3,2", "t66001"};
    const struct accel_cast at = {.size = sizeof(at), .type = types[conform->parameter % 4].type};
    char inputs[80], name[40];

    snprintf(name, sizeof(name), "to %s", types[conform->parameter % 4].name);
    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        char shape[60];

        snprintf(shape, sizeof(shape), "t%u,%u", 1 + conform_below(conform, 50), 1 + conform_below(conform, 500));
        snprintf(inputs, sizeof(inputs), "%c:%s", types[conform->parameter / 4].letter,
                 i < COUNT(shapes) ? shapes[i] : shape);
        trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_CAST,
                                                     .inputs = inputs,
                                                     .attributes = &at,
                                                     .text = name,
                                                     .has_nans = true,
                                                     .fill = fill_numbers});
    }
}

/* ---- operators on halves ---- */

/* A value of a case in one of the types. */
struct typed {
    float *floats; /* as rounded */
    uint16_t *halves;
};

static struct typed make_typed(struct conform *conform, uint32_t type, uint64_t count)
{
    struct typed typed = {.floats = conform_floats(conform, count),
                          .halves = conform_memory(conform, count, sizeof(*typed.halves))};

    for (uint64_t i = 0; i < count && type != ACCEL_F32; i++) {
        typed.halves[i] =
            type == ACCEL_F16 ? accel_f16_from_f32(typed.floats[i]) : accel_bf16_from_f32(typed.floats[i]);
        typed.floats[i] = (float)conform_element(type, typed.halves, i);
    }
    return typed;
}

static uint32_t add_typed(struct trial *trial, const char *name, uint32_t type, const struct typed *typed,
                          const struct accel_dim dims[2])
{
    return trial_input(trial, name, type, 2, dims, type == ACCEL_F32 ? (const void *)typed->floats : typed->halves);
}

static void free_typed(struct typed *typed)
{
    free(typed->floats), free(typed->halves);
}

/* Tests an operator over elements or rows. `other` is the type of the second input. */
static void half_case(struct conform *conform, uint32_t op, uint32_t type, uint32_t other, uint32_t rows,
                      uint32_t width)
{
    const struct accel_activation function = {.size = sizeof(function), .function = ACCEL_FN_SILU};
    const struct accel_norm norm = {.size = sizeof(norm), .epsilon = 1e-5f};
    const void *attributes = op == ACCEL_OP_RMS_NORM                            ? (const void *)&norm
                             : op == ACCEL_OP_ACTIVATION || op == ACCEL_OP_GATE ? (const void *)&function
                                                                                : NULL;
    const uint64_t count = (uint64_t)rows * width;
    struct typed x = make_typed(conform, type, count), b = make_typed(conform, other, count);
    double *want = conform_memory(conform, count, sizeof(*want));
    struct conform_tensor weight;
    struct accel_dim dims[2];
    struct trial trial;
    uint32_t inputs[2];

    trial_begin(&trial, conform, TRIAL_ROUNDED_F16, "[%u, %u] in %s, the other in %s", rows, width,
                type == ACCEL_F16    ? "f16"
                : type == ACCEL_BF16 ? "bf16"
                                     : "f32",
                other == ACCEL_F16    ? "f16"
                : other == ACCEL_BF16 ? "bf16"
                                      : "f32");
    trial.by_row = true;
    dims[0] = trial_rows(&trial, rows);
    dims[1] = trial_fixed(width);
    conform_tensor_make(conform, other, 1, width, &weight);
    inputs[0] = add_typed(&trial, "x", type, &x, dims);
    if (op == ACCEL_OP_RMS_NORM)
        inputs[1] = trial_weight(&trial, "weight", 1, &weight);
    else if (op != ACCEL_OP_ACTIVATION)
        inputs[1] = add_typed(&trial, "b", other, &b, dims);
    for (uint64_t i = 0; i < count; i++) {
        double a = (double)x.floats[i], c = (double)b.floats[i];

        want[i] = op == ACCEL_OP_ADD   ? a + c
                  : op == ACCEL_OP_MUL ? a * c
                                       : reference_function(ACCEL_FN_SILU, a) * (op == ACCEL_OP_GATE ? c : 1);
    }
    if (op == ACCEL_OP_RMS_NORM)
        reference_norm(op, x.floats, weight.exact, NULL, (double)norm.epsilon, rows, width, want);
    trial_output(&trial,
                 trial_node(&trial, op, accel_op_name(op), inputs, op == ACCEL_OP_ACTIVATION ? 1 : 2, attributes), want,
                 0);
    trial_run(&trial);
    conform_tensor_free(&weight);
    free_typed(&x), free_typed(&b), free(want);
}

static void half(struct conform *conform)
{
    static const uint32_t shapes[][2] = {{1, 1}, {3, 7}, {17, 33}, {5, 4096}, {130, 48}, {301, 3}, {2, 65551}};
    const uint32_t op = conform->parameter / 4, type = types[conform->parameter % 4].type;

    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        uint32_t rows = i < COUNT(shapes) ? shapes[i][0] : 1 + conform_below(conform, 60);
        uint32_t width = i < COUNT(shapes) ? shapes[i][1] : 1 + conform_below(conform, 900);

        half_case(conform, op, type, type, rows, width);
        if (op != ACCEL_OP_ACTIVATION)
            half_case(conform, op, type, ACCEL_F32, rows, width);
    }
}

static void matmul_case(struct conform *conform, uint32_t type, uint32_t weights, uint32_t m, uint32_t n, uint32_t k)
{
    const struct accel_matmul at = {.size = sizeof(at), .function = ACCEL_FN_NONE, .rounding = ACCEL_F32};
    struct typed x = make_typed(conform, type, (uint64_t)m * k), residual = make_typed(conform, type, (uint64_t)m * n);
    double *want = conform_memory(conform, (uint64_t)m * n, sizeof(*want));
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    struct conform_tensor weight, bias;
    struct accel_dim dims[2];
    struct accel_format format;
    struct trial trial;

    accel_format_describe(weights, &format);
    trial_begin(&trial, conform, TRIAL_ROUNDED_F16, "[%u, %u] times %s [%u, %u]%s", m, k, format.name, n, k,
                m % 2 == 0 ? ", bias, residual" : "");
    trial.by_row = true;
    dims[0] = trial_rows(&trial, m);
    dims[1] = trial_fixed(k);
    conform_tensor_make(conform, weights, n, k, &weight);
    conform_tensor_make(conform, type, 1, n, &bias);
    inputs[0] = add_typed(&trial, "x", type, &x, dims);
    inputs[1] = trial_weight(&trial, "w", 2, &weight);
    dims[1] = trial_fixed(n);
    if (m % 2 == 0) {
        inputs[2] = trial_weight(&trial, "bias", 1, &bias);
        inputs[3] = add_typed(&trial, "residual", type, &residual, dims);
    }
    reference_matmul(x.floats, weight.exact, m % 2 == 0 ? bias.exact : NULL, m % 2 == 0 ? residual.floats : NULL,
                     ACCEL_FN_NONE, m, n, k, want);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_MATMUL, "matmul", inputs, 4, &at), want, 0);
    trial_run(&trial);
    conform_tensor_free(&weight);
    conform_tensor_free(&bias);
    free_typed(&x), free_typed(&residual), free(want);
}

static void half_matmul(struct conform *conform)
{
    static const uint32_t shapes[][3] = {{1, 16, 32}, {2, 33, 96}, {5, 7, 256}, {18, 64, 512}, {67, 48, 128}};
    static const uint32_t weights[] = {ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_Q8_0, ACCEL_Q4_0};

    for (uint32_t i = 0; i < COUNT(shapes) * COUNT(weights); i++) {
        const uint32_t *shape = shapes[i % COUNT(shapes)];

        matmul_case(conform, types[conform->parameter].type, weights[i / COUNT(shapes)], shape[0], shape[1], shape[2]);
    }
}

/* Tests operators that move elements. */
static void half_moves(struct conform *conform)
{
    static const struct accel_axis axis = {.size = sizeof(axis), .axis = 1};
    static const struct accel_slice slice = {.size = sizeof(slice), .axis = 1, .begin = 1, .step = 2, .extent = 9};
    static const struct accel_permute permute = {.size = sizeof(permute), .order = {1, 0, 2}},
                                      transpose = {.size = sizeof(transpose), .order = {1, 0}};
    static const struct {
        uint32_t op;
        const void *attributes;
        const char *inputs;
    } cases[] = {{ACCEL_OP_CONCAT, &axis, "h:t17,33 h:t17,20"}, {ACCEL_OP_CONCAT, &axis, "h:t3,5,7 h:t3,2,7 h:t3,1,7"},
                 {ACCEL_OP_SLICE, &slice, "h:t13,21"},          {ACCEL_OP_SLICE, &slice, "h:t301,19,3"},
                 {ACCEL_OP_PERMUTE, &permute, "h:7,5,3"},       {ACCEL_OP_PERMUTE, &transpose, "h:35,67"},
                 {ACCEL_OP_PERMUTE, &transpose, "h:1,33"}};

    for (uint32_t i = 0; i < COUNT(cases); i++) {
        char inputs[60];

        if (cases[i].op != conform->parameter / 4)
            continue;
        snprintf(inputs, sizeof(inputs), "%s", cases[i].inputs);
        for (char *at = inputs; *at != '\0'; at++)
            *at = *at == 'h' ? types[conform->parameter % 4].letter : *at;
        trial_case_run(conform, &(struct trial_case){.op = cases[i].op,
                                                     .inputs = inputs,
                                                     .attributes = cases[i].attributes,
                                                     .text = "",
                                                     .mixes_rows = cases[i].op == ACCEL_OP_PERMUTE});
    }
}

/* Tests gather: rows of halves. */
static void half_gather(struct conform *conform)
{
    const uint32_t type = types[conform->parameter].type;

    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t rows = 5 + 60 * i, width = 1 + 9 * i * i, count = 3 + 20 * i;
        struct typed x = make_typed(conform, type, (uint64_t)rows * width);
        int32_t *index = conform_memory(conform, count, sizeof(*index));
        double *want = conform_memory(conform, (uint64_t)count * width, sizeof(*want));
        struct accel_dim dims[2];
        struct trial trial;
        uint32_t inputs[2];

        trial_begin(&trial, conform, TRIAL_EXACT, "%u of [%u, %u]", count, rows, width);
        dims[0] = trial_fixed(rows);
        dims[1] = trial_fixed(width);
        trial.is_symbolic = false;
        for (uint32_t r = 0; r < count; r++) {
            index[r] = (int32_t)conform_below(conform, rows);
            for (uint32_t e = 0; e < width; e++)
                want[(uint64_t)r * width + e] = (double)x.floats[(uint64_t)index[r] * width + e];
        }
        inputs[0] = add_typed(&trial, "x", type, &x, dims);
        dims[0] = trial_fixed(count);
        inputs[1] = trial_input(&trial, "index", ACCEL_I32, 1, dims, index);
        trial_output(&trial, trial_node(&trial, ACCEL_OP_GATHER, "gather", inputs, 2, NULL), want, 0);
        trial_run(&trial);
        free_typed(&x), free(index), free(want);
    }
}

static void add_cast(struct conform_list *list)
{
    static const uint32_t computes[] = {ACCEL_OP_ADD, ACCEL_OP_MUL, ACCEL_OP_RMS_NORM, ACCEL_OP_ACTIVATION,
                                        ACCEL_OP_GATE};
    static const uint32_t moves[] = {ACCEL_OP_CONCAT, ACCEL_OP_SLICE, ACCEL_OP_PERMUTE};

    for (uint32_t from = 0; from < COUNT(types); from++)
        for (uint32_t to = 0; to < COUNT(types); to++)
            if (from != to)
                conform_add(list, CONFORM_DEVICE, 4 * from + to, cast, "cast/%s_%s", types[from].name, types[to].name);
    for (uint32_t t = 1; t < 3; t++) {
        for (uint32_t i = 0; i < COUNT(computes); i++)
            conform_add(list, CONFORM_DEVICE, 4 * computes[i] + t, half, "%s/x_%s", accel_op_name(computes[i]),
                        types[t].name);
        for (uint32_t i = 0; i < COUNT(moves); i++)
            conform_add(list, CONFORM_DEVICE, 4 * moves[i] + t, half_moves, "%s/x_%s", accel_op_name(moves[i]),
                        types[t].name);
        conform_add(list, CONFORM_DEVICE, t, half_matmul, "matmul/x_%s", types[t].name);
        conform_add(list, CONFORM_DEVICE, t, half_gather, "gather/x_%s", types[t].name);
    }
}

const struct conform_operator conform_op_cast = {add_cast, compute_cast};
