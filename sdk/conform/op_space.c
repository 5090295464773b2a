/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over places of images and sound, channels innermost: group norm, conv, pool, resize; references and cases.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

/* ---- places ---- */

/* A value [n, (height,) width, channels]; one axis of places has a height of 1. */
struct image {
    uint64_t n, places[2], channels;
    double *at;
};

static struct image image_of(const struct reference_value *value)
{
    const uint64_t *extents = value->extents + value->rank - 3;

    return (struct image){value->extents[0], {value->rank == 3 ? 1 : extents[0], extents[1]}, extents[2], value->at};
}

/* Returns the channels of one place of one image. */
static double *channels_at(const struct image *image, uint64_t i, uint64_t row, uint64_t column)
{
    return image->at + ((i * image->places[0] + row) * image->places[1] + column) * image->channels;
}

/* ---- group norm ---- */

static void compute_group_norm(const struct reference_call *call)
{
    const struct accel_group_norm *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *weight = call->inputs[1], *bias = call->inputs[2];
    uint64_t channels = x->extents[x->rank - 1], width = channels / at->groups, places = 1;

    for (uint32_t d = 1; d + 1 < x->rank; d++)
        places *= x->extents[d];
    for (uint64_t i = 0; i < x->extents[0] * at->groups; i++) {
        uint64_t begin = i / at->groups * places * channels + i % at->groups * width;
        double mean = 0, square = 0;

        for (uint64_t e = 0; e < places * width; e++)
            mean += x->at[begin + e / width * channels + e % width] / (double)(places * width);
        for (uint64_t e = 0; e < places * width; e++)
            square += pow(x->at[begin + e / width * channels + e % width] - mean, 2);
        for (uint64_t e = 0; e < places * width; e++) {
            uint64_t from = begin + e / width * channels + e % width, c = from % channels;

            call->outputs[0]->at[from] =
                (x->at[from] - mean) / sqrt(square / (double)(places * width) + at->epsilon) * weight->at[c] +
                (bias != NULL ? bias->at[c] : 0);
        }
    }
}

/* Moves each image by another offset: groups have means that differ from 0. */
static void fill_offsets(struct trial_inputs *inputs)
{
    uint64_t count = inputs->elements[0] / inputs->extents[0][0];

    for (uint64_t e = 0; e < inputs->elements[0]; e++)
        inputs->floats[0][e] = inputs->floats[0][e] * 0.5f + (float)(e / count % 3) - 0.7f;
}

#define GROUP_NORM(values, number, eps)                                                                                \
    {                                                                                                                  \
        .op = ACCEL_OP_GROUP_NORM, .ceiling = TRIAL_F32, .inputs = values,                                             \
        TRIAL_ATTRIBUTES(group_norm, .groups = number, .epsilon = eps), .scale = 1, .fill = fill_offsets               \
    }

static const struct trial_case group_norm_cases[] = {
    GROUP_NORM("f:1,1 F:1 F:1", 1, 1e-5f),
    GROUP_NORM("f:t3,8 F:8 F:8", 2, 1e-5f),
    GROUP_NORM("f:t2,7,12 F:12 F:12", 3, 1e-5f),
    GROUP_NORM("f:t2,7,12 F:12", 12, 1e-3f),
    GROUP_NORM("f:t2,9,5,32 F:32 F:32", 32, 1e-5f),
    GROUP_NORM("f:t3,4,6,64 F:64 F:64", 8, 1e-6f),
    GROUP_NORM("f:t1,16,16,96 F:96 F:96", 32, 1e-5f),
    GROUP_NORM("f:t2,33,17,5 F:5", 1, 0.5f),
    GROUP_NORM("f:t2,3,2,4,6 F:6 F:6", 2, 1e-5f),
    GROUP_NORM("f:t2,70001,2 F:2 F:2", 2, 1e-5f),
    GROUP_NORM("f:t300,3,4 F:4 F:4", 2, 1e-5f),
    GROUP_NORM("f:t2,5,66002 F:66002 F:66002", 2, 1e-5f),
    GROUP_NORM("f:t2,7,12 H:12 H:12", 4, 1e-5f),
    GROUP_NORM("f:t4,320,1 F:1 F:1", 1, 1e-12f),
};

static void group_norm(struct conform *conform)
{
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct accel_group_norm at = {.size = sizeof(at), .epsilon = 1e-5f};
        uint32_t channels, bias = conform_below(conform, 2);
        char text[120], name[40];

        at.groups = 1 + conform_below(conform, 8);
        channels = at.groups * (1 + conform_below(conform, 9));
        snprintf(text, sizeof(text), bias ? "f:t%u,%u,%u F:%u F:%u" : "f:t%u,%u,%u F:%u", 1 + conform_below(conform, 4),
                 1 + conform_below(conform, 90), channels, channels, channels);
        snprintf(name, sizeof(name), "%u groups", at.groups);
        trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_GROUP_NORM,
                                                     .ceiling = TRIAL_F32,
                                                     .inputs = text,
                                                     .attributes = &at,
                                                     .text = name,
                                                     .scale = 1,
                                                     .fill = fill_offsets});
    }
}

const struct conform_operator conform_op_group_norm = {
    .compute = compute_group_norm, .tests = {CONFORM_CASES("groups", group_norm_cases, group_norm)}};

/* ---- conv ---- */

/* Returns the place of the input that kernel place `t` of output place `o` reads on axis `d`; -1 for a place outside,
 * or between inputs of a transposed convolution. */
static int64_t read_place(const struct accel_conv *at, uint32_t d, uint64_t o, uint64_t t, uint64_t extent)
{
    int64_t shift = (int64_t)t * at->dilation[d] - (int64_t)at->before[d], stride = at->stride[d], place;

    if (at->transposed) {
        if (((int64_t)o - shift) % stride != 0)
            return -1;
        place = ((int64_t)o - shift) / stride;
    } else {
        place = (int64_t)o * stride + shift;
    }
    return place >= 0 && place < (int64_t)extent ? place : -1;
}

/* Returns output channel `c` of place [row, column]. */
static double convolve(const struct accel_conv *at, const struct image *x, uint64_t i, uint64_t row, uint64_t column,
                       const double *w, uint64_t group)
{
    uint64_t width = x->channels / at->groups;
    double sum = 0;

    for (uint64_t a = 0; a < at->kernel[0]; a++)
        for (uint64_t b = 0; b < at->kernel[1]; b++, w += width) {
            int64_t from[2] = {read_place(at, 0, row, a, x->places[0]), read_place(at, 1, column, b, x->places[1])};

            for (uint64_t c = 0; c < width && from[0] >= 0 && from[1] >= 0; c++)
                sum += w[c] * channels_at(x, i, (uint64_t)from[0], (uint64_t)from[1])[group * width + c];
        }
    return sum;
}

static void compute_conv(const struct reference_call *call)
{
    const struct accel_conv *at = call->attributes;
    const struct reference_value *w = call->inputs[1], *bias = call->inputs[2];
    struct image x = image_of(call->inputs[0]), y = image_of(call->outputs[0]);

    for (uint64_t i = 0; i < y.n; i++)
        for (uint64_t place = 0; place < y.places[0] * y.places[1]; place++) {
            uint64_t row = place / y.places[1], column = place % y.places[1];

            for (uint64_t c = 0; c < y.channels; c++)
                channels_at(&y, i, row, column)[c] =
                    reference_function(at->function, (bias != NULL ? bias->at[c] : 0) +
                                                         convolve(at, &x, i, row, column, w->at + c * w->extents[1],
                                                                  c / (y.channels / at->groups)));
        }
}

#define ONE                                                                                                            \
    {                                                                                                                  \
        1, 1                                                                                                           \
    }
#define CONV(values, ...)                                                                                              \
    {                                                                                                                  \
        .op = ACCEL_OP_CONV, .ceiling = TRIAL_F32, .inputs = values,                                                   \
        TRIAL_ATTRIBUTES(conv, .rounding = ACCEL_F32, __VA_ARGS__), .scale = 1                                         \
    }
#define KERNEL(h, w) .groups = 1, .kernel = {h, w}, .stride = ONE, .dilation = ONE

/* Kernels of one place, of odd and even extents, larger than the image with its padding; padding on one side alone;
 * strides that leave places over; sound and images. */
static const struct trial_case place_cases[] = {
    CONV("f:1,1,1 F:1,1", KERNEL(1, 1)),
    CONV("f:t2,5,6,8 F:12,8 F:12", KERNEL(1, 1)),
    CONV("f:t2,9,11,4 F:6,36 F:6", KERNEL(3, 3), .before = {1, 1}, .after = {1, 1}),
    CONV("f:t2,9,11,4 F:6,36", KERNEL(3, 3)),
    CONV("f:t1,8,8,3 F:16,48 F:16", .groups = 1, .kernel = {4, 4}, .stride = {4, 4}, .dilation = ONE),
    CONV("f:t1,28,42,3 F:24,588 F:24", .groups = 1, .kernel = {14, 14}, .stride = {14, 14}, .dilation = ONE),
    CONV("f:t2,10,7,5 F:9,30", .groups = 1, .kernel = {3, 2}, .stride = {2, 3}, .dilation = ONE, .before = {1, 0},
         .after = {0, 2}),
    CONV("f:t2,5,3,2 F:3,70", KERNEL(7, 5), .before = {3, 2}, .after = {3, 2}),
    CONV("f:t1,2,2,2 F:3,50", KERNEL(5, 5), .before = {4, 4}, .after = {4, 4}),
    CONV("f:t2,12,13,4 F:5,36", .groups = 1, .kernel = {3, 3}, .stride = ONE, .dilation = {2, 3}, .before = {2, 3},
         .after = {2, 3}),
    CONV("f:t2,12,13,4 F:5,24 F:5", .groups = 1, .kernel = {2, 3}, .stride = {2, 1}, .dilation = {3, 1}),
    CONV("f:t2,50,8 F:10,24 F:10", KERNEL(1, 3), .before = {0, 1}, .after = {0, 1}),
    CONV("f:t2,50,8 F:10,24 F:10", .groups = 1, .kernel = {1, 3}, .stride = {1, 2}, .dilation = ONE, .before = {0, 1},
         .after = {0, 1}),
    /* Causal: all padding before. */
    CONV("f:t3,40,5 F:7,35 F:7", .groups = 1, .kernel = {1, 7}, .stride = ONE, .dilation = {1, 4}, .before = {0, 24}),
    CONV("f:t1,3000,2 F:3,6", .groups = 1, .kernel = {1, 3}, .stride = {1, 2}, .dilation = ONE, .before = {0, 1},
         .after = {0, 1}),
    CONV("f:1,70001,1 F:2,3", KERNEL(1, 3), .before = {0, 2}),
    CONV("f:t1,3,3,2100 F:4,18900", KERNEL(3, 3), .before = {1, 1}, .after = {1, 1}),
    CONV("f:t66001,1,1,2 F:2,2", KERNEL(1, 1)),
    CONV("f:t1,17,19,33 F:130,297 F:130", KERNEL(3, 3), .before = {1, 1}, .after = {1, 1}, .function = ACCEL_FN_SILU),
};

/* Groups: two, one for each channel (depthwise), one for each channel with several outputs of each. */
static const struct trial_case conv_group_cases[] = {
    CONV("f:t2,7,8,8 F:6,36 F:6", .groups = 2, .kernel = {3, 3}, .stride = ONE, .dilation = ONE, .before = {1, 1},
         .after = {1, 1}),
    CONV("f:t2,7,8,12 F:12,9 F:12", .groups = 12, .kernel = {3, 3}, .stride = ONE, .dilation = ONE, .before = {1, 1},
         .after = {1, 1}),
    CONV("f:t2,7,8,5 F:15,9", .groups = 5, .kernel = {3, 3}, .stride = {2, 2}, .dilation = ONE, .before = {1, 1},
         .after = {1, 1}),
    CONV("f:t2,40,33 F:33,4 F:33", .groups = 33, .kernel = {1, 4}, .stride = ONE, .dilation = ONE, .before = {0, 3},
         .function = ACCEL_FN_SILU),
    CONV("f:t1,30,64 F:32,48", .groups = 4, .kernel = {1, 3}, .stride = {1, 2}, .dilation = {1, 2}, .before = {0, 1},
         .after = {0, 4}),
    CONV("f:t2,4,4,6 F:9,2", .groups = 3, .kernel = ONE, .stride = ONE, .dilation = ONE),
};

/* Transposed: strides above, at and below the kernel; padding cuts the ends off. */
static const struct trial_case transposed_cases[] = {
    CONV("f:t2,5,6,4 F:6,16 F:6", .groups = 1, .kernel = {2, 2}, .stride = {2, 2}, .dilation = ONE, .transposed = 1),
    CONV("f:t2,5,6,4 F:6,64", .groups = 1, .kernel = {4, 4}, .stride = {2, 2}, .dilation = ONE, .before = {1, 1},
         .after = {1, 1}, .transposed = 1),
    CONV("f:t2,5,6,4 F:6,36", .groups = 1, .kernel = {3, 3}, .stride = ONE, .dilation = ONE, .before = {1, 0},
         .after = {0, 2}, .transposed = 1),
    CONV("f:t1,4,3,3 F:5,12 F:5", .groups = 1, .kernel = {2, 2}, .stride = {3, 4}, .dilation = ONE, .transposed = 1),
    CONV("f:t2,4,5,3 F:4,18", .groups = 1, .kernel = {3, 2}, .stride = {2, 1}, .dilation = {2, 3}, .before = {1, 2},
         .transposed = 1),
    CONV("f:t2,30,8 F:6,128 F:6", .groups = 1, .kernel = {1, 16}, .stride = {1, 8}, .dilation = ONE, .before = {0, 4},
         .after = {0, 4}, .transposed = 1),
    CONV("f:t2,6,5,6 F:4,27 F:4", .groups = 2, .kernel = {3, 3}, .stride = {2, 2}, .dilation = ONE, .before = {1, 1},
         .transposed = 1, .function = ACCEL_FN_RELU),
    CONV("f:t1,9,10 F:10,3", .groups = 10, .kernel = {1, 3}, .stride = {1, 2}, .dilation = ONE, .transposed = 1),
    CONV("f:1,35001,1 F:1,2", .groups = 1, .kernel = {1, 2}, .stride = {1, 2}, .dilation = ONE, .transposed = 1),
    CONV("f:t2,1,1,3 F:4,75", .groups = 1, .kernel = {5, 5}, .stride = {2, 2}, .dilation = ONE, .before = {2, 2},
         .after = {2, 2}, .transposed = 1),
};

/* Runs a case with weights of the type of the test. `at` lacks the size and the rounding. */
static void conv_case(struct conform *conform, const char *text, struct accel_conv at, uint32_t rounding, uint64_t row)
{
    char name[160];

    at.size = sizeof(at);
    at.rounding = trial_roundings[rounding].type;
    snprintf(name, sizeof(name),
             "kernel %u x %u, stride %u x %u, dilation %u x %u, padding %u x %u and %u x %u, %u "
             "groups%s%s",
             at.kernel[0], at.kernel[1], at.stride[0], at.stride[1], at.dilation[0], at.dilation[1], at.before[0],
             at.before[1], at.after[0], at.after[1], at.groups, at.transposed ? ", transposed" : "",
             trial_roundings[rounding].text);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_CONV,
                                                 .ceiling = trial_roundings[rounding].ceiling,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = name,
                                                 .scale = trial_product_scale(row, rounding)});
}

static void random_conv(struct conform *conform, uint32_t block)
{
    struct accel_conv at = {.groups = 1 + conform_below(conform, 3), .transposed = conform_below(conform, 3) == 0};
    uint32_t width = block == 1 ? 1 + conform_below(conform, 9) : block;
    uint32_t outputs = at.groups * (1 + conform_below(conform, 20)), rank = 3 + conform_below(conform, 2), places[2];
    uint32_t bias = conform_below(conform, 2), row;
    char text[120];

    for (uint32_t d = 0; d < 2; d++) {
        bool is_there = d > 4 - rank || d == 1;

        at.kernel[d] = is_there ? 1 + conform_below(conform, 4) : 1;
        at.stride[d] = is_there ? 1 + conform_below(conform, 3) : 1;
        at.dilation[d] = is_there ? 1 + conform_below(conform, 2) : 1;
        at.before[d] = is_there ? conform_below(conform, at.kernel[d]) : 0;
        at.after[d] = is_there ? conform_below(conform, at.kernel[d]) : 0;
        /* The least image that holds a kernel; of a transposed convolution one whose padding leaves places. */
        places[d] = at.dilation[d] * (at.kernel[d] - 1) + 1 + conform_below(conform, 8);
    }
    row = at.kernel[0] * at.kernel[1] * width;
    if (rank == 4)
        snprintf(text, sizeof(text), bias ? "f:t%u,%u,%u,%u W:%u,%u F:%u" : "f:t%u,%u,%u,%u W:%u,%u",
                 1 + conform_below(conform, 3), places[0], places[1], width * at.groups, outputs, row, outputs);
    else
        snprintf(text, sizeof(text), bias ? "f:t%u,%u,%u W:%u,%u F:%u" : "f:t%u,%u,%u W:%u,%u",
                 1 + conform_below(conform, 3), places[1], width * at.groups, outputs, row, outputs);
    conv_case(conform, text, at, conform_below(conform, TRIAL_ROUNDINGS), row);
}

/* Cases of every type of weights. Rows of W are whole blocks: of one place of the kernel, or of all together. */
static void conv_type(struct conform *conform)
{
    const uint32_t block = (uint32_t)conform_block(conform->parameter), unit = block == 1 ? 19 : block;
    const uint32_t quarter = block % 4 == 0 ? block / 4 : unit, half = block % 2 == 0 ? block / 2 : unit;
    const struct accel_conv point = {.groups = 1, .kernel = ONE, .stride = ONE, .dilation = ONE};
    const struct accel_conv patch = {.groups = 1, .kernel = {2, 2}, .stride = {2, 2}, .dilation = ONE};
    const struct accel_conv three = {.groups = 1, .kernel = {1, 3}, .stride = ONE, .dilation = ONE, .after = {0, 2}};
    const struct accel_conv deep = {
        .groups = 3, .kernel = {1, unit}, .stride = {1, 3}, .dilation = ONE, .before = {0, 2}, .after = {0, 2}};
    const struct accel_conv square = {
        .groups = 2, .kernel = {2, 3}, .stride = ONE, .dilation = {1, 2}, .before = {1, 2}, .after = {0, 2}};
    struct accel_conv up = patch;
    char text[120];

    up.transposed = 1;
    snprintf(text, sizeof(text), "f:t2,5,6,%u W:33,%u F:33", unit, unit);
    conv_case(conform, text, point, 0, unit);
    conv_case(conform, text, point, 1, unit);
    conv_case(conform, text, point, 4, unit);
    snprintf(text, sizeof(text), "f:t2,6,9,%u W:40,%u F:40", quarter, 4 * quarter);
    conv_case(conform, text, patch, 0, 4 * quarter);
    conv_case(conform, text, patch, 2, 4 * quarter);
    conv_case(conform, text, up, 0, 4 * quarter);
    snprintf(text, sizeof(text), "f:t3,11,%u W:17,%u", unit, 3 * unit);
    conv_case(conform, text, three, 0, 3 * unit);
    conv_case(conform, text, three, 3, 3 * unit);
    snprintf(text, sizeof(text), "f:t1,5,7,%u W:10,%u F:10", 2 * half, 6 * half);
    conv_case(conform, text, square, 1, 6 * half);
    snprintf(text, sizeof(text), "f:t2,%u,3 W:6,%u F:6", unit + 6, unit);
    conv_case(conform, text, deep, 0, unit);
    for (uint32_t i = 0; i < conform->rounds; i++)
        random_conv(conform, block);
}

static void add_conv(struct conform_list *list)
{
    conform_add_types(list, "conv", conv_type);
}

const struct conform_operator conform_op_conv = {.compute = compute_conv,
                                                 .add = add_conv,
                                                 .tests = {CONFORM_CASES("places", place_cases, NULL),
                                                           CONFORM_CASES("groups", conv_group_cases, NULL),
                                                           CONFORM_CASES("transposed", transposed_cases, NULL)}};

/* ---- pool ---- */

static double pool_window(const struct accel_pool *at, const struct image *x, uint64_t i, uint64_t row, uint64_t column,
                          uint64_t channel)
{
    double sum = 0, most = -INFINITY, count = 0;

    for (uint64_t a = 0; a < at->kernel[0]; a++)
        for (uint64_t b = 0; b < at->kernel[1]; b++) {
            int64_t r = (int64_t)(row * at->stride[0] + a) - at->before[0];
            int64_t c = (int64_t)(column * at->stride[1] + b) - at->before[1];
            double element;

            if (r < 0 || c < 0 || r >= (int64_t)x->places[0] || c >= (int64_t)x->places[1])
                continue;
            element = channels_at(x, i, (uint64_t)r, (uint64_t)c)[channel];
            sum += element;
            count++;
            most = element > most ? element : most;
        }
    if (at->kind == ACCEL_POOL_MAX)
        return most;
    return sum / (at->count_outside ? (double)at->kernel[0] * at->kernel[1] : count);
}

static void compute_pool(const struct reference_call *call)
{
    struct image x = image_of(call->inputs[0]), y = image_of(call->outputs[0]);

    for (uint64_t i = 0; i < y.n; i++)
        for (uint64_t r = 0; r < y.places[0]; r++)
            for (uint64_t c = 0; c < y.places[1]; c++)
                for (uint64_t channel = 0; channel < y.channels; channel++)
                    channels_at(&y, i, r, c)[channel] = pool_window(call->attributes, &x, i, r, c, channel);
}

#define COUNT_OUTSIDE 256u /* of the parameter of a test, beside the kind of pooling */

static void pool_case(struct conform *conform, const char *text, struct accel_pool at)
{
    char name[160];

    at.size = sizeof(at);
    at.kind = conform->parameter % COUNT_OUTSIDE;
    at.count_outside = conform->parameter / COUNT_OUTSIDE;
    snprintf(name, sizeof(name), "kernel %u x %u, stride %u x %u, padding %u x %u and %u x %u", at.kernel[0],
             at.kernel[1], at.stride[0], at.stride[1], at.before[0], at.before[1], at.after[0], at.after[1]);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_POOL,
                                                 .ceiling = at.kind == ACCEL_POOL_MAX ? TRIAL_EXACT : TRIAL_F32,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = name,
                                                 .scale = at.kind == ACCEL_POOL_MAX ? 0 : 0.2});
}

static void pool(struct conform *conform)
{
    static const struct {
        const char *text;
        struct accel_pool at;
    } cases[] = {
        {"f:1,1,1", {.kernel = ONE, .stride = ONE}},
        {"f:t2,6,8,5", {.kernel = {2, 2}, .stride = {2, 2}}},
        {"f:t2,7,9,5", {.kernel = {2, 2}, .stride = {2, 2}}},
        {"f:t2,7,9,33", {.kernel = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}}},
        {"f:t1,9,5,4", {.kernel = {5, 3}, .stride = ONE, .before = {4, 0}, .after = {1, 2}}},
        {"f:t2,12,10,3", {.kernel = {2, 3}, .stride = {5, 4}, .before = {0, 2}}},
        {"f:t2,3,2,7", {.kernel = {6, 5}, .stride = ONE, .before = {5, 4}, .after = {5, 4}}},
        {"f:t3,40,6", {.kernel = {1, 4}, .stride = {1, 4}}},
        {"f:t3,41,6", {.kernel = {1, 5}, .stride = {1, 2}, .before = {0, 2}, .after = {0, 2}}},
        {"f:t1,14,14,130", {.kernel = {14, 14}, .stride = ONE}},
        {"f:t1,70001,2", {.kernel = {1, 3}, .stride = {1, 2}, .after = {0, 1}}},
        {"f:t300,4,4,1", {.kernel = {2, 2}, .stride = {2, 2}}},
        {"f:1,2,2,70001", {.kernel = {2, 2}, .stride = ONE}},
    };

    for (uint32_t i = 0; i < COUNT(cases); i++)
        pool_case(conform, cases[i].text, cases[i].at);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct accel_pool at = {.kind = 0};
        uint32_t places[2];
        char text[80];

        for (uint32_t d = 0; d < 2; d++) {
            at.kernel[d] = 1 + conform_below(conform, 5);
            at.stride[d] = 1 + conform_below(conform, 4);
            at.before[d] = conform_below(conform, at.kernel[d]);
            at.after[d] = conform_below(conform, at.kernel[d]);
            places[d] = at.kernel[d] + conform_below(conform, 12);
        }
        snprintf(text, sizeof(text), "f:t%u,%u,%u,%u", 1 + conform_below(conform, 3), places[0], places[1],
                 1 + conform_below(conform, 20));
        pool_case(conform, text, at);
    }
}

const struct conform_operator conform_op_pool = {
    .compute = compute_pool,
    .tests = {CONFORM_TEST("max", pool, ACCEL_POOL_MAX), CONFORM_TEST("average", pool, ACCEL_POOL_AVERAGE),
              CONFORM_TEST("average_outside", pool, ACCEL_POOL_AVERAGE + COUNT_OUTSIDE)}};

/* ---- resize ---- */

/* Places of the input that one place of the output is interpolated from on an axis, with their weights. */
struct taps {
    uint64_t places[4];
    double weights[4];
};

/* Returns the weight of cubic convolution at a distance, with a = -0.75. */
static double cubic_weight(double distance)
{
    const double a = -0.75, d = fabs(distance);

    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static struct taps taps_of(const struct accel_resize *at, uint64_t o, uint64_t in, uint64_t out)
{
    struct taps taps = {{0}, {0}};
    double place = ((double)o + 0.5) * (double)in / (double)out - 0.5;

    if (at->mode == ACCEL_RESIZE_NEAREST) {
        taps.places[0] = (2 * o + 1) * in / (2 * out);
        taps.weights[0] = 1;
        return taps;
    }
    if (at->align_corners)
        place = out == 1 ? 0 : (double)o * (double)(in - 1) / (double)(out - 1);
    for (uint32_t i = 0; i < 4; i++) {
        double tap = floor(place) - 1 + i, distance = fabs(place - tap), edge = (double)in - 1;

        taps.places[i] = (uint64_t)(tap < 0 ? 0 : tap > edge ? edge : tap);
        taps.weights[i] = at->mode == ACCEL_RESIZE_CUBIC ? cubic_weight(distance) : distance < 1 ? 1 - distance : 0;
    }
    return taps;
}

static void compute_resize(const struct reference_call *call)
{
    const struct accel_resize *at = call->attributes;
    struct image x = image_of(call->inputs[0]), y = image_of(call->outputs[0]);

    for (uint64_t i = 0; i < y.n; i++)
        for (uint64_t place = 0; place < y.places[0] * y.places[1]; place++) {
            uint64_t row = place / y.places[1], column = place % y.places[1];
            struct taps rows = taps_of(at, row, x.places[0], y.places[0]);
            struct taps columns = taps_of(at, column, x.places[1], y.places[1]);
            double *to = channels_at(&y, i, row, column);

            for (uint64_t c = 0; c < y.channels; c++) {
                to[c] = 0;
                for (uint32_t a = 0; a < 16; a++)
                    to[c] += rows.weights[a / 4] * columns.weights[a % 4] *
                             channels_at(&x, i, rows.places[a / 4], columns.places[a % 4])[c];
            }
        }
}

#define CORNERS 256u /* of the parameter of a test, beside the mode: corners are aligned */

static void resize_case(struct conform *conform, const char *text, uint32_t height, uint32_t width)
{
    const struct accel_resize at = {.size = sizeof(at),
                                    .mode = conform->parameter % CORNERS,
                                    .extent = {height, width},
                                    .align_corners = conform->parameter / CORNERS};
    char name[60];

    snprintf(name, sizeof(name), "to %u x %u", height, width);
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_RESIZE,
                                                 .ceiling = at.mode == ACCEL_RESIZE_NEAREST ? TRIAL_EXACT : TRIAL_F32,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = name,
                                                 .scale = at.mode == ACCEL_RESIZE_NEAREST ? 0 : 0.5});
}

static void resize(struct conform *conform)
{
    static const struct {
        const char *text;
        uint32_t height, width;
    } cases[] = {
        {"f:1,1,1", 1, 1},
        {"f:t2,4,5,3", 8, 10},
        {"f:t2,4,5,3", 4, 5},
        {"f:t2,8,10,3", 4, 5},
        {"f:t2,7,9,17", 13, 4},
        {"f:t1,16,16,33", 37, 37},
        {"f:t2,6,5,4", 5, 6},
        {"f:t2,1,1,5", 3, 4},
        {"f:t2,9,7,5", 1, 1},
        {"f:t2,9,2,5", 2, 9},
        {"f:t3,10,8", 1, 25},
        {"f:t3,30,8", 1, 7},
        {"f:t1,24,24,2", 91, 17},
        {"f:t2,3,3,70", 30, 2},
        {"f:t300,2,2,1", 3, 3},
        {"f:t1,12,20,1", 9, 15},
        {"f:t1,14,26,2", 23, 11},
        /* Extents whose ratio, and the places that it gives, a binary32 rounds past a whole number. */
        {"f:t1,12,30,3", 37, 29},
        {"f:t1,6,20,2", 13, 34},
        {"f:1,2,3,50001", 3, 2},
        {"f:t1,200,3,2", 67, 4},
    };

    for (uint32_t i = 0; i < COUNT(cases); i++)
        resize_case(conform, cases[i].text, cases[i].height, cases[i].width);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        char text[80];

        snprintf(text, sizeof(text), "f:t%u,%u,%u,%u", 1 + conform_below(conform, 3), 1 + conform_below(conform, 30),
                 1 + conform_below(conform, 30), 1 + conform_below(conform, 20));
        resize_case(conform, text, 1 + conform_below(conform, 40), 1 + conform_below(conform, 40));
    }
}

const struct conform_operator conform_op_resize = {
    .compute = compute_resize,
    .tests = {CONFORM_TEST("nearest", resize, ACCEL_RESIZE_NEAREST),
              CONFORM_TEST("linear", resize, ACCEL_RESIZE_LINEAR),
              CONFORM_TEST("linear_corners", resize, ACCEL_RESIZE_LINEAR + CORNERS),
              CONFORM_TEST("cubic", resize, ACCEL_RESIZE_CUBIC),
              CONFORM_TEST("cubic_corners", resize, ACCEL_RESIZE_CUBIC + CORNERS)}};
