/* SPDX-License-Identifier: Apache-2.0 */
/* Selects a kernel for each node and reports the claims to the core. */
#include <stdio.h>

#include "sdk/driver/program.h"

const struct accel_value *sdk_input(const struct sdk_node *node, uint32_t index)
{
    if (index >= node->node->input_count || node->node->inputs[index] == ACCEL_NO_VALUE)
        return NULL;
    return node->graph->values[node->node->inputs[index]];
}

const struct accel_value *sdk_output(const struct sdk_node *node, uint32_t index)
{
    return index < node->node->output_count ? node->graph->values[node->node->outputs[index]] : NULL;
}

uint32_t sdk_all_f32(const struct sdk_node *node, uint32_t others)
{
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const struct accel_value *value = sdk_input(node, i);

        if (value != NULL && value->type != ACCEL_F32 && (others >> i & 1u) == 0)
            return 0;
    }
    for (uint32_t i = 0; i < node->node->output_count; i++)
        if (sdk_output(node, i)->type != ACCEL_F32)
            return 0;
    return 1;
}

/* Refuses inputs and outputs that later minors added to attention, if the kernel does not support them. */
static const char *check_attention(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    if (node->node->op != ACCEL_OP_ATTENTION)
        return NULL;
    if (sdk_input(node, 6) != NULL && (kernel->flags & SDK_KERNEL_MASK) == 0)
        return "no kernel of this driver supports attention with a block mask";
    if (sdk_input(node, 7) != NULL && (kernel->flags & SDK_KERNEL_SLOPE) == 0)
        return "no kernel of this driver supports attention with slopes (ALiBi)";
    if (sdk_input(node, 8) != NULL && (kernel->flags & SDK_KERNEL_SINK) == 0)
        return "no kernel of this driver supports attention with learned sinks";
    if (node->node->output_count > 1 && (kernel->flags & SDK_KERNEL_SCORE_SUMS) == 0)
        return "no kernel of this driver computes attention score sums";
    return NULL;
}

const struct sdk_kernel *sdk_select_kernel(const struct sdk_device *device, const struct accel_graph *graph,
                                           uint32_t node, const char **out_reason)
{
    const struct sdk_backend *backend = device->backend;
    struct sdk_node view = {graph, graph->nodes[node], device->own};

    *out_reason = "no kernel of this driver does this operator";
    for (uint32_t i = 0; i < backend->kernel_count; i++) {
        const struct sdk_kernel *kernel = &backend->kernels[i];
        const char *reason;

        if (kernel->op != view.node->op || (backend->allow != NULL && !backend->allow(device->own, kernel)))
            continue;
        if (view.node->input_count > SDK_INPUTS || view.node->output_count > SDK_OUTPUTS)
            return NULL;
        reason = check_attention(kernel, &view);
        if (reason == NULL && kernel->check != NULL)
            reason = kernel->check(kernel, &view);
        else if (reason == NULL)
            reason = sdk_all_f32(&view, 0) ? NULL : "only F32 values";
        if (reason == NULL)
            return kernel;
        *out_reason = reason;
    }
    return NULL;
}

#define KERNEL_NAME 128 /* bytes of a kernel's name with what computes it */

/* Describes what computes a node whose dims are constants, after the kernel's name. */
static void describe_node(const struct sdk_device *device, const struct accel_graph *graph, uint32_t index,
                          const struct sdk_kernel *kernel, struct accel_claim *claim, char name[KERNEL_NAME])
{
    const struct accel_node *node = graph->nodes[index];
    struct sdk_tensor tensors[SDK_INPUTS + SDK_OUTPUTS] = {0};
    struct sdk_call call = {.attributes = node->attributes, .device = device->own, .variant = kernel->variant};
    int used = snprintf(name, KERNEL_NAME, "%s: ", kernel->name);

    for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
        const uint32_t output = i - node->input_count;
        const uint32_t value = i < node->input_count ? node->inputs[i] : node->outputs[output];

        if (value == ACCEL_NO_VALUE)
            continue;
        for (uint32_t d = 0; d < graph->values[value]->rank; d++)
            if (graph->values[value]->dims[d].symbol != 0)
                return;
        sdk_tensor_measure(&tensors[i], graph->values[value], NULL, 0);
        if (i < node->input_count)
            call.inputs[i] = &tensors[i];
        else
            call.outputs[output] = &tensors[i];
        if (i < node->input_count && claim->weights == ACCEL_RESIDENT && (kernel->packed_inputs >> i & 1u) != 0)
            tensors[i].packed = &tensors[i];
    }
    claim->variant = kernel->describe(&call, name + used, KERNEL_NAME - (uint32_t)used);
    claim->kernel = name;
}

static void claim_node(const struct sdk_device *device, const struct accel_graph *graph, uint32_t index,
                       struct accel_claim *claim, char name[KERNEL_NAME])
{
    const struct accel_node *node = graph->nodes[index];
    const struct sdk_kernel *kernel;

    claim->node = index;
    claim->kernel = "";
    claim->reason = "";
    if (node->op == ACCEL_OP_RESHAPE) {
        claim->answer = ACCEL_CLAIM_NATIVE;
        claim->kernel = "reshape";
        return;
    }
    kernel = sdk_select_kernel(device, graph, index, &claim->reason);
    if (kernel == NULL) {
        claim->answer = ACCEL_CLAIM_NO;
        return;
    }
    claim->reason = "";
    claim->answer = ACCEL_CLAIM_NATIVE;
    claim->kernel = kernel->name;
    claim->tolerance = kernel->tolerance;
    claim->precision = kernel->precision;
    if (node->op == ACCEL_OP_ATTENTION)
        claim->variant = (kernel->flags & SDK_KERNEL_EAGER) != 0 ? ACCEL_VARIANT_EAGER : ACCEL_VARIANT_TILED;
    if (sdk_reads_weight(graph, node)) {
        claim->weights = sdk_node_packs(device, graph, index, kernel) ? ACCEL_RESIDENT : ACCEL_MAPPED;
        claim->alignment = device->backend->weight_alignment;
    }
    if (kernel->describe != NULL)
        describe_node(device, graph, index, kernel, claim, name);
}

int32_t sdk_claim(struct accel_driver_device *base, const struct accel_graph *const *graphs, uint32_t graph_count,
                  const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                  struct accel_error *error)
{
    const struct sdk_device *device = (const struct sdk_device *)base;
    int32_t code = sdk_check_abi(graphs, graph_count, options, error);

    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++) {
        for (uint32_t n = 0; n < graphs[g]->node_count; n++) {
            struct accel_claim claim = {.graph = g};
            char name[KERNEL_NAME];

            claim_node(device, graphs[g], n, &claim, name);
            code = sink->claim(sink, &claim, error);
            if (code != ACCEL_OK)
                return code;
        }
    }
    return code;
}
