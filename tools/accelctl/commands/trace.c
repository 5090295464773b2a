/* SPDX-License-Identifier: Apache-2.0 */
/* Runs given ids with K, V and activations in F32 and writes every named stage, to compare drivers and to find the
 * first wrong layer. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <accel/model/safetensors.h>

#include "tools/accelctl/model.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/reports.h"
#include "tools/accelctl/target.h"

struct trace_options {
    struct common common;
    const char *in;
    const char *out;
    uint32_t stepwise;
};

static const struct option_row options[] = {
    {"in", 'i', OPTION_TEXT, offsetof(struct trace_options, in), "FILE",
     "safetensors with CASE.input_ids, I64 or I32 [sequences, tokens]", 0, 0},
    {"out", 'o', OPTION_TEXT, offsetof(struct trace_options, out), "FILE",
     "safetensors to write: CASE.STAGE, F32 [sequences, tokens, width]", 0, 0},
    {"stepwise", 0, OPTION_FLAG, offsetof(struct trace_options, stepwise), NULL,
     "feed one token per step, instead of all in one step", 0, 0},
    MODEL_OPTION,
    CONTEXT_OPTIONS(struct trace_options, common),
    PLAN_OPTIONS(struct trace_options, common),
    COMMON_OPTIONS(struct trace_options, common),
};

static const struct accel_named_value exact[] = {
    {"kv.type.k", "f32", "the command trace"},
    {"kv.type.v", "f32", "the command trace"},
    {"compute.activations", "f32", "the command trace"},
};

static const char in_remedy[] =
    "--in FILE is a safetensors file of token ids: a tensor CASE.input_ids [sequences, tokens], I64 or I32, for each "
    "case; accelctl tokenize MODEL TEXT prints the ids of a text";

enum { CASE_NAME = 128, STAGE_NAME = 256 };

/* One tensor of the result. */
struct record {
    struct accel_safetensors_entry entry;
    uint64_t dims[3];
    char name[STAGE_NAME];
    float *values;
};

struct trace {
    struct opened *opened;
    const struct accel_model_file *inputs;
    struct record *records;
    uint32_t record_count;
    uint32_t stages;
    uint32_t stepwise;
    uint32_t is_made; /* 1: what fails now is the writing */
    /* The first stage with a value that is not finite, and the place of that value; NULL: none. */
    const struct record *wrong;
    uint64_t place[3];
};

static int32_t ignore_logits(void *data, uint64_t index, const float *logits)
{
    (void)data;
    (void)index;
    (void)logits;
    return ACCEL_OK;
}

/* Returns the case of a tensor named CASE.input_ids, or 0. */
static uint32_t case_of(const struct accel_model_tensor *tensor, char name[CASE_NAME])
{
    static const char suffix[] = ".input_ids";
    size_t length = strlen(tensor->name);

    if (length < sizeof(suffix) || length >= CASE_NAME ||
        strcmp(tensor->name + length - (sizeof(suffix) - 1), suffix) != 0)
        return 0;
    snprintf(name, CASE_NAME, "%.*s", (int)(length - (sizeof(suffix) - 1)), tensor->name);
    return 1;
}

static int32_t read_ids(const struct trace *trace, const struct accel_model_tensor *tensor, int32_t **out_ids,
                        struct accel_error *error)
{
    uint64_t count = tensor->rank == 2 ? tensor->dims[0] * tensor->dims[1] : 0;
    void *raw = NULL;
    int32_t code;

    *out_ids = NULL;
    if (count == 0 || (tensor->type != ACCEL_I64 && tensor->type != ACCEL_I32))
        return accel_error_set(error, ACCEL_E_INVALID, "%s: %s has to be I64 or I32 [sequences, tokens]",
                               accel_model_file_path(trace->inputs), tensor->name);
    raw = malloc(tensor->bytes);
    *out_ids = malloc(count * sizeof(**out_ids));
    if (raw == NULL || *out_ids == NULL) {
        free(raw);
        return accel_error_no_memory(error, "for %llu ids", (unsigned long long)count);
    }
    code = accel_model_file_read(trace->inputs, tensor, 0, tensor->bytes, raw, error);
    for (uint64_t i = 0; code == ACCEL_OK && i < count; i++) {
        int64_t id = tensor->type == ACCEL_I64 ? ((const int64_t *)raw)[i] : ((const int32_t *)raw)[i];

        (*out_ids)[i] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
    }
    free(raw);
    return code;
}

/* Returns whether a stage has the rows of all tokens that were fed together. */
static bool is_whole(const struct trace *trace, const struct accel_stage *stage, uint64_t length)
{
    return stage->rows == (trace->stepwise ? 1 : length);
}

/* Copies the rows of every stage of the last step to their place in the records of a case. */
static int32_t store_stages(struct trace *trace, struct record *records, const char *name, uint64_t sequences,
                            uint64_t length, uint64_t row, uint64_t first, struct accel_error *error)
{
    for (uint32_t s = 0; s < trace->stages; s++) {
        struct accel_stage stage = {.size = sizeof(stage)};
        struct record *record = &records[s];
        int32_t code = accel_session_stage(trace->opened->session, s, &stage, error);

        if (code != ACCEL_OK)
            return code;
        if (!is_whole(trace, &stage, length)) {
            accel_error_set(error, ACCEL_E_INVALID,
                            "case %s: a pass of %" PRIu64 " tokens took several steps, and stages are those of one",
                            name, length);
            accel_error_remedy(error, "add --stepwise, or --set kv.full=stop and a batch of that many tokens");
            return accel_error_origin(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID);
        }
        if (record->values == NULL) {
            snprintf(record->name, sizeof(record->name), "%s.%s", name, stage.name);
            record->dims[0] = sequences;
            record->dims[1] = length;
            record->dims[2] = stage.width;
            record->values = malloc(sequences * length * stage.width * sizeof(*record->values));
            record->entry = (struct accel_safetensors_entry){.size = sizeof(record->entry),
                                                             .type = ACCEL_F32,
                                                             .name = record->name,
                                                             .dims = record->dims,
                                                             .data = record->values,
                                                             .rank = 3};
        }
        if (record->values == NULL)
            return accel_error_no_memory(error, "for stage %s", record->name);
        memcpy(record->values + (row * length + first) * stage.width, stage.values,
               stage.rows * stage.width * sizeof(*record->values));
    }
    return ACCEL_OK;
}

static int32_t trace_case(struct trace *trace, const struct accel_model_tensor *tensor, const char *name,
                          struct accel_error *error)
{
    struct accel_session *session = trace->opened->session;
    struct record *records = trace->records + trace->record_count;
    uint64_t length = tensor->rank == 2 ? tensor->dims[1] : 0;
    int32_t *ids = NULL;
    int32_t code = read_ids(trace, tensor, &ids, error);

    trace->record_count += trace->stages;
    for (uint64_t row = 0; code == ACCEL_OK && row < tensor->dims[0]; row++) {
        uint64_t step = trace->stepwise ? 1 : length;

        code = accel_session_truncate(session, 0, error);
        for (uint64_t first = 0; code == ACCEL_OK && first < length; first += step) {
            code = accel_session_score(session, ids + row * length + first, step, ignore_logits, NULL, error);
            if (code == ACCEL_OK)
                code = store_stages(trace, records, name, tensor->dims[0], length, row, first, error);
        }
    }
    free(ids);
    return code;
}

static int32_t write_records(const struct trace *trace, const char *path, struct accel_error *error)
{
    const struct accel_safetensors_entry **entries = calloc(trace->record_count + 1, sizeof(*entries));
    uint32_t count = 0;
    int32_t code;

    if (entries == NULL)
        return accel_error_no_memory(error, "for %u stages", trace->record_count);
    for (uint32_t r = 0; r < trace->record_count; r++)
        if (trace->records[r].values != NULL)
            entries[count++] = &trace->records[r].entry;
    code = accel_safetensors_write(path, entries, count, error);
    free(entries);
    return code;
}

/* Finds the first value of a stage that is not finite. */
static bool find_wrong_value(const struct record *record, uint64_t *out_index)
{
    const uint64_t count = record->values == NULL ? 0 : record->dims[0] * record->dims[1] * record->dims[2];

    for (*out_index = 0; *out_index < count; ++*out_index)
        if (!isfinite(record->values[*out_index]))
            return true;
    return false;
}

/* Finds the first stage, in the order of cases and then of the graph, with a value that is not finite. */
static void find_wrong_stage(struct trace *trace)
{
    for (uint32_t r = 0; r < trace->record_count && trace->wrong == NULL; r++) {
        const struct record *record = &trace->records[r];
        uint64_t index;

        if (!find_wrong_value(record, &index))
            continue;
        trace->wrong = record;
        trace->place[0] = index / record->dims[2] / record->dims[1];
        trace->place[1] = index / record->dims[2] % record->dims[1];
        trace->place[2] = index % record->dims[2];
    }
}

/* Reports the first stage that is not finite, with the weight or the driver that is the cause. */
static int32_t refuse_wrong_stage(const struct trace *trace, const char *out, struct accel_error *error)
{
    struct accel_error cause = {0};
    int32_t code = accel_session_report_nonfinite(trace->opened->session, "stages", &cause);

    accel_error_set(error, code,
                    "%.200s is written, and %.200s is its first stage that is not finite (sequence %llu, token %llu, "
                    "value %llu): %s",
                    out, trace->wrong->name, (unsigned long long)trace->place[0], (unsigned long long)trace->place[1],
                    (unsigned long long)trace->place[2], cause.text);
    accel_error_remedy(error, "%s", cause.remedy);
    return accel_error_origin(error, cause.origin, code);
}

static int32_t trace_all(struct trace *trace, const char *out, struct accel_error *error)
{
    uint64_t tensors = accel_model_file_tensor_count(trace->inputs);
    char name[CASE_NAME];
    int32_t code = load_session(trace->opened, error);

    trace->stages = accel_session_stage_count(trace->opened->session);
    trace->records = calloc(tensors * trace->stages + 1, sizeof(*trace->records));
    if (code == ACCEL_OK && trace->records == NULL)
        code = accel_error_no_memory(error, "for the stages");
    for (uint64_t i = 0; code == ACCEL_OK && i < tensors; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(trace->inputs, i);

        if (case_of(tensor, name))
            code = trace_case(trace, tensor, name, error);
    }
    if (code == ACCEL_OK && trace->record_count == 0) {
        code = accel_error_set(error, ACCEL_E_INVALID, "%s: no tensor is called CASE.input_ids",
                               accel_model_file_path(trace->inputs));
        accel_error_remedy(error, "%s", in_remedy);
    }
    trace->is_made = code == ACCEL_OK;
    if (code == ACCEL_OK)
        code = write_records(trace, out, error);
    if (code == ACCEL_OK) {
        trace->is_made = 0;
        find_wrong_stage(trace);
    }
    if (trace->wrong != NULL)
        code = refuse_wrong_stage(trace, out, error);
    for (uint32_t r = 0; trace->records != NULL && r < trace->record_count; r++)
        free(trace->records[r].values);
    free(trace->records);
    return code;
}

/* Refuses a target that is a device or one of the input files, since the file replaces it. */
static int refuse_target(const struct trace_options *chosen, const struct accel_model_file *read)
{
    struct stat target, source;

    int code = target_check(chosen->common.json, chosen->out, TARGET_ANY);

    if (code >= 0 || stat(chosen->out, &target) != 0)
        return code;
    for (uint32_t i = 0; i < accel_model_file_part_count(read); i++) {
        if (stat(accel_model_file_part_path(read, i), &source) != 0 || source.st_dev != target.st_dev ||
            source.st_ino != target.st_ino)
            continue;
        return report_error_format(chosen->common.json, EXIT_USAGE, "usage", "name another file",
                                   "trace: --out %.500s would overwrite a file that is read", chosen->out);
    }
    return -1;
}

static int run_trace(const struct trace_options *chosen, const char *path, struct accel_model_file *inputs)
{
    struct opened opened = {0};
    struct trace trace = {.opened = &opened, .inputs = inputs, .stepwise = chosen->stepwise};
    struct accel_named_value settings[4];
    struct accel_error error = {0};
    struct progress progress;
    char batch[32];
    uint64_t longest = widest_row(inputs); /* of the cases, which determines the size of a step */
    struct wish wish = {
        .path = path,
        .more = settings,
        .more_count = 4,
        .flags = ACCEL_SESSION_STAGES,
        .outputs = (uint32_t)longest,
        .smaller = "shorter cases in the file of --in, or more memory: a larger memory.device or memory.budget "
                   "if one is set, or another --device",
        .runs = 1,
        .command = "trace",
        .reports = REPORT_LOG | REPORT_WEIGHTS};
    int code;

    snprintf(batch, sizeof(batch), "%llutok", (unsigned long long)(longest == 0 ? 1 : longest));
    memcpy(settings, exact, sizeof(exact));
    settings[3] = (struct accel_named_value){"batch", batch, "the command trace: its longest case"};
    code = open_model(&chosen->common, &wish, &opened);
    if (code < 0)
        code = refuse_target(chosen, accel_model_file_of(opened.model));
    if (code < 0) {
        code = EXIT_DONE;
        progress_begin(&progress, &opened.session, 1);
        if (trace_all(&trace, chosen->out, &error) != ACCEL_OK)
            code = trace.is_made ? report_output_error(chosen->common.json, &error, chosen->out)
                                 : report_text_error(chosen->common.json, &error);
        else if (chosen->common.json)
            code = print_json(json_pack("{s:s, s:o, s:i, s:o, s:o}", "origin", "measured: this run", "out",
                                        json_text(chosen->out), "stages", (int)trace.record_count, "conversion",
                                        reports_json(opened.session, 0, REPORT_WEIGHTS), "log",
                                        reports_json(opened.session, 0, REPORT_LOG)),
                              "accelctl/trace/1");
        else
            print("%u stages written to %s\n", trace.record_count, chosen->out);
        if (!chosen->common.json && (code == EXIT_DONE || trace.wrong != NULL))
            print_reports(opened.session, 0, 0, NULL);
        progress_end(&progress);
    }
    close_model(&opened);
    return code;
}

static int run(int count, char **arguments, const struct command *command)
{
    struct trace_options chosen = {0};
    struct accel_model_file *inputs = NULL;
    struct accel_error error = {0};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (chosen.in == NULL || chosen.out == NULL)
        return report_error_text(chosen.common.json, EXIT_USAGE, "usage", "trace: requires --in FILE and --out FILE",
                                 "accelctl trace --help lists arguments and options");
    if (accel_model_file_open(chosen.in, NULL, &inputs, &error) != ACCEL_OK) {
        if (error.code == ACCEL_E_UNSUPPORTED)
            snprintf(error.remedy, sizeof(error.remedy), "%s", in_remedy);
        return report_error(chosen.common.json, &error);
    }
    code = refuse_target(&chosen, inputs);
    if (code < 0)
        code = run_trace(&chosen, arguments[0], inputs);
    accel_model_file_close(inputs);
    return code;
}

const struct command command_trace = {
    .name = "trace",
    .summary = "run given token ids in F32 and write the output of every stage",
    .arguments = "MODEL",
    .detail =
        "K, V and activations are F32 regardless of the profiles, so that two drivers can be compared stage by "
        "stage to find the first layer that differs. If a stage has values that are not finite, the file is written "
        "all the same, and an error names the first such stage: status 3 if a weight of the model is not finite, 1 "
        "if the driver computed the value.",
    .example = "accelctl trace model/ --in inputs.safetensors --out stages.safetensors\n"
               "write the stages of every case of inputs.safetensors",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1,
    .run = run,
};
