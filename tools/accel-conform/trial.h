/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One case of an operator: a small graph with its data and the results that are expected. The driver is asked for its
 * claim; what it takes is compiled, bound and run, with and without memory that the host sees, and compared within the
 * tolerance that the claim states, which may not be more than the class of the case allows.
 *
 * The leading extent of a case is a symbol or fixed, by chance. With a symbol the set is made for more rows than the
 * step has, and a second step with one row has to give the first row again.
 */
#ifndef ACCEL_TOOLS_CONFORM_TRIAL_H
#define ACCEL_TOOLS_CONFORM_TRIAL_H

#include <accel/builder.h>

#include "tools/accel-conform/tensor.h"

#define TRIAL_VALUES 40u

/* Classes of tolerance: the largest error that a claim may state, relative to the output's largest element. */
#define TRIAL_EXACT 0.0        /* the same bits: rows are moved or decoded */
#define TRIAL_F32 1e-4         /* F32 with sums in any order and functions of the device */
#define TRIAL_ROUNDED_F16 1e-2 /* x may be rounded to F16 */
#define TRIAL_ROUNDED_Q8 4e-2  /* x may be rounded to 8 bits, or to BF16 */

/** What one value of the graph is given, or has to become. */
struct trial_value {
    const void *bytes;                   /**< of an input, for all rows of the step */
    const struct conform_tensor *weight; /**< of a weight */
    uint64_t slots;                      /**< of a state */
    const double *want;                  /**< of an output */
    double scale;                        /**< how large the largest element of more output would be */
};

/** A case. Data that is handed to it is borrowed until trial_run has returned. */
struct trial {
    struct conform *conform;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct trial_value values[TRIAL_VALUES];
    double ceiling;   /**< class of tolerance */
    bool by_row;      /**< row r of an output depends on row r of inputs alone */
    bool is_likely;   /**< the claim says that only compiling will tell */
    bool is_symbolic; /**< the leading extent is a symbol */
    uint64_t rows;    /**< of the step */
    uint64_t highest; /**< that the set is made for */
    uint32_t symbol;  /**< 1 + its index */
    int32_t code;     /**< first failure of the builder */
};

/** Begins a case with its name. */
void trial_begin(struct trial *trial, struct conform *conform, double ceiling, const char *format, ...)
    ACCEL_PRINTF(4, 5);
/** The leading extent of `rows` rows: fixed, or a symbol. Once in a case. */
struct accel_dim trial_rows(struct trial *trial, uint64_t rows);
/** A fixed extent. */
struct accel_dim trial_fixed(uint64_t extent);

uint32_t trial_input(struct trial *trial, const char *name, uint32_t type, uint32_t rank, const struct accel_dim *dims,
                     const void *bytes);
/** A matrix, or a vector where `rank` is 1. */
uint32_t trial_weight(struct trial *trial, const char *name, uint32_t rank, const struct conform_tensor *tensor);
uint32_t trial_state(struct trial *trial, const char *name, uint32_t type, uint64_t slots, uint64_t row);
uint32_t trial_node(struct trial *trial, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                    const void *attributes);
/** A node with two outputs. */
void trial_node_pair(struct trial *trial, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                     const void *attributes, uint32_t out_values[2]);
/** Makes `value` an output: F32 is held against `want` within the tolerance, I32 and copies exactly. */
void trial_output(struct trial *trial, uint32_t value, const double *want, double scale);

/** Asks, compiles, runs, compares, frees. Answers true when the driver took it, right or wrong. */
bool trial_run(struct trial *trial);

#endif
