/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <accel/model/describe.h>

#include "tools/accelctl/bench/against.h"
#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/facts.h"
#include "tools/accelctl/bench/machine.h"
#include "tools/accelctl/bench/model.h"
#include "tools/accelctl/bench/noise.h"
#include "tools/accelctl/bench/operators.h"
#include "tools/accelctl/bench/results.h"
#include "tools/accelctl/bench/rows.h"
#include "tools/accelctl/habits.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/words.h"

static const struct option_row options[] = {
    {"prompt", 'p', OPTION_TEXT, offsetof(struct bench_options, prompts), "N,N...",
     "prompt lengths of prefill, 0: no prefill; default: 512", 0, 0},
    {"tokens", 'n', OPTION_TEXT, offsetof(struct bench_options, tokens), "N,N...",
     "numbers of tokens to decode, 0: no decode; default: 128", 0, 0},
    {"depth", 'd', OPTION_TEXT, offsetof(struct bench_options, depths), "N,N...",
     "tokens in the KV cache before prefill and decode start; default: 0", 0, 0},
    {"length", 'l', OPTION_TEXT, offsetof(struct bench_options, lengths), "N,N...",
     "with attention, also as an operator: tokens in the KV cache; default: 512,2048,8192", 0, 0},
    {"sequences", 'B', OPTION_TEXT, offsetof(struct bench_options, sequences), "N,N...",
     "with batch: number of sequences of a batched decode; default: 8", 0, 0},
    {"type", 0, OPTION_TEXT, offsetof(struct bench_options, types), "TYPE,TYPE...",
     "with operators: weight types of matmul, expert_matmul and embed; default: f16,q8_0,q4_0,q4_k of matmul, q8_0 of "
     "the others",
     0, 0},
    {"operator", 0, OPTION_TEXT, offsetof(struct bench_options, operators), "NAME,NAME...",
     "with operators: names of the operators; default: all", 0, 0},
    {"shape", 0, OPTION_TEXT, offsetof(struct bench_options, shapes), "MxNxK,...",
     "with operators: measure matmul alone, with these rows of the activations, rows of the weight, and width", 0, 0},
    {"explain", 'e', OPTION_FLAG, offsetof(struct bench_options, explain), NULL,
     "with operators: print which kernel runs each, and measure nothing", 0, 0},
    {"rounds", 'r', OPTION_NUMBER, offsetof(struct bench_options, rounds), "N",
     "measured runs of each test, after one warm-up; default: 5", 1, BENCH_ROUNDS},
    {"threads", 't', OPTION_NAMED, offsetof(struct bench_options, threads), "N",
     "alias: --set cpu.threads=N; default: as planned", 1, MEASURE_THREADS},
    {"against", 'a', OPTION_LIST, offsetof(struct bench_options, against), "FILE",
     "compare with a run of llama-bench -o json or -o jsonl, or of accelctl bench --json; may be repeated", 0, 0},
    {"sqlite", 0, OPTION_TEXT, offsetof(struct bench_options, sqlite), "FILE",
     "append the results to an SQLite database, which is created if it does not exist", 0, 0},
    MODEL_OPTION,
    PLAN_OPTIONS(struct bench_options, common),
    COMMON_OPTIONS(struct bench_options, common),
};

/* ---- requested subjects and numbers ---- */

static int refuse(const struct bench *bench, const char *format, const char *text)
{
    return report_error_format(bench->chosen->common.json, EXIT_USAGE, "usage",
                               "accelctl bench --help lists arguments and options", format, text);
}

/* Returns the subject that a misspelt word stands for, or NULL if the word names a model. */
static const char *nearest_subject(const char *word)
{
    const char *nearest = NULL;
    uint32_t least = unrelated_distance(word);
    struct stat file;

    for (uint32_t s = 0; s < BENCH_SUBJECTS && stat(word, &file) != 0; s++)
        if (is_nearer(word, bench_subject_name(s), &least))
            nearest = bench_subject_name(s);
    return nearest;
}

/* Reports a word that is neither a subject nor a model. */
static int refuse_subject(const struct bench *bench, const char *word, const char *why, const char *remedy)
{
    char text[300], subjects[900];
    size_t used =
        (size_t)snprintf(subjects, sizeof(subjects), "%s%ssubjects are", remedy, remedy[0] == '\0' ? "" : "; ");

    if (is_one_of(option_words("bench", "operator"), word)) {
        snprintf(text, sizeof(text), "bench: '%.100s' is no subject, but an operator", word);
        snprintf(subjects, sizeof(subjects), "accelctl bench operators --operator %.60s", word);
        return report_error_text(bench->chosen->common.json, EXIT_USAGE, "usage", text, subjects);
    }
    for (uint32_t s = 0; s < BENCH_SUBJECTS && used < sizeof(subjects); s++)
        used += (size_t)snprintf(subjects + used, sizeof(subjects) - used, "%s %s", s == 0 ? "" : ",",
                                 bench_subject_name(s));
    if (why == NULL)
        snprintf(text, sizeof(text), "bench: there is no subject and no file '%.100s'", word);
    else
        snprintf(text, sizeof(text), "bench: %.250s, nor a subject", why);
    return report_error_text(bench->chosen->common.json, why == NULL ? EXIT_USAGE : EXIT_INPUT,
                             why == NULL ? "usage" : accel_error_name(ACCEL_E_NOT_FOUND), text, subjects);
}

/* Refuses a model that is neither a file nor described by name, with the subjects. Returns -1 to go on. */
static int check_model_name(const struct bench *bench)
{
    struct accel_model_description *description = NULL;
    struct accel_error error = {0};
    struct accel_context *context;
    struct stat file;
    int code;

    if (bench->path == NULL || strpbrk(bench->path, "./") != NULL || stat(bench->path, &file) == 0)
        return -1;
    context = open_undiscovered(&bench->chosen->common, &code);
    if (context == NULL)
        return code;
    code = accel_model_describe(context, bench->path, &description, &error) == ACCEL_E_NOT_FOUND
               ? refuse_subject(bench, bench->path, error.text, error.remedy)
               : -1;
    accel_model_description_free(description);
    close_context(context);
    return code;
}

/* Chooses the subjects if none is named: those whose options are given, as llama-bench does, else all of a model. -p,
 * -n and -d are for prefill and decode. */
static void choose_subjects(struct bench *bench)
{
    const struct bench_options *chosen = bench->chosen;
    const bool has_lengths = chosen->prompts != NULL || chosen->tokens != NULL || chosen->depths != NULL;
    const bool has_none = !has_lengths && chosen->sequences == NULL && chosen->lengths == NULL;

    bench->wanted[BENCH_LOAD] = has_none;
    bench->wanted[BENCH_PREFILL] = bench->wanted[BENCH_DECODE] = has_none || has_lengths;
    bench->wanted[BENCH_BATCH] = has_none || chosen->sequences != NULL;
    bench->wanted[BENCH_ATTENTION] = has_none || chosen->lengths != NULL;
}

/* Each word is a subject or the model. */
static int read_subjects(struct bench *bench, int count, char **arguments)
{
    uint32_t subjects = 0;
    struct stat file;
    char words[120];

    for (int at = 0; at < count; at++) {
        const char *word = arguments[at], *nearest;
        uint32_t s = 0;

        while (s < BENCH_SUBJECTS && strcmp(word, bench_subject_name(s)) != 0)
            s++;
        if (s < BENCH_SUBJECTS) {
            bench->wanted[s] = 1;
            subjects++;
            continue;
        }
        nearest = is_one_of(option_words("bench", "operator"), word) ? NULL : nearest_subject(word);
        if (nearest != NULL) {
            snprintf(words, sizeof(words), "'%.60s'; did you mean %s?", word, nearest);
            return refuse(bench, "bench: there is no subject and no file %s", words);
        }
        if (bench->path != NULL && stat(bench->path, &file) != 0)
            word = bench->path;
        if (bench->path != NULL && stat(word, &file) != 0)
            return refuse_subject(bench, word, NULL, "");
        if (bench->path != NULL)
            return report_error_format(bench->chosen->common.json, EXIT_USAGE, "usage",
                                       "accelctl bench once for each model; --against FILE compares two runs",
                                       "bench: one model at a time, not '%.100s' too", word);
        bench->path = word;
    }
    if (bench->chosen->explain && !(subjects == 1 && bench->wanted[BENCH_OPERATORS] && bench->path == NULL))
        return refuse(bench, "bench: %s requires the subject operators alone", "--explain");
    if (subjects == 0)
        choose_subjects(bench);
    for (uint32_t s = BENCH_LOAD; bench->path == NULL && s < BENCH_OPERATORS; s++)
        if (bench->wanted[s])
            return refuse(bench, "bench %s: requires a model", bench_subject_name(s));
    return check_model_name(bench);
}

/* Returns whether an option of numbers is given, and not 0 alone, which asks for nothing. */
static bool has_numbers(const char *text)
{
    return text != NULL && strpbrk(text, "123456789") != NULL;
}

/* Refuses options that change none of the subjects. Answers -1 to go on. */
static int check_effects(const struct bench *bench)
{
    const struct bench_options *chosen = bench->chosen;
    const uint32_t *wanted = bench->wanted;
    const bool has_tokens = wanted[BENCH_DECODE] || wanted[BENCH_BATCH];
    const bool has_model = has_tokens || wanted[BENCH_PREFILL];
    const struct {
        const char *option;
        bool has_effect;
        const char *subjects;
    } rows[] = {
        {has_numbers(chosen->prompts) ? "--prompt" : NULL, wanted[BENCH_PREFILL], "prefill"},
        {has_numbers(chosen->tokens) ? "--tokens" : NULL, has_tokens, "decode and batch"},
        {has_numbers(chosen->depths) ? "--depth" : NULL, has_model, "prefill, decode and batch"},
        {chosen->sequences != NULL ? "--sequences" : NULL, wanted[BENCH_BATCH], "batch"},
        {chosen->lengths != NULL ? "--length" : NULL, wanted[BENCH_ATTENTION] || wanted[BENCH_OPERATORS],
         "attention and operators"},
        {chosen->types != NULL ? "--type" : NULL, wanted[BENCH_OPERATORS], "operators"},
        {chosen->operators != NULL ? "--operator" : NULL, wanted[BENCH_OPERATORS], "operators"},
        {chosen->shapes != NULL ? "--shape" : NULL, wanted[BENCH_OPERATORS], "operators"},
        {chosen->rounds != 0 ? "--rounds" : NULL, !chosen->explain, "what is measured, and not for --explain"},
        {chosen->against.count > 0 ? "--against" : NULL, !chosen->explain, "what is measured, and not for --explain"},
        {chosen->sqlite != NULL ? "--sqlite" : NULL, !chosen->explain, "what is measured, and not for --explain"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].option != NULL && !rows[i].has_effect)
            return report_error_format(chosen->common.json, EXIT_USAGE, "usage",
                                       "leave it out, or add a subject that it is for",
                                       "bench: %s has no effect: it is for %s", rows[i].option, rows[i].subjects);
    return -1;
}

/* Reads the numbers of an option, or those of `otherwise` if it is not given. */
static int read_numbers(const struct bench *bench, const char *name, const char *given, const char *otherwise,
                        uint64_t least, struct bench_numbers *out)
{
    const char *text = given == NULL ? otherwise : given, *at = text;
    char words[160];

    snprintf(words, sizeof(words), "%s requires whole numbers from %" PRIu64 " on, separated by commas, not '%.60s'",
             name, least, text);
    for (out->count = 0; out->count < BENCH_LIST; out->count++) {
        const size_t length = strcspn(at, ",");
        char item[24], *end = NULL;
        const char *number = item;

        snprintf(item, sizeof(item), "%.*s", (int)length, at);
        if (expand_count(item) != NULL)
            number = expand_count(item);
        errno = 0;
        out->items[out->count] = strtoull(number, &end, 10);
        if (length >= sizeof(item) || errno != 0 || *end != '\0' || number[0] < '0' || number[0] > '9' ||
            out->items[out->count] < least || out->items[out->count] > UINT32_MAX)
            break;
        if (at[length] == '\0') {
            out->count++;
            return -1;
        }
        at += length + 1;
    }
    return refuse(bench, "bench: %.150s", words);
}

/* Drops the zeros of a list, as llama-bench does; returns whether nothing is left. */
static bool drop_zeros(struct bench_numbers *numbers)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < numbers->count; i++)
        if (numbers->items[i] != 0)
            numbers->items[left++] = numbers->items[i];
    numbers->count = left;
    return left == 0;
}

/* `named` is whether the command line names the subjects. */
static int read_lists(struct bench *bench, bool named)
{
    const struct bench_options *chosen = bench->chosen;
    int code = read_numbers(bench, "--prompt", chosen->prompts, "512", 0, &bench->prompts);

    if (code < 0)
        code = read_numbers(bench, "--tokens", chosen->tokens, "128", 0, &bench->tokens);
    if (code < 0 && drop_zeros(&bench->prompts)) {
        if (named && bench->wanted[BENCH_PREFILL])
            return refuse(bench, "bench prefill: --prompt %.60s leaves nothing to measure", chosen->prompts);
        bench->wanted[BENCH_PREFILL] = 0;
    }
    if (code < 0 && drop_zeros(&bench->tokens)) {
        if (named && (bench->wanted[BENCH_DECODE] || bench->wanted[BENCH_BATCH]))
            return refuse(bench, "bench decode, batch: --tokens %.60s leaves nothing to measure", chosen->tokens);
        bench->wanted[BENCH_DECODE] = bench->wanted[BENCH_BATCH] = 0;
    }
    if (code < 0)
        code = read_numbers(bench, "--depth", chosen->depths, "0", 0, &bench->depths);
    if (code < 0)
        code = read_numbers(bench, "--sequences", chosen->sequences, "8", 1, &bench->sequences);
    return code < 0 ? read_numbers(bench, "--length", chosen->lengths, "512,2048,8192", 1, &bench->lengths) : code;
}

/* ---- the command ---- */

static bool requires_model(const struct bench *bench)
{
    return bench->wanted[BENCH_PREFILL] || bench->wanted[BENCH_DECODE] || bench->wanted[BENCH_BATCH] ||
           bench->wanted[BENCH_ATTENTION];
}

static uint64_t largest(const struct bench_numbers *numbers)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < numbers->count; i++)
        most = numbers->items[i] > most ? numbers->items[i] : most;
    return most;
}

/* Chooses a context for the longest test, limited to that of the model's training. */
static int choose_context(struct bench *bench, uint64_t *out_context)
{
    struct accel_model *model = NULL;
    uint64_t tokens = 0;

    if (bench->wanted[BENCH_PREFILL])
        tokens = largest(&bench->prompts);
    if ((bench->wanted[BENCH_DECODE] || bench->wanted[BENCH_BATCH]) && largest(&bench->tokens) > tokens)
        tokens = largest(&bench->tokens);
    tokens += largest(&bench->depths);
    if (accel_model_open(bench->path, NULL, &model, NULL) == ACCEL_OK) {
        const uint64_t made_for = accel_model_facts_of(model)->context;

        if (made_for != 0 && tokens > made_for)
            tokens = made_for;
    }
    accel_model_close(model);
    *out_context = tokens < 1 ? 1 : tokens;
    return -1;
}

static int run_with_model(struct bench *bench, struct opened *opened)
{
    char context[32], sequences[32];
    struct accel_named_value more[3];
    struct wish wish = {.path = bench->path, .more = more, .outputs = 1, .runs = 1, .command = "bench"};
    uint64_t tokens;
    int code = choose_context(bench, &tokens);

    if (code >= 0)
        return code;
    snprintf(context, sizeof(context), "%" PRIu64 "tok", tokens);
    if (!is_set(&bench->chosen->common, "context"))
        more[wish.more_count++] = (struct accel_named_value){"context", context, "the command bench: its longest test"};
    snprintf(sequences, sizeof(sequences), "%" PRIu64, largest(&bench->sequences));
    if (bench->wanted[BENCH_BATCH] && !is_set(&bench->chosen->common, "sequences"))
        more[wish.more_count++] =
            (struct accel_named_value){"sequences", sequences, "the command bench: its --sequences"};
    wish.more_count += bench_override_threads(bench, &more[wish.more_count]);
    code = open_model(&bench->chosen->common, &wish, opened);
    if (code < 0)
        code = bench_model_check(bench, opened);
    if (code >= 0)
        return code;
    if (!bench->chosen->common.json)
        print_unhonored(accel_session_plan(opened->session));
    bench_facts_host(bench, opened->context);
    bench_facts_plan(bench, accel_session_plan(opened->session));
    bench_facts_model(bench, opened->model);
    bench_machine_threads(&bench->machine, accel_session_plan(opened->session));
    code = bench_machine_measure(bench);
    if (code < 0)
        code = bench_machine_measure_device(bench, opened->context,
                                            accel_plan_device(accel_session_plan(opened->session)));
    if (code < 0 && !bench->interrupted &&
        (bench->wanted[BENCH_PREFILL] || bench->wanted[BENCH_DECODE] || bench->wanted[BENCH_BATCH]))
        code = bench_model(bench, opened);
    if (code < 0 && !bench->interrupted && bench->wanted[BENCH_ATTENTION])
        code = bench_attention(bench, opened);
    return code;
}

/* Runs subjects without a model: operators need a device, the machine alone not even that. */
static int run_without_model(struct bench *bench, struct opened *opened)
{
    struct accel_context *context = opened->context;
    int code = -1;

    if (bench->interrupted || (requires_model(bench) && !bench->wanted[BENCH_OPERATORS]))
        return -1;
    if (context == NULL)
        context = open_context(&bench->chosen->common, &code);
    if (context == NULL)
        return code;
    if (opened->context == NULL)
        bench_facts_host(bench, context);
    code = bench_operators(bench, context);
    if (opened->context == NULL)
        close_context(context);
    return code;
}

static int finish(struct bench *bench)
{
    const struct bench_options *chosen = bench->chosen;
    struct measure_moment ended;
    json_t *document = NULL;
    int code = -1;

    measure_moment(&ended);
    measure_noise(&bench->begun, &ended, &bench->noise);
    bench_machine_again(bench);
    bench_rows_finish(bench);
    bench_noise_judge(bench);
    bench_against_match(bench);
    if (chosen->common.json || chosen->sqlite != NULL) {
        document = bench_json(bench);
        if (document == NULL)
            return report_error_text(chosen->common.json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the results",
                                     NULL);
    }
    if (!chosen->common.json && bench->interrupted && bench->count == 0 && !bench->machine.measured)
        report_error_text(0, EXIT_INTERRUPTED, accel_error_name(ACCEL_E_CANCELLED),
                          "bench: interrupted before anything was measured", NULL);
    else if (!chosen->common.json)
        bench_print(bench);
    else
        code = print_json(json_incref(document), "accelctl/bench/1");
    if (code <= EXIT_DONE && chosen->sqlite != NULL)
        code = bench_sqlite_append(bench, document);
    json_decref(document);
    if (code > EXIT_DONE)
        return code;
    return bench->interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int measure(struct bench *bench)
{
    struct opened opened = {0};
    int code;

    bench->facts = json_object();
    bench_facts_run(bench);
    measure_moment(&bench->begun);
    progress_begin(&bench->progress, &bench->session, 1);
    code = bench->wanted[BENCH_LOAD] ? bench_load(bench) : -1;
    if (code < 0 && !bench->interrupted && requires_model(bench))
        code = run_with_model(bench, &opened);
    if (code < 0)
        code = run_without_model(bench, &opened);
    progress_end(&bench->progress);
    close_model(&opened);
    if (code < 0)
        bench_facts_unopened(bench);
    return code < 0 ? finish(bench) : code;
}

static void free_all(struct bench *bench)
{
    for (uint32_t i = 0; i < bench->count; i++)
        free(bench->rows[i].seconds);
    free(bench->rows);
    json_decref(bench->facts);
    json_decref(bench->warnings);
    bench_against_free(bench->peer);
}

/* Refuses settings of a model's run if no subject is of a model. */
static int refuse_model_settings(const struct bench *bench)
{
    static const char of_model[] = "context batch gpu.layers kv.type kv.type.k kv.type.v attention.kernel weights.load";
    const struct text_list *sets = &bench->chosen->common.sets;

    for (uint32_t i = 0; bench->path == NULL && i < sets->count; i++) {
        if (!has_word(of_model, sets->items[i], strcspn(sets->items[i], "=")))
            continue;
        return report_error_format(
            bench->chosen->common.json, EXIT_USAGE, "usage", "leave it out, or name a model: accelctl bench MODEL",
            "bench: %s%.200s has no effect: no model is measured", sets->words[i] == NULL ? "--set " : "",
            sets->words[i] == NULL ? sets->items[i] : sets->words[i]);
    }
    return -1;
}

static int run(int count, char **arguments, const struct command *command)
{
    struct bench_options chosen = {.rounds = 0};
    struct bench bench = {.chosen = &chosen};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    bench.warnings = json_array();
    code = read_subjects(&bench, count, arguments);
    if (code < 0)
        code = check_effects(&bench);
    if (chosen.rounds == 0)
        chosen.rounds = 5;
    if (code < 0)
        code = read_lists(&bench, count > (bench.path != NULL));
    if (code < 0)
        code = refuse_model_settings(&bench);
    if (code < 0)
        code = bench_operators_check(&bench);
    if (code < 0)
        code = bench_against_read(&bench);
    if (code < 0)
        code = bench_sqlite_check(&bench);
    if (code < 0)
        code = measure(&bench);
    free_all(&bench);
    return code;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure how fast a model or an operator runs, and compare it with the limits of the machine",
    .arguments = "[SUBJECT...] [MODEL]",
    .detail =
        "SUBJECT is one of prefill, decode, attention, batch and load, which require a MODEL, operators and machine; "
        "the default is all subjects that require a model, or those whose options are given: prefill and decode for "
        "-p, -n and -d, batch for --sequences, attention for --length. First the machine is measured with the threads "
        "of the run: the bandwidth of main memory, and the peak rate of each multiply-add instruction of the "
        "processor. Each result is compared with the minimum time for its bytes and its multiply-adds at these rates; "
        "doc/benchmark.md has the formulas.\n"
        "--against adds a run of llama-bench, or an earlier one of this command, to the table: a ratio above 1 means "
        "that this run is faster. Differences between the two setups are printed as warnings.\n"
        "Rates are medians, with quartiles. Noise of the machine is reported. An interrupt (Ctrl-C) stops the "
        "measurement and prints the results so far.",
    .example = "llama-bench -m model.gguf -o json > theirs.json; accelctl bench --against theirs.json prefill decode "
               "model.gguf\n"
               "compare the same tests of both programs",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 8,
    .run = run,
};
