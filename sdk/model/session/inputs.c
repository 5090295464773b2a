/* SPDX-License-Identifier: Apache-2.0 */
/* What weights are multiplied with: outputs of the graph that are found by its matmuls, and fetched when asked for. */
#include "sdk/model/session/internal.h"

#include <stdlib.h>

static int is_product(const struct accel_graph *graph, const struct accel_node *node)
{
    return node->op == ACCEL_OP_MATMUL && graph->values[node->inputs[1]]->role == ACCEL_ROLE_WEIGHT;
}

/* The slot of an output; it is one. */
static uint32_t slot_of(const struct accel_session *session, uint32_t value)
{
    uint32_t at = SLOT_INPUTS;

    while (session->slots[at].value != value)
        at++;
    return at;
}

/* The number of those that read the same slot before, or the next one. */
static uint32_t number_of(const struct accel_session *session, uint32_t slot, uint32_t *numbers)
{
    for (uint32_t i = 0; i < session->input_count; i++)
        if (session->inputs[i].slot == slot)
            return session->inputs[i].number;
    return (*numbers)++;
}

int32_t session_inputs_create(struct accel_session *session, struct accel_error *error)
{
    const struct accel_graph *graph = session->step.graph;
    uint32_t numbers = 0;

    session->inputs = calloc((size_t)graph->node_count + 1, sizeof *session->inputs);
    if (session->inputs == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the inputs of %u nodes", graph->node_count);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        struct weight_input input = {0};

        if (!is_product(graph, node))
            continue;
        if (graph->values[node->inputs[0]]->role != ACCEL_ROLE_OUTPUT)
            return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: what it reads is no output of its graph",
                                   graph->values[node->inputs[1]]->key);
        input.weight = node->inputs[1];
        input.slot = slot_of(session, node->inputs[0]);
        input.number = number_of(session, input.slot, &numbers);
        session->slots[input.slot].asked = session->slots[input.slot].copied && !session->options.stages;
        session->inputs[session->input_count++] = input;
    }
    return ACCEL_OK;
}

uint32_t accel_session_input_count(const struct accel_session *session)
{
    return session->input_count;
}

static int32_t fetch(struct accel_session *session, const struct slot *slot, struct accel_error *error)
{
    const struct accel_work work = {.size = sizeof work,
                                    .kind = ACCEL_STEP_READ,
                                    .source = slot->buffer,
                                    .bytes = slot->size,
                                    .memory = slot->bytes};
    const struct accel_work *list[] = {&work};
    uint64_t value = 0;
    int32_t code = accel_queue_submit(session->queue, list, 1, NULL, 0, &value, error);

    return code == ACCEL_OK ? accel_queue_wait(session->queue, value, UINT64_MAX, error) : code;
}

int32_t accel_session_input(struct accel_session *session, uint32_t index, struct accel_session_input *out_input,
                            struct accel_error *error)
{
    const struct weight_input *input;
    const struct accel_value *value;
    const struct slot *slot;
    int32_t code = ACCEL_OK;

    if (out_input->size < ACCEL_END_OF(struct accel_session_input, width))
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_session_input cannot have %u bytes",
                               out_input->size);
    if (index >= session->input_count || session->last[SYMBOL_TOKENS] == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no input %u of a step that has run", index);
    input = &session->inputs[index];
    slot = &session->slots[input->slot];
    value = session->step.graph->values[slot->value];
    if (slot->asked)
        code = fetch(session, slot, error);
    out_input->number = input->number;
    out_input->weight = session->step.graph->values[input->weight]->key;
    out_input->values = slot->bytes;
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[0], session->last, SYMBOLS, &out_input->rows, error);
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[1], session->last, SYMBOLS, &out_input->width, error);
    return code;
}
