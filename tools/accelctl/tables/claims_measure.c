/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/tables/claims_measure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/measure/spread.h"

enum { ARGUMENTS = 24, SPEED_ROUNDS = 3, SPEED_LEAST = 24, SPEED_MOST = 200 };

/* A prompt of a few tokens in every vocabulary. */
#define PROMPT "Once upon a time"

extern char **environ;

uint32_t measure_interrupted(struct measuring *measuring)
{
    return progress_update(&measuring->progress, measuring->done, measuring->all) != 0;
}

/* ---- commands ---- */

static void set_how(struct measured *measured, const char *text)
{
    snprintf(measured->how, sizeof(measured->how), "%.*s", MEASURE_TEXT - 1, text);
}

/* Formats a command: "accelctl run --json f16.gguf", without the folders of the program and of the versions. The
 * caller frees it; NULL without memory. */
static char *name_command(const struct measuring *measuring, const char *const *arguments)
{
    const size_t scratch = strlen(measuring->scratch.path);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    fputs("accelctl", out);
    for (uint32_t i = 0; arguments[i] != NULL; i++) {
        bool is_inside = strncmp(arguments[i], measuring->scratch.path, scratch) == 0 && arguments[i][scratch] == '/';
        const char *shown = is_inside ? arguments[i] + scratch + 1 : arguments[i];
        const char *quote = strchr(shown, ' ') != NULL ? "\"" : "";

        fprintf(out, " %s%s%s", quote, shown, quote);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Makes the environment of commands, with caches and history of their own, so that they neither use nor change the
 * user's. */
static bool make_environment(struct measuring *measuring)
{
    size_t count = 0, copied = 0;

    while (environ[count] != NULL)
        count++;
    measuring->environment = calloc(count + 3, sizeof(*measuring->environment));
    if (measuring->environment == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "XDG_CACHE_HOME=", 15) != 0 && strncmp(environ[i], "XDG_STATE_HOME=", 15) != 0)
            measuring->environment[copied++] = environ[i];
    snprintf(measuring->cache_home, sizeof(measuring->cache_home), "XDG_CACHE_HOME=%s", measuring->scratch.path);
    snprintf(measuring->state_home, sizeof(measuring->state_home), "XDG_STATE_HOME=%s", measuring->scratch.path);
    measuring->environment[copied++] = measuring->cache_home;
    measuring->environment[copied] = measuring->state_home;
    return true;
}

/* Reads the output of a process until it ends or the user interrupts, which ends the process. */
static void read_output(struct measuring *measuring, int file, pid_t child, FILE *out)
{
    struct pollfd ready = {.fd = file, .events = POLLIN};
    char bytes[4096];
    ssize_t got = 1;

    while (got != 0) {
        if (poll(&ready, 1, 200) > 0 && (got = read(file, bytes, sizeof(bytes))) > 0)
            fwrite(bytes, 1, (size_t)got, out);
        if (progress_update(&measuring->progress, measuring->done, measuring->all) != 0) {
            kill(child, SIGKILL);
            return;
        }
    }
}

/* Runs this program with these arguments and parses the document that it prints; NULL if there is none. */
static json_t *spawn(struct measuring *measuring, const char *const *arguments)
{
    const char *all[ARGUMENTS + 2] = {"accelctl"};
    posix_spawn_file_actions_t actions;
    json_t *document = NULL;
    char *memory = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&memory, &bytes);
    int ends[2], status;
    pid_t child;

    for (uint32_t i = 0; arguments[i] != NULL && i < ARGUMENTS; i++)
        all[i + 1] = arguments[i];
    if (out == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        if (out != NULL)
            fclose(out);
        free(memory);
        return NULL;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    status =
        posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)all, measuring->environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (status == 0) {
        read_output(measuring, ends[0], child, out);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    if (fclose(out) == 0 && bytes > 0)
        document = json_loadb(memory, bytes, 0, NULL);
    free(memory);
    return document;
}

/* Returns the document of a command, which is run once; NULL, with the reason in `measured`, on failure. Owned by
 * `measuring`. */
static const json_t *command(struct measuring *measuring, struct measured *measured, const char *const *arguments)
{
    const json_t *known, *failure;
    char *text = name_command(measuring, arguments);

    free(measuring->command);
    measuring->command = text;
    if (text == NULL) {
        set_how(measured, "no memory for a command line");
        return NULL;
    }
    known = json_object_get(measuring->documents, text);
    if (known == NULL) {
        json_t *document = measure_interrupted(measuring) ? NULL : spawn(measuring, arguments);

        json_object_set_new(measuring->documents, text, document == NULL ? json_null() : document);
        known = json_object_get(measuring->documents, text);
    }
    failure = json_object_get(json_object_get(known, "error"), "text");
    if (!json_is_object(known) || failure != NULL) {
        snprintf(measured->how, sizeof(measured->how), "%.300s: %.390s", text,
                 failure == NULL ? "ended without a document" : json_string_value(failure));
        return NULL;
    }
    set_how(measured, text);
    return known;
}

/* Returns the number at a path such as "memory.vm_hwm"; NAN if there is none. */
static double number_at(const json_t *value, const char *path)
{
    char key[64];

    while (value != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");

        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        value = json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Returns the number at a path in the document of the last command, and drops the document, so that the command
 * runs anew next time. */
static double forget_number(struct measuring *measuring, const json_t *document, const char *path)
{
    double number = document == NULL ? NAN : number_at(document, path);

    if (document != NULL)
        json_object_del(measuring->documents, measuring->command);
    return number;
}

/* ---- versions of the model ---- */

static void path_of(const struct measuring *measuring, const char *type, char path[SCRATCH_PATH + 64])
{
    snprintf(path, SCRATCH_PATH + 64, "%s/%.20s%s", measuring->scratch.path, type, measuring->suffix);
}

/* Runs accelctl quantize on `from` with `type` and returns its document. */
static const json_t *quantize(struct measuring *measuring, struct measured *measured, const char *from,
                              const char *type)
{
    char to[SCRATCH_PATH + 64];

    path_of(measuring, type, to);
    return command(measuring, measured, (const char *const[]){"quantize", "--json", "--type", type, from, to, NULL});
}

/* Makes the version of a type ("q4") from the f16 version, since quantized input is refused. */
static const json_t *version(struct measuring *measuring, struct measured *measured, const char *type,
                             char out_path[SCRATCH_PATH + 64])
{
    char f16[SCRATCH_PATH + 64];
    const json_t *document = quantize(measuring, measured, measuring->model, "f16");

    path_of(measuring, "f16", f16);
    path_of(measuring, type, out_path);
    if (document == NULL || strcmp(type, "f16") == 0)
        return document;
    return quantize(measuring, measured, f16, type);
}

/* Returns the bits per weight over the matrices that got the type, with any group: "q4" counts q4_g64; "" counts
 * all that were converted. */
static double bits_of(const json_t *document, const char *type)
{
    const size_t length = strlen(type);
    double bytes = 0, elements = 0;
    const json_t *row;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)json_object_get(document, "tensors"), i, row)
    {
        const char *to = json_string_value(json_object_get(row, "to"));

        if (to == NULL || !json_is_true(json_object_get(row, "converted")) || strncmp(to, type, length) != 0)
            continue;
        bytes += number_at(row, "bytes");
        elements += number_at(row, "elements");
    }
    return elements > 0 ? 8 * bytes / elements : NAN;
}

/* ---- measurements ---- */

/* Returns the saving of `part` against `whole`: in "%" the reduction, in "x" the ratio. */
static double saving(double whole, double part, const char *unit)
{
    return strcmp(unit, "x") == 0 ? whole / part : 100 * (1 - part / whole);
}

/* Returns the speedup: in "%" the gain, in "x" the ratio. */
static double speedup(double rate, double against, const char *unit)
{
    return strcmp(unit, "x") == 0 ? rate / against : 100 * (rate / against - 1);
}

static void measure_size(struct measuring *measuring, struct measured *out)
{
    char path[SCRATCH_PATH + 64];
    double whole = strcmp(measuring->against, "f32") == 0 ? 32 : 16;
    const json_t *document;

    if (measuring->against[0] == 'q') {
        document = version(measuring, out, measuring->against, path);
        whole = document == NULL ? NAN : bits_of(document, measuring->against);
    }
    document = isnan(whole) ? NULL : version(measuring, out, measuring->type, path);
    if (document != NULL)
        out->value = saving(whole, bits_of(document, measuring->type), measuring->unit);
}

/* Measures a mix: query, key and output projection in 8 bits, all else in 2; an output projection that is tied to
 * the token embedding is in that type. */
static void measure_mixed(struct measuring *measuring, struct measured *out)
{
    const char *const heads[] = {"head=q8", "embedding=q8"};
    char f16[SCRATCH_PATH + 64], to[SCRATCH_PATH + 64];
    const json_t *document = version(measuring, out, "f16", f16);

    path_of(measuring, "mixed", to);
    for (uint32_t i = 0; document != NULL && i < 2 && isnan(out->value); i++) {
        const json_t *mixed = command(measuring, out,
                                      (const char *const[]){"quantize", "--json", "--type", "q2", "--role", "q=q8",
                                                            "--role", "k=q8", "--role", heads[i], f16, to, NULL});

        if (mixed != NULL)
            out->value = saving(16, bits_of(mixed, "q"), measuring->unit);
    }
}

static void measure_error(struct measuring *measuring, struct measured *out)
{
    char path[SCRATCH_PATH + 64];
    const json_t *document = version(measuring, out, measuring->type, path), *row;
    double squares = 0, elements = 0;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)json_object_get(document, "tensors"), i, row)
    {
        const char *to = json_string_value(json_object_get(row, "to"));
        double error = number_at(row, "relative_error"), count = number_at(row, "elements");

        if (to == NULL || strncmp(to, measuring->type, strlen(measuring->type)) != 0 || isnan(error))
            continue;
        squares += error * error * count;
        elements += count;
    }
    if (elements > 0)
        out->value = sqrt(squares / elements);
}

/* Measures the share of tokens before which the likeliest token differs from the f16 version's. */
static void measure_accuracy(struct measuring *measuring, struct measured *out)
{
    char f16[SCRATCH_PATH + 64], path[SCRATCH_PATH + 64];
    const char *arguments[] = {"eval", "--json", "--against", f16, "--text", measuring->wish->text,
                               path,   NULL,     NULL,        NULL};
    const json_t *document;

    if (measuring->wish->text == NULL) {
        set_how(out, "requires --text FILE, which the models read");
        return;
    }
    if (measuring->wish->device != NULL) {
        arguments[7] = "--device";
        arguments[8] = measuring->wish->device;
    }
    if (version(measuring, out, "f16", f16) == NULL || version(measuring, out, measuring->type, path) == NULL)
        return;
    document = command(measuring, out, arguments);
    out->value = 100 * (1 - number_at(json_array_get(json_object_get(document, "models"), 0), "text.top1.share"));
}

/* Generates `tokens` tokens; up to two settings, NULL after the last. */
static const json_t *run(struct measuring *measuring, struct measured *measured, const char *path, uint32_t tokens,
                         const char *first, const char *second)
{
    const char *arguments[ARGUMENTS] = {"run", "--json", "--greedy", "--ignore-end", "--prompt", PROMPT, "--tokens"};
    uint32_t count = 7;
    char number[16];

    snprintf(number, sizeof(number), "%u", tokens);
    arguments[count++] = number;
    for (uint32_t i = 0; i < 2 && (i == 0 ? first : second) != NULL; i++) {
        arguments[count++] = "--set";
        arguments[count++] = i == 0 ? first : second;
    }
    if (measuring->wish->device != NULL) {
        arguments[count++] = "--device";
        arguments[count++] = measuring->wish->device;
    }
    arguments[count] = path;
    return command(measuring, measured, arguments);
}

static void measure_cache(struct measuring *measuring, struct measured *out)
{
    char path[SCRATCH_PATH + 64], keys[32], values[32];
    const json_t *whole, *part;

    snprintf(keys, sizeof(keys), "kv.type.k=%.8s", measuring->type);
    snprintf(values, sizeof(values), "kv.type.v=%.8s", measuring->type);
    if (version(measuring, out, "f16", path) == NULL)
        return;
    whole = run(measuring, out, path, 1, "kv.type.k=f16", "kv.type.v=f16");
    part = whole == NULL ? NULL : run(measuring, out, path, 1, keys, values);
    if (part != NULL)
        out->value = saving(number_at(whole, "memory.classes.state.allocated"),
                            number_at(part, "memory.classes.state.allocated"), measuring->unit);
}

/* Measures the peak memory of a process that maps the file against one that reads it. */
static void measure_mapping(struct measuring *measuring, struct measured *out)
{
    char path[SCRATCH_PATH + 64];
    const json_t *whole, *part;

    if (version(measuring, out, "f16", path) == NULL)
        return;
    whole = run(measuring, out, path, 1, "weights.load=read", "cpu.layout=rows");
    part = whole == NULL ? NULL : run(measuring, out, path, 1, "weights.load=map", "cpu.layout=rows");
    if (part != NULL)
        out->value = saving(number_at(whole, "memory.vm_hwm"), number_at(part, "memory.vm_hwm"), measuring->unit);
}

/* ---- speed ---- */

/* Measures tokens a second of one run, whose document is dropped. */
static double run_rate(struct measuring *measuring, struct measured *measured, const char *path, uint32_t tokens,
                       const char *set)
{
    const json_t *document = run(measuring, measured, path, tokens, set, NULL);

    return forget_number(measuring, document, "time.tokens_per_second");
}

/* Returns the median of SPEED_ROUNDS runs of a version, "scalar" for f16 without vector instructions. Runs last
 * about a second, so that noise of milliseconds does not matter. */
static double speed_of(struct measuring *measuring, struct measured *measured, const char *type)
{
    const char *set = strcmp(type, "scalar") == 0 ? "cpu.isa=scalar" : NULL;
    double rates[SPEED_ROUNDS], first;
    struct measure_spread spread;
    char path[SCRATCH_PATH + 64];
    uint32_t tokens;

    if (json_object_get(measuring->speeds, type) != NULL)
        return number_at(measuring->speeds, type);
    if (version(measuring, measured, set != NULL ? "f16" : type, path) == NULL)
        return NAN;
    /* The first run packs weights and compiles kernels, and estimates how many tokens take a second. */
    first = run_rate(measuring, measured, path, SPEED_LEAST, set);
    if (isnan(first))
        return NAN;
    tokens = first < SPEED_LEAST ? SPEED_LEAST : first > SPEED_MOST ? SPEED_MOST : (uint32_t)first;
    for (uint32_t i = 0; i < SPEED_ROUNDS; i++) {
        rates[i] = run_rate(measuring, measured, path, tokens, set);
        if (isnan(rates[i]))
            return NAN;
    }
    measure_spread(rates, SPEED_ROUNDS, &spread);
    json_object_set_new(measuring->speeds, type, json_real(spread.median));
    return spread.median;
}

static void measure_speed(struct measuring *measuring, struct measured *out)
{
    double slow = speed_of(measuring, out, measuring->against),
           fast = isnan(slow) ? NAN : speed_of(measuring, out, measuring->type);

    out->value = speedup(fast, slow, measuring->unit);
    if (!isnan(out->value))
        snprintf(out->how, sizeof(out->how),
                 "accelctl run, decode of %.20s and of %.20s: %.4g and %.4g tokens/s, medians of %u",
                 strcmp(measuring->type, "f16") == 0 ? "vector kernels" : measuring->type, measuring->against, fast,
                 slow, (unsigned)SPEED_ROUNDS);
}

/* Measures tokens a second of four prompts, with a given number of sequences in a step; its document is dropped. */
static double batch_rate(struct measuring *measuring, struct measured *measured, const char *path, uint32_t tokens,
                         const char *sequences)
{
    char number[16];
    const char *arguments[] = {"run",      "--json",   "--greedy", "--ignore-end", "--tokens", number,     "--set",
                               sequences,  "--prompt", PROMPT,     "--prompt",     "The",      "--prompt", "A",
                               "--prompt", "One day",  path,       NULL,           NULL,       NULL};

    snprintf(number, sizeof(number), "%u", tokens);
    if (measuring->wish->device != NULL) {
        arguments[17] = "--device";
        arguments[18] = measuring->wish->device;
    }
    return forget_number(measuring, command(measuring, measured, arguments), "time.tokens_per_second");
}

/* Measures four prompts in batches of four against one after the other: medians of alternating runs. */
static void measure_batch(struct measuring *measuring, struct measured *out)
{
    double alone[SPEED_ROUNDS], together[SPEED_ROUNDS], rate = speed_of(measuring, out, "f16");
    struct measure_spread one, four;
    char path[SCRATCH_PATH + 64];
    uint32_t tokens;

    if (isnan(rate) || version(measuring, out, "f16", path) == NULL)
        return;
    tokens = rate < 2 * SPEED_LEAST ? SPEED_LEAST : rate > SPEED_MOST ? SPEED_MOST / 2 : (uint32_t)rate / 2;
    for (uint32_t i = 0; i < SPEED_ROUNDS; i++) {
        alone[i] = batch_rate(measuring, out, path, tokens, "sequences=1");
        together[i] = isnan(alone[i]) ? NAN : batch_rate(measuring, out, path, tokens, "sequences=4");
        if (isnan(together[i]))
            return;
    }
    measure_spread(alone, SPEED_ROUNDS, &one);
    measure_spread(together, SPEED_ROUNDS, &four);
    out->value = speedup(four.median, one.median, measuring->unit);
    snprintf(out->how, sizeof(out->how),
             "accelctl run, 4 prompts of f16 with sequences=4 and 1: %.4g and %.4g tokens/s, medians of %u",
             four.median, one.median, (unsigned)SPEED_ROUNDS);
}

/* Measures how much faster a model's second start is than one without caches, or than one without compiled
 * kernels. */
static void measure_start(struct measuring *measuring, struct measured *out)
{
    const char *against = strcmp(measuring->type, "cached") == 0 ? "start, no cache" : "start, no cached kernels";
    char path[SCRATCH_PATH + 64];
    const char *arguments[] = {"bench", "load", "--json", "--rounds", "3", path, NULL, NULL, NULL};
    const json_t *document, *row;
    double whole = NAN, part = NAN;
    size_t i;

    if (measuring->wish->device != NULL) {
        arguments[6] = "--device";
        arguments[7] = measuring->wish->device;
    }
    if (version(measuring, out, "q8", path) == NULL || (document = command(measuring, out, arguments)) == NULL)
        return;
    json_array_foreach((json_t *)(uintptr_t)json_object_get(document, "rows"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));

        whole = name != NULL && strcmp(name, against) == 0 ? number_at(row, "time.median") : whole;
        part = name != NULL && strcmp(name, "start, second run") == 0 ? number_at(row, "time.median") : part;
    }
    if (isnan(whole))
        set_how(out, "the driver of this device compiles no kernels (--device names another device)");
    else
        out->value = saving(whole, part, measuring->unit);
}

/* Measures the gain of a tool of accelctl scores, in hundredths of the baseline. */
static void measure_scores(struct measuring *measuring, struct measured *out)
{
    const json_t *document, *row;
    size_t i;

    if (measuring->wish->scores == NULL) {
        set_how(out, "requires --scores FILE.csv, the table of a detector's scores");
        return;
    }
    document = command(measuring, out, (const char *const[]){"scores", "--json", measuring->wish->scores, NULL});
    json_array_foreach((json_t *)(uintptr_t)json_object_get(document, "gains"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "tool"));
        const char *of = json_string_value(json_object_get(row, "measure"));

        if (name != NULL && of != NULL && strcmp(name, measuring->type) == 0 && strcmp(of, measuring->against) == 0)
            out->value = 100 * number_at(row, "sample.gain") / number_at(row, "sample.before");
    }
}

/* ---- the names of claims.yaml ---- */

/* Table of measurements; the first row whose name and parts match is used. */
static const struct measurement {
    const char *what;
    const char *type; /* NULL: any */
    bool has_against;
    void (*measure)(struct measuring *measuring, struct measured *out);
} measurements[] = {
    {"size", "mixed", false, measure_mixed},     {"size", NULL, true, measure_size},
    {"error", NULL, false, measure_error},       {"accuracy", NULL, false, measure_accuracy},
    {"speed", NULL, true, measure_speed},        {"kv", NULL, false, measure_cache},
    {"load", "mapped", false, measure_mapping},  {"start", "cached", false, measure_start},
    {"start", "compiled", false, measure_start}, {"batch", "4", false, measure_batch},
    {"scores", NULL, true, measure_scores},
};

/* Parses "size.q4.f16": a measure, a version, and the version to compare with. */
static const struct measurement *find_measurement(const char *text, char type[MEASURE_NAME], char against[MEASURE_NAME])
{
    char what[MEASURE_NAME] = "", more = '\0';
    int parts;

    type[0] = against[0] = '\0';
    parts = sscanf(text, "%15[^.].%15[^.].%15[^.]%c", what, type, against, &more);
    for (size_t i = 0; i < sizeof(measurements) / sizeof(*measurements); i++) {
        const struct measurement *row = &measurements[i];

        if (parts == 2 + row->has_against && strcmp(row->what, what) == 0 &&
            (row->type == NULL || strcmp(row->type, type) == 0))
            return row;
    }
    return NULL;
}

bool has_measurement(const char *name)
{
    char type[MEASURE_NAME], against[MEASURE_NAME];

    return find_measurement(name, type, against) != NULL;
}

void measure_claim(struct measuring *measuring, const char *name, const char *unit, struct measured *out)
{
    const struct measurement *row = find_measurement(name, measuring->type, measuring->against);

    measuring->unit = unit;
    *out = (struct measured){.value = NAN};
    if (row != NULL)
        row->measure(measuring, out);
    else
        snprintf(out->how, sizeof(out->how), "there is no measurement \"%.60s\"", name);
    /* The caller prints the result. */
    progress_clear(&measuring->progress);
}

int measure_begin(struct measuring *measuring, const struct measure_wish *wish)
{
    char *path = realpath(wish->model, NULL);
    char f16[SCRATCH_PATH + 64];
    struct measured measured = {.value = NAN};
    struct stat facts;
    int code;

    *measuring = (struct measuring){.wish = wish, .documents = json_object(), .speeds = json_object()};
    if (path == NULL || stat(path, &facts) != 0 || strlen(path) >= sizeof(measuring->model)) {
        snprintf(measuring->model, sizeof(measuring->model), "claims: %.200s: %s", wish->model, strerror(errno));
        free(path);
        return report_error_text(wish->json, EXIT_INPUT, "ACCEL_E_NOT_FOUND", measuring->model,
                                 "--measure requires a model");
    }
    strcpy(measuring->model, path);
    free(path);
    measuring->suffix = S_ISDIR(facts.st_mode) ? "" : ".gguf";
    code = scratch_make(wish->json, &measuring->scratch);
    if (code >= 0)
        return code;
    measuring->has_begun = 1;
    progress_begin(&measuring->progress, NULL, 0);
    progress_next(&measuring->progress, "measuring");
    if (!make_environment(measuring))
        return report_error_text(wish->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for variables", NULL);
    if (version(measuring, &measured, "f16", f16) == NULL && measure_interrupted(measuring))
        return report_error_text(wish->json, EXIT_INTERRUPTED, "ACCEL_E_CANCELLED",
                                 "interrupted while claims were measured", NULL);
    if (version(measuring, &measured, "f16", f16) == NULL)
        return report_error_text(wish->json, EXIT_INPUT, "ACCEL_E_INVALID", measured.how,
                                 "--measure requires a model that quantize reads");
    progress_clear(&measuring->progress);
    return code;
}

uint64_t measure_bytes(struct measuring *measuring)
{
    struct measured measured = {.value = NAN};
    char path[SCRATCH_PATH + 64];
    double bytes = number_at(version(measuring, &measured, "f16", path), "bytes");

    return isnan(bytes) ? 0 : (uint64_t)bytes;
}

void measure_end(struct measuring *measuring)
{
    json_decref(measuring->documents);
    json_decref(measuring->speeds);
    free(measuring->environment);
    free(measuring->command);
    if (measuring->has_begun)
        progress_end(&measuring->progress);
    scratch_remove(&measuring->scratch);
}
