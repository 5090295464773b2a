/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cases of one node that are data: the inputs as text, the attributes, and what the outputs are compared with.
 *
 * Inputs are separated by blanks, "-" stands for one that is absent. Each has a letter and its extents: f and i are
 * F32 and I32 inputs of the step, h and b inputs in F16 and BF16, F, H and B weights in F32, F16 and BF16, W a weight
 * of the type that is the test's parameter. A t before an extent makes it the symbolic one in half of the cases, for
 * example "f:t17,64 i:t17+1 W:64,64". Floats are random in -1 .. 1, I32 any numbers, unless the case fills them.
 */
#ifndef ACCEL_SDK_CONFORM_TRIAL_CASE_H
#define ACCEL_SDK_CONFORM_TRIAL_CASE_H

#include <accel/ops.h>

#include "sdk/conform/trial.h"

#define TRIAL_INPUTS 12u

struct trial_inputs;

/** One case. */
struct trial_case {
    uint32_t op;
    double ceiling;     /**< tolerance class */
    const char *inputs; /**< as above */
    const void *attributes;
    const char *text; /**< attributes, for the name of the case */
    double scale;     /**< largest element that a larger output would have; 0: that of the output */
    bool mixes_rows;  /**< row r of the output depends on more than row r of the inputs with a t */
    bool has_nans;    /**< outputs have NaNs where the reference has */
    bool has_second;  /**< the node names its second output too */
    void (*fill)(struct trial_inputs *inputs); /**< changes the elements of inputs; or NULL */
    uint64_t parameter;                        /**< for `fill` */
};

/** Inputs of a case, which `fill` may change. */
struct trial_inputs {
    const struct trial_case *row;
    struct conform *conform;
    uint32_t count;
    uint32_t rank[TRIAL_INPUTS];
    uint64_t extents[TRIAL_INPUTS][ACCEL_RANK]; /**< of the step */
    uint64_t elements[TRIAL_INPUTS];
    float *floats[TRIAL_INPUTS];    /**< elements of an f, h or b, else NULL */
    uint16_t *halves[TRIAL_INPUTS]; /**< the same of an h or b, rounded after `fill` */
    int32_t *numbers[TRIAL_INPUTS]; /**< elements of an i, else NULL */
    struct conform_tensor weights[TRIAL_INPUTS];
    uint32_t values[TRIAL_INPUTS]; /**< in the graph */
};

/** Runs a case, whose outputs the operator's reference computes. */
void trial_case_run(struct conform *conform, const struct trial_case *row);

/** Adds the tests of an operator. */
void conform_add_operator(struct conform_list *list, uint32_t op);

/** The attributes of a case and their text: TRIAL_ATTRIBUTES(axis, .axis = 1). */
#define TRIAL_ATTRIBUTES(tag, ...)                                                                                     \
    .attributes = &(const struct accel_##tag){.size = sizeof(struct accel_##tag), __VA_ARGS__}, .text = #__VA_ARGS__

#endif
