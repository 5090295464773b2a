/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders: checks the tensors of a model, and builds the graph of a step, from the form of its family.
 *
 * A decoder's step graph has the symbols `tokens` (fed in this step), `outputs` (rows of logits requested) and
 * `sequences` (which the tokens belong to), and the inputs below. Keys and values are a state of 2 * layers parts: part
 * 2i holds the keys of layer i, 2i + 1 its values.
 */
#ifndef ACCEL_MODEL_FAMILY_DECODER_H
#define ACCEL_MODEL_FAMILY_DECODER_H

#include <accel/builder.h>
#include <accel/model/file.h>

#include "model/family/decoder_config.h"
#include "model/family/weights.h"

/* Options of a step graph, beside the model. */
struct step_options {
    uint32_t rounding; /* of activations in matmuls over quantized weights: ACCEL_F32, ACCEL_Q8_0 or ACCEL_Q8_ROW */
    uint32_t k_type;
    uint32_t v_type;
    uint32_t stages;  /* 1: every named stage of the reference is an output, and nothing is fused over it */
    uint32_t inputs;  /* 1: the activations of each matmul are an output */
    uint32_t scores;  /* 1: attention scores, summed over layers for each place, are an output */
    uint64_t batch;   /* most tokens of a step */
    uint64_t span;    /* most tokens of one sequence in a step */
    uint64_t outputs; /* most rows of logits of a step, at most batch */
    uint64_t slots;   /* kv slots: tokens that the caches hold */
    uint64_t context; /* most tokens of a sequence */
    uint64_t
        kv_capacity;    /* most cached tokens of a sequence: fewer than context if a window leaves the others unread */
    uint64_t sequences; /* most sequences of a step */
    uint64_t page;      /* tokens in a page of the caches */
    uint64_t window;    /* newest tokens that a query attends to; 0: all */
    uint64_t sinks;     /* first tokens that it attends to besides */
    const struct weight_types *types; /* of matrices converted to another type; may be NULL */
};

/* The graph of one step, and its values for inputs and outputs. */
struct step_graph {
    struct accel_builder *builder; /* owns the graph */
    const struct accel_graph *graph;
    uint32_t ids;       /* I32 [tokens] */
    uint32_t position;  /* I32 [tokens] */
    uint32_t slot;      /* I32 [tokens] */
    uint32_t table;     /* I32 [sequences, pages] */
    uint32_t first;     /* I32 [sequences + 1] */
    uint32_t length;    /* I32 [sequences] */
    uint32_t rows;      /* I32 [outputs]: tokens whose logits are requested */
    uint32_t frequency; /* F32 [dims / 2] of dynamic scaling, else ACCEL_NO_VALUE */
    uint32_t crossed;   /* F32 [tokens, width] from another device, else ACCEL_NO_VALUE */
    uint32_t logits;    /* F32 [outputs, vocabulary]; of a pipeline stage, its hidden rows */
    uint32_t scores;    /* F32 [sequences, pages * page], or ACCEL_NO_VALUE */
};

/* Receives a weight of a model without a file: its part, its layer or NET_NO_LAYER (net.h), its name, rows (0: a
 * vector) and width. */
typedef void (*decoder_weight)(void *data, enum decoder_part part, uint32_t layer, const char *name, uint64_t rows,
                               uint64_t width);

/* Lists the weights that a configuration calls for, in the order of a step. */
void decoder_list(const struct accel_decoder_config *config, decoder_weight weight, void *data);

/* Finds the function of the feed-forward network (ACCEL_FN_...). ACCEL_E_UNSUPPORTED names those that run. */
int32_t decoder_find_function(const struct accel_decoder_config *config, uint32_t *out_function,
                              struct accel_error *error);

/* Replaces tensors that the file arranges in another way than decoders read them (model/file/derived.h). Call once,
 * before the check and before the file is shared. */
int32_t decoder_derive(struct accel_model_file *file, const struct accel_decoder_config *config,
                       struct accel_error *error);

/* Checks that a file has the tensors that its configuration calls for, and no others that change results. The caller
 * frees the rows of *out_vectors: those that a step reads in another form than the file has, in no order. */
int32_t decoder_check(const struct accel_model_file *file, const struct accel_decoder_config *config,
                      struct weight_types *out_vectors, struct accel_error *error);

/* Builds the graph of a step of a checked model. The caller frees it with step_graph_free, also after a failure. */
int32_t decoder_step(const struct accel_model_file *file, const struct accel_decoder_config *config,
                     const struct step_options *options, struct step_graph *out_step, struct accel_error *error);

void step_graph_free(struct step_graph *step);

#endif
