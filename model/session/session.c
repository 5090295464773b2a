/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and frees sessions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/session/inputs.h"
#include "model/session/io.h"
#include "model/session/log.h"
#include "model/session/measure.h"
#include "model/session/pages.h"
#include "model/session/sequences.h"
#include "model/session/source_hash.h"
#include "model/session/types.h"

enum { PROCESSORS = 1024 };

#define MIB 1048576.0

static int32_t create_queue(struct pipeline_stage *stage, struct accel_error *error)
{
    struct accel_queue_options options = {.size = sizeof(options)};
    int32_t *processors;
    uint32_t threads = 1;
    int32_t code;

    accel_plan_processor(stage->plan, 0, &threads);
    if (threads == 0 || threads > PROCESSORS)
        return accel_error_set(error, ACCEL_E_LIMIT, "a plan with %u threads", threads);
    processors = malloc(threads * sizeof(*processors));
    if (processors == NULL)
        return accel_error_no_memory(error, "for %u threads", threads);
    for (uint32_t r = 0; r < threads; r++)
        processors[r] = accel_plan_processor(stage->plan, r, &threads);
    options.threads = threads;
    options.processors = processors;
    options.pin_caller = 0;
    code = accel_queue_create(stage->device, &options, &stage->queue, error);
    free(processors);
    return code;
}

static int32_t check_budget(const struct accel_session *session, struct accel_error *error)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    int32_t code = accel_plan_fit(session->plan, &fit, error);
    double lack;

    if (code != ACCEL_OK || fit.fits)
        return code;
    if (error != NULL && error->code == ACCEL_OK) {
        error->asked = fit.needed;
        error->free = fit.budget;
    }
    /* A small lack is not printed as 0.00. */
    lack = (double)fit.short_by / MIB;
    accel_error_set(
        error, ACCEL_E_MEMORY,
        accel_plan_fit_is_of_one(&fit)
            ? "the plan needs %.2f MiB, and one of its devices lacks %.2f MiB; together they have %.2f MiB (%s)"
            : "the plan needs %.2f MiB, %.2f MiB more than the budget of %.2f MiB (%s)",
        (double)fit.needed / MIB, lack < 0.01 ? 0.01 : lack, (double)fit.budget / MIB, fit.budget_origin);
    accel_error_remedy(error, "accelctl plan MODEL --fit, with the settings and the device of this run, finds what to "
                              "change until it fits");
    return ACCEL_E_MEMORY;
}

static int32_t create_sets(struct pipeline_stage *stage, struct accel_error *error)
{
    const struct step_options *options = &stage->session->options;
    const uint64_t most[SYMBOLS] = {options->batch, options->outputs, options->sequences}, one[SYMBOLS] = {1, 1, 1};
    int32_t code = stage_set_create(stage, most, &stage->many, error);

    if (code != ACCEL_OK || options->batch == 1)
        return code;
    return stage_set_create(stage, one, &stage->one, error);
}

static int32_t create_sequences(struct accel_session *session, struct accel_error *error)
{
    const struct step_options *options = &session->options;
    int32_t code = kv_create(&session->kv, (uint32_t)options->sequences, options->page, options->kv_capacity,
                             (uint32_t)options->sinks, session->by_usage, error);

    session->spans = calloc(options->sequences, sizeof(*session->spans));
    if (code == ACCEL_OK && session->spans == NULL)
        code = accel_error_no_memory(error, "for %llu sequences", (unsigned long long)options->sequences);
    if (code == ACCEL_OK)
        session->kv.sequences[0].is_open = true;
    return code;
}

/* Lets the long calls of a load check for cancellation. */
struct load_task {
    struct accel_task task; /* first */
    const struct accel_session *session;
};

static int32_t poll_cancel(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    (void)done, (void)total;
    return atomic_load(&((const struct load_task *)task)->session->cancelled) != 0 ? ACCEL_E_CANCELLED : ACCEL_OK;
}

/* Uploaded bytes after which the pages that they were read from are unmapped. */
#define DROP_BYTES (UINT64_C(8) << 20)

/* Unmaps the file behind an upload: the process would hold the model twice otherwise. */
struct upload_task {
    struct load_task load; /* first */
    const struct pipeline_stage *stage;
    uint64_t *dropped; /* bytes that were uploaded when pages were last unmapped */
};

static int32_t drop_and_poll(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    const struct upload_task *upload = (const struct upload_task *)task;

    if (done >= *upload->dropped + DROP_BYTES) {
        *upload->dropped = done;
        stage_drop_uploaded(upload->stage);
    }
    return poll_cancel(task, done, total);
}

static int32_t check_load_cancel(const struct load_task *load, struct accel_error *error)
{
    return poll_cancel(&load->task, 0, 0) == ACCEL_OK
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_CANCELLED, "cancelled while the model was loaded");
}

static int32_t load_stage(struct pipeline_stage *stage, struct accel_error *error)
{
    struct accel_session *session = stage->session;
    uint64_t dropped = 0;
    const struct load_task load = {{.size = sizeof(load.task), .progress = poll_cancel}, session};
    const struct upload_task upload = {
        {{.size = sizeof(load.task), .progress = drop_and_poll}, session}, stage, &dropped};
    const struct accel_graph *graphs[] = {stage->step.graph};
    int32_t code;

    stage->source.stage = stage;
    stage->source.log = &session->log;
    file_source_identify(&stage->source);
    stage_prefetch_in_place(stage);
    code = accel_module_create(stage->device, graphs, 1, NULL, &stage->source.base, &load.task, &stage->module, error);
    if (code == ACCEL_OK)
        code = session_log_kernels(stage, error);
    if (code == ACCEL_OK)
        code = session_log_memory(session, stage->plan, "kernels", error);
    if (code == ACCEL_OK)
        code = accel_weights_create(stage->module, &stage->source.base, &upload.load.task, &stage->weights, error);
    stage->source.log = NULL;
    stage_unmap_uploaded(stage);
    if (code == ACCEL_OK)
        code = session_log_memory(session, stage->plan, "weights", error);
    if (code == ACCEL_OK && stage->part_count != 0)
        code = accel_state_create(stage->device, stage->parts, stage->part_count, session->options.slots, &stage->state,
                                  error);
    if (code == ACCEL_OK)
        code = session_log_memory(session, stage->plan, "KV cache", error);
    if (code == ACCEL_OK)
        code = create_queue(stage, error);
    if (code == ACCEL_OK)
        code = stage_io_create(stage, error);
    if (code == ACCEL_OK && session->options.inputs)
        code = session_inputs_create(session, error);
    if (code == ACCEL_OK)
        code = session_log_memory(session, stage->plan, "queue, inputs and outputs", error);
    if (code == ACCEL_OK)
        code = check_load_cancel(&load, error);
    if (code == ACCEL_OK)
        code = create_sets(stage, error);
    return code == ACCEL_OK ? session_log_memory(session, stage->plan, "command lists of steps", error) : code;
}

int32_t accel_session_load(struct accel_session *session, struct accel_error *error)
{
    int32_t code;

    if (session == NULL)
        return model_refuse_null(__func__, error);
    /* A failed load is cleaned up by accel_session_free; a second load would leak it. */
    if (session->kv.sequences != NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the session was loaded, or failed to load: create another one");
    code = accel_plan_runnable(session->plan, error);
    if (code == ACCEL_OK)
        code = check_budget(session, error);
    if (code == ACCEL_OK && !session->is_untraced)
        code = session_measure_begin(session, error);
    if (code == ACCEL_OK)
        session_log_begin(session);
    if (code == ACCEL_OK)
        code = create_sequences(session, error);
    for (uint32_t p = 0; code == ACCEL_OK && p < session->pipeline_count; p++) {
        code = load_stage(&session->pipeline[p], error);
        session->reads_file |= stage_reads_file(&session->pipeline[p]);
    }
    session->is_loaded = code == ACCEL_OK;
    return code;
}

/* Writes the name of the model's file for people, or of its folder if the file has the name that all such files have.
 */
static void name_model(const struct accel_session *session, char out_name[ACCEL_WEIGHTS_LABEL])
{
    char *path = realpath(accel_model_file_path(session->model->file), NULL);
    char *slash = path == NULL ? NULL : strrchr(path, '/');

    if (slash != NULL && slash != path && strncmp(slash, "/model.safetensors", 18) == 0) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    snprintf(out_name, ACCEL_WEIGHTS_LABEL, "%s", slash == NULL ? "" : slash + 1);
    free(path);
}

int32_t accel_session_store(struct accel_session *session, uint32_t *out_stored, struct accel_error *error)
{
    const struct load_task load = {{.size = sizeof(load.task), .progress = poll_cancel}, session};
    char name[ACCEL_WEIGHTS_LABEL];
    uint32_t state;
    int32_t code = ACCEL_OK;
    bool is_on;

    if (session == NULL)
        return model_refuse_null(__func__, error);
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "a session that is not loaded has packed nothing");
    is_on = setting_is_on(session->settings.cache_components);
    state = is_on ? ACCEL_STORE_UNPACKED : ACCEL_STORE_DISABLED;
    name_model(session, name);
    for (uint32_t p = 0; is_on && code == ACCEL_OK && p < session->pipeline_count; p++) {
        uint32_t stored;

        code = accel_weights_store(session->pipeline[p].weights, &load.task, name, &stored, error);
        state = stored > state ? stored : state;
    }
    if (out_stored != NULL)
        *out_stored = state;
    /* A cancel that came before the call could check for it. */
    if (atomic_exchange(&session->cancelled, 0) != 0 && code == ACCEL_E_BUSY)
        return accel_error_set(error, ACCEL_E_CANCELLED, "storing weights was cancelled");
    return code;
}

static void free_stage(struct pipeline_stage *stage)
{
    accel_set_free(stage->one);
    accel_set_free(stage->many);
    stage_io_free(stage);
    accel_queue_free(stage->queue);
    accel_state_free(stage->state);
    accel_weights_free(stage->weights);
    accel_module_free(stage->module);
    accel_device_free(stage->device);
    step_graph_free(&stage->step);
    free(stage->in_place);
}

void accel_session_free(struct accel_session *session)
{
    if (session == NULL)
        return;
    session_measure_end(session);
    for (uint32_t p = 0; p < session->pipeline_count; p++)
        free_stage(&session->pipeline[p]);
    free(session->pipeline);
    free(session->inputs);
    if (session->owns_plan)
        accel_plan_free((struct accel_plan *)session->plan);
    step_graph_free(&session->step);
    session_types_free(session);
    session_notes_free(&session->notes);
    kv_free(&session->kv);
    free(session->spans);
    free(session->parts);
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
    if (session != NULL)
        atomic_store(&session->cancelled, 1);
}
