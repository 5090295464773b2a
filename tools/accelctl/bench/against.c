/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the run of another program to compare with: the output of llama-bench -o json or -o jsonl (fields as of
 * llama.cpp 3f545becc), or of accelctl bench --json. Several files of one program are one run in pieces: times of
 * the same test are merged, so that two programs can be run alternately. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/bench/against.h"
#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/rows.h"
#include "tools/accelctl/errors.h"

struct peer_test {
    enum bench_subject subject; /* BENCH_SUBJECTS: a mixture that has no counterpart here */
    char name[64];
    char unit[16];
    uint64_t prompt, tokens, depth, sequences;
    uint64_t threads; /* 0: unknown */
    double units;
    double *seconds;
    uint32_t count;
    struct measure_spread time;
};

struct bench_peer {
    char program[32];
    char version[64];
    char title[400];
    char model[200]; /* file or words */
    char kv[64];     /* "f16, f16" */
    double bytes;    /* of the weights; 0: unknown */
    double parameters;
    uint64_t threads;
    struct peer_test *tests;
    uint32_t count;
};

/* One file. */
struct reader {
    struct bench *bench;
    struct bench_peer *peer;
    const char *path;
    const char *text;
    size_t length;
    size_t at;
    uint32_t taken; /* tests with times */
};

static uint32_t line_of(const struct reader *r, size_t at)
{
    uint32_t line = 1;

    for (size_t i = 0; i < at && i < r->length; i++)
        line += r->text[i] == '\n';
    return line;
}

static int32_t refuse(const struct reader *r, size_t at, const char *text)
{
    struct accel_error *error = &r->bench->error;

    accel_error_set(error, ACCEL_E_CORRUPT, "%s:%u: %s", r->path, line_of(r, at), text);
    return accel_error_advise(
        error, ACCEL_E_CORRUPT,
        "--against requires the output of llama-bench -o json or -o jsonl, or of accelctl bench --json");
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Returns a whole number from 0 to 2^53, or -1 for other values. */
static int64_t whole_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

    return number < 0 || number > (INT64_C(1) << 53) ? -1 : (int64_t)number;
}

/* Bounds of all times of both programs, and so of all their quotients: a picosecond, a century. */
#define LEAST_SECONDS 1e-12
#define MOST_SECONDS 3e9
#define MOST_UNITS 1e18 /* tokens of a test, bytes, parameters */
enum { MOST_TESTS = 1000 };

/* Returns a size above 0, or 0 if the object has none. */
static double size_of(const json_t *object, const char *key)
{
    const double number = number_of(object, key);

    return number > 0 && number <= MOST_UNITS ? number : 0;
}

/* Finds or adds the test with these numbers; NULL without memory. */
static struct peer_test *find_test(struct bench_peer *peer, const struct peer_test *wanted)
{
    struct peer_test *grown;

    for (uint32_t i = 0; i < peer->count; i++)
        if (strcmp(peer->tests[i].name, wanted->name) == 0 && peer->tests[i].subject == wanted->subject &&
            peer->tests[i].threads == wanted->threads)
            return &peer->tests[i];
    grown = realloc(peer->tests, (peer->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return NULL;
    peer->tests = grown;
    grown[peer->count] = *wanted;
    return &grown[peer->count++];
}

/* Adds the times of a test: `list` holds numbers, each in units of `scale` seconds. */
static int32_t add_times(struct reader *r, size_t at, const struct peer_test *wanted, const json_t *list, double scale)
{
    struct peer_test *test = find_test(r->peer, wanted);
    const size_t more = json_array_size(list);
    double *grown;
    const json_t *value;
    size_t i;

    if (test == NULL)
        return accel_error_no_memory(&r->bench->error, "for the tests of %s", r->path);
    if (r->peer->count > MOST_TESTS)
        return refuse(r, at, "more than 1000 different tests");
    if (more == 0 || more + test->count > BENCH_ROUNDS)
        return refuse(r, at, more == 0 ? "a test without times" : "a test has more than 1000 times");
    grown = realloc(test->seconds, (test->count + more) * sizeof(*grown));
    if (grown == NULL)
        return accel_error_no_memory(&r->bench->error, "for the tests of %s", r->path);
    test->seconds = grown;
    json_array_foreach(list, i, value)
    {
        double seconds = json_number_value(value) * scale;

        if (!json_is_number(value) || !(seconds > 0))
            return refuse(r, at, "a time is no number above 0");
        if (seconds < LEAST_SECONDS || seconds > MOST_SECONDS)
            return refuse(r, at, "a time is below a picosecond or above a century");
        grown[test->count++] = seconds;
    }
    r->taken++;
    return ACCEL_OK;
}

/* Stores a text that a file states once, and all pieces of a run alike. The first one counts; a different one is
 * reported as a warning. */
static void note_text(struct reader *r, char *place, size_t size, const char *text, const char *what)
{
    char copy[200];

    clean_text(text, copy, sizeof(copy));
    if (place[0] == '\0')
        snprintf(place, size, "%.*s", (int)(size - 1), copy);
    else if (strncmp(place, copy, size - 1) != 0)
        bench_warn(r->bench, "%s: %s '%s', and '%s' before it", r->path, what, copy, place);
}

static int32_t check_program(struct reader *r, size_t at, const char *program)
{
    if (r->peer->program[0] != '\0' && strcmp(r->peer->program, program) != 0)
        return refuse(r, at, "comes from another program than the files before it");
    snprintf(r->peer->program, sizeof(r->peer->program), "%s", program);
    return ACCEL_OK;
}

static void name_test(struct peer_test *test)
{
    const char *subject = test->subject == BENCH_SUBJECTS ? "mixture" : bench_subject_name(test->subject);
    int length =
        test->subject == BENCH_SUBJECTS
            ? snprintf(test->name, sizeof(test->name), "prompt %" PRIu64 " + %" PRIu64, test->prompt, test->tokens)
            : snprintf(test->name, sizeof(test->name), "%s %" PRIu64, subject, test->prompt + test->tokens);

    if (test->depth > 0)
        snprintf(test->name + length, sizeof(test->name) - (size_t)length, " at %" PRIu64, test->depth);
}

/* Returns the threads of a test or document, 0 if it does not state them. */
static uint64_t note_threads(struct reader *r, const json_t *object, const char *key)
{
    const int64_t reported = whole_of(object, key);
    const uint64_t threads = reported < 0 ? 0 : (uint64_t)reported;

    r->peer->threads = r->peer->count > 0 && r->peer->threads != threads ? 0 : threads;
    return threads;
}

static int32_t read_llama_test(struct reader *r, size_t at, const json_t *object)
{
    const int64_t prompt = whole_of(object, "n_prompt"), tokens = whole_of(object, "n_gen");
    const int64_t depth = json_object_get(object, "n_depth") == NULL ? 0 : whole_of(object, "n_depth");
    struct peer_test test = {.unit = "tok/s", .sequences = 1};
    char kv[64] = "";

    if (prompt < 0 || tokens < 0 || depth < 0 || prompt + tokens == 0)
        return refuse(r, at, "a test of llama-bench has n_prompt, n_gen and n_depth, whole numbers, not all 0");
    if (check_program(r, at, "llama-bench") != ACCEL_OK)
        return ACCEL_E_CORRUPT;
    test.prompt = (uint64_t)prompt;
    test.tokens = (uint64_t)tokens;
    test.depth = (uint64_t)depth;
    test.subject = tokens == 0 ? BENCH_PREFILL : prompt == 0 ? BENCH_DECODE : BENCH_SUBJECTS;
    test.units = (double)(prompt + tokens);
    name_test(&test);
    if (json_member_text(object, "type_k")[0] != '\0' && json_member_text(object, "type_v")[0] != '\0')
        snprintf(kv, sizeof(kv), "%.20s, %.20s", json_member_text(object, "type_k"),
                 json_member_text(object, "type_v"));
    note_text(r, r->peer->version, sizeof(r->peer->version), json_member_text(object, "build_commit"), "build");
    note_text(r, r->peer->model, sizeof(r->peer->model), json_member_text(object, "model_type"), "model");
    note_text(r, r->peer->kv, sizeof(r->peer->kv), kv, "types of keys and values");
    r->peer->bytes = size_of(object, "model_size");
    r->peer->parameters = size_of(object, "model_n_params");
    test.threads = note_threads(r, object, "n_threads");
    return add_times(r, at, &test, json_object_get(object, "samples_ns"), 1e-9);
}

static int32_t read_own_row(struct reader *r, size_t at, const json_t *object, uint64_t threads)
{
    struct peer_test test = {.subject = BENCH_SUBJECTS, .threads = threads};

    for (uint32_t s = 0; s < BENCH_SUBJECTS; s++)
        if (strcmp(json_member_text(object, "subject"), bench_subject_name(s)) == 0)
            test.subject = s;
    if (test.subject == BENCH_SUBJECTS || json_member_text(object, "name")[0] == '\0' || size_of(object, "units") <= 0)
        return refuse(r, at, "a row has no subject, name and units as accelctl bench --json writes them");
    clean_text(json_member_text(object, "name"), test.name, sizeof(test.name));
    clean_text(json_member_text(object, "unit"), test.unit, sizeof(test.unit));
    test.units = number_of(object, "units");
    /* Skips a test that only the other program of that run had. */
    if (json_array_size(json_object_get(object, "seconds")) == 0)
        return ACCEL_OK;
    return add_times(r, at, &test, json_object_get(object, "seconds"), 1);
}

/* Returns true for a run that was interrupted before its first time. */
static bool is_without_times(const json_t *document)
{
    const json_t *rows = json_object_get(document, "rows"), *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (json_array_size(json_object_get(row, "seconds")) != 0)
            return false;
    }
    return json_is_true(json_object_get(document, "interrupted"));
}

static int32_t read_own(struct reader *r, size_t at, const json_t *document)
{
    const json_t *facts = json_object_get(document, "facts"), *rows = json_object_get(document, "rows"), *row;
    const json_t *machine = json_object_get(document, "machine");
    int32_t code = check_program(r, at, "accelctl");
    uint64_t threads;
    size_t i;

    if (code == ACCEL_OK && (!json_is_object(facts) || !json_is_array(rows)))
        code = refuse(r, at, "a document of accelctl bench has facts and rows");
    if (code == ACCEL_OK && is_without_times(document))
        code = refuse(r, at, "that run was interrupted before its first test");
    if (code != ACCEL_OK)
        return code;
    note_text(r, r->peer->version, sizeof(r->peer->version), json_member_text(facts, "version"), "version");
    note_text(r, r->peer->model, sizeof(r->peer->model), json_member_text(facts, "model"), "model");
    r->peer->bytes = size_of(facts, "model_bytes");
    r->peer->parameters = size_of(facts, "model_parameters");
    threads = note_threads(r, machine, "threads");
    json_array_foreach(rows, i, row)
    {
        if (code == ACCEL_OK)
            code = read_own_row(r, at, row, threads);
    }
    return code;
}

static void skip(struct reader *r, const char *more)
{
    while (r->at < r->length &&
           (isspace((unsigned char)r->text[r->at]) || (r->text[r->at] != '\0' && strchr(more, r->text[r->at]) != NULL)))
        r->at++;
}

/* Reads one object after the other: the elements of an array, lines, or one document. */
static int32_t read_objects(struct reader *r)
{
    int32_t code = ACCEL_OK;
    uint32_t is_array;

    skip(r, "");
    is_array = r->at < r->length && r->text[r->at] == '[';
    r->at += is_array;
    for (skip(r, ""); code == ACCEL_OK && r->at < r->length && r->text[r->at] != ']'; skip(r, ",")) {
        const size_t at = r->at;
        json_error_t wrong;
        json_t *object =
            json_loadb(r->text + at, r->length - at, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &wrong);

        if (object == NULL)
            return refuse(r, at + (size_t)(wrong.position < 0 ? 0 : wrong.position), wrong.text);
        r->at += (size_t)wrong.position;
        if (strcmp(json_member_text(object, "schema"), "accelctl/bench/1") == 0)
            code = read_own(r, at, object);
        else if (json_object_get(object, "samples_ns") != NULL)
            code = read_llama_test(r, at, object);
        else
            code = refuse(r, at, "neither a test of llama-bench (samples_ns) nor a document of accelctl bench");
        json_decref(object);
    }
    if (code == ACCEL_OK && is_array && r->at == r->length)
        return refuse(r, r->at, "the file ends inside its array");
    r->at += is_array;
    skip(r, "");
    if (code == ACCEL_OK && r->at < r->length)
        return refuse(r, r->at, "text behind the end of the tests");
    return code;
}

/* Reads the whole file; larger files are no results and are refused. */
static int32_t read_file(struct bench *bench, const char *path, char **out_text, size_t *out_length)
{
    static const char remedy[] = "name a file of llama-bench -o json or -o jsonl, or of accelctl bench --json";
    enum { MOST = 64 << 20 };
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    size_t capacity = 0, got = 1;

    *out_length = 0;
    if (file == NULL) {
        accel_error_set(&bench->error, ACCEL_E_NOT_FOUND, "%s: cannot be opened: %s", path, strerror(errno));
        return accel_error_advise(&bench->error, ACCEL_E_NOT_FOUND, "%s", remedy);
    }
    while (got > 0 && *out_length < MOST) {
        char *grown = *out_length == capacity ? realloc(text, capacity = capacity == 0 ? 65536 : 2 * capacity) : text;

        if (grown == NULL)
            break;
        text = grown;
        got = fread(text + *out_length, 1, capacity - *out_length, file);
        *out_length += got;
    }
    if (got == 0 && !ferror(file)) {
        fclose(file);
        *out_text = text;
        return ACCEL_OK;
    }
    fclose(file);
    free(text);
    accel_error_set(&bench->error, ACCEL_E_CORRUPT, "%s: cannot be read as text of at most 64 MiB", path);
    return accel_error_advise(&bench->error, ACCEL_E_CORRUPT, "%s", remedy);
}

static int32_t read_one(struct bench *bench, const char *path)
{
    struct reader r = {.bench = bench, .peer = bench->peer, .path = path};
    char *text = NULL;
    int32_t code = read_file(bench, path, &text, &r.length);

    r.text = text;
    if (code == ACCEL_OK)
        code = read_objects(&r);
    if (code == ACCEL_OK && r.taken == 0)
        code = refuse(&r, 0, "there is no test in it");
    free(text);
    return code;
}

/* Composes the title from what the files state; unknown facts are left out. */
static void make_title(struct bench_peer *peer)
{
    char threads[48] = "";

    if (peer->threads != 0)
        snprintf(threads, sizeof(threads), ", %" PRIu64 " thread%s", peer->threads, peer->threads == 1 ? "" : "s");
    snprintf(peer->title, sizeof(peer->title), "%.30s%s%.60s%s%.130s%s%.60s%s", peer->program,
             peer->version[0] == '\0' ? "" : " ", peer->version, peer->model[0] == '\0' ? "" : ", ", peer->model,
             peer->kv[0] == '\0' ? "" : ", keys and values ", peer->kv, threads);
}

int bench_against_read(struct bench *bench)
{
    const struct text_list *files = &bench->chosen->against;
    struct bench_peer *peer;

    if (files->count == 0)
        return -1;
    bench->peer = peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return report_error_text(bench->chosen->common.json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for --against",
                                 NULL);
    for (uint32_t i = 0; i < files->count; i++)
        if (read_one(bench, files->items[i]) != ACCEL_OK)
            return report_error(bench->chosen->common.json, &bench->error);
    for (uint32_t i = 0; i < peer->count; i++)
        measure_spread(peer->tests[i].seconds, peer->tests[i].count, &peer->tests[i].time);
    make_title(peer);
    return -1;
}

/* Warns of facts that differ between the two runs, since their ratio then compares different things. */
static void compare_facts(struct bench *bench)
{
    const struct bench_peer *peer = bench->peer;
    const double bytes = number_of(bench->facts, "model_bytes"), count = number_of(bench->facts, "model_parameters");
    const char *kv = json_member_text(bench->facts, "kv");

    if (bytes > 0 && peer->bytes > 0 && (bytes > 1.01 * peer->bytes || peer->bytes > 1.01 * bytes))
        bench_warn(bench,
                   "%s ran a model of %.0f bytes of weights (%s), this one has %.0f: the ratios are of two models",
                   peer->program, peer->bytes, peer->model, bytes);
    else if (count > 0 && peer->parameters > 0 && (count > 1.01 * peer->parameters || peer->parameters > 1.01 * count))
        bench_warn(bench, "%s ran a model of %.0f parameters (%s), this one has %.0f: the ratios are of two models",
                   peer->program, peer->parameters, peer->model, count);
    if (peer->threads != 0 && peer->threads != bench->machine.threads)
        bench_warn(bench, "%s had %" PRIu64 " thread%s, this run %u", peer->program, peer->threads,
                   peer->threads == 1 ? "" : "s", bench->machine.threads);
    if (peer->kv[0] != '\0' && kv[0] != '\0' && strcmp(kv, peer->kv) != 0)
        bench_warn(bench, "%s cached keys and values as %s, this run as %s", peer->program, peer->kv, kv);
}

/* Returns whether a test is compared with the rows of its name: of several that differ in their thread counts, the
 * test with the thread count of this run. */
static bool is_ours(const struct bench *bench, const struct peer_test *test)
{
    uint32_t others = 0;

    for (uint32_t i = 0; i < bench->peer->count; i++) {
        const struct peer_test *other = &bench->peer->tests[i];

        others += other != test && other->subject == test->subject && strcmp(other->name, test->name) == 0;
    }
    return others == 0 || test->threads == bench->machine.threads;
}

/* Warns that a ratio compares different thread counts, unless the title states one thread count for all tests. */
static void compare_threads(struct bench *bench, const struct peer_test *test)
{
    if (bench->peer->threads == 0 && test->threads != 0 && test->threads != bench->machine.threads)
        bench_warn(bench, "%s had %" PRIu64 " thread%s in %s, this run %u", bench->peer->program, test->threads,
                   test->threads == 1 ? "" : "s", test->name, bench->machine.threads);
}

static int32_t add_alone(struct bench *bench, const struct peer_test *test)
{
    const enum bench_subject subject = test->subject == BENCH_SUBJECTS ? BENCH_DECODE : test->subject;
    struct bench_row *row;

    if (is_ours(bench, test))
        row = bench_row_add(bench, subject, 0, "%s", test->name);
    else
        row = bench_row_add(bench, subject, 0, "%s, %" PRIu64 " thread%s", test->name, test->threads,
                            test->threads == 1 ? "" : "s");
    if (row == NULL)
        return ACCEL_E_MEMORY;
    row->prompt = test->prompt;
    row->tokens = test->tokens;
    row->depth = test->depth;
    row->units = test->units;
    row->peer = test->time;
    row->has_peer = 1;
    return ACCEL_OK;
}

static uint32_t match_rows(struct bench *bench, const struct peer_test *test)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < bench->count; i++) {
        struct bench_row *row = &bench->rows[i];

        if (row->subject != test->subject || strcmp(row->name, test->name) != 0)
            continue;
        row->peer = test->time;
        row->has_peer = found = 1;
    }
    return found;
}

void bench_against_match(struct bench *bench)
{
    if (bench->peer == NULL)
        return;
    compare_facts(bench);
    for (uint32_t t = 0; t < bench->peer->count; t++) {
        const struct peer_test *test = &bench->peer->tests[t];

        if (is_ours(bench, test) && match_rows(bench, test)) {
            compare_threads(bench, test);
            continue;
        }
        if (test->subject == BENCH_SUBJECTS || bench->wanted[test->subject])
            add_alone(bench, test);
    }
}

void bench_against_free(struct bench_peer *peer)
{
    for (uint32_t i = 0; peer != NULL && i < peer->count; i++)
        free(peer->tests[i].seconds);
    if (peer != NULL)
        free(peer->tests);
    free(peer);
}

const char *bench_peer_title(const struct bench_peer *peer)
{
    return peer->title;
}

const char *bench_peer_name(const struct bench_peer *peer)
{
    return strcmp(peer->program, "llama-bench") == 0 ? "llama.cpp" : "before";
}

json_t *bench_peer_json(const struct bench_peer *peer)
{
    return json_pack("{s:s, s:o, s:o, s:s, s:f, s:f, s:I}", "program", peer->program, "version",
                     json_text(peer->version), "model", json_text(peer->model), "kv", peer->kv, "model_bytes",
                     peer->bytes, "model_parameters", peer->parameters, "threads", (json_int_t)peer->threads);
}
