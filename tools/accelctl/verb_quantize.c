/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/guard.h"
#include "tools/accelctl/say.h"
#include "tools/accelctl/target.h"
#include "tools/accelctl/verb.h"
#include "tools/accelctl/words.h"

#include <accel/model/quantize.h>
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

struct quantize_options {
    const char *type;
    struct text_list keep;
    uint64_t threads;
    uint32_t dry;
    uint32_t tensors;
    uint32_t json;
    uint32_t nearest;
};

static const struct option_row options[] = {
    {"type", 't', OPTION_TEXT, offsetof(struct quantize_options, type), "TYPE",
     "type of the matrices: f32, f16, bf16, q8_0, q6_k, q5_k, q5_1, q5_0, q4_k (as without the option), q4_1, q4_0, "
     "iq4_nl, iq4_xs, q3_k or q2_k",
     0, 0},
    {"nearest", 0, OPTION_FLAG, offsetof(struct quantize_options, nearest), NULL,
     "take the scale that the largest value of a block gives, without a search; faster, and loses more", 0, 0},
    {"keep", 'k', OPTION_LIST, offsetof(struct quantize_options, keep), "PATTERN",
     "copy tensors whose names match, as 'blk.*.attn_v.weight'; may be repeated", 0, 0},
    {"threads", 0, OPTION_NUMBER, offsetof(struct quantize_options, threads), "COUNT",
     "threads; without it one for each processor", 1, THREADS_MAX},
    {"dry-run", 'n', OPTION_FLAG, offsetof(struct quantize_options, dry), NULL, "say what would be written, and end", 0,
     0},
    {"tensors", 0, OPTION_FLAG, offsetof(struct quantize_options, tensors), NULL, "list every tensor", 0, 0},
    {"json", 0, OPTION_FLAG, offsetof(struct quantize_options, json), NULL,
     "print one JSON document, errors too, with the name of its schema", 0, 0},
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The line on the terminal that says how far a run is. */
struct bar {
    struct timespec begun;
    double told; /* when the line was last written, in seconds since `begun` */
    uint32_t shown;
    uint32_t on;
};

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

static int32_t tell(void *data, uint64_t done, uint64_t all)
{
    struct bar *bar = data;
    double now = seconds_since(&bar->begun), part = all == 0 ? 1 : (double)done / (double)all;
    char text[32], whole[32];

    /* A run that is soon over needs no line. */
    if (bar->on && now > 0.5 && now - bar->told >= 0.1) {
        bar->told = now;
        bar->shown = 1;
        fprintf(stderr, "\r\033[K%3.0f %%  %s of %s, %.0f s left", 100 * part, bytes_text(done, text),
                bytes_text(all, whole), part > 0 ? now / part - now : 0);
    }
    return interrupted != 0;
}

/* ---- results ---- */

/* What a run came to, beside its job. */
struct outcome {
    const char *path;
    uint64_t resumed;
    double seconds;
    uint32_t replaced; /* there was, or would be, a file of that name before */
};

/* 1 where the tensor has another type than was asked for, because its rows are no whole number of blocks of that. */
static uint32_t is_narrow(const struct accel_quantize_row *row)
{
    return strcmp(row->reason, "rows are no whole number of blocks") == 0;
}

/* Matrices that got the type of the tensor at `index` for their rows; 0 where an earlier tensor tells the same. */
static uint64_t count_narrow(const struct accel_quantize_job *job, uint64_t index)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        if (!is_narrow(row) || row->to != accel_quantize_get(job, index)->to)
            continue;
        if (i < index)
            return 0;
        count++;
    }
    return is_narrow(accel_quantize_get(job, index)) ? count : 0;
}

static json_t *narrow_json(const struct accel_quantize_job *job)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        uint64_t count = count_narrow(job, i);

        if (count > 0)
            json_array_append_new(list, json_pack("{s:I, s:s, s:s}", "matrices", (json_int_t)count, "to",
                                                  accel_quantize_get(job, i)->to_name, "reason",
                                                  accel_quantize_get(job, i)->reason));
    }
    return list;
}

static void print_narrow(const struct accel_quantize_job *job, const char *type)
{
    char wanted[16];
    size_t length = 0;

    for (; type[length] != '\0' && length + 1 < sizeof wanted; length++)
        wanted[length] = (char)toupper((unsigned char)type[length]);
    wanted[length] = '\0';
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        uint64_t count = count_narrow(job, i);

        if (count > 0)
            printf("%llu %s rows that are no whole number of blocks of %s: %s got %s\n", (unsigned long long)count,
                   count == 1 ? "matrix has" : "matrices have", wanted, count == 1 ? "it" : "they",
                   accel_quantize_get(job, i)->to_name);
    }
}

static json_t *row_json(const struct accel_quantize_row *row)
{
    json_t *error = row->converted && isfinite(row->relative_error) && row->relative_error >= 0
                        ? json_real(row->relative_error)
                        : json_null();

    return json_pack("{s:o, s:s, s:s, s:b, s:I, s:I, s:s, s:o}", "name", json_text(row->name), "from", row->from_name,
                     "to", row->to_name, "converted", row->converted != 0, "elements", (json_int_t)row->elements,
                     "bytes", (json_int_t)row->bytes, "reason", row->reason, "relative_error", error);
}

static int print_document(const struct accel_quantize_job *job, const struct outcome *outcome)
{
    json_t *rows = json_array();

    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        if (json_array_append_new(rows, row_json(accel_quantize_get(job, i))) != 0) {
            json_decref(rows);
            return say(1, EXIT_FAILED, "ACCEL_E_MEMORY", "no memory for the document", NULL);
        }
    return print_json(json_pack("{s:o, s:I, s:b, s:I, s:f, s:o, s:o}", "path", json_text(outcome->path), "bytes",
                                (json_int_t)accel_quantize_bytes(job), "replaced", outcome->replaced != 0, "resumed",
                                (json_int_t)outcome->resumed, "seconds", outcome->seconds, "other_types",
                                narrow_json(job), "tensors", rows),
                      "accelctl/quantize/1");
}

static void print_rows(const struct accel_quantize_job *job)
{
    char text[32], error[32], name[256];

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        error[0] = '\0';
        if (row->relative_error > 0)
            snprintf(error, sizeof error, "error %.5f%s", row->relative_error, row->reason[0] == '\0' ? "" : ", ");
        printf("  %-32s %5s -> %-5s %11s  %s%s\n", clean_text(row->name, name, sizeof name), row->from_name,
               row->to_name, bytes_text(row->bytes, text), error, row->reason);
    }
}

/* Types with what they hold, in the order in which they first occur. */
static void print_types(const struct accel_quantize_job *job)
{
    uint64_t count = accel_quantize_count(job);

    for (uint64_t i = 0; i < count; i++) {
        uint32_t type = accel_quantize_get(job, i)->to;
        uint64_t bytes = 0, elements = 0, tensors = 0, before = 0;
        char text[32];

        for (uint64_t j = 0; j < count; j++) {
            const struct accel_quantize_row *row = accel_quantize_get(job, j);

            if (row->to != type)
                continue;
            before += j < i;
            tensors++;
            bytes += row->bytes;
            elements += row->elements;
        }
        if (before == 0)
            printf("  %-6s %4llu tensors  %11s  %.3f bits per weight\n", accel_quantize_get(job, i)->to_name,
                   (unsigned long long)tensors, bytes_text(bytes, text),
                   elements == 0 ? 0 : 8.0 * (double)bytes / (double)elements);
    }
}

static void print_result(const struct accel_quantize_job *job, const struct quantize_options *chosen,
                         const struct outcome *outcome)
{
    char text[32], name[1024];

    clean_text(outcome->path, name, sizeof name);
    if (chosen->tensors)
        print_rows(job);
    print_types(job);
    print_narrow(job, chosen->type);
    if (outcome->resumed > 0)
        printf("taken up where an earlier run ended: %llu tensors were there\n", (unsigned long long)outcome->resumed);
    if (chosen->dry)
        printf("%s would have %s\n", name, bytes_text(accel_quantize_bytes(job), text));
    else
        printf("%s: %s in %.1f s\n", name, bytes_text(accel_quantize_bytes(job), text), outcome->seconds);
    if (outcome->replaced)
        printf("%s: the file that has that name\n", chosen->dry ? "would be replaced" : "replaced");
}

static int32_t write_file(struct accel_quantize_job *job, const char *out, struct bar *bar, uint64_t *resumed,
                          struct accel_error *error)
{
    struct sigaction action = {.sa_handler = interrupt}, before;
    int32_t code;

    sigaction(SIGINT, &action, &before);
    code = accel_quantize_run(job, out, resumed, error);
    sigaction(SIGINT, &before, NULL);
    if (bar->shown)
        fprintf(stderr, "\r\033[K");
    return code;
}

static int refuse(uint32_t json, struct accel_error *error)
{
    int code;

    switch (error->code) {
    case ACCEL_E_CANCELLED:
        accel_error_remedy(error, "the same command goes on from there");
        code = EXIT_INTERRUPTED;
        break;
    case ACCEL_E_IO:
        code = EXIT_FAILED;
        break;
    case ACCEL_E_INVALID:
        code = EXIT_USAGE;
        break;
    default:
        return say_error(json, error);
    }
    return say(json, code, accel_error_name(error->code), error->text, error->remedy);
}

/* One for each processor, as many as the library takes. */
static uint32_t default_threads(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (uint32_t)count;
}

static struct accel_quantize_options wanted_of(const struct quantize_options *chosen, struct bar *bar)
{
    return (struct accel_quantize_options){.size = sizeof(struct accel_quantize_options),
                                           .threads =
                                               chosen->threads == 0 ? default_threads() : (uint32_t)chosen->threads,
                                           .type = chosen->type,
                                           .keep_count = chosen->keep.count,
                                           .flags = chosen->nearest ? ACCEL_QUANTIZE_NEAREST : 0,
                                           .keep = chosen->keep.items,
                                           .progress = tell,
                                           .progress_data = bar};
}

/* Whether OUT is IN, or will be replaced; of a folder it is the file of weights. Answers -1 to go on. */
static int check_out(const struct quantize_options *chosen, char **arguments, struct outcome *outcome)
{
    char path[4096], text[400];
    struct stat in, out;

    outcome->path = arguments[1];
    if (stat(arguments[0], &in) != 0 || stat(arguments[1], &out) != 0)
        return -1;
    if (in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
        snprintf(text, sizeof text, "%.300s: is the %s that is read; write to another name", arguments[1],
                 S_ISDIR(in.st_mode) ? "folder" : "file");
        return say(chosen->json, EXIT_USAGE, "usage", text, NULL);
    }
    outcome->replaced = !S_ISDIR(out.st_mode);
    if (S_ISDIR(out.st_mode) && snprintf(path, sizeof path, "%s/model.safetensors", arguments[1]) < (int)sizeof path)
        outcome->replaced = access(path, F_OK) == 0;
    return -1;
}

/* A word that is no type of a GGUF file. Answers -1 to go on. */
static int check_type(const struct accel_model_file *file, const struct quantize_options *chosen)
{
    const char *words = option_words("quantize", "type"), *meant;
    char text[200], near[WORD_MOST];

    if (accel_model_file_format(file) != ACCEL_MODEL_GGUF || is_one_of(words, chosen->type))
        return -1;
    meant = nearest_word(words, chosen->type, near);
    snprintf(text, sizeof text, "quantize: there is no type '%.40s' of a GGUF file%s%s%s", chosen->type,
             meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "", meant != NULL ? "?" : "");
    return say(chosen->json, EXIT_USAGE, "usage", text, "accelctl quantize --help lists the types");
}

/* Decides, and writes unless the run is a dry one. Answers -1 to go on to the result. */
static int make(const struct quantize_options *chosen, char **arguments, struct accel_model_file **file,
                struct accel_quantize_job **job, struct outcome *outcome)
{
    struct accel_error error = {0};
    struct bar bar = {.on = isatty(STDERR_FILENO) == 1};
    struct accel_quantize_options wanted = wanted_of(chosen, &bar);
    int32_t result;
    int code;

    clock_gettime(CLOCK_MONOTONIC, &bar.begun);
    if (accel_model_file_open(arguments[0], NULL, file, &error) != ACCEL_OK)
        return refuse(chosen->json, &error);
    guard_mappings(*file, "leave the file alone while it is read");
    code = check_type(*file, chosen);
    if (code < 0 && accel_model_file_format(*file) == ACCEL_MODEL_GGUF)
        code = target_check(chosen->json, arguments[1], TARGET_ANY);
    if (code >= 0)
        return code;
    result = accel_quantize_plan(*file, &wanted, job, &error);
    if (result == ACCEL_OK && !chosen->dry)
        result = write_file(*job, arguments[1], &bar, &outcome->resumed, &error);
    outcome->seconds = seconds_since(&bar.begun);
    return result == ACCEL_OK ? -1 : refuse(chosen->json, &error);
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct quantize_options chosen = {.type = "q4_k"};
    struct accel_quantize_job *job = NULL;
    struct accel_model_file *file = NULL;
    struct outcome outcome = {0};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code < 0)
        code = check_out(&chosen, arguments, &outcome);
    if (code >= 0)
        return code;
    code = make(&chosen, arguments, &file, &job, &outcome);
    if (code < 0 && chosen.json) {
        code = print_document(job, &outcome);
    } else if (code < 0) {
        print_result(job, &chosen, &outcome);
        code = EXIT_DONE;
    }
    guard_mappings(NULL, NULL);
    accel_quantize_free(job);
    accel_model_file_close(file);
    return code;
}

const struct verb verb_quantize = {
    .name = "quantize",
    .summary = "write a model again with other types of weights",
    .arguments = "IN OUT",
    .detail =
        "IN and OUT are GGUF files, or folders: a folder of safetensors becomes one in the layout of GPTQ, for types "
        "q2, "
        "q3, q4 and q8 with groups of 32 to 512, as q4_g128, or q4_g128a with zero points. Matrices are rounded under "
        "the scales that lose least; norms and biases keep their precision, and --tensors says so for each.\n"
        "Matrices of GGUF files whose rows are no whole number of blocks of the type get one of smaller blocks: Q8_0 "
        "for "
        "q6_k, Q5_0 for q5_k, Q4_0 for q4_k, IQ4_NL for iq4_xs, q3_k and q2_k, and F16 where that has no whole blocks "
        "either. A line says how many they are.\n"
        "OUT gets its name when it is complete, in the place of a file that had it. A run that was interrupted or "
        "killed left OUT.part; the same command goes on from there.",
    .example = "accelctl quantize --type q8_0 model-f16.gguf model-q8_0.gguf\na file of half the size",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 2,
    .most = 2,
    .run = run,
};
