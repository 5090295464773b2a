/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of a folder are packed, held against each other, and what they are shown as. */
#include "config.h"

#include <accel/quant/format.h>
#include <accel/quant/half.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/model/format/checked.h"
#include "sdk/model/format/container.h"
#include "sdk/model/format/fault.h"
#include "sdk/model/format/json.h"
#include "sdk/model/format/packed.h"
#include "sdk/model/format/text.h"

#define CONFIG_BYTES_MAX ((uint64_t)16 << 20)
#define CONFIG_DEPTH 64u
#define SCAN_BYTES 65536u

/* How the tensors of a matrix are called in a layout. */
struct spelling {
    uint32_t layout;
    const char *digits, *scales, *zeros, *order, *shape; /* shape NULL: there is none */
};

static const struct spelling spellings[] = {
    {MODEL_PACKED_GPTQ, ".qweight", ".scales", ".qzeros", ".g_idx", NULL},
    {MODEL_PACKED_AWQ, ".qweight", ".scales", ".qzeros", ".g_idx", NULL},
    {MODEL_PACKED_WORDS, ".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_g_idx", ".weight_shape"},
    {MODEL_PACKED_BYTES, ".weight", ".weight_scale", ".weight_zero_point", ".weight_g_idx", NULL},
};
#define SPELLINGS (sizeof(spellings) / sizeof(spellings[0]))

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), bytes = strlen(end);
    return length > bytes && strcmp(name + length - bytes, end) == 0;
}

/* The tensor whose name is `name` without its end `end`, and with `part`; or NULL. */
static const struct accel_model_tensor *sister(const struct accel_model_file *file, const char *name, const char *end,
                                               const char *part)
{
    const size_t length = strlen(name) - strlen(end);
    char *other = part == NULL ? NULL : malloc(length + strlen(part) + 1);
    const struct accel_model_tensor *found = NULL;
    if (other != NULL) {
        memcpy(other, name, length);
        strcpy(other + length, part);
        found = accel_model_file_find(file, other);
    }
    free(other);
    return found;
}

/* True where a folder of layout `folder` may hold matrices that are spelt so. */
static bool may_be(const struct spelling *spelling, uint32_t folder)
{
    return spelling->layout == folder || (folder == MODEL_PACKED_WORDS && spelling->layout == MODEL_PACKED_BYTES);
}

/* How the matrix is spelt whose digits this tensor has, or NULL. */
static const struct spelling *digits_of(const struct accel_model_file *file, uint32_t folder,
                                        const struct accel_model_tensor *tensor)
{
    for (size_t i = 0; i < SPELLINGS; i++) {
        const struct spelling *spelling = &spellings[i];
        if (!may_be(spelling, folder) || !ends_in(tensor->name, spelling->digits))
            continue;
        if (spelling->layout != MODEL_PACKED_BYTES)
            return spelling;
        /* A plain matrix has the same name. */
        if (tensor->type == ACCEL_I8 && sister(file, tensor->name, spelling->digits, spelling->scales) != NULL)
            return spelling;
    }
    return NULL;
}

/* The object of a sibling, and of a member of it where `member` is not NULL; none is no failure. */
static int32_t load(const struct accel_model_file *file, const char *name, const char *member, json_t **out_object,
                    struct accel_error *error)
{
    struct accel_error inner = {0};
    char *text = NULL, *path;
    json_t *root = NULL;
    uint64_t length = 0;
    int32_t code = accel_model_file_sibling(file, name, CONFIG_BYTES_MAX, &text, &length, &inner);
    if (code == ACCEL_E_NOT_FOUND)
        return ACCEL_OK;
    if (code != ACCEL_OK)
        return accel_error_set(error, code, "%s", inner.text);
    path = model_text_join(file->folder, name);
    code = path == NULL ? model_no_memory(error, file->path, strlen(name))
                        : model_json_parse(path, 0, text, length, CONFIG_DEPTH, &root, error);
    if (code == ACCEL_OK) {
        json_t *object = member == NULL ? root : json_object_get(root, member);
        *out_object = json_is_object(object) ? json_incref(object) : NULL;
    }
    json_decref(root);
    free(path);
    accel_model_text_free(text);
    return code;
}

/* ---- one matrix ---- */

static int32_t wrong(const struct accel_model_file *file, const struct accel_model_tensor *tensor, const char *what,
                     struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    return model_fault(error, ACCEL_E_CORRUPT, accel_model_file_part_path(file, tensor->part), tensor->offset,
                       "tensor %s: %s", model_quote(shown, tensor->name, strlen(tensor->name)), what);
}

static int32_t not_read(const struct accel_model_file *file, const struct accel_model_tensor *tensor, const char *what,
                        struct accel_error *error)
{
    wrong(file, tensor, what, error);
    if (error)
        error->code = ACCEL_E_UNSUPPORTED;
    return ACCEL_E_UNSUPPORTED;
}

static bool has_shape(const struct accel_model_tensor *tensor, uint32_t type, uint64_t outer, uint64_t inner)
{
    return tensor->type == type && tensor->rank == 2 && tensor->dims[0] == outer && tensor->dims[1] == inner;
}

static bool is_scale(uint32_t type)
{
    return type == ACCEL_F16 || type == ACCEL_BF16 || type == ACCEL_F32;
}

/* Groups of a row, once `width` is known. */
static void set_groups(struct model_packed *packed, uint64_t group)
{
    packed->file_group = group == 0 ? packed->width : group;
    packed->groups = (packed->width + packed->file_group - 1) / packed->file_group;
}

/* GPTQ and AWQ: rows and width from the digits, and the other two held against them. */
static int32_t measure_columns(const struct accel_model_file *file, uint64_t group, struct model_packed *packed,
                               struct accel_error *error)
{
    const struct accel_model_tensor *digits = &packed->digits;
    const bool awq = packed->layout == MODEL_PACKED_AWQ;
    if (digits->type != ACCEL_I32 || digits->rank != 2 || digits->bytes == 0 ||
        (!awq && digits->dims[0] % packed->bits != 0))
        return wrong(file, digits, "is no matrix of packed digits", error);
    if (!multiply_u64(awq ? 1 : digits->dims[0] / packed->bits, awq ? digits->dims[0] : 32, &packed->width) ||
        !multiply_u64(digits->dims[1], awq ? 8 : 1, &packed->rows) || packed->width > UINT32_MAX ||
        packed->rows > UINT32_MAX)
        return wrong(file, digits, "is too large", error);
    set_groups(packed, group);
    if (packed->rows * packed->bits % 32 != 0 || packed->width % 32 != 0)
        return not_read(file, digits, "its rows are no whole number of words", error);
    if (!has_shape(&packed->zeros, ACCEL_I32, packed->groups, packed->rows * packed->bits / 32))
        return wrong(file, &packed->zeros, "is no matrix of I32 that fits the digits", error);
    if (!is_scale(packed->scales.type))
        return not_read(file, &packed->scales, "scales other than F16, BF16 and F32 are not read", error);
    if (!has_shape(&packed->scales, packed->scales.type, packed->groups, packed->rows))
        return wrong(file, &packed->scales, "does not fit the digits", error);
    return ACCEL_OK;
}

/* The two numbers of a weight_shape, held against the digits. */
static int32_t read_shape(const struct accel_model_file *file, const struct accel_model_tensor *shape,
                          struct model_packed *packed, struct accel_error *error)
{
    int64_t wide[2] = {0};
    int32_t narrow[2] = {0}, code;
    if (shape == NULL)
        return wrong(file, &packed->digits, "there is no .weight_shape beside it", error);
    if ((shape->type != ACCEL_I64 && shape->type != ACCEL_I32) || shape->rank != 1 || shape->dims[0] != 2)
        return wrong(file, shape, "is no pair of integers", error);
    if (shape->type == ACCEL_I64) {
        code = accel_model_file_read(file, shape, 0, sizeof(wide), wide, error);
    } else {
        code = accel_model_file_read(file, shape, 0, sizeof(narrow), narrow, error);
        wide[0] = narrow[0];
        wide[1] = narrow[1];
    }
    if (code != ACCEL_OK)
        return code;
    if (wide[0] <= 0 || wide[1] <= 0 || wide[0] > UINT32_MAX || wide[1] > UINT32_MAX)
        return wrong(file, shape, "is no shape of a matrix", error);
    packed->rows = (uint64_t)wide[0];
    packed->width = (uint64_t)wide[1];
    return ACCEL_OK;
}

/* compressed-tensors: digits by rows. */
static int32_t measure_rows(const struct accel_model_file *file, uint64_t group, struct model_packed *packed,
                            struct accel_error *error)
{
    const struct accel_model_tensor *digits = &packed->digits, *scales = &packed->scales, *zeros = &packed->zeros;
    const bool words = packed->layout == MODEL_PACKED_WORDS;
    uint32_t type = ACCEL_I8;
    uint64_t outer;
    if (!words && (digits->rank != 2 || digits->bytes == 0 || digits->dims[0] > UINT32_MAX))
        return wrong(file, digits, "is no matrix", error);
    if (!words) {
        packed->rows = digits->dims[0];
        packed->width = digits->dims[1];
    } else if (!has_shape(digits, ACCEL_I32, packed->rows, (packed->width * packed->bits + 31) / 32)) {
        return wrong(file, digits, "is no matrix of packed digits that fits its shape", error);
    }
    set_groups(packed, group);
    if (!is_scale(scales->type))
        return not_read(file, scales, "scales other than F16, BF16 and F32 are not read", error);
    packed->one_scale = group == 0 && scales->bytes == (scales->type == ACCEL_F32 ? 4 : 2);
    if (!packed->one_scale && !has_shape(scales, scales->type, packed->rows, packed->groups))
        return wrong(file, scales, "does not fit the digits", error);
    if (zeros->name == NULL)
        return ACCEL_OK;
    outer = packed->rows;
    if (words) {
        type = ACCEL_I32;
        outer = (packed->rows * packed->bits + 31) / 32;
    }
    if (packed->one_scale && !words ? zeros->type != ACCEL_I8 || zeros->bytes != 1
                                    : packed->one_scale || !has_shape(zeros, type, outer, packed->groups))
        return wrong(file, zeros, "does not fit the scales", error);
    return ACCEL_OK;
}

static int32_t measure_as(const struct accel_model_file *file, uint32_t bits, uint64_t group,
                          struct model_packed *packed, struct accel_error *error)
{
    packed->bits = packed->layout == MODEL_PACKED_BYTES ? 8 : bits;
    if (packed->layout == MODEL_PACKED_GPTQ || packed->layout == MODEL_PACKED_AWQ)
        return measure_columns(file, group, packed, error);
    return measure_rows(file, group, packed, error);
}

/* True where both say the same of a matrix. */
static bool same_measure(const struct model_packed *a, const struct model_packed *b)
{
    return a->bits == b->bits && (a->groups == 1 ? b->groups == 1 : a->file_group == b->file_group);
}

/* Measures by the one choice of the configuration that fits. */
static int32_t measure(const struct accel_model_file *file, const struct model_packing *packing,
                       struct model_packed *packed, struct accel_error *error)
{
    struct model_packed found = {0};
    if (packing->choice_count == 0)
        return not_read(file, &packed->digits, "the configuration says nothing of matrices that are packed", error);
    for (uint32_t i = 0; i < packing->choice_count; i++) {
        struct model_packed tried = *packed;
        if (measure_as(file, packing->choices[i].bits, packing->choices[i].group, &tried, NULL) != ACCEL_OK)
            continue;
        if (found.rows != 0 && !same_measure(&found, &tried))
            return not_read(file, &packed->digits, "fits several of the ways to pack that the configuration names",
                            error);
        found = tried;
    }
    if (found.rows == 0)
        return measure_as(file, packing->choices[0].bits, packing->choices[0].group, packed, error);
    *packed = found;
    return ACCEL_OK;
}

/* Groups that do not rise with the columns are kept; the list then belongs to the file. All of them -1: none. */
static int32_t read_order(struct accel_model_file *file, const struct accel_model_tensor *order,
                          struct model_packed *packed, struct accel_error *error)
{
    uint32_t *groups;
    bool rise = true, unset = true;
    int32_t code;
    if (order->type != ACCEL_I32 || order->rank != 1 || order->dims[0] != packed->width)
        return wrong(file, order, "is no list of I32 with an element for each column", error);
    groups = malloc((size_t)order->bytes);
    if (groups == NULL)
        return model_no_memory(error, file->path, order->bytes);
    code = accel_model_file_read(file, order, 0, order->bytes, groups, error);
    for (uint64_t i = 0; i < packed->width && code == ACCEL_OK; i++) {
        rise = rise && groups[i] == i / packed->file_group;
        unset = unset && groups[i] == UINT32_MAX;
    }
    for (uint64_t i = 0; i < packed->width && code == ACCEL_OK && !unset; i++)
        if (groups[i] >= packed->groups)
            code = wrong(file, order, "names a group that is not there", error);
    if (code == ACCEL_OK && !rise && !unset) {
        uint32_t *kept = model_pool_alloc(&file->pool, packed->width, sizeof(*kept));
        if (kept == NULL)
            code = model_no_memory(error, file->path, order->bytes);
        else
            memcpy(kept, groups, (size_t)order->bytes);
        packed->order = kept;
    }
    free(groups);
    return code;
}

/* What all scales of a matrix have in common. */
struct scales {
    bool halves;    /* a half holds each exactly */
    float least;    /* of the magnitudes above zero */
    float greatest; /* NaN counts as infinite */
};

static int32_t scan_scales(const struct accel_model_file *file, const struct model_packed *packed, struct scales *out,
                           struct accel_error *error)
{
    const struct accel_model_tensor *tensor = &packed->scales;
    const uint64_t each = tensor->type == ACCEL_F32 ? 4 : 2;
    unsigned char *bytes = malloc(SCAN_BYTES);
    int32_t code = bytes == NULL ? model_no_memory(error, file->path, SCAN_BYTES) : ACCEL_OK;
    *out = (struct scales){true, FLT_MAX, 0};
    for (uint64_t at = 0; at < tensor->bytes && code == ACCEL_OK; at += SCAN_BYTES) {
        const uint64_t count = tensor->bytes - at < SCAN_BYTES ? tensor->bytes - at : SCAN_BYTES;
        code = accel_model_file_read(file, tensor, at, count, bytes, error);
        for (uint64_t i = 0; i < count && code == ACCEL_OK; i += each) {
            const float scale = model_packed_scale(tensor->type, bytes + i), size = fabsf(scale);
            out->halves = out->halves && accel_f16_to_f32(accel_f16_from_f32(scale)) == scale;
            out->greatest = size <= out->greatest ? out->greatest : isnan(size) ? INFINITY : size;
            if (size > 0 && size < out->least)
                out->least = size;
        }
    }
    free(bytes);
    return code;
}

/* Symmetric where every zero point is in the middle: such matrices have faster kernels. */
static int32_t choose_scheme(const struct accel_model_file *file, const struct model_packed *packed,
                             uint32_t *out_scheme, struct accel_error *error)
{
    const uint64_t stride = packed->zeros.name == NULL ? 0 : model_packed_zero_stride(packed);
    unsigned char *zeros;
    int32_t code;
    *out_scheme = ACCEL_SCHEME_SYMMETRIC;
    if (packed->zeros.name == NULL)
        return ACCEL_OK;
    zeros = malloc((size_t)packed->zeros.bytes + 4);
    code = zeros == NULL ? model_no_memory(error, file->path, packed->zeros.bytes)
                         : accel_model_file_read(file, &packed->zeros, 0, packed->zeros.bytes, zeros, error);
    for (uint64_t g = 0; g < packed->groups && code == ACCEL_OK; g++)
        for (uint64_t row = 0; row < packed->rows && *out_scheme == ACCEL_SCHEME_SYMMETRIC; row++)
            if (model_packed_zero(packed, zeros, stride, g, row) != 1u << (packed->bits - 1))
                *out_scheme = ACCEL_SCHEME_ASYMMETRIC;
    free(zeros);
    return code;
}

static int32_t choose_planar(const struct accel_model_file *file, struct model_packed *packed,
                             struct accel_error *error)
{
    uint32_t scheme, log2_group = 5;
    int32_t code = choose_scheme(file, packed, &scheme, error);
    for (packed->group = 512; packed->file_group % packed->group != 0 || packed->width % packed->group != 0;)
        packed->group /= 2;
    while (1u << log2_group < packed->group)
        log2_group++;
    packed->type = ACCEL_PLANAR(packed->bits, log2_group, scheme);
    packed->planes = scheme == ACCEL_SCHEME_ASYMMETRIC ? 3 : 2;
    packed->plane_bytes[0] = packed->rows * (packed->width / 8 * packed->bits);
    packed->plane_bytes[1] = packed->rows * (packed->width / packed->group) * 2;
    packed->plane_bytes[2] = packed->planes < 3 ? 0 : packed->rows * (packed->width / packed->group);
    return code;
}

/* A planar type where one says it, else decoded values; both with halves where these are normal ones. */
static int32_t choose_type(const struct accel_model_file *file, struct model_packed *packed, struct accel_error *error)
{
    const bool whole = packed->width % 32 == 0 && packed->file_group % 32 == 0 && packed->order == NULL;
    const float steps = (float)((1u << packed->bits) - 1);
    struct scales scales = {true, 0, 0};
    uint64_t bytes;
    int32_t code = ACCEL_OK;
    if (!whole || packed->scales.type != ACCEL_F16)
        code = scan_scales(file, packed, &scales, error);
    if (code != ACCEL_OK)
        return code;
    if (whole && (scales.halves || (scales.least >= 0x1p-14f && scales.greatest <= 65504.0f)))
        return choose_planar(file, packed, error);
    packed->dense = true;
    packed->type = scales.least >= 0x1p-14f && scales.greatest * steps <= 65504.0f ? ACCEL_F16 : ACCEL_F32;
    packed->planes = 1;
    if (!multiply_u64(packed->rows, packed->width, &bytes) ||
        !multiply_u64(bytes, packed->type == ACCEL_F16 ? 2 : 4, &packed->plane_bytes[0]))
        return wrong(file, &packed->digits, "is too large", error);
    return ACCEL_OK;
}

static int32_t describe(struct accel_model_file *file, const struct model_packed *packed, const char *end,
                        struct model_tensor *out, struct accel_error *error)
{
    const size_t length = strlen(packed->digits.name) - strlen(end);
    struct accel_format format;
    char *name = model_pool_room(&file->pool, length + strlen(".weight"));
    int32_t code = accel_format_describe(packed->type, &format);
    if (code != ACCEL_OK)
        return accel_error_set(error, ACCEL_E_INTERNAL, "%s: type 0x%x", packed->digits.name, packed->type);
    out->face = packed->digits;
    out->face.type = packed->type;
    out->face.type_name = packed->type == ACCEL_F16   ? "F16"
                          : packed->type == ACCEL_F32 ? "F32"
                                                      : model_pool_text(&file->pool, format.name, strlen(format.name));
    if (name == NULL || out->face.type_name == NULL)
        return model_no_memory(error, file->path, length);
    memcpy(name, packed->digits.name, length);
    strcpy(name + length, ".weight");
    out->face.name = name;
    out->face.rank = 2;
    out->face.dims[0] = packed->rows;
    out->face.dims[1] = packed->width;
    out->face.bytes = 0;
    for (uint32_t p = 0; p < packed->planes; p++)
        out->face.bytes += packed->plane_bytes[p];
    out->described_at = packed->digits.offset;
    out->packed = packed;
    return ACCEL_OK;
}

static int32_t make(struct accel_model_file *file, const struct model_packing *packing, const struct spelling *spelling,
                    const struct accel_model_tensor *digits, struct model_tensor *out, struct accel_error *error)
{
    const char *name = digits->name, *end = spelling->digits;
    const struct accel_model_tensor *zeros = sister(file, name, end, spelling->zeros);
    const struct accel_model_tensor *scales = sister(file, name, end, spelling->scales);
    const struct accel_model_tensor *order = sister(file, name, end, spelling->order);
    const bool needs_zeros = spelling->shape == NULL && spelling->layout != MODEL_PACKED_BYTES;
    struct model_packed *packed = model_pool_alloc(&file->pool, 1, sizeof(*packed));
    int32_t code = ACCEL_OK;
    if (packed == NULL)
        return model_no_memory(error, file->path, sizeof(*packed));
    if (needs_zeros && zeros == NULL)
        return wrong(file, digits, "there is no .qzeros beside it", error);
    if (scales == NULL)
        return wrong(file, digits,
                     needs_zeros ? "there is no .scales beside it" : "there is no .weight_scale beside it", error);
    packed->digits = *digits;
    packed->scales = *scales;
    if (zeros != NULL)
        packed->zeros = *zeros;
    packed->layout = spelling->layout;
    packed->zero_add = packing->zero_add;
    if (spelling->shape != NULL)
        code = read_shape(file, sister(file, name, end, spelling->shape), packed, error);
    if (code == ACCEL_OK)
        code = measure(file, packing, packed, error);
    if (code == ACCEL_OK && order != NULL)
        code = read_order(file, order, packed, error);
    if (code == ACCEL_OK)
        code = choose_type(file, packed, error);
    return code == ACCEL_OK ? describe(file, packed, end, out, error) : code;
}

/* ---- all of them ---- */

/* True for the other parts of a matrix whose digits are there. */
static bool is_part(const struct accel_model_file *file, uint32_t folder, const char *name)
{
    for (size_t i = 0; i < SPELLINGS; i++) {
        const struct spelling *s = &spellings[i];
        const char *const ends[] = {s->scales, s->zeros, s->order, s->shape};
        for (size_t k = 0; may_be(s, folder) && k < sizeof(ends) / sizeof(ends[0]); k++) {
            const struct accel_model_tensor *digits =
                ends[k] != NULL && ends_in(name, ends[k]) ? sister(file, name, ends[k], s->digits) : NULL;
            if (digits != NULL && digits_of(file, folder, digits) == s)
                return true;
        }
    }
    return false;
}

static int32_t replace(struct accel_model_file *file, const struct model_packing *packing, struct accel_error *error)
{
    struct model_tensor *tensors = calloc((size_t)file->tensor_count + 1, sizeof(*tensors)), *before = file->tensors;
    uint64_t count = 0, packed = 0;
    int32_t code =
        tensors == NULL ? model_no_memory(error, file->path, file->tensor_count * sizeof(*tensors)) : ACCEL_OK;
    for (uint64_t i = 0; i < file->tensor_count && code == ACCEL_OK; i++) {
        const struct spelling *spelling = digits_of(file, packing->layout, &before[i].face);
        if (spelling != NULL) {
            code = make(file, packing, spelling, &before[i].face, &tensors[count++], error);
            packed++;
        } else if (!is_part(file, packing->layout, before[i].face.name)) {
            tensors[count++] = before[i];
        }
    }
    if (code != ACCEL_OK) {
        free(tensors);
        return code;
    }
    free(before);
    file->tensors = tensors;
    file->tensor_room = file->tensor_count + 1;
    file->tensor_count = count;
    file->packed_count = packed;
    return model_container_seal(file, error);
}

/* True where there are digits of this layout, 0: of any whose digits cannot be plain tensors. */
static bool has_digits(const struct accel_model_file *file, uint32_t folder)
{
    for (uint64_t i = 0; i < file->tensor_count; i++) {
        const struct accel_model_tensor *tensor = &file->tensors[i].face;
        if (folder != 0 ? digits_of(file, folder, tensor) != NULL
                        : ends_in(tensor->name, ".qweight") || ends_in(tensor->name, ".weight_packed"))
            return true;
    }
    return false;
}

int32_t model_packed_present(struct accel_model_file *file, struct accel_error *error)
{
    struct model_packing packing = {.path = file->path};
    json_t *object = NULL;
    int32_t code = ACCEL_OK;
    if (file->format != ACCEL_MODEL_SAFETENSORS || file->folder == NULL || file->packed_count != 0 ||
        file->planes_count != 0)
        return ACCEL_OK;
    code = load(file, "config.json", "quantization_config", &object, error);
    if (code == ACCEL_OK && object == NULL && has_digits(file, 0))
        code = load(file, "quantize_config.json", NULL, &object, error);
    if (code == ACCEL_OK && object != NULL)
        code = model_packing_read(object, &packing, error);
    else if (code == ACCEL_OK && has_digits(file, 0))
        code = model_fault(error, ACCEL_E_UNSUPPORTED, file->path, MODEL_NO_OFFSET,
                           "has packed digits, and neither quantization_config in config.json nor "
                           "quantize_config.json");
    if (code == ACCEL_OK && object != NULL && has_digits(file, packing.layout))
        code = replace(file, &packing, error);
    else if (code == ACCEL_OK && object != NULL && has_digits(file, 0))
        code = model_fault(error, ACCEL_E_UNSUPPORTED, file->path, MODEL_NO_OFFSET,
                           "has packed digits of another method than its quantization_config says");
    json_decref(object);
    return code;
}
