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
    w->recent_count = count < room ? count : room;
    memcpy(w->recent, prompt, w->recent_count * sizeof *prompt);
    return ACCEL_OK;
}

/* Samples a token and hands its text out. *out_done: 1 when writing ends here. */
static int32_t write_token(struct writer *w, const float *logits, int32_t *out_id, uint32_t *out_done,
                           struct accel_error *error)
{
    const char *text = NULL;
    size_t bytes = 0;
    int32_t code = accel_sample(&w->sampling, logits, w->session->model->facts.vocabulary, w->recent, w->recent_count,
                                0, w->result->tokens, w->scratch, out_id, error);

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
    w->recent[w->recent_count++] = *out_id;
    w->result->tokens++;
    code = accel_token_stream_push(w->stream, *out_id, &text, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    if (tell(w, *out_id, text, bytes))
        w->result->stop = ACCEL_STOP_CALLER;
    else if (w->options->tokens != 0 && w->result->tokens == w->options->tokens)
        w->result->stop = ACCEL_STOP_LENGTH;
    else if (session_is_full(w->session))
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
