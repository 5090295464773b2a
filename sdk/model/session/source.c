/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a model's file as drivers ask for them, by key and plane: mapped, or copied by some threads. */
#include "sdk/model/session/internal.h"

#include "sdk/model/format/rows.h"
#include "sdk/model/format/together.h"

/* Bytes that are worth a thread, and most threads: a few of them copy as fast as memory takes it. */
#define COPY_LEAST (UINT64_C(1) << 20)
enum { COPY_THREADS = 16 };

/* A plane of a tensor, and where it begins in the tensor's bytes: planes lie one after the other. */
struct plane {
    const struct accel_model_tensor *tensor;
    uint64_t begin;
    uint64_t bytes;
};

static int32_t measure(const struct accel_model_tensor *tensor, uint32_t plane, struct plane *out_plane,
                       struct accel_error *error)
{
    struct model_rows rows;

    if (model_rows_of(tensor, tensor->type, &rows) != ACCEL_OK || rows.planes == 1)
        return plane == 0 ? ACCEL_OK
                          : accel_error_set(error, ACCEL_E_INVALID, "tensor '%s' has one plane, %u was asked for",
                                            tensor->name, plane);
    if (plane >= rows.planes)
        return accel_error_set(error, ACCEL_E_INVALID, "tensor '%s' has %u planes, %u was asked for", tensor->name,
                               rows.planes, plane);
    out_plane->begin = model_rows_plane(&rows, plane);
    out_plane->bytes = rows.rows * rows.row_bytes[plane];
    return ACCEL_OK;
}

static int32_t find(const struct accel_source *base, const char *key, uint32_t plane, struct plane *out_plane,
                    struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct accel_model_tensor *tensor = accel_model_file_find(source->file, key);

    if (tensor == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: no tensor '%s'", accel_model_file_path(source->file),
                               key);
    *out_plane = (struct plane){tensor, 0, tensor->bytes};
    return measure(tensor, plane, out_plane, error);
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
    code = find(base, key, plane, &found, error);
    if (code != ACCEL_OK)
        return code;
    *out_bytes = found.bytes;
    if (!source->copy && source->session != NULL && !source->asked)
        session_ask_to_pull(source->session, key);
    if (!source->copy)
        data = accel_model_file_data(source->file, found.tensor);
    if (data != NULL)
        *out_address = data + found.begin;
    else if (!source->copy)
        *out_address = accel_model_file_plane(source->file, found.tensor, plane, &bytes);
    if (*out_address == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s' is read, not mapped", key);
    return ACCEL_OK;
}

/* A range of a plane that lies in one file as it is, in pieces for the threads. */
struct copying {
    const struct file_source *source;
    const struct plane *plane;
    char *memory;
    uint64_t offset, bytes;
    uint32_t count;
    int32_t codes[COPY_THREADS];
};

static void copy_piece(void *data, uint32_t index)
{
    struct copying *c = data;
    uint64_t begin = c->bytes * index / c->count, end = c->bytes * (index + 1) / c->count;

    c->codes[index] = accel_model_file_read(c->source->file, c->plane->tensor, c->plane->begin + c->offset + begin,
                                            end - begin, c->memory + begin, NULL);
}

/* Without error text: who sees a failure reads again, alone. */
static int32_t copy_together(struct copying *c)
{
    int32_t code = ACCEL_OK;

    model_work_together(c->count, copy_piece, c);
    for (uint32_t i = 0; code == ACCEL_OK && i < c->count; i++)
        code = c->codes[i];
    return code;
}

/* Threads for so many bytes: one alone where it takes no longer than starting others does, or where the file has to be
 * taken apart. */
static uint32_t count_threads(const struct file_source *source, const struct plane *plane, uint64_t bytes)
{
    uint64_t most = bytes / COPY_LEAST, ignored;

    if (accel_model_file_plane(source->file, plane->tensor, 0, &ignored) == NULL)
        return 1;
    most = most < source->threads ? most : source->threads;
    return most > COPY_THREADS ? COPY_THREADS : (uint32_t)most;
}

static int32_t source_read(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct weight_type *other = weights_find_type(source->types, key);
    struct plane found;
    struct copying copying = {.source = source, .plane = &found, .memory = memory, .offset = offset, .bytes = bytes};
    int32_t code;

    if (other != NULL)
        return file_source_convert(source, other, plane, offset, memory, bytes, error);
    code = find(base, key, plane, &found, error);
    if (code != ACCEL_OK)
        return code;
    if (offset > found.bytes || bytes > found.bytes - offset)
        return accel_error_set(error, ACCEL_E_INVALID, "tensor '%s': plane %u has %llu bytes", key, plane,
                               (unsigned long long)found.bytes);
    copying.count = count_threads(source, &found, bytes);
    if (copying.count > 1 && copy_together(&copying) == ACCEL_OK)
        return ACCEL_OK;
    return accel_model_file_read(source->file, found.tensor, found.begin + offset, bytes, memory, error);
}

void file_source_init(struct file_source *source, const struct accel_model_file *file)
{
    source->base = (struct accel_source){
        .size = sizeof source->base, .map = source_map, .read = source_read, .hash = file_source_hash};
    source->file = file;
}
