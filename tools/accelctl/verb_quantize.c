/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/guard.h"
#include "tools/accelctl/quantize.h"
#include "tools/accelctl/say.h"
#include "tools/accelctl/target.h"
#include "tools/accelctl/verb.h"
#include "tools/accelctl/words.h"
#include "tools/accelctl/working.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct option_row options[] = {
    {"type", 't', OPTION_TEXT, offsetof(struct quantize_options, type), "TYPE",
     "type of the matrices, with --budget only the family of its candidates: q8, q4, q3, q2, nf4 or c4 with --group "
     "and --scheme; or f32, f16, bf16, q8_0, q6_k, q5_k, "
     "q5_1, q5_0, q4_k (as without the option), q4_1, q4_0, "
     "iq4_nl, iq4_xs, mxfp4, q3_k or q2_k",
     0, 0},
    {"group", 'g', OPTION_TEXT, offsetof(struct quantize_options, group), "COUNT",
     "values under one scale: 32, 64, 128, 256, 512 or row; for q2, q3, q4, q8, nf4 and c4; without: 128, 64 of q2 and "
     "nf4, row of c4",
     0, 0},
    {"scheme", 0, OPTION_TEXT, offsetof(struct quantize_options, scheme), "SCHEME",
     "symmetric, as without the option, or asymmetric: with a zero point for each group; for q2, q3, q4 and q8", 0, 0},
    {"role", 'r', OPTION_LIST, offsetof(struct quantize_options, roles), "ROLE=TYPE",
     "another type for embedding, q, k, v, o, attention (these four), gate, up, down, ffn (these three), head, norm or "
     "conv; may be repeated",
     0, 0},
    {"critical", 0, OPTION_TEXT, offsetof(struct quantize_options, critical), "TYPE",
     "another type for attention, embedding and head; --role is stronger", 0, 0},
    {"method", 'm', OPTION_TEXT, offsetof(struct quantize_options, method), "METHOD",
     "nearest: the scale that the largest value gives; search: that under which a group loses least, as without "
     "--calib; importance: the same, weighted; gptq: columns make up for those before them, as with --calib",
     0, 0},
    {"calib", 'c', OPTION_TEXT, offsetof(struct quantize_options, calib), "FILE",
     "a text that the model reads first: what it multiplies its matrices with then says which errors matter", 0, 0},
    {"calib-tokens", 0, OPTION_NUMBER, offsetof(struct quantize_options, calib_tokens), "N",
     "read the first N tokens of that text alone", 2, 1e15},
    {"budget", 'b', OPTION_TEXT, offsetof(struct quantize_options, budget), "SIZE",
     "bytes of the whole file, as 60MB or 1.2GiB: each matrix gets the type that makes the sum of losses smallest; "
     "stronger than --role and --critical",
     0, 0},
    {"candidate", 0, OPTION_LIST, offsetof(struct quantize_options, candidates), "TYPE",
     "a type that --budget and --sensitivity may choose; may be repeated; without: f16 and types of 2 to 8 bits, "
     "planar "
     "where --type is, else those of GGUF",
     0, 0},
    {"sensitivity", 0, OPTION_FLAG, offsetof(struct quantize_options, sensitivity), NULL,
     "print what each matrix would lose in each type, and write nothing; OUT may be left out", 0, 0},
    {"keep", 'k', OPTION_LIST, offsetof(struct quantize_options, keep), "PATTERN",
     "copy tensors whose names match, as 'blk.*.attn_v.weight'; stronger than all else; may be repeated", 0, 0},
    {"threads", 0, OPTION_NUMBER, offsetof(struct quantize_options, threads), "COUNT",
     "threads; without it one for each processor", 1, THREADS_MAX},
    {"dry-run", 'n', OPTION_FLAG, offsetof(struct quantize_options, dry), NULL,
     "say what would be written, and end; OUT may be left out", 0, 0},
    {"tensors", 0, OPTION_FLAG, offsetof(struct quantize_options, tensors), NULL, "list every tensor", 0, 0},
    COMMON_OPTIONS(struct quantize_options, common),
};

/* A budget that chooses nothing, but has every matrix measured. */
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
    struct working working;
    struct accel_error error;
};

int quantize_refuse(uint32_t json, struct accel_error *error, const char *out)
{
    char remedy[ROOM_REMEDY];
    int code;

    if (error->remedy[0] == '\0' && (error->native == ENOSPC || error->native == EDQUOT || error->native == EFBIG)) {
        room_remedy(error->native, out, remedy);
        accel_error_remedy(error, "%s", remedy);
    }
    switch (error->code) {
    case ACCEL_E_CANCELLED:
        accel_error_remedy(error, "the same command goes on from there");
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
        /* Words of --type, --role, --critical and --candidate; else it is the file that is not supported. */
        code = strstr(error->text, "is no type that can be written") != NULL ? EXIT_USAGE : EXIT_INPUT;
        break;
    default:
        return say_error(json, error);
    }
    return say(json, code, accel_error_name(error->code), error->text, error->remedy);
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
                                           .keep_count = chosen->keep.count,
                                           .method = quantizing->method,
                                           .group = parse_group(chosen->group),
                                           .scheme = chosen->scheme,
                                           .roles = chosen->roles.items,
                                           .role_count = chosen->roles.count,
                                           .critical = chosen->critical,
                                           .keep = chosen->keep.items,
                                           .progress = working_tell,
                                           .progress_data = &quantizing->working};
}

/* Whether OUT is IN, or will be replaced; of a folder it is the file of weights. Answers -1 to go on. */
static int check_out(const struct quantize_options *chosen, char **arguments, struct outcome *outcome)
{
    char path[4096], text[400];
    struct stat in, out;

    outcome->path = arguments[1] == NULL ? "OUT" : arguments[1];
    if (arguments[1] == NULL)
        return -1;
    if (stat(arguments[0], &in) != 0 || stat(arguments[1], &out) != 0)
        return -1;
    if (in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
        snprintf(text, sizeof text, "%.300s: is the %s that is read; write to another name", arguments[1],
                 S_ISDIR(in.st_mode) ? "folder" : "file");
        return say(chosen->common.json, EXIT_USAGE, "usage", text,
                   "name another OUT, and rename it when it is complete");
    }
    outcome->replaced = !S_ISDIR(out.st_mode);
    if (S_ISDIR(out.st_mode) && snprintf(path, sizeof path, "%s/model.safetensors", arguments[1]) < (int)sizeof path)
        outcome->replaced = access(path, F_OK) == 0;
    return -1;
}

/* A word that is no type of a GGUF file. Names of planar types are the library's to judge. Answers -1 to go on. */
static int check_type(const struct accel_model_file *file, uint32_t json, const char *type)
{
    const char *words = option_words("quantize", "type"), *meant;
    char text[200], near[WORD_MOST];

    if (accel_model_file_format(file) != ACCEL_MODEL_GGUF || is_one_of(words, type) || strstr(type, "_g") != NULL ||
        strstr(type, "_row") != NULL)
        return -1;
    meant = nearest_word(words, type, near);
    snprintf(text, sizeof text, "quantize: there is no type '%.40s' of a GGUF file%s%s%s", type,
             meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "", meant != NULL ? "?" : "");
    return say(json, EXIT_USAGE, "usage", text, "accelctl quantize --help lists the types");
}

/* Decides, and writes unless the run is a dry one. */
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
    working_on(&quantizing->working, wanted.ids != NULL ? "reading the text" : "choosing types");
    code = accel_quantize_plan(quantizing->file, &wanted, &quantizing->job, &quantizing->error);
    working_on(&quantizing->working, "writing");
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

static uint64_t widest_row(const struct accel_model_file *file)
{
    uint64_t widest = 0;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        if (tensor->rank == 2 && tensor->dims[1] > widest)
            widest = tensor->dims[1];
    }
    return widest;
}

/* Options that would do nothing, and a missing OUT. Answers -1 to go on. */
static int check_usage(const struct quantize_options *chosen, int count)
{
    const char *text = NULL, *remedy = NULL;

    if (count < 2 && !chosen->dry && !chosen->sensitivity) {
        text = "quantize: wants an argument: IN OUT";
        remedy = "OUT may be left out with --dry-run and --sensitivity";
    } else if (chosen->candidates.count > 0 && chosen->budget == NULL && !chosen->sensitivity) {
        text = "quantize: --candidate is for --budget and --sensitivity";
        remedy = "--type and --role give types without a budget";
    }
    return text == NULL ? -1 : say(chosen->common.json, EXIT_USAGE, "usage", text, remedy);
}

/* Folders become folders: one that is called as a GGUF file was meant otherwise. Answers -1 to go on. */
static int check_container(const struct accel_model_file *file, uint32_t json, const char *out)
{
    size_t length = out == NULL ? 0 : strlen(out);
    char text[400];

    if (accel_model_file_format(file) != ACCEL_MODEL_SAFETENSORS || length < 5 ||
        strcmp(out + length - 5, ".gguf") != 0 || access(out, F_OK) == 0)
        return -1;
    snprintf(text, sizeof text, "%.300s: a folder of safetensors becomes another folder, not a GGUF file", out);
    return say(json, EXIT_USAGE, "usage", text, "name a folder; convert_hf_to_gguf.py of llama.cpp makes GGUF of one");
}

static int open_and_make(struct quantizing *quantizing, char **arguments)
{
    static const struct accel_model_open_options packed = {sizeof packed, ACCEL_MODEL_OPEN_PACKED};
    uint32_t json = quantizing->chosen->common.json;
    int code;

    if (accel_model_file_open(arguments[0], &packed, &quantizing->file, &quantizing->error) != ACCEL_OK)
        return say_error(json, &quantizing->error);
    guard_mappings(quantizing->file, "leave the file alone while it is read");
    quantizing->outcome.before = file_bytes(quantizing->file);
    quantizing->outcome.widest = widest_row(quantizing->file);
    code = check_type(quantizing->file, json, quantizing->type);
    if (code < 0)
        code = check_container(quantizing->file, json, arguments[1]);
    if (code < 0 && arguments[1] != NULL && accel_model_file_format(quantizing->file) == ACCEL_MODEL_GGUF)
        code = target_check(json, arguments[1], TARGET_ANY);
    else if (code < 0 && arguments[1] != NULL)
        code = target_folder_check(json, arguments[1]);
    if (code >= 0)
        return code;
    code = calibration_open(&quantizing->chosen->common, arguments[0], quantizing->chosen->calib,
                            quantizing->chosen->calib_tokens, &quantizing->calibration);
    if (code >= 0)
        return code;
    working_begin(&quantizing->working, NULL, 0);
    code = make(quantizing) == ACCEL_OK ? -1 : EXIT_FAILED;
    working_end(&quantizing->working);
    if (code >= 0 && quantizing->chosen->budget != NULL && quantizing->error.code == ACCEL_E_LIMIT)
        return say(json, EXIT_USAGE, accel_error_name(ACCEL_E_LIMIT), quantizing->error.text,
                   "take a larger --budget, or smaller types, as --candidate q2_g32 --candidate q4_g32");
    return code < 0 ? -1 : quantize_refuse(json, &quantizing->error, quantizing->outcome.path);
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct quantize_options chosen = {.type = "q4_k"};
    struct quantizing quantizing = {.chosen = &chosen};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code < 0)
        code = type_name(chosen.common.json, verb->name, chosen.type, chosen.group, chosen.scheme,
                         chosen.roles.count > 0 || chosen.critical != NULL, quantizing.type);
    if (code < 0 && count < 2)
        arguments[1] = NULL;
    if (code < 0)
        code = check_usage(&chosen, count);
    if (code < 0)
        code = parse_method(chosen.common.json, verb->name, chosen.method, chosen.calib, &quantizing.method);
    quantizing.outcome.limited = chosen.budget != NULL;
    if (code < 0 && chosen.budget != NULL)
        code = parse_bytes(chosen.common.json, verb->name, "budget", chosen.budget, &quantizing.outcome.budget);
    else if (code < 0 && chosen.sensitivity)
        quantizing.outcome.budget = NO_LIMIT;
    if (code < 0)
        code = check_out(&chosen, arguments, &quantizing.outcome);
    if (code >= 0)
        return code;
    chosen.type = quantizing.type;
    code = open_and_make(&quantizing, arguments);
    if (code < 0 && chosen.common.json) {
        code = quantize_document(quantizing.job, &quantizing.outcome);
    } else if (code < 0) {
        quantize_print(quantizing.job, &chosen, &quantizing.outcome);
        code = EXIT_DONE;
    }
    guard_end(quantizing.file);
    accel_quantize_free(quantizing.job);
    calibration_close(&quantizing.calibration);
    accel_model_file_close(quantizing.file);
    return code;
}

const struct verb verb_quantize = {
    .name = "quantize",
    .summary = "write a model again with other types of weights",
    .arguments = "IN OUT",
    .detail =
        "IN and OUT are GGUF files, or folders of safetensors, which for IN may be packed by GPTQ, AWQ or "
        "compressed-tensors. Names of types that GGUF knows, as q4_0 or q4_k, are "
        "written as such. q2, q3, q4 and q8 are planar, with --group and --scheme, or in one word as q4_g128a (with "
        "zero points) or q3_row; so are nf4 (levels of a normal distribution) and c4 (16 levels of its own for each "
        "row). A folder whose matrices have one planar type becomes one in the layout of GPTQ, which other programs "
        "read; else both kinds of files get a layout of planes that accelctl reads (sdk/quant/LAYOUT.md).\n"
        "Where groups or blocks do not divide the rows of a matrix it gets the largest groups that do, a type of "
        "smaller blocks (Q8_0 for q6_k, Q5_0 for q5_k, Q4_0 for q4_k, IQ4_NL for iq4_xs, q3_k and q2_k), or F16. A "
        "line says how many they are; norms and biases keep their precision, and --tensors says why for each.\n"
        "With --calib the model reads a text before it is made smaller, and errors count for what they do to its "
        "outputs. Take a text as the model will be used for, of a few thousand words. --budget measures what each "
        "matrix loses in each type and solves which gets which.\n"
        "OUT gets its name when it is complete, in the place of a file that had it. A run that was interrupted or "
        "killed left OUT.part; the same command goes on from there, unless a file of IN has "
        "changed since or is another one, a copy as well: then it begins anew. doc/quantization.md compares all of "
        "this.",
    .example = "accelctl quantize --type q3 --calib text.txt model-f16.gguf model-q3.gguf\n"
               "a file of a fifth of the size, whose rounding errors make up for each other",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 2,
    .run = run,
};
