/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print_plan.h"
#include "tools/accelctl/prompt.h"

#include <accel/model/generate.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct run_options {
    struct common common;
    struct prompt prompt;
    uint64_t tokens;
    uint32_t greedy;
    uint32_t quiet;
    uint32_t past_end;
    uint32_t zero;
    uint64_t top_k;
    uint64_t seed;
    double temperature;
    double top_p;
    double min_p;
    double penalty;
};

static const struct option_row options[] = {
    {"prompt", 'p', OPTION_TEXT, offsetof(struct run_options, prompt.text), "TEXT", "text to go on from"},
    {"chat", 'c', OPTION_FLAG, offsetof(struct run_options, prompt.chat), NULL,
     "the prompt is a message, put into the model's chat template"},
    {"system", 0, OPTION_TEXT, offsetof(struct run_options, prompt.system), "TEXT",
     "message of the system before it; without: the template's own"},
    {"tokens", 'n', OPTION_NUMBER, offsetof(struct run_options, tokens), "N",
     "most tokens to write (without: until the text ends or the context is full)"},
    {"greedy", 'g', OPTION_FLAG, offsetof(struct run_options, greedy), NULL, "always the likeliest token"},
    {"temperature", 't', OPTION_REAL, offsetof(struct run_options, temperature), "X", "0 is greedy; without: 0.8"},
    {"top-k", 0, OPTION_NUMBER, offsetof(struct run_options, top_k), "N", "draw from the N likeliest; without: 40"},
    {"top-p", 0, OPTION_REAL, offsetof(struct run_options, top_p), "X",
     "draw from the likeliest X in sum; without: 0.95"},
    {"min-p", 0, OPTION_REAL, offsetof(struct run_options, min_p), "X",
     "leave out what is X times less likely than the best"},
    {"repetition-penalty", 0, OPTION_REAL, offsetof(struct run_options, penalty), "X", "1 is none; without: 1"},
    {"seed", 0, OPTION_NUMBER, offsetof(struct run_options, seed), "N",
     "of the draws; without: 0, so that runs repeat"},
    {"ignore-end", 0, OPTION_FLAG, offsetof(struct run_options, past_end), NULL,
     "write on where the model ends its text"},
    {"quiet", 'q', OPTION_FLAG, offsetof(struct run_options, quiet), NULL, "print the continuation alone"},
    PLAN_OPTIONS(struct run_options, common),
    COMMON_OPTIONS(struct run_options, common),
};

/* What a signal handler may touch: the session to cancel. */
static struct accel_session *volatile running;

static void on_interrupt(int number)
{
    struct accel_session *session = running;

    (void)number;
    if (session != NULL)
        accel_session_cancel(session);
}

struct listener {
    json_t *text; /* collects the text for JSON, or NULL */
    json_t *ids;
    char *buffer;
    uint32_t failed;
};

static int32_t take_text(void *data, int32_t id, const char *text, size_t bytes)
{
    struct listener *listener = data;

    if (listener->ids != NULL && id >= 0)
        json_array_append_new(listener->ids, json_integer(id));
    if (listener->text != NULL) {
        if (bytes > 0)
            json_array_append_new(listener->text, json_stringn(text, bytes));
        return 0;
    }
    if (fwrite(text, 1, bytes, stdout) != bytes || fflush(stdout) != 0)
        listener->failed = 1;
    return listener->failed != 0;
}

static void fill_sampling(const struct run_options *chosen, struct accel_sampling *sampling)
{
    accel_sampling_init(sampling);
    sampling->seed = chosen->seed;
    sampling->repetition_penalty = (float)chosen->penalty;
    if (chosen->greedy)
        return;
    sampling->temperature = (float)chosen->temperature;
    sampling->top_k = (uint32_t)chosen->top_k;
    sampling->top_p = (float)chosen->top_p;
    sampling->min_p = (float)chosen->min_p;
}

static double rate(uint64_t count, uint64_t nanoseconds)
{
    return nanoseconds == 0 ? 0.0 : (double)count * 1e9 / (double)nanoseconds;
}

static const char *stop_name(uint32_t stop)
{
    static const char *const names[] = {"failure", "length", "end of text", "context full", "caller"};

    return stop < 5 ? names[stop] : "?";
}

/* Measured memory as the plan defines it: allocations that are counted, and resident pages of mapped weights. */
static uint64_t measured_peak(const struct opened *opened, uint64_t *out_resident, uint64_t *out_high_water)
{
    struct rusage usage = {0};
    uint64_t now = 0, peak = 0;

    accel_memory_usage(opened->context, 0, &now, &peak);
    *out_resident = accel_session_resident(opened->session);
    getrusage(RUSAGE_SELF, &usage);
    *out_high_water = (uint64_t)usage.ru_maxrss * 1024;
    return peak + *out_resident;
}

static void print_summary(const struct opened *opened, const struct accel_generate_result *result)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    struct accel_plan_fit fit = {.size = sizeof fit};
    uint64_t resident, high_water;
    uint64_t peak = measured_peak(opened, &resident, &high_water);
    char a[32], b[32], c[32], d[32];

    accel_plan_fit(plan, &fit, NULL);
    fprintf(stderr, "\nmemory     planned %s, measured %s (%s of it weights in the page cache; VmHWM %s)\n",
            bytes_text(fit.needed, a), bytes_text(peak, b), bytes_text(resident, c), bytes_text(high_water, d));
    fprintf(stderr, "prompt     %llu tokens, %.1f tokens/s, first token after %.1f ms\n",
            (unsigned long long)result->prompt_tokens, rate(result->prompt_tokens, result->prompt_time),
            (double)result->first_token_time / 1e6);
    fprintf(stderr, "written    %llu tokens, %.1f tokens/s, ended by: %s\n", (unsigned long long)result->tokens,
            rate(result->steps, result->decode_time), stop_name(result->stop));
    fprintf(stderr, "placement  %u nodes on %s, %u fallbacks\n", accel_plan_node_count(plan),
            accel_plan_device(plan)->name, count_fallbacks(plan));
}

static json_t *result_json(const struct opened *opened, const struct accel_generate_result *result,
                           const struct listener *listener)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    struct accel_plan_fit fit = {.size = sizeof fit};
    uint64_t resident, high_water;
    uint64_t peak = measured_peak(opened, &resident, &high_water);

    accel_plan_fit(plan, &fit, NULL);
    return json_pack(
        "{s:O, s:O, s:s, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I, s:I, s:I, s:f, s:f}, s:{s:i, s:s, s:i}}", "text",
        listener->text, "ids", listener->ids, "stop", stop_name(result->stop), "memory", "planned",
        (json_int_t)fit.needed, "measured", (json_int_t)peak, "resident_weights", (json_int_t)resident, "vm_hwm",
        (json_int_t)high_water, "time", "prompt_tokens", (json_int_t)result->prompt_tokens, "tokens",
        (json_int_t)result->tokens, "prompt_ns", (json_int_t)result->prompt_time, "first_token_ns",
        (json_int_t)result->first_token_time, "decode_ns", (json_int_t)result->decode_time, "prompt_tokens_per_second",
        rate(result->prompt_tokens, result->prompt_time), "tokens_per_second", rate(result->steps, result->decode_time),
        "placement", "nodes", (int)accel_plan_node_count(plan), "device", accel_plan_device(plan)->name, "fallbacks",
        (int)count_fallbacks(plan));
}

/* The pieces of text as one string. */
static json_t *joined(const json_t *pieces)
{
    json_t *whole = json_string("");
    size_t index;
    json_t *piece;

    json_array_foreach((json_t *)(uintptr_t)pieces, index, piece)
    {
        json_t *longer = json_sprintf("%s%s", json_string_value(whole), json_string_value(piece));

        json_decref(whole);
        whole = longer;
    }
    return whole;
}

static int write_text(const struct run_options *chosen, struct opened *opened, const struct accel_tokenizer *tokenizer,
                      const struct accel_token_list *prompt)
{
    struct accel_sampling sampling;
    struct listener listener = {0};
    struct accel_generate_options how = {.size = sizeof how,
                                         .flags = chosen->past_end ? ACCEL_GENERATE_PAST_END : 0,
                                         .tokens = chosen->tokens,
                                         .sampling = &sampling,
                                         .text = take_text,
                                         .data = &listener};
    struct accel_generate_result result = {.size = sizeof result};
    struct accel_error error = {0};
    int32_t status;
    int code = EXIT_DONE;

    fill_sampling(chosen, &sampling);
    if (chosen->common.json) {
        listener.text = json_array();
        listener.ids = json_array();
    } else if (!chosen->quiet && !chosen->prompt.chat && chosen->prompt.text != NULL) {
        printf("%s", chosen->prompt.text);
    }
    running = opened->session;
    signal(SIGINT, on_interrupt);
    status = accel_generate(opened->session, tokenizer, prompt->ids, prompt->count, &how, &result, &error);
    running = NULL;
    if (status != ACCEL_OK)
        code = say_error(&error);
    if (chosen->common.json) {
        json_t *pieces = listener.text;

        listener.text = joined(pieces);
        json_decref(pieces);
        if (status == ACCEL_OK)
            code = print_json(result_json(opened, &result, &listener), "accelctl/run/1");
        json_decref(listener.text);
        json_decref(listener.ids);
    } else {
        printf("\n");
        fflush(stdout);
        if (!chosen->quiet)
            print_summary(opened, &result);
    }
    return listener.failed ? EXIT_FAILED : code;
}

static int run_model(const struct run_options *chosen, struct opened *opened)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_token_list prompt = {0};
    struct accel_error error = {0};
    int32_t status = accel_session_load(opened->session, &error);
    int code;

    if (status == ACCEL_OK)
        status = accel_tokenizer_create_file(accel_model_file_of(opened->model), &tokenizer, &error);
    if (status == ACCEL_OK)
        status = make_prompt(tokenizer, accel_model_file_path(accel_model_file_of(opened->model)), &chosen->prompt,
                             &prompt, &error);
    code = status == ACCEL_OK ? write_text(chosen, opened, tokenizer, &prompt) : say_error(&error);
    accel_token_list_free(&prompt);
    accel_tokenizer_free(tokenizer);
    return code;
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct run_options chosen = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .penalty = 1.0};
    struct opened opened = {0};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    code = open_model(&chosen.common, arguments[0], NULL, 0, 0, 1, &opened);
    if (code < 0)
        code = run_model(&chosen, &opened);
    close_model(&opened);
    return code;
}

const struct verb verb_run = {
    .name = "run",
    .summary = "lets a model write, following its plan",
    .arguments = "MODEL",
    .detail = "MODEL is a GGUF file, a safetensors file beside its config.json, or a folder with them.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 1,
    .run = run,
};
