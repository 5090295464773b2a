/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a file: its tensors are the weights, and supply what the configuration lacks. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/describe/internal.h"
#include "model/file/checked.h"

enum { TYPE_NAMES = 64, TYPE_BYTES = 24 };

/* Computes rows and columns of a tensor. The columns of a filter are all inputs of one output. */
static int32_t measure(const struct accel_model_description *d, const struct accel_model_tensor *tensor,
                       struct accel_sketch_weight *weight, struct accel_error *error)
{
    bool is_filter = tensor->rank >= 3 && strcmp(weight->role, "conv") == 0;
    uint32_t outer = is_filter ? 1 : tensor->rank == 0 ? 0 : tensor->rank - 1;
    bool fits = true;

    weight->rows = 1;
    weight->columns = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        uint64_t *side = i < outer ? &weight->rows : &weight->columns;

        fits = fits && multiply_u64(*side, tensor->dims[i], side);
    }
    if (!fits)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: tensor %.80s has more elements than 64 bits count", d->path,
                               tensor->name);
    return ACCEL_OK;
}

/* Makes the outputs of each transposed matrix its rows. */
static void turn(const struct accel_model_tensor *tensor, struct accel_sketch_weight *weight)
{
    const uint64_t inputs = tensor->dims[tensor->rank - 2];

    weight->rows = inputs == 0 ? 0 : weight->rows / inputs * weight->columns;
    weight->columns = inputs;
}

/* Derives the shape of a component from a tensor, unless the configuration has it. */
static void learn_shape(struct shape *shape, const struct name_facts *name, const struct accel_sketch_weight *weight)
{
    /* Pyramids are described by the configuration: their stages differ. */
    bool is_first = weight->layer == 0 && shape->stages.count == 0;

    shape->used = true;
    if (name->is_tokens && shape->vocabulary == 0)
        shape->vocabulary = weight->rows;
    if (name->is_tokens && shape->hidden == 0)
        shape->hidden = weight->columns;
    if (name->is_positions)
        shape->positions = weight->rows;
    if (is_first && strcmp(weight->role, "ffn.up") == 0) {
        shape->ffn = shape->ffn == 0 ? weight->rows : shape->ffn;
        shape->hidden = shape->hidden == 0 ? weight->columns : shape->hidden;
    }
    if (is_first && strcmp(weight->role, "attention.k") == 0)
        shape->key_rows = shape->key_rows == 0 ? weight->rows : shape->key_rows;
    if (is_first && strcmp(weight->role, "attention.v") == 0)
        shape->value_rows = shape->value_rows == 0 ? weight->rows : shape->value_rows;
}

static int32_t add_tensor(struct accel_model_description *d, const struct accel_model_tensor *tensor,
                          struct accel_error *error)
{
    struct accel_sketch_weight weight = {.size = sizeof(weight), .name = tensor->name, .type = tensor->type};
    struct accel_format format;
    struct name_facts name;
    int32_t code;

    name_read(tensor->name, d->family, tensor->rank, &name);
    weight.component = part_names[name.part];
    weight.layer = name.layer;
    weight.role = name.role;
    code = measure(d, tensor, &weight, error);
    if (code != ACCEL_OK)
        return code;
    /* Blocks lie along the inputs: experts that have them are not transposed. */
    if (name.is_turned && d->is_folder && accel_format_describe(tensor->type, &format) == ACCEL_OK &&
        format.kind == ACCEL_FORMAT_SCALAR) {
        turn(tensor, &weight);
        d->has_transposed = true;
    }
    learn_shape(&d->shapes[name.part], &name, &weight);
    if (strcmp(name.role, "head") == 0 && name.part == d->traits.main)
        d->traits.tied = false;
    if (!add_u64(d->traits.weight_bytes, tensor->bytes, &d->traits.weight_bytes))
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: the bytes of its tensors do not fit in 64 bits", d->path);
    return describe_weight(d, &weight, error);
}

/* ---- layers ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Layers of one component, by the names of its tensors. */
struct numbering {
    uint32_t *staged; /* blocks of stages, in order, each once */
    uint32_t count;   /* of them */
    uint32_t plain;   /* layers outside of stages */
};

static bool has_layer(const struct accel_sketch_weight *weight, enum part part)
{
    return weight->layer != ACCEL_NO_LAYER && strcmp(weight->component, part_names[part]) == 0;
}

static void collect(const struct accel_model_description *d, enum part part, struct numbering *out)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < d->model_shapes.weight_count; i++) {
        const struct accel_sketch_weight *weight = &d->weights[i];

        if (!has_layer(weight, part))
            continue;
        if (weight->layer >= NAME_STAGED)
            out->staged[found++] = weight->layer;
        else if (weight->layer >= out->plain)
            out->plain = weight->layer + 1;
    }
    if (found > 0)
        qsort(out->staged, found, sizeof(*out->staged), by_number);
    for (uint32_t i = 0; i < found; i++)
        if (i == 0 || out->staged[i] != out->staged[out->count - 1])
            out->staged[out->count++] = out->staged[i];
}

/* Numbers the blocks of stages consecutively. If a component also has plain layers, its stages are not layers. */
static int32_t count_stages(struct accel_model_description *d, enum part part, struct accel_error *error)
{
    struct numbering numbering = {.staged = calloc(d->model_shapes.weight_count + 1, sizeof(*numbering.staged))};

    if (numbering.staged == NULL)
        return model_no_memory(error, d->path, d->model_shapes.weight_count * sizeof(*numbering.staged));
    collect(d, part, &numbering);
    for (uint32_t i = 0; i < d->model_shapes.weight_count; i++) {
        struct accel_sketch_weight *weight = &d->weights[i];
        const uint32_t *place;

        if (!has_layer(weight, part) || weight->layer < NAME_STAGED)
            continue;
        place = bsearch(&weight->layer, numbering.staged, numbering.count, sizeof(*place), by_number);
        weight->layer = numbering.plain > 0 || place == NULL ? ACCEL_NO_LAYER : (uint32_t)(place - numbering.staged);
    }
    free(numbering.staged);
    if (numbering.plain > 0 || numbering.count > 0)
        d->shapes[part].layers = numbering.plain > 0 ? numbering.plain : numbering.count;
    return ACCEL_OK;
}

/* ---- types ---- */

/* Records the type with the most bytes, as the format spells it, in lower case. */
static int32_t name_type(struct accel_model_description *d, const struct accel_model_file *file,
                         struct accel_error *error)
{
    struct {
        const char *name;
        uint64_t bytes;
    } seen[TYPE_NAMES] = {{0}};
    uint32_t types = 0, best = 0;
    char text[TYPE_BYTES];

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        uint32_t t = 0;

        while (t < types && strcmp(seen[t].name, tensor->type_name) != 0)
            t++;
        if (t == types && types < TYPE_NAMES)
            seen[types++].name = tensor->type_name;
        if (t < types)
            seen[t].bytes += tensor->bytes;
    }
    for (uint32_t t = 1; t < types; t++)
        best = seen[t].bytes > seen[best].bytes ? t : best;
    if (types == 0)
        return ACCEL_OK;
    snprintf(text, sizeof(text), "%s", seen[best].name);
    for (char *p = text; *p != 0; p++)
        *p = (char)tolower((unsigned char)*p);
    return describe_fact(d, "model.weights", text, d->origin, error);
}

int32_t describe_file(struct accel_model_description *d, const struct accel_model_file *file, struct accel_error *error)
{
    uint64_t count = accel_model_file_tensor_count(file);
    bool is_gguf = accel_model_file_format(file) == ACCEL_MODEL_GGUF;
    int32_t code;

    d->is_file = true;
    d->origin = d->path;
    code = is_gguf ? describe_gguf(d, file, error) : describe_config(d, file, error);
    if (code == ACCEL_OK && count > UINT32_MAX / 2)
        code = accel_error_set(error, ACCEL_E_LIMIT, "%s has %llu tensors", d->path, (unsigned long long)count);
    d->is_folder = !is_gguf;
    d->traits.tied = true;
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++)
        code = add_tensor(d, accel_model_file_tensor(file, i), error);
    for (uint32_t part = 0; part < PARTS && code == ACCEL_OK; part++)
        code = count_stages(d, part, error);
    /* Symbols of a head that is not there are none. */
    if (d->traits.main == PART_AUDIO && d->traits.tied)
        d->shapes[PART_AUDIO].vocabulary = 0;
    return code == ACCEL_OK ? name_type(d, file, error) : code;
}
