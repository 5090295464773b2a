/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of adaptive precision: the matrices of a plan and their chosen types (adapt.c), and the notes
 * about them (adapt_notes.c). One thread. */
#ifndef ACCEL_MODEL_PLAN_ADAPT_H
#define ACCEL_MODEL_PLAN_ADAPT_H

#include "model/plan/internal.h"

/* One form of a matrix. */
struct form {
    uint32_t type; /* ACCEL_TYPE_NONE: unavailable */
    uint64_t bytes;
    double error; /* relative; 0 for the file's own type */
};

/* A matrix of the file, or the experts of a layer, which are matrices one behind the other. */
struct matrix {
    const struct accel_model_tensor *tensor;
    const uint32_t *indices; /* of its weights in the shape plan */
    uint32_t count;          /* of them */
    uint32_t zero;
    struct form begun, now, below;
};

/* A step up of a matrix. */
struct step {
    struct matrix *matrix;
    struct form from, to;
};

struct adapting {
    struct accel_model_plan *plan;
    const struct accel_model_file *file;
    struct matrix *matrices;
    uint32_t *indices; /* of their weights in the shape plan */
    uint32_t index_count;
    struct step *steps; /* up, in order */
    uint32_t count;
    uint32_t step_count;
    uint32_t steps_taken; /* of step_count; the last ones are undone */
    uint32_t log2_group;
    uint32_t scheme;
    uint32_t least; /* bits */
    float *values;  /* two rows of the widest matrix, and a buffer for its bytes */
    struct accel_error *error;
};

/* Adds a note for all matrices of a role with equal old and new types: type, bytes and error before and after. */
int32_t adapt_note_steps(const struct adapting *a);

/* Adds one note with the error of all converted matrices; measures the errors of `now`. */
int32_t adapt_note_errors(const struct adapting *a);

/* Adds one note, with the key of a setting, for all weights of which the types cannot change. */
int32_t adapt_note_others(const struct adapting *a, const char *key);

#endif
