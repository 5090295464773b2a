/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the driver's claim for each node, and from it the placement of each weight. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/runtime/device.h"
#include "core/runtime/module.h"

/* Collects the results of one call of `claim`. */
struct collector {
    struct accel_claim_sink sink; /* first: the driver passes its address back */
    struct accel_module *module;
    uint8_t **answered; /* [graph][node]: ACCEL_CLAIM_..., 0: none yet */
    struct accel_error *error;
};

static int compare_weights(const void *a, const void *b)
{
    return strcmp(((const struct accel_module_weight *)a)->value->key,
                  ((const struct accel_module_weight *)b)->value->key);
}

static struct accel_module_weight *find_weight(const struct accel_module *module, const char *key)
{
    struct accel_value value = {.key = key};
    struct accel_module_weight wanted = {.value = &value};
    if (module->weight_count == 0)
        return NULL;
    return bsearch(&wanted, module->weights, module->weight_count, sizeof(wanted), compare_weights);
}

/* Merges weights of one key; rejects a key for tensors of different shape, since swapped weights would go unnoticed. */
static int32_t merge_weights(struct accel_module *module, uint32_t found, struct accel_error *error)
{
    uint32_t merged = 0;
    qsort(module->weights, found, sizeof(*module->weights), compare_weights);
    for (uint32_t i = 0; i < found; i++) {
        const struct accel_value *value = module->weights[i].value;
        const struct accel_value *before = merged == 0 ? NULL : module->weights[merged - 1].value;
        if (before == NULL || strcmp(before->key, value->key) != 0) {
            module->weights[merged++] = module->weights[i];
            continue;
        }
        if (before->type != value->type || before->rank != value->rank ||
            memcmp(before->dims, value->dims, sizeof(value->dims)) != 0)
            return accel_error_set(error, ACCEL_E_INVALID, "weight %s has another type or shape in another graph",
                                   value->key);
    }
    module->weight_count = merged;
    for (uint32_t i = 0; i < merged; i++) {
        const struct accel_value *value = module->weights[i].value;
        struct accel_weight *weight = &module->weights[i].weight;
        *weight =
            (struct accel_weight){.size = sizeof(*weight), .type = value->type, .rank = value->rank, .key = value->key};
        for (uint32_t d = 0; d < value->rank; d++)
            weight->dims[d] = value->dims[d].add;
    }
    return ACCEL_OK;
}

static int32_t list_weights(struct accel_module *module, struct accel_error *error)
{
    uint64_t count = 0;
    for (uint32_t g = 0; g < module->graph_count; g++)
        for (uint32_t v = 0; v < module->graphs[g]->value_count; v++)
            count += module->graphs[g]->values[v]->role == ACCEL_ROLE_WEIGHT;
    module->weights = accel_object_array(&module->object, count + 1, sizeof(*module->weights), error);
    if (module->weights == NULL)
        return ACCEL_E_MEMORY;
    count = 0;
    for (uint32_t g = 0; g < module->graph_count; g++)
        for (uint32_t v = 0; v < module->graphs[g]->value_count; v++)
            if (module->graphs[g]->values[v]->role == ACCEL_ROLE_WEIGHT)
                module->weights[count++].value = module->graphs[g]->values[v];
    return merge_weights(module, (uint32_t)count, error);
}

static int32_t index_weights(struct accel_module *module, struct accel_error *error)
{
    struct accel_object *object = &module->object;
    module->value_weights = accel_object_array(object, module->graph_count, sizeof(*module->value_weights), error);
    for (uint32_t g = 0; module->value_weights && g < module->graph_count; g++) {
        const struct accel_graph *graph = module->graphs[g];
        module->value_weights[g] = accel_object_array(object, graph->value_count, sizeof(uint32_t), error);
        if (module->value_weights[g] == NULL)
            return ACCEL_E_MEMORY;
        for (uint32_t v = 0; v < graph->value_count; v++)
            module->value_weights[g][v] =
                graph->values[v]->role != ACCEL_ROLE_WEIGHT
                    ? ACCEL_NO_VALUE
                    : (uint32_t)(find_weight(module, graph->values[v]->key) - module->weights);
    }
    return module->value_weights ? ACCEL_OK : ACCEL_E_MEMORY;
}

/* Records the placement of a node's weights. */
static int32_t record_placement(struct accel_module *module, const struct accel_claim *claim, struct accel_error *error)
{
    const struct accel_graph *graph = module->graphs[claim->graph];
    const struct accel_node *node = graph->nodes[claim->node];
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct accel_module_weight *weight;
        if (node->inputs[i] == ACCEL_NO_VALUE || module->value_weights[claim->graph][node->inputs[i]] == ACCEL_NO_VALUE)
            continue;
        if (claim->weights == 0)
            return accel_error_driver(error, ACCEL_E_INVALID, module->device->driver,
                                      "node %s reads weights, but its claim has no placement for them", node->name);
        weight = &module->weights[module->value_weights[claim->graph][node->inputs[i]]];
        weight->placements |= 1u << claim->weights;
        if (claim->weights != ACCEL_BAKED && claim->alignment > weight->alignment)
            weight->alignment = claim->alignment;
    }
    return ACCEL_OK;
}

static int32_t collect_claim(const struct accel_claim_sink *sink, const struct accel_claim *given,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *collector = (struct collector *)(uintptr_t)sink;
    struct accel_module *module = collector->module;
    const struct accel_node *node;
    struct accel_claim claim;
    int32_t code =
        accel_import_claim(given, module->graphs, module->graph_count, module->device->driver, &claim, error);
    if (code != ACCEL_OK)
        return code;
    node = module->graphs[claim.graph]->nodes[claim.node];
    if (claim.answer == ACCEL_CLAIM_NO)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_REFUSED,
                              "driver %s does not support node %s (%s) of graph %s: %s", module->device->driver,
                              node->name, accel_op_name(node->op), module->graphs[claim.graph]->name, claim.reason);
    collector->answered[claim.graph][claim.node] = (uint8_t)claim.answer;
    return record_placement(module, &claim, error);
}

static int32_t check_answered(const struct collector *collector, struct accel_error *error)
{
    const struct accel_module *module = collector->module;
    for (uint32_t g = 0; g < module->graph_count; g++)
        for (uint32_t n = 0; n < module->graphs[g]->node_count; n++)
            if (collector->answered[g][n] == 0)
                return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_REFUSED,
                                      "driver %s has not claimed node %s (%s) of graph %s", module->device->driver,
                                      module->graphs[g]->nodes[n]->name, accel_op_name(module->graphs[g]->nodes[n]->op),
                                      module->graphs[g]->name);
    return ACCEL_OK;
}

static int32_t claim_nodes(struct accel_module *module, const struct accel_compile_options *options, uint8_t **answered,
                           struct accel_error *error)
{
    struct accel_device *device = module->device;
    struct collector collector = {.sink = {.size = sizeof(collector.sink), .claim = collect_claim},
                                  .module = module,
                                  .answered = answered,
                                  .error = error};
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "claim",
                  device->handle->table->claim(device->handle, module->graphs, module->graph_count, options,
                                               &collector.sink, error));
    code = accel_device_import_code(device, code, "claim", error);
    return code == ACCEL_OK ? check_answered(&collector, error) : code;
}

int32_t accel_module_claim(struct accel_module *module, const struct accel_compile_options *options,
                           struct accel_error *error)
{
    struct accel_arena arena = {0};
    uint8_t **answered;
    int32_t code = list_weights(module, error);
    if (code == ACCEL_OK)
        code = index_weights(module, error);
    if (code != ACCEL_OK)
        return code;
    answered = accel_arena_array(&arena, module->graph_count, sizeof(*answered));
    for (uint32_t g = 0; answered != NULL && g < module->graph_count; g++) {
        answered[g] = accel_arena_array(&arena, module->graphs[g]->node_count + 1u, 1);
        if (answered[g] == NULL)
            answered = NULL;
    }
    code = answered == NULL ? accel_error_no_memory(error, "for the claims of a module")
                            : claim_nodes(module, options, answered, error);
    accel_arena_free(&arena);
    return code;
}
