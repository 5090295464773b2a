/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One operator case: a small graph with its inputs and expected results. A case that the driver claims is
 * compiled, bound and run, with and without host-visible memory. Results are compared within the tolerance that
 * the claim states, which may not exceed that of the tolerance class of the case.
 *
 * The leading extent of a case is a symbol or fixed, at random. With a symbol the set is created for more rows
 * than the step has, and a second step with one row must reproduce the first row.
 */
#ifndef ACCEL_SDK_CONFORM_TRIAL_H
#define ACCEL_SDK_CONFORM_TRIAL_H

#include <accel/builder.h>

#include "sdk/conform/tensor.h"

#define TRIAL_VALUES 40u

/* Tolerance classes: the largest error that a claim may state, relative to the output's largest element. */
#define TRIAL_EXACT 0.0        /* bit-exact: rows are moved or decoded */
#define TRIAL_F32 1e-4         /* F32 with sums in any order and device functions */
#define TRIAL_ROUNDED_F16 1e-2 /* x may be rounded to F16 */
#define TRIAL_ROUNDED_Q8 4e-2  /* x may be rounded to 8 bits, or to BF16 */

/** What a driver may round x to in a product: the attribute, the tolerance class, and words for the name of a case. */
struct trial_rounding {
    uint32_t type;
    double ceiling;
    const char *text;
};

#define TRIAL_BY_ROW 4u /**< index of ACCEL_Q8_ROW, which only matmul has */
extern const struct trial_rounding trial_roundings[TRIAL_BY_ROW + 1];

/** Returns the scale of the largest output of a product: the maximum of a large number of sums of k products is about
 * three standard deviations. If x is rounded, errors have a standard deviation too, and a small output is not compared
 * with its own maximum. `rounding` is an index of trial_roundings. */
double trial_product_scale(uint64_t k, uint32_t rounding);

/** Data of one value of the graph: the content of an input, or the expected output. */
struct trial_value {
    const void *bytes;                   /**< content of an input, for all rows of the step */
    const struct conform_tensor *weight; /**< for a weight */
    uint64_t slots;                      /**< for a state */
    const double *want;                  /**< expected output */
    double scale;                        /**< largest element that a larger output would have */
    bool is_expected;                    /**< the references of the graph's operators compute `want` */
};

/** A case. It borrows its data until trial_run has returned. */
struct trial {
    struct conform *conform;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct trial_value values[TRIAL_VALUES];
    double ceiling;   /**< tolerance class */
    bool by_row;      /**< row r of an output depends only on row r of the inputs */
    bool is_likely;   /**< the claim is ACCEL_CLAIM_LIKELY: compiling decides */
    bool is_symbolic; /**< the leading extent is a symbol */
    bool is_masked;   /**< the symbol is ACCEL_SYMBOL_MASKED: outputs may be written past the rows of a step */
    bool has_nans;    /**< a NaN that is expected stands for itself */
    uint64_t rows;    /**< rows of the step */
    uint64_t highest; /**< highest rows of the set */
    uint32_t symbol;  /**< 1 + index of the symbol */
    int32_t code;     /**< first failure of the builder */
    void (*compute)(void *data); /**< fills `want` of outputs once the driver has claimed the case; or NULL */
    void *data;
};

/** Begins a case and sets its name. */
void trial_begin(struct trial *trial, struct conform *conform, double ceiling, const char *format, ...)
    ACCEL_PRINTF(4, 5);
/** Returns the leading extent of `rows` rows: fixed, or a symbol. Called once per case. */
struct accel_dim trial_rows(struct trial *trial, uint64_t rows);
/** Returns a fixed extent. */
struct accel_dim trial_fixed(uint64_t extent);

uint32_t trial_input(struct trial *trial, const char *name, uint32_t type, uint32_t rank, const struct accel_dim *dims,
                     const void *bytes);
/** Adds a matrix, or a vector if `rank` is 1. */
uint32_t trial_weight(struct trial *trial, const char *name, uint32_t rank, const struct conform_tensor *tensor);
uint32_t trial_state(struct trial *trial, const char *name, uint32_t type, uint64_t slots, uint64_t row);
uint32_t trial_node(struct trial *trial, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                    const void *attributes);
/** Adds a node with two outputs. */
void trial_node_pair(struct trial *trial, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                     const void *attributes, uint32_t out_values[2]);
/** Declares `value` an output: F32 is compared with `want` within the tolerance, I32 and copies exactly. A NaN in
 * `want` stands for any finite value. */
void trial_output(struct trial *trial, uint32_t value, const double *want, double scale);

/** Declares `value` an output that the references of the graph's operators compute, from its inputs and weights. */
void trial_expect(struct trial *trial, uint32_t value, double scale);

/** Returns element `i` of a value in F32, F16, BF16 or I32. */
double conform_element(uint32_t type, const void *bytes, uint64_t i);

/** Claims, compiles, runs, compares and frees the case. Returns whether the driver claimed it, whether or not it
 * passed. */
bool trial_run(struct trial *trial);

#endif
