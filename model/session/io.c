/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the buffers of a step's inputs and outputs and binds them to the values of the graph. */
#include "model/session/io.h"

#include <stdlib.h>

/* Allocates the host copy of an io buffer. The output of a pipelined session is that of its last stage. */
static int32_t make_host_copy(const struct accel_session *session, struct io_buffer *io, struct accel_error *error)
{
    if (session->pipeline_count != 0 && io->is_output) {
        const struct accel_session *last = session->pipeline[session->pipeline_count - 1];

        io->bytes = last->io[last->logits_io].bytes;
        return ACCEL_OK;
    }
    io->copied = 1;
    io->bytes = calloc(1, io->size);
    if (io->bytes == NULL)
        return accel_error_no_memory(error, "for a copy of %llu bytes", (unsigned long long)io->size);
    return ACCEL_OK;
}

static int32_t create_io(struct accel_session *session, struct io_buffer *io, uint32_t value, bool is_output,
                         struct accel_error *error)
{
    const struct step_options *options = &session->options;
    uint64_t symbols[SYMBOLS] = {options->batch, options->outputs, options->sequences};
    int32_t code;

    io->value = value;
    io->is_output = is_output;
    if (value == ACCEL_NO_VALUE)
        return ACCEL_OK;
    code = accel_value_bytes(session->step.graph, value, symbols, &io->size, error);
    if (code == ACCEL_OK && session->pipeline_count != 0)
        return make_host_copy(session, io, error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(session->device, io->size, 0, &io->buffer, error);
    if (code != ACCEL_OK)
        return code;
    io->bytes = accel_buffer_address(io->buffer);
    if (io->bytes != NULL)
        return ACCEL_OK;
    return make_host_copy(session, io, error);
}

static uint32_t count_outputs(const struct accel_graph *graph)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < graph->value_count; v++)
        count += graph->values[v]->role == ACCEL_ROLE_OUTPUT;
    return count;
}

/* Allocates the transfers of host copies: updates, the run, reads. Their addresses never change, so they are allocated
 * once. */
static int32_t make_queue_steps(struct accel_session *session, struct accel_error *error)
{
    const struct accel_limits *limits = accel_plan_device(session->plan)->facts->limits;
    uint64_t count = 0;

    session->update_limit = limits->inline_bytes == 0 ? UINT64_MAX : limits->inline_bytes;
    for (uint32_t i = 0; i < session->io_count; i++)
        if (session->io[i].copied)
            count += session->io[i].is_output ? 1 : 1 + (session->io[i].size - 1) / session->update_limit;
    if (count == 0)
        return ACCEL_OK;
    session->queue_steps = calloc(count + 1, sizeof(*session->queue_steps));
    session->queue_step_list = calloc(count + 1, sizeof(*session->queue_step_list));
    if (session->queue_steps == NULL || session->queue_step_list == NULL)
        return accel_error_no_memory(error, "for the steps of a session");
    return ACCEL_OK;
}

int32_t session_io_create(struct accel_session *session, struct accel_error *error)
{
    const struct step_graph *step = &session->step;
    const uint32_t inputs[IO_INPUTS] = {step->ids,    step->position, step->slot,      step->table,  step->first,
                                        step->length, step->rows,     step->frequency, step->crossed};
    uint32_t at = IO_INPUTS;
    int32_t code = ACCEL_OK;

    session->io_count = IO_INPUTS + count_outputs(step->graph);
    session->io = calloc(session->io_count, sizeof(*session->io));
    if (session->io == NULL)
        return accel_error_no_memory(error, "for %u buffers", session->io_count);
    for (uint32_t i = 0; code == ACCEL_OK && i < IO_INPUTS; i++)
        code = create_io(session, &session->io[i], inputs[i], 0, error);
    for (uint32_t v = 0; code == ACCEL_OK && v < step->graph->value_count; v++) {
        if (step->graph->values[v]->role != ACCEL_ROLE_OUTPUT)
            continue;
        if (v == step->logits)
            session->logits_io = at;
        if (v == step->scores)
            session->scores_io = at;
        code = create_io(session, &session->io[at++], v, 1, error);
    }
    return code == ACCEL_OK && session->pipeline_count == 0 ? make_queue_steps(session, error) : code;
}

void session_io_free(struct accel_session *session)
{
    for (uint32_t i = 0; session->io != NULL && i < session->io_count; i++) {
        accel_buffer_free(session->io[i].buffer);
        if (session->io[i].copied)
            free(session->io[i].bytes);
    }
    free(session->io);
    free(session->queue_steps);
    free(session->queue_step_list);
}

int32_t session_set_create(struct accel_session *session, const uint64_t *symbols, struct accel_set **out_set,
                           struct accel_error *error)
{
    const struct accel_graph *graph = session->step.graph;
    struct accel_bind *binds = calloc((size_t)session->io_count + graph->value_count, sizeof(*binds));
    uint32_t count = 0;
    uint32_t part = 0;
    int32_t code;

    *out_set = NULL;
    if (binds == NULL)
        return accel_error_no_memory(error, "for the bindings of a session");
    for (uint32_t i = 0; i < session->io_count; i++)
        if (session->io[i].buffer != NULL)
            binds[count++] = (struct accel_bind){.value = session->io[i].value, .buffer = session->io[i].buffer};
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_STATE)
            binds[count++] = (struct accel_bind){.value = v, .part = part++, .state = session->state};
    code =
        accel_set_create(session->module, 0, session->queue, symbols, binds, count, session->weights, out_set, error);
    free(binds);
    return code;
}
