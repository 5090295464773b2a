/* SPDX-License-Identifier: Apache-2.0 */
/* Feeding: tokens are cut into steps, a step's inputs are written, it runs, its rows are read. */
#include "sdk/model/session/internal.h"

#include "sdk/model/family/rope.h"

static void fill_inputs(struct accel_session *session, const int32_t *ids, uint64_t tokens, uint64_t outputs)
{
    int32_t *id = session->slots[SLOT_IDS].bytes;
    int32_t *position = session->slots[SLOT_POSITION].bytes;
    int32_t *slot = session->slots[SLOT_SLOT].bytes;
    int32_t *first = session->slots[SLOT_FIRST].bytes;
    int32_t *rows = session->slots[SLOT_ROWS].bytes;

    for (uint64_t t = 0; t < tokens; t++) {
        id[t] = ids[t];
        position[t] = (int32_t)(session->length + t);
        slot[t] = position[t];
    }
    for (uint64_t r = 0; r < outputs; r++)
        rows[r] = (int32_t)(tokens - outputs + r);
    first[1] = (int32_t)tokens;
    *(int32_t *)session->slots[SLOT_LENGTH].bytes = (int32_t)(session->length + tokens);
    if (session->slots[SLOT_FREQUENCY].buffer != NULL)
        rope_frequencies(&session->model->config.rope, session->length + tokens, NULL,
                         session->slots[SLOT_FREQUENCY].bytes);
}

/* Moves inputs to the device, runs, moves outputs back: one submit. */
static int32_t run_copied(struct accel_session *session, struct accel_set *set, const uint64_t *symbols,
                          struct accel_error *error)
{
    uint32_t count = 0;
    uint64_t value = 0;
    int32_t code;

    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < session->slot_count; i++) {
            const struct slot *slot = &session->slots[i];
            struct accel_work *work = &session->work[count];

            if (!slot->copied || slot->is_output != pass || slot->asked)
                continue;
            *work = (struct accel_work){.size = sizeof *work, .bytes = slot->size};
            work->kind = pass == 0 ? ACCEL_STEP_UPDATE : ACCEL_STEP_READ;
            if (pass == 0) {
                work->target = slot->buffer;
                work->data = slot->bytes;
            } else {
                work->source = slot->buffer;
                work->memory = slot->bytes;
            }
            session->work_list[count++] = work;
        }
        if (pass == 0) {
            session->work[count] = (struct accel_work){
                .size = sizeof *session->work, .kind = ACCEL_STEP_RUN, .set = set, .symbols = symbols};
            session->work_list[count] = &session->work[count];
            count++;
        }
    }
    code = accel_queue_submit(session->queue, session->work_list, count, NULL, 0, &value, error);
    return code == ACCEL_OK ? accel_queue_wait(session->queue, value, UINT64_MAX, error) : code;
}

int32_t session_step(struct accel_session *session, const int32_t *ids, uint64_t tokens, uint64_t outputs,
                     struct accel_error *error)
{
    struct accel_set *set = tokens == 1 && session->one != NULL ? session->one : session->many;
    uint64_t symbols[] = {tokens, outputs};
    int32_t code;

    fill_inputs(session, ids, tokens, outputs);
    if (session->work_list == NULL)
        code = accel_set_run(set, symbols, error);
    else
        code = run_copied(session, set, symbols, error);
    if (code != ACCEL_OK)
        return code;
    session->length += tokens;
    session->last_tokens = tokens;
    session->last_outputs = outputs;
    return ACCEL_OK;
}

static int32_t check_feed(struct accel_session *session, const int32_t *ids, uint64_t count, struct accel_error *error)
{
    if (session->many == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    if (count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no tokens to feed");
    if (count > session->options.slots - session->length) {
        accel_error_set(error, ACCEL_E_LIMIT, "%llu tokens do not fit: the context of %llu tokens holds %llu so far",
                        (unsigned long long)count, (unsigned long long)session->options.slots,
                        (unsigned long long)session->length);
        accel_error_remedy(error, "a longer context (--set context), or a shorter text");
        return ACCEL_E_LIMIT;
    }
    for (uint64_t i = 0; i < count; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= session->model->facts.vocabulary)
            return accel_error_set(error, ACCEL_E_INVALID, "token %llu is %d, outside of the vocabulary of %u",
                                   (unsigned long long)i, ids[i], session->model->facts.vocabulary);
    return ACCEL_OK;
}

static int32_t check_cancel(struct accel_session *session, struct accel_error *error)
{
    if (atomic_exchange(&session->cancelled, 0) == 0)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_CANCELLED, "cancelled after %llu tokens",
                           (unsigned long long)session->length);
}

int32_t accel_session_feed(struct accel_session *session, const int32_t *ids, uint64_t count, const float **out_logits,
                           struct accel_error *error)
{
    int32_t code = check_feed(session, ids, count, error);

    *out_logits = NULL;
    for (uint64_t done = 0; code == ACCEL_OK && done < count;) {
        uint64_t tokens = count - done < session->options.batch ? count - done : session->options.batch;

        code = check_cancel(session, error);
        if (code == ACCEL_OK)
            code = session_step(session, ids + done, tokens, 1, error);
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
        const float *logits;

        code = check_cancel(session, error);
        if (code == ACCEL_OK)
            code = session_step(session, ids + done, tokens, tokens, error);
        logits = session->slots[session->logits_slot].bytes;
        for (uint64_t t = 0; code == ACCEL_OK && t < tokens; t++)
            code = function(data, done + t, logits + t * session->model->facts.vocabulary);
        done += tokens;
    }
    return code;
}

int32_t accel_session_truncate(struct accel_session *session, uint64_t length, struct accel_error *error)
{
    if (length > session->length)
        return accel_error_set(error, ACCEL_E_INVALID, "the session holds %llu tokens, not %llu",
                               (unsigned long long)session->length, (unsigned long long)length);
    session->length = length;
    return ACCEL_OK;
}

uint32_t accel_session_stage_count(const struct accel_session *session)
{
    return session->options.stages && session->slots != NULL ? session->slot_count - SLOT_INPUTS : 0;
}

int32_t accel_session_stage(const struct accel_session *session, uint32_t index, struct accel_stage *out_stage,
                            struct accel_error *error)
{
    uint64_t symbols[] = {session->last_tokens, session->last_outputs};
    const struct accel_value *value;
    const struct slot *slot;
    int32_t code;

    if (out_stage->size < ACCEL_END_OF(struct accel_stage, width))
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_stage cannot have %u bytes", out_stage->size);
    if (index >= accel_session_stage_count(session) || session->last_tokens == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no stage %u of a step that has run", index);
    slot = &session->slots[SLOT_INPUTS + index];
    value = session->step.graph->values[slot->value];
    out_stage->name = value->name;
    out_stage->values = slot->bytes;
    code = accel_dim_value(&value->dims[0], symbols, 2, &out_stage->rows, error);
    if (code == ACCEL_OK)
        code = accel_dim_value(&value->dims[1], symbols, 2, &out_stage->width, error);
    return code;
}
