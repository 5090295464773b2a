/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/planes.h"

#include <stdlib.h>
#include <string.h>

#include "model/file/checked.h"
#include "model/file/container.h"
#include "model/file/element.h"
#include "model/file/fault.h"

const char *model_planes_suffix(const struct accel_format *format, uint32_t plane, uint32_t *out_type)
{
    const bool halves = plane == 1 || (plane == 2 && format->kind == ACCEL_FORMAT_PLANAR &&
                                       ACCEL_PLANAR_SCHEME(format->type) == ACCEL_SCHEME_CODEBOOK);
    *out_type = halves ? ACCEL_F16 : ACCEL_U8;
    if (plane >= format->planes || format->kind == ACCEL_FORMAT_SCALAR)
        return NULL;
    if (format->kind == ACCEL_FORMAT_INTERLEAVED)
        return plane == 0 ? ".blocks" : NULL;
    return plane == 0 ? ".digits" : plane == 1 ? ".scales" : plane == 2 ? (halves ? ".codebook" : ".zeros") : NULL;
}

/* ---- one tensor ---- */

/* Collects the tensors that replace planes; `is_plane` marks the planes. */
struct work {
    struct accel_model_file *file;
    bool *is_plane;             /* [tensor_count] */
    struct model_tensor *shown; /* [tensor_count]: at the index of its first plane */
    uint64_t count;             /* tensors that replace planes */
    struct accel_error *error;
};

static int32_t refuse(const struct work *work, const struct accel_model_value *value, int32_t code, const char *what)
{
    char shown[MODEL_QUOTE_BYTES];
    return model_fault(work->error, code, work->file->parts[value->part].path,
                       value->offset == 0 ? MODEL_NO_OFFSET : value->offset, "the key %s: %s",
                       model_quote(shown, value->key, strlen(value->key)), what);
}

static int32_t refuse_corrupt(const struct work *work, const struct accel_model_value *value, const char *what)
{
    return refuse(work, value, ACCEL_E_CORRUPT, what);
}

/* Returns a string without a zero byte inside, or NULL. */
static const char *get_text(const struct accel_model_value *value)
{
    const struct accel_model_text *text = value->kind == ACCEL_MODEL_TEXT && value->list == 0 ? value->data : NULL;
    return text != NULL && strlen(text->text) == text->length ? text->text : NULL;
}

/* Finds the plane of a tensor, or NULL. */
static const struct model_tensor *find_plane(const struct work *work, const char *name, const char *suffix)
{
    char *full = malloc(strlen(name) + strlen(suffix) + 1);
    const struct accel_model_tensor *face = NULL;
    if (full != NULL) {
        strcpy(full, name);
        strcat(full, suffix);
        face = accel_model_file_find(work->file, full);
    }
    free(full);
    return (const struct model_tensor *)(const void *)face;
}

/* Computes the width of the rows from the bytes of plane 0. */
static bool compute_width(const struct accel_format *format, const struct accel_model_tensor *first,
                          uint64_t *out_width)
{
    const uint64_t bytes = first->rank == 0 ? 0 : first->dims[first->rank - 1];
    uint64_t values;
    if (format->kind == ACCEL_FORMAT_PLANAR)
        return bytes != 0 && multiply_u64(bytes, 8, &values) && values % format->digit_bits == 0 &&
               (*out_width = values / format->digit_bits) <= SIZE_MAX;
    return bytes != 0 && bytes % format->plane_bytes[0] == 0 &&
           multiply_u64(bytes / format->plane_bytes[0], format->block_values, out_width) && *out_width <= SIZE_MAX;
}

/* Returns whether a plane has the rows of the first plane, and the row bytes of the type. */
static bool is_matching_plane(const struct accel_format *format, uint32_t plane, uint32_t type, uint64_t width,
                              const struct accel_model_tensor *first, const struct accel_model_tensor *tensor)
{
    size_t row = 0;
    if (tensor->rank != first->rank || accel_format_row_bytes(format->type, plane, (size_t)width, &row) != ACCEL_OK)
        return false;
    for (uint32_t d = 0; d + 1 < first->rank; d++)
        if (tensor->dims[d] != first->dims[d] || tensor->dims[d] == 0)
            return false;
    return type == ACCEL_F16
               ? tensor->type == ACCEL_F16 && row % 2 == 0 && tensor->dims[tensor->rank - 1] == row / 2
               : (tensor->type == ACCEL_U8 || tensor->type == ACCEL_I8) && tensor->dims[tensor->rank - 1] == row;
}

static int32_t collect_planes(struct work *work, const struct accel_model_value *value, const char *name,
                              const struct accel_format *format, struct model_planes *planes,
                              struct accel_model_tensor *face, uint64_t *out_at)
{
    const struct model_tensor *first = NULL;
    uint64_t width = 0;
    for (uint32_t p = 0; p < format->planes; p++) {
        uint32_t type;
        const char *suffix = model_planes_suffix(format, p, &type);
        const struct model_tensor *plane = suffix == NULL ? NULL : find_plane(work, name, suffix);
        if (plane == NULL)
            return refuse_corrupt(work, value, "a plane of that type is missing");
        if (p == 0) {
            first = plane;
            *out_at = (uint64_t)(plane - work->file->tensors);
            *face = plane->face;
            if (!compute_width(format, &plane->face, &width))
                return refuse_corrupt(work, value, "the rows of its first plane are not a whole number of values");
        }
        if (!is_matching_plane(format, p, type, width, &first->face, &plane->face))
            return refuse_corrupt(work, value, "the shape or the type of a plane does not match that type");
        planes->plane[p] = (struct model_plane){plane->face.offset, plane->face.bytes, plane->face.part};
        planes->count++;
        face->bytes = p == 0 ? plane->face.bytes : face->bytes;
        if (p > 0 && !add_u64(face->bytes, plane->face.bytes, &face->bytes))
            return refuse_corrupt(work, value, "its planes are too large");
        work->is_plane[plane - work->file->tensors] = true;
    }
    face->dims[face->rank - 1] = width;
    return ACCEL_OK;
}

static int32_t add_tensor(struct work *work, const struct accel_model_value *value)
{
    const char *name = value->key + strlen(MODEL_PLANES_TYPE), *text = get_text(value);
    const struct model_element *element;
    struct accel_model_file *file = work->file;
    struct model_planes *planes = model_pool_alloc(&file->pool, 1, sizeof(*planes));
    struct model_tensor shown = {.planes = planes};
    struct accel_format format;
    const char *type_name;
    uint64_t at = 0;
    int32_t code;
    if (planes == NULL)
        return model_no_memory(work->error, file->path, sizeof(*planes));
    if (text == NULL || accel_format_describe(accel_format_find(text), &format) != ACCEL_OK ||
        format.kind == ACCEL_FORMAT_SCALAR)
        return refuse(work, value, text == NULL ? ACCEL_E_CORRUPT : ACCEL_E_UNSUPPORTED,
                      "its value is not a type of that layout");
    if (*name == 0 || accel_model_file_find(file, name) != NULL)
        return refuse_corrupt(work, value, "a tensor with that name exists");
    code = collect_planes(work, value, name, &format, planes, &shown.face, &at);
    if (code != ACCEL_OK)
        return code;
    element = format.kind == ACCEL_FORMAT_INTERLEAVED ? model_element_gguf_type(format.type) : NULL;
    type_name = element != NULL ? element->name : format.name;
    shown.face.name = model_pool_text(&file->pool, name, strlen(name));
    shown.face.type_name = model_pool_text(&file->pool, type_name, strlen(type_name));
    if (shown.face.name == NULL || shown.face.type_name == NULL)
        return model_no_memory(work->error, file->path, strlen(name));
    shown.face.type = format.type;
    shown.face.stored_type = shown.face.type_name;
    shown.face.stored_bytes = shown.face.bytes;
    shown.described_at = planes->plane[0].offset;
    work->shown[at] = shown;
    work->count++;
    return ACCEL_OK;
}

/* ---- all of them ---- */

static int32_t check_version(const struct accel_model_file *file, const struct accel_model_value *value,
                             struct accel_error *error)
{
    const char *text = get_text(value);
    if (text != NULL && strcmp(text, MODEL_PLANES_VERSION) == 0)
        return ACCEL_OK;
    return model_fault(error, text == NULL ? ACCEL_E_CORRUPT : ACCEL_E_UNSUPPORTED, file->parts[value->part].path,
                       value->offset == 0 ? MODEL_NO_OFFSET : value->offset,
                       MODEL_PLANES_LAYOUT " is not \"" MODEL_PLANES_VERSION "\", the only supported version");
}

/* Replaces planes by their tensors, and keeps all others. */
static void replace_planes(struct work *work)
{
    struct accel_model_file *file = work->file;
    uint64_t count = 0;
    for (uint64_t i = 0; i < file->tensor_count; i++) {
        if (work->shown[i].planes != NULL)
            file->tensors[count++] = work->shown[i];
        else if (!work->is_plane[i])
            file->tensors[count++] = file->tensors[i];
    }
    file->tensor_count = count;
    file->planes_count = work->count;
}

int32_t model_planes_replace(struct accel_model_file *file, struct accel_error *error)
{
    const struct accel_model_value *version = accel_model_file_find_value(file, MODEL_PLANES_LAYOUT);
    struct work work = {.file = file, .error = error};
    int32_t code = version == NULL ? ACCEL_OK : check_version(file, version, error);
    if (version == NULL || code != ACCEL_OK)
        return code;
    work.is_plane = calloc((size_t)file->tensor_count + 1, sizeof(*work.is_plane));
    work.shown = calloc((size_t)file->tensor_count + 1, sizeof(*work.shown));
    if (work.is_plane == NULL || work.shown == NULL)
        code = model_no_memory(error, file->path, file->tensor_count * sizeof(*work.shown));
    for (uint64_t i = 0; i < file->key_count && code == ACCEL_OK; i++)
        if (strncmp(file->values_by_key[i]->key, MODEL_PLANES_TYPE, strlen(MODEL_PLANES_TYPE)) == 0)
            code = add_tensor(&work, file->values_by_key[i]);
    if (code == ACCEL_OK) {
        replace_planes(&work);
        code = model_container_seal(file, error);
    }
    free(work.is_plane);
    free(work.shown);
    return code;
}

int32_t model_planes_read(const struct accel_model_file *file, const struct model_planes *planes, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error)
{
    unsigned char *to = out;
    int32_t code = ACCEL_OK;
    for (uint32_t p = 0; p < planes->count && bytes > 0 && code == ACCEL_OK; p++) {
        const struct model_plane *plane = &planes->plane[p];
        if (offset < plane->bytes) {
            const uint64_t count = plane->bytes - offset < bytes ? plane->bytes - offset : bytes;
            code = model_part_read(&file->parts[plane->part], plane->offset + offset, count, to, error);
            to += count;
            bytes -= count;
            offset += count;
        }
        offset -= plane->bytes;
    }
    return code;
}
