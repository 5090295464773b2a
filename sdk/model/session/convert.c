/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights made of another type while they are loaded, all of one or some rows. Rows are cut over threads; each has a
 * band of rows in F32 and one encoded row, and digits go straight to their place, so that memory beside what was asked
 * for stays small: scales and zero points of the same rows, and a few rows for each thread.
 */
#include "config.h"

#include "sdk/model/session/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/model/format/together.h"

/* Rows that are decoded at once. */
#define BAND 16u

/* Rows of one weight, shared by all threads. */
struct job {
    const struct file_source *source;
    const struct accel_model_tensor *tensor;
    struct model_rows from;
    struct model_rows to;
    uint64_t first, count;
    unsigned char *planes[ACCEL_FORMAT_PLANES]; /* of the first of these rows; NULL: not wanted */
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

/* What a thread works in: one allocation. */
struct room {
    float *values; /* [BAND, width] */
    float *again;  /* [width] */
    unsigned char *raw;
    unsigned char *encoded; /* one row, plane after plane */
};

static int32_t make_room(const struct job *job, struct room *room, struct accel_error *error)
{
    size_t floats = (BAND + 1) * (size_t)job->from.width, raw = BAND * job->from.all_bytes;

    room->values = malloc(floats * sizeof(float) + raw + job->to.all_bytes);
    if (room->values == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory to convert '%s'", job->tensor->name);
    room->again = room->values + BAND * job->from.width;
    room->raw = (unsigned char *)(room->values + floats);
    room->encoded = room->raw + raw;
    return ACCEL_OK;
}

/* Encodes one row and puts its planes where they are wanted. */
static int32_t convert_row(struct share *share, const struct room *room, const float *values, uint64_t row)
{
    const struct job *job = share->job;
    const unsigned char *at = room->encoded;
    /* What a row loses is looked at only where somebody is told of it. */
    float *again = job->source->told == NULL ? NULL : room->again;
    int32_t code = model_row_fit(&job->to, values, NULL, room->encoded, again);

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
    struct room room = {NULL};

    share->code = make_room(job, &room, &share->error);
    for (uint64_t row = share->begin; row < share->end && share->code == ACCEL_OK; row += BAND) {
        uint64_t count = share->end - row < BAND ? share->end - row : BAND;

        share->code = model_rows_decode(job->source->file, job->tensor, &job->from, row, count, room.raw, room.values,
                                        &share->error);
        for (uint64_t r = 0; r < count && share->code == ACCEL_OK; r++)
            share->code = convert_row(share, &room, room.values + r * job->from.width, row + r);
    }
    free(room.values);
}

/* Sums are added in the order of the shares, so that they are the same in every run. */
static int32_t convert_all(const struct job *job, struct model_loss *out_loss, struct accel_error *error)
{
    uint32_t count = job->source->threads == 0 ? 1 : job->source->threads;
    struct share *shares;
    int32_t code = ACCEL_OK;

    if (count > job->count)
        count = job->count == 0 ? 1 : (uint32_t)job->count;
    shares = calloc(count, sizeof *shares);
    if (shares == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for %u threads", count);
    for (uint32_t i = 0; i < count; i++)
        shares[i] = (struct share){
            .job = job, .begin = job->first + job->count * i / count, .end = job->first + job->count * (i + 1) / count};
    model_work_together(count, convert_share, shares);
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

/* A weight that is used in two places, as rows and packed, is made for each of them. */
static int is_told(const struct accel_plan *plan, const char *text, size_t length)
{
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        if (strncmp(accel_plan_note_get(plan, i)->text, text, length) == 0)
            return 1;
    return 0;
}

/* One line for a weight that is whole. */
static int32_t tell(const struct job *job, const struct model_loss *loss, struct accel_error *error)
{
    struct accel_plan_note note = {
        .size = sizeof note, .level = ACCEL_NOTE_INFO, .key = "log.quantization", .remedy = ""};
    struct accel_format format;
    char text[400];
    int length;

    if (job->source->told == NULL || accel_format_describe(job->to.type, &format) != ACCEL_OK)
        return ACCEL_OK;
    length = snprintf(text, sizeof text, "%.200s: %s, %llu bytes -> %s, %llu bytes: ", job->tensor->name,
                      job->tensor->type_name, (unsigned long long)job->tensor->bytes, format.name,
                      (unsigned long long)(job->to.rows * job->to.all_bytes));
    if (length < 0 || (size_t)length >= sizeof text || is_told(job->source->told, text, (size_t)length))
        return ACCEL_OK;
    snprintf(text + length, sizeof text - (size_t)length, "relative error %.5f", model_loss_error(loss));
    note.text = text;
    return accel_plan_note(job->source->told, &note, error);
}

/* Adds what these rows lost to those before them, and tells it after the last. */
static int32_t add_loss(const struct job *job, const struct weight_type *row, const struct model_loss *loss,
                        struct accel_error *error)
{
    struct conversion *kept = job->source->conversion;

    if (job->first == 0) {
        kept->loss = (struct model_loss){0};
        kept->lossy = 0;
    } else if (kept->row != row || kept->lossy != job->first) {
        kept->lossy = UINT64_MAX;
    }
    if (kept->lossy == UINT64_MAX)
        return ACCEL_OK;
    kept->loss.difference += loss->difference;
    kept->loss.power += loss->power;
    kept->lossy += job->count;
    return kept->lossy == job->to.rows ? tell(job, &kept->loss, error) : ACCEL_OK;
}

/* The digits to `memory`, the other planes to what is kept. */
static int32_t convert_rows(struct job *job, const struct weight_type *row, void *memory, struct accel_error *error)
{
    struct conversion *kept = job->source->conversion;
    struct model_loss loss;
    unsigned char *at;
    int32_t code;

    free(kept->planes);
    kept->count = 0;
    kept->planes = malloc(job->count * (job->to.all_bytes - job->to.row_bytes[0]) + 1);
    if (kept->planes == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory to convert '%s'", job->tensor->name);
    at = kept->planes;
    job->planes[0] = memory;
    for (uint32_t p = 1; p < job->to.planes; at += job->count * job->to.row_bytes[p], p++)
        job->planes[p] = at;
    code = convert_all(job, &loss, error);
    if (code == ACCEL_OK)
        code = add_loss(job, row, &loss, error);
    kept->row = code == ACCEL_OK ? row : NULL;
    kept->first = job->first;
    kept->count = job->count;
    return code;
}

/* Rows of a plane behind the first, where they were made with their digits. */
static const unsigned char *find_kept(const struct job *job, const struct weight_type *row, uint32_t plane)
{
    const struct conversion *kept = job->source->conversion;
    const unsigned char *at = kept->planes;

    if (plane == 0 || kept->row != row || job->first < kept->first ||
        job->first + job->count > kept->first + kept->count)
        return NULL;
    for (uint32_t p = 1; p < plane; p++)
        at += kept->count * job->to.row_bytes[p];
    return at + (job->first - kept->first) * job->to.row_bytes[plane];
}

/* A piece of any plane, for which its rows are made. */
static int32_t convert_piece(struct job *job, uint32_t plane, uint64_t offset, void *memory, uint64_t bytes,
                             struct accel_error *error)
{
    struct model_loss loss;
    int32_t code;

    job->planes[plane] = malloc(job->count * job->to.row_bytes[plane] + 1);
    if (job->planes[plane] == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory to convert '%s'", job->tensor->name);
    code = convert_all(job, &loss, error);
    if (code == ACCEL_OK)
        memcpy(memory, job->planes[plane] + (offset - job->first * job->to.row_bytes[plane]), bytes);
    free(job->planes[plane]);
    return code;
}

int32_t file_source_convert(const struct file_source *source, const struct weight_type *row, uint32_t plane,
                            uint64_t offset, void *memory, uint64_t bytes, struct accel_error *error)
{
    struct job job = {.source = source, .tensor = accel_model_file_find(source->file, row->name)};
    const unsigned char *kept;
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
    kept = find_kept(&job, row, plane);
    if (kept == NULL)
        return convert_piece(&job, plane, offset, memory, bytes, error);
    memcpy(memory, kept + (offset - job.first * each), bytes);
    return ACCEL_OK;
}
