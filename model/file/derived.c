/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/derived.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/packed.h"
#include "model/file/planes.h"
#include "model/file/pool.h"
#include "model/file/rows.h"

/* Rows that are read together where others lie between them. */
enum { READ_ROWS = 128 };

struct model_derived {
    struct model_tensor *sources; /* as they were in the table */
    uint64_t count;
    bool transposed;
    uint32_t first, step;
    uint64_t parts;           /* matrices of a source */
    uint64_t rows;            /* that are taken of each matrix */
    uint64_t stored;          /* rows of a matrix of a source, the columns of a transposed one */
    uint64_t width;           /* of a row of the result */
    uint64_t element;         /* bytes, of a transposed tensor */
    struct model_rows layout; /* of a source that is not transposed */
};

/* Reads a range of stacked sources: plane by plane, in each the sources one after the other. */
static int32_t read_stack(const struct accel_model_file *file, const struct model_derived *derived, uint64_t offset,
                          uint64_t bytes, unsigned char *out, struct accel_error *error)
{
    const uint64_t end = offset + bytes;
    uint64_t begin = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < derived->layout.planes; p++) {
        const uint64_t each = derived->layout.rows * derived->layout.row_bytes[p];
        const uint64_t inside = model_rows_plane(&derived->layout, p);

        for (uint64_t s = 0; s < derived->count && code == ACCEL_OK; s++, begin += each) {
            const uint64_t low = begin > offset ? begin : offset, high = begin + each < end ? begin + each : end;

            if (low < high)
                code = model_stored_read(file, &derived->sources[s], inside + low - begin, high - low,
                                         out + (low - offset), error);
        }
    }
    return code;
}

/* Reads rows row .. row + count of one plane, all of one matrix, of stacked sources whose rows are not all taken. */
static int32_t read_rows(const struct accel_model_file *file, const struct model_derived *derived, uint32_t plane,
                         uint64_t row, uint64_t count, unsigned char *out, struct accel_error *error)
{
    const uint64_t each = derived->layout.row_bytes[plane], matrix = row / derived->rows;
    const uint64_t first =
        matrix % derived->parts * derived->stored + derived->first + row % derived->rows * derived->step;
    const uint64_t span = (count - 1) * derived->step + 1;
    unsigned char *band = malloc(span * each);
    int32_t code;

    if (band == NULL)
        return model_no_memory(error, file->path, span * each);
    code = model_stored_read(file, &derived->sources[matrix / derived->parts],
                             model_rows_plane(&derived->layout, plane) + first * each, span * each, band, error);
    for (uint64_t r = 0; r < count && code == ACCEL_OK; r++)
        memcpy(out + r * each, band + r * derived->step * each, each);
    free(band);
    return code;
}

/* Reads a range of stacked sources whose rows are not all taken, through whole rows. */
static int32_t read_picked(const struct accel_model_file *file, const struct model_derived *derived, uint64_t offset,
                           uint64_t bytes, unsigned char *out, struct accel_error *error)
{
    const uint64_t total = derived->count * derived->parts * derived->rows, end = offset + bytes;
    uint64_t begin = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < derived->layout.planes; p++) {
        const uint64_t each = derived->layout.row_bytes[p], stop = begin + total * each;

        while (offset < end && offset < stop && code == ACCEL_OK) {
            const uint64_t row = (offset - begin) / each, left = derived->rows - row % derived->rows;
            const uint64_t wanted = ((end < stop ? end : stop) - begin + each - 1) / each - row;
            const uint64_t most = wanted < left ? wanted : left, count = most < READ_ROWS ? most : READ_ROWS;
            const uint64_t low = begin + row * each, high = low + count * each < end ? low + count * each : end;
            unsigned char *rows = malloc(count * each);

            if (rows == NULL)
                return model_no_memory(error, file->path, count * each);
            code = read_rows(file, derived, p, row, count, rows, error);
            if (code == ACCEL_OK)
                memcpy(out, rows + (offset - low), high - offset);
            free(rows);
            out += high - offset;
            offset = high;
        }
        begin = stop;
    }
    return code;
}

/* Reads rows first .. first + count of one transposed matrix to out [count, width]. */
static int32_t read_columns(const struct accel_model_file *file, const struct model_derived *derived, uint64_t matrix,
                            uint64_t first, uint64_t count, unsigned char *out, struct accel_error *error)
{
    const struct model_tensor *source = &derived->sources[matrix / derived->parts];
    const uint64_t element = derived->element, line = derived->stored * element;
    const uint64_t inside = matrix % derived->parts * derived->width * line;
    const uint64_t column = derived->first + first * derived->step, span = (count - 1) * derived->step + 1;
    unsigned char *band = malloc(span * element);
    int32_t code = ACCEL_OK;

    if (band == NULL)
        return model_no_memory(error, file->path, span * element);
    for (uint64_t i = 0; i < derived->width && code == ACCEL_OK; i++) {
        code = model_stored_read(file, source, inside + i * line + column * element, span * element, band, error);
        for (uint64_t r = 0; r < count && code == ACCEL_OK; r++)
            memcpy(out + (r * derived->width + i) * element, band + r * derived->step * element, element);
    }
    free(band);
    return code;
}

/* Reads a range of a transposed tensor through whole rows. */
static int32_t read_transposed(const struct accel_model_file *file, const struct model_derived *derived,
                               uint64_t offset, uint64_t bytes, unsigned char *out, struct accel_error *error)
{
    const uint64_t row = derived->width * derived->element, end = offset + bytes;
    const uint64_t matrix_bytes = derived->rows * row;
    int32_t code = ACCEL_OK;

    while (offset < end && code == ACCEL_OK) {
        const uint64_t matrix = offset / matrix_bytes, first = offset % matrix_bytes / row;
        const uint64_t begin = matrix * matrix_bytes + first * row;
        const uint64_t last = (end - matrix * matrix_bytes + row - 1) / row;
        const uint64_t count = (last < derived->rows ? last : derived->rows) - first;
        const uint64_t stop = begin + count * row < end ? begin + count * row : end;
        const bool whole = begin == offset && begin + count * row == stop;
        unsigned char *rows = whole ? out : malloc(count * row);

        if (rows == NULL)
            return model_no_memory(error, file->path, count * row);
        code = read_columns(file, derived, matrix, first, count, rows, error);
        if (!whole) {
            memcpy(out, rows + (offset - begin), stop - offset);
            free(rows);
        }
        out += stop - offset;
        offset = stop;
    }
    return code;
}

int32_t model_derived_read(const struct accel_model_file *file, const struct model_derived *derived, uint64_t offset,
                           uint64_t bytes, void *out, struct accel_error *error)
{
    return derived->transposed                ? read_transposed(file, derived, offset, bytes, out, error)
           : derived->rows != derived->stored ? read_picked(file, derived, offset, bytes, out, error)
                                              : read_stack(file, derived, offset, bytes, out, error);
}

/* ---- replacing the sources ---- */

/* State of model_derive. */
struct work {
    struct accel_model_file *file;
    struct accel_error *error;
    bool *used;                /* [tensors]: a source */
    struct model_tensor *made; /* [derivations] */
};

static int32_t refuse(const struct work *work, int32_t code, const struct accel_model_tensor *tensor, const char *what)
{
    char shown[MODEL_QUOTE_BYTES];

    return model_fault(work->error, code, accel_model_file_part_path(work->file, tensor->part), tensor->offset,
                       "tensor %s of type %s %s", model_quote(shown, tensor->name, strlen(tensor->name)),
                       tensor->type_name, what);
}

/* Refuses a tensor of another shape than the wanted one of the same rank. */
static int32_t refuse_dims(const struct work *work, const struct accel_model_tensor *tensor, const uint64_t *wanted)
{
    char has[MODEL_SHAPE_BYTES], requires[MODEL_SHAPE_BYTES], what[2 * MODEL_SHAPE_BYTES + 32];

    snprintf(what, sizeof(what), "has shape %s, not %s", model_shape_text(has, tensor->rank, tensor->dims),
             model_shape_text(requires, tensor->rank, wanted));
    return refuse(work, ACCEL_E_CORRUPT, tensor, what);
}

static int32_t find_sources(struct work *work, const struct model_derivation *from, struct model_derived *derived)
{
    const struct accel_model_tensor *one = NULL;

    for (uint64_t s = 0; s < from->count; s++) {
        const struct accel_model_tensor *tensor = accel_model_file_find(work->file, from->sources[s]);

        if (tensor == NULL)
            return model_fault(work->error, ACCEL_E_CORRUPT, work->file->path,
                               work->file->format == ACCEL_MODEL_GGUF ? MODEL_GGUF_KEYS : 0, "tensor '%s' is missing",
                               from->sources[s]);
        one = s == 0 ? tensor : one;
        if (tensor->type != one->type || tensor->rank != one->rank ||
            memcmp(tensor->dims, one->dims, sizeof(one->dims)) != 0) {
            char what[MODEL_QUOTE_BYTES + 64], shown[MODEL_QUOTE_BYTES];

            snprintf(what, sizeof(what), "differs in type or shape from %s, which it is stacked with",
                     model_quote(shown, one->name, strlen(one->name)));
            return refuse(work, ACCEL_E_CORRUPT, tensor, what);
        }
        work->used[model_tensor_index(work->file, tensor)] = true;
        derived->sources[s] = *(const struct model_tensor *)(const void *)tensor;
    }
    if (one->rank == 0 || one->rank > 3 || (from->rank != 0 && one->rank != from->rank)) {
        char what[64];

        snprintf(what, sizeof(what), "has rank %u, not %u", one->rank, from->rank == 0 ? 2 : from->rank);
        return refuse(work, ACCEL_E_CORRUPT, one, what);
    }
    if (model_tensor_elements(one) == 0)
        return refuse(work, ACCEL_E_CORRUPT, one, "is empty");
    return from->dims[0] == 0 || memcmp(from->dims, one->dims, one->rank * sizeof(one->dims[0])) == 0
               ? ACCEL_OK
               : refuse_dims(work, one, from->dims);
}

/* Sets the shape of what is derived from `derived->sources`. */
static int32_t shape(const struct work *work, const struct model_derivation *from, struct model_derived *derived)
{
    const struct accel_model_tensor *one = &derived->sources[0].face;
    const uint64_t inner = one->dims[one->rank - 1];
    uint64_t lines = one->rank == 1 ? 1 : one->dims[one->rank - 2];

    derived->parts = one->rank == 3 ? one->dims[0] : 1;
    if (from->flat && one->rank == 2) { /* a vector for each part */
        derived->parts = lines;
        lines = 1;
    }
    derived->transposed = from->transposed;
    derived->first = from->first;
    derived->step = from->step;
    if (!from->transposed) {
        derived->width = inner;
        derived->stored = lines;
        derived->rows = (lines - from->first + from->step - 1) / from->step;
        return model_rows_of(one, one->type, &derived->layout) == ACCEL_OK
                   ? ACCEL_OK
                   : refuse(work, ACCEL_E_UNSUPPORTED, one, "cannot be stacked");
    }
    derived->width = lines;
    derived->stored = inner;
    derived->rows = (inner - from->first + from->step - 1) / from->step;
    derived->element = one->bytes / model_tensor_elements(one);
    if (one->type != ACCEL_F32 && one->type != ACCEL_F16 && one->type != ACCEL_BF16)
        return refuse(work, ACCEL_E_UNSUPPORTED, one, "cannot be transposed: F32, F16 and BF16 can");
    return ACCEL_OK;
}

static int32_t make(struct work *work, const struct model_derivation *from, struct model_tensor *out_made)
{
    struct accel_model_file *file = work->file;
    struct model_derived *derived = model_pool_alloc(&file->pool, 1, sizeof(*derived));
    struct accel_model_tensor *face = &out_made->face;
    int32_t code;

    if (derived != NULL) {
        derived->count = from->count;
        derived->sources = model_pool_alloc(&file->pool, from->count, sizeof(*derived->sources));
    }
    if (derived == NULL || derived->sources == NULL)
        return model_no_memory(work->error, file->path, from->count * sizeof(*derived->sources));
    code = find_sources(work, from, derived);
    if (code == ACCEL_OK)
        code = shape(work, from, derived);
    if (code != ACCEL_OK)
        return code;
    *out_made = derived->sources[0];
    out_made->packed = NULL;
    out_made->planes = NULL;
    out_made->derived = derived;
    memset(face->dims, 0, sizeof(face->dims));
    face->name = model_pool_text(&file->pool, from->name, strlen(from->name));
    if (face->name == NULL)
        return model_no_memory(work->error, file->path, strlen(from->name));
    face->rank = from->flat ? 1 : 2;
    face->dims[0] = from->count * derived->parts * derived->rows * (from->flat ? derived->width : 1);
    face->dims[1] = from->flat ? 0 : derived->width;
    face->bytes = face->bytes / derived->stored * derived->rows * from->count;
    if (from->transposed)
        face->bytes = from->count * derived->parts * derived->rows * derived->width * derived->element;
    return ACCEL_OK;
}

/* Replaces the sources, and keeps all others. */
static int32_t replace(struct work *work, uint64_t count)
{
    struct accel_model_file *file = work->file;
    uint64_t kept = 0;
    int32_t code = model_container_reserve_tensors(file, count, work->error);

    if (code != ACCEL_OK)
        return code;
    for (uint64_t i = 0; i < file->tensor_count; i++)
        if (!work->used[i])
            file->tensors[kept++] = file->tensors[i];
    memcpy(file->tensors + kept, work->made, count * sizeof(*work->made));
    file->tensor_count = kept + count;
    file->derived_count += count;
    return model_container_seal(file, work->error);
}

int32_t model_derive(struct accel_model_file *file, const struct model_derivation *derivations, uint64_t count,
                     struct accel_error *error)
{
    struct work work = {.file = file, .error = error};
    int32_t code = ACCEL_OK;

    if (count == 0)
        return ACCEL_OK;
    work.used = calloc((size_t)file->tensor_count + 1, sizeof(*work.used));
    work.made = calloc((size_t)count, sizeof(*work.made));
    if (work.used == NULL || work.made == NULL)
        code = model_no_memory(error, file->path, count * sizeof(*work.made));
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++)
        code = make(&work, &derivations[i], &work.made[i]);
    if (code == ACCEL_OK)
        code = replace(&work, count);
    free(work.used);
    free(work.made);
    return code;
}

const char *model_derived_source(const struct accel_model_tensor *tensor, uint64_t index)
{
    const struct model_derived *derived = ((const struct model_tensor *)(const void *)tensor)->derived;

    return derived == NULL || index >= derived->count ? NULL : derived->sources[index].face.name;
}

bool model_product_factors(const struct accel_model_tensor *tensor, uint64_t count, float *out_factors)
{
    const struct model_tensor *own = (const struct model_tensor *)(const void *)tensor, *sources = own;
    bool is_any = false;

    if (own != NULL && own->derived != NULL)
        sources = own->derived->sources;
    if (own == NULL || count != (own->derived == NULL ? 1 : own->derived->count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        out_factors[i] = sources[i].packed == NULL ? 1 : model_packed_factor(sources[i].packed);
        is_any = is_any || out_factors[i] != 1;
    }
    return is_any;
}

float model_row_factor(const struct accel_model_tensor *tensor, uint64_t row)
{
    const struct model_tensor *own = (const struct model_tensor *)(const void *)tensor, *source = own;

    if (own->derived != NULL)
        source = &own->derived->sources[row / (own->derived->parts * own->derived->rows)];
    return source->packed == NULL ? 1 : model_packed_factor(source->packed);
}

/* Returns where a plane of a source is mapped; NULL: the source is decoded, or its planes do not lie apart. */
static const unsigned char *map_source(const struct accel_model_file *file, const struct model_tensor *source,
                                       uint32_t plane)
{
    struct model_plane place = {.offset = source->face.offset, .part = source->face.part};

    if (source->packed != NULL || (source->planes == NULL && plane != 0))
        return NULL;
    if (source->planes != NULL)
        place = source->planes->plane[plane];
    return file->parts[place.part].data == NULL ? NULL : file->parts[place.part].data + place.offset;
}

const void *model_derived_part(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                               uint32_t plane, uint64_t offset, uint64_t bytes)
{
    const struct model_derived *derived = ((const struct model_tensor *)(const void *)tensor)->derived;
    const unsigned char *mapped;
    uint64_t each;

    if (derived == NULL || derived->transposed || derived->rows != derived->stored || plane >= derived->layout.planes)
        return NULL;
    each = derived->layout.rows * derived->layout.row_bytes[plane];
    if (offset / each >= derived->count || bytes > each - offset % each)
        return NULL;
    mapped = map_source(file, &derived->sources[offset / each], plane);
    for (uint64_t i = 0; bytes == 0 && mapped != NULL && i < derived->count * derived->layout.planes; i++)
        if (map_source(file, &derived->sources[i / derived->layout.planes], i % derived->layout.planes) == NULL)
            mapped = NULL;
    return mapped == NULL ? NULL : mapped + offset % each;
}

void model_reshape(struct accel_model_file *file, const char *name, uint32_t rank)
{
    const struct accel_model_tensor *found = accel_model_file_find(file, name);
    struct accel_model_tensor *tensor;

    if (found == NULL || found->rank != 3 - rank)
        return;
    tensor = &file->tensors[model_tensor_index(file, found)].face;
    tensor->rank = rank;
    if (rank == 1) {
        tensor->dims[0] *= tensor->dims[1];
        tensor->dims[1] = 0;
    } else {
        tensor->dims[1] = tensor->dims[0];
        tensor->dims[0] = 1;
    }
}
