/* SPDX-License-Identifier: Apache-2.0 */
/* Feeding: tokens are cut into steps, a step's inputs are written, it runs, its rows are read. */
#include "sdk/model/session/internal.h"

#include "sdk/model/family/rope.h"

#include <string.h>

/* Writes the tokens of a part behind the *tokens and *outputs of the parts before it. */
static void fill_part(struct accel_session *session, const struct step_part *part, uint64_t *tokens, uint64_t *outputs)
{
    int32_t *id = (int32_t *)session->slots[SLOT_IDS].bytes + *tokens;
    int32_t *position = (int32_t *)session->slots[SLOT_POSITION].bytes + *tokens;
    int32_t *slot = (int32_t *)session->slots[SLOT_SLOT].bytes + *tokens;
    int32_t *rows = (int32_t *)session->slots[SLOT_ROWS].bytes + *outputs;

    for (uint64_t t = 0; t < part->count; t++) {
        id[t] = part->ids[t];
        position[t] = part->position + (int32_t)t;
        slot[t] = (int32_t)kv_slot(&session->kv, part->sequence, part->place + t);
    }
    *tokens += part->count;
    for (uint64_t r = 0; r < part->outputs; r++)
        rows[r] = (int32_t)(*tokens - part->outputs + r);
    *outputs += part->outputs;
}

static void fill_inputs(struct accel_session *session, const struct step_part *parts, uint32_t count,
                        uint64_t symbols[SYMBOLS])
{
    int32_t *table = session->slots[SLOT_TABLE].bytes;
    int32_t *first = session->slots[SLOT_FIRST].bytes;
    int32_t *length = session->slots[SLOT_LENGTH].bytes;
    uint64_t tokens = 0, outputs = 0;

    for (uint32_t p = 0; p < count; p++) {
        const struct kv_sequence *sequence = parts[p].sequence;

        first[p] = (int32_t)tokens;
        length[p] = (int32_t)(parts[p].place + parts[p].count);
        memcpy(table + (size_t)p * session->kv.pages_each, sequence->table, sequence->pages * sizeof *table);
        fill_part(session, &parts[p], &tokens, &outputs);
    }
    first[count] = (int32_t)tokens;
    /* A graph gives at least one row. */
    if (outputs == 0)
        ((int32_t *)session->slots[SLOT_ROWS].bytes)[outputs++] = (int32_t)tokens - 1;
    if (session->slots[SLOT_FREQUENCY].bytes != NULL)
        rope_frequencies(&session->model->config.rope, (uint64_t)parts[0].position + parts[0].count, NULL,
                         session->slots[SLOT_FREQUENCY].bytes);
    symbols[SYMBOL_TOKENS] = tokens;
    symbols[SYMBOL_OUTPUTS] = outputs;
    symbols[SYMBOL_SEQUENCES] = count;
}

static struct accel_work *add_work(struct accel_session *session, uint32_t kind, uint32_t *count)
{
    struct accel_work *work = &session->work[*count];

    *work = (struct accel_work){.size = sizeof *work, .kind = kind};
    session->work_list[(*count)++] = work;
    return work;
}

/* In pieces that the device takes. */
static void add_update(struct accel_session *session, const struct slot *slot, uint32_t *count)
{
    for (uint64_t done = 0; done < slot->size;) {
        struct accel_work *work = add_work(session, ACCEL_STEP_UPDATE, count);

        work->target = slot->buffer;
        work->target_offset = done;
        work->data = (const char *)slot->bytes + done;
        work->bytes = slot->size - done < session->piece ? slot->size - done : session->piece;
        done += work->bytes;
    }
}

static void add_read(struct accel_session *session, const struct slot *slot, uint32_t *count)
{
    struct accel_work *work = add_work(session, ACCEL_STEP_READ, count);

    work->source = slot->buffer;
    work->memory = slot->bytes;
    work->bytes = slot->size;
}

/* Moves inputs to the device, runs, moves outputs back: one submit. */
static int32_t run_copied(struct accel_session *session, struct accel_set *set, const uint64_t *symbols,
                          struct accel_error *error)
{
    struct accel_work *run;
    uint32_t count = 0;
    uint64_t value = 0;
    int32_t code;

    for (uint32_t i = 0; i < session->slot_count; i++)
        if (session->slots[i].copied && !session->slots[i].is_output && !session->slots[i].asked)
            add_update(session, &session->slots[i], &count);
    run = add_work(session, ACCEL_STEP_RUN, &count);
    run->set = set;
    run->symbols = symbols;
    for (uint32_t i = 0; i < session->slot_count; i++)
        if (session->slots[i].copied && session->slots[i].is_output && !session->slots[i].asked)
            add_read(session, &session->slots[i], &count);
    code = accel_queue_submit(session->queue, session->work_list, count, NULL, 0, &value, error);
    return code == ACCEL_OK ? accel_queue_wait(session->queue, value, UINT64_MAX, error) : code;
}

int32_t session_run_set(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error)
{
    struct accel_set *set = symbols[SYMBOL_TOKENS] == 1 && session->one != NULL ? session->one : session->many;

    return session->work_list == NULL ? accel_set_run(set, symbols, error) : run_copied(session, set, symbols, error);
}

int32_t session_run(struct accel_session *session, const struct step_part *parts, uint32_t count,
                    struct accel_error *error)
{
    uint64_t symbols[SYMBOLS];
    int32_t code;

    fill_inputs(session, parts, count, symbols);
    code = session->piece_count != 0 ? session_pieces_run(session, symbols, error)
                                     : session_run_set(session, symbols, error);
    if (code == ACCEL_OK)
        memcpy(session->last, symbols, sizeof symbols);
    return code;
}

/* What was fed is cached now. Part `index` of its step. */
static void keep_part(const struct accel_session *session, const struct step_part *part, uint32_t index)
{
    const struct kv *kv = &session->kv;
    struct kv_sequence *sequence = part->sequence;

    for (uint64_t t = 0; t < part->count; t++) {
        uint64_t place = part->place + t;

        sequence->position[place] = part->position + (int32_t)t;
        if (place < kv->sinks)
            sequence->sinks[place] = part->ids[t];
    }
    sequence->length = part->place + part->count;
    if (session->by_usage)
        kv_add_mass(kv, sequence, part->count,
                    (const float *)session->slots[session->mass_slot].bytes + index * kv->pages_each * kv->page,
                    1.0f / (float)(session->model->config.heads * session->model->config.layers));
}

/* Parts behind what their sequences hold: `ids`, `count` and `outputs` are given, the rest is filled. */
static int32_t step(struct accel_session *session, struct step_part *parts, uint32_t count, struct accel_error *error)
{
    int32_t code = session_check_cancel(session, error);

    for (uint32_t p = 0; code == ACCEL_OK && p < count; p++) {
        code = session_make_room(session, parts[p].sequence, parts[p].count, error);
        parts[p].place = parts[p].sequence->length;
        parts[p].position = kv_next(parts[p].sequence);
    }
    if (code == ACCEL_OK)
        code = session_run(session, parts, count, error);
    if (code == ACCEL_OK && session->reads_file)
        code = accel_model_file_check(session->model->file, error);
    for (uint32_t p = 0; code == ACCEL_OK && p < count; p++)
        keep_part(session, &parts[p], p);
    return code;
}

int32_t session_check_ids(const struct accel_session *session, const int32_t *ids, uint64_t count,
                          struct accel_error *error)
{
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    if (count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no tokens to feed");
    for (uint64_t i = 0; i < count; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= session->model->facts.vocabulary)
            return accel_error_set(error, ACCEL_E_INVALID, "token %llu is %d, outside of the vocabulary of %u",
                                   (unsigned long long)i, ids[i], session->model->facts.vocabulary);
    return ACCEL_OK;
}

static int32_t check_length(const struct accel_session *session, const struct kv_sequence *sequence, uint64_t count,
                            struct accel_error *error)
{
    const uint64_t length = session_length(session, sequence), longest = session_longest_context(session->model);

    if (session->full != FULL_STOP || count <= session->options.context - length)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_LIMIT, "%llu tokens do not fit: the context of %llu tokens holds %llu so far",
                    (unsigned long long)count, (unsigned long long)session->options.context,
                    (unsigned long long)length);
    if (session->options.context < longest)
        accel_error_remedy(error,
                           "a longer context (--set context, %llu at most), a shorter text, or --set kv.full=slide",
                           (unsigned long long)longest);
    else
        accel_error_remedy(error, "a shorter text, or --set kv.full=slide; the model was made for %llu tokens",
                           (unsigned long long)longest);
    return ACCEL_E_LIMIT;
}

/* Tokens for sequence 0. */
static int32_t check_feed(struct accel_session *session, const int32_t *ids, uint64_t count, struct accel_error *error)
{
    int32_t code = session_check_ids(session, ids, count, error);

    return code == ACCEL_OK ? check_length(session, &session->kv.sequences[0], count, error) : code;
}

int32_t session_check_cancel(struct accel_session *session, struct accel_error *error)
{
    if (atomic_exchange(&session->cancelled, 0) == 0)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_CANCELLED, "cancelled after %llu tokens",
                           (unsigned long long)accel_session_length(session));
}

int32_t accel_session_feed(struct accel_session *session, const int32_t *ids, uint64_t count, const float **out_logits,
                           struct accel_error *error)
{
    int32_t code = check_feed(session, ids, count, error);

    *out_logits = NULL;
    for (uint64_t done = 0; code == ACCEL_OK && done < count;) {
        uint64_t tokens = count - done < session->options.batch ? count - done : session->options.batch;
        struct step_part part = {
            .sequence = &session->kv.sequences[0], .ids = ids + done, .count = tokens, .outputs = 1};

        code = step(session, &part, 1, error);
        done += tokens;
    }
    if (code == ACCEL_OK)
        *out_logits = session->slots[session->logits_slot].bytes;
    return code;
}

int32_t accel_session_score(struct accel_session *session, const int32_t *ids, uint64_t count,
                            accel_logits_function function, void *data, struct accel_error *error)
{
    uint64_t most = session->options.outputs;
    int32_t code = check_feed(session, ids, count, error);

    for (uint64_t done = 0; code == ACCEL_OK && done < count;) {
        uint64_t tokens = count - done < most ? count - done : most;
        struct step_part part = {
            .sequence = &session->kv.sequences[0], .ids = ids + done, .count = tokens, .outputs = tokens};
        const float *logits;

        code = step(session, &part, 1, error);
        logits = session->slots[session->logits_slot].bytes;
        for (uint64_t t = 0; code == ACCEL_OK && t < tokens; t++)
            code = function(data, done + t, logits + t * session->model->facts.vocabulary);
        done += tokens;
    }
    return code;
}

/* Checks one part of a step against those before it, and takes it. */
static int32_t take_part(struct accel_session *session, const struct accel_session_part *parts, uint32_t index,
                         struct accel_error *error)
{
    const struct accel_session_part *given = &parts[index];
    struct step_part *part = &session->step_parts[index];
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
    *part = (struct step_part){.sequence = &session->kv.sequences[given->sequence],
                               .ids = given->ids,
                               .count = given->count,
                               .outputs = given->outputs};
    return check_length(session, part->sequence, part->count, error);
}

int32_t accel_session_step(struct accel_session *session, const struct accel_session_part *parts, uint32_t count,
                           const float **out_logits, struct accel_error *error)
{
    uint64_t tokens = 0, outputs = 0;
    int32_t code = ACCEL_OK;

    *out_logits = NULL;
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    if (count == 0 || count > session->kv.count)
        return accel_error_set(error, ACCEL_E_INVALID, "a step of %u parts: the session has %u sequences", count,
                               session->kv.count);
    for (uint32_t p = 0; code == ACCEL_OK && p < count; p++) {
        code = take_part(session, parts, p, error);
        tokens += parts[p].count;
        outputs += parts[p].outputs;
    }
    if (code == ACCEL_OK && (tokens > session->options.batch || outputs > session->options.outputs))
        code =
            accel_error_set(error, ACCEL_E_LIMIT, "a step of %llu tokens and %llu rows of logits: at most %llu, %llu",
                            (unsigned long long)tokens, (unsigned long long)outputs,
                            (unsigned long long)session->options.batch, (unsigned long long)session->options.outputs);
    if (code == ACCEL_OK)
        code = step(session, session->step_parts, count, error);
    if (code == ACCEL_OK && outputs > 0)
        *out_logits = session->slots[session->logits_slot].bytes;
    return code;
}

uint32_t accel_session_stage_count(const struct accel_session *session)
{
    return session->options.stages && session->slots != NULL ? session->slot_count - SLOT_INPUTS : 0;
}

int32_t accel_session_stage(const struct accel_session *session, uint32_t index, struct accel_stage *out_stage,
                            struct accel_error *error)
{
    const struct accel_value *value;
    const struct slot *slot;
    int32_t code;

    if (out_stage->size < ACCEL_END_OF(struct accel_stage, width))
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_stage cannot have %u bytes", out_stage->size);
    if (index >= accel_session_stage_count(session) || session->last[SYMBOL_TOKENS] == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no stage %u of a step that has run", index);
    slot = &session->slots[SLOT_INPUTS + index];
    value = session->step.graph->values[slot->value];
    out_stage->name = value->name;
    out_stage->values = slot->bytes;
    code = accel_dim_value(&value->dims[0], session->last, SYMBOLS, &out_stage->rows, error);
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[1], session->last, SYMBOLS, &out_stage->width, error);
    return code;
}
