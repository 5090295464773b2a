/* SPDX-License-Identifier: Apache-2.0 */
/* Making a set: the skeleton of tensors, calls and blocks, and its binding to memory. */
#include <stdbool.h>
#include <string.h>

#include "sdk/driver/program.h"

void sdk_tensor_measure(struct sdk_tensor *tensor, const struct accel_value *value, const uint64_t *symbols,
                        uint32_t count)
{
    tensor->rows = sdk_extents(value, symbols, count, tensor->dims);
    tensor->width = tensor->dims[value->rank - 1];
    tensor->type = value->type;
    tensor->rank = value->rank;
}

static bool is_symbolic(const struct accel_value *value)
{
    for (uint32_t d = 0; d < value->rank; d++)
        if (value->dims[d].symbol != 0)
            return true;
    return false;
}

/* The set's one block of memory, cut in this order. Blocks: at most one per value, and scratch and staged activations
 * per node. */
struct allocation {
    uint64_t prepared, tensors, calls, kernels, symbols, blocks, actions, claimed, uses, symbolic, bytes;
};

static uint64_t whole_lines(uint64_t bytes)
{
    return (bytes + 63u) & ~(uint64_t)63u;
}

static struct allocation allocation_of(const struct sdk_program *program)
{
    const struct accel_graph *graph = program->graph;
    struct allocation allocation;
    uint64_t at = whole_lines(sizeof(struct sdk_set));

    allocation.prepared = at;
    for (uint32_t n = 0; n < graph->node_count; n++)
        at += program->kernels[n] == NULL ? 0 : whole_lines(program->kernels[n]->prepared_bytes);

    allocation.tensors = at;
    at += graph->value_count * sizeof(struct sdk_tensor);
    allocation.calls = at;
    at += graph->node_count * sizeof(struct sdk_call);
    allocation.kernels = at;
    at += graph->node_count * sizeof(void *);
    allocation.symbols = at;
    at += graph->symbol_count * sizeof(uint64_t);
    allocation.blocks = at;
    at += ((uint64_t)graph->value_count + 2u * (uint64_t)graph->node_count) * sizeof(struct sdk_block);
    allocation.actions = at;
    at += 2u * (uint64_t)graph->node_count * sizeof(struct sdk_action);
    allocation.claimed = at;
    at += 2u * (uint64_t)graph->node_count * sizeof(uint64_t);
    allocation.uses = at;
    at += graph->node_count * sizeof(struct sdk_use);
    allocation.symbolic = at;
    allocation.bytes = at + graph->value_count * sizeof(uint32_t) + 1u;
    return allocation;
}

uint64_t sdk_set_bytes(const struct sdk_program *program)
{
    return allocation_of(program).bytes;
}

static void make_tensors(struct sdk_set *set, const struct accel_graph *graph, const uint64_t *symbols)
{
    if (graph->symbol_count != 0)
        memcpy(set->symbols, symbols, graph->symbol_count * sizeof(*symbols));
    for (uint32_t v = 0; v < graph->value_count; v++) {
        sdk_tensor_measure(&set->tensors[v], graph->values[v], symbols, graph->symbol_count);
        if (is_symbolic(graph->values[v]))
            set->symbolic[set->symbolic_count++] = v;
        if (graph->values[v]->role == ACCEL_ROLE_CONSTANT)
            set->tensors[v].planes[0] = (void *)(uintptr_t)graph->values[v]->data;
    }
}

static void make_call(struct sdk_set *set, const struct accel_graph *graph, uint32_t n)
{
    const struct accel_node *node = graph->nodes[n];
    struct sdk_call *call = &set->calls[set->call_count];

    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != ACCEL_NO_VALUE)
            call->inputs[i] = &set->tensors[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count; i++)
        call->outputs[i] = &set->tensors[node->outputs[i]];
    call->attributes = node->attributes;
    call->device = set->module->device->own;
    call->variant = set->program->kernels[n]->variant;
    set->kernels[set->call_count++] = set->program->kernels[n];
}

/* Block v belongs to value v: empty unless it is a root and an intermediate. */
static void add_values(struct sdk_set *set, const struct accel_graph *graph)
{
    const uint32_t *roots = set->program->roots;

    for (uint32_t v = 0; v < graph->value_count; v++) {
        const struct sdk_tensor *tensor = &set->tensors[v];

        if (roots[v] != v || graph->values[v]->role != ACCEL_ROLE_INTERMEDIATE)
            continue;
        set->blocks[v].bytes = tensor->rows * sdk_row_bytes(tensor->type, tensor->width);
        set->blocks[v].address = &set->tensors[v].planes[0];
    }
    sdk_value_lifetimes(graph, roots, set->blocks);
    set->block_count = graph->value_count;
}

/* Returns the earlier call that stages input 0 of call `count` in this format, or NULL. A state is staged by each call,
 * since nodes write to states. */
static struct sdk_use *find_producer(struct sdk_set *set, const struct accel_graph *graph, uint32_t count,
                                     uint32_t format)
{
    const struct accel_node *node = graph->nodes[set->uses[count].node];

    if (graph->values[set->program->roots[node->inputs[0]]]->role == ACCEL_ROLE_STATE)
        return NULL;
    for (uint32_t c = count; c-- > 0;)
        if (set->uses[c].format == format && set->calls[c].inputs[0] == set->calls[count].inputs[0])
            return &set->uses[set->uses[c].producer];
    return NULL;
}

/* Adds the blocks of one node: its scratch and its staged activations, unless it shares those of an earlier call. */
static void add_call(struct sdk_set *set, const struct accel_graph *graph, uint32_t c)
{
    struct sdk_call *call = &set->calls[c];
    struct sdk_use *use = &set->uses[c];
    const struct sdk_kernel *kernel = set->kernels[c];
    struct sdk_use *producer;
    uint64_t bytes;

    if (kernel->scratch != NULL)
        set->blocks[set->block_count++] = (struct sdk_block){.bytes = kernel->scratch(call, set->threads),
                                                             .first = use->node,
                                                             .last = use->node,
                                                             .address = &call->scratch};
    use->producer = c;
    bytes = kernel->staged_bytes == NULL ? 0 : kernel->staged_bytes(call, &use->format);
    if (bytes == 0 || use->format == 0) {
        use->format = 0;
        return;
    }
    producer = find_producer(set, graph, c, use->format);
    if (producer != NULL) {
        struct sdk_block *block = &set->blocks[producer->block];

        use->producer = producer->producer;
        call->is_staged = 1;
        block->last = use->node;
        block->bytes = bytes > block->bytes ? bytes : block->bytes;
        return;
    }
    use->block = set->block_count;
    set->blocks[set->block_count++] =
        (struct sdk_block){.bytes = bytes, .first = use->node, .last = use->node, .address = &call->staged};
}

/* Adds the actions of one call. Staging is an action of its own if the kernel can stage part by part. */
static void add_actions(struct sdk_set *set, uint32_t c)
{
    const struct sdk_use *use = &set->uses[c];

    if (use->format != 0 && set->kernels[c]->stage_part != NULL) {
        if (use->producer == c)
            set->actions[set->action_count++] = (struct sdk_action){.call = c, .is_staging = true};
        set->calls[c].is_staged = 1;
    }
    set->actions[set->action_count++] = (struct sdk_action){.call = c};
}

static void make_calls(struct sdk_set *set, const struct accel_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (set->program->kernels[n] == NULL)
            continue;
        set->uses[set->call_count].node = n;
        make_call(set, graph, n);
    }
    add_values(set, graph);
    for (uint32_t c = 0; c < set->call_count; c++) {
        add_call(set, graph, c);
        add_actions(set, c);
    }
}

int32_t sdk_set_prepare(struct sdk_module *module, uint32_t program, const uint64_t *symbols, uint32_t threads,
                        struct sdk_set **out_set, struct accel_error *error)
{
    const struct accel_host *host = module->device->host;
    const struct accel_graph *graph = module->programs[program].graph;
    struct allocation allocation = allocation_of(&module->programs[program]);
    struct sdk_set *set;
    void *memory = NULL;
    int32_t code;

    *out_set = NULL;
    code = host->allocate(host, ACCEL_MEMORY_PROGRAM, allocation.bytes, 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    set = memory;
    set->base.table = &sdk_set_table;
    set->module = module;
    set->program = &module->programs[program];
    set->tensors = (struct sdk_tensor *)((char *)memory + allocation.tensors);
    set->calls = (struct sdk_call *)((char *)memory + allocation.calls);
    set->kernels = (const struct sdk_kernel **)((char *)memory + allocation.kernels);
    set->symbols = (uint64_t *)((char *)memory + allocation.symbols);
    set->blocks = (struct sdk_block *)((char *)memory + allocation.blocks);
    set->actions = (struct sdk_action *)((char *)memory + allocation.actions);
    set->claimed = (_Atomic uint64_t *)((char *)memory + allocation.claimed);
    set->uses = (struct sdk_use *)((char *)memory + allocation.uses);
    set->symbolic = (uint32_t *)((char *)memory + allocation.symbolic);
    set->prepared = (char *)memory + allocation.prepared;
    set->threads = threads == 0 ? 1 : threads;
    make_tensors(set, graph, symbols);
    make_calls(set, graph);
    sdk_extend_lifetimes(set);
    set->scratch_bytes = sdk_layout_plan(set->blocks, set->block_count);
    *out_set = set;
    return ACCEL_OK;
}

void sdk_set_prepare_calls(struct sdk_set *set)
{
    char *at = set->prepared;

    for (uint32_t c = 0; c < set->call_count; c++) {
        if (set->kernels[c]->prepare == NULL)
            continue;
        set->calls[c].prepared = at;
        set->kernels[c]->prepare(&set->calls[c], at);
        at += whole_lines(set->kernels[c]->prepared_bytes);
    }
}

void sdk_set_release(struct sdk_set *set)
{
    const struct accel_host *host = set->module->device->host;

    for (uint32_t c = 0; c < set->call_count; c++)
        if (set->calls[c].prepared != NULL && set->kernels[c]->release != NULL)
            set->kernels[c]->release(&set->calls[c], (void *)(uintptr_t)set->calls[c].prepared);
    host->release(host, set);
}

/* Binds a weight to its entry in a container; planes that are bound by address stay. */
static int32_t bind_container_weight(struct sdk_set *set, const struct accel_binding *binding,
                                     struct accel_error *error)
{
    const struct accel_value *value = set->program->graph->values[binding->value];
    const struct sdk_weight_entry *entry =
        value->role != ACCEL_ROLE_WEIGHT ? NULL : sdk_weights_find(binding->object, value->key);
    struct sdk_tensor *tensor = &set->tensors[binding->value];

    if (entry == NULL)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: the container of weights lacks %s",
                         set->program->graph->name, value->name);
    if (entry->weight.type != value->type || entry->weight.rank != value->rank ||
        memcmp(entry->weight.dims, tensor->dims, value->rank * sizeof(*tensor->dims)) != 0)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: weight %s has another type or shape in its container",
                         set->program->graph->name, value->name);
    tensor->packed = entry->packed;
    for (uint32_t p = 0; p < entry->plane_count; p++)
        if (tensor->planes[p] == NULL)
            tensor->planes[p] = entry->planes[p];
    return ACCEL_OK;
}

static int32_t bind_values(struct sdk_set *set, const struct accel_set_description *description,
                           struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;

    for (uint32_t b = 0; b < description->binding_count; b++) {
        const struct accel_binding *binding = &description->bindings[b];
        uint32_t plane = binding->kind == ACCEL_BIND_WEIGHTS ? binding->part : 0;

        if (binding->kind < ACCEL_BIND_BUFFER || binding->kind > ACCEL_BIND_SOURCE)
            return sdk_error(error, ACCEL_E_INVALID, "graph %s: binding %u has kind %u, which is unknown here",
                             graph->name, b, binding->kind);
        if (binding->kind == ACCEL_BIND_WEIGHTS && binding->object != NULL && binding->value < graph->value_count) {
            int32_t code = bind_container_weight(set, binding, error);

            if (code != ACCEL_OK)
                return code;
            continue;
        }
        if (binding->value >= graph->value_count || plane >= SDK_PLANES || binding->host == NULL)
            return sdk_error(error, ACCEL_E_INVALID, "graph %s: binding %u has no address for value %u", graph->name, b,
                             binding->value);
        if (binding->kind == ACCEL_BIND_SOURCE) {
            set->tensors[binding->value].source = binding->host;
            set->tensors[binding->value].key = graph->values[binding->value]->key;
        } else {
            set->tensors[binding->value].planes[plane] = binding->host;
        }
    }
    return ACCEL_OK;
}

/* A weight that exists only packed, or in parts, has no planes: kernels that read them would follow no address. */
static int32_t check_planes(const struct sdk_set *set, struct accel_error *error)
{
    for (uint32_t c = 0; c < set->call_count; c++)
        for (uint32_t i = 0; i < SDK_INPUTS; i++) {
            const struct sdk_tensor *input = set->calls[c].inputs[i];

            if (input != NULL && (input->planes[0] == NULL || input->source != NULL) &&
                (input->packed == NULL || (set->kernels[c]->packed_inputs >> i & 1u) == 0) &&
                (input->source == NULL || (set->kernels[c]->part_inputs >> i & 1u) == 0))
                return sdk_error(error, ACCEL_E_INVALID, "graph %s: %s reads a weight that exists only %s",
                                 set->program->graph->name, set->kernels[c]->name,
                                 input->source == NULL ? "packed" : "in parts");
        }
    return ACCEL_OK;
}

/* Sets the addresses in scratch, then those of values and staged activations that share storage. */
static int32_t place(struct sdk_set *set, const struct accel_set_description *description, struct accel_error *error)
{
    const struct accel_graph *graph = set->program->graph;

    if (set->scratch_bytes > description->scratch_bytes)
        return sdk_error(error, ACCEL_E_INVALID, "graph %s: %llu bytes of scratch given, %llu needed", graph->name,
                         (unsigned long long)description->scratch_bytes, (unsigned long long)set->scratch_bytes);
    for (uint32_t b = 0; b < set->block_count; b++)
        if (set->blocks[b].address != NULL)
            *set->blocks[b].address = (char *)description->scratch + set->blocks[b].offset;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        memcpy(set->tensors[v].planes, set->tensors[set->program->roots[v]].planes, sizeof(set->tensors[v].planes));
        if (set->tensors[v].planes[0] == NULL && set->tensors[v].packed == NULL && set->tensors[v].source == NULL)
            return sdk_error(error, ACCEL_E_INVALID, "graph %s: value %u (%s) is not bound", graph->name, v,
                             graph->values[v]->name);
    }
    for (uint32_t c = 0; c < set->call_count; c++)
        set->calls[c].staged = set->calls[set->uses[c].producer].staged;
    return check_planes(set, error);
}

int32_t sdk_set_create(struct accel_driver_module *base, const struct accel_set_description *description,
                       struct accel_driver_set **out_set, struct accel_error *error)
{
    struct sdk_set *set = NULL;
    int32_t code =
        sdk_check_size(description, ACCEL_END_OF(struct accel_set_description, zero), "accel_set_description", error);

    *out_set = NULL;
    if (code == ACCEL_OK)
        code = sdk_set_prepare((struct sdk_module *)base, description->program, description->symbols,
                               description->threads, &set, error);
    if (code != ACCEL_OK)
        return code;
    code = bind_values(set, description, error);
    if (code == ACCEL_OK)
        code = place(set, description, error);
    if (code != ACCEL_OK) {
        sdk_set_release(set);
        return code;
    }
    sdk_set_prepare_calls(set);
    *out_set = &set->base;
    return ACCEL_OK;
}
