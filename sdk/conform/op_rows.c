/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over rows and elements: norms, softmax, argmax, add, multiply, activation functions, gates; references and
 * cases. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

#define TEXT 120u /* bytes of a case's inputs or attributes */

/* Shape classes: one element, odd sizes, powers of two, sizes near those of thread groups, wide rows; one, several
 * or a large number of rows. The last two have more rows, and more elements in a row, than 16 bits count. */
static const struct shape {
    uint32_t rows, width;
} shapes[] = {{1, 1},    {1, 7},     {3, 64},  {2, 255},   {17, 33},  {5, 4097},
              {130, 48}, {1, 12001}, {300, 3}, {65551, 3}, {3, 66001}};

/* Letters of weights in F32, F16 and BF16. */
static const char weight_kinds[] = {'F', 'H', 'B'};

static struct shape shape_at(struct conform *conform, uint32_t index)
{
    struct shape shape = {1 + conform_below(conform, 40), 1 + conform_below(conform, 700)};

    return index < COUNT(shapes) ? shapes[index] : shape;
}

/* Writes rows of `width` elements as an input of rank 1 to 4, whose leading extent may be a symbol. *out_trailing is
 * the part of the text that has its trailing extents. */
static void rows_text(struct conform *conform, const struct shape *shape, char text[TEXT], const char **out_trailing)
{
    const uint32_t rank = shape->rows == 1 && conform_below(conform, 2) ? 1 : 2 + conform_below(conform, 3);
    const uint32_t inner = 1 + conform_below(conform, 3);
    int leading = rank == 1 ? 2 : snprintf(text, TEXT, "f:t%u,", shape->rows);

    if (rank == 1)
        snprintf(text, TEXT, "f:%u", shape->width);
    else if (rank == 2)
        snprintf(text + leading, TEXT - (size_t)leading, "%u", shape->width);
    else
        snprintf(text + leading, TEXT - (size_t)leading, "%s%u,%u", rank == 4 ? "1," : "", inner, shape->width);
    *out_trailing = text + leading;
}

static uint64_t width_of(const struct reference_value *value)
{
    return value->extents[value->rank - 1];
}

/* ---- norms ---- */

static void compute_norm(const struct reference_call *call, bool is_centred)
{
    const struct reference_value *weight = call->inputs[1], *bias = call->inputs[2];
    const double epsilon = ((const struct accel_norm *)call->attributes)->epsilon;
    const uint64_t n = width_of(call->inputs[0]), count = reference_elements(call->inputs[0]);

    for (uint64_t at = 0; at < count; at += n) {
        const double *x = call->inputs[0]->at + at;
        double mean = 0, square = 0;

        for (uint64_t i = 0; i < n && is_centred; i++)
            mean += x[i] / (double)n;
        for (uint64_t i = 0; i < n; i++)
            square += (x[i] - mean) * (x[i] - mean);
        for (uint64_t i = 0; i < n; i++)
            call->outputs[0]->at[at + i] =
                (x[i] - mean) / sqrt(square / (double)n + epsilon) * weight->at[i] + (bias == NULL ? 0 : bias->at[i]);
    }
}

static void compute_rms_norm(const struct reference_call *call)
{
    compute_norm(call, false);
}

static void compute_layer_norm(const struct reference_call *call)
{
    compute_norm(call, true);
}

/* Pairs of an epsilon and a size of elements: so small that epsilon dominates, or as large as activations are. */
static const float epsilons[][2] = {{1e-5f, 1}, {1e-6f, 1e-3f}, {1e-3f, 0.1f}, {1e-12f, 1e-5f}, {0.5f, 1}};

static void fill_sized(struct trial_inputs *inputs)
{
    for (uint64_t e = 0; e < inputs->elements[0]; e++)
        inputs->floats[0][e] *= epsilons[inputs->row->parameter][1];
}

static void norm(struct conform *conform)
{
    const uint32_t op = conform->parameter;

    for (uint32_t i = 0; i < 3 * COUNT(shapes) + conform->rounds; i++) {
        const float *pair = epsilons[i % COUNT(epsilons)];
        const struct accel_norm at = {.size = sizeof(at), .epsilon = pair[0]};
        const struct shape shape = shape_at(conform, i / 3);
        char x[TEXT], inputs[2 * TEXT], weight[20], text[TEXT];
        const char *trailing;

        rows_text(conform, &shape, x, &trailing);
        snprintf(weight, sizeof(weight), " %c:%u", weight_kinds[i % 3], shape.width);
        snprintf(inputs, sizeof(inputs), "%s%s%s", x, weight,
                 op == ACCEL_OP_LAYER_NORM && conform_below(conform, 2) ? weight : "");
        snprintf(text, sizeof(text), "elements of +-%g, epsilon %g", (double)pair[1], (double)pair[0]);
        trial_case_run(conform, &(struct trial_case){.op = op,
                                                     .ceiling = TRIAL_F32,
                                                     .inputs = inputs,
                                                     .attributes = &at,
                                                     .text = text,
                                                     .scale = 1,
                                                     .fill = fill_sized,
                                                     .parameter = i % COUNT(epsilons)});
    }
}

/* ---- softmax, argmax ---- */

static void compute_softmax(const struct reference_call *call)
{
    const uint64_t n = width_of(call->inputs[0]), count = reference_elements(call->inputs[0]);

    for (uint64_t at = 0; at < count; at += n) {
        const double *x = call->inputs[0]->at + at;
        double *y = call->outputs[0]->at + at, most = x[0], sum = 0;

        for (uint64_t i = 1; i < n; i++)
            most = x[i] > most ? x[i] : most;
        for (uint64_t i = 0; i < n; i++)
            sum += y[i] = exp(x[i] - most);
        for (uint64_t i = 0; i < n; i++)
            y[i] /= sum;
    }
}

static const float spreads[] = {5, 1e-3f, 300, 3e38f}, middles[] = {0, -1000, 1000};

static void fill_spread(struct trial_inputs *inputs)
{
    const uint64_t number = inputs->row->parameter;

    for (uint64_t e = 0; e < inputs->elements[0]; e++)
        inputs->floats[0][e] = middles[number % 3] + inputs->floats[0][e] * spreads[number % 4];
}

static void softmax(struct conform *conform)
{
    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        const struct shape shape = shape_at(conform, i);
        char inputs[TEXT], text[TEXT];
        const char *trailing;

        rows_text(conform, &shape, inputs, &trailing);
        snprintf(text, sizeof(text), "values of %g +-%g", (double)middles[i % 3], (double)spreads[i % 4]);
        trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_SOFTMAX,
                                                     .ceiling = TRIAL_F32,
                                                     .inputs = inputs,
                                                     .text = text,
                                                     .fill = fill_spread,
                                                     .parameter = i});
    }
}

static void compute_argmax(const struct reference_call *call)
{
    const uint64_t n = width_of(call->inputs[0]), count = reference_elements(call->inputs[0]);

    for (uint64_t r = 0; r < count / n; r++) {
        const double *x = call->inputs[0]->at + r * n;
        uint64_t best = 0;

        for (uint64_t i = 1; i < n; i++)
            best = x[i] > x[best] ? i : best;
        call->outputs[0]->at[r] = (double)best;
    }
}

/* Most rows have several largest elements, of which the first counts; in the others a single one lies anywhere, or at
 * the end. */
static void fill_largest(struct trial_inputs *inputs)
{
    struct conform *conform = inputs->conform;
    const uint32_t n = (uint32_t)inputs->extents[0][inputs->rank[0] - 1];

    for (uint64_t e = 0; e < inputs->elements[0]; e++)
        inputs->floats[0][e] = (float)conform_below(conform, 1 + n / 4) - (float)n;
    for (uint64_t r = 0; r < inputs->elements[0] / n; r++)
        if (r % 3 != 0)
            inputs->floats[0][r * n + (r % 3 == 1 ? conform_below(conform, n) : n - 1)] = 1;
}

static void argmax(struct conform *conform)
{
    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        const struct shape shape = shape_at(conform, i);
        char inputs[TEXT];
        const char *trailing;

        rows_text(conform, &shape, inputs, &trailing);
        trial_case_run(conform,
                       &(struct trial_case){.op = ACCEL_OP_ARGMAX, .inputs = inputs, .text = "", .fill = fill_largest});
    }
}

/* ---- add and multiply ---- */

static void compute_add(const struct reference_call *call)
{
    const uint64_t count = reference_elements(call->inputs[0]), period = reference_elements(call->inputs[1]);

    for (uint64_t i = 0; i < count; i++)
        call->outputs[0]->at[i] = call->inputs[0]->at[i] + call->inputs[1]->at[i % period];
}

static void compute_mul(const struct reference_call *call)
{
    const uint64_t count = reference_elements(call->inputs[0]), period = reference_elements(call->inputs[1]);

    for (uint64_t i = 0; i < count; i++)
        call->outputs[0]->at[i] = call->inputs[0]->at[i] * call->inputs[1]->at[i % period];
}

/* The second input has the shape of the first, its trailing extents, or is a row of weights. */
static void binary_case(struct conform *conform, const struct shape *shape, uint32_t form, char weight_kind)
{
    char a[TEXT], inputs[2 * TEXT];
    const char *trailing;

    rows_text(conform, shape, a, &trailing);
    if (form == 0)
        snprintf(inputs, sizeof(inputs), "%s %s", a, a);
    else if (form == 1)
        snprintf(inputs, sizeof(inputs), "%s f:%s", a, trailing);
    else
        snprintf(inputs, sizeof(inputs), "%s %c:%u", a, weight_kind, shape->width);
    trial_case_run(
        conform,
        &(struct trial_case){.op = conform->parameter, .ceiling = TRIAL_F32, .inputs = inputs, .text = "", .scale = 1});
}

static void binary(struct conform *conform)
{
    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        const struct shape shape = shape_at(conform, i);

        for (uint32_t form = 0; form < 3; form++)
            binary_case(conform, &shape, form, 'F');
        if (weight_kinds[i % 3] != 'F')
            binary_case(conform, &shape, 2, weight_kinds[i % 3]);
    }
}

/* ---- functions ---- */

static void compute_function(const struct reference_call *call)
{
    const struct accel_activation *at = call->attributes;
    const struct reference_value *up = call->inputs[1];

    for (uint64_t i = 0; i < reference_elements(call->inputs[0]); i++)
        call->outputs[0]->at[i] =
            reference_function(at->function, call->inputs[0]->at[i]) * (up != NULL ? up->at[i] : 1);
}

/* Fills ordinary values, or extreme ones, for which functions saturate and formulas overflow. */
static void fill_far(struct trial_inputs *inputs)
{
    static const float far[] = {0, -0.0f, 30, -30, 88, -88, 100, -100, 1e4f, -1e4f, 1e18f, -1e18f, 1e-30f};

    for (uint64_t e = 0; e < inputs->elements[0]; e++)
        inputs->floats[0][e] =
            inputs->row->parameter != 0 ? far[conform_below(inputs->conform, COUNT(far))] : 6 * inputs->floats[0][e];
}

/* Runs the function conform->parameter of an operator. */
static void run_function(struct conform *conform, uint32_t op)
{
    const struct accel_activation at = {.size = sizeof(at), .function = conform->parameter};

    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        const struct shape shape = shape_at(conform, i);
        const bool is_far = conform_below(conform, 3) == 0;
        char x[TEXT], inputs[2 * TEXT];
        const char *trailing;

        rows_text(conform, &shape, x, &trailing);
        snprintf(inputs, sizeof(inputs), "%s%s%s", x, op == ACCEL_OP_GATE ? " " : "", op == ACCEL_OP_GATE ? x : "");
        trial_case_run(conform, &(struct trial_case){.op = op,
                                                     .ceiling = TRIAL_F32,
                                                     .inputs = inputs,
                                                     .attributes = &at,
                                                     .text = is_far ? "extremes" : "",
                                                     .scale = 1,
                                                     .fill = fill_far,
                                                     .parameter = is_far});
    }
}

static void activation(struct conform *conform)
{
    run_function(conform, ACCEL_OP_ACTIVATION);
}

static void gate(struct conform *conform)
{
    run_function(conform, ACCEL_OP_GATE);
}

static void add_activation(struct conform_list *list)
{
    for (uint32_t f = 0; f < ACCEL_FN_END; f++)
        conform_add(list, CONFORM_DEVICE, f, activation, "activation/%s", reference_function_name(f));
}

static void add_gate(struct conform_list *list)
{
    for (uint32_t f = 0; f < ACCEL_FN_END; f++)
        conform_add(list, CONFORM_DEVICE, f, gate, "gate/%s", reference_function_name(f));
}

/* ---- the operators ---- */

const struct conform_operator conform_op_rms_norm = {.compute = compute_rms_norm,
                                                     .tests = {CONFORM_TEST("rows", norm, ACCEL_OP_RMS_NORM)}};
const struct conform_operator conform_op_layer_norm = {.compute = compute_layer_norm,
                                                       .tests = {CONFORM_TEST("rows", norm, ACCEL_OP_LAYER_NORM)}};
const struct conform_operator conform_op_softmax = {.compute = compute_softmax,
                                                    .tests = {CONFORM_TEST("rows", softmax, 0)}};
const struct conform_operator conform_op_argmax = {.compute = compute_argmax,
                                                   .tests = {CONFORM_TEST("rows", argmax, 0)}};
const struct conform_operator conform_op_add = {.compute = compute_add,
                                                .tests = {CONFORM_TEST("broadcast", binary, ACCEL_OP_ADD)}};
const struct conform_operator conform_op_mul = {.compute = compute_mul,
                                                .tests = {CONFORM_TEST("broadcast", binary, ACCEL_OP_MUL)}};
const struct conform_operator conform_op_activation = {.compute = compute_function, .add = add_activation};
const struct conform_operator conform_op_gate = {.compute = compute_function, .add = add_gate};
