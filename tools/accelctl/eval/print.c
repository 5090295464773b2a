/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/eval/eval.h"
#include "tools/accelctl/reports.h"

void eval_method(const struct eval_report *report, char text[400])
{
    const struct accel_eval_result *result = accel_eval_get(report->eval, 0);
    const char *slash = strrchr(report->text, '/');

    snprintf(text, 400,
             "%.80s: %llu tokens, %llu predicted, in %llu window%s of %llu tokens that begin %llu apart%s%.40s%s; on "
             "%.60s",
             slash == NULL ? report->text : slash + 1, (unsigned long long)report->tokens,
             (unsigned long long)result->predicted, (unsigned long long)result->windows,
             result->windows == 1 ? "" : "s", (unsigned long long)accel_eval_chunk(report->eval),
             (unsigned long long)accel_eval_stride(report->eval), report->bos == NULL ? "" : ", ",
             report->bos == NULL ? "" : report->bos, report->bos == NULL ? "" : " before each", report->device);
}

static void count_kind(struct eval_kind kinds[KINDS_MOST], uint32_t *count, const struct accel_eval_tensor *tensor)
{
    uint32_t i = 0;

    while (i < *count && strcmp(kinds[i].type, tensor->type) != 0)
        i++;
    if (i == KINDS_MOST)
        return;
    if (i == *count)
        kinds[(*count)++] = (struct eval_kind){.type = tensor->type};
    kinds[i].tensors++;
    kinds[i].elements += tensor->elements;
    kinds[i].bytes += tensor->bytes;
}

uint32_t eval_kinds(const struct eval_row *row, struct eval_kind kinds[KINDS_MOST])
{
    const struct accel_eval_tensor *tensor;
    uint32_t count = 0;

    for (uint64_t i = 0; (tensor = accel_eval_tensors_get(row->tensors, i)) != NULL; i++)
        count_kind(kinds, &count, tensor);
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0 && kinds[j].bytes > kinds[j - 1].bytes; j--) {
            struct eval_kind moved = kinds[j];

            kinds[j] = kinds[j - 1];
            kinds[j - 1] = moved;
        }
    return count;
}

/* ---- text ---- */

static void print_kinds(const struct eval_row *row)
{
    struct eval_kind kinds[KINDS_MOST];
    uint32_t count = eval_kinds(row, kinds);
    char bytes[32];

    for (uint32_t i = 0; i < count; i++)
        print("  %-8s %4llu tensor%-2s %10s  %.3f bits per weight\n", kinds[i].type,
              (unsigned long long)kinds[i].tensors, kinds[i].tensors == 1 ? "" : "s", bytes_text(kinds[i].bytes, bytes),
              kinds[i].elements == 0 ? 0 : 8.0 * (double)kinds[i].bytes / (double)kinds[i].elements);
}

static uint32_t name_width(const struct eval_report *report)
{
    uint32_t width = 5;

    for (uint32_t i = 0; i <= report->count; i++) {
        const char *name = i < report->count ? report->rows[i].name : report->reference.name;

        if (name != NULL && strlen(name) > width)
            width = (uint32_t)strlen(name);
    }
    return width;
}

static void print_head(const struct eval_report *report, uint32_t width)
{
    print("%-*s %10s %8s", (int)width, "model", "tensors", "bits");
    if (report->eval != NULL)
        print(" %18s", "perplexity");
    if (report->eval != NULL && report->reference.path != NULL)
        print(" %10s %10s %10s %9s", "change", "KL mean", "KL 99 %", "top-1");
    if (report->reference.path != NULL)
        print(" %9s", "error");
    print("\n");
}

static void print_row(const struct eval_report *report, const struct eval_row *row, uint32_t width)
{
    const struct accel_eval_tensor_sums *sums = accel_eval_tensors_sums(row->tensors);
    const struct accel_eval_result *result = row->result;
    bool compared = report->reference.path != NULL && row != &report->reference;
    char bytes[32];

    print("%-*s %10s %8.3f", (int)width, row->name, bytes_text(sums->bytes, bytes), sums->bits_per_weight);
    if (result != NULL)
        print(result->perplexity < 1000 ? " %10.4f ± %5.2f" : " %10.1f ± %5.0f", result->perplexity,
              result->perplexity_error);
    if (result != NULL && compared)
        print(" %+9.2f%% %10.6f %10.6f %7.2f %%", 100 * expm1(result->loss_change), result->kl, result->kl_99,
              100 * result->top1);
    if (compared && sums->compared > 0)
        print(" %9.5f", sums->relative_error);
    else if (compared)
        print(" %9s", "-");
    print("\n");
}

static void print_worst(const struct eval_report *report, const struct eval_row *row)
{
    const struct accel_eval_tensor_sums *sums = accel_eval_tensors_sums(row->tensors);
    char name[256];

    print("\n%s\n", clean_text(row->name, name, sizeof(name)));
    print_kinds(row);
    print("  %llu of %llu tensors compared", (unsigned long long)sums->compared, (unsigned long long)sums->tensors);
    if (sums->missing + sums->extra > 0)
        print("; %llu stand in the reference alone, %llu in this file alone", (unsigned long long)sums->missing,
              (unsigned long long)sums->extra);
    if (sums->compared == 0)
        print(" (GGUF and safetensors call them otherwise)");
    print("%s\n", sums->compared > 0 ? "; the largest relative errors:" : "");
    for (uint64_t i = 0; i < report->worst; i++) {
        const struct accel_eval_tensor *tensor = accel_eval_tensors_get(row->tensors, i);

        if (tensor == NULL || !tensor->compared || tensor->relative_error == 0)
            break;
        print("    %-34s %6s to %-8s %9.5f, largest difference %.3g\n", clean_text(tensor->name, name, sizeof(name)),
              tensor->reference, tensor->type, tensor->relative_error, tensor->largest);
    }
    for (uint64_t i = sums->compared; i < accel_eval_tensors_count(row->tensors); i++) {
        const struct accel_eval_tensor *tensor = accel_eval_tensors_get(row->tensors, i);

        clean_text(tensor->name, name, sizeof(name));
        print("    %-34s not compared: %s\n", name, tensor->reason);
    }
}

static void print_legend(const struct eval_report *report)
{
    if (report->reference.path == NULL)
        return;
    print("\n");
    print_wrapped(
        0, 0,
        report->eval == NULL
            ? "bits: per weight; error: relative, of tensors"
            : "bits: per weight; change: of perplexity; KL: divergence from the reference, nats, mean and 99th "
              "percentile of tokens; top-1: both have the same likeliest token; error: relative, of tensors");
}

static void print_sets(const char *head, const struct text_list *sets)
{
    for (uint32_t i = 0; i < sets->count; i++)
        print("%-10s %s\n", i == 0 ? head : "", sets->items[i]);
}

void eval_print(const struct eval_report *report)
{
    uint32_t width = name_width(report);
    char text[400];

    if (report->eval != NULL) {
        eval_method(report, text);
        print_wrapped((uint32_t)print("text       "), 11, text);
    }
    if (report->reference.path != NULL)
        print("reference  %s\n", report->reference.path);
    print_sets("", report->reference_sets);
    print_sets("settings", report->sets);
    print("\n");
    print_head(report, width);
    if (report->reference.path != NULL)
        print_row(report, &report->reference, width);
    for (uint32_t i = 0; i < report->count; i++)
        print_row(report, &report->rows[i], width);
    print_legend(report);
    for (uint32_t i = 0; report->reference.path != NULL && report->worst > 0 && i < report->count; i++)
        print_worst(report, &report->rows[i]);
}

/* ---- JSON ---- */

/* Returns a number as JSON, or null if it is not finite. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_json(const struct eval_report *report, const struct eval_row *row)
{
    const struct accel_eval_result *result = row->result;
    json_t *text =
        json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "predicted", (json_int_t)result->predicted, "windows",
                  (json_int_t)result->windows, "loss", real(result->loss), "loss_error", real(result->loss_error),
                  "perplexity", real(result->perplexity), "perplexity_error", real(result->perplexity_error));

    if (report->reference.path == NULL || row == &report->reference)
        return text;
    json_object_set_new(text, "kl",
                        json_pack("{s:f, s:f, s:f, s:f, s:f}", "mean", result->kl, "error", result->kl_error, "median",
                                  result->kl_median, "p99", result->kl_99, "most", result->kl_most));
    json_object_set_new(text, "top1", json_pack("{s:f, s:f}", "share", result->top1, "error", result->top1_error));
    json_object_set_new(text, "loss_change",
                        json_pack("{s:f, s:f}", "mean", result->loss_change, "error", result->loss_change_error));
    return text;
}

static json_t *tensors_json(const struct eval_row *row)
{
    json_t *list = json_array();
    const struct accel_eval_tensor *tensor;

    for (uint64_t i = 0; (tensor = accel_eval_tensors_get(row->tensors, i)) != NULL; i++)
        json_add(list,
                 json_pack("{s:o, s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:s}", "name", json_text(tensor->name), "type",
                           tensor->type, "reference", tensor->reference, "elements", (json_int_t)tensor->elements,
                           "bytes", (json_int_t)tensor->bytes, "compared", tensor->compared != 0, "relative_error",
                           real(tensor->relative_error), "largest", real(tensor->largest), "reason", tensor->reason));
    return list;
}

static json_t *kinds_json(const struct eval_row *row)
{
    struct eval_kind kinds[KINDS_MOST];
    uint32_t count = eval_kinds(row, kinds);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_add(list, json_pack("{s:s, s:I, s:I, s:I}", "type", kinds[i].type, "tensors", (json_int_t)kinds[i].tensors,
                                 "weights", (json_int_t)kinds[i].elements, "bytes", (json_int_t)kinds[i].bytes));
    return list;
}

static json_t *row_json(const struct eval_report *report, const struct eval_row *row)
{
    const struct accel_eval_tensor_sums *sums = accel_eval_tensors_sums(row->tensors);
    json_t *model = json_pack(
        "{s:o, s:o, s:b, s:I, s:I, s:I, s:f}", "path", row->made ? json_null() : json_text(row->path), "name",
        json_text(row->name), "made", row->made != 0, "file_bytes", (json_int_t)sums->file_bytes, "tensor_bytes",
        (json_int_t)sums->bytes, "weights", (json_int_t)sums->elements, "bits_per_weight", sums->bits_per_weight);

    if (row->result != NULL)
        json_object_set_new(model, "text", text_json(report, row));
    if (row->session != NULL) {
        json_object_set_new(model, "conversion", reports_json(row->session, 0, REPORT_WEIGHTS));
        json_object_set_new(model, "log", reports_json(row->session, 0, REPORT_LOG));
    }
    if (report->reference.path == NULL || row == &report->reference)
        return model;
    json_object_set_new(model, "types", kinds_json(row));
    json_object_set_new(model, "compared", json_integer((json_int_t)sums->compared));
    json_object_set_new(model, "missing", json_integer((json_int_t)sums->missing));
    json_object_set_new(model, "extra", json_integer((json_int_t)sums->extra));
    json_object_set_new(model, "relative_error", real(sums->relative_error));
    json_object_set_new(model, "tensors", tensors_json(row));
    return model;
}

static json_t *sets_json(const struct text_list *sets)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < sets->count; i++)
        json_add(list, json_text(sets->items[i]));
    return list;
}

json_t *eval_json(const struct eval_report *report)
{
    json_t *document = json_pack("{s:s}", "origin", "measured: tensors and probabilities of this evaluation"),
           *models = json_array();

    json_object_set_new(document, "settings", sets_json(report->sets));
    json_object_set_new(document, "reference_settings", sets_json(report->reference_sets));

    if (report->eval != NULL)
        json_object_set_new(
            document, "text",
            json_pack("{s:o, s:I, s:I, s:I, s:s?, s:s, s:{s:s, s:s, s:s}}", "path", json_text(report->text), "tokens",
                      (json_int_t)report->tokens, "chunk", (json_int_t)accel_eval_chunk(report->eval), "stride",
                      (json_int_t)accel_eval_stride(report->eval), "before_each", report->bos, "device", report->device,
                      "origin", "tokens", "measured: tokens of the text, as many as --tokens takes", "chunk",
                      report->chunk_origin, "stride", report->stride_origin));
    if (report->reference.path != NULL)
        json_object_set_new(document, "reference", row_json(report, &report->reference));
    for (uint32_t i = 0; i < report->count; i++)
        json_add(models, row_json(report, &report->rows[i]));
    json_object_set_new(document, "models", models);
    return document;
}
