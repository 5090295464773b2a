/* SPDX-License-Identifier: Apache-2.0 */
/* Scale, clamp, concat, slice, permute, pad, reduce and top-k: references and cases. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

#define TEXT 240u /* bytes of a case's inputs or attributes */

/* ---- shapes ---- */

/* Returns the elements before (outside of) a dimension. */
static uint64_t outer_count(const struct reference_value *value, uint32_t axis)
{
    uint64_t count = 1;

    for (uint32_t d = 0; d < axis; d++)
        count *= value->extents[d];
    return count;
}

/* Returns the elements behind (inside of) a dimension. */
static uint64_t inner_count(const struct reference_value *value, uint32_t axis)
{
    uint64_t count = 1;

    for (uint32_t d = axis + 1; d < value->rank; d++)
        count *= value->extents[d];
    return count;
}

/* Writes random extents, of at most 2000 elements, as text of a case. The leading one has a t if `has_rows`. */
static uint32_t random_shape(struct conform *conform, uint32_t most_rank, uint64_t extents[ACCEL_RANK])
{
    uint32_t rank = 1 + conform_below(conform, most_rank), limit = rank == 1   ? 900
                                                                   : rank == 2 ? 60
                                                                   : rank == 3 ? 12
                                                                               : 5;

    for (uint32_t d = 0; d < rank; d++)
        extents[d] = 1 + conform_below(conform, limit);
    return rank;
}

/* Appends one input to the text of a case. Dimension `rows` is the symbolic one. */
static void append_input(char text[TEXT], char kind, uint32_t rank, const uint64_t *extents, uint32_t rows)
{
    size_t length = strlen(text);

    length += (size_t)snprintf(text + length, TEXT - length, "%s%c", length > 0 ? " " : "", kind);
    for (uint32_t d = 0; d < rank; d++)
        length += (size_t)snprintf(text + length, TEXT - length, "%c%s%llu", d == 0 ? ':' : ',', d == rows ? "t" : "",
                                   (unsigned long long)extents[d]);
}

/* Operators that move elements are tested with floats and integers: the letter of the test's type. */
static char moved_kind(const struct conform *conform)
{
    return conform->parameter == ACCEL_I32 ? 'i' : 'f';
}

/* Runs fixed cases written for floats, with the type of the test. Cases with weights are for floats alone. */
static void run_moved(struct conform *conform, const struct trial_case *cases, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct trial_case row = cases[i];
        char text[TEXT];

        snprintf(text, sizeof(text), "%s", row.inputs);
        if (conform->parameter == ACCEL_I32 && strpbrk(text, "FH") != NULL)
            continue;
        for (char *at = text; *at != '\0'; at++)
            *at = *at == 'f' ? moved_kind(conform) : *at;
        row.inputs = text;
        trial_case_run(conform, &row);
    }
}

/* ---- scale and clamp ---- */

static void compute_scale(const struct reference_call *call)
{
    const struct accel_scale *at = call->attributes;

    for (uint64_t i = 0; i < reference_elements(call->outputs[0]); i++)
        call->outputs[0]->at[i] = call->inputs[0]->at[i] * at->scale + at->add;
}

static void compute_clamp(const struct reference_call *call)
{
    const struct accel_clamp *at = call->attributes;

    for (uint64_t i = 0; i < reference_elements(call->outputs[0]); i++) {
        double x = call->inputs[0]->at[i];

        call->outputs[0]->at[i] = x < at->low ? at->low : x > at->high ? at->high : x;
    }
}

/* Shapes of operators over elements: one, odd numbers, powers of two, more than 16 bits count, every rank. */
static const char *const element_shapes[] = {"f:t1",        "f:7",          "f:t3,64",        "f:t17,33",
                                             "f:2,255",     "f:t130,48",    "f:t65551,3",     "f:t2,140003",
                                             "f:t5,3,2,17", "f:t3,2,5,7,3", "f:t2,3,2,4,3,2", "f:t66001"};

/* Some elements are limits themselves, infinite, or zeros of either sign. */
static void fill_extremes(struct trial_inputs *inputs)
{
    static const float extremes[] = {INFINITY, -INFINITY, 0, -0.0f, 0.25f, 1e-30f, 3e38f, -3e38f};

    for (uint64_t e = 0; e < inputs->elements[0]; e++)
        if (conform_below(inputs->conform, 6) == 0)
            inputs->floats[0][e] = extremes[conform_below(inputs->conform, COUNT(extremes))];
}

/* Tests scale or clamp, as the parameter says. */
static void elements(struct conform *conform)
{
    static const float scales[][2] = {{2, 0}, {0.125f, 1}, {-1.5f, 300}, {0, 7}, {1, -0.5f}, {1e4f, 0.25f}, {-0.3f, 0}};
    static const float limits[][2] = {{-0.5f, 0.5f},         {-INFINITY, 0.125f}, {0, INFINITY},
                                      {-INFINITY, INFINITY}, {0.25f, 0.25f},      {-7, -0.75f}};
    const bool scales_them = conform->parameter == ACCEL_OP_SCALE;

    for (uint32_t i = 0; i < COUNT(element_shapes) + conform->rounds; i++) {
        const float *pair = scales_them ? scales[i % COUNT(scales)] : limits[i % COUNT(limits)];
        const struct accel_scale scale = {.size = sizeof(scale), .scale = pair[0], .add = pair[1]};
        const struct accel_clamp clamp = {.size = sizeof(clamp), .low = pair[0], .high = pair[1]};
        uint64_t extents[ACCEL_RANK];
        char text[TEXT] = "", attributes[TEXT];

        append_input(text, 'f', random_shape(conform, ACCEL_RANK, extents), extents, 0);
        snprintf(attributes, sizeof(attributes), scales_them ? "times %g plus %g" : "%g to %g", (double)pair[0],
                 (double)pair[1]);
        trial_case_run(conform, &(struct trial_case){.op = conform->parameter,
                                                     .ceiling = scales_them ? TRIAL_F32 : TRIAL_EXACT,
                                                     .inputs = i < COUNT(element_shapes) ? element_shapes[i] : text,
                                                     .attributes = scales_them ? (const void *)&scale : &clamp,
                                                     .text = attributes,
                                                     .fill = scales_them ? NULL : fill_extremes});
    }
}

/* Tests a chain in which each node may store its output where its input lies; the last reads the first's output, which
 * an output of the graph in between must not overwrite. */
static void chain(struct conform *conform)
{
    const struct accel_scale up = {.size = sizeof(up), .scale = 3, .add = 0.5f};
    const struct accel_clamp limit = {.size = sizeof(limit), .low = -1, .high = 1.5f};
    const struct accel_group_norm norm = {.size = sizeof(norm), .groups = 1, .epsilon = 0.1f};
    static const uint64_t shapes[][2] = {{1, 5}, {19, 130}, {300, 77}, {3, 20011}};

    for (uint32_t i = 0; i < COUNT(shapes); i++) {
        struct accel_dim dims[2];
        uint32_t x, scaled, clamped, normed[2];
        struct conform_tensor weight;
        struct trial trial;
        float *elements;

        trial_begin(&trial, conform, TRIAL_F32, "[%llu, %llu]", (unsigned long long)shapes[i][0],
                    (unsigned long long)shapes[i][1]);
        dims[0] = trial_rows(&trial, shapes[i][0]);
        dims[1] = trial_fixed(shapes[i][1]);
        elements = conform_floats(conform, shapes[i][0] * shapes[i][1]);
        x = trial_input(&trial, "x", ACCEL_F32, 2, dims, elements);
        scaled = trial_node(&trial, ACCEL_OP_SCALE, "scale", &x, 1, &up);
        clamped = trial_node(&trial, ACCEL_OP_CLAMP, "clamp", &scaled, 1, &limit);
        trial_expect(&trial, clamped, 1);
        trial_expect(&trial, trial_node(&trial, ACCEL_OP_SCALE, "again", &clamped, 1, &up), 1);
        normed[0] = trial_node(&trial, ACCEL_OP_CLAMP, "beside", &scaled, 1, &limit);
        conform_tensor_make(conform, ACCEL_F32, 1, shapes[i][1], &weight);
        normed[1] = trial_weight(&trial, "weight", 1, &weight);
        trial_expect(&trial, trial_node(&trial, ACCEL_OP_GROUP_NORM, "norm", normed, 2, &norm), 1);
        trial_run(&trial);
        conform_tensor_free(&weight);
        free(elements);
    }
}

const struct conform_operator conform_op_scale = {
    .compute = compute_scale,
    .tests = {CONFORM_TEST("elements", elements, ACCEL_OP_SCALE), CONFORM_TEST("chain", chain, 0)}};
const struct conform_operator conform_op_clamp = {.compute = compute_clamp,
                                                  .tests = {CONFORM_TEST("elements", elements, ACCEL_OP_CLAMP)}};

/* ---- concat ---- */

static void compute_concat(const struct reference_call *call)
{
    const struct accel_axis *at = call->attributes;
    const struct reference_value *y = call->outputs[0];
    uint64_t outer = outer_count(y, at->axis), inner = inner_count(y, at->axis), begin = 0;

    for (uint32_t i = 0; i < REFERENCE_INPUTS; i++) {
        const struct reference_value *x = call->inputs[i];

        if (x == NULL)
            continue;
        for (uint64_t o = 0; o < outer; o++)
            for (uint64_t e = 0; e < x->extents[at->axis] * inner; e++)
                y->at[(o * y->extents[at->axis] + begin) * inner + e] = x->at[o * x->extents[at->axis] * inner + e];
        begin += x->extents[at->axis];
    }
}

#define CONCAT(values, number, ...)                                                                                    \
    {                                                                                                                  \
        .op = ACCEL_OP_CONCAT, .inputs = values, TRIAL_ATTRIBUTES(axis, .axis = number), __VA_ARGS__                   \
    }

/* Symbols beside the axis, on it (in any one input), and inside of it; up to eight inputs, with some of them absent. */
static const struct trial_case concat_cases[] = {
    CONCAT("f:1 f:1", 0),
    CONCAT("f:t5 f:3", 0, .mixes_rows = true),
    CONCAT("f:t17,8 f:t17,3", 1),
    CONCAT("f:t17,8 f:t17,3 - f:t17,1", 1),
    CONCAT("f:2,8 f:t9,8 f:1,8", 0, .mixes_rows = true),
    CONCAT("f:t40,33 f:2,33", 0, .mixes_rows = true),
    CONCAT("f:4,33 f:t70,33", 0, .mixes_rows = true),
    CONCAT("f:t3,5,7 f:t3,2,7", 1),
    CONCAT("f:t3,5,7 f:t3,5,70", 2),
    CONCAT("f:2,t5,7 f:2,1,7", 1),
    CONCAT("f:2,3,t7 f:2,1,t7", 1),
    CONCAT("f:t2,1,3,4 f:t2,2,3,4 f:t2,3,3,4 f:t2,4,3,4 f:t2,1,3,4 f:t2,2,3,4 f:t2,1,3,4 f:t2,6,3,4", 1),
    CONCAT("f:t2,3 f:t2,1 - - f:t2,4 - - f:t2,2", 1),
    CONCAT("f:2,2,2,2,2,3 f:2,2,2,2,2,4", 5),
    CONCAT("f:2,2,2,2,2,3 f:1,2,2,2,2,3", 0),
    CONCAT("f:t3,2,1,2,5,3 f:t3,2,4,2,5,3", 2),
    CONCAT("f:t300,1 f:t300,64", 1),
    CONCAT("f:t2,40001 f:t2,30007", 1),
    CONCAT("f:t65551,1 f:t65551,2", 1),
    CONCAT("f:t65551,2 f:7,2", 0, .mixes_rows = true),
    /* A row of weights before the rows of the step, as a class token. */
    CONCAT("F:1,48 f:t9,48", 0, .mixes_rows = true),
    CONCAT("F:70,33 f:t9,33", 0, .mixes_rows = true),
};

static void concat(struct conform *conform)
{
    run_moved(conform, concat_cases, COUNT(concat_cases));
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint32_t count = 2 + conform_below(conform, 7), rank, rows;
        uint64_t extents[ACCEL_RANK];
        struct accel_axis at = {.size = sizeof(at)};
        char text[TEXT] = "", attributes[TEXT];

        rank = random_shape(conform, 4, extents);
        at.axis = conform_below(conform, rank);
        rows = conform_below(conform, rank + 1);
        for (uint32_t j = 0; j < count; j++) {
            append_input(text, moved_kind(conform), rank, extents, rows == at.axis && j > 0 ? rank : rows);
            extents[at.axis] = 1 + conform_below(conform, 9);
        }
        snprintf(attributes, sizeof(attributes), "axis %u", at.axis);
        trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_CONCAT,
                                                     .inputs = text,
                                                     .attributes = &at,
                                                     .text = attributes,
                                                     .mixes_rows = rows == at.axis});
    }
}

const struct conform_operator conform_op_concat = {
    .compute = compute_concat,
    .tests = {CONFORM_TEST("f32", concat, ACCEL_F32), CONFORM_TEST("i32", concat, ACCEL_I32)}};

/* ---- slice ---- */

static void compute_slice(const struct reference_call *call)
{
    const struct accel_slice *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *y = call->outputs[0];
    uint64_t inner = inner_count(x, at->axis);

    for (uint64_t o = 0; o < outer_count(x, at->axis); o++)
        for (uint64_t e = 0; e < at->extent; e++)
            for (uint64_t i = 0; i < inner; i++)
                y->at[(o * at->extent + e) * inner + i] =
                    x->at[(o * x->extents[at->axis] + at->begin + e * at->step) * inner + i];
}

#define SLICE(values, ...)                                                                                             \
    {                                                                                                                  \
        .op = ACCEL_OP_SLICE, .inputs = values, TRIAL_ATTRIBUTES(slice, __VA_ARGS__)                                   \
    }

static const struct trial_case slice_cases[] = {
    SLICE("f:1", .axis = 0, .begin = 0, .step = 1, .extent = 1),
    SLICE("f:70", .axis = 0, .begin = 3, .step = 5, .extent = 14),
    SLICE("f:t17,64", .axis = 1, .begin = 0, .step = 1, .extent = 32),
    SLICE("f:t17,64", .axis = 1, .begin = 32, .step = 1, .extent = 32),
    SLICE("f:t17,64", .axis = 1, .begin = 63, .step = 9, .extent = 1),
    SLICE("f:t3,33", .axis = 1, .begin = 1, .step = 2, .extent = 16),
    SLICE("f:9,33", .axis = 0, .begin = 8, .step = 1, .extent = 1),
    SLICE("f:9,t33", .axis = 0, .begin = 2, .step = 3, .extent = 2),
    SLICE("f:t4,5,6", .axis = 1, .begin = 1, .step = 3, .extent = 2),
    SLICE("f:4,5,t6", .axis = 1, .begin = 0, .step = 4, .extent = 2),
    SLICE("f:t2,3,2,9,2,3", .axis = 3, .begin = 2, .step = 2, .extent = 4),
    SLICE("f:2,3,2,9,2,3", .axis = 5, .begin = 0, .step = 2, .extent = 2),
    SLICE("f:t2,140003", .axis = 1, .begin = 65537, .step = 1, .extent = 70001),
    SLICE("f:t2,140003", .axis = 1, .begin = 2, .step = 70000, .extent = 3),
    SLICE("f:70001,2", .axis = 0, .begin = 66000, .step = 100, .extent = 41),
    SLICE("f:t65551,4", .axis = 1, .begin = 1, .step = 2, .extent = 2),
    /* Rows of a table of weights, as positions. */
    SLICE("F:70,33", .axis = 0, .begin = 3, .step = 1, .extent = 66),
};

static void slice(struct conform *conform)
{
    run_moved(conform, slice_cases, COUNT(slice_cases));
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct accel_slice at = {.size = sizeof(at)};
        uint64_t extents[ACCEL_RANK];
        char text[TEXT] = "", attributes[TEXT];
        uint32_t rank = random_shape(conform, ACCEL_RANK, extents), rows;

        at.axis = conform_below(conform, rank);
        at.begin = conform_below(conform, (uint32_t)extents[at.axis]);
        at.step = 1 + conform_below(conform, 4);
        at.extent = 1 + conform_below(conform, 1 + (uint32_t)((extents[at.axis] - 1 - at.begin) / at.step));
        rows = conform_below(conform, rank + 1);
        append_input(text, moved_kind(conform), rank, extents, rows == at.axis ? rank : rows);
        snprintf(attributes, sizeof(attributes), "axis %u from %llu, step %llu, extent %llu", at.axis,
                 (unsigned long long)at.begin, (unsigned long long)at.step, (unsigned long long)at.extent);
        trial_case_run(
            conform, &(struct trial_case){.op = ACCEL_OP_SLICE, .inputs = text, .attributes = &at, .text = attributes});
    }
}

const struct conform_operator conform_op_slice = {
    .compute = compute_slice, .tests = {CONFORM_TEST("f32", slice, ACCEL_F32), CONFORM_TEST("i32", slice, ACCEL_I32)}};

/* ---- permute ---- */

static void compute_permute(const struct reference_call *call)
{
    const struct accel_permute *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *y = call->outputs[0];

    for (uint64_t e = 0; e < reference_elements(y); e++) {
        uint64_t rest = e, from = 0;

        for (uint32_t i = y->rank; i-- > 0; rest /= y->extents[i])
            from += rest % y->extents[i] * inner_count(x, at->order[i]);
        y->at[e] = x->at[from];
    }
}

#define PERMUTE(values, ...)                                                                                           \
    {                                                                                                                  \
        .op = ACCEL_OP_PERMUTE, .inputs = values, TRIAL_ATTRIBUTES(permute, .order = {__VA_ARGS__}),                   \
        .mixes_rows = true                                                                                             \
    }

static const struct trial_case permute_cases[] = {
    PERMUTE("f:t70", 0),
    PERMUTE("f:1,1", 1, 0),
    PERMUTE("f:t33,65", 0, 1),
    PERMUTE("f:t33,65", 1, 0),
    PERMUTE("f:128,t64", 1, 0),
    PERMUTE("f:t300,257", 1, 0),
    PERMUTE("f:t3,40001", 1, 0),
    PERMUTE("f:t70001,2", 1, 0),
    PERMUTE("f:t4,5,6", 0, 2, 1),
    PERMUTE("f:t4,5,6", 1, 0, 2),
    PERMUTE("f:4,t5,6", 1, 2, 0),
    PERMUTE("f:t4,5,6", 2, 0, 1),
    PERMUTE("f:4,5,t6", 2, 1, 0),
    PERMUTE("f:t17,8,64", 1, 0, 2),
    PERMUTE("f:t2,3,4,5", 0, 2, 1, 3),
    PERMUTE("f:t2,3,4,5", 0, 3, 1, 2),
    PERMUTE("f:t2,3,4,5", 0, 2, 3, 1),
    PERMUTE("f:2,t3,4,5", 3, 2, 1, 0),
    PERMUTE("f:t2,3,4,5,6", 0, 2, 4, 1, 3),
    PERMUTE("f:t2,3,2,4,3,5", 5, 4, 3, 2, 1, 0),
    PERMUTE("f:t2,3,4,2,3,5", 0, 2, 4, 1, 3, 5),
};

static void permute(struct conform *conform)
{
    run_moved(conform, permute_cases, COUNT(permute_cases));
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct accel_permute at = {.size = sizeof(at)};
        uint64_t extents[ACCEL_RANK];
        char text[TEXT] = "", attributes[TEXT];
        uint32_t rank = random_shape(conform, ACCEL_RANK, extents);
        size_t length = 5;

        snprintf(attributes, sizeof(attributes), "order");
        for (uint32_t d = 0; d < rank; d++) {
            uint32_t other = conform_below(conform, d + 1);

            at.order[d] = at.order[other];
            at.order[other] = d;
        }
        for (uint32_t d = 0; d < rank; d++)
            length += (size_t)snprintf(attributes + length, sizeof(attributes) - length, " %u", at.order[d]);
        append_input(text, moved_kind(conform), rank, extents, conform_below(conform, rank + 1));
        trial_case_run(
            conform,
            &(struct trial_case){
                .op = ACCEL_OP_PERMUTE, .inputs = text, .attributes = &at, .text = attributes, .mixes_rows = true});
    }
}

const struct conform_operator conform_op_permute = {
    .compute = compute_permute,
    .tests = {CONFORM_TEST("f32", permute, ACCEL_F32), CONFORM_TEST("i32", permute, ACCEL_I32)}};

/* ---- pad ---- */

/* Returns the place of x that place `o` of a padded axis takes its element from; -1: the value of the padding. */
static int64_t padded_from(const struct accel_pad *at, uint64_t o, uint64_t extent)
{
    int64_t from = (int64_t)o - (int64_t)at->before, last = (int64_t)extent - 1;

    if (from >= 0 && from <= last)
        return from;
    if (at->mode == ACCEL_PAD_VALUE)
        return -1;
    if (at->mode == ACCEL_PAD_EDGE)
        return from < 0 ? 0 : last;
    return from < 0 ? -from : last - (from - last);
}

static void compute_pad(const struct reference_call *call)
{
    const struct accel_pad *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *y = call->outputs[0];
    uint64_t inner = inner_count(x, at->axis), extent = x->extents[at->axis], made = y->extents[at->axis];

    for (uint64_t o = 0; o < outer_count(x, at->axis); o++)
        for (uint64_t e = 0; e < made; e++)
            for (uint64_t i = 0; i < inner; i++) {
                int64_t from = padded_from(at, e, extent);

                y->at[(o * made + e) * inner + i] =
                    from < 0 ? (double)at->value : x->at[(o * extent + (uint64_t)from) * inner + i];
            }
}

static void pad_case(struct conform *conform, uint32_t rank, const uint64_t *extents, uint32_t rows, uint32_t axis,
                     uint64_t before, uint64_t after)
{
    const uint32_t mode = conform->parameter;
    struct accel_pad at = {.size = sizeof(at), .axis = axis, .mode = mode, .before = before, .after = after};
    char text[TEXT] = "", attributes[TEXT];

    at.value = mode == ACCEL_PAD_VALUE ? (float)conform_below(conform, 3) - 1.5f : 0;
    if (mode == ACCEL_PAD_MIRROR) {
        at.before = before < extents[axis] ? before : extents[axis] - 1;
        at.after = after < extents[axis] ? after : extents[axis] - 1;
    }
    append_input(text, 'f', rank, extents, mode == ACCEL_PAD_MIRROR && rows == axis ? rank : rows);
    snprintf(attributes, sizeof(attributes), "%llu before and %llu after axis %u, value %g",
             (unsigned long long)at.before, (unsigned long long)at.after, axis, (double)at.value);
    trial_case_run(
        conform,
        &(struct trial_case){
            .op = ACCEL_OP_PAD, .inputs = text, .attributes = &at, .text = attributes, .mixes_rows = rows == axis});
}

static void pad(struct conform *conform)
{
    static const struct {
        uint32_t rank;
        uint64_t extents[ACCEL_RANK];
        uint32_t rows, axis;
        uint64_t before, after;
    } cases[] = {
        {1, {1}, 1, 0, 2, 3},          {1, {70}, 0, 0, 5, 0},         {2, {17, 33}, 0, 1, 1, 2},
        {2, {17, 33}, 0, 1, 32, 32},   {2, {17, 33}, 0, 0, 0, 7},     {2, {9, 64}, 1, 0, 3, 2},
        {3, {2, 5, 7}, 0, 1, 1, 1},    {3, {2, 5, 7}, 0, 2, 0, 3},    {3, {2, 5, 7}, 1, 1, 2, 4},
        {4, {2, 6, 7, 3}, 0, 1, 3, 3}, {4, {2, 6, 7, 3}, 0, 2, 2, 0}, {6, {2, 3, 2, 4, 2, 3}, 0, 3, 3, 1},
        {2, {3, 16}, 0, 1, 0, 0},      {2, {2, 70001}, 0, 1, 5, 7},   {2, {65551, 2}, 0, 1, 1, 1},
        {2, {3, 5}, 0, 1, 70003, 2},
    };

    for (uint32_t i = 0; i < COUNT(cases); i++)
        pad_case(conform, cases[i].rank, cases[i].extents, cases[i].rows, cases[i].axis, cases[i].before,
                 cases[i].after);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint64_t extents[ACCEL_RANK];
        uint32_t rank = random_shape(conform, ACCEL_RANK, extents), axis = conform_below(conform, rank);

        pad_case(conform, rank, extents, conform_below(conform, rank + 1), axis, conform_below(conform, 6),
                 conform_below(conform, 6));
    }
}

const struct conform_operator conform_op_pad = {.compute = compute_pad,
                                                .tests = {CONFORM_TEST("value", pad, ACCEL_PAD_VALUE),
                                                          CONFORM_TEST("mirror", pad, ACCEL_PAD_MIRROR),
                                                          CONFORM_TEST("edge", pad, ACCEL_PAD_EDGE)}};

/* ---- reduce ---- */

/* Returns the sum, mean or maximum of `count` elements that lie `step` apart; 0 of none. */
static double reduce_elements(uint32_t kind, const double *x, uint64_t count, uint64_t step)
{
    double sum = 0, most = -INFINITY;

    for (uint64_t i = 0; i < count; i++) {
        sum += x[i * step];
        most = x[i * step] > most ? x[i * step] : most;
    }
    if (count == 0)
        return 0;
    return kind == ACCEL_REDUCE_MAX ? most : kind == ACCEL_REDUCE_MEAN ? sum / (double)count : sum;
}

static void compute_reduce(const struct reference_call *call)
{
    const struct accel_reduce *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *first = call->inputs[1], *y = call->outputs[0];
    uint64_t inner = inner_count(x, at->axis), extent = x->extents[at->axis];

    if (first == NULL) {
        for (uint64_t i = 0; i < reference_elements(y); i++)
            y->at[i] = reduce_elements(at->kind, x->at + i / inner * extent * inner + i % inner, extent, inner);
        return;
    }
    for (uint64_t i = 0; i < reference_elements(y); i++) {
        uint64_t begin = (uint64_t)first->at[i / inner], end = (uint64_t)first->at[i / inner + 1];

        y->at[i] = reduce_elements(at->kind, x->at + begin * inner + i % inner, end - begin, inner);
    }
}

/* Returns the largest result that is likely: sums of n elements have a deviation of sqrt(n / 3). */
static double reduce_scale(uint32_t kind, uint64_t count)
{
    double root = sqrt((double)count);

    return kind == ACCEL_REDUCE_SUM ? root / 2 : kind == ACCEL_REDUCE_MEAN ? 0.5 / root : 0;
}

static void reduce_case(struct conform *conform, uint32_t rank, const uint64_t *extents, uint32_t rows, uint32_t axis)
{
    struct accel_reduce at = {.size = sizeof(at), .kind = conform->parameter, .axis = axis};
    char text[TEXT] = "", attributes[TEXT];

    append_input(text, 'f', rank, extents, rows);
    snprintf(attributes, sizeof(attributes), "axis %u", axis);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_REDUCE,
                                                 .ceiling = at.kind == ACCEL_REDUCE_MAX ? TRIAL_EXACT : TRIAL_F32,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = attributes,
                                                 .scale = reduce_scale(at.kind, extents[axis]),
                                                 .mixes_rows = rows == axis});
}

static void reduce(struct conform *conform)
{
    static const struct {
        uint32_t rank;
        uint64_t extents[ACCEL_RANK];
        uint32_t rows, axis;
    } cases[] = {
        {1, {1}, 0, 0},           {1, {999}, 0, 0},          {1, {70001}, 1, 0},
        {2, {17, 33}, 0, 1},      {2, {17, 33}, 0, 0},       {2, {130, 64}, 2, 0},
        {2, {3, 4097}, 0, 1},     {2, {2, 66001}, 0, 1},     {2, {70001, 2}, 0, 0},
        {2, {65551, 3}, 0, 1},    {3, {4, 5, 6}, 0, 0},      {3, {4, 5, 6}, 0, 1},
        {3, {4, 5, 6}, 0, 2},     {3, {4, 50, 6}, 1, 1},     {4, {2, 7, 9, 16}, 0, 1},
        {4, {2, 7, 9, 16}, 0, 2}, {4, {3, 2, 5, 300}, 0, 3}, {6, {2, 3, 2, 4, 2, 3}, 0, 3},
    };

    for (uint32_t i = 0; i < COUNT(cases); i++)
        reduce_case(conform, cases[i].rank, cases[i].extents, cases[i].rows, cases[i].axis);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint64_t extents[ACCEL_RANK];
        uint32_t rank = random_shape(conform, ACCEL_RANK, extents);

        reduce_case(conform, rank, extents, conform_below(conform, rank + 1), conform_below(conform, rank));
    }
}

/* Splits the rows of x into segments, some of them empty. Rows before the first and behind the last have none. */
static void fill_segments(struct trial_inputs *inputs)
{
    uint64_t rows = inputs->extents[0][0], count = inputs->elements[1];
    int32_t *first = inputs->numbers[1];

    first[0] = rows > 2 ? (int32_t)conform_below(inputs->conform, 2) : 0;
    for (uint64_t s = 1; s < count; s++) {
        uint32_t left = (uint32_t)rows - (uint32_t)first[s - 1], share = left / (uint32_t)(count - s);
        bool is_empty = s > 1 && conform_below(inputs->conform, 4) == 0;

        first[s] = first[s - 1] + (is_empty ? 0 : (int32_t)conform_below(inputs->conform, share + 1));
        if (s == 1 && first[1] == first[0])
            first[1] += 1;
    }
    if (conform_below(inputs->conform, 2) == 0)
        first[count - 1] = (int32_t)rows;
}

static void segments(struct conform *conform)
{
    static const char *const shapes[] = {"f:1 i:2",          "f:t17,33 i:4",       "f:17,33 i:t3+1",
                                         "f:t130,64 i:31",   "f:9,5 i:t40+1",      "f:t40,3,7 i:6",
                                         "f:300,2 i:t2+1",   "f:t70001,2 i:3",     "f:t20,66001 i:4",
                                         "f:140,1 i:t130+1", "f:t6,2,3,5,2,2 i:4", "f:70001,1 i:t66001+1"};
    struct accel_reduce at = {.size = sizeof(at), .kind = conform->parameter};

    for (uint32_t i = 0; i < COUNT(shapes) + conform->rounds; i++) {
        uint32_t rows = 1 + conform_below(conform, 80), count = 1 + conform_below(conform, 9);
        bool is_free = conform_below(conform, 2) == 0;
        char text[TEXT];

        snprintf(text, sizeof(text), is_free ? "f:%u,%u i:t%u+1" : "f:t%u,%u i:%u", rows,
                 1 + conform_below(conform, 90), is_free ? count : count + 1);
        if (i < COUNT(shapes))
            snprintf(text, sizeof(text), "%s", shapes[i]);
        trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_REDUCE,
                                                     .ceiling = at.kind == ACCEL_REDUCE_MAX ? TRIAL_EXACT : TRIAL_F32,
                                                     .inputs = text,
                                                     .attributes = &at,
                                                     .text = "in segments",
                                                     .scale = reduce_scale(at.kind, 4),
                                                     .mixes_rows = text[2] == 't',
                                                     .fill = fill_segments});
    }
}

const struct conform_operator conform_op_reduce = {
    .compute = compute_reduce,
    .tests = {CONFORM_TEST("sum", reduce, ACCEL_REDUCE_SUM), CONFORM_TEST("sum_segments", segments, ACCEL_REDUCE_SUM),
              CONFORM_TEST("mean", reduce, ACCEL_REDUCE_MEAN),
              CONFORM_TEST("mean_segments", segments, ACCEL_REDUCE_MEAN), CONFORM_TEST("max", reduce, ACCEL_REDUCE_MAX),
              CONFORM_TEST("max_segments", segments, ACCEL_REDUCE_MAX)}};

/* ---- top-k ---- */

/* Chooses one element after the other, each the largest of those that are left. */
static void compute_top_k(const struct reference_call *call)
{
    const struct accel_top_k *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *y = call->outputs[0], *values = call->outputs[1];
    uint64_t n = x->extents[x->rank - 1];

    for (uint64_t r = 0; r < reference_elements(y) / at->k; r++) {
        const double *row = x->at + r * n;
        double *places = y->at + r * at->k;

        for (uint32_t i = 0; i < at->k; i++) {
            uint64_t best = n;

            /* A place behind the one before in the order: a smaller element, or an equal one at a higher place. */
            for (uint64_t j = 0; j < n; j++) {
                uint64_t last = i == 0 ? 0 : (uint64_t)places[i - 1];
                bool is_left = i == 0 || row[j] < row[last] || (row[j] == row[last] && j > last);

                if (is_left && (best == n || row[j] > row[best]))
                    best = j;
            }
            places[i] = (double)best;
            if (values != NULL)
                values->at[r * at->k + i] = row[best];
        }
    }
}

/* Fills rows with elements of which many are equal (of 1 + parameter / 4 levels), or infinite, or zeros of either sign;
 * one of four keeps its random elements. */
static void fill_ties(struct trial_inputs *inputs)
{
    uint64_t n = inputs->extents[0][inputs->rank[0] - 1];
    struct conform *conform = inputs->conform;

    for (uint64_t r = 0; r < inputs->elements[0] / n; r++)
        for (uint64_t i = 0; i < n && r % 4 != 1; i++) {
            float level = (float)conform_below(conform, 1 + (uint32_t)n / 4) - (float)n / 8;

            if (r % 4 == 2 && conform_below(conform, 2) == 0)
                level = -INFINITY;
            if (r % 4 == 3)
                level = conform_below(conform, 3) == 0 ? (float)conform_below(conform, 3) - 1 : -0.0f;
            inputs->floats[0][r * n + i] = level;
        }
}

static void top_k_case(struct conform *conform, const char *text, uint32_t k)
{
    const struct accel_top_k at = {.size = sizeof(at), .k = k};
    char attributes[TEXT];

    snprintf(attributes, sizeof(attributes), "k %u%s", k, conform->parameter ? "" : ", places alone");
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_TOP_K,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = attributes,
                                                 .has_second = conform->parameter != 0,
                                                 .fill = fill_ties});
}

static void top_k(struct conform *conform)
{
    static const struct {
        const char *text;
        uint32_t k;
    } cases[] = {{"f:1", 1},          {"f:t5,1", 1},      {"f:70", 8},       {"f:t4,8", 2},      {"f:t17,8", 8},
                 {"f:t130,64", 6},    {"f:t9,128", 8},    {"f:t3,255", 255}, {"f:t33,33", 1},    {"f:t5,513", 40},
                 {"f:t4,4097", 64},   {"f:t2,66001", 50}, {"f:t65551,4", 2}, {"f:t3,2,5,16", 4}, {"f:t2,2,2,2,3,7", 3},
                 {"f:t2,2048", 2048}, {"f:1,151936", 20}, {"f:t1,100", 100}};

    for (uint32_t i = 0; i < COUNT(cases); i++)
        top_k_case(conform, cases[i].text, cases[i].k);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint64_t extents[ACCEL_RANK];
        uint32_t rank = random_shape(conform, 4, extents);
        char text[TEXT] = "";

        append_input(text, 'f', rank, extents, rank > 1 ? 0 : rank);
        top_k_case(conform, text, 1 + conform_below(conform, (uint32_t)extents[rank - 1]));
    }
}

const struct conform_operator conform_op_top_k = {
    .compute = compute_top_k, .tests = {CONFORM_TEST("places", top_k, 0), CONFORM_TEST("values", top_k, 1)}};
