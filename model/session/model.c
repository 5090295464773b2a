/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a model: file, configuration and family, checked against each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/packed.h"
#include "model/session/state.h"

/* Most distinct matrix types; no file has more. */
enum { TYPES_MOST = 8 };

/* Lists the types of the matrices as text, the most frequent first. */
static void name_types(struct accel_model *model)
{
    struct {
        const char *name;
        uint64_t count;
    } seen[TYPES_MOST] = {{0}};
    uint32_t types = 0;
    size_t used = 0;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(model->file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(model->file, i);
        uint32_t t = 0;

        if (tensor->rank < 2)
            continue;
        while (t < types && strcmp(seen[t].name, tensor->type_name) != 0)
            t++;
        if (t == types && types < TYPES_MOST)
            seen[types++].name = tensor->type_name;
        if (t < types)
            seen[t].count++;
    }
    while (types > 0) {
        uint32_t best = 0;
        int count;

        for (uint32_t t = 1; t < types; t++)
            best = seen[t].count > seen[best].count ? t : best;
        count =
            snprintf(model->types + used, sizeof(model->types) - used, "%s%s", used == 0 ? "" : ", ", seen[best].name);
        used += count > 0 && (size_t)count < sizeof(model->types) - used ? (size_t)count : 0;
        seen[best] = seen[--types];
    }
}

static void fill_facts(struct accel_model *model)
{
    const struct accel_decoder_config *c = &model->config;

    name_types(model);
    model->facts = (struct accel_model_facts){.size = sizeof(model->facts),
                                              .layers = c->layers,
                                              .architecture = c->architecture,
                                              .types = model->types,
                                              .hidden = c->hidden,
                                              .ffn = c->ffn,
                                              .heads = c->heads,
                                              .kv_heads = c->kv_heads,
                                              .head_size = c->head_size,
                                              .vocabulary = c->vocabulary,
                                              .context = c->context,
                                              .tied = c->tied,
                                              .bos = c->bos,
                                              .eos = c->eos,
                                              .eos_count = c->eos_count};
    for (uint32_t layer = 0; layer < c->layers; layer++) {
        model->facts.window_layers += c->windows[layer] != 0;
        model->facts.window = c->windows[layer] > model->facts.window ? c->windows[layer] : model->facts.window;
    }
    for (uint64_t i = 0; i < accel_model_file_tensor_count(model->file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(model->file, i);
        uint64_t elements = 1;

        for (uint32_t d = 0; d < tensor->rank; d++)
            elements *= tensor->dims[d];
        model->facts.parameters += elements;
        model->facts.weight_bytes += tensor->bytes;
    }
}

/* Adds a remedy to an error about a model whose file opens, unless it has one. */
static void add_remedy(int32_t code, struct accel_error *error)
{
    if (code == ACCEL_E_UNSUPPORTED)
        accel_error_remedy(error, "choose a model of a supported architecture: accelctl profile list models "
                                  "lists examples");
    else if (code == ACCEL_E_CORRUPT || code == ACCEL_E_INVALID)
        model_remedy_damaged(error);
}

/* Refuses an architecture that no family has, by the file and the key that have it. */
static int32_t refuse_architecture(const struct accel_decoder_config *config, struct accel_error *error)
{
    const struct model_family *family;
    char place[512];

    snprintf(place, sizeof(place), "%s: %s", config->origin,
             config->format == ACCEL_MODEL_GGUF ? "general.architecture" : "model_type");
    return model_family_find(place, config->architecture, &family, error);
}

/* Reads and checks the configuration of the open file. Frees the model on failure, whose code may be that of opening
 * the file. */
static int32_t finish(struct accel_model *model, int32_t code, struct accel_model **out_model,
                      struct accel_error *error)
{
    if (code == ACCEL_OK)
        code = accel_decoder_config_read(model->file, &model->config, error);
    if (code == ACCEL_OK && model->config.family == NULL)
        code = refuse_architecture(&model->config, error);
    if (code == ACCEL_OK)
        code = decoder_derive(model->file, &model->config, error);
    if (code == ACCEL_OK)
        code = decoder_check(model->file, &model->config, &model->vectors, error);
    if (code != ACCEL_OK) {
        add_remedy(code, error);
        accel_model_close(model);
        return accel_error_origin(error, ACCEL_FROM_MODEL, code);
    }
    fill_facts(model);
    *out_model = model;
    return ACCEL_OK;
}

int32_t accel_model_open(const char *path, const struct accel_model_open_options *options,
                         struct accel_model **out_model, struct accel_error *error)
{
    struct accel_model *model;
    int32_t code;

    if (path == NULL || out_model == NULL)
        return model_refuse_null(__func__, error);
    *out_model = NULL;
    model = calloc(1, sizeof(*model));
    if (model == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for the model", path);
    code = accel_model_file_open(path, options, &model->file, error);
    if (code == ACCEL_OK)
        code = model_packed_replace(model->file, error);
    return finish(model, code, out_model, error);
}

int32_t model_adopt_file(struct accel_model_file *file, struct accel_model **out_model, struct accel_error *error)
{
    struct accel_model *model = calloc(1, sizeof(*model));

    *out_model = NULL;
    if (model == NULL) {
        accel_model_file_close(file);
        return accel_error_no_memory(error, "for the model");
    }
    model->file = file;
    return finish(model, model_file_map(file, error), out_model, error);
}

void accel_model_close(struct accel_model *model)
{
    if (model == NULL)
        return;
    accel_decoder_config_free(&model->config);
    free((void *)model->vectors.rows);
    accel_model_file_close(model->file);
    free(model);
}

const struct accel_model_file *accel_model_file_of(const struct accel_model *model)
{
    return model->file;
}

const struct accel_model_facts *accel_model_facts_of(const struct accel_model *model)
{
    return &model->facts;
}
