/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/layout.h"
#include "model/file/planes.h"
#include "model/file/pool.h"

int32_t quantize_write_plain(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                             uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                             struct accel_error *error)
{
    return model_staged_write(staged, job->tensors[index].offset + first * row_bytes, data, rows * row_bytes, error);
}

/* ---- the tensors of the header ---- */

/* All tensors of the output: unsplit tensors of the job, and the parts of split ones. */
struct tensors {
    struct model_gguf_tensor *list; /* [most] */
    struct quantize_part *parts;    /* [most]; names and sizes of parts */
    uint64_t *owner;                /* [most]: the job's tensor */
    uint32_t *part;                 /* [most]: part number in the owner; QUANTIZE_PARTS: unsplit */
    uint64_t count;
};

static void tensors_free(struct tensors *tensors)
{
    free(tensors->list);
    free(tensors->parts);
    free(tensors->owner);
    free(tensors->part);
}

static uint64_t count_parts(const struct accel_quantize_job *job, bool *out_fits)
{
    struct quantize_part *parts = calloc(QUANTIZE_PARTS, sizeof(*parts));
    uint64_t all = 0;
    *out_fits = parts != NULL;
    for (uint64_t i = 0; i < job->count && *out_fits && job->layout->parts != NULL; i++) {
        uint32_t count = 0;
        *out_fits = !job->rows[i].converted || job->layout->parts(job, i, parts, &count);
        all += count;
    }
    free(parts);
    return all;
}

static bool tensors_make(const struct accel_quantize_job *job, struct tensors *tensors)
{
    bool fits;
    const uint64_t parts = count_parts(job, &fits), most = job->count + parts;
    uint64_t used = 0;
    *tensors = (struct tensors){.list = calloc((size_t)most + 1, sizeof(*tensors->list)),
                                .parts = calloc((size_t)parts + QUANTIZE_PARTS, sizeof(*tensors->parts)),
                                .owner = calloc((size_t)most + 1, sizeof(*tensors->owner)),
                                .part = calloc((size_t)most + 1, sizeof(*tensors->part))};
    if (!fits || tensors->list == NULL || tensors->parts == NULL || tensors->owner == NULL || tensors->part == NULL)
        return false;
    for (uint64_t i = 0; i < job->count; i++) {
        uint32_t count = 0;
        if (job->rows[i].converted && job->layout->parts != NULL)
            job->layout->parts(job, i, tensors->parts + used, &count);
        for (uint32_t p = 0; p < (count == 0 ? 1 : count); p++) {
            const struct quantize_part *part = &tensors->parts[used + p];
            tensors->list[tensors->count] =
                count == 0 ? job->tensors[i]
                           : (struct model_gguf_tensor){
                                 .name = part->name, .dims = part->dims, .rank = part->rank, .type = part->type};
            tensors->owner[tensors->count] = i;
            tensors->part[tensors->count++] = count == 0 ? QUANTIZE_PARTS : p;
        }
        used += count;
    }
    return true;
}

/* Records the offsets of all tensors. */
static void record_offsets(struct accel_quantize_job *job, const struct tensors *tensors)
{
    for (uint64_t i = 0; i < job->count; i++)
        job->rows[i].bytes = 0;
    for (uint64_t t = 0; t < tensors->count; t++) {
        const uint64_t i = tensors->owner[t];
        job->rows[i].bytes += tensors->list[t].bytes;
        if (tensors->part[t] == QUANTIZE_PARTS)
            job->tensors[i] = tensors->list[t];
        else
            job->places[i].at[tensors->part[t]] = tensors->list[t].offset;
    }
}

/* ---- the header ---- */

static const struct accel_model_value *own_value(const struct accel_model_value *own, uint64_t own_count,
                                                 const char *key)
{
    for (uint64_t i = 0; i < own_count; i++)
        if (strcmp(own[i].key, key) == 0)
            return &own[i];
    return NULL;
}

/* Layout keys of the source do not apply to the output. */
static bool is_of_layout(const char *key)
{
    return strcmp(key, MODEL_PLANES_LAYOUT) == 0 || strncmp(key, MODEL_PLANES_TYPE, strlen(MODEL_PLANES_TYPE)) == 0;
}

int32_t quantize_gguf_header(struct accel_quantize_job *job, const struct accel_model_value *own, uint64_t own_count,
                             struct accel_error *error)
{
    const char *name = accel_model_file_path(job->file);
    const uint64_t count = accel_model_file_value_count(job->file);
    const struct accel_model_value **values = calloc((size_t)(count + own_count) + 1, sizeof(*values));
    struct tensors tensors = {0};
    uint64_t used = 0;
    int32_t code = ACCEL_OK;
    job->places = calloc((size_t)job->count + 1, sizeof(*job->places));
    if (values == NULL || job->places == NULL || !tensors_make(job, &tensors))
        code = model_no_memory(error, name, count * sizeof(*values));
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++) {
        const struct accel_model_value *value = accel_model_file_value(job->file, i);
        /* A split model becomes one file. */
        if (accel_model_file_find_value(job->file, value->key) != value || strncmp(value->key, "split.", 6) == 0)
            continue;
        if (own_value(own, own_count, value->key) == NULL && !is_of_layout(value->key))
            values[used++] = value;
    }
    for (uint64_t i = 0; i < own_count && code == ACCEL_OK; i++)
        values[used++] = &own[i];
    if (code == ACCEL_OK)
        code = model_gguf_header(name, values, used, tensors.list, tensors.count, &job->header, error);
    if (code == ACCEL_OK)
        record_offsets(job, &tensors);
    tensors_free(&tensors);
    free(values);
    return code;
}

static int32_t header(struct accel_quantize_job *job, struct accel_error *error)
{
    const uint32_t number = job->file_type;
    const struct accel_model_value own = {.size = sizeof(own),
                                          .kind = ACCEL_MODEL_UNSIGNED,
                                          .key = "general.file_type",
                                          .data = &number,
                                          .count = 1,
                                          .width = 4};
    return quantize_gguf_header(job, &own, 1, error);
}

const struct quantize_layout quantize_layout_gguf = {
    .name = "GGUF", .rows = 1, .header = header, .write = quantize_write_plain};
