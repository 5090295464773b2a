/* SPDX-License-Identifier: Apache-2.0 */
/* References of the conformance kit against results of other programs: ONNX Runtime 1.23 for operators that it has,
 * NumPy 2 in binary64 for rotary positions, experts, segments and attention, Python in exact fractions for sampling.
 * Inputs are patterns of eighths, so that nothing rounds. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/builder.h>

#include "sdk/conform/conform.h"
#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

#define MOST 80u /* elements of an output */
#define AT(tag, ...) (&(const struct accel_##tag){sizeof(struct accel_##tag), __VA_ARGS__})

/* Inputs, separated by blanks, "-" for one that is absent: extents, and the elements of those that are no pattern. */
struct row {
    uint32_t op;
    const char *inputs;
    const void *attributes;
    const char *output; /* extents */
    double want[MOST];
    double second[MOST]; /* the second output, of operators that have one */
};

static const struct row rows[] = {
    /* clang-format off */
    {ACCEL_OP_RMS_NORM, "2,5 5", AT(norm, 1e-3f), "2,5", {0, 1.06098, 0.385809, -1.30211, 0.0964523, -0.573163,
     -0.589539, -0.491282, -0.736923, 0.147385}, {0}},
    {ACCEL_OP_LAYER_NORM, "2,5 5 5", AT(norm, 1e-3f), "2,5", {1.53221, 0.700468, 0.50399, -2.43667, 0.549387,
     0.589262, -0.620553, -0.195998, -1.09466, 0.665184}, {0}},
    {ACCEL_OP_SOFTMAX, "2,2,4", NULL, "2,2,4", {0.212724, 0.0537849, 0.0782566, 0.655235, 0.0727101, 0.0641665,
     0.325864, 0.537259, 0.425976, 0.0740236, 0.0740236, 0.425976, 0.537259, 0.325864, 0.0641665, 0.0727101},
     {0}},
    {ACCEL_OP_ARGMAX, "3,5=0;1;1;-1;1;-1;-2;-0.5;-3;-0.5;2;0;0;0;2", NULL, "3", {1, 2, 0}, {0}},
    {ACCEL_OP_ADD, "2,2,3 2,3", NULL, "2,2,3", {0.625, -2.125, -1.375, 0, -0.875, -1.125, 1.375, 0.5, 0.25,
     -2.25, -1.25, 0.375}, {0}},
    {ACCEL_OP_MUL, "2,2,3 2,3", NULL, "2,2,3", {0, 1.03125, 0.375, -1.26562, 0.09375, 0.21875, 0.46875, -0.9375,
     -0.234375, 1.26562, 0.140625, -0.15625}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_RELU), "6", {0, 0, 0, 1.125, 0, 0}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_GELU), "6", {0, -0.116278, -0.158655, 0.978419,
     -0.169971, -0.166939}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_GELU_TANH), "6", {0, -0.116511, -0.158808, 0.978225,
     -0.170039, -0.167047}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_GELU_QUICK), "6", {0, -0.120785, -0.154204, 0.980496,
     -0.16361, -0.16103}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_SILU), "6", {0, -0.277493, -0.268941, 0.849279,
     -0.240616, -0.257438}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_SIGMOID), "6", {0.5, 0.201813, 0.268941, 0.754915,
     0.320821, 0.294215}, {0}},
    {ACCEL_OP_ACTIVATION, "6", AT(activation, ACCEL_FN_TANH), "6", {0, -0.879827, -0.761594, 0.809301,
     -0.635149, -0.703906}, {0}},
    {ACCEL_OP_GATE, "2,3 2,3", AT(activation, ACCEL_FN_SILU), "2,3", {0, 0.20812, 0.100853, -0.955439, 0.030077,
     0.0643595}, {0}},
    {ACCEL_OP_GATHER, "3,2,2 4=2;0;-1;3", NULL, "4,2,2", {0.625, -1.125, -1.125, 0.625, 0, -1.375, -1, 1.125, 0,
     -1.375, -1, 1.125, 0, -1.375, -1, 1.125}, {0}},
    {ACCEL_OP_RESHAPE, "2,6", NULL, "2,3,2", {0, -1.375, -1, 1.125, -0.75, -0.875, 0.75, 1.25, 0.625, -1.125,
     -1.125, 0.625}, {0}},
    {ACCEL_OP_ROTARY, "2,2,6 2=3;7 2", AT(rotary, ACCEL_PAIR_HALVES, 1.5f, 0), "2,2,6", {-0.857342, -1.30109,
     1.23084, 2.32567, -0.75, -0.875, -0.387291, 1.12662, -1.41228, -2.25699, -1.125, 0.625, -0.644135,
     -0.142365, 2.19622, -1.58461, 1.125, -1, 1.37622, -0.719572, -1.58131, -0.600935, 0.25, 0}, {0}},
    {ACCEL_OP_ROTARY, "2,2,6 2=3;7 2", AT(rotary, ACCEL_PAIR_NEIGHBOURS, 1.5f, 0), "2,2,6", {-1.17885, 1.6924,
     -0.777677, 2.11964, -0.75, -0.875, 0.148548, -2.18156, 0.254266, -1.91361, -1.125, 0.625, -2.1669,
     0.292906, -1.70479, 0.286279, 1.125, -1, 1.61049, -1.28849, -0.479198, -0.888763, 0.25, 0}, {0}},
    {ACCEL_OP_MATMUL, "2,3 4,3 4 2,4", AT(matmul, ACCEL_FN_RELU, ACCEL_F32, 0), "2,4", {1.65625, 0.796875, 1.25,
     0.125, 3.96875, 1, 1.20312, 0.25}, {0}},
    {ACCEL_OP_SCALE, "2,3", AT(scale, 3, -0.5f, 0), "2,3", {-0.5, -4.625, -3.5, 2.875, -2.75, -3.125}, {0}},
    {ACCEL_OP_CLAMP, "2,3", AT(clamp, -0.5f, 0.25f, 0), "2,3", {0, -0.5, -0.5, 0.25, -0.5, -0.5}, {0}},
    {ACCEL_OP_CONCAT, "2,1,2 2,3,2 - 2,2,2", AT(axis, 1, 0), "2,6,2", {0, -1.375, 0.625, -0.75, -0.375, -1.125,
     -0.125, -0.25, -1, 0.5, 0.875, 0.125, -1, 1.125, 1.375, -1, 1.25, -0.5, -0.5, 1.25, 1.125, 1, -0.25, 0.25}, {0}},
    {ACCEL_OP_SLICE, "2,7,2", AT(slice, 1, 1, 2, 3), "2,3,2", {-1, 1.125, 0.75, 1.25, -1.125, 0.625, 1.125, -1, 0.25,
     -0.625, -1.375, -1}, {0}},
    {ACCEL_OP_PERMUTE, "2,3,4", AT(permute, 0, {2, 0, 1}), "4,2,3", {0, -0.75, 0.625, 1.25, 1.125, 0.25, -1.375,
     -0.875, -1.125, 0.75, -1, -0.625, -1, 0.75, -1.125, -0.875, -1.375, 0.25, 1.125, 1.25, 0.625, -0.75, 0, 0}, {0}},
    {ACCEL_OP_PAD, "2,4,2", AT(pad, 1, ACCEL_PAD_VALUE, 1.5, 2, 3), "2,9,2", {1.5, 1.5, 1.5, 1.5, 0, -1.375, -1,
     1.125, -0.75, -0.875, 0.75, 1.25, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 0.625, -1.125, -1.125, 0.625,
     1.25, 0.75, -0.875, -0.75, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, {0}},
    {ACCEL_OP_PAD, "2,4,2", AT(pad, 1, ACCEL_PAD_MIRROR, 0, 2, 3), "2,9,2", {-0.75, -0.875, -1, 1.125, 0, -1.375, -1,
     1.125, -0.75, -0.875, 0.75, 1.25, -0.75, -0.875, -1, 1.125, 0, -1.375, 1.25, 0.75, -1.125, 0.625, 0.625, -1.125,
     -1.125, 0.625, 1.25, 0.75, -0.875, -0.75, 1.25, 0.75, -1.125, 0.625, 0.625, -1.125}, {0}},
    {ACCEL_OP_PAD, "2,4,2", AT(pad, 1, ACCEL_PAD_EDGE, 0, 2, 3), "2,9,2", {0, -1.375, 0, -1.375, 0, -1.375, -1, 1.125,
     -0.75, -0.875, 0.75, 1.25, 0.75, 1.25, 0.75, 1.25, 0.75, 1.25, 0.625, -1.125, 0.625, -1.125, 0.625, -1.125,
     -1.125, 0.625, 1.25, 0.75, -0.875, -0.75, -0.875, -0.75, -0.875, -0.75, -0.875, -0.75}, {0}},
    {ACCEL_OP_REDUCE, "2,3,4", AT(reduce, ACCEL_REDUCE_SUM, 0, 1), "2,4", {-0.125, -3.375, -1.375, 3, 2.625, -0.875,
     -2, -0.75}, {0}},
    {ACCEL_OP_REDUCE, "2,3,4", AT(reduce, ACCEL_REDUCE_MEAN, 0, 1), "2,4", {-0.0416667, -1.125, -0.458333, 1, 0.875,
     -0.291667, -0.666667, -0.25}, {0}},
    {ACCEL_OP_REDUCE, "2,3,4", AT(reduce, ACCEL_REDUCE_MAX, 0, 1), "2,4", {0.625, -0.875, 0.75, 1.25, 1.25, 0.75,
     0.25, 0}, {0}},
    {ACCEL_OP_REDUCE, "6,2 4=1;3;3;5", AT(reduce, ACCEL_REDUCE_SUM, 0, 0), "3,2", {-1.75, 0.25, 0, 0, 1.375, 0.125},
     {0}},
    {ACCEL_OP_REDUCE, "6,2 4=1;3;3;5", AT(reduce, ACCEL_REDUCE_MEAN, 0, 0), "3,2", {-0.875, 0.125, 0, 0, 0.6875,
     0.0625}, {0}},
    {ACCEL_OP_REDUCE, "6,2 4=1;3;3;5", AT(reduce, ACCEL_REDUCE_MAX, 0, 0), "3,2", {-0.75, 1.125, 0, 0, 0.75, 1.25},
     {0}},
    {ACCEL_OP_GROUP_NORM, "2,3,4 4 4", AT(group_norm, 2, 1e-3f, 0), "2,3,4", {1.77999, 0.73812, 0.742728, -1.49353,
     1.09858, 0.192991, 0.0642175, -1.63893, 2.34783, 0.465556, 0.791193, -0.911952, 1.9543, -0.52921, 0.518836,
     0.0645546, 1.86244, 1.01414, 0.841438, -1.38716, 1.21938, 0.683419, -0.20702, -1.38716}, {0}},
    {ACCEL_OP_CONV, "1,4,5,2 2,12 2", AT(conv, 1, {3, 2}, {1, 2}, {1, 1}, {1, 0}, {0, 1}, ACCEL_FN_NONE, ACCEL_F32, 0,
     0), "1,3,3,2", {-2.3125, 2.42188, -1.1875, 0.859375, -0.265625, -1.60938, 2.84375, -0.90625, -0.125, -1.8125,
     1.1875, -1.51562, -0.359375, 0.625, 3.375, 0.828125, -1.1875, 1.29688}, {0}},
    {ACCEL_OP_CONV, "1,5,6,2 4,6", AT(conv, 2, {2, 3}, {2, 1}, {2, 1}, {1, 1}, {1, 1}, ACCEL_FN_NONE, ACCEL_F32, 0,
     0), "1,3,6,4", {0.0625, -1.71875, -0.5625, 0.1875, -1.57812, 1.21875, 1.125, -1.28125, 1.1875, -1.84375, 1.21875,
     -0.875, -1.15625, 0.4375, 0.359375, -0.390625, 1.45312, 0.875, 0.703125, -0.546875, -0.3125, -0.25, 0.078125, 0,
     -0.515625, -3.65625, 1.78125, -0.25, 0.515625, 2.75, -2.17188, -1.78125, 0.09375, -3.17188, 0.6875, -1.10938,
     2.92188, 2.95312, 0.953125, 0.578125, -1.0625, -1.51562, -0.65625, -1.03125, 0.671875, 0.40625, 2.14062,
     -0.734375, -0.28125, -1.6875, -1.48438, 0.4375, 1.40625, 0.53125, 2.76562, 0.15625, 0.28125, -0.03125, -3.07812,
     -1.48438, -0.390625, -2.15625, 1.65625, 1.40625, 0.46875, 0.625, 0.4375, -1.23438, -0.390625, -0.859375,
     -2.14062, -1.04688}, {0}},
    {ACCEL_OP_CONV, "2,6,2 2,6 2", AT(conv, 1, {1, 3}, {1, 1}, {1, 2}, {0, 3}, {0, 1}, ACCEL_FN_NONE, ACCEL_F32, 0,
     0), "2,6,2", {1.09375, 1.78125, 3.10938, -0.15625, -0.046875, -0.75, 3.75, -0.96875, -1.92188, -0.96875, 2.46875,
     1.0625, 1.54688, -0.625, 0.046875, -0.75, 2.59375, -0.15625, 2.29688, 1.84375, 1.75, -2.42188, 3.3125, 3.04688},
     {0}},
    {ACCEL_OP_CONV, "1,2,3,2 2,12 2", AT(conv, 1, {2, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 0}, ACCEL_FN_NONE, ACCEL_F32, 0,
     1), "1,3,6,2", {2.79688, 0.046875, 0.125, 2.9375, 0.359375, -0.015625, 1.28125, 0.125, 2.51562, 0.171875, 1.5625,
     1.04688, 1.9375, -0.125, -2.96875, 0.46875, -0.5625, -1, 3, -0.28125, 0.75, -0.78125, 0.53125, -1.32812, -0.4375,
     -0.46875, 2.07812, -3.60938, 2.28125, -0.140625, 0.28125, 1.57812, 0.96875, 0.078125, 1.23438, 0.90625}, {0}},
    {ACCEL_OP_CONV, "1,2,3,4 2,8", AT(conv, 2, {2, 2}, {1, 3}, {2, 1}, {1, 0}, {0, 1}, ACCEL_FN_NONE, ACCEL_F32, 0,
     1), "1,3,7,2", {0.21875, -0.71875, -1.3125, -0.5, 0, 0, 1.45312, -1.71875, 0.703125, 0.6875, 0, 0, 0.625, 0.3125,
     0.34375, 2.54688, 1.375, 0.109375, 0, 0, 0.3125, 0.96875, -0.15625, -0.34375, 0, 0, 0.203125, 1.98438, -0.34375,
     -0.15625, 0.96875, 0.3125, 0, 0, 0.109375, 1.375, 2.54688, 0.34375, 0, 0, 0.125, -0.25}, {0}},
    {ACCEL_OP_POOL, "1,4,5,2", AT(pool, ACCEL_POOL_MAX, {3, 2}, {2, 2}, {1, 1}, {1, 0}, 0, 0), "1,2,3,2", {0, 0.625,
     1.25, 1.125, 1.125, 1.25, 1.25, 0.625, 1.25, 1.25, 1.125, 1.125}, {0}},
    {ACCEL_OP_POOL, "1,4,5,2", AT(pool, ACCEL_POOL_AVERAGE, {3, 2}, {2, 2}, {1, 1}, {1, 0}, 0, 0), "1,2,3,2",
     {-0.5625, -0.375, -0.34375, 0.0625, 0.28125, -0.21875, 0.125, 0.208333, -0.208333, -0.145833, 0, -0.125}, {0}},
    {ACCEL_OP_POOL, "1,4,5,2", AT(pool, ACCEL_POOL_AVERAGE, {3, 2}, {2, 2}, {1, 1}, {1, 0}, 0, 1), "1,2,3,2",
     {-0.1875, -0.125, -0.229167, 0.0416667, 0.1875, -0.145833, 0.0625, 0.104167, -0.208333, -0.145833, 0, -0.125},
     {0}},
    {ACCEL_OP_RESIZE, "1,3,2,1", AT(resize, ACCEL_RESIZE_NEAREST, {5, 3}, 0, 0), "1,5,3,1", {0, -1.375, -1.375, 0,
     -1.375, -1.375, -1, 1.125, 1.125, -0.75, -0.875, -0.875, -0.75, -0.875, -0.875}, {0}},
    {ACCEL_OP_RESIZE, "1,5,4,1", AT(resize, ACCEL_RESIZE_NEAREST, {2, 3}, 0, 0), "1,2,3,1", {-0.75, 0.75, 1.25, 1.25,
     -0.875, -0.75}, {0}},
    {ACCEL_OP_RESIZE, "1,3,2,2", AT(resize, ACCEL_RESIZE_LINEAR, {4, 5}, 0, 0), "1,4,5,2", {0, -1.375, -0.1, -1.125,
     -0.5, -0.125, -0.9, 0.875, -1, 1.125, -0.46875, -1.0625, -0.4125, -0.835937, -0.1875, 0.0703125, 0.0375,
     0.976562, 0.09375, 1.20312, -0.234375, -0.96875, -0.20625, -0.770312, -0.09375, 0.0234375, 0.01875, 0.817187,
     0.046875, 1.01562, 0.625, -1.125, 0.45, -0.95, -0.25, -0.25, -0.95, 0.45, -1.125, 0.625}, {0}},
    {ACCEL_OP_RESIZE, "1,4,5,1", AT(resize, ACCEL_RESIZE_LINEAR, {2, 3}, 0, 0), "1,2,3,1", {-0.395833, 0.125,
     -0.333333, -0.333333, 0.125, -0.395833}, {0}},
    {ACCEL_OP_RESIZE, "1,3,4,1", AT(resize, ACCEL_RESIZE_LINEAR, {5, 7}, 0, 1), "1,5,7,1", {0, -0.6875, -1.375,
     -1.1875, -1, 0.0625, 1.125, -0.375, -0.75, -1.125, -0.625, -0.125, 0.53125, 1.1875, -0.75, -0.8125, -0.875,
     -0.0625, 0.75, 1, 1.25, -0.0625, -0.53125, -1, -0.59375, -0.1875, 0.375, 0.9375, 0.625, -0.25, -1.125, -1.125,
     -1.125, -0.25, 0.625}, {0}},
    {ACCEL_OP_RESIZE, "1,6,2", AT(resize, ACCEL_RESIZE_LINEAR, {1, 4}, 0, 0), "1,4,2", {-0.25, -0.75, -0.8125, -0.375,
     0.71875, 0.65625, -0.6875, 0.1875}, {0}},
    {ACCEL_OP_RESIZE, "1,4,4,1", AT(resize, ACCEL_RESIZE_CUBIC, {5, 6}, 0, 0), "1,5,6,1", {0.171512, -0.707943,
     -1.52701, -1.36745, 0.033584, 1.31044, -0.666772, -0.976085, -0.817791, 0.183681, 1.01269, 1.35483, -0.110026,
     -0.761597, -1.07453, -0.316099, 0.617065, 1.17578, 1.08816, 0.220065, -0.882309, -1.32314, -0.604049, 0.296986,
     1.32478, 1.23754, 0.579253, -0.622071, -1.00827, -0.83125}, {0}},
    {ACCEL_OP_RESIZE, "1,5,6,1", AT(resize, ACCEL_RESIZE_CUBIC, {3, 4}, 0, 0), "1,3,4,1", {0.0390631, -0.541423,
     0.14171, -0.515517, 1.19385, -0.537598, -0.237305, -0.452637, -1.39856, 0.73905, -0.883735, 0.316135}, {0}},
    {ACCEL_OP_RESIZE, "1,4,3,1", AT(resize, ACCEL_RESIZE_CUBIC, {6, 5}, 0, 1), "1,6,5,1", {0, -0.722656, -1.375,
     -1.31641, -1, 0.729, -0.251281, -1.2085, -1.32864, -1.0855, 1.212, 0.495312, -0.281, -0.579969, -0.599, 1.023,
     1.15484, 1.141, 0.763562, 0.364, -0.0180005, 0.240515, 0.5445, 0.718485, 0.787, -1.125, -1.28906, -1.125, -0.25,
     0.625}, {0}},
    {ACCEL_OP_TOP_K, "2,9=0;-1.5;-1;1;-1;-1;1;1;0.5;-1;-1;0.5;1;1;-1;-1;1;-1", AT(top_k, 4), "2,4", {3, 6, 7, 8, 3, 4,
     7, 2}, {1, 1, 1, 0.5, 1, 1, 1, 0.5}},
    {ACCEL_OP_TOP_K, "2,9=0;-1.5;-1;1;-1;-1;1;1;0.5;-1;-1;0.5;1;1;-1;-1;1;-1", AT(top_k, 9), "2,9", {3, 6, 7, 8, 0, 2,
     4, 5, 1, 3, 4, 7, 2, 0, 1, 5, 6, 8}, {1, 1, 1, 0.5, 0, -1, -1, -1, -1.5, 1, 1, 1, 0.5, -1, -1, -1, -1, -1}},
    {ACCEL_OP_CAST, "6=2049;2051;1.01;-0.1;65519;3e-6", AT(cast, ACCEL_F16), "6", {2048, 2052, 1.009765625,
     -0.0999755859375, 65504, 2.98023223876953125e-06}, {0}},
    {ACCEL_OP_CAST, "6=257;259;1.01;-0.1;65519;3e-6", AT(cast, ACCEL_BF16), "6", {256, 260, 1.0078125, -0.10009765625,
     65536, 2.995133399963379e-06}, {0}},
    {ACCEL_OP_CAST, "6=-2.5;2.99;1e10;-1e10;0.999;7", AT(cast, ACCEL_I32), "6", {-2, 2, 2147483647, -2147483648.0, 0, 7},
     {0}},
    {ACCEL_OP_SAMPLE,
     "6,9=-1;-0.375;0.25;0.875;-1.375;-0.75;-0.125;0.5;1.125;-1;-0.125;0.75;-1.25;-0.375;0.5;1.375;-0.625;0.25"
     ";-1;-0.625;-0.25;0.125;0.5;0.875;1.25;-1.25;-0.875;-1;0.375;-1.125;0.25;-1.25;0.125;-1.375;0;1.375;-1;-0"
     ".5;0;0.5;1;-1.375;-0.875;-0.375;0.125;1;1;1;1;1;1;1;1;1 6,4=1;1;0;1;0.5;0.75;0;1;2;1;0.5;1.5;0;1;0;1;1;0"
     ".5;0;2;1;1;0;1 6,7=7;0;0;0;1;0;0;9;1;3;0;6;0;0;1;0;1;2;1;0;4;0;0;0;0;1;0;0;11;0;1;0;5;1;5;5;0;5;0;6;0;3 "
     "6,2=-1;-1;0;2;2;2;1;1;4;8;0;0", NULL, "6", {8, 6, 6, 8, 3, 1}, {0}},
    {ACCEL_OP_SAMPLE,
     "6,9=-1;-0.375;0.25;0.875;-1.375;-0.75;-0.125;0.5;1.125;-1;-0.125;0.75;-1.25;-0.375;0.5;1.375;-0.625;0.25"
     ";-1;-0.625;-0.25;0.125;0.5;0.875;1.25;-1.25;-0.875;-1;0.375;-1.125;0.25;-1.25;0.125;-1.375;0;1.375;-1;-0"
     ".5;0;0.5;1;-1.375;-0.875;-0.375;0.125;1;1;1;1;1;1;1;1;1 6,4=1;1;0;1;0.5;0.75;0;1;2;1;0.5;1.5;0;1;0;1;1;0"
     ".5;0;2;1;1;0;1 6,7=7;0;0;0;2;0;0;9;1;3;0;7;0;0;1;0;1;2;2;0;4;0;0;0;0;2;0;0;11;0;1;0;6;1;5;5;0;5;0;7;0;3 "
     "6,2=-1;-1;0;2;2;2;1;1;4;8;0;0", NULL, "6", {0, 6, 6, 8, 4, 2}, {0}},
    {ACCEL_OP_EXPERT_MATMUL, "2,3 6,3 2,2=2;0;-1;1 6", AT(expert_matmul, ACCEL_FN_RELU, ACCEL_F32, 3), "2,2,2", {0,
     2.92188, 0.40625, 0.921875, 0, 0, 2.07812, 0}, {0}},
    {ACCEL_OP_EXPERT_MATMUL, "3,2,2 8,2 3,2=1;3;4;0;2;2 - 3,2", AT(expert_matmul, ACCEL_FN_RELU, ACCEL_F32, 4), "3,2",
     {2.73633, -0.392578, 0, 0, -1.51172, -1.67969}, {0}},
    {ACCEL_OP_DENSE_ATTENTION, "4,2,2 4,1,2 4,1,2 2=0;4 2=0;4", AT(dense_attention, 0, 0.5f, 0, 0, 0, 0, 0), "4,2,2",
     {0.212132, -0.227038, 0.416696, -0.0604296, 0.318985, -0.194503, 0.245455, -0.117261, 0.126734, -0.227127,
     0.404201, -0.0938201, 0.128049, -0.168735, 0.334195, -0.186544}, {0}},
    {ACCEL_OP_DENSE_ATTENTION, "5,2,2 6,1,2 6,1,1 4=1;4;4;5 4=0;3;5;6 2,2,2,3 - 2", AT(dense_attention, 1, 0.5f, 0, 0,
     0, 0, 0), "5,2,1", {NAN, NAN, 1.05996, 0.818618, 1.05085, 0.141692, 0.564302, 0.259966, 0.252124, 0.289441},
     {0}},
    {ACCEL_OP_DENSE_ATTENTION, "4,1,3 5,1,3 5,1,2 2=0;4 2=0;5 - 1,4 1", AT(dense_attention, 0, 1.0f, 1.5, 2, 3, 0, 1),
     "4,1,2", {0.734222, -0.184655, 1.00274, -0.0243085, -0.198207, -0.0586048, -0.112097, 0.0825099}, {0}},
    {ACCEL_OP_DENSE_ATTENTION, "3,1,2 2,1,2 2,1,2 2=0;3 2=0;2 - - 1", AT(dense_attention, 1, 1.0f, 0, 2, 0, 0, 0),
     "3,1,2", {0, 0, 0.595725, -0.0595725, 0.233358, -0.466715}, {0}},
    /* clang-format on */
};

/* Returns element `e` of input number `i`. The programs of the expectations make the same numbers. */
static double pattern(uint64_t e, uint32_t i)
{
    return ((double)((e * e * 7 + e * 5 + 11 + 5 * (uint64_t)i) % 23) - 11) / 8;
}

/* Reads a value and returns the text behind it. */
static const char *read_value(const char *text, uint32_t number, struct reference_value *value)
{
    uint64_t count = 1;
    char *end;

    for (value->rank = 0; *text >= '0' && *text <= '9'; text = *end == ',' ? end + 1 : end) {
        value->extents[value->rank] = strtoull(text, &end, 10);
        count *= value->extents[value->rank++];
    }
    value->at = malloc(count * sizeof(*value->at));
    assert_non_null(value->at);
    for (uint64_t e = 0; e < count; e++)
        value->at[e] = pattern(e, number);
    for (uint64_t e = 0; *text == '=' || *text == ';'; e++) {
        assert_true(e < count);
        value->at[e] = strtod(text + 1, &end);
        text = end;
    }
    return text;
}

static void compare(const struct row *row, const struct reference_value *value, const double *want)
{
    uint64_t count = 1;

    for (uint32_t d = 0; d < value->rank; d++)
        count *= value->extents[d];
    assert_true(count <= MOST);
    for (uint64_t e = 0; e < count; e++)
        if (isnan(want[e]) ? !isnan(value->at[e]) : !(fabs(value->at[e] - want[e]) <= 1e-5 * (1 + fabs(want[e]))))
            fail_msg("%s of %s: element %u is %.9g and should be %.9g", accel_op_name(row->op), row->inputs,
                     (unsigned)e, value->at[e], want[e]);
}

static void run_row(const struct row *row)
{
    struct reference_value inputs[REFERENCE_INPUTS], outputs[2];
    struct reference_call call = {.attributes = row->attributes};
    const char *text = row->inputs;
    bool has_second = row->op == ACCEL_OP_TOP_K;

    for (uint32_t i = 0; *text != '\0'; i++) {
        if (*text == '-') {
            text++;
        } else {
            text = read_value(text, i, &inputs[i]);
            call.inputs[i] = &inputs[i];
        }
        text += *text == ' ';
    }
    for (uint32_t i = 0; i < 1 + (uint32_t)has_second; i++) {
        read_value(row->output, 0, &outputs[i]);
        call.outputs[i] = &outputs[i];
    }
    conform_operator_find(row->op)->compute(&call);
    compare(row, &outputs[0], row->want);
    if (has_second)
        compare(row, &outputs[1], row->second);
    for (uint32_t i = 0; i < REFERENCE_INPUTS; i++)
        if (call.inputs[i] != NULL)
            free(inputs[i].at);
    for (uint32_t i = 0; i < 2 && call.outputs[i] != NULL; i++)
        free(outputs[i].at);
}

static void references(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        run_row(&rows[i]);
}

/* Every operator that leaves its expectations to a reference has a row here, and every operator has tests. */
static void all_operators(void **state)
{
    static struct conform_list list;

    (void)state;
    for (uint32_t op = 0; op < ACCEL_OP_END; op++) {
        const struct conform_operator *operator_row = conform_operator_find(op);
        bool is_here = false;

        if (operator_row == NULL)
            continue;
        list.count = 0;
        conform_add_operator(&list, op);
        if (list.count == 0)
            fail_msg("%s has no tests", accel_op_name(op));
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            is_here |= rows[i].op == op;
        if (operator_row->compute != NULL && !is_here)
            fail_msg("the reference of %s is compared with nothing", accel_op_name(op));
    }
    assert_null(conform_operator_find(ACCEL_OP_END));
}

/* ---- cached attention with slopes and learned sinks ---- */

static void attend(const struct accel_attention *attributes, bool has_slope, const double *want,
                   const double *want_score_sums)
{
    static const int32_t table[] = {1, 0, 2, 3}, first[] = {0, 2, 3}, length[] = {3, 4};
    float q[12], k[16], v[16], slope[2], sink[2];
    double scores[4], y[12], score_sums[8] = {0};
    const struct reference_attention attention = {.attributes = attributes,
                                                  .tokens = 3,
                                                  .heads = 2,
                                                  .size = 2,
                                                  .value_size = 2,
                                                  .sequences = 2,
                                                  .pages = 2,
                                                  .q = q,
                                                  .k = k,
                                                  .v = v,
                                                  .table = table,
                                                  .first = first,
                                                  .length = length,
                                                  .slope = has_slope ? slope : NULL,
                                                  .sink = sink,
                                                  .score_sums = score_sums};

    for (uint32_t i = 0; i < 16; i++) {
        q[i % 12] = (float)pattern(i % 12, 0);
        k[i] = (float)pattern(i, 1);
        v[i] = (float)pattern(i, 2);
        slope[i % 2] = (float)pattern(i % 2, 3) / 4;
        sink[i % 2] = (float)pattern(i % 2, 4);
    }
    reference_attend(&attention, scores, y);
    for (uint32_t i = 0; i < 12; i++)
        assert_true(fabs(y[i] - want[i]) < 1e-5);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(fabs(score_sums[i] - want_score_sums[i]) < 1e-5);
}

static void cached_attention(void **state)
{
    static const double sloped[] = {-0.232748, -0.0414131, 0.0376286, 0.0474854,   0.264769,   0.028613,
                                    0.115982,  -0.0296656, -0.553207, -0.00908246, -0.0689364, -0.359968};
    static const double sloped_score_sums[] = {1.0714, 0.933543, 0.373424, 0, 0.630589, 0.282252, 0.346243, 0.274681};
    static const double windowed[] = {-0.296716, -0.0777659, 0.0493369, 0.0557789, 0.295956,  -0.0117758,
                                      0.109705,  -0.023096,  -0.430797, 0.112066,  -0.139547, -0.239968};
    static const double windowed_score_sums[] = {0.970393, 0.980427, 0.424767, 0, 0.550498, 0, 0.454009, 0.401086};

    (void)state;
    attend(&(struct accel_attention){sizeof(struct accel_attention), 1, 2, 0, 1, 0.5f, 0, 0, 0, 0}, true, sloped,
           sloped_score_sums);
    attend(&(struct accel_attention){sizeof(struct accel_attention), 1, 2, 2, 1, 0.5f, 0, 0, 1, 0}, false, windowed,
           windowed_score_sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references),
        cmocka_unit_test(all_operators),
        cmocka_unit_test(cached_attention),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
