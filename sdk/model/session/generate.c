/* SPDX-License-Identifier: Apache-2.0 */
#include "sdk/model/session/internal.h"

#include <accel/model/generate.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One call of accel_generate. */
struct writer {
    struct accel_session *session;
    const struct accel_tokenizer *tokenizer;
    const struct accel_generate_options *options;
    struct accel_generate_result *result;
    struct accel_sampling sampling;
    struct accel_token_stream *stream;
    struct accel_sample_candidate *scratch;
    int32_t *recent; /* prompt and text */
    uint64_t recent_count;
    uint64_t recent_room;
    uint32_t sequence;
    uint32_t draws; /* number of the text, for its draws */
    uint64_t began;
    uint64_t first;
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint32_t ends_text(const struct writer *w, int32_t id)
{
    const struct accel_model_facts *facts = &w->session->model->facts;

    if ((w->options->flags & ACCEL_GENERATE_PAST_END) != 0)
        return 0;
    for (uint32_t i = 0; i < facts->eos_count; i++)
        if (facts->eos[i] == (uint32_t)id)
            return 1;
    return id == facts->bos || accel_tokenizer_is_end(w->tokenizer, id);
}

/* Hands text out; answers 1 when the listener has had enough. */
static uint32_t tell(const struct writer *w, int32_t id, const char *text, size_t bytes)
{
    return w->options->text != NULL && w->options->text(w->options->data, id, text, bytes) != 0;
}

static int32_t begin(struct writer *w, const int32_t *prompt, uint64_t count, struct accel_error *error)
{
    uint64_t vocabulary = w->session->model->facts.vocabulary;
    uint64_t room = w->session->options.context + 1;
    const char *text = NULL;
    size_t bytes = 0;
    int32_t code;

    if (count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "a text begins with at least one token");
    accel_sampling_init(&w->sampling);
    code = w->options->sampling == NULL ? ACCEL_OK
                                        : open_struct_take(w->options->sampling, sizeof w->sampling, sizeof w->sampling,
                                                           "accel_sampling", &w->sampling, error);
    if (code != ACCEL_OK)
        return code;
    w->scratch = calloc(accel_sample_scratch(vocabulary), sizeof *w->scratch);
    w->recent = calloc(room, sizeof *w->recent);
    if (w->scratch == NULL || w->recent == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for sampling from %llu tokens",
                               (unsigned long long)vocabulary);
    code = accel_token_stream_create(w->tokenizer, ACCEL_DECODE_SKIP_SPECIAL, &w->stream, error);
    /* The text goes on: what a decoder does at the beginning of a text only has been done with the prompt. */
    for (uint64_t i = 0; code == ACCEL_OK && i < count; i++)
        code = accel_token_stream_push(w->stream, prompt[i], &text, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    w->recent_room = room;
    w->recent_count = count < room ? count : room;
    memcpy(w->recent, prompt, w->recent_count * sizeof *prompt);
    return ACCEL_OK;
}

/* Of a text that is longer than its room the older half is forgotten. */
static void remember(struct writer *w, int32_t id)
{
    if (w->recent_count == w->recent_room) {
        memmove(w->recent, w->recent + w->recent_room / 2, (w->recent_room - w->recent_room / 2) * sizeof *w->recent);
        w->recent_count -= w->recent_room / 2;
    }
    w->recent[w->recent_count++] = id;
}

/* Samples a token and hands its text out. *out_done: 1 when writing ends here. */
static int32_t write_token(struct writer *w, const float *logits, int32_t *out_id, uint32_t *out_done,
                           struct accel_error *error)
{
    const char *text = NULL;
    size_t bytes = 0;
    int32_t code = accel_sample(&w->sampling, logits, w->session->model->facts.vocabulary, w->recent, w->recent_count,
                                w->draws, w->result->tokens, w->scratch, out_id, error);

    *out_done = 1;
    if (code == ACCEL_E_INVALID)
        accel_error_remedy(error, "weights of %s may be damaged", accel_model_file_path(w->session->model->file));
    if (code != ACCEL_OK)
        return code;
    if (w->first == 0)
        w->first = now();
    if (ends_text(w, *out_id)) {
        w->result->stop = ACCEL_STOP_END;
        return ACCEL_OK;
    }
    remember(w, *out_id);
    w->result->tokens++;
    code = accel_token_stream_push(w->stream, *out_id, &text, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    if (tell(w, *out_id, text, bytes))
        w->result->stop = ACCEL_STOP_CALLER;
    else if (w->options->tokens != 0 && w->result->tokens == w->options->tokens)
        w->result->stop = ACCEL_STOP_LENGTH;
    else if (session_is_full(w->session, w->sequence))
        w->result->stop = ACCEL_STOP_CONTEXT;
    else
        *out_done = 0;
    return ACCEL_OK;
}

static int32_t write_on(struct writer *w, const float *logits, struct accel_error *error)
{
    const char *text = NULL;
    size_t bytes = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t done = 0; code == ACCEL_OK && !done;) {
        int32_t id;

        code = write_token(w, logits, &id, &done, error);
        if (code != ACCEL_OK || done)
            break;
        code = accel_session_feed(w->session, &id, 1, &logits, error);
        w->result->steps += code == ACCEL_OK;
    }
    if (accel_token_stream_flush(w->stream, &text, &bytes, NULL) == ACCEL_OK && bytes > 0)
        tell(w, -1, text, bytes);
    return code;
}

static int32_t take_options(const struct accel_generate_options *given, const struct accel_generate_result *result,
                            struct accel_generate_options *out_options, struct accel_error *error)
{
    int32_t code = open_struct_take(given, ACCEL_END_OF(struct accel_generate_options, data), sizeof *out_options,
                                    "accel_generate_options", out_options, error);

    if (code == ACCEL_OK && (out_options->flags & ~ACCEL_GENERATE_PAST_END) != 0)
        code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_generate_options.flags 0x%x has unknown bits",
                               out_options->flags);
    if (code == ACCEL_OK && result->size < ACCEL_END_OF(struct accel_generate_result, stop))
        code =
            accel_error_set(error, ACCEL_E_INVALID, "struct accel_generate_result cannot have %u bytes", result->size);
    return code;
}

static int32_t write_all(struct writer *w, const int32_t *prompt, uint64_t prompt_count, struct accel_error *error)
{
    struct accel_generate_result *result = w->result;
    const float *logits = NULL;
    uint64_t fed;
    int32_t code;

    w->began = now();
    code = begin(w, prompt, prompt_count, error);
    if (code == ACCEL_OK)
        code = accel_session_feed(w->session, prompt, prompt_count, &logits, error);
    fed = now();
    result->prompt_time = fed - w->began;
    if (code == ACCEL_OK)
        code = write_on(w, logits, error);
    if (w->first != 0) {
        result->first_token_time = w->first - w->began;
        result->decode_time = now() - w->first;
    }
    accel_token_stream_free(w->stream);
    free(w->scratch);
    free(w->recent);
    return code;
}

/* ---- several texts ---- */

/* A sequence that texts are written in, one after the other. */
struct lane {
    struct writer w;
    struct accel_generate_options options; /* with the data of the text */
    struct accel_generate_result filled;
    const struct accel_generate_text *text; /* NULL: free */
    struct accel_generate_result *result;
    uint64_t fed;    /* of the prompt */
    int32_t id;      /* written, and not fed yet */
    uint32_t opened; /* 1: its sequence has to be closed in the end */
    uint32_t sequence;
};

struct batch {
    struct accel_session *session;
    const struct accel_generate_options *options;
    const struct accel_tokenizer *tokenizer;
    const struct accel_generate_text *texts;
    struct accel_generate_result *const *results;
    struct lane *lanes;
    struct accel_session_part *parts;
    struct lane **of; /* the lane of each part */
    uint32_t *order;  /* of texts that wait: the longest prompt last */
    uint32_t lane_count;
    uint32_t waiting;
};

/* Ends the text of a lane: its rest is handed out, its result given. */
static void end_text(struct lane *lane)
{
    const char *text = NULL;
    size_t bytes = 0;

    if (lane->text == NULL)
        return;
    if (lane->w.stream != NULL && accel_token_stream_flush(lane->w.stream, &text, &bytes, NULL) == ACCEL_OK &&
        bytes > 0)
        tell(&lane->w, -1, text, bytes);
    if (lane->w.first != 0) {
        lane->filled.first_token_time = lane->w.first - lane->w.began;
        lane->filled.decode_time = now() - lane->w.first;
    }
    open_struct_give(lane->result, &lane->filled, sizeof lane->filled);
    accel_token_stream_free(lane->w.stream);
    free(lane->w.scratch);
    free(lane->w.recent);
    lane->text = NULL;
}

static int32_t begin_text(struct batch *b, struct lane *lane, struct accel_error *error)
{
    uint32_t index = b->order[--b->waiting];
    const struct accel_generate_text *text = &b->texts[index];
    int32_t code;

    lane->options = *b->options;
    lane->options.data = text->data;
    lane->filled = (struct accel_generate_result){.size = sizeof lane->filled, .prompt_tokens = text->count};
    lane->w = (struct writer){.session = b->session,
                              .tokenizer = b->tokenizer,
                              .options = &lane->options,
                              .result = &lane->filled,
                              .sequence = lane->sequence,
                              .draws = index,
                              .began = now()};
    lane->text = text;
    lane->result = b->results[index];
    lane->fed = 0;
    code = accel_session_sequence_truncate(b->session, lane->sequence, 0, error);
    return code == ACCEL_OK ? begin(&lane->w, text->ids, text->count, error) : code;
}

/* The parts of the next step: a token of each text that is being written, and of prompts what fits beside them. */
static uint32_t make_parts(struct batch *b)
{
    uint64_t room = b->session->options.batch;
    uint32_t count = 0;

    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l < b->lane_count; l++) {
            struct lane *lane = &b->lanes[l];
            uint64_t left = lane->text == NULL ? 0 : lane->text->count - lane->fed;

            if (lane->text == NULL || room == 0 || (left != 0) != pass)
                continue;
            left = left < room ? left : room;
            b->of[count] = lane;
            b->parts[count++] = pass == 0
                                    ? (struct accel_session_part){&lane->id, 1, lane->sequence, 1}
                                    : (struct accel_session_part){lane->text->ids + lane->fed, left, lane->sequence,
                                                                  lane->fed + left == lane->text->count};
            room -= pass == 0 ? 1 : left;
        }
    }
    return count;
}

/* What a step did for a lane; its row of logits, if it has one. */
static int32_t take_part(struct lane *lane, const struct accel_session_part *part, const float *logits,
                         struct accel_error *error)
{
    uint32_t done = 0;
    int32_t code;

    if (lane->fed < lane->text->count) {
        lane->fed += part->count;
        if (part->outputs != 0)
            lane->filled.prompt_time = now() - lane->w.began;
    } else {
        lane->filled.steps++;
    }
    if (part->outputs == 0)
        return ACCEL_OK;
    code = write_token(&lane->w, logits, &lane->id, &done, error);
    if (code == ACCEL_OK && done)
        end_text(lane);
    return code;
}

static int32_t write_step(struct batch *b, uint32_t *out_count, struct accel_error *error)
{
    const float *logits = NULL;
    int32_t code = ACCEL_OK;

    for (uint32_t l = 0; code == ACCEL_OK && l < b->lane_count && b->waiting > 0; l++)
        if (b->lanes[l].text == NULL)
            code = begin_text(b, &b->lanes[l], error);
    if (code != ACCEL_OK)
        return code;
    *out_count = make_parts(b);
    if (*out_count == 0)
        return ACCEL_OK;
    code = accel_session_step(b->session, b->parts, *out_count, &logits, error);
    for (uint32_t p = 0; code == ACCEL_OK && p < *out_count; p++) {
        code = take_part(b->of[p], &b->parts[p], logits, error);
        if (b->parts[p].outputs != 0)
            logits += b->session->model->facts.vocabulary;
    }
    return code;
}

static int32_t check_texts(struct accel_session *session, const struct accel_generate_text *texts, uint32_t count,
                           struct accel_error *error)
{
    uint64_t most = session->options.context;

    for (uint32_t i = 0; i < count; i++) {
        if (session_check_ids(session, texts[i].ids, texts[i].count, error) != ACCEL_OK)
            return ACCEL_E_INVALID;
        if (session->full == FULL_STOP && texts[i].count > most)
            return accel_error_set(error, ACCEL_E_LIMIT,
                                   "text %u has a prompt of %llu tokens, and the context holds %llu", i,
                                   (unsigned long long)texts[i].count, (unsigned long long)most);
    }
    return ACCEL_OK;
}

/* Opens a sequence for each lane, and puts the texts in order. */
static int32_t prepare(struct batch *b, uint32_t count, struct accel_error *error)
{
    uint32_t lanes = accel_session_sequences(b->session) < count ? accel_session_sequences(b->session) : count;
    int32_t code = ACCEL_OK;

    b->lanes = calloc(lanes, sizeof *b->lanes);
    b->parts = calloc(lanes, sizeof *b->parts);
    b->of = calloc(lanes, sizeof *b->of);
    b->order = calloc(count, sizeof *b->order);
    if (b->lanes == NULL || b->parts == NULL || b->of == NULL || b->order == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for %u texts", count);
    for (b->waiting = 0; b->waiting < count; b->waiting++) {
        uint32_t at = b->waiting;

        for (; at > 0 && b->texts[b->order[at - 1]].count >= b->texts[b->waiting].count; at--)
            b->order[at] = b->order[at - 1];
        b->order[at] = b->waiting;
    }
    for (; code == ACCEL_OK && b->lane_count < lanes; b->lane_count += code == ACCEL_OK) {
        struct lane *lane = &b->lanes[b->lane_count];

        if (b->lane_count > 0)
            code = accel_session_open(b->session, &lane->sequence, error);
        lane->opened = b->lane_count > 0;
    }
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
    uint32_t parts = 1;
    int32_t code = ACCEL_OK;

    if (count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no texts to write");
    for (uint32_t i = 0; code == ACCEL_OK && i < count; i++)
        code = take_options(options, results[i], &chosen, error);
    if (code == ACCEL_OK)
        code = check_texts(session, texts, count, error);
    if (code != ACCEL_OK)
        return code;
    code = prepare(&b, count, error);
    while (code == ACCEL_OK && parts > 0)
        code = write_step(&b, &parts, error);
    for (uint32_t l = 0; l < b.lane_count; l++) {
        end_text(&b.lanes[l]);
        if (b.lanes[l].opened)
            accel_session_close(session, b.lanes[l].sequence, NULL);
    }
    free(b.lanes);
    free(b.parts);
    free(b.of);
    free(b.order);
    return code;
}

int32_t accel_generate(struct accel_session *session, const struct accel_tokenizer *tokenizer, const int32_t *prompt,
                       uint64_t prompt_count, const struct accel_generate_options *options,
                       struct accel_generate_result *result, struct accel_error *error)
{
    struct accel_generate_options chosen;
    struct accel_generate_result filled = {.size = sizeof filled, .prompt_tokens = prompt_count};
    struct writer w = {.session = session, .tokenizer = tokenizer, .options = &chosen, .result = &filled};
    int32_t code = take_options(options, result, &chosen, error);

    if (code != ACCEL_OK)
        return code;
    code = write_all(&w, prompt, prompt_count, error);
    open_struct_give(result, &filled, sizeof filled);
    return code;
}
