/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, forks, truncates and closes the sequences of a session, and reserves places for new tokens. */

#include "model/session/sequences.h"

#include "model/file/fault.h"
#include "model/session/step.h"

static int32_t find_open_sequence(const struct accel_session *session, uint32_t index,
                                  struct kv_sequence **out_sequence, struct accel_error *error)
{
    *out_sequence = NULL;
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    if (index >= session->kv.count || !session->kv.sequences[index].is_open)
        return accel_error_set(error, ACCEL_E_INVALID, "sequence %u is not open", index);
    *out_sequence = &session->kv.sequences[index];
    return ACCEL_OK;
}

uint64_t session_length(const struct accel_session *session, const struct kv_sequence *sequence)
{
    return session->full == FULL_STOP ? (uint64_t)kv_next(sequence) : sequence->length;
}

bool session_is_full(const struct accel_session *session, uint32_t sequence)
{
    return session->full == FULL_STOP &&
           session_length(session, &session->kv.sequences[sequence]) == session->options.context;
}

uint32_t accel_session_sequences(const struct accel_session *session)
{
    return (uint32_t)session->options.sequences;
}

int32_t accel_session_open(struct accel_session *session, uint32_t *out_sequence, struct accel_error *error)
{
    uint32_t index = 0;

    if (session == NULL || out_sequence == NULL)
        return model_refuse_null(__func__, error);
    *out_sequence = UINT32_MAX;
    if (!session->is_loaded)
        return accel_error_set(error, ACCEL_E_INVALID, "the session is not loaded");
    while (index < session->kv.count && session->kv.sequences[index].is_open)
        index++;
    if (index == session->kv.count) {
        accel_error_set(error, ACCEL_E_LIMIT, "all %u sequences of the session are open", session->kv.count);
        return accel_error_advise(error, ACCEL_E_LIMIT, "close one, or --set sequences=%u", session->kv.count * 2);
    }
    session->kv.sequences[index].is_open = true;
    *out_sequence = index;
    return ACCEL_OK;
}

/* Finds the place of the token after the first `length`, if everything that it attends to is still cached. */
static int32_t find_place(const struct accel_session *session, uint32_t index, uint64_t length, uint64_t *out_place,
                          struct accel_error *error)
{
    const struct kv_sequence *sequence = &session->kv.sequences[index];
    uint64_t total = session_length(session, sequence), left = total - sequence->length;
    uint64_t first = kv_sinks_end(&session->kv);

    if (length > total)
        return accel_error_set(error, ACCEL_E_INVALID, "sequence %u holds %llu tokens, not %llu", index,
                               (unsigned long long)total, (unsigned long long)length);
    *out_place = length <= first ? length : length - left;
    if (left == 0 || length <= first || length + 1 >= first + left + session->options.window)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_LIMIT,
                    "sequence %u cannot go back to its first %llu tokens: of its %llu, %llu have left the window",
                    index, (unsigned long long)length, (unsigned long long)total, (unsigned long long)left);
    return accel_error_advise(error, ACCEL_E_LIMIT, "truncate to 0 and feed the tokens again");
}

int32_t accel_session_close(struct accel_session *session, uint32_t sequence, struct accel_error *error)
{
    struct kv_sequence *found;
    int32_t code =
        session == NULL ? model_refuse_null(__func__, error) : find_open_sequence(session, sequence, &found, error);

    if (code != ACCEL_OK)
        return code;
    kv_truncate(&session->kv, found, 0);
    found->is_open = false;
    return ACCEL_OK;
}

int32_t accel_session_fork(struct accel_session *session, uint32_t from, uint64_t length, uint32_t *out_sequence,
                           struct accel_error *error)
{
    struct kv_sequence *source;
    uint64_t place;
    int32_t code;

    if (session == NULL || out_sequence == NULL)
        return model_refuse_null(__func__, error);
    *out_sequence = UINT32_MAX;
    code = find_open_sequence(session, from, &source, error);
    if (code != ACCEL_OK)
        return code;
    code = find_place(session, from, length, &place, error);
    if (code == ACCEL_OK)
        code = accel_session_open(session, out_sequence, error);
    if (code == ACCEL_OK)
        kv_share(&session->kv, source, place, &session->kv.sequences[*out_sequence]);
    return code;
}

uint64_t accel_session_sequence_length(const struct accel_session *session, uint32_t sequence)
{
    return sequence < session->kv.count ? session_length(session, &session->kv.sequences[sequence]) : 0;
}

int32_t accel_session_sequence_truncate(struct accel_session *session, uint32_t sequence, uint64_t length,
                                        struct accel_error *error)
{
    struct kv_sequence *found;
    uint64_t place;
    int32_t code =
        session == NULL ? model_refuse_null(__func__, error) : find_open_sequence(session, sequence, &found, error);

    if (code == ACCEL_OK)
        code = find_place(session, sequence, length, &place, error);
    if (code == ACCEL_OK)
        kv_truncate(&session->kv, found, place);
    return code;
}

int32_t accel_session_truncate(struct accel_session *session, uint64_t length, struct accel_error *error)
{
    if (session != NULL && !session->is_loaded && length == 0)
        return ACCEL_OK;
    return accel_session_sequence_truncate(session, 0, length, error);
}

/* ---- reserving places ---- */

static int32_t copy_page(struct pipeline_stage *stage, const struct kv_copy *copy, struct accel_error *error)
{
    const struct accel_state_change change = {
        .kind = ACCEL_STATE_COPY, .from = copy->from, .to = copy->to, .count = copy->count};
    const struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_STATE, .state = stage->state, .changes = &change, .change_count = 1};
    const struct accel_step *list[] = {&step};
    uint64_t value = 0;
    int32_t code = accel_queue_submit(stage->queue, list, 1, NULL, 0, &value, error);

    return code == ACCEL_OK ? accel_queue_wait(stage->queue, value, UINT64_MAX, error) : code;
}

/* Copies a page on every device that has layers. */
static int32_t copy_pages(struct accel_session *session, const struct kv_copy *copy, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; code == ACCEL_OK && p < session->pipeline_count; p++)
        if (session->pipeline[p].state != NULL)
            code = copy_page(&session->pipeline[p], copy, error);
    return code;
}

/* Makes the page of a place private to the sequence, copying it if it was shared. */
static int32_t own_page(struct accel_session *session, struct kv_sequence *sequence, uint64_t place,
                        struct accel_error *error)
{
    struct kv_copy copy;
    int32_t code = kv_own(&session->kv, sequence, place, &copy, error);

    return code == ACCEL_OK && copy.count > 0 ? copy_pages(session, &copy, error) : code;
}

/* Feeds the sinks again at the positions just before the remaining tokens: their keys were rotated for positions that
 * no longer adjoin the text. Nothing else attends to them meanwhile, so the result is the same as for a new text. */
static int32_t refeed_sinks(struct accel_session *session, struct kv_sequence *sequence, struct accel_error *error)
{
    const struct kv *kv = &session->kv;
    int32_t base = sequence->position[kv->sinks] - (int32_t)kv->sinks;
    int32_t code = ACCEL_OK;

    for (uint64_t place = 0; code == ACCEL_OK && place < kv->sinks; place += kv->page)
        code = own_page(session, sequence, place, error);
    for (uint64_t place = 0; code == ACCEL_OK && place < kv->sinks;) {
        uint64_t left = kv->sinks - place;
        struct step_span span = {.sequence = sequence,
                                 .ids = sequence->sinks + place,
                                 .count = left < session->options.batch ? left : session->options.batch,
                                 .place = place,
                                 .position = base + (int32_t)place};

        code = session_run(session, &span, 1, error);
        for (uint64_t t = 0; t < span.count; t++)
            sequence->position[place + t] = span.position + (int32_t)t;
        place += span.count;
    }
    return code;
}

/* Drops the tokens that `count` more need, or none: some besides the sinks always stay. With kv.full=stop only tokens
 * outside of every window are dropped; the caller has checked the length. */
static int32_t drop_tokens(struct accel_session *session, struct kv_sequence *sequence, uint64_t count,
                           struct accel_error *error)
{
    struct kv *kv = &session->kv;
    uint64_t over, drop;

    if (sequence->length + count <= kv->context)
        return ACCEL_OK;
    over = sequence->length + count - kv->context;
    drop = (over + kv->page - 1) / kv->page * kv->page;
    if (drop + kv->sinks >= sequence->length)
        return accel_error_set(error, ACCEL_E_LIMIT, "%llu tokens at once are too many for a context of %llu",
                               (unsigned long long)count, (unsigned long long)kv->context);
    if (session->by_usage) {
        kv_drop_unused(kv, sequence, session->options.window, drop);
        return ACCEL_OK;
    }
    if (session->full != FULL_SLIDE) {
        kv_drop(kv, sequence, kv_sinks_end(kv), drop);
        return ACCEL_OK;
    }
    kv_drop(kv, sequence, 0, drop);
    return kv->sinks == 0 ? ACCEL_OK : refeed_sinks(session, sequence, error);
}

int32_t session_reserve(struct accel_session *session, struct kv_sequence *sequence, uint64_t count,
                        struct accel_error *error)
{
    struct kv *kv = &session->kv;
    int32_t code = drop_tokens(session, sequence, count, error);

    if (code == ACCEL_OK)
        code = kv_reserve(kv, sequence, sequence->length + count, error);
    /* Only the page of the last token can be shared: the pages after it are newly allocated. */
    if (code == ACCEL_OK && sequence->length % kv->page != 0)
        code = own_page(session, sequence, sequence->length, error);
    return code;
}
