/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/tokenizer.h>

#include "tools/accelctl/eval/eval.h"
#include "tools/accelctl/eval/versions.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/print/page.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/reports.h"
#include "tools/accelctl/run/prompt.h"
#include "tools/accelctl/sigbus_guard.h"
#include "tools/accelctl/target.h"

/* Tokens of one step, so that logits are computed for many at once. */
enum { OUTPUTS = 64, CHUNK_MOST = 512 };

/* Default of --worst. */
enum { WORST = 5 };

struct eval_options {
    struct common common;
    const char *text;
    const char *against;
    struct text_list reference_sets;
    const char *html;
    struct named_number chunk;
    uint64_t stride;
    uint64_t tokens;
    uint64_t worst;
    struct version_options versions;
};

static const struct option_row options[] = {
    {"text", 'f', OPTION_TEXT, offsetof(struct eval_options, text), "FILE",
     "text file to read, or the standard input with -; without it, tensors alone are compared", 0, 0},
    {"against", 'a', OPTION_TEXT, offsetof(struct eval_options, against), "FILE",
     "the reference: the same model before quantization", 0, 0},
    {"reference-set", 0, OPTION_LIST, offsetof(struct eval_options, reference_sets), "KEY=VALUE",
     "a setting of the reference alone, which overrides --set; may be repeated", 0, 0},
    {"bits", 0, OPTION_TEXT, offsetof(struct eval_options, versions.bits), "LIST",
     "create quantized versions of the reference with these bits, as 2,3,4,8, in a temporary folder, and compare them "
     "too",
     0, 0},
    {"type", 0, OPTION_LIST, offsetof(struct eval_options, versions.types), "TYPE",
     "type of a version, as q4_k or nf4_g64, or a family of types for --bits: planar (as without the option), k or "
     "block; may be repeated",
     0, 0},
    {"group", 'g', OPTION_TEXT, offsetof(struct eval_options, versions.group), "COUNT",
     "values under one scale in planar versions: 32, 64, 128, 256, 512 or row; default: 128, or 64 for 2 bits", 0, 0},
    {"scheme", 0, OPTION_TEXT, offsetof(struct eval_options, versions.scheme), "SCHEME",
     "scheme of planar versions: symmetric or asymmetric", 0, 0},
    {"method", 0, OPTION_LIST, offsetof(struct eval_options, versions.methods), "METHOD",
     "quantization method of the versions: nearest, search, importance or gptq; each version is created with each "
     "method; may be repeated",
     0, 0},
    {"calib", 0, OPTION_TEXT, offsetof(struct eval_options, versions.calib), "FILE",
     "calibration text that the reference reads before versions are created; use another text than --text", 0, 0},
    {"calib-tokens", 0, OPTION_NUMBER, offsetof(struct eval_options, versions.calib_tokens), "N",
     "read the first N tokens of that text alone", 2, 1e15},
    {"budget", 0, OPTION_LIST, offsetof(struct eval_options, versions.budgets), "SIZE",
     "add a version whose types are chosen so that its file has at most this size, as 60MB; may be repeated", 0, 0},
    {"candidate", 0, OPTION_LIST, offsetof(struct eval_options, versions.candidates), "TYPE",
     "a type that --budget may choose; may be repeated; default: f16 and GGUF's types of 2 to 8 bits", 0, 0},
    {"threads", 't', OPTION_NAMED, offsetof(struct eval_options, versions.threads), "COUNT",
     "threads of runs and of quantizing; default: as planned, and one per processor", 1, THREADS_MAX},
    {"chunk", 'c', OPTION_NAMED, offsetof(struct eval_options, chunk), "N",
     "tokens of a window, which starts with an empty KV cache, as --set context=N; default: 512, or the smallest "
     "context",
     2, 1e9},
    {"stride", 0, OPTION_NUMBER, offsetof(struct eval_options, stride), "N",
     "tokens between the starts of two windows; default: a whole window, so that they do not overlap", 1, 1e9},
    {"tokens", 'n', OPTION_NUMBER, offsetof(struct eval_options, tokens), "N",
     "read the first N tokens of the text alone", 2, 1e15},
    {"worst", 0, OPTION_NUMBER, offsetof(struct eval_options, worst), "N",
     "number of tensors with the largest errors to list per model; default: 5; 0: the table alone", 0, 1e9},
    {"html", 0, OPTION_TEXT, offsetof(struct eval_options, html), "FILE",
     "write a self-contained HTML page with the table and charts", 0, 0},
    MODEL_OPTION,
    PLAN_OPTIONS(struct eval_options, common),
    COMMON_OPTIONS(struct eval_options, common),
};

/* State of an evaluation: all models, the reference last if there is one. */
struct evaluation {
    const char *reference; /* NULL: there is none */
    const struct eval_options *chosen;
    struct eval_report report;
    struct versions versions;
    struct eval_row *rows[EVAL_MOST + 1];
    uint32_t count;
    struct accel_model *models[EVAL_MOST + 1];            /* NULL: of no family that runs */
    struct accel_model_file *opened_files[EVAL_MOST + 1]; /* where there is no model */
    const struct accel_model_file *files[EVAL_MOST + 1];
    struct opened opened[EVAL_MOST + 1];
    struct accel_session *sessions[EVAL_MOST + 1];
    struct accel_tokenizer *tokenizer; /* of the first model */
    struct accel_token_list ids;
    char *text;
    char bos[64]; /* spelling */
    uint64_t chunk;
    struct progress progress;
    struct accel_error error;
};

static bool asks_for_versions(const struct eval_options *chosen)
{
    return chosen->versions.bits != NULL || chosen->versions.types.count + chosen->versions.budgets.count > 0;
}

static int fail(struct evaluation *evaluation)
{
    progress_end(&evaluation->progress);
    if (evaluation->error.code == ACCEL_E_CANCELLED)
        return report_error_text(evaluation->chosen->common.json, EXIT_INTERRUPTED, "ACCEL_E_CANCELLED",
                                 evaluation->error.text, NULL);
    return report_error(evaluation->chosen->common.json, &evaluation->error);
}

/* ---- files ---- */

static void add_row(struct evaluation *evaluation, struct eval_row *row, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    row->path = path;
    row->made = name != NULL;
    row->name = name != NULL ? name : slash == NULL || slash[1] == '\0' ? path : slash + 1;
    row->index = evaluation->count;
    evaluation->rows[evaluation->count++] = row;
}

/* Names the rows: files of the command line, then versions that are made, then the reference. */
static void name_rows(struct evaluation *evaluation, int count, char **arguments)
{
    struct eval_report *report = &evaluation->report;
    struct versions *versions = &evaluation->versions;

    for (int i = 0; i < count; i++)
        add_row(evaluation, &report->rows[report->count++], arguments[i], NULL);
    for (uint32_t i = 0; i < versions->count; i++)
        add_row(evaluation, &report->rows[report->count++], versions->items[i].path, versions->items[i].name);
    if (evaluation->reference != NULL)
        add_row(evaluation, &report->reference, evaluation->reference, NULL);
    /* A file may be its own reference, under other settings. */
    if (evaluation->chosen->reference_sets.count > 0)
        report->reference.name = "reference";
}

/* Chooses the reference, from which versions are made: --against, or else the first file. */
static int begin_versions(struct evaluation *evaluation, int *count, char ***arguments)
{
    const struct eval_options *chosen = evaluation->chosen;
    int code;

    evaluation->reference = chosen->against;
    if (!asks_for_versions(chosen))
        return -1;
    if (evaluation->reference == NULL) {
        evaluation->reference = (*arguments)[0];
        (*arguments)++;
        (*count)--;
    }
    code = versions_begin(chosen->common.json, &chosen->versions, evaluation->reference, &evaluation->versions);
    if (code < 0 && (uint32_t)*count + evaluation->versions.count > EVAL_MOST)
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage", "eval: more than 16 models and versions",
                                 NULL);
    return code;
}

static int make_versions(struct evaluation *evaluation)
{
    const struct version_options *options = &evaluation->chosen->versions;
    struct calibration calibration = {0};
    int code = -1;

    if (evaluation->versions.count > 0)
        code = calibration_open(&evaluation->chosen->common, evaluation->reference, options->calib,
                                options->calib_tokens, &calibration);
    if (code < 0 && versions_make(&evaluation->versions, options, &calibration, &evaluation->progress,
                                  &evaluation->error) != ACCEL_OK)
        code = fail(evaluation);
    calibration_close(&calibration);
    return code;
}

/* Opens each file, through its model if there is one, which knows more than the file alone: packed checkpoints
 * show the matrices that they contain. */
static int open_files(struct evaluation *evaluation)
{
    for (uint32_t i = 0; i < evaluation->count; i++) {
        if (accel_model_open(evaluation->rows[i]->path, NULL, &evaluation->models[i], NULL) == ACCEL_OK) {
            evaluation->files[i] = accel_model_file_of(evaluation->models[i]);
            continue;
        }
        if (accel_model_file_open(evaluation->rows[i]->path, NULL, &evaluation->opened_files[i], &evaluation->error) !=
            ACCEL_OK)
            return fail(evaluation);
        evaluation->files[i] = evaluation->opened_files[i];
    }
    for (uint32_t i = 0; i < evaluation->count; i++)
        sigbus_guard_begin(evaluation->files[i], "do not change the file while it is read");
    return -1;
}

/* Refuses files without a tensor that can be compared with the reference, unless there is a text to evaluate. */
static int refuse_strangers(struct evaluation *evaluation)
{
    for (uint32_t i = 0; evaluation->chosen->text == NULL && i < evaluation->report.count; i++) {
        const struct accel_eval_tensors *tensors = evaluation->rows[i]->tensors;
        const struct accel_eval_tensor *first = accel_eval_tensors_get(tensors, 0);

        if (accel_eval_tensors_sums(tensors)->compared > 0)
            continue;
        if (first == NULL) {
            accel_error_set(&evaluation->error, ACCEL_E_INVALID, "%s has no tensor that is called as one of %s",
                            evaluation->rows[i]->path, evaluation->reference);
            accel_error_remedy(
                &evaluation->error,
                "compare files of one format; with --text, files of different formats are compared by their outputs");
        } else {
            accel_error_set(&evaluation->error, ACCEL_E_INVALID,
                            "%s has no tensor that can be compared with one of %s: of %s, %s",
                            evaluation->rows[i]->path, evaluation->reference, first->name, first->reason);
            accel_error_remedy(&evaluation->error, "compare files of one model");
        }
        return fail(evaluation);
    }
    return -1;
}

static int compare_tensors(struct evaluation *evaluation)
{
    const struct accel_model_file *reference =
        evaluation->reference == NULL ? NULL : evaluation->files[evaluation->count - 1];

    progress_next(&evaluation->progress, "comparing tensors");
    for (uint32_t i = 0; i < evaluation->count; i++)
        if (accel_eval_tensors(evaluation->files[i],
                               evaluation->rows[i] == &evaluation->report.reference ? NULL : reference, progress_update,
                               &evaluation->progress, &evaluation->rows[i]->tensors, &evaluation->error) != ACCEL_OK)
            return fail(evaluation);
    return refuse_strangers(evaluation);
}

/* ---- text ---- */

/* Sets the window: --chunk, --set context (auto: what all models were trained for), or 512 tokens if every model
 * was trained for as many. */
static int choose_window(struct evaluation *evaluation)
{
    const char *context = overridden_value(&evaluation->chosen->common, "context");
    const uint32_t is_auto = context != NULL && strcmp(context, "auto") == 0;

    evaluation->chunk = is_auto ? UINT64_MAX : CHUNK_MOST;
    for (uint32_t i = 0; i < evaluation->count; i++) {
        /* Opens the model once more for the reason of the failure. */
        if (evaluation->models[i] == NULL &&
            accel_model_open(evaluation->rows[i]->path, NULL, &evaluation->models[i], &evaluation->error) != ACCEL_OK)
            return fail(evaluation);
        if (accel_model_facts_of(evaluation->models[i])->context < evaluation->chunk)
            evaluation->chunk = accel_model_facts_of(evaluation->models[i])->context;
    }
    evaluation->report.chunk_origin = is_auto ? "given: --set context=auto, the smallest trained context of the models"
                                      : context != NULL
                                          ? "given: --set context"
                                          : "builtin: 512 tokens, or the smallest trained context of the models";
    if (evaluation->chosen->chunk.value != 0) {
        evaluation->chunk = evaluation->chosen->chunk.value;
        evaluation->report.chunk_origin = "given: --chunk";
    }
    evaluation->report.stride_origin = evaluation->chosen->stride != 0
                                           ? "given: --stride"
                                           : "builtin: the tokens of the text in a whole window, so that none overlap";
    return -1;
}

/* Reads the window from a context that --set gives, once the plan of the first model has parsed and checked it. */
static int read_planned_window(struct evaluation *evaluation)
{
    evaluation->chunk = accel_session_context(evaluation->sessions[0]);
    if (evaluation->chunk >= 2)
        return -1;
    return report_error_text(evaluation->chosen->common.json, EXIT_USAGE, "usage",
                             "eval: --set context: a window has 2 tokens or more", "--set context=512, or --chunk 512");
}

/* Opens sessions with a KV cache for one window. */
static int open_sessions(struct evaluation *evaluation)
{
    const struct named_number *chunk = &evaluation->chosen->chunk, *threads = &evaluation->chosen->versions.threads;
    const char *set_context = overridden_value(&evaluation->chosen->common, "context");
    const uint32_t is_planned = set_context != NULL && strcmp(set_context, "auto") != 0;
    char context[32];
    struct accel_named_value more[2];
    uint32_t more_count = 0;

    snprintf(context, sizeof(context), "%" PRIu64 "tok", evaluation->chunk);
    if (!is_planned)
        more[more_count++] =
            (struct accel_named_value){"context", context, chunk->value != 0 ? chunk->origin : "the command eval"};
    if (threads->value != 0)
        more[more_count++] = (struct accel_named_value){"cpu.threads", threads->text, threads->origin};
    for (uint32_t i = 0; i < evaluation->count; i++) {
        const struct wish wish = {.path = evaluation->rows[i]->path,
                                  .more = more,
                                  .more_count = more_count,
                                  .outputs = OUTPUTS,
                                  .runs = 1,
                                  .command = "eval",
                                  .smaller = "less at a time: --set batch=16, or shorter windows (--chunk 128)",
                                  .reports = REPORT_LOG | REPORT_WEIGHTS};
        struct opened *opened = &evaluation->opened[i];
        struct common common = evaluation->chosen->common;
        int code;

        opened->context = evaluation->opened[0].context;
        if (evaluation->rows[i] == &evaluation->report.reference && evaluation->chosen->reference_sets.count > 0)
            common.reference_sets = &evaluation->chosen->reference_sets;
        code = open_model(&common, &wish, opened);
        if (code >= 0)
            return code;
        evaluation->sessions[i] = opened->session;
        code = i == 0 && is_planned ? read_planned_window(evaluation) : -1;
        if (code >= 0)
            return code;
        if (i == 0 && !evaluation->chosen->common.json)
            print_unhonored(accel_session_plan(opened->session));
        progress_next(&evaluation->progress, "loading");
        if (load_session(opened, &evaluation->error) != ACCEL_OK)
            return fail(evaluation);
    }
    evaluation->report.device = accel_plan_device(accel_session_plan(evaluation->sessions[0]))->name;
    return -1;
}

static int32_t encode(struct evaluation *evaluation, uint32_t index, struct accel_tokenizer **out_tokenizer,
                      struct accel_token_list *ids)
{
    int32_t code = accel_tokenizer_create_file(evaluation->files[index], out_tokenizer, &evaluation->error);

    if (code == ACCEL_OK)
        code = accel_tokenizer_encode(*out_tokenizer, evaluation->text, strlen(evaluation->text), 0, ids,
                                      &evaluation->error);
    return code;
}

/* Checks that all models tokenize the text alike. */
static int32_t check_tokens(struct evaluation *evaluation, uint32_t index)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_token_list ids = {0};
    int32_t code = encode(evaluation, index, &tokenizer, &ids);

    if (code == ACCEL_OK && (ids.count != evaluation->ids.count ||
                             memcmp(ids.ids, evaluation->ids.ids, ids.count * sizeof(*ids.ids)) != 0)) {
        code = accel_error_set(&evaluation->error, ACCEL_E_INVALID,
                               "%s makes other tokens of the text than %s: they are no versions of one model",
                               evaluation->rows[index]->path, evaluation->rows[0]->path);
        accel_error_remedy(&evaluation->error, "compare files of one model; perplexities of different models are no "
                                               "comparison: evaluate each in a call of its own");
    }
    accel_token_list_free(&ids);
    accel_tokenizer_free(tokenizer);
    return code;
}

/* Returns the token that the file requires before a text (BOS), or -1. */
static int64_t find_bos(struct evaluation *evaluation)
{
    struct accel_token_list ids = {0};
    struct accel_token_text spelling = {NULL, 0};
    int64_t bos = -1;

    if (accel_tokenizer_encode(evaluation->tokenizer, "", 0, ACCEL_ENCODE_ADD_SPECIAL, &ids, NULL) == ACCEL_OK &&
        ids.count > 0 && ids.ids[0] == accel_tokenizer_special(evaluation->tokenizer, ACCEL_TOKEN_BOS))
        bos = ids.ids[0];
    accel_token_list_free(&ids);
    if (bos >= 0 && accel_tokenizer_token(evaluation->tokenizer, (int32_t)bos, &spelling, NULL) == ACCEL_OK) {
        snprintf(evaluation->bos, sizeof(evaluation->bos), "%.*s", (int)(spelling.size < 60 ? spelling.size : 60),
                 spelling.data);
        evaluation->report.bos = evaluation->bos;
    }
    return bos;
}

static int make_tokens(struct evaluation *evaluation)
{
    int32_t code = encode(evaluation, 0, &evaluation->tokenizer, &evaluation->ids);

    for (uint32_t i = 1; i < evaluation->count && code == ACCEL_OK; i++)
        code = check_tokens(evaluation, i);
    if (code == ACCEL_OK && evaluation->ids.count == 0) {
        code = accel_error_set(&evaluation->error, ACCEL_E_INVALID, "%s: the text is empty", evaluation->chosen->text);
        accel_error_remedy(&evaluation->error, "take a text as the model will be used for, of a few thousand words");
    }
    if (code != ACCEL_OK)
        return fail(evaluation);
    evaluation->report.tokens = evaluation->ids.count;
    if (evaluation->chosen->tokens != 0 && evaluation->chosen->tokens < evaluation->ids.count)
        evaluation->report.tokens = evaluation->chosen->tokens;
    return -1;
}

static int read_models(struct evaluation *evaluation)
{
    const struct eval_options *chosen = evaluation->chosen;
    struct eval_report *report = &evaluation->report;
    struct accel_eval_options how = {.size = sizeof(how),
                                     .chunk = evaluation->chunk,
                                     .stride = chosen->stride,
                                     .bos = find_bos(evaluation),
                                     .progress = progress_update,
                                     .progress_data = &evaluation->progress};
    struct accel_session *reference = evaluation->reference == NULL ? NULL : evaluation->sessions[report->count];

    if (chosen->stride > evaluation->chunk) {
        char text[160];

        snprintf(text, sizeof(text), "eval: --stride %" PRIu64 " leaves gaps between windows of %" PRIu64 " tokens",
                 chosen->stride, evaluation->chunk);
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage", text,
                                 "a stride of at most a window (--chunk)");
    }
    progress_next(&evaluation->progress, "reading the text");
    if (accel_eval_text(reference, evaluation->sessions, report->count, evaluation->ids.ids, report->tokens, &how,
                        &report->eval, &evaluation->error) != ACCEL_OK)
        return fail(evaluation);
    for (uint32_t i = 0; i < evaluation->count; i++) {
        evaluation->rows[i]->result = accel_eval_get(report->eval, i);
        evaluation->rows[i]->session = evaluation->sessions[i];
    }
    return -1;
}

static int read_with_all(struct evaluation *evaluation)
{
    int code = -1;

    if (read_prompt(evaluation->chosen->text, &evaluation->text, &evaluation->error) != ACCEL_OK)
        return fail(evaluation);
    code = make_tokens(evaluation);
    if (code < 0)
        code = choose_window(evaluation);
    if (code < 0)
        code = open_sessions(evaluation);
    return code < 0 ? read_models(evaluation) : code;
}

/* ---- the command ---- */

static int print_evaluation(struct evaluation *evaluation)
{
    const struct eval_options *chosen = evaluation->chosen;
    int code = EXIT_DONE;

    if (chosen->html != NULL)
        code = write_output(chosen->common.json, chosen->html, eval_html, &evaluation->report);
    if (code != EXIT_DONE)
        return code;
    if (chosen->common.json)
        return print_json(eval_json(&evaluation->report), "accelctl/eval/1");
    eval_print(&evaluation->report);
    for (uint32_t i = 0; i < evaluation->count; i++)
        if (evaluation->rows[i]->session != NULL)
            print_reports(evaluation->rows[i]->session, 0, 0, evaluation->count > 1 ? evaluation->rows[i]->name : NULL);
    return EXIT_DONE;
}

static void close_all(struct evaluation *evaluation)
{
    accel_eval_free(evaluation->report.eval);
    accel_tokenizer_free(evaluation->tokenizer);
    accel_token_list_free(&evaluation->ids);
    free(evaluation->text);
    /* Closes models in reverse order, since the others use the context of the first. */
    for (uint32_t i = evaluation->count; i-- > 0;) {
        close_model(&evaluation->opened[i]);
        accel_eval_tensors_free(evaluation->rows[i]->tensors);
        sigbus_guard_end(evaluation->files[i]);
        accel_model_close(evaluation->models[i]);
        accel_model_file_close(evaluation->opened_files[i]);
    }
    versions_end(&evaluation->versions);
}

/* Refuses options that nothing uses. Answers -1 to go on. */
static int check_effects(const struct eval_options *chosen)
{
    static const char making[] = "--bits, --type or --budget";
    const struct version_options *versions = &chosen->versions;
    const bool makes = asks_for_versions(chosen);
    const struct {
        bool is_unused;
        const char *option;
        const char *required;
    } rows[] = {
        {!makes && versions->group != NULL, "group", making},
        {!makes && versions->scheme != NULL, "scheme", making},
        {!makes && versions->methods.count > 0, "method", making},
        {!makes && versions->calib != NULL, "calib", making},
        {versions->calib == NULL && versions->calib_tokens != 0, "calib-tokens", "--calib"},
        {versions->budgets.count == 0 && versions->candidates.count > 0, "candidate", "--budget"},
        {!makes && chosen->text == NULL && versions->threads.value != 0, "threads",
         "--text, --bits, --type or --budget"},
        {!makes && chosen->against == NULL && chosen->worst != UINT64_MAX, "worst",
         "--against, --bits, --type or --budget"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[120], remedy[120];

        if (!rows[i].is_unused)
            continue;
        snprintf(text, sizeof(text), "eval: --%s has no effect without %s", rows[i].option, rows[i].required);
        snprintf(remedy, sizeof(remedy), "leave it out, or add %s", rows[i].required);
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage", text, remedy);
    }
    return -1;
}

static int check_usage(const struct eval_options *chosen, int count)
{
    char option[200], text[320];

    if (count == 0 && chosen->against != NULL && !asks_for_versions(chosen)) {
        char remedy[400];

        snprintf(
            remedy, sizeof(remedy),
            "name the model to compare behind the options: accelctl eval --against %.250s ... MODEL; or --bits 4,8 "
            "compares versions of the reference",
            chosen->against);
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage",
                                 "eval: no MODEL is named to compare with the reference of --against", remedy);
    }
    if (count == 0 && (chosen->against == NULL || !asks_for_versions(chosen)))
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage", "eval: requires an argument: MODEL...",
                                 "without one, eval requires --against and --bits, --type or --budget");
    if (chosen->text == NULL && chosen->against == NULL && !asks_for_versions(chosen))
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage",
                                 "eval: requires --text, --against, --bits, or several of them",
                                 "accelctl eval --text FILE MODEL measures the perplexity of a text; accelctl eval "
                                 "--help describes the others");
    if (chosen->reference_sets.count > 0 && (chosen->text == NULL || chosen->against == NULL))
        return report_error_text(
            chosen->common.json, EXIT_USAGE, "usage", "eval: --reference-set needs --text and --against",
            "the model may be its own reference: accelctl eval --text FILE --set KEY=VALUE --against MODEL "
            "--reference-set KEY=VALUE MODEL");
    if (chosen->chunk.value != 0 && overridden_value(&chosen->common, "context") != NULL)
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage",
                                 "eval: --chunk and --set context both give the tokens of a window",
                                 "give --chunk (-c) alone");
    for (uint32_t i = 0; i < chosen->reference_sets.count; i++)
        if (strncmp(chosen->reference_sets.items[i], "context=", 8) == 0)
            return report_error_text(chosen->common.json, EXIT_USAGE, "usage",
                                     "eval: --reference-set context: all models read windows of the same length",
                                     "--chunk N (-c) gives the tokens of a window for all");
    if (chosen->text == NULL && (chosen->chunk.value != 0 || chosen->stride != 0 || chosen->tokens != 0))
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage",
                                 "eval: --chunk, --stride and --tokens require --text", NULL);
    /* A model runs for a text, and for a calibration text. */
    if (chosen->text == NULL && chosen->versions.calib == NULL &&
        first_plan_option(&chosen->common, option, sizeof(option)) != NULL) {
        snprintf(text, sizeof(text), "eval: %s has no effect: without --text tensors are compared, and no model runs",
                 option);
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage", text,
                                 "leave it out, or add --text FILE, whose perplexity is then measured");
    }
    return -1;
}

static int run(int count, char **arguments, const struct command *command)
{
    struct eval_options chosen = {.worst = UINT64_MAX}; /* not given */
    struct evaluation evaluation = {.chosen = &chosen};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code < 0)
        code = check_usage(&chosen, count);
    if (code < 0)
        code = check_effects(&chosen);
    if (code < 0)
        code = target_check(chosen.common.json, chosen.html, TARGET_HTML);
    if (code < 0)
        code = begin_versions(&evaluation, &count, &arguments);
    if (code >= 0) {
        versions_end(&evaluation.versions);
        return code;
    }
    evaluation.report.text = chosen.text;
    evaluation.report.worst = chosen.worst == UINT64_MAX ? WORST : chosen.worst;
    evaluation.report.sets = &chosen.common.sets;
    evaluation.report.reference_sets = &chosen.reference_sets;
    name_rows(&evaluation, count, arguments);
    progress_begin(&evaluation.progress, evaluation.sessions, evaluation.count);
    code = make_versions(&evaluation);
    if (code < 0)
        code = open_files(&evaluation);
    if (code < 0 && chosen.text != NULL)
        code = read_with_all(&evaluation);
    if (code < 0)
        code = compare_tensors(&evaluation);
    progress_end(&evaluation.progress);
    if (code < 0)
        code = print_evaluation(&evaluation);
    close_all(&evaluation);
    return code;
}

const struct command command_eval = {
    .name = "eval",
    .summary = "measure the quality of a model, and what its quantized versions lose",
    .arguments = "[MODEL...]",
    .detail = "With --text: the perplexity of a text. With --against: the relative error of each tensor. With both: "
              "also the Kullback-Leibler divergence from the reference, in nats, and how often both agree on the most "
              "likely token. Several files of one model are compared in one table. --bits adds quantized versions of "
              "the reference (--against, which then needs no MODEL, or the first MODEL) to the table; they are created "
              "in a temporary folder and removed at the end.\n"
              "The text is split into windows, and each token is predicted once, from the tokens before it in its "
              "window; accel/model/eval.h has the definitions. All models are loaded together and read the same text "
              "with the settings of their plans; --set compute.activations=f32 measures the rounding of weights alone. "
              "--reference-set changes a setting of the reference alone, so that one file can be compared with itself "
              "under two settings.\n"
              "A number after ± is a standard error over tokens.",
    .example = "accelctl eval --text wiki.txt --against model-f16.gguf model-q8_0.gguf model-q4_k.gguf\n"
               "what two files lost against a third\n"
               "accelctl eval --text wiki.txt --against model.gguf --reference-set compute.activations=f32 model.gguf\n"
               "what rounding activations to 8 bits loses",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 0,
    .most = EVAL_MOST,
    .run = run,
};
