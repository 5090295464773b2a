/* SPDX-License-Identifier: Apache-2.0 */
/* One operator: the forms that it is measured in (forms.c), its graph and inputs (graph.c), and its run (operator.c).
 */
#ifndef ACCELCTL_BENCH_OPERATOR_H
#define ACCELCTL_BENCH_OPERATOR_H

#include "tools/accelctl/bench/bench.h"

struct accel_context;
struct accel_device;
struct accel_plan_request;
struct accel_queue;

/* Shape of an operator that is measured in one form. Inputs are separated by blanks: a letter (f: F32, i: I32, F: a
 * weight in F32, W: one in the type of the operator, s: a state in F16), extents, and for an I32 either %N, random
 * numbers below N, or /N, ends of equal parts of N; else it counts. */
struct bench_form {
    uint32_t op;
    const char *name;
    const char *inputs;
    const void *attributes;
};

enum { BENCH_INPUTS = 6 };

/* One input of a form. */
struct bench_input {
    char kind;
    char fill; /* '%', '/' or 0 */
    uint32_t rank;
    uint64_t limit;
    struct accel_dim dims[ACCEL_RANK];
};

/* Returns the form of an operator, NULL if it has none. */
const struct bench_form *bench_form_find(uint32_t op);

/* Returns whether a form has a weight that can have any type. */
bool bench_form_has_type(const struct bench_form *form);

/* Reads up to BENCH_INPUTS inputs of a form; returns how many it has. */
uint32_t bench_form_inputs(const struct bench_form *form, struct bench_input *inputs);

/* Operator to run; rows are tokens. */
struct bench_operator {
    uint32_t op;
    const struct bench_form *form; /* or NULL; with it the rest is 0, but for the type of its weight W and `rounding` */
    uint32_t type;                 /* of the weight, of the table, or of keys and values */
    uint64_t m;                    /* rows */
    uint64_t n;                    /* of matmul and embed: rows of the weight; of others the width of a row */
    uint64_t k;                    /* width of the weight */
    uint64_t heads;                /* of attention and rotary */
    uint64_t kv_heads;
    uint64_t size;   /* of a head */
    uint64_t length; /* of attention: cached tokens, the rows included */
    uint32_t rounding;
    uint32_t window;
};

/* Begins *out_builder and makes a graph of one operator, which lives as long as the builder. */
int32_t bench_graph(const struct bench_operator *what, struct accel_builder **out_builder,
                    const struct accel_graph **out_graph, struct accel_error *error);

/* Runs the operator on a device and adds a row. An operator that the device does not support is reported, and left
 * out. Answers -1, or an exit code. */
int bench_operator_run(struct bench *bench, enum bench_subject subject, struct accel_device *device,
                       struct accel_queue *queue, const struct bench_operator *what);

/* Writes the name of an operator with its shape: "matmul q4_0 1x2048x2048". */
void bench_operator_name(const struct bench_operator *what, char *name, size_t size);

/* Prints the kernel that runs the operator on the device of a plan request, or adds it to bench->explained. Answers as
 * bench_operator_run. */
int bench_operator_explain(struct bench *bench, struct accel_context *context, const struct accel_plan_request *request,
                           const struct bench_operator *what);

/* Fills an input of such a graph: valid positions of tokens and pages, and random values of a fixed seed
 * elsewhere. */
void bench_graph_fill(const struct bench_operator *what, const struct accel_value *value, void *memory, uint64_t bytes);

/* Returns the next number of a fixed sequence, whose upper bits are as good as random: Numerical Recipes. */
static inline uint32_t bench_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

#endif
