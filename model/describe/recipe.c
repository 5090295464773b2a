/* SPDX-License-Identifier: Apache-2.0 */
/* Writing weights down, and which family has which recipe. */
#include "model/describe/recipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/family/family.h"

void recipe_at(struct recipe *recipe, enum part part, uint32_t layer, const char *prefix, ...)
{
    va_list values;

    recipe->part = part;
    recipe->layer = layer;
    va_start(values, prefix);
    vsnprintf(recipe->prefix, sizeof(recipe->prefix), prefix, values);
    va_end(values);
}

void recipe_need(struct recipe *recipe, enum part part, const char *fact, uint64_t value)
{
    if (value != 0 || recipe->code != ACCEL_OK)
        return;
    recipe->code = accel_error_set(recipe->error, ACCEL_E_CORRUPT, "%s: the fact %s.%s is missing, and %s needs it",
                                   recipe->d->origin, part == PART_NONE ? "model" : part_names[part], fact,
                                   recipe->traits->family);
}

void recipe_need_layers(struct recipe *recipe, enum part part)
{
    const struct shape *s = &recipe->shapes[part];

    recipe_need(recipe, part, "layers", s->layers);
    recipe_need(recipe, part, "hidden", s->hidden);
    recipe_need(recipe, part, "ffn", s->ffn);
    recipe_need(recipe, part, "heads", s->heads);
}

void recipe_matrix(struct recipe *recipe, const char *name, const char *role, uint64_t rows, uint64_t columns)
{
    char whole[2 * RECIPE_PREFIX];
    struct accel_sketch_weight weight = {.size = sizeof(weight),
                                         .layer = recipe->layer,
                                         .type = recipe->type,
                                         .name = whole,
                                         .component = part_names[recipe->part],
                                         .role = role,
                                         .rows = rows,
                                         .columns = columns};

    if (recipe->code != ACCEL_OK)
        return;
    snprintf(whole, sizeof(whole), "%s%s", recipe->prefix, name);
    if (rows == 0 || columns == 0 || rows > SHAPE_MAX || columns > SHAPE_MAX)
        recipe->code =
            accel_error_set(recipe->error, ACCEL_E_CORRUPT, "%s: its facts give %s %llu rows and %llu columns",
                            recipe->d->origin, whole, (unsigned long long)rows, (unsigned long long)columns);
    else
        recipe->code = describe_weight(recipe->d, &weight, recipe->error);
}

void recipe_vector(struct recipe *recipe, const char *name, uint64_t columns)
{
    recipe_matrix(recipe, name, "norm", 1, columns);
}

static void with_suffix(char whole[RECIPE_PREFIX], const char *name, const char *suffix)
{
    snprintf(whole, RECIPE_PREFIX, "%s.%s", name, suffix);
}

void recipe_linear(struct recipe *recipe, const char *name, const char *role, uint64_t rows, uint64_t columns,
                   bool bias)
{
    char whole[RECIPE_PREFIX];

    with_suffix(whole, name, "weight");
    recipe_matrix(recipe, whole, role, rows, columns);
    with_suffix(whole, name, "bias");
    if (bias)
        recipe_vector(recipe, whole, rows);
}

void recipe_norm(struct recipe *recipe, const char *name, uint64_t width, bool bias)
{
    char whole[RECIPE_PREFIX];

    with_suffix(whole, name, "weight");
    recipe_vector(recipe, whole, width);
    with_suffix(whole, name, "bias");
    if (bias)
        recipe_vector(recipe, whole, width);
}

void recipe_attention(struct recipe *recipe, const char *const names[4], uint64_t source, uint32_t biases)
{
    const struct shape *s = &recipe->shapes[recipe->part];
    uint64_t queries = s->heads * s->head_size, keys = s->kv_heads * s->head_size, values = s->kv_heads * s->value_size;

    recipe_linear(recipe, names[0], "attention.q", queries, s->hidden, (biases & 1u) != 0);
    recipe_linear(recipe, names[1], "attention.k", keys, source, (biases & 2u) != 0);
    recipe_linear(recipe, names[2], "attention.v", values, source, (biases & 4u) != 0);
    recipe_linear(recipe, names[3], "attention.o", s->hidden, s->heads * s->value_size, (biases & 8u) != 0);
}

static const struct {
    const char *family;
    void (*make)(struct recipe *recipe);
} recipes[] = {
    {"bert", recipe_make_bert},    {"roberta", recipe_make_bert},    {"t5", recipe_make_t5},
    {"vit", recipe_make_vit},      {"resnet", recipe_make_resnet},   {"convnext", recipe_make_convnext},
    {"detr", recipe_make_detr},    {"whisper", recipe_make_whisper}, {"wav2vec2", recipe_make_wav2vec2},
    {"clip", recipe_make_clip},    {"xclip", recipe_make_xclip},     {"blip", recipe_make_blip},
    {"blip-2", recipe_make_blip2}, {"llava", recipe_make_llava},     {"llava_next", recipe_make_llava},
    {"clap", recipe_make_clap},
};

/* Layers are a loop here; one of an absurd number would fill memory before a sum could tell. */
#define MOST_LAYERS 4096u

static bool is_sane(const struct shape *shape)
{
    bool sane = shape->layers <= MOST_LAYERS && shape->prompts <= MOST_LAYERS;

    for (uint64_t stage = 0; stage < shape->stages.count; stage++)
        sane = sane && shape->stages.items[stage] <= MOST_LAYERS;
    return sane;
}

int32_t describe_check_layers(const struct accel_model_description *d, struct accel_error *error)
{
    for (uint32_t part = 0; part < PARTS; part++)
        if (!is_sane(&d->shapes[part]))
            return accel_error_set(error, ACCEL_E_LIMIT, "%s: the component %s has more than %u layers", d->origin,
                                   part_names[part], MOST_LAYERS);
    return ACCEL_OK;
}

int32_t describe_recipe(struct accel_model_description *d, struct accel_error *error)
{
    struct recipe recipe = {.d = d, .traits = &d->traits, .shapes = d->shapes, .error = error, .type = ACCEL_TYPE_NONE};
    const struct model_family *family;

    if (describe_check_layers(d, error) != ACCEL_OK)
        return ACCEL_E_LIMIT;
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
        if (strcmp(recipes[i].family, d->traits.family) == 0) {
            recipes[i].make(&recipe);
            return recipe.code;
        }
    if (d->traits.main == PART_LANGUAGE && model_family_find(d->origin, d->traits.family, &family, NULL) == ACCEL_OK) {
        recipe_make_decoder(&recipe);
        return recipe.code;
    }
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: weights of the family \"%s\" cannot be derived from facts",
                    d->origin, d->traits.family);
    return accel_error_advise(error, ACCEL_E_UNSUPPORTED, "describe a file of the model instead");
}
