/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs and outputs of a step as buffers, and their binding to the values of the graph. */
#include "sdk/model/session/internal.h"

#include <stdlib.h>

/* Bytes of the host. Where pieces run, what the last of them gives is what the session gives. */
static int32_t keep_copy(const struct accel_session *session, struct slot *slot, struct accel_error *error)
{
    if (session->piece_count != 0 && slot->is_output) {
        const struct accel_session *last = session->pieces[session->piece_count - 1];

        slot->bytes = last->slots[last->logits_slot].bytes;
        return ACCEL_OK;
    }
    slot->copied = 1;
    slot->bytes = calloc(1, slot->size);
    if (slot->bytes == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for a copy of %llu bytes",
                               (unsigned long long)slot->size);
    return ACCEL_OK;
}

static int32_t slot_create(struct accel_session *session, struct slot *slot, uint32_t value, uint32_t is_output,
                           struct accel_error *error)
{
    const struct step_options *options = &session->options;
    uint64_t symbols[SYMBOLS] = {options->batch, options->outputs, options->sequences};
    int32_t code;

    slot->value = value;
    slot->is_output = is_output;
    if (value == ACCEL_NO_VALUE)
        return ACCEL_OK;
    code = accel_value_bytes(session->step.graph, value, symbols, &slot->size, error);
    if (code == ACCEL_OK && session->piece_count != 0)
        return keep_copy(session, slot, error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(session->device, slot->size, 0, &slot->buffer, error);
    if (code != ACCEL_OK)
        return code;
    slot->bytes = accel_buffer_address(slot->buffer);
    if (slot->bytes != NULL)
        return ACCEL_OK;
    return keep_copy(session, slot, error);
}

static uint32_t count_outputs(const struct accel_graph *graph)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < graph->value_count; v++)
        count += graph->values[v]->role == ACCEL_ROLE_OUTPUT;
    return count;
}

/* Moves of copied slots: updates, the run, reads. Their addresses never change, so that they are made once. */
static int32_t make_work(struct accel_session *session, struct accel_error *error)
{
    const struct accel_limits *limits = accel_plan_device(session->plan)->facts->limits;
    uint64_t count = 0;

    session->piece = limits->inline_bytes == 0 ? UINT64_MAX : limits->inline_bytes;
    for (uint32_t i = 0; i < session->slot_count; i++)
        if (session->slots[i].copied)
            count += session->slots[i].is_output ? 1 : 1 + (session->slots[i].size - 1) / session->piece;
    if (count == 0)
        return ACCEL_OK;
    session->work = calloc(count + 1, sizeof *session->work);
    session->work_list = calloc(count + 1, sizeof *session->work_list);
    if (session->work == NULL || session->work_list == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the steps of a session");
    return ACCEL_OK;
}

int32_t session_slots_create(struct accel_session *session, struct accel_error *error)
{
    const struct step_graph *step = &session->step;
    const uint32_t inputs[SLOT_INPUTS] = {step->ids,    step->position, step->slot,      step->table,  step->first,
                                          step->length, step->rows,     step->frequency, step->crossed};
    uint32_t at = SLOT_INPUTS;
    int32_t code = ACCEL_OK;

    session->slot_count = SLOT_INPUTS + count_outputs(step->graph);
    session->slots = calloc(session->slot_count, sizeof *session->slots);
    if (session->slots == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for %u buffers", session->slot_count);
    for (uint32_t i = 0; code == ACCEL_OK && i < SLOT_INPUTS; i++)
        code = slot_create(session, &session->slots[i], inputs[i], 0, error);
    for (uint32_t v = 0; code == ACCEL_OK && v < step->graph->value_count; v++) {
        if (step->graph->values[v]->role != ACCEL_ROLE_OUTPUT)
            continue;
        if (v == step->logits)
            session->logits_slot = at;
        if (v == step->mass)
            session->mass_slot = at;
        code = slot_create(session, &session->slots[at++], v, 1, error);
    }
    return code == ACCEL_OK && session->piece_count == 0 ? make_work(session, error) : code;
}

void session_slots_free(struct accel_session *session)
{
    for (uint32_t i = 0; session->slots != NULL && i < session->slot_count; i++) {
        accel_buffer_free(session->slots[i].buffer);
        if (session->slots[i].copied)
            free(session->slots[i].bytes);
    }
    free(session->slots);
    free(session->work);
    free(session->work_list);
}

int32_t session_set_create(struct accel_session *session, const uint64_t *symbols, struct accel_set **out_set,
                           struct accel_error *error)
{
    const struct accel_graph *graph = session->step.graph;
    struct accel_bind *binds = calloc((size_t)session->slot_count + graph->value_count, sizeof *binds);
    uint32_t count = 0;
    uint32_t part = 0;
    int32_t code;

    *out_set = NULL;
    if (binds == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the bindings of a session");
    for (uint32_t i = 0; i < session->slot_count; i++)
        if (session->slots[i].buffer != NULL)
            binds[count++] = (struct accel_bind){.value = session->slots[i].value, .buffer = session->slots[i].buffer};
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_STATE)
            binds[count++] = (struct accel_bind){.value = v, .part = part++, .state = session->state};
    code =
        accel_set_create(session->module, 0, session->queue, symbols, binds, count, session->weights, out_set, error);
    free(binds);
    return code;
}
