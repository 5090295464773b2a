/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights, operators and inputs of a step, of which one function describes a model. It runs in one of two modes:
 * NET_CHECK compares the weights of the model with those of a file (missing ones, other shapes, unused tensors),
 * NET_GRAPH builds the graph of a step.
 *
 * A net holds the first failure; calls after it do nothing and return ACCEL_NO_VALUE, as all calls of the other modes
 * do, so that families read as lists.
 */
#ifndef ACCEL_MODEL_FAMILY_NET_H
#define ACCEL_MODEL_FAMILY_NET_H

#include <accel/builder.h>
#include <accel/model/file.h>

#include "model/family/decoder_config.h"
#include "model/family/weights.h"

enum net_mode { NET_LIST, NET_CHECK, NET_GRAPH };

/* Layer of values that belong to none. */
#define NET_NO_LAYER UINT32_MAX

struct net {
    enum net_mode mode;
    const struct accel_model_file *file;
    struct accel_error *error; /* never NULL */
    int32_t code;

    /* NET_CHECK */
    uint8_t *used;               /* [tensors of the file] */
    struct weight_type *vectors; /* [vector_count] that the graph has in another form than the file */
    uint32_t vector_count;

    /* NET_GRAPH */
    struct accel_builder *builder;
    const struct weight_types *types; /* of matrices that are converted; may be NULL */
    uint32_t rounding;                /* attributes of matmuls */
    bool mark_inputs;                 /* activations of matmuls are outputs */
    uint32_t marked;                  /* the value that net_output marked last */
};

/* Prepares a net for checking. Free with net_end. */
int32_t net_begin_check(struct net *net, const struct accel_model_file *file, struct accel_error *error);
void net_end(struct net *net);

/* Refuses an unused tensor that would have an effect on results. */
void net_refuse_unused(struct net *net);

/* ---- weights ---- */

/* A matrix [rows, width], or of [parts, rows, width] all rows as one matrix. */
uint32_t net_matrix(struct net *net, const char *name, uint64_t parts, uint64_t rows, uint64_t width);

/* Returns whether a GGUF file has F32 factors [count] of products in the tensor `name`: PART.scale beside the matrix
 * PART.weight. */
bool net_has_scales(const struct net *net, const char *name, uint64_t count);

/* Finds the factors of products with `count` matrices of a checkpoint, stacked in `matrix`, whose blocks lack them. */
bool net_find_factors(const struct net *net, const char *matrix, uint64_t count, float *out_factors);

/* Returns the factor of products with `matrix`, or reads the only one of the tensor `name`: 1 if the file has none. A
 * matrix with factors that no product reads is refused. */
double net_product_scale(struct net *net, const char *matrix, const char *name);

/* A vector [width], as F32; `add` is added to each element. */
uint32_t net_vector(struct net *net, const char *name, uint64_t width, float add);

/* A table [rows, width], as F32; `add` is added to each element. */
uint32_t net_table(struct net *net, const char *name, uint64_t rows, uint64_t width, float add);

/* A constant [count] of F32. */
uint32_t net_constant(struct net *net, const char *name, uint64_t count, const float *values);

/* A constant of another type or rank. */
uint32_t net_constant_of(struct net *net, const char *name, uint32_t type, uint32_t rank, const uint64_t *dims,
                         const void *values);

/* ---- values ---- */

struct accel_dim net_fixed(uint64_t extent);
struct accel_dim net_symbolic(uint32_t symbol);
uint32_t net_symbol(struct net *net, const char *name, uint64_t most);
uint32_t net_input(struct net *net, const char *name, uint32_t type, uint32_t rank, struct accel_dim outer,
                   struct accel_dim inner);
uint32_t net_state(struct net *net, uint32_t layer, const char *name, uint32_t type, uint64_t slots, uint64_t row);

/* Makes a value an output, under its own name when `name` is NULL, and then once only. */
void net_output(struct net *net, uint32_t layer, const char *name, uint32_t value);

/* ---- operators; the node is called NAME, or layers.LAYER.NAME ---- */

uint32_t net_node(struct net *net, uint32_t op, uint32_t layer, const char *name, const uint32_t *inputs,
                  uint32_t count, const void *attributes);
void net_node_outputs(struct net *net, uint32_t op, uint32_t layer, const char *name, const uint32_t *inputs,
                      uint32_t count, const void *attributes, uint32_t *out_values, uint32_t outputs);
uint32_t net_reshape(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t rank,
                     const struct accel_dim *dims);
uint32_t net_matmul(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t w, uint32_t bias,
                    uint32_t residual, uint32_t function);
uint32_t net_add(struct net *net, uint32_t layer, const char *name, uint32_t a, uint32_t b);
uint32_t net_multiply(struct net *net, uint32_t layer, const char *name, uint32_t a, uint32_t b);

/* x * scale + add. Returns x itself for a scale of 1 and an add of 0. */
uint32_t net_scale(struct net *net, uint32_t layer, const char *name, uint32_t x, double scale, double add);
uint32_t net_activation(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t function);

/* limit * tanh(x / limit). Returns x itself for a limit of 0. */
uint32_t net_softcap(struct net *net, uint32_t layer, const char *name, uint32_t x, double limit);

/* Limits x to -limit .. limit. Returns x itself for a limit of 0. */
uint32_t net_clamp(struct net *net, uint32_t layer, const char *name, uint32_t x, double limit);

/* Elements begin .. begin + extent - 1 along an axis. */
uint32_t net_slice(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t axis, uint64_t begin,
                   uint64_t extent);

#endif
