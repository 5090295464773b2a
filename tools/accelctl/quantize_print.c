/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/quantize.h"
#include "tools/accelctl/say.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

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

int quantize_document(const struct accel_quantize_job *job, const struct outcome *outcome)
{
    json_t *rows = json_array();

    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        if (json_array_append_new(rows, row_json(job, i)) != 0) {
            json_decref(rows);
            return say(1, EXIT_FAILED, "ACCEL_E_MEMORY", "no memory for the document", NULL);
        }
    return print_json(json_pack("{s:o, s:s, s:I, s:I, s:I, s:f, s:b, s:I, s:f, s:o, s:o}", "path",
                                json_text(outcome->path), "layout", accel_quantize_layout(job), "bytes",
                                (json_int_t)accel_quantize_bytes(job), "budget", (json_int_t)outcome->budget,
                                "calibration_tokens", (json_int_t)outcome->calibration, "bits_per_weight",
                                bits_per_weight(job), "replaced", outcome->replaced != 0, "resumed",
                                (json_int_t)outcome->resumed, "seconds", outcome->seconds, "other_types",
                                narrow_json(job), "tensors", rows),
                      "accelctl/quantize/1");
}

static void print_rows(const struct accel_quantize_job *job)
{
    char text[32], error[80], name[256];

    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        error[0] = '\0';
        if (row->relative_error > 0)
            snprintf(error, sizeof error, "error %.5f%s", row->relative_error, row->reason[0] == '\0' ? "" : ", ");
        if (row->output_error > 0)
            snprintf(error, sizeof error, "error %.5f, %.5f of what it gives%s", row->relative_error, row->output_error,
                     row->reason[0] == '\0' ? "" : ", ");
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
            printf("  %-8s %4llu tensors  %11s  %.3f bits per weight\n", accel_quantize_get(job, i)->to_name,
                   (unsigned long long)tensors, bytes_text(bytes, text),
                   elements == 0 ? 0 : 8.0 * (double)bytes / (double)elements);
    }
}

void quantize_print(const struct accel_quantize_job *job, const struct quantize_options *chosen,
                    const struct outcome *outcome)
{
    char text[32], name[1024];

    clean_text(outcome->path, name, sizeof name);
    if (chosen->tensors)
        print_rows(job);
    if (chosen->sensitivity)
        sensitivity_print(job);
    print_types(job);
    print_narrow(job, chosen->type);
    if (outcome->resumed > 0)
        printf("taken up where an earlier run ended: %llu tensors were there\n", (unsigned long long)outcome->resumed);
    if (outcome->calibration > 0)
        printf("calibrated with %llu tokens of %s\n", (unsigned long long)outcome->calibration, chosen->calib);
    if (chosen->dry || chosen->sensitivity)
        printf("%s would have %s, %.3f bits per weight\n", name, bytes_text(accel_quantize_bytes(job), text),
               bits_per_weight(job));
    else
        printf("%s: %s, %.3f bits per weight, in %.1f s\n", name, bytes_text(accel_quantize_bytes(job), text),
               bits_per_weight(job), outcome->seconds);
    if (outcome->replaced)
        printf("%s: the file that has that name\n",
               chosen->dry || chosen->sensitivity ? "would be replaced" : "replaced");
}
