/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct option_row options[] = {
    {"prompt", 'p', OPTION_TEXT, offsetof(struct bench_options, prompts), "N,N...",
     "lengths of prompts to read; without: 512", 0, 0},
    {"tokens", 'n', OPTION_TEXT, offsetof(struct bench_options, tokens), "N,N...",
     "numbers of tokens to write; without: 128", 0, 0},
    {"depth", 'D', OPTION_TEXT, offsetof(struct bench_options, depths), "N,N...",
     "tokens in the caches before prefill and decode begin; without: 0", 0, 0},
    {"length", 'l', OPTION_TEXT, offsetof(struct bench_options, lengths), "N,N...",
     "of attention: tokens in the caches; without: 512,2048,8192", 0, 0},
    {"sequences", 'B', OPTION_TEXT, offsetof(struct bench_options, sequences), "N,N...",
     "of batch: sequences that write side by side; without: 8", 0, 0},
    {"type", 0, OPTION_TEXT, offsetof(struct bench_options, types), "TYPE,TYPE...",
     "of operators: types of weights; without: f16,q8_0,q4_0,q4_k", 0, 0},
    {"operator", 0, OPTION_TEXT, offsetof(struct bench_options, operators), "NAME,NAME...",
     "of operators: which; without: all", 0, 0},
    {"shape", 0, OPTION_TEXT, offsetof(struct bench_options, shapes), "MxNxK,...",
     "of operators: rows of x, of the weight, and their width", 0, 0},
    {"rounds", 'r', OPTION_NUMBER, offsetof(struct bench_options, rounds), "N",
     "times that each test is measured, after one that is not counted; without: 5", 1, BENCH_ROUNDS},
    {"threads", 't', OPTION_NUMBER, offsetof(struct bench_options, threads), "N",
     "the same as --set cpu.threads=N; without: as planned", 1, MEASURE_RANKS},
    {"against", 'a', OPTION_LIST, offsetof(struct bench_options, against), "FILE",
     "put another run beside: of llama-bench -o json or -o jsonl, or of accelctl bench --json; may be repeated", 0, 0},
    {"sqlite", 0, OPTION_TEXT, offsetof(struct bench_options, sqlite), "FILE",
     "append the results to a database, which is made where there is none", 0, 0},
    PLAN_OPTIONS(struct bench_options, common),
    COMMON_OPTIONS(struct bench_options, common),
};

/* ---- what was asked for ---- */

static int refuse(const struct bench *bench, const char *format, const char *text)
{
    char whole[256];

    snprintf(whole, sizeof whole, format, text);
    return say(bench->chosen->common.json, EXIT_USAGE, "usage", whole,
               "accelctl bench --help lists arguments and options");
}

/* The subject that somebody meant who wrote this word, or NULL: it is a model's. */
static const char *nearest_subject(const char *word)
{
    struct stat file;

    for (uint32_t s = 0; s < BENCH_SUBJECTS && stat(word, &file) != 0; s++)
        if (word_distance(word, bench_subject_name(s)) <= 2)
            return bench_subject_name(s);
    return NULL;
}

/* Of two words that are no subjects one at least is no model. */
static int refuse_subject(const struct bench *bench, const char *word)
{
    char text[200], remedy[160];
    size_t used = (size_t)snprintf(remedy, sizeof remedy, "subjects are");

    for (uint32_t s = 0; s < BENCH_SUBJECTS && used < sizeof remedy; s++)
        used +=
            (size_t)snprintf(remedy + used, sizeof remedy - used, "%s %s", s == 0 ? "" : ",", bench_subject_name(s));
    snprintf(text, sizeof text, "bench: there is no subject and no file '%.100s'", word);
    return say(bench->chosen->common.json, EXIT_USAGE, "usage", text, remedy);
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
        nearest = nearest_subject(word);
        if (nearest != NULL) {
            snprintf(words, sizeof words, "'%.60s'; did you mean %s?", word, nearest);
            return refuse(bench, "bench: there is no subject and no file %s", words);
        }
        if (bench->path != NULL && stat(bench->path, &file) != 0)
            word = bench->path;
        if (bench->path != NULL && stat(word, &file) != 0)
            return refuse_subject(bench, word);
        if (bench->path != NULL)
            return refuse(bench, "bench: one model at a time, not '%.100s' too", word);
        bench->path = word;
    }
    if (subjects == 0)
        bench->wanted[BENCH_LOAD] = bench->wanted[BENCH_PREFILL] = bench->wanted[BENCH_DECODE] =
            bench->wanted[BENCH_BATCH] = bench->wanted[BENCH_ATTENTION] = 1;
    for (uint32_t s = BENCH_LOAD; bench->path == NULL && s < BENCH_OPERATORS; s++)
        if (bench->wanted[s])
            return refuse(bench, "bench %s: wants a model", bench_subject_name(s));
    return -1;
}

static int read_numbers(const struct bench *bench, const char *name, const char *text, uint64_t least,
                        struct bench_numbers *out)
{
    char words[160];

    snprintf(words, sizeof words, "%s wants whole numbers from %" PRIu64 " on with commas between, not '%.60s'", name,
             least, text);
    out->count = 0;
    for (const char *at = text; out->count < BENCH_LIST; at++) {
        char *end = NULL;

        errno = 0;
        out->items[out->count] = strtoull(at, &end, 10);
        if (errno != 0 || end == at || *at < '0' || *at > '9' || out->items[out->count] < least ||
            out->items[out->count] > UINT32_MAX)
            break;
        out->count++;
        if (*end == '\0')
            return -1;
        if (*end != ',')
            break;
        at = end;
    }
    return refuse(bench, "bench: %.150s", words);
}

static int read_lists(struct bench *bench)
{
    const struct bench_options *chosen = bench->chosen;
    int code = read_numbers(bench, "--prompt", chosen->prompts, 1, &bench->prompts);

    if (code < 0)
        code = read_numbers(bench, "--tokens", chosen->tokens, 1, &bench->tokens);
    if (code < 0)
        code = read_numbers(bench, "--depth", chosen->depths, 0, &bench->depths);
    if (code < 0)
        code = read_numbers(bench, "--sequences", chosen->sequences, 1, &bench->sequences);
    return code < 0 ? read_numbers(bench, "--length", chosen->lengths, 1, &bench->lengths) : code;
}

/* ---- the verb ---- */

static uint32_t wants_model(const struct bench *bench)
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

static uint32_t is_set(const struct common *common, const char *key)
{
    const size_t length = strlen(key);

    for (uint32_t i = 0; i < common->sets.count; i++)
        if (strncmp(common->sets.items[i], key, length) == 0 && common->sets.items[i][length] == '=')
            return 1;
    return 0;
}

/* Caches for the longest test, and no more than the model was made for. */
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
    char context[32], threads[32], sequences[32];
    struct accel_given more[3];
    struct wish wish = {.path = bench->path, .more = more, .outputs = 1, .runs = 1};
    uint64_t tokens;
    int code = choose_context(bench, &tokens);

    if (code >= 0)
        return code;
    snprintf(context, sizeof context, "%" PRIu64 "tok", tokens);
    if (!is_set(&bench->chosen->common, "context"))
        more[wish.more_count++] = (struct accel_given){"context", context, "longest test of accelctl bench"};
    snprintf(sequences, sizeof sequences, "%" PRIu64, largest(&bench->sequences));
    if (bench->wanted[BENCH_BATCH] && !is_set(&bench->chosen->common, "sequences"))
        more[wish.more_count++] = (struct accel_given){"sequences", sequences, "accelctl bench --sequences"};
    wish.more_count += bench_give_threads(bench, threads, &more[wish.more_count]);
    code = open_model(&bench->chosen->common, &wish, opened);
    if (code < 0)
        code = bench_model_check(bench, opened);
    if (code >= 0)
        return code;
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

/* Operators want a device and no model; the machine alone not even that. */
static int run_without_model(struct bench *bench, struct opened *opened)
{
    struct accel_context *context = opened->context;
    int code = -1;

    if (bench->interrupted || (wants_model(bench) && !bench->wanted[BENCH_OPERATORS]))
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
            return say(chosen->common.json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the results", NULL);
    }
    if (!chosen->common.json && bench->interrupted && bench->count == 0 && !bench->machine.measured)
        say(0, EXIT_INTERRUPTED, accel_error_name(ACCEL_E_CANCELLED), "bench: interrupted before anything was measured",
            NULL);
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
    working_begin(&bench->working, &bench->session, 1);
    code = bench->wanted[BENCH_LOAD] ? bench_load(bench) : -1;
    if (code < 0 && !bench->interrupted && wants_model(bench))
        code = run_with_model(bench, &opened);
    if (code < 0)
        code = run_without_model(bench, &opened);
    working_end(&bench->working);
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

static int run(int count, char **arguments, const struct verb *verb)
{
    struct bench_options chosen = {.prompts = "512",
                                   .tokens = "128",
                                   .depths = "0",
                                   .lengths = "512,2048,8192",
                                   .sequences = "8",
                                   .types = "f16,q8_0,q4_0,q4_k",
                                   .rounds = 5};
    struct bench bench = {.chosen = &chosen};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    bench.warnings = json_array();
    code = read_subjects(&bench, count, arguments);
    if (code < 0)
        code = read_lists(&bench);
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

const struct verb verb_bench = {
    .name = "bench",
    .summary = "how fast a model or an operator runs, and how near that is to what the machine allows",
    .arguments = "[SUBJECT...] [MODEL]",
    .detail =
        "SUBJECT is one of prefill, decode, attention, batch and load, which want a MODEL, operators and machine; "
        "without "
        "one all that want a model are measured. Before anything else the machine is measured, with the threads of "
        "the run: what main memory gives, and what each sequence of multiplying instructions that the processor has "
        "does in registers. Each result stands beside the least time that these allow for its bytes and its "
        "multiply-adds; doc/benchmark.md has the formulas.\n"
        "--against puts a run of llama-bench, or an earlier one of this command, into the table: a ratio above 1 says "
        "that this run is the faster one. What differs between both is told.\n"
        "Rates are medians, with quartiles. What disturbed the machine meanwhile is told. An interrupt (Ctrl-C) ends "
        "the work, and what was measured until then is printed.",
    .example = "llama-bench -m model.gguf -o json > theirs.json; accelctl bench --against theirs.json prefill decode "
               "model.gguf\nthe same tests with both programs",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 8,
    .run = run,
};
