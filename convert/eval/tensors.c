/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors of two files of any types, a block of rows at a time. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/eval.h>

#include "model/file/derived.h"
#include "model/file/rows.h"

/* Values of a block of rows, rounded to whole rows. */
#define RUN_VALUES ((uint64_t)1 << 18)

enum { REASON_BYTES = 96 };

struct row {
    struct accel_eval_tensor tensor;
    const struct accel_model_tensor *here, *there;
    char reason[REASON_BYTES];
};

struct accel_eval_tensors {
    struct accel_eval_tensor_sums sums;
    struct row *rows; /* [count] */
    uint64_t count;
    char *texts; /* names and types of all rows */
};

/** One comparison. */
struct work {
    const struct accel_model_file *file, *reference;
    struct accel_eval_tensors *table;
    accel_eval_progress progress;
    void *progress_data;
    unsigned char *bytes; /* of a block, if a file is read instead of mapped */
    size_t bytes_room;
    float *values[2];
    size_t value_capacity; /* of each */
    uint64_t done, all;
    double difference, power; /* of all compared tensors */
    struct accel_error *error;
};

static int32_t no_memory(const struct work *work)
{
    return accel_error_set(work->error, ACCEL_E_MEMORY, "%s: no memory to compare tensors",
                           accel_model_file_path(work->file));
}

/* ---- values ---- */

static int32_t grow_buffers(struct work *work, uint64_t values, uint64_t bytes)
{
    if (values > SIZE_MAX / sizeof(float) || bytes > SIZE_MAX)
        return no_memory(work);
    if (values > work->value_capacity) {
        free(work->values[0]);
        free(work->values[1]);
        work->values[0] = malloc((size_t)values * sizeof(float));
        work->values[1] = malloc((size_t)values * sizeof(float));
        work->value_capacity = (size_t)values;
    }
    if (bytes > work->bytes_room) {
        free(work->bytes);
        work->bytes = malloc((size_t)bytes);
        work->bytes_room = (size_t)bytes;
    }
    if (work->values[0] == NULL || work->values[1] == NULL || (bytes > 0 && work->bytes == NULL))
        return no_memory(work);
    return ACCEL_OK;
}

/* Computes the layout of both tensors; returns false and sets the reason if they cannot be compared. */
static bool rows_of(struct row *row, const struct accel_model_tensor *tensor, struct model_rows *out_rows)
{
    if (model_rows_of(tensor, tensor->type, out_rows) != ACCEL_OK ||
        tensor->bytes / out_rows->all_bytes != out_rows->rows || tensor->bytes % out_rows->all_bytes != 0)
        snprintf(row->reason, sizeof(row->reason), "%.40s is not decoded here", tensor->type_name);
    return row->reason[0] == '\0';
}

static int32_t advance(struct work *work, uint64_t elements)
{
    work->done += elements;
    if (work->progress == NULL || work->progress(work->progress_data, work->done, work->all) == 0)
        return ACCEL_OK;
    return accel_error_set(work->error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu weights",
                           (unsigned long long)work->done, (unsigned long long)work->all);
}

static void measure(const struct work *work, uint64_t count, double *difference, double *power, double *largest)
{
    for (uint64_t i = 0; i < count; i++) {
        double reference = (double)work->values[1][i], d = (double)work->values[0][i] - reference;

        *difference += d * d;
        *power += reference * reference;
        *largest = fabs(d) > *largest ? fabs(d) : *largest;
    }
}

/* Decodes rows, times the factors that products with the matrix have. */
static int32_t decode_rows(struct work *work, const struct accel_model_file *file,
                           const struct accel_model_tensor *tensor, const struct model_rows *rows, uint64_t first,
                           uint64_t count, float *out)
{
    int32_t code = model_rows_decode(file, tensor, rows, first, count, work->bytes, out, work->error);

    for (uint64_t r = 0; r < count && code == ACCEL_OK; r++) {
        const float factor = model_row_factor(tensor, first + r);

        for (uint64_t i = 0; i < rows->width && factor != 1; i++)
            out[r * rows->width + i] *= factor;
    }
    return code;
}

static int32_t compare_values(struct work *work, struct row *row, const struct model_rows *here,
                              const struct model_rows *there)
{
    uint64_t width = model_tensor_width(row->here), rows = row->tensor.elements / width;
    uint64_t run = width >= RUN_VALUES ? 1 : RUN_VALUES / width;
    double difference = 0, power = 0;
    int32_t code = grow_buffers(work, run * width,
                                run * (here->all_bytes > there->all_bytes ? here->all_bytes : there->all_bytes));

    for (uint64_t at = 0; at < rows && code == ACCEL_OK; at += run) {
        uint64_t count = rows - at < run ? rows - at : run;

        code = decode_rows(work, work->file, row->here, here, at, count, work->values[0]);
        if (code == ACCEL_OK)
            code = decode_rows(work, work->reference, row->there, there, at, count, work->values[1]);
        if (code == ACCEL_OK)
            measure(work, count * width, &difference, &power, &row->tensor.largest);
        if (code == ACCEL_OK)
            code = advance(work, count * width);
    }
    if (code != ACCEL_OK)
        return code;
    if (!isfinite(difference) || !isfinite(power)) {
        snprintf(row->reason, sizeof(row->reason), "a value is not finite");
        return ACCEL_OK;
    }
    row->tensor.compared = 1;
    row->tensor.relative_error = power > 0 ? sqrt(difference / power) : difference > 0 ? INFINITY : 0;
    work->difference += difference;
    work->power += power;
    work->table->sums.compared++;
    return ACCEL_OK;
}

static int32_t compare_row(struct work *work, struct row *row)
{
    struct model_rows here, there;

    if (row->tensor.elements == 0 || model_tensor_elements(row->there) != row->tensor.elements ||
        model_tensor_width(row->here) != model_tensor_width(row->there)) {
        snprintf(row->reason, sizeof(row->reason), "the shapes differ, or hold nothing");
        return advance(work, row->tensor.elements);
    }
    if (!rows_of(row, row->here, &here) || !rows_of(row, row->there, &there))
        return advance(work, row->tensor.elements);
    return compare_values(work, row, &here, &there);
}

/* ---- the table ---- */

static uint64_t text_bytes(const struct accel_model_file *file)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        bytes += strlen(tensor->name) + 2 * strlen(tensor->type_name) + 3;
    }
    return bytes;
}

static const char *keep(char **at, const char *text)
{
    char *begin = *at;

    *at = begin + strlen(text) + 1;
    return memcpy(begin, text, strlen(text) + 1);
}

static int32_t make_rows(struct work *work)
{
    struct accel_eval_tensors *table = work->table;
    uint64_t tensors = accel_model_file_tensor_count(work->file);
    char *at = table->texts =
        malloc((size_t)(text_bytes(work->file) + (work->reference ? text_bytes(work->reference) : 0)) + 1);

    table->rows = calloc((size_t)tensors + 1, sizeof(*table->rows));
    if (table->rows == NULL || table->texts == NULL)
        return no_memory(work);
    for (uint64_t i = 0; i < tensors; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(work->file, i);
        const struct accel_model_tensor *there =
            work->reference == NULL ? NULL : accel_model_file_find(work->reference, tensor->name);

        table->sums.elements += model_tensor_elements(tensor);
        table->sums.bytes += tensor->bytes;
        if (there == NULL)
            continue;
        table->rows[table->count++] = (struct row){.tensor = {.size = sizeof(struct accel_eval_tensor),
                                                              .name = keep(&at, tensor->name),
                                                              .type = keep(&at, tensor->type_name),
                                                              .reference = keep(&at, there->type_name),
                                                              .elements = model_tensor_elements(tensor),
                                                              .bytes = tensor->bytes},
                                                   .here = tensor,
                                                   .there = there};
        work->all += model_tensor_elements(tensor);
    }
    table->sums.tensors = tensors;
    table->sums.bits_per_weight =
        table->sums.elements == 0 ? 0 : 8.0 * (double)table->sums.bytes / (double)table->sums.elements;
    for (uint32_t i = 0; i < accel_model_file_part_count(work->file); i++)
        table->sums.file_bytes += accel_model_file_part_bytes(work->file, i);
    if (work->reference == NULL)
        return ACCEL_OK;
    table->sums.extra = tensors - table->count;
    table->sums.missing = accel_model_file_tensor_count(work->reference) - table->count;
    return ACCEL_OK;
}

/* Sorts the worst first, equal ones by name. */
static int compare_rows(const void *a, const void *b)
{
    const struct accel_eval_tensor *one = &((const struct row *)a)->tensor, *other = &((const struct row *)b)->tensor;

    if (one->compared != other->compared)
        return one->compared ? -1 : 1;
    if (one->relative_error != other->relative_error)
        return one->relative_error > other->relative_error ? -1 : 1;
    return strcmp(one->name, other->name);
}

static int32_t compare_all(struct work *work)
{
    struct accel_eval_tensors *table = work->table;
    int32_t code = make_rows(work);

    for (uint64_t i = 0; i < table->count && code == ACCEL_OK; i++)
        code = compare_row(work, &table->rows[i]);
    if (code != ACCEL_OK)
        return code;
    table->sums.relative_error = work->power > 0 ? sqrt(work->difference / work->power) : 0;
    qsort(table->rows, (size_t)table->count, sizeof(*table->rows), compare_rows);
    for (uint64_t i = 0; i < table->count; i++)
        table->rows[i].tensor.reason = table->rows[i].reason;
    return ACCEL_OK;
}

int32_t accel_eval_tensors(const struct accel_model_file *file, const struct accel_model_file *reference,
                           accel_eval_progress progress, void *progress_data, struct accel_eval_tensors **out_tensors,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct work work = {
        .file = file, .reference = reference, .progress = progress, .progress_data = progress_data, .error = error};
    int32_t code;

    if (file == NULL || out_tensors == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_eval_tensors: no file, or no place for the table");
    *out_tensors = NULL;
    work.table = calloc(1, sizeof(*work.table));
    if (work.table == NULL)
        return no_memory(&work);
    work.table->sums.size = sizeof(work.table->sums);
    code = compare_all(&work);
    free(work.bytes);
    free(work.values[0]);
    free(work.values[1]);
    if (code == ACCEL_OK)
        *out_tensors = work.table;
    else
        accel_eval_tensors_free(work.table);
    return code;
}

void accel_eval_tensors_free(struct accel_eval_tensors *tensors) ACCEL_NOEXCEPT
{
    if (tensors == NULL)
        return;
    free(tensors->rows);
    free(tensors->texts);
    free(tensors);
}

const struct accel_eval_tensor_sums *accel_eval_tensors_sums(const struct accel_eval_tensors *tensors) ACCEL_NOEXCEPT
{
    return tensors == NULL ? NULL : &tensors->sums;
}

uint64_t accel_eval_tensors_count(const struct accel_eval_tensors *tensors) ACCEL_NOEXCEPT
{
    return tensors == NULL ? 0 : tensors->count;
}

const struct accel_eval_tensor *accel_eval_tensors_get(const struct accel_eval_tensors *tensors,
                                                       uint64_t index) ACCEL_NOEXCEPT
{
    return tensors == NULL || index >= tensors->count ? NULL : &tensors->rows[index].tensor;
}
