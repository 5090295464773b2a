/* SPDX-License-Identifier: Apache-2.0 */
/* A session's life: load, and free in any state. */
#include "sdk/model/session/internal.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PROCESSORS = 1024 };

#define MIB 1048576.0

static int32_t make_queue(struct accel_session *session, struct accel_error *error)
{
    struct accel_queue_options options = {.size = sizeof options};
    int32_t *processors;
    uint32_t ranks = 1;
    int32_t code;

    accel_plan_processor(session->plan, 0, &ranks);
    if (ranks == 0 || ranks > PROCESSORS)
        return accel_error_set(error, ACCEL_E_LIMIT, "a plan with %u threads", ranks);
    processors = malloc(ranks * sizeof *processors);
    if (processors == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for %u threads", ranks);
    for (uint32_t r = 0; r < ranks; r++)
        processors[r] = accel_plan_processor(session->plan, r, &ranks);
    options.threads = ranks;
    options.processors = processors;
    options.pin_caller = 0;
    code = accel_queue_create(session->device, &options, &session->queue, error);
    free(processors);
    return code;
}

static int32_t refuse_short(const struct accel_session *session, struct accel_error *error)
{
    struct accel_plan_fit fit = {.size = sizeof fit};
    int32_t code = accel_plan_fit(session->plan, &fit, error);
    double lack;

    if (code != ACCEL_OK || fit.fits)
        return code;
    if (error != NULL && error->code == ACCEL_OK) {
        error->asked = fit.needed;
        error->free = fit.budget;
    }
    /* Next to nothing is not nothing. */
    lack = (double)fit.short_by / MIB;
    accel_error_set(error, ACCEL_E_MEMORY, "the plan needs %.2f MiB, %.2f MiB more than the budget of %.2f MiB (%s)",
                    (double)fit.needed / MIB, lack < 0.01 ? 0.01 : lack, (double)fit.budget / MIB, fit.budget_origin);
    accel_error_remedy(error, "a smaller context or batch (--set context=, batch=), or fewer bits in a weight: "
                              "--set precision.dynamic=true takes them away until it fits");
    return ACCEL_E_MEMORY;
}

static int32_t make_sets(struct accel_session *session, struct accel_error *error)
{
    const struct step_options *options = &session->options;
    const uint64_t most[SYMBOLS] = {options->batch, options->outputs, options->sequences}, one[SYMBOLS] = {1, 1, 1};
    int32_t code = session_set_create(session, most, &session->many, error);

    if (code != ACCEL_OK || options->batch == 1)
        return code;
    return session_set_create(session, one, &session->one, error);
}

static int32_t make_sequences(struct accel_session *session, struct accel_error *error)
{
    const struct step_options *options = &session->options;
    int32_t code = kv_create(&session->kv, (uint32_t)options->sequences, options->page, options->room,
                             (uint32_t)options->sinks, session->by_usage, error);

    session->step_parts = calloc(options->sequences, sizeof *session->step_parts);
    if (code == ACCEL_OK && session->step_parts == NULL)
        code = accel_error_set(error, ACCEL_E_MEMORY, "no memory for %llu sequences",
                               (unsigned long long)options->sequences);
    if (code == ACCEL_OK)
        session->kv.sequences[0].is_open = 1;
    return code;
}

/* What the long calls of a load ask: whether to go on. */
struct load_task {
    struct accel_task task;              /* first */
    const struct accel_session *session; /* the one that may be cancelled */
};

static int32_t ask_load(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    (void)done, (void)total;
    return atomic_load(&((const struct load_task *)task)->session->cancelled) != 0 ? ACCEL_E_CANCELLED : ACCEL_OK;
}

static int32_t check_load(const struct load_task *load, struct accel_error *error)
{
    return ask_load(&load->task, 0, 0) == ACCEL_OK
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_CANCELLED, "cancelled while the model was loaded");
}

/* What lies on the device of a session, or of a piece of `whole`. A piece after the last layer has no caches. */
static int32_t load_device(struct accel_session *session, const struct accel_session *whole, struct accel_error *error)
{
    const struct load_task load = {{.size = sizeof load.task, .progress = ask_load}, whole};
    const struct accel_graph *graphs[] = {session->step.graph};
    int32_t code;

    session->source.session = session;
    file_source_identify(&session->source);
    session_ask_for_pages(session);
    code = accel_plan_open_device(session->plan, &session->device, error);
    if (code == ACCEL_OK)
        code = accel_module_create(session->device, graphs, 1, NULL, &session->source.base, &load.task,
                                   &session->module, error);
    if (code == ACCEL_OK)
        code = accel_weights_create(session->module, &session->source.base, &load.task, &session->weights, error);
    session_drop_pulled(session);
    if (code == ACCEL_OK && session->part_count != 0)
        code = accel_state_create(session->device, session->parts, session->part_count, session->options.slots,
                                  &session->state, error);
    if (code == ACCEL_OK)
        code = make_queue(session, error);
    if (code == ACCEL_OK)
        code = session_slots_create(session, error);
    if (code == ACCEL_OK && session->options.inputs)
        code = session_inputs_create(session, error);
    if (code == ACCEL_OK)
        code = check_load(&load, error);
    return code == ACCEL_OK ? make_sets(session, error) : code;
}

static int32_t load_pieces(struct accel_session *session, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; code == ACCEL_OK && p < session->piece_count; p++)
        code = load_device(session->pieces[p], session, error);
    return code == ACCEL_OK ? session_slots_create(session, error) : code;
}

int32_t accel_session_load(struct accel_session *session, struct accel_error *error)
{
    int32_t code;

    /* What a load that failed left is freed with the session, and a second one would lose it. */
    if (session->kv.sequences != NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the session has been loaded, or failed to: make another one");
    code = accel_plan_runnable(session->plan, error);
    if (code == ACCEL_OK)
        code = refuse_short(session, error);
    if (code == ACCEL_OK)
        code = make_sequences(session, error);
    if (code == ACCEL_OK)
        code = session->piece_count != 0 ? load_pieces(session, error) : load_device(session, session, error);
    session->is_loaded = code == ACCEL_OK;
    session->reads_file = session_reads_file(session);
    return code;
}

static int32_t keep_device(struct accel_session *session, const struct accel_session *whole, uint32_t *kept,
                           struct accel_error *error)
{
    const struct load_task load = {{.size = sizeof load.task, .progress = ask_load}, whole};
    uint32_t here;
    int32_t code = accel_weights_keep(session->weights, &load.task, &here, error);

    if (here > *kept)
        *kept = here;
    return code;
}

int32_t accel_session_keep(struct accel_session *session, uint32_t *out_kept, struct accel_error *error)
{
    uint32_t kept = ACCEL_KEPT_NOTHING;
    int32_t code = ACCEL_OK;

    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "a session that is not loaded has packed nothing");
    if (session->piece_count == 0)
        code = keep_device(session, session, &kept, error);
    for (uint32_t p = 0; code == ACCEL_OK && p < session->piece_count; p++)
        code = keep_device(session->pieces[p], session, &kept, error);
    if (out_kept != NULL)
        *out_kept = kept;
    /* Before it could ask. */
    if (atomic_exchange(&session->cancelled, 0) != 0 && code == ACCEL_E_BUSY)
        return accel_error_set(error, ACCEL_E_CANCELLED, "keeping weights was cancelled");
    return code;
}

void accel_session_free(struct accel_session *session)
{
    if (session == NULL)
        return;
    accel_set_free(session->one);
    accel_set_free(session->many);
    session_slots_free(session);
    session_pieces_free(session);
    free(session->inputs);
    accel_queue_free(session->queue);
    accel_state_free(session->state);
    accel_weights_free(session->weights);
    accel_module_free(session->module);
    accel_device_free(session->device);
    accel_plan_free(session->plan);
    step_graph_free(&session->step);
    session_types_free(session);
    kv_free(&session->kv);
    free(session->step_parts);
    free(session->parts);
    free(session->in_place);
    free(session);
}

const struct accel_plan *accel_session_plan(const struct accel_session *session)
{
    return session->plan;
}

const struct accel_graph *accel_session_graph(const struct accel_session *session)
{
    return session->step.graph;
}

uint64_t accel_session_context(const struct accel_session *session)
{
    return session->options.context;
}

uint64_t accel_session_length(const struct accel_session *session)
{
    return session->kv.count == 0 ? 0 : session_length(session, &session->kv.sequences[0]);
}

uint64_t accel_session_batch(const struct accel_session *session)
{
    return session->options.batch;
}

void accel_session_cancel(struct accel_session *session)
{
    atomic_store(&session->cancelled, 1);
}
