/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts weights to another type during the load, all rows or some of them. Rows are distributed over threads; each
 * has a band of rows in F32 and one encoded row. Codes are written to the destination directly, so extra memory stays
 * small: scales and zero points of the same rows, and a band of rows per thread.
 */
#include "model/session/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/parallel.h"

/* Rows decoded at once. */
#define BAND 16u

/* Rows of one weight, shared by all threads. */
struct job {
    const struct file_source *source;
    const struct accel_model_tensor *tensor;
    float add;                    /* to each value */
    struct session_notes *report; /* receives the error of the conversion, or NULL */
    struct model_rows from;
    struct model_rows to;
    uint64_t first, count;
    unsigned char *planes[ACCEL_FORMAT_PLANES]; /* of the first of these rows; NULL: not requested */
};

/* Rows begin .. end of one thread. */
struct share {
    const struct job *job;
    uint64_t begin, end;
    struct model_loss loss;
    struct accel_error error;
    int32_t code;
    uint32_t zero;
};

/* Buffers of a thread, in one allocation. */
struct scratch {
    float *values; /* [BAND, width] */
    float *again;  /* [width] */
    unsigned char *raw;
    unsigned char *encoded; /* one row, plane after plane */
};

static int32_t allocate_scratch(const struct job *job, struct scratch *scratch, struct accel_error *error)
{
    size_t floats = (BAND + 1) * (size_t)job->from.width, raw = BAND * job->from.all_bytes;

    scratch->values = malloc(floats * sizeof(float) + raw + job->to.all_bytes);
    if (scratch->values == NULL)
        return accel_error_no_memory(error, "to convert '%s'", job->tensor->name);
    scratch->again = scratch->values + BAND * job->from.width;
    scratch->raw = (unsigned char *)(scratch->values + floats);
    scratch->encoded = scratch->raw + raw;
    return ACCEL_OK;
}

/* Encodes one row and copies its planes to their destinations. */
static int32_t convert_row(struct share *share, const struct scratch *scratch, const float *values, uint64_t row)
{
    const struct job *job = share->job;
    const unsigned char *at = scratch->encoded;
    /* The error of a row is computed only if it is reported. */
    float *again = job->report == NULL ? NULL : scratch->again;
    int32_t code = model_row_fit(&job->to, values, NULL, scratch->encoded, again);

    if (code != ACCEL_OK)
        return accel_error_set(&share->error, code, "%s: tensor '%s', row %llu: it cannot be converted",
                               accel_model_file_path(job->source->file), job->tensor->name, (unsigned long long)row);
    for (uint32_t p = 0; p < job->to.planes; at += job->to.row_bytes[p], p++)
        if (job->planes[p] != NULL)
            memcpy(job->planes[p] + (row - job->first) * job->to.row_bytes[p], at, job->to.row_bytes[p]);
    if (again != NULL)
        model_loss_add(&share->loss, values, again, NULL, job->to.width);
    return ACCEL_OK;
}

static void convert_share(void *data, uint32_t index)
{
    struct share *share = (struct share *)data + index;
    const struct job *job = share->job;
    struct scratch scratch = {NULL};

    share->code = allocate_scratch(job, &scratch, &share->error);
    for (uint64_t row = share->begin; row < share->end && share->code == ACCEL_OK; row += BAND) {
        uint64_t count = share->end - row < BAND ? share->end - row : BAND;

        share->code = model_rows_decode(job->source->file, job->tensor, &job->from, row, count, scratch.raw,
                                        scratch.values, &share->error);
        for (uint64_t i = 0; job->add != 0 && i < count * job->from.width; i++)
            scratch.values[i] += job->add;
        for (uint64_t r = 0; r < count && share->code == ACCEL_OK; r++)
            share->code = convert_row(share, &scratch, scratch.values + r * job->from.width, row + r);
    }
    free(scratch.values);
}

/* Losses are added in the order of the shares, so that results are deterministic. */
static int32_t convert_all(const struct job *job, struct model_loss *out_loss, struct accel_error *error)
{
    uint32_t count = job->source->threads == 0 ? 1 : job->source->threads;
    struct share *shares;
    int32_t code = ACCEL_OK;

    if (count > job->count)
        count = job->count == 0 ? 1 : (uint32_t)job->count;
    shares = calloc(count, sizeof(*shares));
    if (shares == NULL)
        return accel_error_no_memory(error, "for %u threads", count);
    for (uint32_t i = 0; i < count; i++)
        shares[i] = (struct share){
            .job = job, .begin = job->first + job->count * i / count, .end = job->first + job->count * (i + 1) / count};
    model_parallel_for(count, convert_share, shares);
    *out_loss = (struct model_loss){0};
    for (uint32_t i = 0; i < count; i++) {
        if (shares[i].code != ACCEL_OK && code == ACCEL_OK)
            code = accel_error_set(error, shares[i].code, "%s", shares[i].error.text);
        out_loss->difference += shares[i].loss.difference;
        out_loss->power += shares[i].loss.power;
    }
    free(shares);
    return code;
}

static int32_t refuse(const struct job *job, int32_t code, struct accel_error *error)
{
    return accel_error_set(error, code, "%s: tensor '%s' of type %s cannot be converted",
                           accel_model_file_path(job->source->file), job->tensor->name, job->tensor->type_name);
}

/* Returns whether a note begins with `text`: a weight that is used both as rows and packed is converted twice. */
static bool is_reported(const struct session_notes *notes, const char *text, size_t length)
{
    for (uint32_t i = 0; i < notes->count; i++)
        if (strncmp(notes->rows[i].text, text, length) == 0)
            return true;
    return false;
}

/* Adds one note when all rows of a weight are converted. */
static int32_t report_loss(const struct job *job, const struct model_loss *loss, struct accel_error *error)
{
    struct accel_format format;
    char text[400];
    int length;

    if (job->report == NULL || accel_format_describe(job->to.type, &format) != ACCEL_OK)
        return ACCEL_OK;
    length = snprintf(text, sizeof(text), "%.200s: %s, %llu bytes -> %s, %llu bytes: ", job->tensor->name,
                      job->tensor->type_name, (unsigned long long)job->tensor->bytes, format.name,
                      (unsigned long long)(job->to.rows * job->to.all_bytes));
    if (length < 0 || (size_t)length >= sizeof(text) || is_reported(job->report, text, (size_t)length))
        return ACCEL_OK;
    snprintf(text + length, sizeof(text) - (size_t)length, "relative error %.5f", model_loss_error(loss));
    return session_note(job->report, "log.quantization", text, error);
}

/* Adds the loss of these rows to that of the rows before them, and reports it after the last row. */
static int32_t add_loss(const struct job *job, const struct weight_type *row, const struct model_loss *loss,
                        struct accel_error *error)
{
    struct conversion *cached = job->source->conversion;

    if (job->first == 0) {
        cached->loss = (struct model_loss){0};
        cached->lossy = 0;
    } else if (cached->row != row || cached->lossy != job->first) {
        cached->lossy = UINT64_MAX;
    }
    if (cached->lossy == UINT64_MAX)
        return ACCEL_OK;
    cached->loss.difference += loss->difference;
    cached->loss.power += loss->power;
    cached->lossy += job->count;
    return cached->lossy == job->to.rows ? report_loss(job, &cached->loss, error) : ACCEL_OK;
}

/* Writes the codes to `memory` and the other planes to the cache. */
static int32_t convert_rows(struct job *job, const struct weight_type *row, void *memory, struct accel_error *error)
{
    struct conversion *cached = job->source->conversion;
    struct model_loss loss;
    unsigned char *at;
    int32_t code;

    free(cached->planes);
    cached->count = 0;
    cached->planes = malloc(job->count * (job->to.all_bytes - job->to.row_bytes[0]) + 1);
    if (cached->planes == NULL)
        return accel_error_no_memory(error, "to convert '%s'", job->tensor->name);
    at = cached->planes;
    job->planes[0] = memory;
    for (uint32_t p = 1; p < job->to.planes; at += job->count * job->to.row_bytes[p], p++)
        job->planes[p] = at;
    code = convert_all(job, &loss, error);
    if (code == ACCEL_OK)
        code = add_loss(job, row, &loss, error);
    cached->row = code == ACCEL_OK ? row : NULL;
    cached->first = job->first;
    cached->count = job->count;
    return code;
}

/* Returns cached rows of a plane other than the codes, or NULL. */
static const unsigned char *find_cached(const struct job *job, const struct weight_type *row, uint32_t plane)
{
    const struct conversion *cached = job->source->conversion;
    const unsigned char *at = cached->planes;

    if (plane == 0 || cached->row != row || job->first < cached->first ||
        job->first + job->count > cached->first + cached->count)
        return NULL;
    for (uint32_t p = 1; p < plane; p++)
        at += cached->count * job->to.row_bytes[p];
    return at + (job->first - cached->first) * job->to.row_bytes[plane];
}

/* Converts the rows of a byte range of any plane, and copies the range. */
static int32_t convert_range(struct job *job, uint32_t plane, uint64_t offset, void *memory, uint64_t bytes,
                             struct accel_error *error)
{
    struct model_loss loss;
    int32_t code;

    job->planes[plane] = malloc(job->count * job->to.row_bytes[plane] + 1);
    if (job->planes[plane] == NULL)
        return accel_error_no_memory(error, "to convert '%s'", job->tensor->name);
    code = convert_all(job, &loss, error);
    if (code == ACCEL_OK)
        memcpy(memory, job->planes[plane] + (offset - job->first * job->to.row_bytes[plane]), bytes);
    free(job->planes[plane]);
    return code;
}

int32_t file_source_convert(const struct file_source *source, const struct weight_type *row, uint32_t plane,
                            uint64_t offset, void *memory, uint64_t bytes, struct accel_error *error)
{
    /* Values of vectors are exact in F32. */
    struct job job = {.source = source,
                      .tensor = accel_model_file_find(source->file, row->name),
                      .add = row->add,
                      .report = row->is_vector ? NULL : source->report};
    const unsigned char *cached;
    uint64_t whole, each;
    int32_t code = model_rows_of(job.tensor, job.tensor->type, &job.from);

    if (code == ACCEL_OK)
        code = model_rows_of(job.tensor, row->type, &job.to);
    if (code != ACCEL_OK)
        return refuse(&job, code, error);
    each = plane < job.to.planes ? job.to.row_bytes[plane] : 0;
    whole = job.to.rows * each;
    if (offset > whole || bytes > whole - offset)
        return accel_error_set(error, ACCEL_E_INVALID, "tensor '%s': plane %u has %llu bytes", row->name, plane,
                               (unsigned long long)whole);
    if (bytes == 0)
        return ACCEL_OK;
    job.first = offset / each;
    job.count = (offset + bytes + each - 1) / each - job.first;
    if (plane == 0 && offset % each == 0 && bytes % each == 0)
        return convert_rows(&job, row, memory, error);
    cached = find_cached(&job, row, plane);
    if (cached == NULL)
        return convert_range(&job, plane, offset, memory, bytes, error);
    memcpy(memory, cached + (offset - job.first * each), bytes);
    return ACCEL_OK;
}
