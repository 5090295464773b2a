/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by decoder*.c, which walk through a decoder in the order of a step: decoder.c calls the others. */
#ifndef ACCEL_MODEL_FAMILY_DECODER_WALK_H
#define ACCEL_MODEL_FAMILY_DECODER_WALK_H

#include "model/family/decoder.h"
#include "model/family/family.h"
#include "model/family/net.h"

struct decoder {
    struct net net;
    const struct accel_decoder_config *config;
    const struct decoder_form *form;
    const struct step_options *options;
    decoder_weight list; /* decoder_list: receives weights; else NULL */
    void *list_data;
    struct step_graph *step; /* its values; unused by NET_CHECK */
    uint32_t tokens;         /* symbol */
    uint32_t outputs;
    uint32_t sequences;
    uint32_t frequency; /* value, of layers without and with a window */
    uint32_t frequency_sliding;
    uint32_t slope;    /* of ALiBi, or ACCEL_NO_VALUE */
    uint32_t head_ids; /* I32 [tokens, heads]: 0, 1 ... of each token, for matrices of heads in latent attention */
    uint32_t groups;   /* F32 [groups, experts]: 1 for the experts of a group */
    uint32_t function; /* ACCEL_FN_... */
    uint32_t pairing;
};

/* A weight of a part: a matrix [rows, width], of `parts` above 1 all of them in one; a vector [width]. */
uint32_t decoder_matrix(struct decoder *d, enum decoder_part part, uint32_t layer, uint64_t parts, uint64_t rows,
                        uint64_t width);
uint32_t decoder_vector(struct decoder *d, enum decoder_part part, uint32_t layer, const char *suffix, uint64_t width,
                        float add);

/* Returns the factor of products with a matrix, 1 if the file has none. */
double decoder_product_scale(struct decoder *d, enum decoder_part part, uint32_t layer);

/* Applies a matrix [rows, width] and, with `bias`, its bias. */
uint32_t decoder_project(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                         uint64_t rows, uint64_t width, bool bias, uint32_t residual);

/* Splits rows into heads: [tokens, heads, size]. */
uint32_t decoder_split_heads(struct decoder *d, uint32_t layer, const char *name, uint32_t x, uint32_t heads,
                             uint32_t size);

/* Adds rotary positions to heads. */
uint32_t decoder_rotate(struct decoder *d, uint32_t layer, const char *name, uint32_t x);

/* Writes keys ("k") or values ("v") to the cache of a layer, which is returned. */
uint32_t decoder_write_cache(struct decoder *d, uint32_t layer, const char *name, uint32_t x);

/* Attends over cached keys and values: [tokens, heads, value_size] of queries, cache of keys, cache of values. */
uint32_t decoder_attend_cached(struct decoder *d, uint32_t layer, const uint32_t qkv[3], double scale);

/* Adds latent attention without its output projection (decoder_latent.c). */
uint32_t decoder_attend_latent(struct decoder *d, uint32_t layer, uint32_t x);

/* Applies chosen ones of `parts` matrices [rows, width] to each row of x, summed where there are factors. */
uint32_t decoder_chosen_matmul(struct decoder *d, enum decoder_part part, uint32_t layer, const char *name, uint32_t x,
                               uint32_t ids, uint32_t factor, uint64_t parts, uint64_t rows, uint64_t width);

/* function(one) * up */
uint32_t decoder_gate(struct decoder *d, uint32_t layer, const char *name, uint32_t one, uint32_t up);

/* Adds what chosen matrices need in all layers: the heads of latent attention, the groups of experts. */
void decoder_choices(struct decoder *d);

/* Adds the feed-forward part of a layer with experts (decoder_experts.c). */
uint32_t decoder_mix(struct decoder *d, uint32_t layer, uint32_t x, uint32_t residual);

/* Add what gives tokens a place (decoder_positions.c): rotary frequencies, slopes of ALiBi, rows of a table. */
void decoder_frequencies(struct decoder *d);
void decoder_slopes(struct decoder *d);
uint32_t decoder_positions(struct decoder *d, uint32_t hidden);

#endif
