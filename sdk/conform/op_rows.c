/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of operators over rows and elements: norms, softmax, argmax, add, multiply, activation functions, gates. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial.h"

/* Shape classes: one element, odd sizes, powers of two, sizes near those of thread groups, wide rows; one, several
 * or a large number of rows. The last two have more rows, and more elements in a row, than 16 bits count. */
static const struct shape {
    uint32_t rows, width;
} shapes[] = {{1, 1},    {1, 7},     {3, 64},  {2, 255},   {17, 33},  {5, 4097},
              {130, 48}, {1, 12001}, {300, 3}, {65551, 3}, {3, 66001}};

#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static struct shape shape_at(struct conform *conform, uint32_t index)
{
    struct shape shape = {1 + conform_below(conform, 40), 1 + conform_below(conform, 700)};

    return index < SHAPES ? shapes[index] : shape;
}

/* [rows, width] as a value of rank 1 to 4, whose leading extent may be a symbol: rows = leading * inner. */
struct place {
    struct accel_dim dims[4];
    uint32_t rank;
    uint32_t rows;
};

static void place_make(struct trial *trial, const struct shape *shape, struct place *place)
{
    struct conform *conform = trial->conform;
    uint32_t inner = 1 + conform_below(conform, 3);

    place->rows = shape->rows;
    place->rank = shape->rows == 1 && !trial->is_symbolic ? 1 : 2 + conform_below(conform, 3);
    if (place->rank > 2)
        place->rows *= inner;
    for (uint32_t d = 1; d < 4; d++)
        place->dims[d] = trial_fixed(1);
    if (place->rank > 1)
        place->dims[0] = trial_rows(trial, shape->rows);
    else
        trial->is_symbolic = false;
    if (place->rank > 2)
        place->dims[place->rank - 2] = trial_fixed(inner);
    place->dims[place->rank - 1] = trial_fixed(shape->width);
}

static uint32_t vector_type(uint32_t index)
{
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16, ACCEL_BF16};

    return types[index % 3];
}

/* ---- norms ---- */

/* Tests a norm on elements so small that epsilon dominates, or as large as activations are. */
static void norm_case(struct conform *conform, uint32_t op, const struct shape *shape, uint32_t type, uint32_t number)
{
    static const float epsilons[][2] = {{1e-5f, 1}, {1e-6f, 1e-3f}, {1e-3f, 0.1f}, {1e-12f, 1e-5f}, {0.5f, 1}};
    const float *pair = epsilons[number % (sizeof(epsilons) / sizeof(*epsilons))];
    struct accel_norm attributes = {.size = sizeof(attributes), .epsilon = pair[0]};
    bool has_bias = op == ACCEL_OP_LAYER_NORM && conform_below(conform, 2);
    uint32_t inputs[3] = {0, 0, ACCEL_NO_VALUE};
    struct conform_tensor weight, bias;
    struct accel_format format;
    struct place place;
    struct trial trial;
    float *x;
    double *want;

    accel_format_describe(type, &format);
    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u] of +-%g, epsilon %g, weight %s%s", shape->rows, shape->width,
                (double)pair[1], (double)pair[0], format.name, has_bias ? ", bias" : "");
    place_make(&trial, shape, &place);
    x = conform_floats(conform, (uint64_t)place.rows * shape->width);
    for (uint64_t i = 0; i < (uint64_t)place.rows * shape->width; i++)
        x[i] *= pair[1];
    want = conform_memory(conform, (uint64_t)place.rows * shape->width, sizeof(*want));
    conform_tensor_make(conform, type, 1, shape->width, &weight);
    conform_tensor_make(conform, type, 1, shape->width, &bias);
    reference_norm(op, x, weight.exact, has_bias ? bias.exact : NULL, attributes.epsilon, place.rows, shape->width,
                   want);
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, place.rank, place.dims, x);
    inputs[1] = trial_weight(&trial, "weight", 1, &weight);
    if (has_bias)
        inputs[2] = trial_weight(&trial, "bias", 1, &bias);
    trial_output(&trial, trial_node(&trial, op, "norm", inputs, op == ACCEL_OP_LAYER_NORM ? 3 : 2, &attributes), want,
                 1);
    trial_run(&trial);
    conform_tensor_free(&weight);
    conform_tensor_free(&bias);
    free(x), free(want);
}

static void norm(struct conform *conform)
{
    uint32_t count = 3 * (uint32_t)SHAPES + conform->rounds;

    for (uint32_t i = 0; i < count; i++) {
        struct shape shape = shape_at(conform, i / 3);

        norm_case(conform, conform->parameter, &shape, vector_type(i), i);
    }
}

/* ---- softmax, argmax ---- */

static void softmax_case(struct conform *conform, const struct shape *shape, float spread, float middle)
{
    struct place place;
    struct trial trial;
    uint32_t value;
    uint64_t count;
    double *want;
    float *x;

    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u], values of %g +-%g", shape->rows, shape->width, (double)middle,
                (double)spread);
    place_make(&trial, shape, &place);
    count = (uint64_t)place.rows * shape->width;
    x = conform_floats(conform, count);
    want = conform_memory(conform, count, sizeof(*want));
    for (uint64_t i = 0; i < count; i++)
        x[i] = middle + x[i] * spread;
    reference_softmax(x, place.rows, shape->width, want);
    value = trial_input(&trial, "x", ACCEL_F32, place.rank, place.dims, x);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_SOFTMAX, "softmax", &value, 1, NULL), want, 0);
    trial_run(&trial);
    free(x), free(want);
}

static void softmax(struct conform *conform)
{
    static const float spreads[] = {5, 1e-3f, 300, 3e38f}, middles[] = {0, -1000, 1000};

    for (uint32_t i = 0; i < SHAPES + conform->rounds; i++) {
        struct shape shape = shape_at(conform, i);

        softmax_case(conform, &shape, spreads[i % 4], middles[i % 3]);
    }
}

/* Tests argmax. Most rows have several largest elements, of which the first counts; in the others a single one
 * lies anywhere, or at the end. */
static void argmax_case(struct conform *conform, const struct shape *shape)
{
    struct place place;
    struct trial trial;
    uint32_t value;
    double *want;
    float *x;

    trial_begin(&trial, conform, TRIAL_EXACT, "[%u, %u]", shape->rows, shape->width);
    place_make(&trial, shape, &place);
    x = conform_memory(conform, (uint64_t)place.rows * shape->width, sizeof(*x));
    want = conform_memory(conform, place.rows, sizeof(*want));
    for (uint64_t i = 0; i < (uint64_t)place.rows * shape->width; i++)
        x[i] = (float)conform_below(conform, 1 + shape->width / 4) - (float)shape->width;
    for (uint32_t r = 0; r < place.rows; r++) {
        float *row = x + (uint64_t)r * shape->width;
        uint32_t best = 0;

        if (r % 3 != 0)
            row[r % 3 == 1 ? conform_below(conform, shape->width) : shape->width - 1] = 1;
        for (uint32_t i = 1; i < shape->width; i++)
            best = row[i] > row[best] ? i : best;
        want[r] = best;
    }
    value = trial_input(&trial, "x", ACCEL_F32, place.rank, place.dims, x);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_ARGMAX, "argmax", &value, 1, NULL), want, 0);
    trial_run(&trial);
    free(x), free(want);
}

static void argmax(struct conform *conform)
{
    for (uint32_t i = 0; i < SHAPES + conform->rounds; i++) {
        struct shape shape = shape_at(conform, i);

        argmax_case(conform, &shape);
    }
}

/* ---- add and multiply ---- */

/* Tests a binary operator. b has the shape of a, its trailing extents, or one row, and is an input or a weight. */
static void binary_case(struct conform *conform, uint32_t op, const struct shape *shape, uint32_t form, uint32_t type)
{
    static const char *const forms[] = {"the whole of a step", "trailing extents of a step", "a row of weights"};
    uint32_t inputs[2], rank = 1;
    struct conform_tensor row;
    struct accel_format format;
    struct place place;
    struct trial trial;
    uint64_t count, period;
    float *a, *b;
    double *want;

    accel_format_describe(type, &format);
    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u], b is %s in %s", shape->rows, shape->width, forms[form],
                form == 2 ? format.name : "f32");
    place_make(&trial, shape, &place);
    count = (uint64_t)place.rows * shape->width;
    if (form == 0)
        rank = place.rank;
    else if (form == 1 && place.rank > 2)
        rank = place.rank - 1;
    period = form == 0 ? count : rank > 1 ? place.rows / shape->rows * shape->width : shape->width;
    a = conform_floats(conform, count);
    b = conform_floats(conform, count);
    want = conform_memory(conform, count, sizeof(*want));
    conform_tensor_make(conform, type, 1, shape->width, &row);
    for (uint64_t i = 0; i < count; i++) {
        double other = form == 2 ? row.exact[i % shape->width] : b[i % period];

        want[i] = op == ACCEL_OP_ADD ? a[i] + other : a[i] * other;
    }
    inputs[0] = trial_input(&trial, "a", ACCEL_F32, place.rank, place.dims, a);
    inputs[1] = form == 2 ? trial_weight(&trial, "b", 1, &row)
                          : trial_input(&trial, "b", ACCEL_F32, rank, place.dims + (place.rank - rank), b);
    trial_output(&trial, trial_node(&trial, op, "binary", inputs, 2, NULL), want, 1);
    trial_run(&trial);
    conform_tensor_free(&row);
    free(a), free(b), free(want);
}

static void binary(struct conform *conform)
{
    for (uint32_t i = 0; i < SHAPES + conform->rounds; i++) {
        struct shape shape = shape_at(conform, i);

        for (uint32_t form = 0; form < 3; form++)
            binary_case(conform, conform->parameter, &shape, form, ACCEL_F32);
        if (vector_type(i) != ACCEL_F32)
            binary_case(conform, conform->parameter, &shape, 2, vector_type(i));
    }
}

/* ---- functions ---- */

/* Tests a function on ordinary values mixed with extreme ones, for which functions saturate and formulas overflow. */
static void function_case(struct conform *conform, uint32_t op, uint32_t function, const struct shape *shape)
{
    static const float far[] = {0, -0.0f, 30, -30, 88, -88, 100, -100, 1e4f, -1e4f, 1e18f, -1e18f, 1e-30f};
    struct accel_activation attributes = {.size = sizeof(attributes), .function = function};
    uint32_t inputs[2];
    struct place place;
    struct trial trial;
    uint64_t count;
    double *want;
    float *x, *up;
    bool is_far = conform_below(conform, 3) == 0;

    trial_begin(&trial, conform, TRIAL_F32, "[%u, %u]%s", shape->rows, shape->width, is_far ? ", extremes" : "");
    place_make(&trial, shape, &place);
    count = (uint64_t)place.rows * shape->width;
    x = conform_floats(conform, count);
    up = conform_floats(conform, count);
    want = conform_memory(conform, count, sizeof(*want));
    for (uint64_t i = 0; i < count; i++) {
        x[i] = is_far ? far[conform_below(conform, sizeof(far) / sizeof(*far))] : 6 * x[i];
        want[i] = reference_function(function, x[i]) * (op == ACCEL_OP_GATE ? (double)up[i] : 1.0);
    }
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, place.rank, place.dims, x);
    if (op == ACCEL_OP_GATE)
        inputs[1] = trial_input(&trial, "up", ACCEL_F32, place.rank, place.dims, up);
    trial_output(&trial, trial_node(&trial, op, "function", inputs, op == ACCEL_OP_GATE ? 2 : 1, &attributes), want, 1);
    trial_run(&trial);
    free(x), free(up), free(want);
}

static void function(struct conform *conform)
{
    uint32_t op = conform->parameter >> 16, which = conform->parameter & 0xffffu;

    for (uint32_t i = 0; i < SHAPES + conform->rounds; i++) {
        struct shape shape = shape_at(conform, i);

        function_case(conform, op, which, &shape);
    }
}

/* ---- the operators ---- */

static void add_rms_norm(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_OP_RMS_NORM, norm, "rms_norm/rows");
}

static void add_layer_norm(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_OP_LAYER_NORM, norm, "layer_norm/rows");
}

static void add_softmax(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, 0, softmax, "softmax/rows");
}

static void add_argmax(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, 0, argmax, "argmax/rows");
}

static void add_add(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_OP_ADD, binary, "add/broadcast");
}

static void add_mul(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_OP_MUL, binary, "mul/broadcast");
}

static void add_functions(struct conform_list *list, uint32_t op)
{
    for (uint32_t f = 0; f < ACCEL_FN_END; f++)
        conform_add(list, CONFORM_DEVICE, op << 16 | f, function, "%s/%s", accel_op_name(op),
                    reference_function_name(f));
}

static void add_activation(struct conform_list *list)
{
    add_functions(list, ACCEL_OP_ACTIVATION);
}

static void add_gate(struct conform_list *list)
{
    add_functions(list, ACCEL_OP_GATE);
}

const struct conform_operator conform_op_rms_norm = {.add = add_rms_norm};
const struct conform_operator conform_op_layer_norm = {.add = add_layer_norm};
const struct conform_operator conform_op_softmax = {.add = add_softmax};
const struct conform_operator conform_op_argmax = {.add = add_argmax};
const struct conform_operator conform_op_add = {.add = add_add};
const struct conform_operator conform_op_mul = {.add = add_mul};
const struct conform_operator conform_op_activation = {.add = add_activation};
const struct conform_operator conform_op_gate = {.add = add_gate};
