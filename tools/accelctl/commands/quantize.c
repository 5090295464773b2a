/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/quantize/quantize.h"
#include "tools/accelctl/sigbus_guard.h"
#include "tools/accelctl/target.h"
#include "tools/accelctl/words.h"

static const struct option_row options[] = {
    {"type", 't', OPTION_TEXT, offsetof(struct quantize_options, type), "TYPE",
     "type of the matrices, also as a third argument: q4_k_m (the default), q4_k_s, q5_k_m, q5_k_s, q6_k, q3_k_s, "
     "q3_k_m, q3_k_l, q2_k, q2_k_s, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl, iq4_xs or mxfp4_moe: the mix of types that "
     "llama-quantize writes under that name (q3_k, q4_k and q5_k are its _M); f32, f16, bf16 or mxfp4: that type; q8, "
     "q4, q3, q2, nf4, c4 or f8 with --group and --scheme. With --budget it only names the family of the candidates",
     0, 0},
    {"pure", 0, OPTION_FLAG, offsetof(struct quantize_options, pure), NULL,
     "no mix: all matrices get the type that TYPE names, as Q4_K for q4_k_m", 0, 0},
    {"requantize", 0, OPTION_FLAG, offsetof(struct quantize_options, requantize), NULL,
     "allow a quantized IN: the rounding errors of both types add up, so that the result is worse than one of the "
     "original weights",
     0, 0},
    {"allow-requantize", 0, OPTION_FLAG, offsetof(struct quantize_options, requantize), NULL,
     "alias of --requantize, the name in llama-quantize", 0, 0},
    {"group", 'g', OPTION_TEXT, offsetof(struct quantize_options, group), "COUNT",
     "values that share one scale: 32, 64, 128, 256, 512 or row; for q2, q3, q4, q8, nf4, c4 and f8; default: 128, 64 "
     "for q2 and nf4, row for c4",
     0, 0},
    {"scheme", 0, OPTION_TEXT, offsetof(struct quantize_options, scheme), "SCHEME",
     "symmetric, as without the option, or asymmetric: with a zero point for each group; for q2, q3, q4 and q8", 0, 0},
    {"role", 'r', OPTION_LIST, offsetof(struct quantize_options, roles), "ROLE=TYPE",
     "type for embedding, q, k, v, o, attention (these four), gate, up, down, ffn (these three), head, norm or conv; "
     "may be repeated",
     0, 0},
    {"critical", 0, OPTION_TEXT, offsetof(struct quantize_options, critical), "TYPE",
     "type for attention, embedding and head; --role overrides it", 0, 0},
    {"method", 'm', OPTION_TEXT, offsetof(struct quantize_options, method), "METHOD",
     "nearest: scale from the largest value; search: scale with the smallest error of a group, the default without "
     "--calib; importance: the same, weighted by --calib; gptq: later columns compensate the errors of earlier ones, "
     "the default with --calib",
     0, 0},
    {"calib", 'c', OPTION_TEXT, offsetof(struct quantize_options, calib), "FILE",
     "calibration text, which the model reads first: its activations weight the errors", 0, 0},
    {"calib-tokens", 0, OPTION_NUMBER, offsetof(struct quantize_options, calib_tokens), "N",
     "read the first N tokens of that text alone", 2, 1e15},
    {"budget", 'b', OPTION_TEXT, offsetof(struct quantize_options, budget), "SIZE",
     "size of the whole file, as 60MB or 1.2GiB: each matrix gets the type that minimizes the sum of losses; overrides "
     "--role and --critical",
     0, 0},
    {"candidate", 0, OPTION_LIST, offsetof(struct quantize_options, candidates), "TYPE",
     "a type that --budget and --sensitivity may choose; may be repeated; default: f16 and types of 2 to 8 bits, "
     "planar if --type is, otherwise those of GGUF",
     0, 0},
    {"sensitivity", 0, OPTION_FLAG, offsetof(struct quantize_options, sensitivity), NULL,
     "print the loss of each matrix in each type, and write nothing; OUT may be omitted", 0, 0},
    {"keep", 'k', OPTION_LIST, offsetof(struct quantize_options, keep), "PATTERN",
     "copy tensors whose names match, as 'blk.*.attn_v.weight'; overrides all other options; may be repeated", 0, 0},
    {"threads", 0, OPTION_NUMBER, offsetof(struct quantize_options, threads), "COUNT",
     "threads; default: one per processor", 1, THREADS_MAX},
    {"dry-run", 'n', OPTION_FLAG, offsetof(struct quantize_options, dry), NULL,
     "print what would be written, and write nothing; OUT may be omitted", 0, 0},
    {"tensors", 0, OPTION_FLAG, offsetof(struct quantize_options, tensors), NULL, "list every tensor", 0, 0},
    COMMON_OPTIONS(struct quantize_options, common),
};

/* Budget without effect: it makes the job measure every matrix. */
#define NO_LIMIT ((uint64_t)INT64_MAX)

/* One run. */
struct quantizing {
    const struct quantize_options *chosen;
    char type[TYPE_NAME];
    uint32_t method;
    struct accel_model_file *file;
    struct accel_quantize_job *job;
    struct calibration calibration;
    struct outcome outcome;
    struct progress progress;
    struct accel_error error;
};

/* Returns whether an interrupted run left a part of OUT, a file or a folder. */
static bool has_part(const char *out)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s.part", out);

    if (length < (int)sizeof(path) && access(path, F_OK) == 0)
        return true;
    length = snprintf(path, sizeof(path), "%s/model.safetensors.part", out);
    return length < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* Prints an error of planning, or of writing `out`; answers an exit code. */
static int quantize_refuse(uint32_t json, struct accel_error *error, const char *out)
{
    char remedy[SPACE_REMEDY_BYTES];
    int code;

    /* Errors of the file that is read have a remedy. */
    if (error->remedy[0] == '\0' && error->native != 0) {
        space_remedy(error->native, out, remedy);
        accel_error_remedy(error, "%s", remedy);
    }
    switch (error->code) {
    case ACCEL_E_CANCELLED:
        accel_error_remedy(error, "%s",
                           has_part(out) ? "the same command resumes from there"
                                         : "nothing was written yet; the same command starts again");
        code = EXIT_INTERRUPTED;
        break;
    case ACCEL_E_IO:
        code = EXIT_FAILED;
        break;
    case ACCEL_E_INVALID:
        accel_error_remedy(error, "accelctl quantize --help lists types, groups, roles and methods");
        code = EXIT_USAGE;
        break;
    case ACCEL_E_UNSUPPORTED:
        /* Errors in --type, --role, --critical and --candidate are wrong usage; all others are those of an
         * unsupported file. */
        code = error->origin == ACCEL_FROM_SETTING ? EXIT_USAGE : EXIT_INPUT;
        break;
    default:
        return report_error(json, error);
    }
    return report_error_as(json, code, error);
}

uint32_t default_threads(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (uint32_t)count;
}

static struct accel_quantize_options wanted_of(struct quantizing *quantizing)
{
    const struct quantize_options *chosen = quantizing->chosen;

    return (struct accel_quantize_options){.size = sizeof(struct accel_quantize_options),
                                           .threads =
                                               chosen->threads == 0 ? default_threads() : (uint32_t)chosen->threads,
                                           .type = quantizing->type,
                                           .flags = chosen->pure ? 0 : ACCEL_QUANTIZE_MIX,
                                           .keep_count = chosen->keep.count,
                                           .method = quantizing->method,
                                           .group = parse_group(chosen->group),
                                           .scheme = chosen->scheme,
                                           .roles = chosen->roles.items,
                                           .role_count = chosen->roles.count,
                                           .critical = chosen->critical,
                                           .keep = chosen->keep.items,
                                           .progress = progress_update,
                                           .progress_data = &quantizing->progress};
}

/* Checks whether OUT is IN, or will be replaced; of a folder it is the file of weights. Answers -1 to go on. */
static int check_out(const struct quantize_options *chosen, char **arguments, struct outcome *outcome)
{
    char path[4096];
    struct stat in, out;

    outcome->path = arguments[1] == NULL ? "OUT" : arguments[1];
    if (arguments[1] == NULL)
        return -1;
    if (stat(arguments[0], &in) != 0 || stat(arguments[1], &out) != 0)
        return -1;
    if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return report_error_format(chosen->common.json, EXIT_USAGE, "usage",
                                   "name another OUT, and rename it when it is complete",
                                   "%.300s: is the %s that is read; write to another name", arguments[1],
                                   S_ISDIR(in.st_mode) ? "folder" : "file");
    outcome->replaced = !S_ISDIR(out.st_mode);
    if (S_ISDIR(out.st_mode) && snprintf(path, sizeof(path), "%s/model.safetensors", arguments[1]) < (int)sizeof(path))
        outcome->replaced = access(path, F_OK) == 0;
    return -1;
}

/* Types of llama-quantize and other programs that are not written here, and the nearest type that is. */
static const struct {
    const char *names;
    const char *nearest;
} other_types[] = {
    {"iq3_m iq3_s", "Q3_K_M"},
    {"iq3_xs iq3_xxs", "Q3_K_S"},
    {"iq2_m iq2_s iq2_xs iq2_xxs iq1_m iq1_s q2_0 q1_0 tq2_0 tq1_0", "Q2_K"},
    {"q4_0_4_4 q4_0_4_8 q4_0_8_8", "Q4_0"},
    {"nvfp4", "Q4_K_S"},
    {"fp8 fp8_e4m3 fp8_e5m2 f8_e4m3 f8_e5m2 float8 e4m3 e5m2", "f8"},
};

/* Returns NULL if the word is no such type. */
static const char *nearest_type(const char *type)
{
    for (size_t i = 0; i < sizeof(other_types) / sizeof(*other_types); i++)
        if (is_one_of(other_types[i].names, type))
            return other_types[i].nearest;
    return NULL;
}

/* Refuses a word that is no type of a file. Names of planar types are left to the library. Answers -1 to go on. */
static int check_type(const struct accel_model_file *file, uint32_t json, const char *type)
{
    const char *words = option_words("quantize", "type");
    char text[200], remedy[120], guess[GUESS_BYTES];

    if (strcasecmp(type, "copy") == 0)
        return report_error_text(json, EXIT_USAGE, "usage",
                                 "quantize: COPY is no type: it writes the file again as it is",
                                 "cp IN OUT; --type f16 and f32 unpack the matrices");
    if (type[strspn(type, "0123456789")] == '\0') {
        snprintf(text, sizeof(text), "quantize: types have names here, not numbers of llama-quantize as '%.20s'", type);
        return report_error_text(
            json, EXIT_USAGE, "usage", text,
            "the names beside the numbers in llama-quantize --help: 2 is Q4_0, 7 Q8_0, 15 Q4_K_M, 17 Q5_K_M, 18 "
            "Q6_K");
    }
    if (is_one_of(words, type) || strstr(type, "_g") != NULL || strstr(type, "_row") != NULL)
        return -1;
    if (nearest_type(type) != NULL) {
        snprintf(text, sizeof(text), "quantize: the type %.40s is not written here", type);
        snprintf(remedy, sizeof(remedy), "%s is the nearest in size; accelctl quantize --help lists the types",
                 nearest_type(type));
        return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
    }
    snprintf(text, sizeof(text), "quantize: there is no type '%.40s' of a %s%s", type,
             accel_model_file_format(file) == ACCEL_MODEL_GGUF ? "GGUF file" : "folder of safetensors",
             guess_text(words, type, guess));
    return report_error_text(json, EXIT_USAGE, "usage", text, "accelctl quantize --help lists the types");
}

/* Plans the job, and writes the file unless it is a dry run. */
static int32_t make(struct quantizing *quantizing)
{
    const struct quantize_options *chosen = quantizing->chosen;
    struct accel_quantize_options wanted = wanted_of(quantizing);
    struct outcome *outcome = &quantizing->outcome;
    struct timespec begun;
    int32_t code;

    clock_gettime(CLOCK_MONOTONIC, &begun);
    calibration_give(&quantizing->calibration, &wanted);
    outcome->calibration = wanted.id_count;
    wanted.budget = outcome->budget;
    wanted.candidates = chosen->candidates.items;
    wanted.candidate_count = chosen->candidates.count;
    progress_next(&quantizing->progress, wanted.ids != NULL ? "reading the text" : "choosing types");
    code = accel_quantize_plan(quantizing->file, &wanted, &quantizing->job, &quantizing->error);
    progress_next(&quantizing->progress, "writing");
    if (code == ACCEL_OK && !chosen->dry && !chosen->sensitivity)
        code = accel_quantize_run(quantizing->job, outcome->path, &outcome->resumed, &quantizing->error);
    outcome->seconds = seconds_since(&begun);
    return code;
}

/* Answers -1 to go on to the result. */
static uint64_t file_bytes(const struct accel_model_file *file)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < accel_model_file_part_count(file); i++)
        bytes += accel_model_file_part_bytes(file, i);
    return bytes;
}

/* ---- arguments ---- */

static bool is_type_word(const char *word)
{
    return is_one_of(option_words("quantize", "type"), word) || nearest_type(word) != NULL || is_one_of("copy", word);
}

/* Reads TYPE and THREADS behind IN and OUT, in the order of llama-quantize, and takes them off *count. If OUT is
 * omitted, TYPE follows IN. Returns -1 to go on. */
static int read_positions(struct quantize_options *chosen, int *count, char **arguments)
{
    const char *type = *count > 2 ? arguments[2] : NULL;
    char *end;

    if (*count == 2 && is_type_word(arguments[1]) && access(arguments[1], F_OK) != 0) {
        if (!chosen->dry && !chosen->sensitivity)
            return report_error_format(chosen->common.json, EXIT_USAGE, "usage", "accelctl quantize IN OUT TYPE",
                                       "quantize: OUT is missing: '%.40s' is a type", arguments[1]);
        type = arguments[1];
    }
    if (*count > 3) {
        chosen->threads = strtoull(arguments[3], &end, 10);
        if (end == arguments[3] || *end != '\0' || chosen->threads < 1 || chosen->threads > THREADS_MAX)
            return report_error_format(
                chosen->common.json, EXIT_USAGE, "usage", "accelctl quantize IN OUT TYPE [THREADS]",
                "quantize: '%.40s' behind TYPE is no number of threads from 1 to %d", arguments[3], THREADS_MAX);
    }
    if (type != NULL && chosen->type != NULL && strcasecmp(type, chosen->type) != 0)
        return report_error_format(chosen->common.json, EXIT_USAGE, "usage", "leave one of them out",
                                   "quantize: two types: --type %.40s, and '%.40s' behind OUT", chosen->type, type);
    chosen->type = type != NULL ? type : chosen->type;
    *count = *count > 2 ? 2 : type != NULL ? 1 : *count;
    return -1;
}

/* Removes the ending of a mix, so that "q4_k_m" is the type of most of its matrices, as --pure of llama-quantize. */
static void remove_mix_ending(char *type)
{
    char *ending = strrchr(type, '_');

    if (ending != NULL && is_one_of(option_words("quantize", "type"), type) && is_one_of("_s _m _l _moe", ending))
        *ending = '\0';
}

/* Refuses options without effect, and a missing OUT. Answers -1 to go on. */
static int check_usage(const struct quantize_options *chosen, int count)
{
    const char *text = NULL, *remedy = NULL;

    if (count < 2 && !chosen->dry && !chosen->sensitivity) {
        text = "quantize: requires an argument: IN OUT";
        remedy = "OUT may be left out with --dry-run and --sensitivity";
    } else if (chosen->candidates.count > 0 && chosen->budget == NULL && !chosen->sensitivity) {
        text = "quantize: --candidate is for --budget and --sensitivity";
        remedy = "--type and --role give types without a budget";
    } else if (chosen->calib_tokens != 0 && chosen->calib == NULL) {
        text = "quantize: --calib-tokens has no effect without --calib";
        remedy = "leave it out, or add --calib FILE, whose first tokens it counts";
    } else if (chosen->pure && chosen->budget != NULL) {
        text = "quantize: --pure and --budget exclude each other: a budget chooses a type for each matrix";
        remedy = "leave one of them out";
    }
    return text == NULL ? -1 : report_error_text(chosen->common.json, EXIT_USAGE, "usage", text, remedy);
}

/* Refuses a GGUF name for the output of a safetensors folder, which is another folder. Answers -1 to go on. */
static int check_container(const struct accel_model_file *file, uint32_t json, const char *in, const char *out,
                           const char *type)
{
    size_t length = out == NULL ? 0 : strlen(out);
    char text[400], remedy[1200];

    if (accel_model_file_format(file) != ACCEL_MODEL_SAFETENSORS || length < 5 ||
        strcmp(out + length - 5, ".gguf") != 0 || access(out, F_OK) == 0)
        return -1;
    snprintf(text, sizeof(text), "%.300s: a folder of safetensors becomes another folder, not a GGUF file", out);
    snprintf(remedy, sizeof(remedy),
             "accelctl quantize %.300s %.*s %.60s writes a folder, which runs as it is; for a GGUF file, run "
             "convert_hf_to_gguf.py %.300s --outfile model.gguf of llama.cpp, and then accelctl quantize model.gguf "
             "%.300s %.60s",
             in, (int)(length - 5 < 300 ? length - 5 : 300), out, type, in, out, type);
    return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
}

/* ---- quantized input ---- */

/* Counts matrices of a quantized type that the rules would quantize again, and names the type of the first, which the
 * file owns; a budget may choose among all of them. */
static int32_t count_requantized(struct quantizing *quantizing, uint64_t *out_count, const char **out_type)
{
    struct accel_quantize_options wanted = wanted_of(quantizing);
    struct accel_quantize_job *job = NULL;
    int32_t code;

    *out_count = 0;
    *out_type = "";
    /* Methods and mixes that need a calibration would require one here; none is read for this count. */
    wanted.method = ACCEL_QUANTIZE_METHOD_DEFAULT;
    wanted.progress = NULL;
    if (quantizing->chosen->calib != NULL && strcasecmp(quantizing->type, "q2_k_s") == 0)
        wanted.type = "q2_k";
    code = accel_quantize_plan(quantizing->file, &wanted, &job, &quantizing->error);
    if (code == ACCEL_OK)
        *out_count = requantized_count(job, out_type);
    accel_quantize_free(job);
    return code;
}

/* Refuses to round values twice unless --requantize allows it. Returns -1 to go on. */
static int check_requantize(struct quantizing *quantizing, const char *in)
{
    const struct quantize_options *chosen = quantizing->chosen;
    const char *type;
    char text[400];
    uint64_t count;

    if (chosen->requantize || chosen->sensitivity)
        return -1;
    if (count_requantized(quantizing, &count, &type) != ACCEL_OK)
        return quantize_refuse(chosen->common.json, &quantizing->error, quantizing->outcome.path);
    if (count == 0)
        return -1;
    snprintf(
        text, sizeof(text),
        "quantize: %.200s is quantized already: %llu %s in %.20s would be rounded a second time, and errors of both "
        "types add up",
        in, (unsigned long long)count, count == 1 ? "matrix" : "matrices", type);
    return report_error_text(
        chosen->common.json, EXIT_USAGE, "usage", text,
        "quantize the file of the original weights (F16, BF16 or F32), or allow the loss with --requantize");
}

static int open_and_make(struct quantizing *quantizing, char **arguments)
{
    static const struct accel_model_open_options packed = {sizeof(packed), ACCEL_MODEL_OPEN_PACKED};
    uint32_t json = quantizing->chosen->common.json;
    int code;

    if (accel_model_file_open(arguments[0], &packed, &quantizing->file, &quantizing->error) != ACCEL_OK)
        return report_error(json, &quantizing->error);
    sigbus_guard_begin(quantizing->file, "do not change the file while it is read");
    quantizing->outcome.before = file_bytes(quantizing->file);
    quantizing->outcome.widest = widest_row(quantizing->file);
    code = check_type(quantizing->file, json, quantizing->type);
    if (code < 0)
        code = check_container(quantizing->file, json, arguments[0], arguments[1], quantizing->type);
    if (code < 0 && arguments[1] != NULL && accel_model_file_format(quantizing->file) == ACCEL_MODEL_GGUF)
        code = target_check(json, arguments[1], TARGET_ANY);
    else if (code < 0 && arguments[1] != NULL)
        code = target_folder_check(json, arguments[1]);
    if (code < 0)
        code = check_requantize(quantizing, arguments[0]);
    if (code >= 0)
        return code;
    code = calibration_open(&quantizing->chosen->common, arguments[0], quantizing->chosen->calib,
                            quantizing->chosen->calib_tokens, &quantizing->calibration);
    if (code >= 0)
        return code;
    progress_begin(&quantizing->progress, NULL, 0);
    code = make(quantizing) == ACCEL_OK ? -1 : EXIT_FAILED;
    progress_end(&quantizing->progress);
    if (code >= 0 && quantizing->chosen->budget != NULL && quantizing->error.code == ACCEL_E_LIMIT)
        return report_error_text(json, EXIT_USAGE, accel_error_name(ACCEL_E_LIMIT), quantizing->error.text,
                                 "take a larger --budget, or smaller types, as --candidate q2_g32 --candidate q4_g32");
    return code < 0 ? -1 : quantize_refuse(json, &quantizing->error, quantizing->outcome.path);
}

static int run(int count, char **arguments, const struct command *command)
{
    struct quantize_options chosen = {.type = NULL};
    struct quantizing quantizing = {.chosen = &chosen};
    bool names_no_type;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code < 0)
        code = read_positions(&chosen, &count, arguments);
    names_no_type = chosen.type == NULL;
    if (names_no_type)
        chosen.type = "q4_k_m";
    if (code < 0)
        code = type_name(chosen.common.json, command->name, chosen.type, chosen.group, chosen.scheme,
                         chosen.roles.count > 0 || chosen.critical != NULL, quantizing.type);
    if (code < 0 && chosen.pure)
        remove_mix_ending(quantizing.type);
    if (code < 0 && count < 2)
        arguments[1] = NULL;
    if (code < 0)
        code = check_usage(&chosen, count);
    if (code < 0)
        code = parse_method(chosen.common.json, command->name, chosen.method, chosen.calib, &quantizing.method);
    quantizing.outcome.limited = chosen.budget != NULL;
    if (code < 0 && chosen.budget != NULL)
        code = parse_bytes(chosen.common.json, command->name, "budget", chosen.budget, &quantizing.outcome.budget);
    else if (code < 0 && chosen.sensitivity)
        quantizing.outcome.budget = NO_LIMIT;
    if (code < 0)
        code = check_out(&chosen, arguments, &quantizing.outcome);
    if (code >= 0)
        return code;
    chosen.type = quantizing.type;
    code = open_and_make(&quantizing, arguments);
    if (code < 0 && names_no_type && chosen.budget == NULL && !chosen.sensitivity)
        fprintf(error_output(), "note: no TYPE is named: it is Q4_K_M, which llama.cpp and Ollama download if none is "
                                "named, too; accelctl quantize --help lists the others\n");
    if (code < 0 && chosen.common.json) {
        code = quantize_document(quantizing.job, &quantizing.outcome, !chosen.dry && !chosen.sensitivity);
    } else if (code < 0) {
        quantize_print(quantizing.job, &chosen, &quantizing.outcome);
        code = EXIT_DONE;
    }
    sigbus_guard_end(quantizing.file);
    accel_quantize_free(quantizing.job);
    calibration_close(&quantizing.calibration);
    accel_model_file_close(quantizing.file);
    return code;
}

const struct command command_quantize = {
    .name = "quantize",
    .summary = "convert a model to other weight types",
    .arguments = "IN OUT [TYPE [THREADS]]",
    .detail =
        "IN and OUT are GGUF files, or folders of safetensors; the weights of an IN folder may be packed by GPTQ, AWQ "
        "or compressed-tensors. File types of llama.cpp, as Q4_K_M, give each matrix the type that llama-quantize "
        "gives it: more bits for the output projection, the attention values and some feed-forward layers; --role and "
        "--critical override them, --pure gives all matrices one type. q2, q3, q4 and q8 are planar, with --group and "
        "--scheme, or in one word as q4_g128a (with zero points) or q3_row; so are nf4 (codebook of a normal "
        "distribution), c4 (a codebook of 16 values per row) and f8 (floats of 8 bits, E4M3). A folder whose matrices "
        "have one planar type is written in the layout of GPTQ, which other programs read; otherwise both kinds of "
        "files get a layout of planes that accelctl reads (quant/LAYOUT.md).\n"
        "If groups or blocks do not divide the rows of a matrix, it gets the largest groups that do, the next larger "
        "type with blocks of 32 (Q8_0 for Q6_K, Q5_1 for Q5_K, Q5_0 for Q4_K, IQ4_NL for IQ4_XS, Q3_K and Q2_K), or "
        "F16. The number of such matrices is printed, and --tensors prints the reason of each. Norms and biases keep "
        "their precision.\n"
        "An IN that is already quantized is refused, since its values would be rounded twice; --requantize allows it. "
        "f32, f16 and bf16 are always allowed, since they only unpack.\n"
        "With --calib the model reads a text before it is quantized, and errors are weighted by their effect on its "
        "outputs. Choose a text of a few thousand words that resembles the later use. --budget measures the loss of "
        "each matrix in each type and solves for the best assignment.\n"
        "OUT is renamed into place when it is complete, and replaces an existing file. An interrupted or killed run "
        "leaves OUT.part; the same command resumes from it, unless a file of IN has changed or been replaced (a copy "
        "counts as replaced): then it starts over. doc/quantization.md compares types and methods.",
    .example = "accelctl quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M\n"
               "a file of a third of the size, which every program that reads GGUF runs",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 4,
    .run = run,
};
