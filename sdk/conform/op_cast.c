/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of casts, and of operators on activations in F16 and BF16: what a driver claims of them. */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

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
    const uint32_t type = ((const struct accel_cast *)call->attributes)->type;

    for (uint64_t i = 0; i < reference_elements(call->inputs[0]); i++)
        call->outputs[0]->at[i] = cast_element(type, call->inputs[0]->at[i]);
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

/* Tests an operator over elements or rows, whose second input or weight is in the same type or in F32. */
static void half(struct conform *conform)
{
    static const uint32_t shapes[][2] = {{1, 1}, {3, 7}, {17, 33}, {5, 4096}, {130, 48}, {301, 3}, {2, 65551}};
    static const struct accel_activation function = {.size = sizeof(function), .function = ACCEL_FN_SILU};
    static const struct accel_norm norm = {.size = sizeof(norm), .epsilon = 1e-5f};
    const uint32_t op = conform->parameter / 4;
    const char letter = types[conform->parameter % 4].letter;

    for (uint32_t i = 0; i < 2 * COUNT(shapes) + conform->rounds; i++) {
        uint32_t rows = 1 + conform_below(conform, 60), width = 1 + conform_below(conform, 900);
        const char other = i % 2 == 0 ? letter : 'f';
        char inputs[80];
        int length;

        if (i < 2 * COUNT(shapes)) {
            rows = shapes[i / 2][0];
            width = shapes[i / 2][1];
        }
        length = snprintf(inputs, sizeof(inputs), "%c:t%u,%u", letter, rows, width);
        if (op == ACCEL_OP_RMS_NORM)
            snprintf(inputs + length, sizeof(inputs) - (size_t)length, " %c:%u", toupper(other), width);
        else if (op != ACCEL_OP_ACTIVATION)
            snprintf(inputs + length, sizeof(inputs) - (size_t)length, " %c:t%u,%u", other, rows, width);
        trial_case_run(conform,
                       &(struct trial_case){.op = op,
                                            .ceiling = TRIAL_ROUNDED_F16,
                                            .inputs = inputs,
                                            .attributes = op == ACCEL_OP_RMS_NORM ? (const void *)&norm
                                                          : op == ACCEL_OP_ADD || op == ACCEL_OP_MUL ? NULL
                                                                                                     : &function,
                                            .text = ""});
    }
}

static void half_matmul(struct conform *conform)
{
    static const uint32_t shapes[][3] = {{1, 16, 32}, {2, 33, 96}, {5, 7, 256}, {18, 64, 512}, {67, 48, 128}};
    static const uint32_t weights[] = {ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_Q8_0, ACCEL_Q4_0};
    static const struct accel_matmul at = {.size = sizeof(at), .function = ACCEL_FN_NONE, .rounding = ACCEL_F32};
    const char letter = types[conform->parameter].letter;

    for (uint32_t i = 0; i < COUNT(shapes) * COUNT(weights); i++) {
        const uint32_t *shape = shapes[i % COUNT(shapes)], m = shape[0], n = shape[1], k = shape[2];
        char inputs[100];
        int length = snprintf(inputs, sizeof(inputs), "%c:t%u,%u W:%u,%u", letter, m, k, n, k);

        if (m % 2 == 0)
            snprintf(inputs + length, sizeof(inputs) - (size_t)length, " %c:%u %c:t%u,%u", toupper(letter), n, letter,
                     m, n);
        conform->parameter = weights[i / COUNT(shapes)];
        trial_case_run(
            conform,
            &(struct trial_case){
                .op = ACCEL_OP_MATMUL, .ceiling = TRIAL_ROUNDED_F16, .inputs = inputs, .attributes = &at, .text = ""});
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
    }
}

const struct conform_operator conform_op_cast = {.add = add_cast, .compute = compute_cast};
