/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of adaptive precision: the matrices of a plan and the types that they went to (adapt.c), and the notes that
 * tell of them (adapt_notes.c). One thread. */
#ifndef ACCEL_SDK_MODEL_PLAN_ADAPT_H
#define ACCEL_SDK_MODEL_PLAN_ADAPT_H

#include "sdk/model/plan/internal.h"

/* One form of a matrix. */
struct form {
    uint32_t type; /* ACCEL_TYPE_NONE: there is none */
    uint64_t bytes;
    double error; /* relative; 0 for the file's own type */
};

struct matrix {
    const struct accel_model_tensor *tensor;
    uint32_t index; /* in the sketch */
    uint32_t zero;
    struct form begun, now, below;
};

struct adapting {
    struct accel_model_plan *plan;
    const struct accel_model_file *file;
    struct matrix *matrices;
    uint32_t count;
    uint32_t log2_group;
    uint32_t scheme;
    uint32_t least; /* bits */
    float *values;  /* two rows of the widest matrix, and room for its bytes */
    struct accel_error *error;
};

/* A note for the matrices of each role that went the same way: type, bytes and error before and after. */
int32_t adapt_note_steps(const struct adapting *a);

/* The error of all that is converted, as one note: the errors of `now` are measured. */
int32_t adapt_note_errors(const struct adapting *a);

#endif
