/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the weights of a model file to drivers, by key and plane: mapped, or copied by several threads. */
#include "model/session/source.h"

#include "model/file/derived.h"
#include "model/file/parallel.h"
#include "model/file/rows.h"
#include "model/session/convert.h"
#include "model/session/log.h"
#include "model/session/pages.h"
#include "model/session/source_hash.h"

/* Smallest copy that is worth a thread, and the most threads: a few saturate memory bandwidth. */
#define COPY_LEAST (UINT64_C(1) << 20)
enum { COPY_THREADS = 16 };

/* A plane of a tensor and its offset in the tensor's bytes: planes lie one after the other. */
struct plane {
    const struct accel_model_tensor *tensor;
    uint64_t begin;
    uint64_t bytes;
};

static int32_t measure_plane(const struct accel_model_tensor *tensor, uint32_t plane, struct plane *out_plane,
                             struct accel_error *error)
{
    struct model_rows rows;

    if (model_rows_of(tensor, tensor->type, &rows) != ACCEL_OK || rows.planes == 1)
        return plane == 0 ? ACCEL_OK
                          : accel_error_set(error, ACCEL_E_INVALID, "tensor '%s' has one plane, not plane %u",
                                            tensor->name, plane);
    if (plane >= rows.planes)
        return accel_error_set(error, ACCEL_E_INVALID, "tensor '%s' has %u planes, not plane %u", tensor->name,
                               rows.planes, plane);
    out_plane->begin = model_rows_plane(&rows, plane);
    out_plane->bytes = rows.rows * rows.row_bytes[plane];
    return ACCEL_OK;
}

static int32_t find_plane(const struct accel_source *base, const char *key, uint32_t plane, struct plane *out_plane,
                          struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct accel_model_tensor *tensor = accel_model_file_find(source->file, key);

    if (tensor == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: no tensor '%s'", accel_model_file_path(source->file),
                               key);
    *out_plane = (struct plane){tensor, 0, tensor->bytes};
    return measure_plane(tensor, plane, out_plane, error);
}

static int32_t source_map(const struct accel_source *base, const char *key, uint32_t plane, const void **out_address,
                          uint64_t *out_bytes, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const unsigned char *data = NULL;
    struct plane found;
    uint64_t bytes;
    int32_t code;

    *out_address = NULL;
    if (weights_find_type(source->types, key) != NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s' is converted, not mapped", key);
    code = find_plane(base, key, plane, &found, error);
    if (code != ACCEL_OK)
        return code;
    *out_bytes = found.bytes;
    if (!source->copy && source->stage != NULL && !source->prefetched)
        stage_prefetch_all(source->stage, key);
    if (!source->copy)
        data = accel_model_file_data(source->file, found.tensor);
    if (data != NULL)
        *out_address = data + found.begin;
    else if (!source->copy)
        *out_address = accel_model_file_plane(source->file, found.tensor, plane, &bytes);
    if (*out_address == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s' is read, not mapped", key);
    return session_log_load(source, key, plane, 0, *out_bytes, "mapped", error);
}

/* Maps experts with a limit that the file stores one by one. Whether they have one is decided once, with 0 bytes. */
static int32_t source_map_part(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                               uint64_t bytes, const void **out_address, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct accel_model_tensor *tensor = accel_model_file_find(source->file, key);

    *out_address = NULL;
    if (tensor != NULL && (bytes != 0 || (source->stage != NULL && stage_is_limited(source->stage, key))))
        *out_address = model_derived_part(source->file, tensor, plane, offset, bytes);
    if (*out_address == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s' is read, not mapped", key);
    return bytes != 0 || plane != 0 ? ACCEL_OK
                                    : session_log_load(source, key, 0, 0, tensor->bytes, "mapped in parts", error);
}

/* A byte range of a plane, copied by several threads. */
struct copy_job {
    const struct file_source *source;
    const struct plane *plane;
    char *memory;
    uint64_t offset, bytes;
    uint32_t count;
    int32_t codes[COPY_THREADS];
};

static void copy_range(void *data, uint32_t index)
{
    struct copy_job *c = data;
    uint64_t begin = c->bytes * index / c->count, end = c->bytes * (index + 1) / c->count;

    c->codes[index] = accel_model_file_read(c->source->file, c->plane->tensor, c->plane->begin + c->offset + begin,
                                            end - begin, c->memory + begin, NULL);
}

/* Sets no error text: after a failure the caller reads again on one thread. */
static int32_t copy_together(struct copy_job *c)
{
    int32_t code = ACCEL_OK;

    model_parallel_for(c->count, copy_range, c);
    for (uint32_t i = 0; code == ACCEL_OK && i < c->count; i++)
        code = c->codes[i];
    return code;
}

/* Returns the number of threads for a copy: one if starting others costs more than it saves, or if the file packs the
 * tensor and it has to be unpacked. */
static uint32_t count_threads(const struct file_source *source, const struct plane *plane, uint64_t bytes)
{
    uint64_t most = bytes / COPY_LEAST, ignored;

    if (accel_model_file_plane(source->file, plane->tensor, 0, &ignored) == NULL)
        return 1;
    most = most < source->threads ? most : source->threads;
    return most > COPY_THREADS ? COPY_THREADS : (uint32_t)most;
}

static int32_t read_range(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                          void *memory, uint64_t bytes, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct weight_type *other = weights_find_type(source->types, key);
    struct plane found;
    struct copy_job copy_job = {.source = source, .plane = &found, .memory = memory, .offset = offset, .bytes = bytes};
    int32_t code;

    if (other != NULL)
        return file_source_convert(source, other, plane, offset, memory, bytes, error);
    code = find_plane(base, key, plane, &found, error);
    if (code != ACCEL_OK)
        return code;
    if (offset > found.bytes || bytes > found.bytes - offset)
        return accel_error_set(error, ACCEL_E_INVALID, "tensor '%s': plane %u has %llu bytes", key, plane,
                               (unsigned long long)found.bytes);
    copy_job.count = count_threads(source, &found, bytes);
    if (copy_job.count > 1 && copy_together(&copy_job) == ACCEL_OK)
        return ACCEL_OK;
    return accel_model_file_read(source->file, found.tensor, found.begin + offset, bytes, memory, error);
}

static int32_t source_read(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    int32_t code = read_range(base, key, plane, offset, memory, bytes, error);

    return code == ACCEL_OK
               ? session_log_load(source, key, plane, offset, bytes,
                                  weights_find_type(source->types, key) == NULL ? "copied" : "converted", error)
               : code;
}

void file_source_init(struct file_source *source, const struct accel_model_file *file)
{
    source->base = (struct accel_source){.size = sizeof(source->base),
                                         .map = source_map,
                                         .read = source_read,
                                         .hash = file_source_hash,
                                         .map_part = source_map_part};
    source->file = file;
}
