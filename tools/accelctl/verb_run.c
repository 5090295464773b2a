/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/blame.h"
#include "tools/accelctl/keep.h"
#include "tools/accelctl/print_more.h"
#include "tools/accelctl/print_plan.h"
#include "tools/accelctl/print_where.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/prompt.h"
#include "tools/accelctl/run_texts.h"

#include <accel/model/generate.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct run_options {
    struct common common;
    struct prompt prompt;
    struct text_list prompts; /* --prompt, each */
    const char *prompt_file;
    const char *prompts_file;
    const char *const *texts; /* several prompts */
    uint32_t text_count;
    uint64_t tokens;
    uint32_t greedy;
    uint32_t quiet;
    uint32_t past_end;
    uint64_t top_k;
    uint64_t seed;
    double temperature;
    double top_p;
    double min_p;
    double penalty;
};

static const struct option_row options[] = {
    {"prompt", 'p', OPTION_LIST, offsetof(struct run_options, prompts), "TEXT",
     "text to go on from; several are written at the same time", 0, 0},
    {"prompt-file", 'f', OPTION_TEXT, offsetof(struct run_options, prompt_file), "FILE",
     "the same from a file, or from the standard input with -", 0, 0},
    {"prompts", 0, OPTION_TEXT, offsetof(struct run_options, prompts_file), "FILE",
     "several texts, one a line: as they are, or JSON, strings or objects with \"prompt\"", 0, 0},
    {"chat", 'c', OPTION_FLAG, offsetof(struct run_options, prompt.chat), NULL,
     "the prompt is a message, put into the model's chat template", 0, 0},
    {"system", 0, OPTION_TEXT, offsetof(struct run_options, prompt.system), "TEXT",
     "message of the system before it; without: the template's own", 0, 0},
    {"tokens", 'n', OPTION_NUMBER, offsetof(struct run_options, tokens), "N",
     "most tokens to write (without: until the text ends or the context is full)", 1, 1e15},
    {"greedy", 'g', OPTION_FLAG, offsetof(struct run_options, greedy), NULL, "always the likeliest token", 0, 0},
    {"temperature", 't', OPTION_REAL, offsetof(struct run_options, temperature), "X",
     "divides the scores, 0 is greedy; without: 0.8", 0, 1000},
    {"top-k", 0, OPTION_NUMBER, offsetof(struct run_options, top_k), "N",
     "draw from the N likeliest, 0 for all; without: 40", 0, 4294967295.0},
    {"top-p", 0, OPTION_REAL, offsetof(struct run_options, top_p), "X",
     "draw from the likeliest tokens that reach X in sum; without: 0.95", 0, 1},
    {"min-p", 0, OPTION_REAL, offsetof(struct run_options, min_p), "X",
     "leave out what is less likely than X times the best; without: 0", 0, 1},
    {"repetition-penalty", 0, OPTION_REAL, offsetof(struct run_options, penalty), "X",
     "makes tokens of the text less likely, 1 is none; without: 1", 0.01, 100},
    {"seed", 0, OPTION_NUMBER, offsetof(struct run_options, seed), "N",
     "of the draws; without: 0, so that the same call writes the same text", 0, 0},
    {"ignore-end", 0, OPTION_FLAG, offsetof(struct run_options, past_end), NULL,
     "write on where the model ends its text", 0, 0},
    {"quiet", 'q', OPTION_FLAG, offsetof(struct run_options, quiet), NULL, "print the continuation alone", 0, 0},
    PLAN_OPTIONS(struct run_options, common),
    COMMON_OPTIONS(struct run_options, common),
};

/* What a signal handler may touch: the session to cancel. */
static struct accel_session *volatile running;

/* Also where what was to be interrupted has ended: a driver may hang in what is left. */
static void on_interrupt(int number)
{
    struct accel_session *session = running;

    blame_wait(number);
    if (session != NULL)
        accel_session_cancel(session);
}

/* The first signal asks to stop, a second one ends the command. */
static void listen_to_user(struct accel_session *session)
{
    struct sigaction action = {.sa_handler = on_interrupt};

    running = session;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* What was to be interrupted has ended. */
static void rest_from_user(void)
{
    running = NULL;
    blame_rest();
}

struct listener {
    FILE *out;    /* the standard output, or memory for JSON */
    json_t *ids;  /* for JSON, or NULL */
    char *memory; /* what `out` wrote, once it is closed */
    size_t bytes;
    struct progress progress;
    const char *echo; /* the prompt, until it is printed; NULL: it is not to be */
    uint32_t failed;
    uint32_t wrote; /* 1: some text came */
};

/* 1 where a compiler may have to make kernels first: who waits for it is told so. */
static uint32_t may_compile(const struct opened *opened)
{
    return plan_compiles(opened->context, accel_session_plan(opened->session));
}

static uint32_t tells_files(const struct run_options *chosen, const struct opened *opened)
{
    return !chosen->common.json && !chosen->quiet && may_compile(opened);
}

/* What the text goes on from stands before it. It waits for the first text, since until then lines tell of the
 * progress, on the same terminal or in the same file. */
static void echo_prompt(struct listener *listener)
{
    progress_end(&listener->progress);
    if (listener->echo != NULL && fputs(listener->echo, listener->out) == EOF)
        listener->failed = 1;
    listener->echo = NULL;
}

static int32_t take_text(void *data, int32_t id, const char *text, size_t bytes)
{
    struct listener *listener = data;

    echo_prompt(listener);
    listener->wrote = 1;
    if (listener->ids != NULL && id >= 0)
        json_array_append_new(listener->ids, json_integer(id));
    if (fwrite(text, 1, bytes, listener->out) != bytes || fflush(listener->out) != 0)
        listener->failed = 1;
    return listener->failed != 0;
}

/* What was not given has its default here, so that what was given beside --greedy can be refused. */
static void fill_sampling(const struct run_options *chosen, struct accel_sampling *sampling)
{
    accel_sampling_init(sampling);
    sampling->seed = chosen->seed;
    sampling->repetition_penalty = (float)chosen->penalty;
    if (chosen->greedy)
        return;
    sampling->temperature = chosen->temperature < 0 ? 0.8f : (float)chosen->temperature;
    sampling->top_k = chosen->top_k == UINT64_MAX ? 40 : (uint32_t)chosen->top_k;
    sampling->top_p = chosen->top_p < 0 ? 0.95f : (float)chosen->top_p;
    sampling->min_p = chosen->min_p < 0 ? 0.0f : (float)chosen->min_p;
}

static double rate(uint64_t count, uint64_t nanoseconds)
{
    return nanoseconds == 0 ? 0.0 : (double)count * 1e9 / (double)nanoseconds;
}

static const char *tokens_text(uint64_t count, char text[32])
{
    snprintf(text, 32, "%" PRIu64 " token%s", count, count == 1 ? "" : "s");
    return text;
}

static const char *speed_text(uint64_t count, uint64_t nanoseconds, char text[32])
{
    double value = rate(count, nanoseconds);

    snprintf(text, 32, "%.*f tokens/s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
    return text;
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

/* True for what the plan says of weights that were made for this run: steps of precision, conversions, errors. */
static uint32_t is_of_weights(const struct accel_plan_note *note)
{
    return strncmp(note->key, "precision.", 10) == 0 || strcmp(note->key, "log.quantization") == 0;
}

static void print_weights(const struct accel_plan *plan)
{
    char types[600];

    if (converts_weights(plan))
        fprintf(stderr, "weights    in this run: %s\n", types_text(plan, types, sizeof types));
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);

        if (is_of_weights(note))
            fprintf(stderr, "weights    %s\n", note->text);
    }
}

static json_t *weights_json(const struct accel_plan *plan)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        if (is_of_weights(accel_plan_note_get(plan, i)))
            json_array_append_new(list, json_text(accel_plan_note_get(plan, i)->text));
    return list;
}

static void print_memory(const struct opened *opened)
{
    struct accel_plan_fit fit = {.size = sizeof fit};
    uint64_t resident, high_water;
    uint64_t peak = measured_peak(opened, &resident, &high_water);
    char a[32], b[32], c[32], d[32], e[32];

    accel_plan_fit(accel_session_plan(opened->session), &fit, NULL);
    fprintf(stderr, "memory     planned %s, measured %s: allocated %s, mapped weights %s (VmHWM %s)\n",
            bytes_text(fit.needed, a), bytes_text(peak, b), bytes_text(peak - resident, c),
            resident == 0 ? "none" : bytes_text(resident, d), bytes_text(high_water, e));
}

static void print_summary(const struct opened *opened, const struct accel_generate_result *result, const char *stop)
{
    char a[32], b[32];

    fputc('\n', stderr);
    print_memory(opened);
    if (result->first_token_time != 0)
        fprintf(stderr, "prompt     %s, %s, first token after %.1f ms\n", tokens_text(result->prompt_tokens, a),
                speed_text(result->prompt_tokens, result->prompt_time, b), (double)result->first_token_time / 1e6);
    fprintf(stderr, "written    %s%s%s, ended by: %s\n", tokens_text(result->tokens, a), result->steps == 0 ? "" : ", ",
            result->steps == 0 ? "" : speed_text(result->steps, result->decode_time, b), stop);
    print_placement(accel_session_plan(opened->session));
    print_weights(accel_session_plan(opened->session));
}

/* Most bytes of each class that were held at once, by the name that the plan gives it. */
static json_t *classes_json(const struct opened *opened, uint64_t resident)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    json_t *classes = json_object();

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(plan, i);
        uint64_t now = 0, peak = resident;

        if (row->memory_class != ACCEL_MEMORY_MAPPED)
            accel_memory_usage(opened->context, row->memory_class, &now, &peak);
        json_object_set_new(classes, row->name,
                            json_pack("{s:I, s:I}", "planned", (json_int_t)row->bytes, "measured", (json_int_t)peak));
    }
    return classes;
}

static json_t *result_json(const struct opened *opened, const struct accel_generate_result *result,
                           const struct listener *listener, const char *stop)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    struct accel_plan_fit fit = {.size = sizeof fit};
    uint64_t resident, high_water;
    uint64_t peak = measured_peak(opened, &resident, &high_water);

    accel_plan_fit(plan, &fit, NULL);
    return json_pack("{s:s%, s:O, s:s, s:{s:I, s:I, s:I, s:I, s:o}, s:{s:I, s:I, s:I, s:I, s:I, s:f, s:f}, s:o, s:o}",
                     "text", listener->memory, listener->bytes, "ids", listener->ids, "stop", stop, "memory", "planned",
                     (json_int_t)fit.needed, "measured", (json_int_t)peak, "resident_weights", (json_int_t)resident,
                     "vm_hwm", (json_int_t)high_water, "classes", classes_json(opened, resident), "time",
                     "prompt_tokens", (json_int_t)result->prompt_tokens, "tokens", (json_int_t)result->tokens,
                     "prompt_ns", (json_int_t)result->prompt_time, "first_token_ns",
                     (json_int_t)result->first_token_time, "decode_ns", (json_int_t)result->decode_time,
                     "prompt_tokens_per_second", rate(result->prompt_tokens, result->prompt_time), "tokens_per_second",
                     rate(result->steps, result->decode_time), "placement", placement_json(plan), "weights",
                     weights_json(plan));
}

/* What the next plan can learn from this run. Where it cannot be kept, that is said, and the run is as good. */
static void keep(const struct run_options *chosen, const struct opened *opened,
                 const struct accel_generate_result *result)
{
    struct accel_error error = {0};
    uint64_t resident, high_water;
    uint64_t peak = measured_peak(opened, &resident, &high_water);

    if (keep_run(opened, result, peak, resident, &error) != ACCEL_OK && !chosen->quiet && !chosen->common.json)
        fprintf(stderr, "history    not kept: %s\n", error.text);
}

/* After the text: the error or the numbers. */
static int finish(const struct run_options *chosen, const struct opened *opened, struct listener *listener,
                  const struct accel_generate_result *result, const struct accel_error *error)
{
    uint32_t interrupted = error->code == ACCEL_E_CANCELLED;
    const char *stop = interrupted ? "interrupted" : stop_name(result->stop);
    int code = interrupted ? EXIT_INTERRUPTED : EXIT_DONE;

    if (!chosen->common.json && (listener->wrote || error->code == ACCEL_OK))
        fprintf(listener->out, "\n");
    if (listener->failed || fflush(listener->out) != 0)
        return EXIT_FAILED;
    if (error->code == ACCEL_E_LIMIT && !listener->wrote && !is_of_driver(error))
        return say(chosen->common.json, EXIT_USAGE, accel_error_name(error->code), error->text, error->remedy);
    if (error->code != ACCEL_OK && !interrupted)
        return say_error(chosen->common.json, error);
    if (chosen->common.json) {
        int written = print_json(result_json(opened, result, listener, stop), "accelctl/run/1");

        keep(chosen, opened, result);
        return written == EXIT_DONE ? code : written;
    }
    if (!chosen->quiet)
        print_summary(opened, result, stop);
    keep(chosen, opened, result);
    return code;
}

static int write_text(const struct run_options *chosen, struct opened *opened, const struct accel_tokenizer *tokenizer,
                      const struct accel_token_list *prompt)
{
    struct accel_sampling sampling;
    struct listener listener = {.out = output()};
    struct accel_generate_options how = {.size = sizeof how,
                                         .flags = chosen->past_end ? ACCEL_GENERATE_PAST_END : 0,
                                         .tokens = chosen->tokens,
                                         .sampling = &sampling,
                                         .text = take_text,
                                         .data = &listener};
    struct accel_generate_result result = {.size = sizeof result};
    struct accel_error error = {0};
    int code;

    fill_sampling(chosen, &sampling);
    if (chosen->common.json) {
        listener.ids = json_array();
        listener.out = open_memstream(&listener.memory, &listener.bytes);
        if (listener.out == NULL || listener.ids == NULL)
            return say(1, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the text", NULL);
    } else if (!chosen->quiet && !chosen->prompt.chat) {
        listener.echo = chosen->prompt.text;
    }
    progress_begin(&listener.progress, "reading the prompt", tells_files(chosen, opened));
    accel_generate(opened->session, tokenizer, prompt->ids, prompt->count, &how, &result, &error);
    rest_from_user();
    progress_end(&listener.progress);
    if (error.code == ACCEL_OK)
        echo_prompt(&listener);
    code = finish(chosen, opened, &listener, &result, &error);
    if (listener.out != output())
        fclose(listener.out);
    free(listener.memory);
    json_decref(listener.ids);
    return code;
}

/* Several prompts. */
static int write_texts(const struct run_options *chosen, struct opened *opened, const struct accel_tokenizer *tokenizer)
{
    struct accel_sampling sampling;
    struct texts_job job = {.prompt = chosen->prompt,
                            .prompts = chosen->texts,
                            .count = chosen->text_count,
                            .json = chosen->common.json,
                            .quiet = chosen->quiet,
                            .flags = chosen->past_end ? ACCEL_GENERATE_PAST_END : 0,
                            .tokens = chosen->tokens,
                            .sampling = &sampling};
    int code;

    fill_sampling(chosen, &sampling);
    code = run_texts(&job, opened, tokenizer);
    rest_from_user();
    if (!job.json && !job.quiet && (code == EXIT_DONE || code == EXIT_INTERRUPTED)) {
        print_memory(opened);
        print_placement(accel_session_plan(opened->session));
        print_weights(accel_session_plan(opened->session));
    }
    return code;
}

/* Packed weights, for the next run. What cannot be kept is in the log, and the run is as good. */
static void keep_weights(const struct run_options *chosen, struct opened *opened)
{
    struct progress progress;
    int32_t code;

    progress_begin(&progress, "keeping packed weights for the next run", tells_files(chosen, opened));
    listen_to_user(opened->session);
    code = accel_session_keep(opened->session, NULL, NULL);
    rest_from_user();
    progress_end(&progress);
    if (code == ACCEL_E_CANCELLED && !chosen->quiet && !chosen->common.json)
        fprintf(stderr, "packed     not kept: interrupted; the next run, or accelctl cache warm, does it\n");
}

static int run_model(const struct run_options *chosen, struct opened *opened)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_token_list prompt = {0};
    struct accel_error error = {0};
    struct progress progress;
    uint32_t prompt_is_wrong = 0;
    int32_t status;
    int code;

    progress_begin(&progress,
                   may_compile(opened) ? "loading the model, and compiling those of its kernels that are not kept"
                                       : "loading the model",
                   tells_files(chosen, opened));
    listen_to_user(opened->session);
    /* What is wrong with texts is said before anything is loaded or compiled. */
    status = accel_tokenizer_create_file(accel_model_file_of(opened->model), &tokenizer, &error);
    if (status == ACCEL_OK && chosen->text_count < 2) {
        status = make_prompt(tokenizer, accel_model_file_path(accel_model_file_of(opened->model)), &chosen->prompt,
                             &prompt, &error);
        prompt_is_wrong = status == ACCEL_E_INVALID;
    }
    if (status == ACCEL_OK)
        status = accel_session_load(opened->session, &error);
    progress_end(&progress);
    if (status == ACCEL_OK && chosen->text_count > 1)
        code = write_texts(chosen, opened, tokenizer);
    else if (prompt_is_wrong)
        code = say(chosen->common.json, EXIT_USAGE, accel_error_name(status), error.text, error.remedy);
    else
        code = status == ACCEL_OK ? write_text(chosen, opened, tokenizer, &prompt)
                                  : say_error(chosen->common.json, &error);
    rest_from_user();
    /* Whoever reads the answer does not wait for the disk. */
    if (code == EXIT_DONE && fflush(output()) != 0)
        code = EXIT_FAILED;
    if (code == EXIT_DONE)
        keep_weights(chosen, opened);
    accel_token_list_free(&prompt);
    accel_tokenizer_free(tokenizer);
    return code;
}

/* Options that contradict each other. Answers what is wrong, or NULL. */
static const char *contradiction(const struct run_options *chosen)
{
    if ((chosen->prompt_file != NULL) + (chosen->prompts.count != 0) + (chosen->prompts_file != NULL) > 1)
        return "run: one of --prompt, --prompt-file and --prompts, not more";
    if (chosen->prompt.chat && chosen->prompts.count == 0 && chosen->prompt_file == NULL &&
        chosen->prompts_file == NULL)
        return "run: --chat wants a --prompt";
    if (chosen->prompt.system != NULL && !chosen->prompt.chat)
        return "run: --system is part of a --chat";
    if (chosen->greedy &&
        (chosen->temperature > 0 || chosen->top_k != UINT64_MAX || chosen->top_p >= 0 || chosen->min_p >= 0))
        return "run: --greedy draws nothing: leave it out, or --temperature, --top-k, --top-p and --min-p";
    return NULL;
}

/* 1 where the caller says how many sequences there are. */
static uint32_t says_sequences(const struct common *common)
{
    for (uint32_t i = 0; i < common->sets.count; i++)
        if (strncmp(common->sets.items[i], "sequences=", 10) == 0)
            return 1;
    return 0;
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct run_options chosen = {.temperature = -1, .top_k = UINT64_MAX, .top_p = -1, .min_p = -1, .penalty = 1.0};
    struct accel_given sequences = {"sequences", NULL, "accelctl run"};
    struct wish wish = {.outputs = 1, .runs = 1};
    char **lines = NULL;
    char number[16];
    struct opened opened = {0};
    struct accel_error error = {0};
    const char *wrong;
    char *text = NULL;
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    wrong = contradiction(&chosen);
    if (wrong != NULL)
        return say(chosen.common.json, EXIT_USAGE, "usage", wrong, NULL);
    if (chosen.prompt_file != NULL && read_prompt(chosen.prompt_file, &text, &error) != ACCEL_OK)
        return say_error(chosen.common.json, &error);
    if (text != NULL)
        chosen.prompt.text = text;
    if (chosen.prompts_file != NULL) {
        uint32_t line_count;

        if (read_lines(chosen.prompts_file, &lines, &line_count, &error) != ACCEL_OK)
            return say_error(chosen.common.json, &error);
        chosen.texts = (const char *const *)lines;
        chosen.text_count = line_count;
    }
    if (chosen.prompts.count > 0) {
        chosen.texts = chosen.prompts.items;
        chosen.text_count = chosen.prompts.count;
    }
    if (chosen.text_count == 1)
        chosen.prompt.text = chosen.texts[0];
    if (chosen.text_count > 1 && !says_sequences(&chosen.common)) {
        snprintf(number, sizeof number, "%u",
                 chosen.text_count < SEQUENCES_USUAL ? chosen.text_count : SEQUENCES_USUAL);
        sequences.value = number;
        wish.more = &sequences;
        wish.more_count = 1;
    }
    wish.path = arguments[0];
    code = open_model(&chosen.common, &wish, &opened);
    if (code < 0)
        code = run_model(&chosen, &opened);
    close_model(&opened);
    free_lines(lines, lines == NULL ? 0 : chosen.text_count);
    free(text);
    return code;
}

const struct verb verb_run = {
    .name = "run",
    .summary = "lets a model write, following its plan",
    .arguments = "MODEL",
    .detail =
        "MODEL is a GGUF file, a safetensors file beside its config.json, a folder with them, or a FILE.json that "
        "accelctl plan --out FILE.json wrote: then the run follows that plan to the letter, or says what differs.\n"
        "Writes the text to the standard output as it comes. Numbers follow on the error output: memory as planned "
        "and as measured, time to the first token, tokens per second, placement, fallbacks. An interrupt (Ctrl-C) "
        "ends the text, and the numbers still come; while the model is loaded it ends the command, and kernels that "
        "were compiled by then are kept. Behind the text the first run of a model keeps on disk what a driver has "
        "packed of its weights (accelctl cache), so that later ones need not; an interrupt ends that, too, and the "
        "text is whole. A text that was interrupted keeps nothing, nor does --no-cache. Where a driver does not come "
        "back within 5 seconds, the command ends without it.\n"
        "Several prompts are written at the same time, up to 8 a step or as --set sequences says, and printed in their "
        "order when all have ended. Where weights and activations are F32 each is what its prompt writes alone; "
        "quantized "
        "weights sum in another order for other numbers of rows, which may turn a token, with --greedy as well. With "
        "--json the schema is accelctl/run-texts/1 then.\n"
        "A device whose compiler makes the kernels, as OpenCL's do, takes its time before the first text; they are "
        "kept, "
        "so that later runs begin at once.\n"
        "Memory and speed of each run of one prompt go into $XDG_STATE_HOME/accel/history.jsonl "
        "(~/.local/state/accel), where later "
        "plans find them; --no-cache keeps none.",
    .example = "accelctl run --greedy -q -n 50 --prompt \"Once upon a time\" model.gguf\n"
               "print the continuation alone, always with the likeliest token",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 1,
    .run = run,
};
