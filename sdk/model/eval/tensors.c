/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of two files against each other, a run of rows at a time, whatever their types. */
#include "config.h"

#include <accel/model/eval.h>
#include <accel/quant/format.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of a run of rows, rounded to whole rows. */
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
    unsigned char *bytes; /* of a run, where a file is read */
    size_t bytes_room;
    float *values[2];
    size_t value_room; /* of each */
    uint64_t done, all;
    double difference, power; /* of all tensors that were compared */
    struct accel_error *error;
};

static uint64_t width_of(const struct accel_model_tensor *tensor)
{
    return tensor->rank == 0 ? 1 : tensor->dims[tensor->rank - 1];
}

/* The file has checked that this does not overflow. */
static uint64_t elements_of(const struct accel_model_tensor *tensor)
{
    uint64_t elements = 1;

    for (uint32_t i = 0; i < tensor->rank; i++)
        elements *= tensor->dims[i];
    return elements;
}

static int32_t no_memory(const struct work *work)
{
    return accel_error_set(work->error, ACCEL_E_MEMORY, "%s: no memory to compare tensors",
                           accel_model_file_path(work->file));
}

/* ---- values ---- */

static int32_t make_room(struct work *work, uint64_t values, uint64_t bytes)
{
    if (values > SIZE_MAX / sizeof(float) || bytes > SIZE_MAX)
        return no_memory(work);
    if (values > work->value_room) {
        free(work->values[0]);
        free(work->values[1]);
        work->values[0] = malloc((size_t)values * sizeof(float));
        work->values[1] = malloc((size_t)values * sizeof(float));
        work->value_room = (size_t)values;
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

/** How the rows of a tensor lie: those of each plane behind each other, and the planes one after the other. */
struct layout {
    uint32_t planes;
    uint64_t rows;
    size_t row_bytes[ACCEL_FORMAT_PLANES];
    size_t all; /* of a row in all planes */
};

/* False after a reason has been given. */
static bool layout_of(struct row *row, const struct accel_model_tensor *tensor, struct layout *out_layout)
{
    size_t width = (size_t)width_of(tensor);
    struct accel_format format;
    bool known = accel_format_describe(tensor->type, &format) == ACCEL_OK;
    const void *zeros[ACCEL_FORMAT_PLANES];
    const uint64_t zero = 0;
    float value;

    /* Integers carry no real values: one zero is enough to find out. */
    for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES; p++)
        zeros[p] = &zero;
    known = known && accel_format_decode(tensor->type, zeros, format.kind == ACCEL_FORMAT_SCALAR, &value) == ACCEL_OK;
    *out_layout = (struct layout){.planes = known ? format.planes : 0, .rows = elements_of(tensor) / width};
    for (uint32_t p = 0; p < out_layout->planes; p++) {
        known = known && accel_format_row_bytes(tensor->type, p, width, &out_layout->row_bytes[p]) == ACCEL_OK;
        out_layout->all += out_layout->row_bytes[p];
    }
    if (!known || tensor->bytes / out_layout->all != out_layout->rows || tensor->bytes % out_layout->all != 0)
        snprintf(row->reason, sizeof row->reason, "%.40s is not decoded here", tensor->type_name);
    return row->reason[0] == '\0';
}

/* Reads `rows` rows of each plane, or finds them where they are mapped. */
static int32_t find_planes(struct work *work, const struct accel_model_file *file,
                           const struct accel_model_tensor *tensor, const struct layout *layout, uint64_t at,
                           uint64_t rows, const unsigned char *planes[ACCEL_FORMAT_PLANES])
{
    const unsigned char *data = accel_model_file_data(file, tensor);
    unsigned char *to = work->bytes;
    uint64_t begin = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < layout->planes && code == ACCEL_OK; p++) {
        uint64_t offset = begin + at * layout->row_bytes[p], bytes = rows * layout->row_bytes[p];

        planes[p] = data != NULL ? data + offset : to;
        if (data == NULL)
            code = accel_model_file_read(file, tensor, offset, bytes, to, work->error);
        to += data == NULL ? bytes : 0;
        begin += layout->rows * layout->row_bytes[p];
    }
    return code;
}

/* Decodes `rows` rows from row `at`. */
static int32_t decode(struct work *work, uint32_t which, const struct accel_model_tensor *tensor,
                      const struct layout *layout, uint64_t at, uint64_t rows)
{
    const struct accel_model_file *file = which ? work->reference : work->file;
    const unsigned char *planes[ACCEL_FORMAT_PLANES] = {NULL};
    size_t width = (size_t)width_of(tensor);
    int32_t code = find_planes(work, file, tensor, layout, at, rows, planes);

    for (uint64_t row = 0; row < rows && code == ACCEL_OK; row++) {
        const void *here[ACCEL_FORMAT_PLANES] = {NULL};

        for (uint32_t p = 0; p < layout->planes; p++)
            here[p] = planes[p] + row * layout->row_bytes[p];
        code = accel_format_decode(tensor->type, here, width, work->values[which] + row * width);
    }
    return code == ACCEL_OK ? ACCEL_OK
                            : accel_error_set(work->error, code, "tensor %.100s cannot be decoded", tensor->name);
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

static int32_t compare_values(struct work *work, struct row *row, const struct layout *here, const struct layout *there)
{
    uint64_t width = width_of(row->here), rows = row->tensor.elements / width;
    uint64_t run = width >= RUN_VALUES ? 1 : RUN_VALUES / width;
    double difference = 0, power = 0;
    int32_t code = make_room(work, run * width, run * (here->all > there->all ? here->all : there->all));

    for (uint64_t at = 0; at < rows && code == ACCEL_OK; at += run) {
        uint64_t count = rows - at < run ? rows - at : run;

        code = decode(work, 0, row->here, here, at, count);
        if (code == ACCEL_OK)
            code = decode(work, 1, row->there, there, at, count);
        if (code == ACCEL_OK)
            measure(work, count * width, &difference, &power, &row->tensor.largest);
        if (code == ACCEL_OK)
            code = advance(work, count * width);
    }
    if (code != ACCEL_OK)
        return code;
    if (!isfinite(difference) || !isfinite(power)) {
        snprintf(row->reason, sizeof row->reason, "a value is not finite");
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
    struct layout here, there;

    if (row->tensor.elements == 0 || elements_of(row->there) != row->tensor.elements ||
        width_of(row->here) != width_of(row->there)) {
        snprintf(row->reason, sizeof row->reason, "the shapes differ, or hold nothing");
        return advance(work, row->tensor.elements);
    }
    if (!layout_of(row, row->here, &here) || !layout_of(row, row->there, &there))
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

    table->rows = calloc((size_t)tensors + 1, sizeof *table->rows);
    if (table->rows == NULL || table->texts == NULL)
        return no_memory(work);
    for (uint64_t i = 0; i < tensors; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(work->file, i);
        const struct accel_model_tensor *there =
            work->reference == NULL ? NULL : accel_model_file_find(work->reference, tensor->name);

        table->sums.elements += elements_of(tensor);
        table->sums.bytes += tensor->bytes;
        if (there == NULL)
            continue;
        table->rows[table->count++] = (struct row){.tensor = {.size = sizeof(struct accel_eval_tensor),
                                                              .name = keep(&at, tensor->name),
                                                              .type = keep(&at, tensor->type_name),
                                                              .reference = keep(&at, there->type_name),
                                                              .elements = elements_of(tensor),
                                                              .bytes = tensor->bytes},
                                                   .here = tensor,
                                                   .there = there};
        work->all += elements_of(tensor);
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

/* The worst first; by name where they are equal. */
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
    qsort(table->rows, (size_t)table->count, sizeof *table->rows, compare_rows);
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
    work.table = calloc(1, sizeof *work.table);
    if (work.table == NULL)
        return no_memory(&work);
    work.table->sums.size = sizeof work.table->sums;
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
