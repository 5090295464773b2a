/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print_plan.h"
#include "tools/accelctl/print_where.h"
#include "tools/accelctl/run_texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One text. */
struct text {
    struct accel_token_list prompt;
    struct accel_generate_result result;
    FILE *out;
    char *memory;
    size_t bytes;
    json_t *ids;
};

struct texts {
    struct text *texts;
    struct accel_generate_text *asked;
    struct accel_generate_result **results;
    uint32_t count;
};

/* ---- texts ---- */

static int32_t ACCEL_CALL take_text(void *data, int32_t id, const char *bytes, size_t count)
{
    struct text *text = data;

    if (id >= 0)
        json_array_append_new(text->ids, json_integer(id));
    return fwrite(bytes, 1, count, text->out) != count;
}

static void free_texts(struct texts *t)
{
    for (uint32_t i = 0; t->texts != NULL && i < t->count; i++) {
        accel_token_list_free(&t->texts[i].prompt);
        if (t->texts[i].out != NULL)
            fclose(t->texts[i].out);
        free(t->texts[i].memory);
        json_decref(t->texts[i].ids);
    }
    free(t->texts);
    free(t->asked);
    free(t->results);
}

static int32_t make_texts(const struct texts_job *job, const struct opened *opened,
                          const struct accel_tokenizer *tokenizer, struct texts *t, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    t->count = job->count;
    t->texts = calloc(job->count, sizeof *t->texts);
    t->asked = calloc(job->count, sizeof *t->asked);
    t->results = calloc(job->count, sizeof *t->results);
    if (t->texts == NULL || t->asked == NULL || t->results == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for %u texts", job->count);
    for (uint32_t i = 0; code == ACCEL_OK && i < job->count; i++) {
        struct text *text = &t->texts[i];
        struct prompt prompt = job->prompt;

        prompt.text = job->prompts[i];
        text->out = open_memstream(&text->memory, &text->bytes);
        text->ids = json_array();
        text->result.size = sizeof text->result;
        if (text->out == NULL || text->ids == NULL)
            return accel_error_set(error, ACCEL_E_MEMORY, "no memory for %u texts", job->count);
        code = make_prompt(tokenizer, accel_model_file_path(accel_model_file_of(opened->model)), &prompt, &text->prompt,
                           error);
        t->asked[i] = (struct accel_generate_text){text->prompt.ids, text->prompt.count, text};
        t->results[i] = &text->result;
    }
    return code;
}

static const char *stop_of(const struct accel_generate_result *result)
{
    static const char *const names[] = {"failure", "length", "end of text", "context full", "caller"};

    return result->stop < 5 ? names[result->stop] : "?";
}

static double seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int print_as_json(const struct texts_job *job, const struct texts *t, const struct accel_plan *plan,
                         uint32_t sequences, double took)
{
    json_t *list = json_array();
    uint64_t tokens = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct text *text = &t->texts[i];

        tokens += text->result.tokens;
        json_array_append_new(list,
                              json_pack("{s:s, s:s%, s:O, s:s, s:I, s:I, s:I}", "prompt", job->prompts[i], "text",
                                        text->memory == NULL ? "" : text->memory, text->bytes, "ids", text->ids, "stop",
                                        stop_of(&text->result), "prompt_tokens", (json_int_t)text->result.prompt_tokens,
                                        "tokens", (json_int_t)text->result.tokens, "first_token_ns",
                                        (json_int_t)text->result.first_token_time));
    }
    return print_json(json_pack("{s:o, s:{s:i, s:I, s:f, s:f}, s:o}", "texts", list, "time", "sequences",
                                (int)sequences, "tokens", (json_int_t)tokens, "seconds", took, "tokens_per_second",
                                took > 0 ? (double)tokens / took : 0.0, "placement", placement_json(plan)),
                      "accelctl/run-texts/1");
}

static void print_texts(const struct texts_job *job, const struct texts *t, uint32_t sequences, double took)
{
    uint64_t tokens = 0, prompts = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct text *text = &t->texts[i];

        if (!job->quiet)
            print("==> %u: %s\n", i + 1, job->prompts[i]);
        fwrite(text->memory == NULL ? "" : text->memory, 1, text->bytes, output());
        print("\n");
        tokens += text->result.tokens;
        prompts += text->result.prompt_tokens;
    }
    if (!job->quiet)
        fprintf(stderr,
                "\nwritten    %u texts, %" PRIu64 " tokens in %.2f s (%.1f tokens/s with prompts of %" PRIu64
                " tokens), up to %u sequences a step\n",
                t->count, tokens, took, took > 0 ? (double)tokens / took : 0.0, prompts, sequences);
}

int run_texts(const struct texts_job *job, struct opened *opened, const struct accel_tokenizer *tokenizer)
{
    struct accel_generate_options how = {
        .size = sizeof how, .flags = job->flags, .tokens = job->tokens, .sampling = job->sampling, .text = take_text};
    struct accel_error error = {0};
    struct texts t = {0};
    uint32_t sequences = accel_session_sequences(opened->session);
    double began = seconds();
    int32_t code = make_texts(job, opened, tokenizer, &t, &error);
    int status = EXIT_DONE;

    if (code == ACCEL_OK)
        code = accel_generate_texts(opened->session, tokenizer, t.asked, t.count, &how, t.results, &error);
    for (uint32_t i = 0; t.texts != NULL && i < t.count; i++)
        if (t.texts[i].out != NULL && fflush(t.texts[i].out) != 0 && code == ACCEL_OK)
            code = accel_error_set(&error, ACCEL_E_MEMORY, "no memory for the texts");
    if (code != ACCEL_OK && code != ACCEL_E_CANCELLED)
        status = say_error(job->json, &error);
    else if (job->json)
        status = print_as_json(job, &t, accel_session_plan(opened->session), sequences, seconds() - began);
    else
        print_texts(job, &t, sequences, seconds() - began);
    free_texts(&t);
    return code == ACCEL_E_CANCELLED && status == EXIT_DONE ? EXIT_INTERRUPTED : status;
}
