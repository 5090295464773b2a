/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the shapes of a described model: collects its weights, then derives components and parameter counts. */
#include <string.h>

#include "model/describe/internal.h"
#include "model/file/checked.h"

int32_t describe_weight(struct accel_model_description *d, const struct accel_sketch_weight *weight,
                        struct accel_error *error)
{
    struct accel_sketch_weight *slot;

    if (d->model_shapes.weight_count == d->weight_capacity) {
        uint32_t capacity = d->weight_capacity == 0 ? 256 : 2 * d->weight_capacity;
        struct accel_sketch_weight *weights = model_pool_alloc(&d->pool, capacity, sizeof(*weights));

        if (weights == NULL)
            return model_no_memory(error, d->path, (uint64_t)capacity * sizeof(*weights));
        if (d->model_shapes.weight_count > 0)
            memcpy(weights, d->weights, d->model_shapes.weight_count * sizeof(*weights));
        d->weights = weights;
        d->weight_capacity = capacity;
    }
    slot = &d->weights[d->model_shapes.weight_count];
    *slot = *weight;
    slot->name = model_pool_text(&d->pool, weight->name, strlen(weight->name));
    if (slot->name == NULL)
        return model_no_memory(error, d->path, strlen(weight->name));
    d->model_shapes.weight_count++;
    return ACCEL_OK;
}

static enum part part_of(const struct accel_sketch_weight *weight)
{
    uint32_t part = 0;

    while (part + 1 < PARTS && strcmp(part_names[part], weight->component) != 0)
        part++;
    return part;
}

/* Counts the parameters of each component and of the model. */
static int32_t count_parameters(struct accel_model_description *d, struct accel_error *error)
{
    uint64_t total = 0, elements;

    for (uint32_t part = 0; part < PARTS; part++)
        d->shapes[part].parameters = 0;
    for (uint32_t i = 0; i < d->model_shapes.weight_count; i++) {
        const struct accel_sketch_weight *weight = &d->weights[i];
        struct shape *shape = &d->shapes[part_of(weight)];

        shape->used = true;
        if (!multiply_u64(weight->rows, weight->columns, &elements) || !add_u64(total, elements, &total))
            return accel_error_set(error, ACCEL_E_LIMIT, "%s: the number of weights does not fit in 64 bits", d->path);
        shape->parameters += elements;
    }
    if (!d->is_file && d->traits.parameters != 0 && d->traits.parameters != total)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: model.parameters is %llu, but the shapes have %llu",
                               d->origin, (unsigned long long)d->traits.parameters, (unsigned long long)total);
    d->traits.parameters = total;
    return ACCEL_OK;
}

static uint32_t saturate_u32(uint64_t number)
{
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* Returns whether a component has a KV cache: decoders that generate tokens have one, a detection decoder, which
 * processes all queries at once, does not. */
static bool is_cached(const struct accel_model_description *d, enum part part)
{
    const struct shape *s = &d->shapes[part];

    return (part == PART_LANGUAGE || part == PART_DECODER) && s->vocabulary != 0 && s->heads != 0;
}

/* Counts the rows that a step of one token reads of each weight: of experts the average of those that are chosen. */
static int32_t count_step_rows(struct accel_model_description *d, struct accel_error *error)
{
    const uint64_t count = d->model_shapes.weight_count;
    uint64_t *rows = model_pool_alloc(&d->pool, count, sizeof(*rows));

    if (rows == NULL)
        return model_no_memory(error, d->path, count * sizeof(*rows));
    for (uint64_t i = 0; i < count; i++) {
        const struct shape *s = &d->shapes[part_of(&d->weights[i])];
        const bool is_expert = strstr(d->weights[i].name, ".experts.") != NULL || strstr(d->weights[i].name, "_exps.");

        rows[i] = d->weights[i].rows;
        if (is_expert && s->experts_used != 0 && s->experts_used < s->experts)
            rows[i] = (uint64_t)((double)rows[i] * (double)s->experts_used / (double)s->experts);
    }
    d->model_shapes.step_rows = rows;
    return ACCEL_OK;
}

int32_t describe_finish(struct accel_model_description *d, struct accel_error *error)
{
    int32_t code = count_parameters(d, error);

    if (code == ACCEL_OK)
        code = count_step_rows(d, error);
    d->model_shapes.component_count = 0;
    for (uint32_t part = 0; part < PARTS && code == ACCEL_OK; part++) {
        const struct shape *s = &d->shapes[part];

        if (s->parameters == 0)
            continue;
        d->components[d->model_shapes.component_count++] =
            (struct accel_sketch_component){.size = sizeof(struct accel_sketch_component),
                                            .layers = saturate_u32(s->layers),
                                            .hidden = saturate_u32(s->hidden),
                                            .ffn = saturate_u32(s->ffn),
                                            .heads = saturate_u32(s->heads),
                                            .kv_heads = saturate_u32(s->kv_heads),
                                            .head_size = saturate_u32(s->head_size),
                                            .value_size = saturate_u32(s->value_size),
                                            .cached = is_cached(d, part),
                                            .tokens = saturate_u32(s->tokens),
                                            .vocabulary = s->vocabulary,
                                            .name = part_names[part]};
    }
    d->model_shapes.size = sizeof(d->model_shapes);
    d->model_shapes.weights = d->weights;
    d->model_shapes.components = d->components;
    d->model_shapes.origin = d->origin;
    return code;
}
