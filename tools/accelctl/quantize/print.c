/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <accel/quant/format.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/quantize/quantize.h"

/* Longer names push their columns aside. */
enum { NAME_MOST = 60 };

/* Returns whether the tensor has another type than requested, because its rows are no whole number of that type's
 * blocks. */
static bool is_narrow(const struct accel_quantize_row *row)
{
    return strcmp(row->reason, "rows are no whole number of blocks") == 0;
}

/* Counts the matrices that got the type of the tensor at `index` instead of the same requested one; 0 if an
 * earlier tensor reports them. */
static uint64_t count_narrow(const struct accel_quantize_job *job, uint64_t index)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        if (!is_narrow(row) || row->to != accel_quantize_get(job, index)->to ||
            strcmp(row->wanted_name, accel_quantize_get(job, index)->wanted_name) != 0)
            continue;
        if (i < index)
            return 0;
        count++;
    }
    return is_narrow(accel_quantize_get(job, index)) ? count : 0;
}

static bool is_quantized_type(uint32_t type)
{
    struct accel_format format;

    return accel_format_describe(type, &format) == ACCEL_OK && format.kind != ACCEL_FORMAT_SCALAR;
}

/* Returns whether a tensor that was quantized is quantized again, so that it loses twice. */
static bool is_requantized(const struct accel_quantize_row *row)
{
    return row->converted && row->rounded && is_quantized_type(row->to);
}

uint64_t requantized_count(const struct accel_quantize_job *job, const char **out_from)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        if (is_requantized(row) && count++ == 0)
            *out_from = row->from_name;
    }
    return count;
}

/* Notes that values were rounded twice, and that the loss of the first rounding is not known here. */
static void print_requantized(const struct accel_quantize_job *job, const struct quantize_options *chosen)
{
    const char *from = "";
    uint64_t count = requantized_count(job, &from);

    if (count > 0)
        print("requantized: %llu %s (the first from %s): %s, whose own rounding error comes on top\n",
              (unsigned long long)count, count == 1 ? "matrix was quantized in IN" : "matrices were quantized in IN",
              from, chosen->dry ? "the errors will be those against IN" : "relative errors above are against IN");
}

static double bits_per_weight(const struct accel_quantize_job *job)
{
    const struct accel_quantize_row *row;
    uint64_t bytes = 0, elements = 0;

    for (uint64_t i = 0; (row = accel_quantize_get(job, i)) != NULL; i++) {
        bytes += row->bytes;
        elements += row->elements;
    }
    return elements == 0 ? 0 : 8.0 * (double)bytes / (double)elements;
}

static json_t *narrow_json(const struct accel_quantize_job *job)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        uint64_t count = count_narrow(job, i);

        if (count > 0)
            json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:s}", "matrices", (json_int_t)count, "wanted",
                                                  accel_quantize_get(job, i)->wanted_name, "to",
                                                  accel_quantize_get(job, i)->to_name, "reason",
                                                  accel_quantize_get(job, i)->reason));
    }
    return list;
}

static void print_narrow(const struct accel_quantize_job *job)
{
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);
        uint64_t count = count_narrow(job, i);

        if (count > 0)
            print("%llu %s %s instead of %s, whose blocks do not divide %s rows\n", (unsigned long long)count,
                  count == 1 ? "matrix gets" : "matrices get", row->to_name, row->wanted_name,
                  count == 1 ? "its" : "their");
    }
}

/* Returns whether a tensor keeps its type against the requested one. */
static bool is_kept(const struct accel_quantize_row *row)
{
    return !row->converted && row->reason[0] != '\0' && strcmp(row->reason, "has that type") != 0 && !is_narrow(row);
}

/* Counts the tensors that keep the type of the one at `index` for the same reason; 0 if an earlier tensor reports
 * them. */
static uint64_t count_kept(const struct accel_quantize_job *job, uint64_t index)
{
    const struct accel_quantize_row *first = accel_quantize_get(job, index);
    uint64_t count = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job) && is_kept(first); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        if (!is_kept(row) || strcmp(row->to_name, first->to_name) != 0 || strcmp(row->reason, first->reason) != 0)
            continue;
        if (i < index)
            return 0;
        count++;
    }
    return count;
}

static void print_kept(const struct accel_quantize_job *job)
{
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);
        const uint64_t count = count_kept(job, i);
        char name[200];

        if (count == 0)
            continue;
        print("%llu %s %s: %s", (unsigned long long)count, count == 1 ? "tensor stays" : "tensors stay", row->to_name,
              row->reason);
        if (strcmp(row->reason, "no linear layer") == 0)
            print(" (%s%s), which --role ROLE=TYPE converts: --role embedding=q8_0",
                  clean_text(row->name, name, sizeof(name)), count == 1 ? "" : ", ...");
        print("\n");
    }
}

static json_t *kept_json(const struct accel_quantize_job *job)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const uint64_t count = count_kept(job, i);

        if (count > 0)
            json_array_append_new(list, json_pack("{s:I, s:s, s:s}", "tensors", (json_int_t)count, "type",
                                                  accel_quantize_get(job, i)->to_name, "reason",
                                                  accel_quantize_get(job, i)->reason));
    }
    return list;
}

static json_t *row_json(const struct accel_quantize_job *job, uint64_t index)
{
    const struct accel_quantize_row *row = accel_quantize_get(job, index);
    json_t *error = row->converted && isfinite(row->relative_error) && row->relative_error >= 0
                        ? json_real(row->relative_error)
                        : json_null();

    return json_pack(
        "{s:o, s:s, s:s, s:b, s:I, s:I, s:s, s:o, s:o, s:o}", "name", json_text(row->name), "from", row->from_name,
        "to", row->to_name, "converted", row->converted != 0, "elements", (json_int_t)row->elements, "bytes",
        (json_int_t)row->bytes, "reason", row->reason, "relative_error", error, "output_error",
        row->output_error > 0 ? json_real(row->output_error) : json_null(), "candidates", sensitivity_json(job, index));
}

static json_t *origin_json(uint32_t is_written)
{
    const char *bytes = is_written ? "measured: the file that was written" : "estimated: shapes and types of tensors";
    const char *rows = is_written
                           ? "measured: tensors as they were read and written"
                           : "estimated: bytes, of shapes and types; measured: errors, of tensors as they were read";

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "bytes", bytes, "bits_per_weight", bytes,
                     "other_types", rows, "kept", rows, "requantized", rows, "tensors", rows, "budget",
                     "given: --budget", "calibration_tokens", "measured: tokens of --calib", "resumed",
                     "measured: tensors that an earlier run has written", "seconds", "measured: monotonic clock");
}

int quantize_document(const struct accel_quantize_job *job, const struct outcome *outcome, uint32_t is_written)
{
    json_t *rows = json_array();
    const char *from = "";

    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        if (json_array_append_new(rows, row_json(job, i)) != 0) {
            json_decref(rows);
            return report_error_text(1, EXIT_FAILED, "ACCEL_E_MEMORY", "no memory for the document", NULL);
        }
    return print_json(
        json_pack("{s:o, s:o, s:o, s:s, s:I, s:I, s:o, s:I, s:f, s:b, s:I, s:f, s:o, s:o, s:o}", "origin",
                  origin_json(is_written), "path", json_text(outcome->path), "mix",
                  accel_quantize_mix(job) == NULL ? json_null() : json_string(accel_quantize_mix(job)), "layout",
                  accel_quantize_layout(job), "requantized", (json_int_t)requantized_count(job, &from), "bytes",
                  (json_int_t)accel_quantize_bytes(job), "budget",
                  outcome->limited ? json_integer((json_int_t)outcome->budget) : json_null(), "calibration_tokens",
                  (json_int_t)outcome->calibration, "bits_per_weight", bits_per_weight(job), "replaced",
                  outcome->replaced != 0, "resumed", (json_int_t)outcome->resumed, "seconds", outcome->seconds,
                  "other_types", narrow_json(job), "kept", kept_json(job), "tensors", rows),
        "accelctl/quantize/1");
}

static int name_width(const struct accel_quantize_job *job)
{
    size_t width = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        if (strlen(accel_quantize_get(job, i)->name) > width)
            width = strlen(accel_quantize_get(job, i)->name);
    return width > NAME_MOST ? NAME_MOST : (int)width;
}

static void print_rows(const struct accel_quantize_job *job)
{
    int width = name_width(job);
    char text[32], error[80], name[256];

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);
        const char *comma = row->reason[0] == '\0' ? "" : ", ";

        error[0] = '\0';
        if (row->relative_error > 0)
            snprintf(error, sizeof(error), "relative error %.5f%s", row->relative_error, comma);
        if (row->output_error > 0)
            snprintf(error, sizeof(error), "relative error %.5f, of outputs %.5f%s", row->relative_error,
                     row->output_error, comma);
        print("  %-*s %5s -> %-8s %11s  %s%s%s%s\n", width, clean_text(row->name, name, sizeof(name)), row->from_name,
              row->to_name, bytes_text(row->bytes, text), error, row->reason, row->wanted_name[0] == '\0' ? "" : " of ",
              row->wanted_name);
    }
}

/* Prints the errors of tensors of a type: "relative error 0.0765 to 0.0981"; nothing if none is known. Tensors of an
 * earlier run, whose errors are not known, are counted apart. */
static void print_errors(const struct accel_quantize_job *job, uint32_t type)
{
    double least = INFINITY, most = 0;
    uint64_t known = 0, earlier = 0;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        if (row->to != type || !row->converted)
            continue;
        known += row->relative_error >= 0;
        earlier += row->relative_error < 0;
        if (row->relative_error > 0) {
            least = fmin(least, row->relative_error);
            most = fmax(most, row->relative_error);
        }
    }
    if (most - least >= 0.00005)
        print(", relative error %.4f to %.4f", least, most);
    else if (most > 0)
        print(", relative error %.4f", most);
    if (earlier > 0 && known > 0)
        print(" (of %llu of %llu tensors; an earlier run wrote the others)", (unsigned long long)known,
              (unsigned long long)(known + earlier));
    else if (earlier > 0)
        print(", errors not known (an earlier run wrote them)");
}

/* Prints types with their bytes, in the order in which they first occur. */
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
            print("  %-8s %4llu tensor%s  %11s  %6.3f bits per weight", accel_quantize_get(job, i)->to_name,
                  (unsigned long long)tensors, tensors == 1 ? " " : "s", bytes_text(bytes, text),
                  elements == 0 ? 0 : 8.0 * (double)bytes / (double)elements);
        if (before == 0)
            print_errors(job, type);
        if (before == 0)
            print("\n");
    }
}

/* Names the programs that can read a layout. */
static const char *readers_of(const char *layout)
{
    return strcmp(layout, "GPTQ") == 0      ? "for the usual readers of that layout"
           : strcmp(layout, "accel 1") == 0 ? "for programs over libaccel-model alone (quant/LAYOUT.md)"
                                            : "for every reader of such files";
}

static void print_end(const struct accel_quantize_job *job, const struct outcome *outcome, uint32_t written)
{
    const char *layout = accel_quantize_layout(job);
    char after[32], before[32], time[32], name[1024];

    clean_text(outcome->path, name, sizeof(name));
    print("%s%s %s (before: %s), %.3f bits per weight", name, written ? ":" : " would have",
          bytes_text(accel_quantize_bytes(job), after), bytes_text(outcome->before, before), bits_per_weight(job));
    if (written)
        print(", in %s", seconds_text(outcome->seconds, time));
    print("\n");
    if (accel_quantize_bytes(job) > outcome->before)
        print("larger than IN: its types take fewer bits, and more bits restore no accuracy\n");
    print("layout %s: %s\n", layout, readers_of(layout));
}

void quantize_print(const struct accel_quantize_job *job, const struct quantize_options *chosen,
                    const struct outcome *outcome)
{
    bool written = !chosen->dry && !chosen->sensitivity;

    if (chosen->tensors)
        print_rows(job);
    if (chosen->sensitivity)
        sensitivity_print(job, outcome);
    if (outcome->calibration > 0)
        print("calibrated with %llu tokens of %s\n", (unsigned long long)outcome->calibration, chosen->calib);
    if (outcome->calibration > 0 && outcome->calibration < outcome->widest)
        print("  fewer than the %llu values of the widest row: codes may fit this text instead of the model\n",
              (unsigned long long)outcome->widest);
    /* Without a budget nothing has been chosen, so there is no choice to print. */
    if (chosen->sensitivity && chosen->budget == NULL)
        return;
    if (accel_quantize_mix(job) != NULL && chosen->budget == NULL)
        print("%s: a type for each matrix by the rules of llama-quantize\n", accel_quantize_mix(job));
    print_types(job);
    print_narrow(job);
    print_kept(job);
    print_requantized(job, chosen);
    if (outcome->resumed > 0)
        print(
            "taken up where an earlier run ended: %llu of %llu tensors were there; errors and time above and below are "
            "those of this run\n",
            (unsigned long long)outcome->resumed, (unsigned long long)accel_quantize_count(job));
    print_end(job, outcome, written);
    if (outcome->replaced)
        print("%s: the file that has that name\n", written ? "replaced" : "would be replaced");
}
