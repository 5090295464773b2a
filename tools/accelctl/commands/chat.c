/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/chat/chat.h"
#include "tools/accelctl/elapsed.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/print/rate.h"
#include "tools/accelctl/print/where.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/reports.h"
#include "tools/accelctl/run/chat_template.h"

static const struct option_row options[] = {
    {"system", 0, OPTION_TEXT, offsetof(struct chat_options, system), "TEXT",
     "system message of the conversation; default: that of the chat template", 0, 0},
    {"chat-template", 0, OPTION_TEXT, offsetof(struct chat_options, template), "FILE|NAME", CHAT_TEMPLATE_HELP, 0, 0},
    {"resume", 0, OPTION_TEXT, offsetof(struct chat_options, resume), "FILE",
     "continue a conversation that /save wrote, or a JSON list of messages", 0, 0},
    SAMPLING_OPTIONS(struct chat_options, sampling),
    {"quiet", 'q', OPTION_FLAG, offsetof(struct chat_options, quiet), NULL, "print answers and errors alone", 0, 0},
    MODEL_OPTION,
    RECORD_OPTION(struct chat_options, plan),
    CONTEXT_OPTIONS(struct chat_options, common),
    PLAN_OPTIONS(struct chat_options, common),
    COMMON_OPTIONS(struct chat_options, common),
};

/* ---- lines beside the conversation ---- */

void record_failure(struct chat *chat, int code)
{
    if (chat->code == EXIT_DONE)
        chat->code = code;
}

void chat_refuse(struct chat *chat, const char *text, const char *remedy)
{
    record_failure(chat, report_error_text(chat->options->common.json, EXIT_USAGE, "usage", text, remedy));
}

void chat_note(const struct chat *chat, const char *format, ...)
{
    va_list list;

    if (chat->options->quiet || chat->options->common.json)
        return;
    va_start(list, format);
    vfprintf(error_output(), format, list);
    va_end(list);
    fputc('\n', error_output());
}

void chat_heed_signal(struct chat *chat)
{
    int number = progress_interrupted();

    if (number == SIGTERM || (number != 0 && !line_reader_is_terminal(chat->reader)))
        chat->ends = chat->cut = 1;
}

/* ---- an answer ---- */

/* Receives the text of an answer as it is generated. */
struct listener {
    const struct chat *chat;
    struct elapsed elapsed;
    FILE *stream; /* the text in memory */
    char *text;
    size_t bytes;
    struct accel_token_list ids;
    uint32_t is_terminal;
    uint32_t out_of_memory; /* 1: a token or its text could not be stored */
    uint32_t output_failed; /* 1: the standard output takes no more */
    char last;              /* last byte that was printed */
};

static int32_t store_token(struct listener *listener, int32_t id)
{
    struct accel_token_list *ids = &listener->ids;

    if (!array_reserve(&ids->ids, &ids->capacity, ids->count + 1, sizeof(*ids->ids)))
        return ACCEL_E_MEMORY;
    ids->ids[ids->count++] = id;
    return ACCEL_OK;
}

static int32_t ACCEL_CALL receive_text(void *data, int32_t id, const char *text, size_t bytes)
{
    struct listener *listener = data;

    elapsed_end(&listener->elapsed);
    if ((id >= 0 && store_token(listener, id) != ACCEL_OK) || fwrite(text, 1, bytes, listener->stream) != bytes) {
        listener->out_of_memory = 1;
        return 1;
    }
    if (bytes > 0)
        listener->last = text[bytes - 1];
    if (listener->chat->options->common.json)
        return 0;
    if ((listener->is_terminal ? write_terminal(output(), text, bytes) != 0
                               : fwrite(text, 1, bytes, output()) != bytes) ||
        fflush(output()) != 0)
        listener->output_failed = 1;
    return (int32_t)listener->output_failed;
}

static void print_answer_json(struct chat *chat, const struct listener *listener, const struct turn *turn,
                              const struct accel_generate_result *result, uint64_t left)
{
    const struct accel_plan *plan = accel_session_plan(chat->opened.session);
    const char *stop = result->stop == 0 ? "interrupted" : stop_name(result->stop);
    json_t *answer;

    answer = json_pack("{s:s, s:s, s:s%, s:s, s:I, s:o, s:{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}, s:o, s:o, s:o}",
                       "schema", "accelctl/chat/1", "origin", "measured: this answer", "content", listener->text,
                       listener->bytes, "stop", stop, "context", (json_int_t)turn->all, "sampling",
                       sampling_json(&chat->sampling), "time", "origin", RATE_ORIGIN, "cached_tokens",
                       (json_int_t)turn->held, "prefill_tokens", (json_int_t)turn->count, "tokens",
                       (json_int_t)result->tokens, "evicted_tokens", (json_int_t)left, "prefill_ns",
                       (json_int_t)result->prompt_time, "decode_ns", (json_int_t)result->decode_time,
                       "tokens_per_second", token_rate_json(result->steps, result->decode_time), "weights",
                       reports_json(chat->opened.session, chat->reported, REPORT_WEIGHTS), "metrics",
                       reports_json(chat->opened.session, chat->reported, REPORT_METRICS), "log",
                       reports_json(chat->opened.session, chat->reported, REPORT_LOG));
    chat->reported = accel_plan_note_count(plan) + accel_session_note_count(chat->opened.session);
    if (answer != NULL)
        json_dumpf(answer, output(), JSON_COMPACT);
    fputc('\n', output());
    fflush(output());
    json_decref(answer);
}

static const char *setting(const struct chat *chat, const char *key)
{
    return plan_setting_text(accel_session_plan(chat->opened.session), key);
}

/* Prints the reports that settings request and that have come since the last call. */
static void print_new_reports(struct chat *chat)
{
    if (!chat->options->common.json)
        chat->reported = print_reports(chat->opened.session, chat->reported, chat->options->quiet, NULL);
}

/* Prints the reason if an answer ended early, the tokens that left the KV cache, and the rates. */
static void print_remarks(const struct chat *chat, const struct turn *turn, const struct accel_generate_result *result,
                          uint64_t left)
{
    uint64_t context = accel_session_context(chat->opened.session);
    char speed[40];

    if (result->stop == ACCEL_STOP_CONTEXT)
        chat_note(chat,
                  "the context of %" PRIu64 " tokens is full, and the answer ends (kv.full=stop); /clear begins anew, "
                  "--set kv.full=slide evicts the oldest tokens",
                  context);
    else if (result->stop == ACCEL_STOP_LENGTH)
        chat_note(chat, "the answer ends after %" PRIu64 " tokens (/set tokens=N)", result->tokens);
    else if (result->stop == 0)
        chat_note(chat, "interrupted; /regenerate answers once more");
    if (left > 0)
        chat_note(chat,
                  "the context of %" PRIu64 " tokens is full: %" PRIu64 " tokens have left the KV cache (kv.full=%s)",
                  context, left, setting(chat, "kv.full"));
    token_rate_text(result->steps, result->decode_time, speed);
    chat_note(chat, "[prefill %" PRIu64 " token%s, %" PRIu64 " cached; decode %" PRIu64 " token%s%s]", turn->count,
              turn->count == 1 ? "" : "s", turn->held, result->tokens, result->tokens == 1 ? "" : "s", speed);
}

/* Feeds the turn and generates. An interrupt after the last step of an earlier answer may still be pending in the
 * session: it ends the first call, which is then repeated. */
static int32_t generate(struct chat *chat, const struct turn *turn, struct listener *listener,
                        struct accel_generate_result *result, struct accel_error *error)
{
    struct accel_sampling sampling;
    struct accel_generate_options how = {.size = sizeof(how),
                                         .flags = chat->sampling.past_end ? ACCEL_GENERATE_PAST_END : 0,
                                         .tokens = chat->sampling.tokens,
                                         .stops = chat->sampling.stops.items,
                                         .stop_count = chat->sampling.stops.count,
                                         .sampling = &sampling,
                                         .text = receive_text,
                                         .data = listener};
    struct accel_session *sessions[] = {chat->opened.session};
    struct progress progress;
    int32_t code = ACCEL_E_CANCELLED;

    fill_sampling(&chat->sampling, &sampling);
    sampling.seed += chat->answers;
    elapsed_begin(&listener->elapsed, "prefill", 0);
    progress_begin(&progress, sessions, 1);
    for (int tries = 0; code == ACCEL_E_CANCELLED && tries < 2 && progress_interrupted() == 0; tries++) {
        *error = (struct accel_error){0};
        *result = (struct accel_generate_result){.size = sizeof(*result)};
        code = accel_generate(chat->opened.session, chat->tokenizer, turn->ids, turn->count, &how, result, error);
    }
    chat_heed_signal(chat);
    progress_end(&progress);
    elapsed_end(&listener->elapsed);
    return code;
}

/* Returns the number of tokens that have left the KV cache. */
static uint64_t tokens_gone(const struct chat *chat)
{
    uint64_t length = accel_session_length(chat->opened.session), fed = chat->conversation.cached;

    return fed > length ? fed - length : 0;
}

/* Adds the answer to the conversation; `gone` tokens had left the KV cache before. 0 if there is no answer. */
static uint32_t finish(struct chat *chat, struct listener *listener, const struct turn *turn,
                       const struct accel_generate_result *result, uint64_t gone, int32_t code,
                       const struct accel_error *error)
{
    uint64_t left;
    struct accel_error own = {0};

    if (fflush(listener->stream) != 0)
        listener->out_of_memory = 1;
    if (result->tokens > 0 && listener->last != '\n' && !chat->options->common.json)
        fputc('\n', output());
    fflush(output());
    /* Drops an answer with missing tokens, since it differs from the KV cache. */
    if (listener->out_of_memory) {
        listener->ids.count = 0;
        conversation_end_turn(&chat->conversation, turn, result, &listener->ids, "", 0);
        record_failure(chat, report_error_text(chat->options->common.json, EXIT_SHORT, "ACCEL_E_MEMORY",
                                               "no memory for the answer", "/clear begins anew; -n N limits answers"));
        return 0;
    }
    conversation_end_turn(&chat->conversation, turn, result, &listener->ids, listener->text, listener->bytes);
    left = tokens_gone(chat);
    left = left > gone ? left - gone : 0;
    if (code != ACCEL_OK && code != ACCEL_E_CANCELLED && !listener->output_failed)
        record_failure(chat, report_error(chat->options->common.json, error));
    if (result->tokens == 0 && result->stop == 0) {
        if (code == ACCEL_E_CANCELLED && chat->options->common.json)
            report_error(1, error);
        else if (code == ACCEL_E_CANCELLED)
            chat_note(chat, "interrupted before the answer began; the message is dropped");
        return 0;
    }
    if (conversation_add(&chat->conversation, 1, listener->text, listener->bytes, &own) != ACCEL_OK) {
        record_failure(chat, report_error(chat->options->common.json, &own));
        return 0;
    }
    if (chat->options->common.json)
        print_answer_json(chat, listener, turn, result, left);
    else
        print_remarks(chat, turn, result, left);
    print_new_reports(chat);
    return 1;
}

uint32_t chat_answer(struct chat *chat)
{
    struct listener listener = {.chat = chat, .is_terminal = isatty(output_file()) == 1};
    struct accel_generate_result result = {.size = sizeof(result)};
    struct accel_error error = {0};
    struct turn turn;
    uint32_t answered = 0;
    uint64_t gone;
    int32_t code = conversation_begin_turn(&chat->conversation, &turn, &error);

    if (code != ACCEL_OK) {
        record_failure(chat, report_text_error(chat->options->common.json, &error));
        return 0;
    }
    listener.stream = open_memstream(&listener.text, &listener.bytes);
    if (listener.stream == NULL) {
        record_failure(chat, report_error_text(chat->options->common.json, EXIT_SHORT, "ACCEL_E_MEMORY",
                                               "no memory for the answer", NULL));
        return 0;
    }
    gone = tokens_gone(chat);
    code = generate(chat, &turn, &listener, &result, &error);
    chat->answers++;
    answered = finish(chat, &listener, &turn, &result, gone, code, &error);
    if (ferror(output())) {
        record_failure(chat, EXIT_FAILED);
        chat->ends = 1;
    }
    fclose(listener.stream);
    free(listener.text);
    accel_token_list_free(&listener.ids);
    return answered;
}

/* ---- lines ---- */

/* Reads a message between """, which may have several lines: `first` is the text behind the first mark. The caller
 * frees it; NULL if the second mark is missing. */
static char *read_block(struct chat *chat, const char *before, const char *first)
{
    char *text = NULL;
    size_t bytes = 0, line_bytes = strlen(first);
    FILE *out = open_memstream(&text, &bytes);
    uint32_t ended = 0;
    const char *line = first;
    enum line_result result = LINE_TEXT;

    if (out == NULL)
        return NULL;
    fputs(before, out);
    while (result == LINE_TEXT) {
        size_t end = line_bytes;

        while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
            end--;
        ended = end >= 3 && memcmp(line + end - 3, "\"\"\"", 3) == 0;
        fwrite(line, 1, ended ? end - 3 : line_bytes, out);
        if (ended)
            break;
        fputc('\n', out);
        result = line_read(chat->reader, "... ", &line, &line_bytes);
    }
    fclose(out);
    if (ended)
        return text;
    free(text);
    if (result == LINE_TERMINATED || (result == LINE_END && !line_reader_is_terminal(chat->reader)))
        chat->ends = 1;
    if (result == LINE_INTERRUPTED)
        chat_note(chat, "the message is dropped");
    else
        chat_refuse(chat, "a message that begins with \"\"\" has no end", "end it with \"\"\" at the end of a line");
    return NULL;
}

/* Finds the opening of a message of several lines: at the beginning of the line, or of the text of a command. */
static const char *find_block(const char *line)
{
    const char *at = line;

    if (*at == '/') {
        at += strcspn(at, " ");
        at += strspn(at, " ");
        if (strncmp(line, "/set ", 5) == 0 && strncmp(at, "system ", 7) == 0)
            at += 7 + strspn(at + 7, " ");
    }
    return strncmp(at, "\"\"\"", 3) == 0 ? at : NULL;
}

static void send(struct chat *chat, const char *text)
{
    struct accel_error error = {0};
    size_t length = strlen(text);
    char wrong[100];

    if (text[utf8_length(text)] != '\0') {
        snprintf(wrong, sizeof(wrong), "the message is not UTF-8 at byte %zu", utf8_length(text));
        chat_refuse(chat, wrong, NULL);
    } else if (conversation_add(&chat->conversation, 0, text, length, &error) != ACCEL_OK) {
        record_failure(chat, report_error(chat->options->common.json, &error));
    } else if (!chat_answer(chat)) {
        conversation_drop(&chat->conversation);
    }
}

static void handle_line(struct chat *chat, const char *line, size_t bytes)
{
    const char *block;
    char *text, *before;

    if (strlen(line) != bytes) {
        chat_refuse(chat, "a line with a zero byte is no text", NULL);
        return;
    }
    if (line[strspn(line, " \t")] == '\0')
        return;
    block = find_block(line);
    if (block != NULL) {
        before = strndup(line, (size_t)(block - line));
        /* Copies the text, since the reader's line is valid until the next one only. */
        text = strdup(block + 3);
        if (before != NULL && text != NULL) {
            char *whole = read_block(chat, before, text);

            free(text);
            text = whole;
        }
        free(before);
    } else {
        text = strdup(line);
    }
    if (text == NULL)
        return;
    if (line_reader_is_terminal(chat->reader))
        line_remember(chat->reader, text);
    if (text[0] == '/' && block != line)
        run_slash_command(chat, text);
    else
        send(chat, text);
    free(text);
}

/* Reads lines until the chat ends. Answers an exit code. */
static int converse(struct chat *chat)
{
    uint32_t interrupts = 0;

    while (!chat->ends) {
        const char *line = NULL;
        size_t bytes = 0;

        switch (line_read(chat->reader, ">>> ", &line, &bytes)) {
        case LINE_TEXT:
            interrupts = 0;
            handle_line(chat, line, bytes);
            break;
        case LINE_INTERRUPTED:
            if (++interrupts == 2)
                return EXIT_INTERRUPTED;
            fprintf(error_output(), "Ctrl-C once more, Ctrl-D or /exit ends the chat\n");
            break;
        case LINE_TERMINATED:
            return EXIT_INTERRUPTED;
        case LINE_LONG:
            chat_refuse(chat, "a line of 64 MiB or more is no message", NULL);
            break;
        case LINE_FAILED:
            return report_error_text(chat->options->common.json, EXIT_FAILED, "ACCEL_E_IO",
                                     "cannot read the standard input", NULL);
        case LINE_END:
            return line_reader_is_terminal(chat->reader) ? EXIT_DONE : chat->code;
        }
    }
    if (chat->cut)
        return EXIT_INTERRUPTED;
    return line_reader_is_terminal(chat->reader) && chat->code != EXIT_FAILED ? EXIT_DONE : chat->code;
}

/* ---- begin and end ---- */

static void greet(const struct chat *chat)
{
    const struct accel_model_facts *facts = accel_model_facts_of(chat->opened.model);
    const struct accel_plan *plan = accel_session_plan(chat->opened.session);
    const char *name = strrchr(chat->model, '/'), *mark = missing_mark(chat->tokenizer, chat->options->template);

    if (mark != NULL)
        chat_note(chat,
                  "note: the vocabulary has no token %s; the marks of %s are fed as plain text, and no token ends an "
                  "answer (-n N limits it)",
                  mark, chat->options->template);
    if (chat->options->quiet || chat->options->common.json || !line_reader_is_terminal(chat->reader))
        return;
    print_placement(plan);
    fprintf(error_output(),
            "%s: %s, %u layers, context of %" PRIu64 " tokens (kv.full=%s)\n/help lists the commands, Ctrl-D ends\n",
            name == NULL || name[1] == '\0' ? chat->model : name + 1, facts->architecture, facts->layers,
            accel_session_context(chat->opened.session), setting(chat, "kv.full"));
}

/* Loads the model and the session. Answers -1, or an exit code after an error has been printed. */
static int load(struct chat *chat)
{
    const struct chat_options *chosen = chat->options;
    struct accel_session *sessions[] = {chat->opened.session};
    uint32_t compiles = plan_compiles(chat->opened.context, accel_session_plan(chat->opened.session));
    struct accel_error error = {0};
    struct elapsed elapsed;
    struct progress progress;
    int32_t code;

    elapsed_begin(&elapsed, loading_text(compiles), !chosen->common.json && !chosen->quiet && compiles);
    progress_begin(&progress, sessions, 1);
    code = accel_tokenizer_create_file(accel_model_file_of(chat->opened.model), &chat->tokenizer, &error);
    if (code == ACCEL_OK)
        code = make_chat_template(chat->tokenizer, chat->model, chosen->template, &chat->chat, &error);
    chat->conversation = (struct conversation){.tokenizer = chat->tokenizer,
                                               .chat = chat->chat,
                                               .session = chat->opened.session,
                                               .trained = accel_model_facts_of(chat->opened.model)->context,
                                               .stops = strcmp(setting(chat, "kv.full"), "stop") == 0};
    if (code == ACCEL_OK && chosen->system != NULL)
        code = conversation_set_system(&chat->conversation, chosen->system, strlen(chosen->system), &error);
    if (code == ACCEL_OK)
        code = load_session(&chat->opened, &error);
    progress_end(&progress);
    elapsed_end(&elapsed);
    if (code != ACCEL_OK)
        return report_error(chosen->common.json, &error);
    return chosen->resume == NULL ? -1 : chat_load(chat, chosen->resume);
}

/* Caches packed weights for the next start. Failures are in the log. */
static void cache_weights(const struct chat *chat)
{
    struct accel_session *sessions[] = {chat->opened.session};
    struct elapsed elapsed;
    struct progress progress;

    elapsed_begin(&elapsed, "caching packed weights for the next start", 0);
    progress_begin(&progress, sessions, 1);
    accel_session_store(chat->opened.session, NULL, NULL);
    progress_end(&progress);
    elapsed_end(&elapsed);
}

static int run(int count, char **arguments, const struct command *command)
{
    struct chat_options chosen = {.sampling = SAMPLING_UNSET};
    struct wish wish = {
        .outputs = 1, .runs = 1, .command = "chat", .reports = REPORT_LOG | REPORT_WEIGHTS | REPORT_METRICS};
    struct chat chat = {.options = &chosen};
    const char *wrong;
    int code;

    print_json_lines();
    code = parse_options(command, &count, arguments, &chosen);
    if (code >= 0)
        return code;
    wrong = sampling_contradiction(&chosen.sampling);
    if (wrong == NULL && chosen.resume != NULL && chosen.system != NULL)
        wrong = "--resume continues with the system message of its file: leave --system out, or type /system TEXT";
    if (wrong != NULL)
        return report_error_format(chosen.common.json, EXIT_USAGE, "usage", NULL, "chat: %s", wrong);
    draw_seed(&chosen.sampling, !chosen.quiet && !chosen.common.json);
    chat.sampling = chosen.sampling;
    chat.model = arguments[0];
    wish.path = arguments[0];
    wish.plan = chosen.plan;
    wish.quiet = chosen.quiet;
    code = open_model(&chosen.common, &wish, &chat.opened);
    if (code < 0) {
        if (!chosen.quiet && !chosen.common.json)
            print_unhonored(accel_session_plan(chat.opened.session));
        code = load(&chat);
        chat.reader = code < 0 ? line_reader_open(!chosen.common.no_cache) : NULL;
        if (code < 0 && chat.reader == NULL)
            code = report_error_text(chosen.common.json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for a line", NULL);
        if (code < 0) {
            line_reader_complete(chat.reader, slash_command_name);
            greet(&chat);
            print_new_reports(&chat);
            code = converse(&chat);
            if (code == EXIT_DONE && chat.answers > 0)
                cache_weights(&chat);
        }
    }
    line_reader_close(chat.reader);
    conversation_free(&chat.conversation);
    accel_chat_template_free(chat.chat);
    accel_tokenizer_free(chat.tokenizer);
    close_model(&chat.opened);
    free(chat.file);
    for (uint32_t i = 0; i < chat.text_count; i++)
        free(chat.texts[i]);
    return code;
}

const struct command command_chat = {
    .name = "chat",
    .summary = "chat with a model",
    .arguments = "MODEL",
    .detail = "MODEL is a GGUF file, a safetensors file beside its config.json, a folder with them, or a plan that "
              "accelctl plan --out FILE wrote. It requires a chat template, its own or that of --chat-template.\n"
              "Reads messages from the standard input and prints the answers to the standard output token by token; "
              "everything else goes to the error output. The KV cache is reused between turns, so that only new tokens "
              "are prefilled; the line after each answer counts them. --repetition-penalty applies to the tokens of "
              "the current turn, prefilled and generated. If accelctl was built with libedit, lines can be edited on a "
              "terminal and recalled from the history ($XDG_STATE_HOME/accel/chat_history, readable by its user alone; "
              "--no-cache stores none).\n"
              "A line that begins with / is a command: /set KEY=VALUE changes the sampling, /system TEXT the system "
              "message, /regenerate answers the last message again, /clear starts a new conversation, /save FILE "
              "writes the conversation as JSON, /load FILE continues one, /help lists the commands, /exit ends the "
              "chat. Enclose a message of several lines in \"\"\" and \"\"\".\n"
              "Ctrl-C stops an answer; the part generated so far stays in the conversation. At the prompt, Ctrl-C "
              "clears the line, and a second one ends the chat, as Ctrl-D does.\n"
              "If the context is full, the setting kv.full decides, and a note is printed: with stop the answer ends, "
              "and a message that does not fit is refused; with slide or prune, tokens are evicted from the KV cache, "
              "and the conversation continues.\n"
              "If the standard input is not a terminal, each of its lines is a message or a command, and the exit "
              "status is that of the first line that failed; an interrupt ends the chat with 130, as SIGTERM always "
              "does. With --json each answer is a line of JSON with the schema "
              "accelctl/chat/1, and each error, those of commands among them, a line with the schema accelctl/error/1.",
    .example = "accelctl chat -c 8192 model.gguf\n"
               "talk to a model with a context of 8192 tokens\n"
               "printf 'What is 2+2?\\n/save sum.json\\n' | accelctl chat -q --greedy model.gguf\n"
               "ask one question, and keep the conversation",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1,
    .run = run,
};
