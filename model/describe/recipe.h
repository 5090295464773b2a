/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of recipes, which list the weights of a family. A recipe has a current component, layer and name prefix. The
 * first failure is stored and later calls do nothing, so that recipes read as lists.
 */
#ifndef ACCEL_MODEL_DESCRIBE_RECIPE_H
#define ACCEL_MODEL_DESCRIBE_RECIPE_H

#include "model/describe/internal.h"

enum { RECIPE_PREFIX = 128 };

struct recipe {
    struct accel_model_description *d;
    const struct traits *traits;
    const struct shape *shapes; /* by part */
    struct accel_error *error;
    int32_t code;
    enum part part;
    uint32_t layer;
    uint32_t type; /* of the following weights in the published checkpoint, or ACCEL_TYPE_NONE */
    char prefix[RECIPE_PREFIX];
};

/* Sets component, layer and name prefix of the following weights. */
void recipe_at(struct recipe *recipe, enum part part, uint32_t layer, const char *prefix, ...) ACCEL_PRINTF(4, 5);

/* Add a matrix, or a vector such as a norm or a bias. */
void recipe_matrix(struct recipe *recipe, const char *name, const char *role, uint64_t rows, uint64_t columns);
void recipe_vector(struct recipe *recipe, const char *name, uint64_t columns);

/* Adds NAME.weight and, with `bias`, NAME.bias. */
void recipe_linear(struct recipe *recipe, const char *name, const char *role, uint64_t rows, uint64_t columns,
                   bool bias);
void recipe_norm(struct recipe *recipe, const char *name, uint64_t width, bool bias);

/* Adds queries, keys, values and output of attention over inputs of width `source`, with the names `names` in that
 * order and the component's shape. `biases` has a bit for each. */
void recipe_attention(struct recipe *recipe, const char *const names[4], uint64_t source, uint32_t biases);
#define RECIPE_ALL_BIASES 15u

/* Fails if a shape is missing; `fact` names it. */
void recipe_need(struct recipe *recipe, enum part part, const char *fact, uint64_t value);

/* Requires the shapes of a component of transformer layers: layers, hidden, ffn and heads. */
void recipe_need_layers(struct recipe *recipe, enum part part);

/* Add a whole transformer at `prefix`. */
void recipe_decoder(struct recipe *recipe, enum part part, const char *family_name, const char *prefix);
void recipe_bert(struct recipe *recipe, enum part part, const char *prefix, uint64_t crossed);
void recipe_clip_vision(struct recipe *recipe, const char *prefix, const char *first_norm, bool messages);
void recipe_blip_vision(struct recipe *recipe, const char *prefix);
void recipe_clip_layer(struct recipe *recipe);
void recipe_clap_audio(struct recipe *recipe);

/* Families. */
void recipe_make_decoder(struct recipe *recipe);
void recipe_make_bert(struct recipe *recipe);
void recipe_make_t5(struct recipe *recipe);
void recipe_make_vit(struct recipe *recipe);
void recipe_make_resnet(struct recipe *recipe);
void recipe_make_convnext(struct recipe *recipe);
void recipe_make_detr(struct recipe *recipe);
void recipe_make_whisper(struct recipe *recipe);
void recipe_make_wav2vec2(struct recipe *recipe);
void recipe_make_clip(struct recipe *recipe);
void recipe_make_xclip(struct recipe *recipe);
void recipe_make_blip(struct recipe *recipe);
void recipe_make_blip2(struct recipe *recipe);
void recipe_make_llava(struct recipe *recipe);
void recipe_make_clap(struct recipe *recipe);

#endif
