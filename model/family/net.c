/* SPDX-License-Identifier: Apache-2.0 */
#include "model/family/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/derived.h"
#include "model/file/fault.h"

/* Longest name of a node. */
enum { NODE_BYTES = 96 };

/* Tensors that checkpoints hold and results do not depend on, by the end of the name. */
static const char *const without_effect[] = {
    "rotary_emb.inv_freq", /* follows from the configuration */
    ".attn.bias",          /* the causal mask of GPT-2 */
    ".attn.masked_bias",   /* and the number that it writes */
    ".attention.bias",     /* the same of GPT-NeoX */
    ".attention.masked_bias",
    ".input_scale", /* activations stay floats here */
    ".input_global_scale",
    ".k_scale", /* of a cache in 8 bits, which kv.type decides here */
    ".v_scale",
    ".kv_scale",
};

int32_t net_begin_check(struct net *net, const struct accel_model_file *file, struct accel_error *error)
{
    const uint64_t count = accel_model_file_tensor_count(file);

    *net = (struct net){.mode = NET_CHECK, .file = file, .error = error, .marked = ACCEL_NO_VALUE};
    net->used = calloc(count + 1, 1);
    net->vectors = calloc(count + 1, sizeof(*net->vectors));
    if (net->used == NULL || net->vectors == NULL)
        net->code = accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for marks of %llu tensors",
                                    accel_model_file_path(file), (unsigned long long)count);
    return net->code;
}

void net_end(struct net *net)
{
    free(net->used);
    free(net->vectors);
    net->used = NULL;
    net->vectors = NULL;
}

/* Marks a tensor as used; NULL is allowed. */
static void mark_used(struct net *net, const struct accel_model_tensor *tensor)
{
    if (tensor != NULL)
        net->used[model_tensor_index(net->file, tensor)] = 1;
}

static bool has_effect(const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(without_effect) / sizeof(without_effect[0]); i++) {
        const size_t end = strlen(without_effect[i]);

        if (length >= end && strcmp(name + length - end, without_effect[i]) == 0)
            return false;
    }
    return true;
}

void net_refuse_unused(struct net *net)
{
    for (uint64_t i = 0; net->code == ACCEL_OK && i < accel_model_file_tensor_count(net->file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(net->file, i);
        char shown[MODEL_QUOTE_BYTES];

        if (net->used[i] || !has_effect(tensor->name))
            continue;
        net->code = model_fault(net->error, ACCEL_E_UNSUPPORTED, accel_model_file_part_path(net->file, tensor->part),
                                tensor->offset, "tensor %s has no place in this architecture",
                                model_quote(shown, tensor->name, strlen(tensor->name)));
        accel_error_remedy(net->error, "a model whose results need it cannot be run here");
    }
}

/* ---- weights ---- */

/* Refuses a matrix with scales in tensors of their own that no packing describes and no product applies. */
static int32_t refuse_scaled(const struct net *net, const char *name)
{
    static const char *const ends[] = {"weight_scale", "weight_scale_inv", "weight_scale_2", "weight.scale",
                                       "scale",        "scale_inv"};
    const size_t stem = strlen(name) - strlen("weight");

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const struct accel_model_tensor *scale;
        char full[200];

        snprintf(full, sizeof(full), "%.*s%s", (int)stem, name, ends[i]);
        scale = accel_model_file_find(net->file, full);
        if (scale == NULL || net->used[model_tensor_index(net->file, scale)])
            continue;
        accel_error_set(net->error, ACCEL_E_UNSUPPORTED, "%s: tensor '%s': scales of '%s' are not supported",
                        accel_model_file_path(net->file), full, name);
        accel_error_remedy(net->error, "convert the model to BF16 first, then accelctl quantize");
        return ACCEL_E_UNSUPPORTED;
    }
    return ACCEL_OK;
}

bool net_has_scales(const struct net *net, const char *name, uint64_t count)
{
    const struct accel_model_tensor *tensor;

    if (net->code != ACCEL_OK || net->mode == NET_LIST || accel_model_file_format(net->file) != ACCEL_MODEL_GGUF)
        return false;
    tensor = accel_model_file_find(net->file, name);
    return tensor != NULL && tensor->type == ACCEL_F32 && tensor->rank == 1 && tensor->dims[0] == count;
}

bool net_find_factors(const struct net *net, const char *matrix, uint64_t count, float *out_factors)
{
    return net->code == ACCEL_OK && net->mode != NET_LIST &&
           model_product_factors(accel_model_file_find(net->file, matrix), count, out_factors);
}

double net_product_scale(struct net *net, const char *matrix, const char *name)
{
    const struct accel_model_tensor *tensor;
    float scale = 1;

    if (net_find_factors(net, matrix, 1, &scale) || !net_has_scales(net, name, 1))
        return scale;
    tensor = accel_model_file_find(net->file, name);
    if (net->mode == NET_CHECK)
        mark_used(net, tensor);
    net->code = accel_model_file_read(net->file, tensor, 0, sizeof(scale), &scale, net->error);
    if (net->code == ACCEL_OK && !isfinite(scale))
        net->code = model_fault(net->error, ACCEL_E_CORRUPT, accel_model_file_part_path(net->file, tensor->part),
                                tensor->offset, "tensor '%s' holds %g, which scales no product", name, (double)scale);
    return scale;
}

uint32_t net_matrix(struct net *net, const char *name, uint64_t parts, uint64_t rows, uint64_t width)
{
    const struct weight_type *other = weights_find_type(net->types, name);
    const struct accel_model_tensor *tensor;
    uint32_t value = ACCEL_NO_VALUE;

    if (net->code != ACCEL_OK)
        return value;
    if (net->mode == NET_CHECK) {
        net->code = weights_check_matrix(net->file, name, parts, rows, width, &tensor, net->error);
        if (net->code == ACCEL_OK)
            net->code = refuse_scaled(net, name);
        if (net->code == ACCEL_OK)
            mark_used(net, tensor);
        return value;
    }
    tensor = accel_model_file_find(net->file, name);
    net->code = weights_add(net->builder, tensor, other == NULL ? tensor->type : other->type, &value, net->error);
    return value;
}

uint32_t net_table(struct net *net, const char *name, uint64_t rows, uint64_t width, float add)
{
    const struct accel_model_tensor *tensor;
    uint32_t value = ACCEL_NO_VALUE;

    if (net->code != ACCEL_OK)
        return value;
    if (net->mode == NET_CHECK) {
        net->code = weights_check_vector(net->file, name, rows, width, &tensor, net->error);
        if (net->code == ACCEL_OK && (tensor->type != ACCEL_F32 || add != 0))
            net->vectors[net->vector_count++] =
                (struct weight_type){.name = tensor->name, .type = ACCEL_F32, .add = add, .is_vector = true};
        if (net->code == ACCEL_OK)
            mark_used(net, tensor);
        return value;
    }
    net->code = weights_add(net->builder, accel_model_file_find(net->file, name), ACCEL_F32, &value, net->error);
    return value;
}

uint32_t net_vector(struct net *net, const char *name, uint64_t width, float add)
{
    return net_table(net, name, 0, width, add);
}

uint32_t net_constant(struct net *net, const char *name, uint64_t count, const float *values)
{
    return net_constant_of(net, name, ACCEL_F32, 1, &count, values);
}

uint32_t net_constant_of(struct net *net, const char *name, uint32_t type, uint32_t rank, const uint64_t *dims,
                         const void *values)
{
    uint32_t value = ACCEL_NO_VALUE;

    if (net->mode == NET_GRAPH && net->code == ACCEL_OK)
        net->code = accel_builder_constant(net->builder, name, type, rank, dims, values, &value, net->error);
    return value;
}

/* ---- values ---- */

struct accel_dim net_fixed(uint64_t extent)
{
    return (struct accel_dim){.add = extent};
}

struct accel_dim net_symbolic(uint32_t symbol)
{
    return (struct accel_dim){.symbol = symbol, .multiply = 1, .divide = 1};
}

static bool is_building(const struct net *net)
{
    return net->mode == NET_GRAPH && net->code == ACCEL_OK;
}

static const char *full_name(char out[NODE_BYTES], uint32_t layer, const char *name)
{
    if (layer == NET_NO_LAYER)
        return name;
    snprintf(out, NODE_BYTES, "layers.%u.%s", layer, name);
    return out;
}

uint32_t net_symbol(struct net *net, const char *name, uint64_t most)
{
    uint32_t symbol = 0;

    if (is_building(net))
        net->code = accel_builder_symbol(net->builder, name, 1, most, &symbol, net->error);
    return symbol;
}

uint32_t net_input(struct net *net, const char *name, uint32_t type, uint32_t rank, struct accel_dim outer,
                   struct accel_dim inner)
{
    struct accel_dim dims[ACCEL_RANK] = {outer, inner};
    uint32_t value = ACCEL_NO_VALUE;

    if (is_building(net))
        net->code = accel_builder_value(net->builder, ACCEL_ROLE_INPUT, name, type, rank, dims, &value, net->error);
    return value;
}

uint32_t net_state(struct net *net, uint32_t layer, const char *name, uint32_t type, uint64_t slots, uint64_t row)
{
    struct accel_dim dims[ACCEL_RANK] = {net_fixed(slots), net_fixed(row)};
    uint32_t value = ACCEL_NO_VALUE;
    char full[NODE_BYTES];

    if (is_building(net))
        net->code = accel_builder_value(net->builder, ACCEL_ROLE_STATE, full_name(full, layer, name), type, 2, dims,
                                        &value, net->error);
    return value;
}

void net_output(struct net *net, uint32_t layer, const char *name, uint32_t value)
{
    char full[NODE_BYTES];

    if (!is_building(net) || (name == NULL && value == net->marked))
        return;
    net->code =
        accel_builder_output(net->builder, value, name == NULL ? NULL : full_name(full, layer, name), net->error);
    if (name == NULL)
        net->marked = value;
}

/* ---- operators ---- */

uint32_t net_node(struct net *net, uint32_t op, uint32_t layer, const char *name, const uint32_t *inputs,
                  uint32_t count, const void *attributes)
{
    uint32_t value = ACCEL_NO_VALUE;

    net_node_outputs(net, op, layer, name, inputs, count, attributes, &value, 1);
    return value;
}

void net_node_outputs(struct net *net, uint32_t op, uint32_t layer, const char *name, const uint32_t *inputs,
                      uint32_t count, const void *attributes, uint32_t *out_values, uint32_t outputs)
{
    char full[NODE_BYTES];

    if (!is_building(net))
        return;
    name = full_name(full, layer, name);
    net->code = outputs == 1
                    ? accel_builder_node(net->builder, op, name, inputs, count, attributes, out_values, net->error)
                    : accel_builder_node_outputs(net->builder, op, name, inputs, count, attributes, out_values, outputs,
                                                 net->error);
}

uint32_t net_reshape(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t rank,
                     const struct accel_dim *dims)
{
    uint32_t value = ACCEL_NO_VALUE;
    char full[NODE_BYTES];

    if (is_building(net))
        net->code =
            accel_builder_reshape(net->builder, full_name(full, layer, name), x, rank, dims, &value, net->error);
    return value;
}

uint32_t net_matmul(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t w, uint32_t bias,
                    uint32_t residual, uint32_t function)
{
    struct accel_matmul attributes = {.size = sizeof(attributes), .function = function, .rounding = net->rounding};
    uint32_t inputs[] = {x, w, bias, residual};

    if (net->mark_inputs)
        net_output(net, layer, NULL, x);
    return net_node(net, ACCEL_OP_MATMUL, layer, name, inputs, 4, &attributes);
}

uint32_t net_add(struct net *net, uint32_t layer, const char *name, uint32_t a, uint32_t b)
{
    uint32_t inputs[] = {a, b};

    return net_node(net, ACCEL_OP_ADD, layer, name, inputs, 2, NULL);
}

uint32_t net_multiply(struct net *net, uint32_t layer, const char *name, uint32_t a, uint32_t b)
{
    uint32_t inputs[] = {a, b};

    return net_node(net, ACCEL_OP_MUL, layer, name, inputs, 2, NULL);
}

uint32_t net_scale(struct net *net, uint32_t layer, const char *name, uint32_t x, double scale, double add)
{
    struct accel_scale attributes = {.size = sizeof(attributes), .scale = (float)scale, .add = (float)add};

    return scale == 1 && add == 0 ? x : net_node(net, ACCEL_OP_SCALE, layer, name, &x, 1, &attributes);
}

uint32_t net_activation(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t function)
{
    struct accel_activation attributes = {sizeof(attributes), function};

    return net_node(net, ACCEL_OP_ACTIVATION, layer, name, &x, 1, &attributes);
}

uint32_t net_softcap(struct net *net, uint32_t layer, const char *name, uint32_t x, double limit)
{
    char inner[NODE_BYTES];

    if (limit == 0)
        return x;
    snprintf(inner, sizeof(inner), "%s_shrunk", name);
    x = net_scale(net, layer, inner, x, 1 / limit, 0);
    snprintf(inner, sizeof(inner), "%s_tanh", name);
    x = net_activation(net, layer, inner, x, ACCEL_FN_TANH);
    return net_scale(net, layer, name, x, limit, 0);
}

uint32_t net_clamp(struct net *net, uint32_t layer, const char *name, uint32_t x, double limit)
{
    struct accel_clamp attributes = {.size = sizeof(attributes), .low = (float)-limit, .high = (float)limit};

    return limit == 0 ? x : net_node(net, ACCEL_OP_CLAMP, layer, name, &x, 1, &attributes);
}

uint32_t net_slice(struct net *net, uint32_t layer, const char *name, uint32_t x, uint32_t axis, uint64_t begin,
                   uint64_t extent)
{
    struct accel_slice attributes = {
        .size = sizeof(attributes), .axis = axis, .begin = begin, .step = 1, .extent = extent};

    return net_node(net, ACCEL_OP_SLICE, layer, name, &x, 1, &attributes);
}
