/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the buffers of a step's inputs and outputs and binds them to the values of the graph. */
#include "model/session/io.h"

#include <stdlib.h>

static int32_t create_io(struct pipeline_stage *stage, struct io_buffer *io, uint32_t value, bool is_output,
                         struct accel_error *error)
{
    const struct step_options *options = &stage->session->options;
    uint64_t symbols[SYMBOLS] = {options->batch, options->outputs, options->sequences};
    int32_t code;

    io->value = value;
    io->is_output = is_output;
    if (value == ACCEL_NO_VALUE)
        return ACCEL_OK;
    code = accel_value_bytes(stage->step.graph, value, symbols, &io->size, error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(stage->device, io->size, 0, &io->buffer, error);
    if (code != ACCEL_OK)
        return code;
    io->bytes = accel_buffer_address(io->buffer);
    if (io->bytes != NULL)
        return ACCEL_OK;
    io->copied = 1;
    io->bytes = calloc(1, io->size);
    return io->bytes == NULL ? accel_error_no_memory(error, "for a copy of %llu bytes", (unsigned long long)io->size)
                             : ACCEL_OK;
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
static int32_t make_queue_steps(struct pipeline_stage *stage, struct accel_error *error)
{
    const struct accel_limits *limits = accel_plan_device(stage->plan)->facts->limits;
    uint64_t count = 0;

    stage->update_limit = limits->inline_bytes == 0 ? UINT64_MAX : limits->inline_bytes;
    for (uint32_t i = 0; i < stage->io_count; i++)
        if (stage->io[i].copied)
            count += stage->io[i].is_output ? 1 : 1 + (stage->io[i].size - 1) / stage->update_limit;
    if (count == 0)
        return ACCEL_OK;
    stage->queue_steps = calloc(count + 1, sizeof(*stage->queue_steps));
    stage->queue_step_list = calloc(count + 1, sizeof(*stage->queue_step_list));
    if (stage->queue_steps == NULL || stage->queue_step_list == NULL)
        return accel_error_no_memory(error, "for the steps of a session");
    return ACCEL_OK;
}

int32_t stage_io_create(struct pipeline_stage *stage, struct accel_error *error)
{
    const struct step_graph *step = &stage->step;
    const uint32_t inputs[IO_INPUTS] = {step->ids,    step->position, step->slot,      step->table,  step->first,
                                        step->length, step->rows,     step->frequency, step->crossed};
    uint32_t at = IO_INPUTS;
    int32_t code = ACCEL_OK;

    stage->io_count = IO_INPUTS + count_outputs(step->graph);
    stage->io = calloc(stage->io_count, sizeof(*stage->io));
    if (stage->io == NULL)
        return accel_error_no_memory(error, "for %u buffers", stage->io_count);
    for (uint32_t i = 0; code == ACCEL_OK && i < IO_INPUTS; i++)
        code = create_io(stage, &stage->io[i], inputs[i], 0, error);
    for (uint32_t v = 0; code == ACCEL_OK && v < step->graph->value_count; v++) {
        if (step->graph->values[v]->role != ACCEL_ROLE_OUTPUT)
            continue;
        if (v == step->logits)
            stage->logits_io = at;
        if (v == step->scores)
            stage->scores_io = at;
        code = create_io(stage, &stage->io[at++], v, 1, error);
    }
    return code == ACCEL_OK ? make_queue_steps(stage, error) : code;
}

void stage_io_free(struct pipeline_stage *stage)
{
    for (uint32_t i = 0; stage->io != NULL && i < stage->io_count; i++) {
        accel_buffer_free(stage->io[i].buffer);
        if (stage->io[i].copied)
            free(stage->io[i].bytes);
    }
    free(stage->io);
    free(stage->queue_steps);
    free(stage->queue_step_list);
}

int32_t stage_set_create(struct pipeline_stage *stage, const uint64_t *symbols, struct accel_set **out_set,
                         struct accel_error *error)
{
    const struct accel_graph *graph = stage->step.graph;
    struct accel_bind *binds = calloc((size_t)stage->io_count + graph->value_count, sizeof(*binds));
    uint32_t count = 0;
    uint32_t part = 0;
    int32_t code;

    *out_set = NULL;
    if (binds == NULL)
        return accel_error_no_memory(error, "for the bindings of a session");
    for (uint32_t i = 0; i < stage->io_count; i++)
        if (stage->io[i].buffer != NULL)
            binds[count++] = (struct accel_bind){.value = stage->io[i].value, .buffer = stage->io[i].buffer};
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_STATE)
            binds[count++] = (struct accel_bind){.value = v, .part = part++, .state = stage->state};
    code = accel_set_create(stage->module, 0, stage->queue, symbols, binds, count, stage->weights, out_set, error);
    free(binds);
    return code;
}
