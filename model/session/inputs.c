/* SPDX-License-Identifier: Apache-2.0 */
/* Exposes the activations that weights are multiplied with: outputs of the graph, found through its matmuls and fetched
 * on request. */
#include "model/session/inputs.h"

#include <stdlib.h>

#include "model/file/fault.h"

static bool is_weight_matmul(const struct accel_graph *graph, const struct accel_node *node)
{
    return node->op == ACCEL_OP_MATMUL && graph->values[node->inputs[1]]->role == ACCEL_ROLE_WEIGHT;
}

/* Returns the io buffer of a value, which is an output. */
static uint32_t find_io(const struct accel_session *session, uint32_t value)
{
    uint32_t at = IO_INPUTS;

    while (session->pipeline->io[at].value != value)
        at++;
    return at;
}

/* Returns the number of the weights that read the same buffer, or a new number. */
static uint32_t number_buffer(const struct accel_session *session, uint32_t io, uint32_t *numbers)
{
    for (uint32_t i = 0; i < session->input_count; i++)
        if (session->inputs[i].io == io)
            return session->inputs[i].number;
    return (*numbers)++;
}

int32_t session_inputs_create(struct accel_session *session, struct accel_error *error)
{
    const struct accel_graph *graph = session->step.graph;
    uint32_t numbers = 0;

    session->inputs = calloc((size_t)graph->node_count + 1, sizeof(*session->inputs));
    if (session->inputs == NULL)
        return accel_error_no_memory(error, "for the inputs of %u nodes", graph->node_count);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        struct weight_input input = {0};

        if (!is_weight_matmul(graph, node))
            continue;
        if (graph->values[node->inputs[0]]->role != ACCEL_ROLE_OUTPUT)
            return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: its activations are not an output of the graph",
                                   graph->values[node->inputs[1]]->key);
        input.weight = node->inputs[1];
        input.io = find_io(session, node->inputs[0]);
        input.number = number_buffer(session, input.io, &numbers);
        session->pipeline->io[input.io].on_demand = session->pipeline->io[input.io].copied && !session->options.stages;
        session->inputs[session->input_count++] = input;
    }
    return ACCEL_OK;
}

uint32_t accel_session_input_count(const struct accel_session *session)
{
    return session->input_count;
}

static int32_t fetch_output(struct pipeline_stage *stage, const struct io_buffer *io, struct accel_error *error)
{
    const struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_READ, .source = io->buffer, .bytes = io->size, .memory = io->bytes};
    const struct accel_step *list[] = {&step};
    uint64_t value = 0;
    int32_t code = accel_queue_submit(stage->queue, list, 1, NULL, 0, &value, error);

    return code == ACCEL_OK ? accel_queue_wait(stage->queue, value, UINT64_MAX, error) : code;
}

int32_t accel_session_input(struct accel_session *session, uint32_t index, struct accel_session_input *out_input,
                            struct accel_error *error)
{
    const struct weight_input *input;
    const struct accel_value *value;
    const struct io_buffer *io;
    int32_t code = ACCEL_OK;

    if (session == NULL || out_input == NULL)
        return model_refuse_null(__func__, error);
    if (out_input->size < ACCEL_END_OF(struct accel_session_input, width))
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_session_input cannot have %u bytes",
                               out_input->size);
    if (index >= session->input_count || session->last[SYMBOL_TOKENS] == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no input %u of a step that has run", index);
    input = &session->inputs[index];
    io = &session->pipeline->io[input->io];
    value = session->step.graph->values[io->value];
    if (io->on_demand)
        code = fetch_output(session->pipeline, io, error);
    out_input->number = input->number;
    out_input->weight = session->step.graph->values[input->weight]->key;
    out_input->values = io->bytes;
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[0], session->last, SYMBOLS, &out_input->rows, error);
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[1], session->last, SYMBOLS, &out_input->width, error);
    return code;
}
