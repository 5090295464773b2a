/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A family: the names of its tensors and the graph of one step. The table of families is family.c; each file beside it
 * holds one family and is the only place that knows its name.
 *
 * A decoder's step graph has three symbols, `tokens` (fed in this step), `outputs` (rows of logits wanted) and
 * `sequences` (that the tokens belong to), and the inputs below. Keys and values are a state of 2 * layers parts: part
 * 2i holds the keys of layer i, 2i + 1 its values.
 */
#ifndef ACCEL_SDK_MODEL_FAMILY_FAMILY_H
#define ACCEL_SDK_MODEL_FAMILY_FAMILY_H

#include <accel/builder.h>
#include <accel/model/file.h>

#include "sdk/model/family/weights.h"
#include "sdk/model/format/decoder_config.h"

/* What a step graph depends on beside the model. */
struct step_options {
    uint32_t rounding; /* of activations in matmuls over quantized weights: ACCEL_F32 or ACCEL_Q8_0 */
    uint32_t k_type;
    uint32_t v_type;
    uint32_t stages;    /* 1: every named stage of the reference is an output, and nothing is fused over it */
    uint32_t inputs;    /* 1: what each weight is multiplied with is an output */
    uint32_t mass;      /* 1: what attention gives each place, summed over layers, is an output */
    uint64_t batch;     /* most tokens of a step */
    uint64_t outputs;   /* most rows of logits of a step, at most batch */
    uint64_t slots;     /* tokens that the caches hold */
    uint64_t context;   /* most tokens of a sequence */
    uint64_t room;      /* of them cached at the same time: fewer where nobody sees the others */
    uint64_t sequences; /* most sequences of a step */
    uint64_t page;      /* tokens in a page of the caches */
    uint64_t window;    /* newest tokens that a query sees; 0: all */
    uint64_t sinks;     /* first tokens that it sees beside them */
    const struct weight_types *types; /* of matrices that are not what they are in the file; may be NULL */
};

/* The graph of one step, and the places of what is bound to it. */
struct step_graph {
    struct accel_builder *builder; /* owns the graph */
    const struct accel_graph *graph;
    uint32_t ids;          /* I32 [tokens] */
    uint32_t position;     /* I32 [tokens] */
    uint32_t slot;         /* I32 [tokens] */
    uint32_t table;        /* I32 [sequences, pages] */
    uint32_t first;        /* I32 [sequences + 1] */
    uint32_t length;       /* I32 [sequences] */
    uint32_t rows;         /* I32 [outputs]: which tokens want logits */
    uint32_t frequency;    /* F32 [dims / 2] of dynamic scaling, else ACCEL_NO_VALUE */
    uint32_t crossed;      /* F32 [tokens, width] that another device has made, else ACCEL_NO_VALUE */
    uint32_t logits;       /* F32 [outputs, vocabulary]; of a piece, what it gives to the next one */
    uint32_t mass;         /* F32 [sequences, pages * page], or ACCEL_NO_VALUE */
    uint64_t weight_bytes; /* of the tensors that the graph reads, as they lie in the file */
};

struct model_family {
    const char *architecture; /* as files name it */
    const char *activation;   /* where the file does not say */
    uint32_t gguf_pairing;    /* ACCEL_PAIR_... of GGUF files, which do not say it */
    int32_t (*check)(const struct model_family *family, const struct accel_model_file *file,
                     const struct accel_decoder_config *config, struct accel_error *error);
    int32_t (*step)(const struct model_family *family, const struct accel_model_file *file,
                    const struct accel_decoder_config *config, const struct step_options *options,
                    struct step_graph *out_step, struct accel_error *error);
};

/* The family of an architecture, or ACCEL_E_UNSUPPORTED with the list of those that there are. */
int32_t model_family_find(const char *path, const char *architecture, const struct model_family **out_family,
                          struct accel_error *error);

void step_graph_free(struct step_graph *step);

/* The rows of llama.c: a decoder with rms norms, rotary positions and a gated feed-forward part. */
extern const struct model_family llama_families[];
extern const uint32_t llama_family_count;

#endif
