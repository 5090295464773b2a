/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a description from a path or from a name. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <accel/profile.h>
#include <accel/quant/format.h>

#include "model/describe/internal.h"
#include "model/describe/open.h"
#include "model/family/decoder_config.h"
#include "model/family/family.h"
#include "model/file/fault.h"
#include "model/file/not_model.h"
#include "model/file/packed.h"
#include "model/file/text.h"

/* Returns whether a path exists or fails for a reason that opening it would report. */
static bool is_there(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* Returns whether a text can only be a path: "OWNER/NAME" may be a name. */
static bool looks_like_path(const char *text)
{
    static const char *const ends[] = {".gguf", ".safetensors", ".json"};
    size_t length = strlen(text);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (length > strlen(ends[i]) && strcmp(text + length - strlen(ends[i]), ends[i]) == 0)
            return true;
    return describe_base_name(text) == NULL;
}

/* Fills missing head counts: without number and size of heads, the matrices of keys and values count as one head, which
 * gives the same cache bytes. */
static void count_as_one_head(struct accel_model_description *d)
{
    for (uint32_t part = 0; part < PARTS; part++) {
        struct shape *s = &d->shapes[part];

        if (s->heads != 0 || s->key_rows == 0 || s->value_rows == 0)
            continue;
        s->heads = 1;
        s->kv_heads = 1;
        s->head_size = s->key_rows;
        s->value_size = s->value_rows;
    }
}

static int32_t finish(struct accel_model_description *d, struct accel_error *error)
{
    int32_t code;

    describe_complete(d);
    code = describe_finish(d, error);
    return code == ACCEL_OK ? describe_write_facts(d, error) : code;
}

static int32_t from_open_file(struct accel_model_description *d, struct accel_context *context,
                              const struct accel_model_file *file, struct accel_error *error)
{
    int32_t code = describe_file(d, file, error);

    if (code != ACCEL_OK)
        return code;
    describe_complete(d);
    if (context != NULL)
        code = describe_fit(d, context, error);
    count_as_one_head(d);
    return code == ACCEL_OK ? finish(d, error) : code;
}

/* Hands the open file out, unless its packed weights are described as stored, since they are not supported. */
static int32_t from_file(struct accel_model_description *d, struct accel_context *context,
                         struct accel_model_file **out_file, struct accel_error *error)
{
    struct accel_model_open_options options = {.size = sizeof(options), .flags = ACCEL_MODEL_OPEN_READ};
    struct accel_model_file *file = NULL;
    struct accel_error packing = {0};
    int32_t code = accel_model_file_open(d->path, &options, &file, error);

    if (code == ACCEL_OK) {
        code = model_packed_replace(file, &packing);
        if (code != ACCEL_OK && code != ACCEL_E_UNSUPPORTED)
            accel_error_set(error, code, "%s", packing.text);
        else
            code = model_packed_keep_all(file, error);
    }
    if (code == ACCEL_OK)
        code = from_open_file(d, context, file, error);
    if (code == ACCEL_OK && packing.code == ACCEL_OK)
        *out_file = file;
    else
        accel_model_file_close(file);
    if (code == ACCEL_E_CORRUPT)
        model_remedy_damaged(error);
    return code;
}

/* Refuses weights whose packing only their own files show: MXFP4 packs experts that are stored as one tensor. */
static int32_t refuse_packed(const struct accel_model_description *d, const struct model_family *family,
                             struct accel_error *error)
{
    const struct decoder_stack *stack = d->traits.expert_type == ACCEL_TYPE_NONE ? NULL : family->stacks;

    while (stack != NULL && stack->source != NULL && (stack->part != DECODER_EXPERT_GATE || stack->count != COUNT_ONE))
        stack++;
    if (d->traits.packing == NULL || (stack != NULL && stack->source != NULL))
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_UNSUPPORTED,
                    "%s: quantization_config: quant_method is %.60s: only the files of the weights show their types",
                    d->origin, d->traits.packing);
    return accel_error_advise(error, ACCEL_E_UNSUPPORTED,
                              "download the weights; or plan the config.json of the unquantized model with --set "
                              "weights.type=q4");
}

/* Describes a config.json that has no weights beside it: its family lists those that it calls for. */
static int32_t from_config(struct accel_model_description *d, struct accel_context *context, const char *path,
                           struct accel_error *error)
{
    struct accel_decoder_config config = {0};
    struct accel_format format;
    uint64_t length = 0;
    char *text = NULL;
    int32_t code = model_text_read(path, CONFIG_TEXT_MAX, &text, &length, error);

    if (code != ACCEL_OK)
        accel_error_remedy(error, code == ACCEL_E_CORRUPT ? "download config.json again, or copy it from the model"
                                                          : "config.json has to be a file that this user may read");
    d->origin = model_pool_text(&d->pool, path, strlen(path));
    if (code == ACCEL_OK && d->origin == NULL)
        code = model_no_memory(error, path, strlen(path));
    if (code == ACCEL_OK)
        code = describe_config_text(d, d->origin, text, length, error);
    if (code == ACCEL_OK && d->traits.family != NULL)
        code = describe_fact(d, "model.family", d->traits.family, d->origin, error);
    if (code == ACCEL_OK)
        code = accel_model_description_runs(d, error);
    if (code == ACCEL_OK)
        code = accel_decoder_config_parse(d->origin, text, length, NULL, &config, error);
    if (code == ACCEL_OK)
        code = refuse_packed(d, config.family, error);
    if (code == ACCEL_OK && d->traits.packing != NULL)
        code = describe_fact(d, "model.weights", d->traits.packing, d->origin, error);
    else if (code == ACCEL_OK && accel_format_describe(config.type, &format) == ACCEL_OK)
        code = describe_fact(d, "model.weights", format.name, d->origin, error);
    if (code == ACCEL_OK)
        code = describe_decoder(d, &config, error);
    describe_complete(d);
    if (code == ACCEL_OK && context != NULL)
        code = describe_fit(d, context, error);
    accel_decoder_config_free(&config);
    accel_model_text_free(text);
    if (code == ACCEL_E_CORRUPT)
        model_remedy_damaged(error);
    return code == ACCEL_OK ? finish(d, error) : code;
}

static int32_t from_name(struct accel_model_description *d, struct accel_context *context, const char *name,
                         struct accel_error *error)
{
    int32_t code;

    if (context == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: no such file", d->path);
    code = describe_named(d, context, name, error);
    describe_complete(d);
    if (code == ACCEL_OK)
        code = describe_recipe(d, error);
    return code == ACCEL_OK ? finish(d, error) : code;
}

int32_t describe_trained(struct accel_model_description *description, uint64_t trained, struct accel_error *error)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, trained);
    return describe_fact(description, "model.context", text, description->origin, error);
}

/* Creates a description of nothing yet. */
static int32_t create(const char *path, struct accel_model_description **out_description, struct accel_error *error)
{
    struct accel_model_description *d = *out_description = calloc(1, sizeof(*d));

    if (d != NULL)
        d->path = model_pool_text(&d->pool, path, strlen(path));
    return d != NULL && d->path != NULL
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for its description", path);
}

/* Frees a description that cannot be finished. */
static int32_t end(struct accel_model_description **description, int32_t code, struct accel_error *error)
{
    if (code == ACCEL_OK)
        return ACCEL_OK;
    accel_model_description_free(*description);
    *description = NULL;
    return accel_error_origin(error, ACCEL_FROM_MODEL, code);
}

int32_t describe_open_file(struct accel_context *context, const struct accel_model_file *file, uint64_t trained,
                           struct accel_model_description **out_description, struct accel_error *error)
{
    int32_t code = create(accel_model_file_path(file), out_description, error);

    if (code == ACCEL_OK)
        code = from_open_file(*out_description, context, file, error);
    if (code == ACCEL_OK)
        code = describe_trained(*out_description, trained, error);
    return end(out_description, code, error);
}

int32_t describe_open(struct accel_context *context, const char *path_or_name,
                      struct accel_model_description **out_description, struct accel_model_file **out_file,
                      struct accel_error *error)
{
    struct accel_model_description *d;
    char *config, *folder;
    int32_t code;

    *out_description = NULL;
    *out_file = NULL;
    if (path_or_name == NULL || *path_or_name == 0) {
        code = accel_error_set(error, ACCEL_E_INVALID, "a model has a path or a name");
        return accel_error_advise(error, code, "name its file or folder, or one of accelctl profile list models");
    }
    folder = model_config_folder(path_or_name);
    code = create(folder != NULL ? folder : path_or_name, out_description, error);
    free(folder);
    d = *out_description;
    if (code != ACCEL_OK)
        return end(out_description, code, error);
    config = model_lone_config(d->path);
    if (config != NULL)
        code = from_config(d, context, config, error);
    else if (is_there(d->path) || looks_like_path(d->path) || (context == NULL && strchr(d->path, '/') != NULL))
        code = from_file(d, context, out_file, error);
    else
        code = from_name(d, context, d->path, error);
    free(config);
    return end(out_description, code, error);
}

int32_t accel_model_describe(struct accel_context *context, const char *path_or_name,
                             struct accel_model_description **out_description, struct accel_error *error)
{
    struct accel_model_file *file;
    int32_t code;

    if (out_description == NULL)
        return model_refuse_null(__func__, error);
    code = describe_open(context, path_or_name, out_description, &file, error);
    accel_model_file_close(file);
    return code;
}

void accel_model_description_free(struct accel_model_description *description)
{
    if (description == NULL)
        return;
    model_pool_free(&description->pool);
    free(description);
}

const char *accel_model_description_path(const struct accel_model_description *description)
{
    return description->path;
}

uint32_t accel_model_description_is_file(const struct accel_model_description *description)
{
    return description->is_file;
}

uint32_t accel_model_description_is_transposed(const struct accel_model_description *description)
{
    return description->has_transposed;
}

bool describe_is_folder(const struct accel_model_description *description)
{
    return description->is_folder;
}

const struct accel_named_value *accel_model_description_facts(const struct accel_model_description *description,
                                                              uint32_t *out_count)
{
    *out_count = description->fact_count;
    return description->facts;
}

const char *accel_model_description_fact(const struct accel_model_description *description, const char *key)
{
    return describe_find_fact(description, key);
}

const struct accel_sketch *accel_model_description_sketch(const struct accel_model_description *description)
{
    return &description->model_shapes;
}

int32_t accel_model_description_runs(const struct accel_model_description *description, struct accel_error *error)
{
    const struct model_family *family;
    const char *name;
    char place[512];

    if (description == NULL)
        return model_refuse_null(__func__, error);
    name = describe_find_fact(description, "model.family");
    if (description->lacks_config) {
        model_fault(error, ACCEL_E_UNSUPPORTED, description->path, MODEL_NO_OFFSET, "has no config.json beside it");
        model_remedy_config(error);
        return ACCEL_E_UNSUPPORTED;
    }
    if (description->has_json && name == NULL) {
        model_fault(error, ACCEL_E_UNSUPPORTED, description->path, MODEL_NO_OFFSET,
                    description->has_odd_name
                        ? "config.json: model_type is not a name of 1 to 64 printable characters without spaces"
                        : "config.json: model_type is missing or is not a string");
        return accel_error_advise(error, ACCEL_E_UNSUPPORTED,
                                  "set model_type to the architecture of the weights, for example \"llama\"");
    }
    if (description->has_json && !description->is_file)
        snprintf(place, sizeof(place), "%s: model_type", description->origin);
    else
        snprintf(place, sizeof(place), "%s%s", description->path,
                 description->has_json ? ": config.json: model_type" : "");
    return model_family_find(place, name == NULL ? "" : name, &family, error);
}
