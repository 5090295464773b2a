/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <accel/model/generate.h>

#include "model/file/fault.h"
#include "model/session/logits.h"
#include "model/session/measure.h"
#include "model/session/sequences.h"
#include "model/session/step.h"

/* State of one generated text. */
struct generator {
    struct accel_session *session;
    const struct accel_tokenizer *tokenizer;
    const struct accel_generate_options *options;
    struct accel_generate_result *result;
    struct accel_sampling sampling;
    struct accel_token_stream *stream;
    struct accel_sample_candidate *scratch;
    int32_t *recent; /* prompt and generated tokens */
    uint64_t recent_count;
    uint64_t recent_capacity;
    uint32_t sequence;
    uint64_t seed_step; /* added to the seed of the options */
    uint64_t began;
    uint64_t first;
    char *pending; /* text that may be the beginning of a stop text, not emitted yet */
    size_t pending_bytes;
    size_t pending_capacity;
};

static bool is_end_token(const struct generator *w, int32_t id)
{
    const struct accel_model_facts *facts = &w->session->model->facts;

    if ((w->options->flags & ACCEL_GENERATE_PAST_END) != 0)
        return false;
    for (uint32_t i = 0; i < facts->eos_count; i++)
        if (facts->eos[i] == (uint32_t)id)
            return true;
    return id == facts->bos || accel_tokenizer_is_end(w->tokenizer, id);
}

/* Passes text to the caller; returns 1 if the caller stops. */
static bool emit_text(const struct generator *w, int32_t id, const char *text, size_t bytes)
{
    return w->options->text != NULL && w->options->text(w->options->data, id, text, bytes) != 0;
}

/* Returns the offset of the first stop text in the pending text, or its length if there is none. */
static size_t find_stop(const struct generator *w)
{
    size_t first = w->pending_bytes;

    for (uint64_t i = 0; i < w->options->stop_count; i++) {
        const char *at = memmem(w->pending, w->pending_bytes, w->options->stops[i], strlen(w->options->stops[i]));

        if (at != NULL && (size_t)(at - w->pending) < first)
            first = (size_t)(at - w->pending);
    }
    return first;
}

/* Returns the number of pending bytes at the end that may begin a stop text. */
static size_t count_stop_prefix(const struct generator *w)
{
    size_t most = 0;

    for (uint64_t i = 0; i < w->options->stop_count; i++) {
        size_t length = strlen(w->options->stops[i]) - 1;

        if (length > w->pending_bytes)
            length = w->pending_bytes;
        while (length > most && memcmp(w->pending + w->pending_bytes - length, w->options->stops[i], length) != 0)
            length--;
        most = length > most ? length : most;
    }
    return most;
}

/* Emits the text of a token as far as no stop text can begin in it. *out_stop: ACCEL_STOP_... if the text
 * ends here, or 0. */
static int32_t emit_token(struct generator *w, int32_t id, const char *text, size_t bytes, uint32_t *out_stop,
                          struct accel_error *error)
{
    size_t found, out;

    *out_stop = 0;
    if (w->options->stop_count == 0) {
        *out_stop = emit_text(w, id, text, bytes) ? ACCEL_STOP_CALLER : 0;
        return ACCEL_OK;
    }
    if (w->pending_bytes + bytes + 1 > w->pending_capacity) {
        size_t capacity = 2 * (w->pending_bytes + bytes + 64);
        char *pending = realloc(w->pending, capacity);

        if (pending == NULL)
            return accel_error_no_memory(error, "for pending text");
        w->pending = pending;
        w->pending_capacity = capacity;
    }
    if (bytes > 0)
        memcpy(w->pending + w->pending_bytes, text, bytes);
    w->pending_bytes += bytes;
    found = find_stop(w);
    out = found < w->pending_bytes ? found : w->pending_bytes - count_stop_prefix(w);
    if (emit_text(w, id, w->pending, out))
        *out_stop = ACCEL_STOP_CALLER;
    if (found < w->pending_bytes)
        *out_stop = ACCEL_STOP_TEXT;
    w->pending_bytes = *out_stop != 0 ? 0 : w->pending_bytes - out;
    memmove(w->pending, w->pending + out, w->pending_bytes);
    return ACCEL_OK;
}

/* Emits the pending text at the end, and an incomplete character. */
static void emit_rest(struct generator *w)
{
    const char *text = NULL;
    size_t bytes = 0;

    if (w->result->stop != ACCEL_STOP_TEXT && w->result->stop != ACCEL_STOP_CALLER && w->pending_bytes > 0)
        emit_text(w, -1, w->pending, w->pending_bytes);
    if (w->stream != NULL && accel_token_stream_flush(w->stream, &text, &bytes, NULL) == ACCEL_OK && bytes > 0 &&
        w->result->stop != ACCEL_STOP_TEXT)
        emit_text(w, -1, text, bytes);
    free(w->pending);
    w->pending = NULL;
    w->pending_bytes = w->pending_capacity = 0;
}

static int32_t begin_generation(struct generator *w, const int32_t *prompt, uint64_t count, struct accel_error *error)
{
    uint64_t vocabulary = w->session->model->facts.vocabulary;
    uint64_t capacity = w->session->options.context + 1;
    const char *text = NULL;
    size_t bytes = 0;
    int32_t code;

    accel_sampling_init(&w->sampling);
    code = w->options->sampling == NULL
               ? ACCEL_OK
               : open_struct_import(w->options->sampling, sizeof(w->sampling), sizeof(w->sampling), "accel_sampling",
                                    &w->sampling, error);
    if (code != ACCEL_OK)
        return code;
    w->sampling.seed += w->seed_step;
    w->scratch = calloc(accel_sample_scratch(vocabulary), sizeof(*w->scratch));
    w->recent = calloc(capacity, sizeof(*w->recent));
    if (w->scratch == NULL || w->recent == NULL)
        return accel_error_no_memory(error, "for sampling from %llu tokens", (unsigned long long)vocabulary);
    code = accel_token_stream_create(w->tokenizer, ACCEL_DECODE_SKIP_SPECIAL, &w->stream, error);
    /* Feeds the prompt to the decoder, so that what it does at the beginning of a text is done. */
    for (uint64_t i = 0; code == ACCEL_OK && i < count; i++)
        code = accel_token_stream_push(w->stream, prompt[i], &text, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    w->recent_capacity = capacity;
    w->recent_count = count < capacity ? count : capacity;
    memcpy(w->recent, prompt, w->recent_count * sizeof(*prompt));
    return ACCEL_OK;
}

/* Appends a token to the history; a full history drops its older half. */
static void remember(struct generator *w, int32_t id)
{
    if (w->recent_count == w->recent_capacity) {
        memmove(w->recent, w->recent + w->recent_capacity / 2,
                (w->recent_capacity - w->recent_capacity / 2) * sizeof(*w->recent));
        w->recent_count -= w->recent_capacity / 2;
    }
    w->recent[w->recent_count++] = id;
}

/* Samples a token and emits its text. *out_done: 1 when generation ends. */
static int32_t generate_token(struct generator *w, const float *logits, int32_t *out_id, uint32_t *out_done,
                              struct accel_error *error)
{
    const char *text = NULL;
    size_t bytes = 0;
    uint64_t vocabulary = w->session->model->facts.vocabulary;
    uint32_t stop = 0;
    struct accel_error why = {0};
    int32_t code = accel_sample(&w->sampling, logits, vocabulary, w->recent, w->recent_count, 0, w->result->tokens,
                                w->scratch, out_id, &why);

    *out_done = 1;
    if (code == ACCEL_E_INVALID && !logits_are_usable(logits, vocabulary))
        return accel_session_report_nonfinite(w->session, "logits", error);
    if (code != ACCEL_OK) {
        if (error != NULL && error->code == ACCEL_OK)
            *error = why;
        return code;
    }
    if (w->first == 0)
        w->first = session_now();
    if (is_end_token(w, *out_id)) {
        w->result->stop = ACCEL_STOP_END;
        return ACCEL_OK;
    }
    remember(w, *out_id);
    w->result->tokens++;
    code = accel_token_stream_push(w->stream, *out_id, &text, &bytes, error);
    if (code == ACCEL_OK)
        code = emit_token(w, *out_id, text, bytes, &stop, error);
    if (code != ACCEL_OK)
        return code;
    if (stop != 0)
        w->result->stop = stop;
    else if (w->options->tokens != 0 && w->result->tokens == w->options->tokens)
        w->result->stop = ACCEL_STOP_LENGTH;
    else if (session_is_full(w->session, w->sequence))
        w->result->stop = ACCEL_STOP_CONTEXT;
    else
        *out_done = 0;
    return ACCEL_OK;
}

static int32_t import_options(const struct accel_generate_options *given, const struct accel_generate_result *result,
                              struct accel_generate_options *out_options, struct accel_error *error)
{
    int32_t code = open_struct_import(given, ACCEL_END_OF(struct accel_generate_options, data), sizeof(*out_options),
                                      "accel_generate_options", out_options, error);

    if (code == ACCEL_OK && (out_options->flags & ~ACCEL_GENERATE_PAST_END) != 0)
        code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_generate_options.flags 0x%x has unknown bits",
                               out_options->flags);
    if (code == ACCEL_OK && out_options->stop_count != 0 && out_options->stops == NULL)
        code = accel_error_set(error, ACCEL_E_INVALID, "accel_generate_options.stops is NULL");
    for (uint64_t i = 0; code == ACCEL_OK && i < out_options->stop_count; i++)
        if (out_options->stops[i] == NULL || out_options->stops[i][0] == '\0')
            code = accel_error_set(error, ACCEL_E_INVALID, "stop text %llu is empty", (unsigned long long)i);
    if (code == ACCEL_OK && result->size < ACCEL_END_OF(struct accel_generate_result, stop))
        code =
            accel_error_set(error, ACCEL_E_INVALID, "struct accel_generate_result cannot have %u bytes", result->size);
    return code;
}

/* Notes the metrics of texts that have ended or were cancelled, with `code`; returns it, or the error of a note. */
static int32_t measure_run(struct accel_session *session, int32_t code, struct accel_error *error)
{
    struct accel_error why = {0};
    int32_t measured = code == ACCEL_OK || code == ACCEL_E_CANCELLED ? session_measure_run(session, &why) : ACCEL_OK;

    if (code != ACCEL_OK || measured == ACCEL_OK)
        return code;
    if (error != NULL && error->code == ACCEL_OK)
        *error = why;
    return measured;
}

/* ---- the batch: one text is a batch of one ---- */

/* A sequence slot: generates one text after the other in one sequence. */
struct seq_slot {
    struct generator w;
    struct accel_generate_options options; /* with the callback data of the text */
    struct accel_generate_result filled;
    const struct accel_generate_text *text; /* NULL: free */
    struct accel_generate_result *result;
    uint64_t fed;    /* prompt tokens fed so far */
    int32_t id;      /* sampled, and not fed yet */
    uint32_t opened; /* 1: close its sequence in the end */
    uint32_t sequence;
};

struct batch {
    struct accel_session *session;
    const struct accel_generate_options *options;
    const struct accel_tokenizer *tokenizer;
    const struct accel_generate_text *texts;
    struct accel_generate_result *const *results;
    struct seq_slot *slots;
    struct accel_session_part *parts;
    struct seq_slot **of; /* the sequence slot of each part */
    uint32_t *order;      /* queued texts, the longest prompt last */
    uint64_t number;      /* of the first text, among all of the session */
    uint32_t slot_count;
    uint32_t queued;
    bool continues; /* the text continues sequence 0 */
};

/* Ends the text of a sequence slot: emits the rest and returns the result. */
static void end_text(struct seq_slot *slot)
{
    if (slot->text == NULL)
        return;
    emit_rest(&slot->w);
    if (slot->w.first != 0) {
        slot->filled.first_token_time = slot->w.first - slot->w.began;
        slot->filled.decode_time = session_now() - slot->w.first;
    }
    open_struct_export(slot->result, &slot->filled, sizeof(slot->filled));
    accel_token_stream_free(slot->w.stream);
    free(slot->w.scratch);
    free(slot->w.recent);
    slot->text = NULL;
}

static int32_t begin_text(struct batch *b, struct seq_slot *slot, struct accel_error *error)
{
    uint32_t index = b->order[--b->queued];
    const struct accel_generate_text *text = &b->texts[index];
    int32_t code = ACCEL_OK;

    slot->options = *b->options;
    slot->options.data = text->data;
    slot->filled = (struct accel_generate_result){.size = sizeof(slot->filled), .prompt_tokens = text->count};
    slot->w = (struct generator){.session = b->session,
                                 .tokenizer = b->tokenizer,
                                 .options = &slot->options,
                                 .result = &slot->filled,
                                 .sequence = slot->sequence,
                                 .seed_step = index,
                                 .began = session_now()};
    slot->text = text;
    slot->result = b->results[index];
    slot->fed = 0;
    if (!b->continues)
        code = accel_session_sequence_truncate(b->session, slot->sequence, 0, error);
    b->session->kv.sequences[slot->sequence].text = (int64_t)(b->number + index);
    return code == ACCEL_OK ? begin_generation(&slot->w, text->ids, text->count, error) : code;
}

/* Fills the next step: one token of each text in decode, then as many prompt tokens as fit. */
static uint32_t fill_step(struct batch *b)
{
    uint64_t free_rows = b->session->options.batch;
    uint32_t count = 0;

    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l < b->slot_count; l++) {
            struct seq_slot *slot = &b->slots[l];
            uint64_t left = slot->text == NULL ? 0 : slot->text->count - slot->fed;

            if (slot->text == NULL || free_rows == 0 || (left != 0) != pass)
                continue;
            left = left < free_rows ? left : free_rows;
            left = left < b->session->options.span ? left : b->session->options.span;
            b->of[count] = slot;
            b->parts[count++] = pass == 0
                                    ? (struct accel_session_part){&slot->id, 1, slot->sequence, 1}
                                    : (struct accel_session_part){slot->text->ids + slot->fed, left, slot->sequence,
                                                                  slot->fed + left == slot->text->count};
            free_rows -= pass == 0 ? 1 : left;
        }
    }
    return count;
}

/* Processes the result of a step for a sequence slot; `logits` is its row, if it has one. */
static int32_t process_part(struct seq_slot *slot, const struct accel_session_part *part, const float *logits,
                            struct accel_error *error)
{
    uint32_t done = 0;
    int32_t code;

    if (slot->fed < slot->text->count) {
        slot->fed += part->count;
        if (part->outputs != 0)
            slot->filled.prompt_time = session_now() - slot->w.began;
    } else {
        slot->filled.steps++;
    }
    if (part->outputs == 0)
        return ACCEL_OK;
    code = generate_token(&slot->w, logits, &slot->id, &done, error);
    if (code != ACCEL_OK || !done)
        return code;
    end_text(slot);
    session_measure_text(slot->w.session);
    return ACCEL_OK;
}

static int32_t run_batch_step(struct batch *b, uint32_t *out_count, struct accel_error *error)
{
    const float *logits = NULL;
    int32_t code = ACCEL_OK;

    for (uint32_t l = 0; code == ACCEL_OK && l < b->slot_count && b->queued > 0; l++)
        if (b->slots[l].text == NULL)
            code = begin_text(b, &b->slots[l], error);
    if (code != ACCEL_OK)
        return code;
    *out_count = fill_step(b);
    if (*out_count == 0)
        return ACCEL_OK;
    code = accel_session_step(b->session, b->parts, *out_count, &logits, error);
    for (uint32_t p = 0; code == ACCEL_OK && p < *out_count; p++) {
        code = process_part(b->of[p], &b->parts[p], logits, error);
        if (b->parts[p].outputs != 0)
            logits += b->session->model->facts.vocabulary;
    }
    return code;
}

static int32_t check_texts(struct accel_session *session, const struct accel_generate_text *texts, uint32_t count,
                           struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        struct accel_error why = {0};

        code = session_check_ids(session, texts[i].ids, texts[i].count, &why);
        if (code == ACCEL_OK)
            code = session_check_length(session, 0, texts[i].count, &why);
        if (code != ACCEL_OK) {
            accel_error_set(error, code, "text %u: %s", i + 1, why.text);
            accel_error_remedy(error, "%s", why.remedy);
        }
    }
    return code;
}

/* Opens a sequence for each sequence slot, and sorts the texts by prompt length. */
static int32_t prepare(struct batch *b, uint32_t count, struct accel_error *error)
{
    uint32_t slots = accel_session_sequences(b->session) < count ? accel_session_sequences(b->session) : count;
    int32_t code = ACCEL_OK;

    b->slots = calloc(slots, sizeof(*b->slots));
    b->parts = calloc(slots, sizeof(*b->parts));
    b->of = calloc(slots, sizeof(*b->of));
    b->order = calloc(count, sizeof(*b->order));
    if (b->slots == NULL || b->parts == NULL || b->of == NULL || b->order == NULL)
        return accel_error_no_memory(error, "for %u texts", count);
    for (b->queued = 0; b->queued < count; b->queued++) {
        uint32_t at = b->queued;

        for (; at > 0 && b->texts[b->order[at - 1]].count >= b->texts[b->queued].count; at--)
            b->order[at] = b->order[at - 1];
        b->order[at] = b->queued;
    }
    for (; code == ACCEL_OK && b->slot_count < slots; b->slot_count += code == ACCEL_OK) {
        struct seq_slot *slot = &b->slots[b->slot_count];

        if (b->slot_count > 0)
            code = accel_session_open(b->session, &slot->sequence, error);
        slot->opened = b->slot_count > 0;
    }
    return code;
}

/* Generates texts that are checked. */
static int32_t generate(struct batch *b, uint32_t count, struct accel_error *error)
{
    uint32_t parts = 1;
    int32_t code;

    b->number = session_measure_number_texts(b->session, count);
    code = prepare(b, count, error);
    while (code == ACCEL_OK && parts > 0)
        code = run_batch_step(b, &parts, error);
    for (uint32_t l = 0; l < b->slot_count; l++) {
        end_text(&b->slots[l]);
        b->session->kv.sequences[b->slots[l].sequence].text = -1;
        if (b->slots[l].opened)
            accel_session_close(b->session, b->slots[l].sequence, NULL);
    }
    code = measure_run(b->session, code, error);
    free(b->slots);
    free(b->parts);
    free(b->of);
    free(b->order);
    return code;
}

int32_t accel_generate_texts(struct accel_session *session, const struct accel_tokenizer *tokenizer,
                             const struct accel_generate_text *texts, uint32_t count,
                             const struct accel_generate_options *options, struct accel_generate_result *const *results,
                             struct accel_error *error)
{
    struct accel_generate_options chosen;
    struct batch b = {
        .session = session, .tokenizer = tokenizer, .texts = texts, .results = results, .options = &chosen};
    int32_t code = ACCEL_OK;

    if (session == NULL || tokenizer == NULL || texts == NULL || results == NULL)
        return model_refuse_null(__func__, error);
    if (count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no texts to generate");
    for (uint32_t i = 0; code == ACCEL_OK && i < count; i++)
        code = results[i] == NULL ? model_refuse_null(__func__, error)
                                  : import_options(options, results[i], &chosen, error);
    if (code == ACCEL_OK)
        code = check_texts(session, texts, count, error);
    return code == ACCEL_OK ? generate(&b, count, error) : code;
}

int32_t accel_generate(struct accel_session *session, const struct accel_tokenizer *tokenizer, const int32_t *prompt,
                       uint64_t prompt_count, const struct accel_generate_options *options,
                       struct accel_generate_result *result, struct accel_error *error)
{
    struct accel_generate_options chosen;
    struct accel_generate_text text = {.ids = prompt, .count = prompt_count};
    struct batch b = {.session = session,
                      .tokenizer = tokenizer,
                      .texts = &text,
                      .results = &result,
                      .options = &chosen,
                      .continues = true};
    int32_t code;

    if (session == NULL || tokenizer == NULL || prompt == NULL || result == NULL)
        return model_refuse_null(__func__, error);
    code = import_options(options, result, &chosen, error);
    if (code == ACCEL_OK)
        code = session_check_feed(session, prompt, prompt_count, error);
    text.data = chosen.data;
    return code == ACCEL_OK ? generate(&b, 1, error) : code;
}
