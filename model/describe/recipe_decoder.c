/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of decoders that write text, listed by their families (model/family/decoder.h). */
#include "model/describe/recipe.h"
#include "model/family/decoder.h"
#include "model/family/family.h"

/* Roles of matrices; all vectors are norms here. */
static const char *const roles[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "embedding",       [DECODER_POSITIONS] = "embedding",  [DECODER_PROJECT_IN] = "embedding",
    [DECODER_PROJECT_OUT] = "head",          [DECODER_OUTPUT] = "head",          [DECODER_QUERY] = "attention.q",
    [DECODER_KEY] = "attention.k",           [DECODER_VALUE] = "attention.v",    [DECODER_QKV] = "attention.q",
    [DECODER_QUERY_DOWN] = "attention.q",    [DECODER_QUERY_UP] = "attention.q", [DECODER_KV_DOWN] = "attention.k",
    [DECODER_KV_UP] = "attention.v",         [DECODER_KEY_UP] = "attention.k",   [DECODER_VALUE_UP] = "attention.v",
    [DECODER_ATTENTION_OUT] = "attention.o", [DECODER_FFN_GATE] = "ffn.gate",    [DECODER_FFN_UP] = "ffn.up",
    [DECODER_FFN_DOWN] = "ffn.down",         [DECODER_ROUTER] = "ffn.router",    [DECODER_EXPERT_GATE] = "ffn.gate",
    [DECODER_EXPERT_UP] = "ffn.up",          [DECODER_EXPERT_DOWN] = "ffn.down", [DECODER_SHARED_GATE] = "ffn.gate",
    [DECODER_SHARED_UP] = "ffn.up",          [DECODER_SHARED_DOWN] = "ffn.down", [DECODER_SHARED_FACTOR] = "ffn.router",
};

struct listing {
    struct recipe *recipe;
    enum part part;
    uint32_t type; /* of the matrices, as the configuration states it; ACCEL_TYPE_NONE: not stated */
    const char *prefix;
};

static void add_weight(void *data, enum decoder_part part, uint32_t layer, const char *name, uint64_t rows,
                       uint64_t width)
{
    const struct listing *listing = data;
    struct recipe *recipe = listing->recipe;

    const bool is_expert = part == DECODER_EXPERT_GATE || part == DECODER_EXPERT_UP || part == DECODER_EXPERT_DOWN;

    recipe_at(recipe, listing->part, layer, "%s", listing->prefix);
    recipe->type = rows == 0 || roles[part] == NULL ? ACCEL_TYPE_NONE : listing->type;
    if (is_expert && rows > 1 && recipe->traits->expert_type != ACCEL_TYPE_NONE)
        recipe->type = recipe->traits->expert_type;
    if (rows == 0 || roles[part] == NULL)
        recipe_matrix(recipe, name, "norm", rows == 0 ? 1 : rows, width);
    else
        recipe_matrix(recipe, name, roles[part], rows, width);
    recipe->type = ACCEL_TYPE_NONE;
}

/* Fills what experts and latent attention have. */
static void fill_parts(struct recipe *recipe, const struct shape *s, struct accel_decoder_config *config)
{
    config->form.experts = (uint32_t)s->experts;
    config->form.expert_ffn = (uint32_t)s->expert_ffn;
    config->form.shared_ffn = (uint32_t)s->shared_ffn;
    if (s->kv_rank != 0) {
        recipe_need(recipe, PART_LANGUAGE, "rotary_size", s->rotary_size < s->head_size ? s->rotary_size : 0);
        config->latent = (struct accel_latent_config){.query = (uint32_t)s->query_rank,
                                                      .kv = (uint32_t)s->kv_rank,
                                                      .key = (uint32_t)(s->head_size - s->rotary_size),
                                                      .rotary = (uint32_t)s->rotary_size,
                                                      .value = (uint32_t)s->value_size};
    }
    if (s->experts != 0 && recipe->code == ACCEL_OK) {
        bool *mixture = model_pool_alloc(&recipe->d->pool, s->layers, sizeof(*mixture));

        if (mixture == NULL)
            recipe->code = model_no_memory(recipe->error, recipe->d->path, s->layers);
        for (uint64_t i = s->dense_layers; mixture != NULL && i < s->layers; i++)
            mixture[i] = true;
        config->mixture = mixture;
    }
}

static bool has_bias(const struct recipe *recipe, enum form_presence presence)
{
    return presence == FORM_PRESENT || (presence == FORM_IF_STORED && recipe->traits->biases);
}

/* Fills a configuration with what a descriptor states. Tensors that only a file could show are left out. */
static void fill_config(struct recipe *recipe, enum part part, const struct model_family *family,
                        struct accel_decoder_config *out_config)
{
    const struct shape *s = &recipe->shapes[part];
    const struct decoder_form *form = &family->form;

    *out_config = (struct accel_decoder_config){
        .family = family,
        .form = *form,
        .format = ACCEL_MODEL_SAFETENSORS,
        .layers = (uint32_t)s->layers,
        .hidden = (uint32_t)s->hidden,
        .ffn = (uint32_t)s->ffn,
        .heads = (uint32_t)s->heads,
        .kv_heads = (uint32_t)s->kv_heads,
        .head_size = (uint32_t)s->head_size,
        .value_size = (uint32_t)s->value_size,
        .vocabulary = (uint32_t)s->vocabulary,
        .context = (uint32_t)s->positions - (s->positions == 0 ? 0 : form->position_first),
        .tied = recipe->traits->tied || form->output == FORM_ABSENT,
        .q_bias = has_bias(recipe, form->q_bias),
        .k_bias = has_bias(recipe, form->k_bias),
        .v_bias = has_bias(recipe, form->v_bias),
        .o_bias = has_bias(recipe, form->o_bias),
        .mlp_bias = has_bias(recipe, form->ffn_bias),
        .output_bias = form->output_bias == FORM_PRESENT,
        .norm_bias = form->norm_bias == FORM_PRESENT,
        .qk_norm = form->qk_norm != FORM_QK_NONE && form->qk_norm_presence == FORM_PRESENT,
        .embedding_norm = form->embedding_norm == FORM_PRESENT,
    };
    fill_parts(recipe, s, out_config);
}

void recipe_decoder(struct recipe *recipe, enum part part, const char *family_name, const char *prefix)
{
    struct listing listing = {recipe, part, ACCEL_TYPE_NONE, prefix};
    struct accel_decoder_config config;
    const struct model_family *family;
    int32_t code = model_family_find(recipe->d->origin, family_name, &family, recipe->error);

    recipe_need_layers(recipe, part);
    recipe_need(recipe, part, "vocabulary", recipe->shapes[part].vocabulary);
    if (code == ACCEL_OK && family->form.position == FORM_LEARNED)
        recipe_need(recipe, part, "positions", recipe->shapes[part].positions);
    if (recipe->code == ACCEL_OK)
        recipe->code = code;
    if (recipe->code != ACCEL_OK)
        return;
    fill_config(recipe, part, family, &config);
    if (recipe->code != ACCEL_OK)
        return;
    decoder_list(&config, add_weight, &listing);
}

/* Counts the layers that have the window which a descriptor states. */
static void count_windows(struct recipe *recipe)
{
    const uint64_t layers = recipe->shapes[PART_LANGUAGE].layers;
    const struct model_family *family;

    if (recipe->code != ACCEL_OK || recipe->traits->window == 0)
        return;
    recipe->code = model_family_find(recipe->d->origin, recipe->traits->family, &family, recipe->error);
    if (recipe->code != ACCEL_OK)
        return;
    if (family->form.windows == FORM_WINDOW_ALL)
        recipe->d->traits.window_layers = layers;
    else if (family->form.windows == FORM_WINDOW_PATTERN)
        recipe->d->traits.window_layers = layers - layers / family->form.full_every;
    else
        recipe->code = accel_error_set(recipe->error, ACCEL_E_CORRUPT,
                                       "%s: the fact model.window is stated, and no pattern of %s has it",
                                       recipe->d->origin, recipe->traits->family);
}

void recipe_make_decoder(struct recipe *recipe)
{
    recipe_decoder(recipe, PART_LANGUAGE, recipe->traits->family, "");
    count_windows(recipe);
}

/* Copies the shape of a decoder. */
static void copy_shape(const struct accel_decoder_config *config, struct shape *out_shape)
{
    const struct decoder_form *form = &config->form;

    *out_shape = (struct shape){.layers = config->layers,
                                .hidden = config->hidden,
                                .ffn = config->ffn,
                                .heads = config->heads,
                                .kv_heads = config->kv_heads,
                                .head_size = config->head_size,
                                .value_size = config->value_size,
                                .vocabulary = config->vocabulary,
                                .experts = form->experts,
                                .experts_used = form->experts == 0 ? 0 : form->experts_used,
                                .expert_ffn = form->experts == 0 ? 0 : form->expert_ffn,
                                .shared_ffn = form->experts == 0 ? 0 : form->shared_ffn,
                                .query_rank = config->latent.query,
                                .kv_rank = config->latent.kv,
                                .rotary_size = config->latent.rotary,
                                .used = true};
    if (form->position == FORM_LEARNED)
        out_shape->positions = (uint64_t)config->context + form->position_first;
    while (config->mixture != NULL && out_shape->dense_layers < config->layers &&
           !config->mixture[out_shape->dense_layers])
        out_shape->dense_layers++;
}

int32_t describe_decoder(struct accel_model_description *d, const struct accel_decoder_config *config,
                         struct accel_error *error)
{
    struct recipe recipe = {.d = d, .traits = &d->traits, .shapes = d->shapes, .error = error, .type = ACCEL_TYPE_NONE};
    struct listing listing = {&recipe, PART_LANGUAGE, config->type, ""};
    uint32_t function;

    copy_shape(config, &d->shapes[PART_LANGUAGE]);
    d->traits.context = config->context;
    d->traits.tied = config->tied;
    for (uint32_t layer = 0; layer < config->layers; layer++) {
        d->traits.window_layers += config->windows[layer] != 0;
        d->traits.window = config->windows[layer] > d->traits.window ? config->windows[layer] : d->traits.window;
    }
    recipe.code = decoder_find_function(config, &function, error);
    if (recipe.code == ACCEL_OK)
        recipe.code = describe_check_layers(d, error);
    if (recipe.code == ACCEL_OK)
        decoder_list(config, add_weight, &listing);
    return recipe.code;
}
