/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accel/model/generate.h>

#include "tools/accelctl/cache_folder.h"
#include "tools/accelctl/elapsed.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/print/rate.h"
#include "tools/accelctl/print/where.h"
#include "tools/accelctl/process_memory.h"
#include "tools/accelctl/reports.h"
#include "tools/accelctl/run/chat_template.h"
#include "tools/accelctl/run/history.h"
#include "tools/accelctl/run/prompt.h"
#include "tools/accelctl/run/sampling.h"
#include "tools/accelctl/run/texts.h"
#include "tools/accelctl/watchdog.h"

struct run_options {
    struct common common;
    struct prompt prompt;
    struct text_list prompts; /* --prompt, each, or the argument TEXT */
    bool is_argument;         /* the prompt is the argument TEXT */
    const char *plan;
    const char *prompt_file;
    const char *prompts_file;
    const char *const *texts; /* several prompts */
    uint32_t text_count;
    struct sampling_choice sampling;
    uint32_t quiet;
    uint32_t hides_prompt;
    uint32_t lines;
    uint32_t escapes;
};

static const struct option_row options[] = {
    {"prompt", 'p', OPTION_LIST, offsetof(struct run_options, prompts), "TEXT",
     "text to continue; if repeated, the texts are decoded in one batch", 0, 0},
    {"prompt-file", 'f', OPTION_TEXT, offsetof(struct run_options, prompt_file), "FILE",
     "read the prompt from a file, or from the standard input with -, without its last newline; without any prompt "
     "option, a piped standard input is read",
     0, 0},
    {"escape", 'e', OPTION_FLAG, offsetof(struct run_options, escapes), NULL,
     "expand \\n, \\r, \\t, \\', \\\", \\\\ and \\xHH in --prompt, --system and --stop", 0, 0},
    {"prompts", 0, OPTION_TEXT, offsetof(struct run_options, prompts_file), "FILE",
     "file with one prompt per line: plain text, a JSON string, or a JSON object with \"prompt\"; empty lines are "
     "skipped",
     0, 0},
    {"chat", 0, OPTION_FLAG, offsetof(struct run_options, prompt.chat), NULL,
     "treat the prompt as a user message and format it with the chat template of the model", 0, 0},
    {"system", 0, OPTION_TEXT, offsetof(struct run_options, prompt.system), "TEXT",
     "system message before the prompt; default: that of the chat template", 0, 0},
    {"chat-template", 0, OPTION_TEXT, offsetof(struct run_options, prompt.template), "FILE|NAME", CHAT_TEMPLATE_HELP, 0,
     0},
    SAMPLING_OPTIONS(struct run_options, sampling),
    {"quiet", 'q', OPTION_FLAG, offsetof(struct run_options, quiet), NULL,
     "print the generated text alone, and what --set log.KEY or metrics.KEY requests", 0, 0},
    {"no-display-prompt", 0, OPTION_FLAG, offsetof(struct run_options, hides_prompt), NULL,
     "print the generated text and the statistics without the prompt. Otherwise the prompt precedes its continuation, "
     "as in llama-completion; --chat, --quiet and --json never print it, as ollama run",
     0, 0},
    {"json-lines", 0, OPTION_FLAG, offsetof(struct run_options, lines), NULL,
     "instead of --json: a JSON line for each generated token, for the end of each text, and for the statistics", 0, 0},
    MODEL_OPTION,
    RECORD_OPTION(struct run_options, plan),
    CONTEXT_OPTIONS(struct run_options, common),
    PLAN_OPTIONS(struct run_options, common),
    COMMON_OPTIONS(struct run_options, common),
};

/* Session to cancel; accessed from the signal handler. */
static struct accel_session *volatile running;

/* Handles a signal, also after the interrupted call has ended: a driver may hang in the cleanup. */
static void on_interrupt(int number)
{
    struct accel_session *session = running;

    watchdog_interrupt(number);
    if (session != NULL)
        accel_session_cancel(session);
}

/* Lets the first signal cancel the session; a second one ends the command. */
static void begin_cancellation(struct accel_session *session)
{
    struct sigaction action = {.sa_handler = on_interrupt};

    running = session;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Ends the section in which a signal cancels the session. */
static void end_cancellation(void)
{
    running = NULL;
    watchdog_rest();
}

/* Fewer bytes from disks for each token are not printed: they are the first uses of single pages. */
#define DISK_LEAST (UINT64_C(1) << 20)

struct listener {
    FILE *out;    /* the standard output, or memory for JSON */
    json_t *ids;  /* for JSON, or NULL */
    char *memory; /* what `out` wrote, once it is closed */
    size_t bytes;
    struct elapsed elapsed;
    const char *echo;     /* the prompt, until it is printed; NULL: it is not to be */
    uint32_t is_terminal; /* 1: `out` is one, which no control sequence of a text may reach */
    uint32_t failed;
    uint32_t wrote;      /* 1: some text came */
    uint64_t disk_begin; /* process_disk_read at the first token */
    uint64_t disk_end;   /* and after the last one */
};

/* Returns whether a compiler may have to build kernels first, so that the user is warned of the wait. */
static bool may_compile(const struct opened *opened)
{
    return plan_compiles(opened->context, accel_session_plan(opened->session));
}

static bool reports_to_files(const struct run_options *chosen, const struct opened *opened)
{
    return !chosen->common.json && !chosen->quiet && may_compile(opened);
}

static int write_bytes(const struct listener *listener, const char *text, size_t bytes)
{
    if (listener->is_terminal)
        return write_terminal(listener->out, text, bytes);
    return fwrite(text, 1, bytes, listener->out) == bytes ? 0 : EOF;
}

/* Prints the prompt that the text continues. It waits for the first generated text, since until then progress
 * lines go to the same terminal or file. */
static void echo_prompt(struct listener *listener)
{
    elapsed_end(&listener->elapsed);
    if (listener->echo != NULL && write_bytes(listener, listener->echo, strlen(listener->echo)) != 0)
        listener->failed = 1;
    listener->echo = NULL;
}

static int32_t receive_text(void *data, int32_t id, const char *text, size_t bytes)
{
    struct listener *listener = data;

    echo_prompt(listener);
    if (!listener->wrote)
        listener->disk_begin = process_disk_read();
    listener->wrote = 1;
    if (listener->ids != NULL && id >= 0)
        json_array_append_new(listener->ids, json_integer(id));
    if (write_bytes(listener, text, bytes) != 0 || fflush(listener->out) != 0)
        listener->failed = 1;
    return listener->failed != 0;
}

static const char *tokens_text(uint64_t count, char text[32])
{
    snprintf(text, 32, "%" PRIu64 " token%s", count, count == 1 ? "" : "s");
    return text;
}

/* Returns allocated bytes as the plan counts them: the peak of the counted allocations, and resident pages of
 * mapped weights. */
static uint64_t allocated_peak(const struct opened *opened, uint64_t *out_resident)
{
    uint64_t now = 0, peak = 0;

    accel_memory_usage(opened->context, 0, &now, &peak);
    *out_resident = accel_session_resident(opened->session);
    return peak + *out_resident;
}

/* Prints the types that weights are converted to, and the reports that settings request. */
static void print_weights(const struct accel_session *session)
{
    const struct accel_plan *plan = accel_session_plan(session);
    const uint32_t again = count_rounded_again(plan);
    char types[600];

    if (converts_weights(plan))
        fprintf(error_output(), "weights    in this run: %s\n", types_text(plan, types, sizeof(types)));
    if (again != 0)
        fprintf(error_output(),
                "           %" PRIu32
                " were quantized in the file: each run rounds them again, on top of the file's error; "
                "accelctl quantize of the original weights rounds once\n",
                again);
    print_reports(session, 0, 0, NULL);
}

/* Warns of a context beyond that of the model's training. */
static void print_context(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);

        if (note->level == ACCEL_NOTE_WARN && strcmp(note->key, "context") == 0)
            fprintf(error_output(), "warning    %s\n", note->text);
    }
}

/* Formats bytes: "123.4 MiB", or "not known". */
static const char *known_bytes(uint64_t bytes, char text[32])
{
    return bytes == UINT64_MAX ? "not known" : bytes_text(bytes, text);
}

static void print_memory(const struct opened *opened)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct process_memory process;
    uint64_t resident;
    uint64_t allocated = allocated_peak(opened, &resident);
    char a[32], b[32], c[32], d[32], e[32];

    accel_plan_fit(accel_session_plan(opened->session), &fit, NULL);
    process_memory_read(&process);
    fprintf(error_output(), "memory     planned %s, allocated %s (mapped weights: %s)\n", bytes_text(fit.needed, a),
            bytes_text(allocated, b), resident == 0 ? "none" : bytes_text(resident, c));
    fprintf(error_output(), "process    peak %s (VmHWM), driver libraries %s resident now\n%s",
            known_bytes(process.peak, d), known_bytes(process.driver_libraries, e),
            process.peak < allocated
                ? "           the peak is less than allocated, since untouched pages take no memory\n"
                : "");
}

/* Returns the bytes that decode steps read from disks, for each step; UINT64_MAX: unknown. */
static uint64_t disk_per_step(const struct listener *listener, const struct accel_generate_result *result)
{
    if (!listener->wrote || result->steps == 0 || listener->disk_begin == UINT64_MAX ||
        listener->disk_end < listener->disk_begin)
        return UINT64_MAX;
    return (listener->disk_end - listener->disk_begin) / result->steps;
}

static void print_summary(const struct opened *opened, const struct listener *listener,
                          const struct accel_generate_result *result, const char *stop)
{
    const uint64_t disk = disk_per_step(listener, result);
    char a[32], b[40];

    fputc('\n', error_output());
    print_memory(opened);
    if (disk != UINT64_MAX && disk >= DISK_LEAST)
        fprintf(error_output(), "disk       %s read for each token (read_bytes of /proc/self/io)\n",
                bytes_text(disk, a));
    if (result->first_token_time != 0)
        fprintf(error_output(), "prompt     %s%s, first token after %.1f ms\n", tokens_text(result->prompt_tokens, a),
                token_rate_text(result->prompt_tokens, result->prompt_time, b), (double)result->first_token_time / 1e6);
    fprintf(error_output(), "generated  %s%s, ended by: %s\n", tokens_text(result->tokens, a),
            token_rate_text(result->steps, result->decode_time, b), stop);
    print_placement(accel_session_plan(opened->session));
    print_weights(opened->session);
    print_context(accel_session_plan(opened->session));
}

/* Returns the peak bytes of each memory class, by the names of the plan. */
static json_t *classes_json(const struct opened *opened, uint64_t resident)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    json_t *classes = json_object();

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(plan, i);
        uint64_t now = 0, peak = 0;

        accel_memory_usage(opened->context, row->memory_class, &now, &peak);
        peak += row->memory_class == ACCEL_MEMORY_MAPPED ? resident : 0;
        json_object_set_new(classes, row->name,
                            json_pack("{s:I, s:I}", "planned", (json_int_t)row->bytes, "allocated", (json_int_t)peak));
    }
    return classes;
}

static json_t *known_json(uint64_t bytes)
{
    return bytes == UINT64_MAX ? json_null() : json_integer((json_int_t)bytes);
}

static json_t *memory_json(const struct opened *opened)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct process_memory process;
    uint64_t resident;
    uint64_t allocated = allocated_peak(opened, &resident);

    accel_plan_fit(accel_session_plan(opened->session), &fit, NULL);
    process_memory_read(&process);
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s}}", "planned", (json_int_t)fit.needed,
        "allocated", (json_int_t)allocated, "resident_weights", (json_int_t)resident, "vm_hwm",
        known_json(process.peak), "driver_libraries", known_json(process.driver_libraries), "classes",
        classes_json(opened, resident), "origin", "planned",
        "estimated: the plan; accelctl plan --json gives the formula of each class", "allocated",
        "measured: peak of the allocations that the library and the driver counted, and resident_weights", "classes",
        "estimated and measured as the whole; allocated is the peak of the class alone, at a moment of its "
        "own, so that a class may exceed its plan (host: buffers that convert weights, the file of compiled kernels) "
        "when the whole "
        "does not",
        "resident_weights", "measured: mincore of the mapped weights, after the last step", "vm_hwm",
        "measured: VmHWM of /proc/self/status", "driver_libraries",
        "measured: Rss in /proc/self/smaps, after the last step, of the segments of shared objects that "
        "were loaded after the start of the process: drivers and what they load");
}

static json_t *result_json(const struct opened *opened, const struct accel_generate_result *result,
                           const struct listener *listener, const struct sampling_choice *sampling, const char *stop)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);

    return json_pack(
        "{s:s, s:s%, s:O, s:s, s:o, s:o, s:{s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:s}, s:{s:o, s:s}, s:o, s:o, s:o, s:o, "
        "s:o}",
        "origin", "measured: this run", "text", listener->memory, listener->bytes, "ids", listener->ids, "stop", stop,
        "sampling", sampling_json(sampling), "memory", memory_json(opened), "time", "prompt_tokens",
        (json_int_t)result->prompt_tokens, "tokens", (json_int_t)result->tokens, "prompt_ns",
        (json_int_t)result->prompt_time, "first_token_ns",
        result->first_token_time == 0 ? json_null() : json_integer((json_int_t)result->first_token_time), "decode_ns",
        (json_int_t)result->decode_time, "prompt_tokens_per_second",
        token_rate_json(result->prompt_tokens, result->prompt_time), "tokens_per_second",
        token_rate_json(result->steps, result->decode_time), "origin", RATE_ORIGIN, "disk", "read_bytes_per_step",
        known_json(disk_per_step(listener, result)), "origin",
        "measured: read_bytes of /proc/self/io from the first token on, over the decode steps", "placement",
        placement_json(plan), "weights", reports_json(opened->session, 0, REPORT_WEIGHTS), "metrics",
        reports_json(opened->session, 0, REPORT_METRICS), "log", reports_json(opened->session, 0, REPORT_LOG),
        "not_honored", unhonored_json(opened));
}

/* Records the run for the memory estimates and rates of later plans. A failure is reported, and the run succeeds
 * all the same. */
static void record_run(const struct run_options *chosen, const struct opened *opened, const struct listener *listener,
                       const struct accel_generate_result *result)
{
    struct accel_error error = {0};
    uint64_t resident;
    uint64_t peak = allocated_peak(opened, &resident);
    char fault[CACHE_PATH_BYTES + 200];

    if (!chosen->common.no_cache &&
        history_record_run(opened, result, peak, resident, disk_per_step(listener, result), &error) != ACCEL_OK &&
        !chosen->quiet && !chosen->common.json)
        fprintf(error_output(), "history    not recorded: %s\n", error.text);
    if (!chosen->common.no_cache && !chosen->quiet && !chosen->common.json && cache_folder_fault(fault, sizeof(fault)))
        fprintf(error_output(), "cache      %s\n", fault);
}

/* Prints the error or the rates after the text. */
static int finish(const struct run_options *chosen, const struct opened *opened, struct listener *listener,
                  const struct accel_generate_result *result, const struct accel_error *error)
{
    bool interrupted = error->code == ACCEL_E_CANCELLED;
    const char *stop = interrupted ? "interrupted" : stop_name(result->stop);
    int code = interrupted ? EXIT_INTERRUPTED : EXIT_DONE;

    if (!chosen->common.json && (listener->wrote || error->code == ACCEL_OK))
        fprintf(listener->out, "\n");
    if (listener->failed || fflush(listener->out) != 0)
        return EXIT_FAILED;
    if (error->code != ACCEL_OK && !interrupted)
        return report_text_error(chosen->common.json, error);
    if (chosen->common.json) {
        int written = print_json(result_json(opened, result, listener, &chosen->sampling, stop), "accelctl/run/1");

        record_run(chosen, opened, listener, result);
        return written == EXIT_DONE ? code : written;
    }
    if (chosen->quiet)
        print_reports(opened->session, 0, 1, NULL);
    else
        print_summary(opened, listener, result, stop);
    record_run(chosen, opened, listener, result);
    return code;
}

static int write_text(const struct run_options *chosen, struct opened *opened, const struct accel_tokenizer *tokenizer,
                      const struct accel_token_list *prompt)
{
    struct accel_sampling sampling;
    struct listener listener = {.out = output(), .is_terminal = isatty(output_file()) == 1};
    struct accel_generate_options how = {.size = sizeof(how),
                                         .flags = chosen->sampling.past_end ? ACCEL_GENERATE_PAST_END : 0,
                                         .tokens = chosen->sampling.tokens,
                                         .stops = chosen->sampling.stops.items,
                                         .stop_count = chosen->sampling.stops.count,
                                         .sampling = &sampling,
                                         .text = receive_text,
                                         .data = &listener};
    struct accel_generate_result result = {.size = sizeof(result)};
    struct accel_error error = {0};
    int code;

    fill_sampling(&chosen->sampling, &sampling);
    if (chosen->common.json) {
        listener.ids = json_array();
        listener.out = open_memstream(&listener.memory, &listener.bytes);
        listener.is_terminal = 0;
        if (listener.out == NULL || listener.ids == NULL)
            return report_error_text(1, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the text", NULL);
    } else if (!chosen->quiet && !chosen->hides_prompt && !chosen->prompt.chat) {
        listener.echo = chosen->prompt.text;
    }
    elapsed_begin(&listener.elapsed,
                  may_compile(opened) ? "reading the prompt, and compiling kernels for its length"
                                      : "reading the prompt",
                  reports_to_files(chosen, opened));
    accel_generate(opened->session, tokenizer, prompt->ids, prompt->count, &how, &result, &error);
    listener.disk_end = process_disk_read();
    end_cancellation();
    elapsed_end(&listener.elapsed);
    if (error.code == ACCEL_OK)
        echo_prompt(&listener);
    code = finish(chosen, opened, &listener, &result, &error);
    if (listener.out != output())
        fclose(listener.out);
    free(listener.memory);
    json_decref(listener.ids);
    return code;
}

/* Runs several prompts. */
static int write_texts(const struct run_options *chosen, struct opened *opened, const struct accel_tokenizer *tokenizer)
{
    struct texts_job job = {.prompt = chosen->prompt,
                            .prompts = chosen->texts,
                            .count = chosen->text_count,
                            .json = chosen->common.json,
                            .lines = chosen->lines,
                            .quiet = chosen->quiet,
                            .flags = chosen->sampling.past_end ? ACCEL_GENERATE_PAST_END : 0,
                            .tokens = chosen->sampling.tokens,
                            .stops = &chosen->sampling.stops,
                            .chosen = &chosen->sampling};
    int code = run_texts(&job, opened, tokenizer);

    end_cancellation();
    if (!job.json && job.quiet && (code == EXIT_DONE || code == EXIT_INTERRUPTED))
        print_reports(opened->session, 0, 1, NULL);
    if (!job.json && !job.quiet && (code == EXIT_DONE || code == EXIT_INTERRUPTED)) {
        print_memory(opened);
        print_placement(accel_session_plan(opened->session));
        print_weights(opened->session);
        print_context(accel_session_plan(opened->session));
    }
    return code;
}

/* Caches packed weights for the next run. Failures are in the log, and the run succeeds all the same. */
static void cache_weights(const struct run_options *chosen, struct opened *opened)
{
    struct elapsed elapsed;
    int32_t code;

    elapsed_begin(&elapsed, "caching packed weights for the next run", reports_to_files(chosen, opened));
    begin_cancellation(opened->session);
    code = accel_session_store(opened->session, NULL, NULL);
    end_cancellation();
    elapsed_end(&elapsed);
    if (code == ACCEL_E_CANCELLED && !chosen->quiet && !chosen->common.json)
        fprintf(error_output(),
                "packed     not cached: interrupted; the next run, or accelctl cache warm, caches them\n");
}

/* Prints how to talk to a model with a chat template, to users of ollama run MODEL and ollama run MODEL TEXT. */
static void print_template_note(const struct run_options *chosen, const struct accel_tokenizer *tokenizer)
{
    if (chosen->prompt.chat || accel_tokenizer_chat_template(tokenizer) == NULL)
        return;
    if (chosen->is_argument)
        fprintf(error_output(), "note       the model continues the text; with --chat it answers a message\n");
    else if (chosen->prompt.text == NULL && chosen->text_count == 0)
        fprintf(error_output(),
                "note       without a prompt the model begins a text; accelctl chat converses with it\n");
}

static int run_model(const struct run_options *chosen, struct opened *opened)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_token_list prompt = {0};
    struct accel_error error = {0};
    struct elapsed elapsed;
    uint32_t prompt_is_wrong = 0;
    int32_t status;
    int code;

    if (!chosen->quiet && !chosen->common.json)
        print_unhonored(accel_session_plan(opened->session));
    elapsed_begin(&elapsed, loading_text(may_compile(opened)), reports_to_files(chosen, opened));
    begin_cancellation(opened->session);
    /* Errors of texts are reported before anything is loaded or compiled. */
    status = accel_tokenizer_create_file(accel_model_file_of(opened->model), &tokenizer, &error);
    if (status == ACCEL_OK && chosen->text_count < 2 && !chosen->lines) {
        status = make_prompt(tokenizer, accel_model_file_path(accel_model_file_of(opened->model)), &chosen->prompt,
                             &prompt, &error);
        prompt_is_wrong = status == ACCEL_E_INVALID;
    }
    if (status == ACCEL_OK && !chosen->quiet && !chosen->common.json)
        print_template_note(chosen, tokenizer);
    if (status == ACCEL_OK)
        status = load_session(opened, &error);
    elapsed_end(&elapsed);
    if (status == ACCEL_OK && (chosen->text_count > 1 || chosen->lines))
        code = write_texts(chosen, opened, tokenizer);
    else if (prompt_is_wrong)
        code = report_error_text(chosen->common.json, EXIT_USAGE, accel_error_name(status), error.text, error.remedy);
    else
        code = status == ACCEL_OK ? write_text(chosen, opened, tokenizer, &prompt)
                                  : report_error(chosen->common.json, &error);
    end_cancellation();
    /* Flushes the text before the history is written, so that its reader does not wait for the disk. */
    if (code == EXIT_DONE && fflush(output()) != 0)
        code = EXIT_FAILED;
    if (code == EXIT_DONE)
        cache_weights(chosen, opened);
    accel_token_list_free(&prompt);
    accel_tokenizer_free(tokenizer);
    return code;
}

/* 1 if the standard input is a pipe or a file, and no terminal, /dev/null or other device. */
static bool is_piped(void)
{
    struct stat status;

    return fstat(STDIN_FILENO, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

static bool gives_no_text(const struct run_options *chosen)
{
    return chosen->prompts.count == 0 && chosen->prompt_file == NULL && chosen->prompts_file == NULL;
}

/* Reads the prompt from a file, or from a pipe if no option gives one, without the newline at its end, which editors
 * and echo add. llama.cpp drops it as well. */
static int32_t read_standard_input(const struct run_options *chosen, char **out_text, struct accel_error *error)
{
    bool piped = gives_no_text(chosen) && is_piped();
    size_t length;
    int32_t code;

    if (chosen->prompt_file == NULL && !piped)
        return ACCEL_OK;
    code = read_prompt(piped ? "-" : chosen->prompt_file, out_text, error);
    length = code == ACCEL_OK ? strlen(*out_text) : 0;
    if (length > 0 && (*out_text)[length - 1] == '\n')
        (*out_text)[--length] = '\0';
    if (code == ACCEL_OK && piped && length == 0 && chosen->prompt.chat)
        code = accel_error_set(error, ACCEL_E_INVALID, "run: --chat: the standard input has no message");
    return code;
}

/* Describes options that contradict each other, or answers NULL; *out_remedy stays unset if the help is the
 * remedy. */
static const char *contradiction(const struct run_options *chosen, const char **out_remedy)
{
    if ((chosen->prompt_file != NULL) + (chosen->prompts.count != 0) + (chosen->prompts_file != NULL) > 1)
        return "one of --prompt, --prompt-file and --prompts, not more";
    if (chosen->prompt.chat && gives_no_text(chosen) && !is_piped())
        return "--chat requires a --prompt, or a message on the standard input; accelctl chat MODEL is interactive";
    if (chosen->prompt.system != NULL && !chosen->prompt.chat) {
        *out_remedy = "add --chat (-cnv), which puts --prompt into the chat template as a message";
        return "--system is part of a --chat";
    }
    if (chosen->prompt.template != NULL && !chosen->prompt.chat) {
        *out_remedy = "add --chat (-cnv), which puts --prompt into the chat template as a message";
        return "--chat-template is part of a --chat";
    }
    if (chosen->lines && chosen->common.json) {
        *out_remedy = "--json prints one document at the end, --json-lines each token as it comes: leave one out";
        return "--json and --json-lines exclude each other";
    }
    return NULL;
}

/* Expands the escapes of --escape in place, in the words of the command line. Describes an error, or answers NULL. */
static const char *expand_options(const struct run_options *chosen)
{
    uint32_t is_text = chosen->prompt.system == NULL || expand_escapes((char *)chosen->prompt.system);

    for (uint32_t i = 0; i < chosen->prompts.count && is_text; i++)
        is_text = expand_escapes((char *)chosen->prompts.items[i]);
    for (uint32_t i = 0; i < chosen->sampling.stops.count && is_text; i++)
        is_text = expand_escapes((char *)chosen->sampling.stops.items[i]);
    return is_text ? NULL : "--escape: \\x00 is a zero byte, which no text has";
}

/* Opens the model. With goal=latency texts are generated one after another, as the plan without `sequences` has it. */
static int open_for_texts(const struct run_options *chosen, struct wish *wish, struct opened *opened)
{
    int code = open_model(&chosen->common, wish, opened);

    if (code >= 0 || wish->more_count == 0 ||
        accel_plan_setting_find(accel_session_plan(opened->session), "goal")->word != ACCEL_WORD_LATENCY)
        return code;
    close_model(opened);
    *opened = (struct opened){0};
    wish->more_count = 0;
    return open_model(&chosen->common, wish, opened);
}

static int run(int count, char **arguments, const struct command *command)
{
    struct run_options chosen = {.sampling = SAMPLING_UNSET};
    struct accel_named_value sequences = {"sequences", NULL, "the command run: one for each prompt"};
    struct wish wish = {
        .outputs = 1, .runs = 1, .command = "run", .reports = REPORT_LOG | REPORT_WEIGHTS | REPORT_METRICS};
    char **lines = NULL;
    char number[16];
    struct opened opened = {0};
    struct accel_error error = {0};
    const char *wrong = NULL, *remedy = NULL;
    char *text = NULL;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (count > 1 && gives_no_text(&chosen)) {
        chosen.prompts.items[chosen.prompts.count++] = arguments[1];
        chosen.is_argument = true;
    } else if (count > 1) {
        wrong = "the prompt is the argument TEXT, or that of --prompt, --prompt-file or --prompts: not both";
    }
    if (wrong == NULL)
        wrong = contradiction(&chosen, &remedy);
    if (wrong == NULL && chosen.is_argument && is_plan_file(arguments[0]) && access(arguments[1], F_OK) == 0) {
        wrong = "TEXT behind a plan is the text to continue, and this one is the name of a file";
        remedy = "accelctl run MODEL --plan FILE runs a plan with a model that was moved; --prompt TEXT takes any text";
    }
    chosen.common.json |= chosen.lines;
    if (wrong == NULL && chosen.escapes)
        wrong = expand_options(&chosen);
    if (wrong == NULL)
        wrong = sampling_contradiction(&chosen.sampling);
    if (wrong != NULL)
        return report_error_format(chosen.common.json, EXIT_USAGE, "usage", remedy, "run: %s", wrong);
    draw_seed(&chosen.sampling, !chosen.quiet && !chosen.common.json);
    if (read_standard_input(&chosen, &text, &error) != ACCEL_OK) {
        free(text);
        return report_error(chosen.common.json, &error);
    }
    if (text != NULL)
        chosen.prompt.text = text;
    if (chosen.prompts_file != NULL) {
        uint32_t line_count;

        if (read_lines(chosen.prompts_file, &lines, &line_count, &error) != ACCEL_OK)
            return report_error(chosen.common.json, &error);
        chosen.texts = (const char *const *)lines;
        chosen.text_count = line_count;
    }
    if (chosen.prompts.count > 0) {
        chosen.texts = chosen.prompts.items;
        chosen.text_count = chosen.prompts.count;
    }
    if (chosen.text_count == 1)
        chosen.prompt.text = chosen.texts[0];
    if (chosen.lines && chosen.text_count == 0) {
        chosen.prompt.text = chosen.prompt.text == NULL ? "" : chosen.prompt.text;
        chosen.texts = &chosen.prompt.text;
        chosen.text_count = 1;
    }
    /* A recorded plan runs with the sequences that it has. */
    if (chosen.text_count > 1 && !is_set(&chosen.common, "sequences") && chosen.plan == NULL &&
        !is_plan_file(arguments[0])) {
        snprintf(number, sizeof(number), "%u",
                 chosen.text_count < SEQUENCES_USUAL ? chosen.text_count : SEQUENCES_USUAL);
        sequences.value = number;
        wish.more = &sequences;
        wish.more_count = 1;
    }
    wish.path = arguments[0];
    wish.plan = chosen.plan;
    wish.quiet = chosen.quiet;
    code = open_for_texts(&chosen, &wish, &opened);
    if (code < 0)
        code = run_model(&chosen, &opened);
    close_model(&opened);
    free_lines(lines, lines == NULL ? 0 : chosen.text_count);
    free(text);
    return code;
}

const struct command command_run = {
    .name = "run",
    .summary = "generate text with a model, following its plan",
    .arguments = "MODEL [TEXT]",
    .detail =
        "MODEL is a GGUF file, a safetensors file beside its config.json, a folder with them, or a FILE that "
        "accelctl plan --out FILE wrote. A plan file is followed exactly; the run is refused if it cannot be. TEXT is "
        "the prompt, as --prompt TEXT.\n"
        "A value that a profile or a variable of the documents recommends and that the device cannot honor is printed "
        "before the text (not honored: KEY=VALUE, reason), and so is your own value if it refines another setting that "
        "is not in use, as kv.group does. Other values of yours that cannot be honored are refused.\n"
        "The text goes to the standard output token by token. Statistics follow on the error output: planned and "
        "allocated memory, peak memory of the process, time to the first token, tokens per second (from 17 tokens and "
        "0.5 ms on, without the first token, which the prefill generates), placement and fallbacks. An interrupt "
        "(Ctrl-C) ends the text and still prints the statistics; during loading it ends the command, and kernels "
        "compiled so far stay cached. After the text, the first run of "
        "a model caches the weights that the driver has packed (accelctl cache), so that later runs need not pack "
        "them; an interrupt ends that too, and the text is complete. An interrupted text caches nothing, nor does "
        "--no-cache. If a driver does not return within 5 seconds, the command ends without it.\n"
        "Several prompts are decoded in one batch, up to 8 or --set sequences=N at a time (one at a time with "
        "goal=latency), and printed in their order; "
        "the first unfinished one is printed token by token. With F32 weights and activations each text equals that of "
        "its prompt alone; sums of quantized weights depend on the batch size, which may change a token, even with "
        "--greedy. The first prompt is sampled with the seed S of --seed, the second one with S+1, and so on: --seed "
        "with that number repeats a text by itself. With --json the schema is accelctl/run-texts/1. --json-lines "
        "prints tokens as they are generated, with the schema accelctl/run-lines/1.\n"
        "Without a prompt, a piped standard input is the prompt, or the message with --chat; accelctl chat MODEL is "
        "interactive.\n"
        "A device that compiles its kernels, as OpenCL devices do, delays the first text; the kernels are cached, so "
        "that later runs start at once.\n"
        "Memory and speed of each run of one prompt are recorded in $XDG_STATE_HOME/accel/history.jsonl "
        "(~/.local/state/accel), and later plans use them; --no-cache records nothing.",
    .example = "accelctl run --greedy -q -n 50 --prompt \"Once upon a time\" model.gguf\n"
               "print the continuation alone, always with the likeliest token",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 2,
    .run = run,
};
