/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds tokens: cuts them into steps, fills the inputs of each step, runs it, and returns its rows of logits. */
#include "model/session/step.h"

#include <string.h>

#include "model/family/rope.h"
#include "model/file/fault.h"
#include "model/session/context.h"
#include "model/session/log.h"
#include "model/session/measure.h"
#include "model/session/sequences.h"

/* Appends the tokens of a span behind the *tokens and *outputs of the spans before it. A stage reads some of the
 * inputs.
 */
static void fill_span(const struct pipeline_stage *stage, const struct step_span *span, uint64_t *tokens,
                      uint64_t *outputs)
{
    int32_t *id = stage->io[IO_IDS].bytes, *position = stage->io[IO_POSITION].bytes;
    int32_t *slot = stage->io[IO_KV_SLOT].bytes, *rows = stage->io[IO_ROWS].bytes;

    for (uint64_t t = 0; id != NULL && t < span->count; t++)
        id[*tokens + t] = span->ids[t];
    for (uint64_t t = 0; position != NULL && t < span->count; t++)
        position[*tokens + t] = span->position + (int32_t)t;
    for (uint64_t t = 0; slot != NULL && t < span->count; t++)
        slot[*tokens + t] = (int32_t)kv_slot(&stage->session->kv, span->sequence, span->place + t);
    *tokens += span->count;
    for (uint64_t r = 0; rows != NULL && r < span->outputs; r++)
        rows[*outputs + r] = (int32_t)(*tokens - span->outputs + r);
    *outputs += span->outputs;
}

/* Fills the inputs of a stage but for the hidden rows of the stage before it. */
static void fill_inputs(const struct pipeline_stage *stage, const struct step_span *spans, uint32_t count,
                        uint64_t symbols[SYMBOLS])
{
    const struct accel_session *session = stage->session;
    int32_t *table = stage->io[IO_TABLE].bytes, *first = stage->io[IO_FIRST].bytes;
    int32_t *length = stage->io[IO_LENGTH].bytes, *rows = stage->io[IO_ROWS].bytes;
    uint64_t tokens = 0, outputs = 0;

    for (uint32_t p = 0; p < count; p++) {
        const struct kv_sequence *sequence = spans[p].sequence;

        if (table != NULL)
            memcpy(table + (size_t)p * session->kv.pages_each, sequence->table, sequence->pages * sizeof(*table));
        if (first != NULL)
            first[p] = (int32_t)tokens;
        if (length != NULL)
            length[p] = (int32_t)(spans[p].place + spans[p].count);
        fill_span(stage, &spans[p], &tokens, &outputs);
    }
    if (first != NULL)
        first[count] = (int32_t)tokens;
    /* A graph outputs at least one row. */
    if (outputs == 0 && rows != NULL)
        rows[0] = (int32_t)tokens - 1;
    if (stage->io[IO_FREQUENCY].bytes != NULL)
        rope_frequencies(&session->model->config.rope, (uint64_t)spans[0].position + spans[0].count, NULL,
                         stage->io[IO_FREQUENCY].bytes);
    symbols[SYMBOL_TOKENS] = tokens;
    symbols[SYMBOL_OUTPUTS] = outputs == 0 ? 1 : outputs;
    symbols[SYMBOL_SEQUENCES] = count;
}

/* Copies the hidden rows of the stage before, of which the first stage has none. */
static int32_t pass_rows(const struct pipeline_stage *stage, const uint64_t symbols[SYMBOLS], struct accel_error *error)
{
    const struct io_buffer *crossed = &stage->io[IO_CROSSED];
    const struct pipeline_stage *before = stage - 1;
    uint64_t bytes = 0;
    int32_t code = ACCEL_OK;

    if (crossed->bytes == NULL)
        return ACCEL_OK;
    code = accel_value_bytes(stage->step.graph, crossed->value, symbols, &bytes, error);
    if (code == ACCEL_OK)
        memcpy(crossed->bytes, before->io[before->logits_io].bytes, bytes);
    return code;
}

static struct accel_step *add_queue_step(struct pipeline_stage *stage, uint32_t kind, uint32_t *count)
{
    struct accel_step *step = &stage->queue_steps[*count];

    *step = (struct accel_step){.size = sizeof(*step), .kind = kind};
    stage->queue_step_list[(*count)++] = step;
    return step;
}

/* Splits an update into blocks that the device accepts. */
static void add_update(struct pipeline_stage *stage, const struct io_buffer *io, uint32_t *count)
{
    for (uint64_t done = 0; done < io->size;) {
        struct accel_step *step = add_queue_step(stage, ACCEL_STEP_UPDATE, count);

        step->target = io->buffer;
        step->target_offset = done;
        step->data = (const char *)io->bytes + done;
        step->bytes = io->size - done < stage->update_limit ? io->size - done : stage->update_limit;
        done += step->bytes;
    }
}

static void add_read(struct pipeline_stage *stage, const struct io_buffer *io, uint32_t *count)
{
    struct accel_step *step = add_queue_step(stage, ACCEL_STEP_READ, count);

    step->source = io->buffer;
    step->memory = io->bytes;
    step->bytes = io->size;
}

/* Submits updates of inputs, the run, and reads of outputs together. */
static int32_t run_with_transfers(struct pipeline_stage *stage, struct accel_set *set, const uint64_t *symbols,
                                  struct accel_error *error)
{
    struct accel_step *run;
    uint32_t count = 0;
    uint64_t value = 0;
    int32_t code;

    for (uint32_t i = 0; i < stage->io_count; i++)
        if (stage->io[i].copied && !stage->io[i].is_output && !stage->io[i].on_demand)
            add_update(stage, &stage->io[i], &count);
    run = add_queue_step(stage, ACCEL_STEP_RUN, &count);
    run->set = set;
    run->symbols = symbols;
    for (uint32_t i = 0; i < stage->io_count; i++)
        if (stage->io[i].copied && stage->io[i].is_output && !stage->io[i].on_demand)
            add_read(stage, &stage->io[i], &count);
    code = accel_queue_submit(stage->queue, stage->queue_step_list, count, NULL, 0, &value, error);
    return code == ACCEL_OK ? accel_queue_wait(stage->queue, value, UINT64_MAX, error) : code;
}

static int32_t run_stage(struct pipeline_stage *stage, const uint64_t symbols[SYMBOLS], struct accel_error *error)
{
    struct accel_set *set = symbols[SYMBOL_TOKENS] == 1 && stage->one != NULL ? stage->one : stage->many;

    return stage->queue_step_list == NULL ? accel_set_run(set, symbols, error)
                                          : run_with_transfers(stage, set, symbols, error);
}

int32_t session_run(struct accel_session *session, const struct step_span *spans, uint32_t count,
                    struct accel_error *error)
{
    const uint64_t begin = session_measure_now(session);
    uint64_t symbols[SYMBOLS];
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; code == ACCEL_OK && p < session->pipeline_count; p++) {
        struct pipeline_stage *stage = &session->pipeline[p];

        fill_inputs(stage, spans, count, symbols);
        code = pass_rows(stage, symbols, error);
        if (code == ACCEL_OK)
            code = run_stage(stage, symbols, error);
    }
    if (code != ACCEL_OK)
        return code;
    memcpy(session->last, symbols, sizeof(symbols));
    session_measure_step(session, begin, spans, count);
    code = session_log_attention(session, spans, count, error);
    return code == ACCEL_OK ? session_log_memory(session, session->plan, "a step", error) : code;
}

/* Returns the logits of the last step, which the last stage outputs. */
static const float *logits_of(const struct accel_session *session)
{
    const struct pipeline_stage *last = &session->pipeline[session->pipeline_count - 1];

    return last->io[last->logits_io].bytes;
}

/* Records the tokens of span `index` as cached, and what attention scores of the step are used for. */
static void commit_span(struct accel_session *session, const struct step_span *span, uint32_t index)
{
    const struct kv *kv = &session->kv;
    struct kv_sequence *sequence = span->sequence;
    const float scale = 1.0f / (float)(session->model->config.heads * session->model->config.layers);
    const float *scores;

    for (uint64_t t = 0; t < span->count; t++) {
        uint64_t place = span->place + t;

        sequence->position[place] = span->position + (int32_t)t;
        if (place < kv->sinks)
            sequence->sinks[place] = span->ids[t];
    }
    sequence->length = span->place + span->count;
    if (!session->options.scores)
        return;
    scores =
        (const float *)session->pipeline->io[session->pipeline->scores_io].bytes + index * kv->pages_each * kv->page;
    session_measure_attention(session, span, scores, scale);
    if (session->by_usage)
        kv_add_scores(kv, sequence, span->count, scores, scale);
}

/* Returns ACCEL_E_CANCELLED once after accel_session_cancel. */
static int32_t check_cancel(struct accel_session *session, struct accel_error *error)
{
    if (atomic_exchange(&session->cancelled, 0) == 0)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_CANCELLED, "cancelled; tokens in the context: %llu",
                           (unsigned long long)accel_session_length(session));
}

/* Runs a step of spans that continue their sequences: `ids`, `count` and `outputs` are given, the rest is filled.
 */
static int32_t run_step(struct accel_session *session, struct step_span *spans, uint32_t count,
                        struct accel_error *error)
{
    int32_t code = check_cancel(session, error);

    for (uint32_t p = 0; code == ACCEL_OK && p < count; p++) {
        code = session_reserve(session, spans[p].sequence, spans[p].count, error);
        spans[p].place = spans[p].sequence->length;
        spans[p].position = kv_next(spans[p].sequence);
    }
    if (code == ACCEL_OK)
        code = session_run(session, spans, count, error);
    if (code == ACCEL_OK && session->reads_file)
        code = accel_model_file_check(session->model->file, error);
    for (uint32_t p = 0; code == ACCEL_OK && p < count; p++)
        commit_span(session, &spans[p], p);
    return code == ACCEL_OK ? session_measure_flush(session, error) : code;
}

int32_t session_check_ids(const struct accel_session *session, const int32_t *ids, uint64_t count,
                          struct accel_error *error)
{
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    if (count == 0 || ids == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "no tokens to feed");
    for (uint64_t i = 0; i < count; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= session->model->facts.vocabulary)
            return accel_error_set(error, ACCEL_E_INVALID, "token %llu is %d, outside of the vocabulary of %u",
                                   (unsigned long long)i, ids[i], session->model->facts.vocabulary);
    return ACCEL_OK;
}

int32_t session_check_length(const struct accel_session *session, uint64_t length, uint64_t count,
                             struct accel_error *error)
{
    const uint64_t longest = session_longest_context(session->model);
    const char *slide = session_can_slide(session) ? " or --set kv.full=slide" : "";

    if (session->full != FULL_STOP || count <= session->options.context - length)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_LIMIT, "%llu %s not fit: the context of %llu token%s holds %llu so far",
                    (unsigned long long)count, count == 1 ? "token does" : "tokens do",
                    (unsigned long long)session->options.context, session->options.context == 1 ? "" : "s",
                    (unsigned long long)length);
    if (session->options.context < longest)
        accel_error_remedy(error, "set a longer context (--set context=%llu at most)%s, or use a shorter text",
                           (unsigned long long)longest, slide);
    else
        accel_error_remedy(error,
                           "use a shorter text%s; the model was trained for %llu tokens, and --set "
                           "context=N --set context.beyond_training=true continues past them",
                           slide, (unsigned long long)longest);
    return ACCEL_E_LIMIT;
}

int32_t session_check_feed(struct accel_session *session, const int32_t *ids, uint64_t count, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (session->is_loaded && !session->kv.sequences[0].is_open)
        return accel_error_set(error, ACCEL_E_INVALID, "sequence 0 is not open");
    /* A count that the context cannot hold is no length of `ids`. */
    if (session->is_loaded)
        code = session_check_length(session, session_length(session, &session->kv.sequences[0]), count, error);
    return code == ACCEL_OK ? session_check_ids(session, ids, count, error) : code;
}

/* Feeds tokens to sequence 0 in steps of at most `most`, each with a row of logits of its last token, or of each for
 * `function`. */
static int32_t feed_steps(struct accel_session *session, const int32_t *ids, uint64_t count, uint64_t most,
                          accel_logits_function function, void *data, struct accel_error *error)
{
    int32_t code = session_check_feed(session, ids, count, error);

    for (uint64_t done = 0; code == ACCEL_OK && done < count;) {
        uint64_t tokens = count - done < most ? count - done : most;
        struct step_span span = {.sequence = &session->kv.sequences[0],
                                 .ids = ids + done,
                                 .count = tokens,
                                 .outputs = function == NULL ? 1 : tokens};

        code = run_step(session, &span, 1, error);
        for (uint64_t t = 0; function != NULL && code == ACCEL_OK && t < tokens; t++)
            code = function(data, done + t, logits_of(session) + t * session->model->facts.vocabulary);
        done += tokens;
    }
    return code;
}

int32_t accel_session_feed(struct accel_session *session, const int32_t *ids, uint64_t count, const float **out_logits,
                           struct accel_error *error)
{
    int32_t code;

    if (session == NULL || ids == NULL || out_logits == NULL)
        return model_refuse_null(__func__, error);
    code = feed_steps(session, ids, count, session->options.span, NULL, NULL, error);
    *out_logits = code == ACCEL_OK ? logits_of(session) : NULL;
    return code;
}

int32_t accel_session_score(struct accel_session *session, const int32_t *ids, uint64_t count,
                            accel_logits_function function, void *data, struct accel_error *error)
{
    const struct step_options *options;

    if (session == NULL || ids == NULL || function == NULL)
        return model_refuse_null(__func__, error);
    options = &session->options;
    return feed_steps(session, ids, count, options->outputs < options->span ? options->outputs : options->span,
                      function, data, error);
}

/* Validates one part of a step against those before it and copies it to a span. */
static int32_t import_span(struct accel_session *session, const struct accel_session_part *parts, uint32_t index,
                           struct accel_error *error)
{
    const struct accel_session_part *given = &parts[index];
    struct step_span *span = &session->spans[index];
    int32_t code = session_check_ids(session, given->ids, given->count, error);

    if (code != ACCEL_OK)
        return code;
    if (given->sequence >= session->kv.count || !session->kv.sequences[given->sequence].is_open)
        return accel_error_set(error, ACCEL_E_INVALID, "part %u: sequence %u is not open", index, given->sequence);
    for (uint32_t p = 0; p < index; p++)
        if (parts[p].sequence == given->sequence)
            return accel_error_set(error, ACCEL_E_INVALID, "parts %u and %u are of the same sequence", p, index);
    if (given->outputs > given->count)
        return accel_error_set(error, ACCEL_E_INVALID, "part %u: %u rows of logits of %llu tokens", index,
                               given->outputs, (unsigned long long)given->count);
    *span = (struct step_span){.sequence = &session->kv.sequences[given->sequence],
                               .ids = given->ids,
                               .count = given->count,
                               .outputs = given->outputs};
    return session_check_length(session, session_length(session, span->sequence), span->count, error);
}

int32_t accel_session_step(struct accel_session *session, const struct accel_session_part *parts, uint32_t count,
                           const float **out_logits, struct accel_error *error)
{
    uint64_t tokens = 0, outputs = 0;
    int32_t code = ACCEL_OK;

    if (session == NULL || parts == NULL || out_logits == NULL)
        return model_refuse_null(__func__, error);
    *out_logits = NULL;
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    if (count == 0 || count > session->kv.count)
        return accel_error_set(error, ACCEL_E_INVALID, "a step of %u parts: the session has %u sequences", count,
                               session->kv.count);
    for (uint32_t p = 0; p < count; p++) {
        tokens = parts[p].count > UINT64_MAX - tokens ? UINT64_MAX : tokens + parts[p].count;
        outputs += parts[p].outputs;
    }
    for (uint32_t p = 0; code == ACCEL_OK && tokens <= session->options.batch && p < count; p++)
        code = import_span(session, parts, p, error);
    if (code == ACCEL_OK && (tokens > session->options.batch || outputs > session->options.outputs))
        code =
            accel_error_set(error, ACCEL_E_LIMIT, "a step of %llu tokens and %llu rows of logits: at most %llu, %llu",
                            (unsigned long long)tokens, (unsigned long long)outputs,
                            (unsigned long long)session->options.batch, (unsigned long long)session->options.outputs);
    if (code == ACCEL_OK)
        code = run_step(session, session->spans, count, error);
    if (code == ACCEL_OK && outputs > 0)
        *out_logits = logits_of(session);
    return code;
}

uint32_t accel_session_stage_count(const struct accel_session *session)
{
    uint32_t count = 0;

    for (uint32_t p = 0; session->options.stages && session->is_loaded && p < session->pipeline_count; p++)
        count += session->pipeline[p].io_count - IO_INPUTS;
    return count;
}

int32_t accel_session_stage(const struct accel_session *session, uint32_t index, struct accel_stage *out_stage,
                            struct accel_error *error)
{
    const struct pipeline_stage *stage;
    const struct accel_value *value;
    const struct io_buffer *io;
    int32_t code;

    if (session == NULL || out_stage == NULL)
        return model_refuse_null(__func__, error);
    if (out_stage->size < ACCEL_END_OF(struct accel_stage, width))
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_stage cannot have %u bytes", out_stage->size);
    if (index >= accel_session_stage_count(session) || session->last[SYMBOL_TOKENS] == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no stage %u of a step that has run", index);
    for (stage = session->pipeline; index >= stage->io_count - IO_INPUTS; stage++)
        index -= stage->io_count - IO_INPUTS;
    io = &stage->io[IO_INPUTS + index];
    value = stage->step.graph->values[io->value];
    out_stage->name = value->name;
    out_stage->values = io->bytes;
    code = accel_dim_value(&value->dims[0], session->last, SYMBOLS, &out_stage->rows, error);
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[1], session->last, SYMBOLS, &out_stage->width, error);
    return code;
}
