/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/run/texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/output.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/print/rate.h"
#include "tools/accelctl/print/where.h"
#include "tools/accelctl/reports.h"
#include "tools/measure/team.h"

/* One text. */
struct text {
    struct texts *all;
    struct accel_token_list prompt;
    struct accel_generate_result result;
    FILE *out;
    char *memory;
    size_t bytes;
    size_t shown; /* bytes that have been printed */
    uint32_t has_head;
    uint32_t has_begun;
    uint32_t has_ended; /* 1: its last line of JSON is printed */
    json_t *ids;
};

struct texts {
    struct text *texts;
    struct accel_generate_text *asked;
    struct accel_generate_result **results;
    uint32_t count;
    uint32_t at;        /* the first that is not printed to its end */
    struct text **open; /* with lines of JSON: texts that have begun, and whose end has not been printed */
    uint32_t open_count;
    uint32_t prints; /* 1: as they come, 0: the caller makes a document */
    uint32_t is_terminal;
    const struct texts_job *job;
    struct accel_sampling sampling;
};

/* ---- texts ---- */

static void put_text(const struct texts *t, const char *text, size_t bytes)
{
    if (t->is_terminal)
        write_terminal(output(), text, bytes);
    else
        fwrite(text, 1, bytes, output());
}

/* Prints the available texts in their order: those that have ended, and then the first unfinished one. */
static void show(struct texts *t, uint32_t all_ended)
{
    while (t->prints && t->at < t->count) {
        struct text *text = &t->texts[t->at];

        if (!text->has_head && !t->job->quiet) {
            print("==> %u: ", t->at + 1);
            put_text(t, t->job->prompts[t->at], strlen(t->job->prompts[t->at]));
            print("\n");
        }
        text->has_head = 1;
        fflush(text->out);
        put_text(t, text->memory + text->shown, text->bytes - text->shown);
        text->shown = text->bytes;
        if (text->result.stop == 0 && !all_ended)
            break;
        print("\n");
        t->at++;
    }
    fflush(output());
}

/* ---- lines of JSON ---- */

#define LINES_SCHEMA "accelctl/run-lines/1"

static void print_line(json_t *line)
{
    if (line != NULL)
        json_dumpf(line, output(), JSON_COMPACT);
    print("\n");
    fflush(output());
    json_decref(line);
}

static void print_end(struct text *text)
{
    if (!text->has_ended)
        print_line(json_pack("{s:s, s:I, s:o, s:s, s:I, s:I, s:I}", "schema", LINES_SCHEMA, "text",
                             (json_int_t)(text - text->all->texts), "seed",
                             seed_json(&text->all->sampling, (uint64_t)(text - text->all->texts)), "stop",
                             stop_name(text->result.stop), "prompt_tokens", (json_int_t)text->result.prompt_tokens,
                             "tokens", (json_int_t)text->result.tokens, "first_token_ns",
                             (json_int_t)text->result.first_token_time));
    text->has_ended = 1;
}

/* Prints a line for a piece of text, after the lines of the texts that have ended before it. */
static void print_piece(struct text *text, int32_t id, const char *bytes, size_t count)
{
    struct texts *t = text->all;
    uint32_t still_open = 0;

    if (!text->has_begun)
        t->open[t->open_count++] = text;
    text->has_begun = 1;
    for (uint32_t i = 0; i < t->open_count; i++)
        if (t->open[i]->result.stop != 0)
            print_end(t->open[i]);
        else
            t->open[still_open++] = t->open[i];
    t->open_count = still_open;
    print_line(json_pack("{s:s, s:I, s:o, s:s%}", "schema", LINES_SCHEMA, "text", (json_int_t)(text - t->texts), "id",
                         id < 0 ? json_null() : json_integer(id), "piece", bytes, count));
}

static int32_t ACCEL_CALL receive_text(void *data, int32_t id, const char *bytes, size_t count)
{
    struct text *text = data;

    if (id >= 0)
        json_array_append_new(text->ids, json_integer(id));
    if (fwrite(bytes, 1, count, text->out) != count)
        return 1;
    if (text->all->job->lines)
        print_piece(text, id, bytes, count);
    show(text->all, 0);
    return ferror(output()) != 0;
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
    free(t->open);
    free(t->results);
}

static int32_t make_texts(const struct texts_job *job, const struct opened *opened,
                          const struct accel_tokenizer *tokenizer, struct texts *t, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    t->count = job->count;
    t->texts = calloc(job->count, sizeof(*t->texts));
    t->asked = calloc(job->count, sizeof(*t->asked));
    t->results = calloc(job->count, sizeof(*t->results));
    t->open = calloc(job->count, sizeof(*t->open));
    if (t->open == NULL || t->texts == NULL || t->asked == NULL || t->results == NULL)
        return accel_error_no_memory(error, "for %u texts", job->count);
    for (uint32_t i = 0; code == ACCEL_OK && i < job->count; i++) {
        struct text *text = &t->texts[i];
        struct prompt prompt = job->prompt;

        text->all = t;
        prompt.text = job->prompts[i];
        text->out = open_memstream(&text->memory, &text->bytes);
        text->ids = json_array();
        text->result.size = sizeof(text->result);
        if (text->out == NULL || text->ids == NULL)
            return accel_error_no_memory(error, "for %u texts", job->count);
        code = make_prompt(tokenizer, accel_model_file_path(accel_model_file_of(opened->model)), &prompt, &text->prompt,
                           error);
        t->asked[i] = (struct accel_generate_text){text->prompt.ids, text->prompt.count, text};
        t->results[i] = &text->result;
    }
    return code;
}

static int print_as_json(const struct texts_job *job, const struct texts *t, const struct opened *opened,
                         uint32_t sequences, double took)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    json_t *list = json_array(), *document;
    uint64_t tokens = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct text *text = &t->texts[i];

        tokens += text->result.tokens;
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:s%, s:O, s:s, s:I, s:I, s:I}", "prompt", job->prompts[i], "seed",
                            seed_json(&t->sampling, i), "text", text->memory == NULL ? "" : text->memory, text->bytes,
                            "ids", text->ids, "stop", stop_name(text->result.stop), "prompt_tokens",
                            (json_int_t)text->result.prompt_tokens, "tokens", (json_int_t)text->result.tokens,
                            "first_token_ns", (json_int_t)text->result.first_token_time));
    }
    document = json_pack("{s:s, s:o, s:o, s:{s:i, s:I, s:f, s:o, s:s}, s:o, s:o, s:o, s:o, s:o}", "origin",
                         "measured: this run", "texts", list, "sampling", sampling_json(job->chosen), "time",
                         "sequences", (int)sequences, "tokens", (json_int_t)tokens, "seconds", took,
                         "tokens_per_second", token_rate_json(tokens, (uint64_t)(took * 1e9)), "origin", RATE_ORIGIN,
                         "placement", placement_json(plan), "weights", reports_json(opened->session, 0, REPORT_WEIGHTS),
                         "metrics", reports_json(opened->session, 0, REPORT_METRICS), "log",
                         reports_json(opened->session, 0, REPORT_LOG), "not_honored", unhonored_json(opened));
    if (!job->lines || document == NULL)
        return print_json(document, "accelctl/run-texts/1");
    /* Removes the texts, which the lines before contain. */
    json_object_del(document, "texts");
    json_object_set_new(document, "schema", json_string(LINES_SCHEMA));
    print_line(document);
    return EXIT_DONE;
}

static void print_numbers(const struct texts_job *job, const struct texts *t, uint32_t sequences, double took)
{
    uint64_t tokens = 0, prompts = 0;
    char time[32], rate[40];

    for (uint32_t i = 0; i < t->count; i++) {
        tokens += t->texts[i].result.tokens;
        prompts += t->texts[i].result.prompt_tokens;
    }
    if (job->quiet)
        return;
    if (t->sampling.temperature != 0 && t->count > 1)
        fprintf(error_output(), "\nseeds      %" PRIu64 " to %" PRIu64 ", one for each prompt in their order",
                t->sampling.seed, t->sampling.seed + t->count - 1);
    fprintf(error_output(),
            "\ngenerated  %u texts, %" PRIu64 " tokens in %s%s, prompts of %" PRIu64
            " tokens included, up to %u sequences a step\n",
            t->count, tokens, seconds_text(took, time), token_rate_text(tokens, (uint64_t)(took * 1e9), rate), prompts,
            sequences);
}

int run_texts(const struct texts_job *job, struct opened *opened, const struct accel_tokenizer *tokenizer)
{
    struct accel_generate_options how = {.size = sizeof(how),
                                         .flags = job->flags,
                                         .tokens = job->tokens,
                                         .stops = job->stops->items,
                                         .stop_count = job->stops->count,
                                         .text = receive_text};
    struct accel_error error = {0};
    struct texts t = {.job = job, .prints = !job->json, .is_terminal = isatty(output_file()) == 1};
    uint32_t sequences = accel_session_sequences(opened->session);
    double began = measure_seconds();
    int32_t code = make_texts(job, opened, tokenizer, &t, &error);
    int status = EXIT_DONE;

    fill_sampling(job->chosen, &t.sampling);
    how.sampling = &t.sampling;
    if (code == ACCEL_OK)
        code = accel_generate_texts(opened->session, tokenizer, t.asked, t.count, &how, t.results, &error);
    for (uint32_t i = 0; t.texts != NULL && i < t.count; i++)
        if (t.texts[i].out != NULL && fflush(t.texts[i].out) != 0 && code == ACCEL_OK)
            code = accel_error_no_memory(&error, "for the texts");
    if (code == ACCEL_OK || code == ACCEL_E_CANCELLED || t.at > 0 || (t.count > 0 && t.texts[0].has_head))
        show(&t, 1);
    if (job->lines && (code == ACCEL_OK || code == ACCEL_E_CANCELLED))
        for (uint32_t i = 0; i < t.count; i++)
            print_end(&t.texts[i]);
    if (code != ACCEL_OK && code != ACCEL_E_CANCELLED)
        status = ferror(output()) ? EXIT_FAILED : report_text_error(job->json, &error);
    else if (job->json)
        status = print_as_json(job, &t, opened, sequences, measure_seconds() - began);
    else
        print_numbers(job, &t, sequences, measure_seconds() - began);
    free_texts(&t);
    return code == ACCEL_E_CANCELLED && status == EXIT_DONE ? EXIT_INTERRUPTED : status;
}
