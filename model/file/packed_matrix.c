/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the packed tensors of a folder and replaces them by matrices. */
#include "model/file/packed_matrix.h"

#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/json.h"
#include "model/file/text.h"

#define CONFIG_BYTES_MAX ((uint64_t)16 << 20)
#define CONFIG_DEPTH 64u

/* Suffixes of the tensors of a matrix in one layout; NULL: the layout has none. */
struct spelling {
    uint32_t layout;
    const char *codes, *scales, *zeros, *order, *shape;
    const char *global; /* one number for all scales, which divides if its name is in `divisor` */
    const char *input;  /* rounding of activations, which is not done */
};

static const char blocks_end[] = "_blocks"; /* of codes of MXFP4 */
static const char divisor[] = ".weight_global_scale";

static const struct spelling spellings[] = {
    {MODEL_PACKED_GPTQ, ".qweight", ".scales", ".qzeros", ".g_idx", NULL, NULL, NULL},
    {MODEL_PACKED_AWQ, ".qweight", ".scales", ".qzeros", ".g_idx", NULL, NULL, NULL},
    {MODEL_PACKED_FLOATS, ".weight_packed", ".weight_scale", NULL, NULL, NULL, divisor, ".input_global_scale"},
    {MODEL_PACKED_FLOATS, ".weight", ".weight_scale", NULL, NULL, NULL, ".weight_scale_2", ".input_scale"},
    {MODEL_PACKED_FLOATS, ".weight", ".weight_scale_inv", NULL, NULL, NULL, NULL, ".input_scale"},
    {MODEL_PACKED_FLOATS, blocks_end, "_scales", NULL, NULL, NULL, NULL, NULL},
    {MODEL_PACKED_WORDS, ".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_g_idx", ".weight_shape",
     NULL, NULL},
    {MODEL_PACKED_BYTES, ".weight", ".weight_scale", ".weight_zero_point", ".weight_g_idx", NULL, NULL, NULL},
};
#define SPELLINGS (sizeof(spellings) / sizeof(spellings[0]))

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), bytes = strlen(end);
    return length > bytes && strcmp(name + length - bytes, end) == 0;
}

/* Finds the tensor named `name` with `part` in place of its suffix `end`, or NULL. */
static const struct accel_model_tensor *find_sibling(const struct accel_model_file *file, const char *name,
                                                     const char *end, const char *part)
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

/* Returns whether a folder of layout `folder` may contain matrices of this spelling. */
static bool is_possible(const struct spelling *spelling, uint32_t folder)
{
    return spelling->layout == folder || (folder == MODEL_PACKED_WORDS && (spelling->layout == MODEL_PACKED_BYTES ||
                                                                           spelling->layout == MODEL_PACKED_FLOATS));
}

/* Returns the bits of floats whose codes have this type; 0: it is no type of codes. */
static uint32_t float_bits(uint32_t type)
{
    return type == ACCEL_U8 ? 4 : type == ACCEL_F8_E4M3 || type == ACCEL_F8_E5M2 ? 8 : 0;
}

/* Returns the spelling of the matrix whose codes this tensor holds, or NULL. */
static const struct spelling *find_spelling(const struct accel_model_file *file, uint32_t folder,
                                            const struct accel_model_tensor *tensor)
{
    for (size_t i = 0; i < SPELLINGS; i++) {
        const struct spelling *spelling = &spellings[i];
        if (!is_possible(spelling, folder) || !ends_in(tensor->name, spelling->codes))
            continue;
        if (spelling->layout != MODEL_PACKED_BYTES && spelling->layout != MODEL_PACKED_FLOATS)
            return spelling;
        /* A plain matrix has the same name, so type and scales decide. */
        if ((spelling->layout == MODEL_PACKED_BYTES ? tensor->type == ACCEL_I8 : float_bits(tensor->type) != 0) &&
            find_sibling(file, tensor->name, spelling->codes, spelling->scales) != NULL)
            return spelling;
    }
    return NULL;
}

/* Loads the JSON object of a sibling file, or its member `member`. A missing file is no error. */
static int32_t load_object(const struct accel_model_file *file, const char *name, const char *member,
                           json_t **out_object, struct accel_error *error)
{
    struct accel_error inner = {0};
    char *text = NULL, *path;
    json_t *root = NULL;
    uint64_t length = 0;
    int32_t code = accel_model_file_sibling(file, name, CONFIG_BYTES_MAX, &text, &length, &inner);
    if (code == ACCEL_E_NOT_FOUND)
        return ACCEL_OK;
    if (code != ACCEL_OK)
        return model_error_copy(error, &inner);
    path = model_text_join(file->folder, name);
    code = path == NULL ? model_no_memory(error, file->path, strlen(name))
                        : model_json_parse(path, 0, text, length, CONFIG_DEPTH, &root, error);
    if (code == ACCEL_OK) {
        json_t *object = member == NULL ? root : json_object_get(root, member);
        if (object != NULL && !json_is_null(object) && !json_is_object(object))
            code = model_fault(error, ACCEL_E_CORRUPT, path, MODEL_NO_OFFSET, "%s is %s, not an object",
                               member == NULL ? "the document" : member, model_json_kind(object));
        *out_object = json_is_object(object) ? json_incref(object) : NULL;
    }
    json_decref(root);
    free(path);
    accel_model_text_free(text);
    return code;
}

/* ---- one matrix ---- */

/* Returns the name of the codes and scales; NULL: the planar type names them. */
static const char *name_stored(const struct model_packed *packed)
{
    static const char *const integers[] = {[2] = "INT2", [3] = "INT3", [4] = "INT4", [8] = "INT8"};

    if (packed->levels == NULL)
        return packed->dense ? integers[packed->bits] : NULL;
    if (packed->bits == 4)
        return packed->scales.type == ACCEL_U8 ? "MXFP4" : "NVFP4";
    return packed->scales.type == ACCEL_U8 ? "MXFP8" : packed->codes.type_name;
}

static int32_t describe_tensor(struct accel_model_file *file, const struct model_packed *packed, const char *end,
                               struct model_tensor *out, struct accel_error *error)
{
    const size_t length = strlen(packed->codes.name) - strlen(end);
    const char *const suffix = end[0] == '_' ? "" : ".weight"; /* names of experts have no suffix */
    struct accel_format format;
    char *name = model_pool_chars(&file->pool, length + strlen(suffix));
    int32_t code = accel_format_describe(packed->type, &format);
    if (code != ACCEL_OK)
        return accel_error_set(error, ACCEL_E_INTERNAL, "%s: type 0x%x", packed->codes.name, packed->type);
    out->face = packed->codes;
    out->face.type = packed->type;
    out->face.type_name = packed->type == ACCEL_F16    ? "F16"
                          : packed->type == ACCEL_F32  ? "F32"
                          : packed->type == ACCEL_BF16 ? "BF16"
                          : packed->blocks             ? "MXFP4"
                                                       : model_pool_text(&file->pool, format.name, strlen(format.name));
    if (name == NULL || out->face.type_name == NULL)
        return model_no_memory(error, file->path, length);
    memcpy(name, packed->codes.name, length);
    strcpy(name + length, suffix);
    out->face.name = name;
    out->face.rank = 2;
    out->face.dims[0] = packed->rows;
    out->face.dims[1] = packed->width;
    if (packed->parts != 0) {
        out->face.rank = 3;
        out->face.dims[0] = packed->parts;
        out->face.dims[1] = packed->rows / packed->parts;
        out->face.dims[2] = packed->width;
        out->face.dims[3] = 0;
    }
    out->face.bytes = 0;
    for (uint32_t p = 0; p < packed->planes; p++)
        out->face.bytes += packed->plane_bytes[p];
    out->face.stored_type = name_stored(packed) == NULL ? out->face.type_name : name_stored(packed);
    out->face.stored_bytes = packed->stored_bytes;
    out->described_at = packed->codes.offset;
    out->packed = packed;
    return ACCEL_OK;
}

/* Stores the value of each code of a matrix of floats in the file's pool. */
static int32_t set_levels(struct accel_model_file *file, uint32_t bits, struct model_packed *packed,
                          struct accel_error *error)
{
    static const float e2m1[16] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
    float *levels = model_pool_alloc(&file->pool, 256, sizeof(*levels));
    unsigned char codes[256];
    const void *planes[] = {codes};

    if (levels == NULL)
        return model_no_memory(error, file->path, 256 * sizeof(*levels));
    for (uint32_t i = 0; i < 256; i++)
        codes[i] = (unsigned char)i;
    if (bits == 4)
        memcpy(levels, e2m1, sizeof(e2m1));
    else
        accel_format_decode(packed->codes.type, planes, 256, levels);
    packed->bits = bits;
    packed->levels = levels;
    return ACCEL_OK;
}

/* Refuses parts beside a matrix of floats that would change its values, and a global scale that is missing or not of
 * its type. */
static int32_t check_parts(const struct accel_model_file *file, const struct spelling *spelling,
                           const struct accel_model_tensor *codes, const struct accel_model_tensor *scales,
                           struct accel_error *error)
{
    static const char *const others[] = {".weight_zero_point", ".weight_g_idx",    ".weight_global_scale",
                                         ".weight_scale_2",    ".pre_quant_scale", ".output_scale"};
    const bool global = scales->type == ACCEL_F8_E4M3;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const struct accel_model_tensor *other = find_sibling(file, codes->name, spelling->codes, others[i]);

        if (other != NULL && !(global && spelling->global != NULL && strcmp(others[i], spelling->global) == 0))
            return model_packed_unsupported(file, other, "is not applied to floats of its type", error);
    }
    if (global && find_sibling(file, codes->name, spelling->codes, spelling->global) == NULL)
        return model_packed_corrupt(file, codes,
                                    spelling->global == divisor ? "its .weight_global_scale is missing"
                                                                : "its .weight_scale_2 is missing",
                                    error);
    return ACCEL_OK;
}

static uint64_t bytes_of(const struct accel_model_tensor *tensor)
{
    return tensor == NULL ? 0 : tensor->bytes;
}

static int32_t create_matrix(struct accel_model_file *file, const struct model_packing *packing,
                             const struct spelling *spelling, const struct accel_model_tensor *codes,
                             struct model_tensor *out, struct accel_error *error)
{
    const char *name = codes->name, *end = spelling->codes;
    const struct accel_model_tensor *zeros = find_sibling(file, name, end, spelling->zeros);
    const struct accel_model_tensor *scales = find_sibling(file, name, end, spelling->scales);
    const struct accel_model_tensor *order = find_sibling(file, name, end, spelling->order);
    const struct accel_model_tensor *shape = find_sibling(file, name, end, spelling->shape);
    const struct accel_model_tensor *global = find_sibling(file, name, end, spelling->global);
    const bool needs_zeros = spelling->layout == MODEL_PACKED_GPTQ || spelling->layout == MODEL_PACKED_AWQ;
    struct model_packed *packed = model_pool_alloc(&file->pool, 1, sizeof(*packed));
    int32_t code = ACCEL_OK;
    if (packed == NULL)
        return model_no_memory(error, file->path, sizeof(*packed));
    if (needs_zeros && zeros == NULL)
        return model_packed_corrupt(file, codes, "its .qzeros is missing", error);
    if (scales == NULL)
        return model_packed_corrupt(file, codes,
                                    needs_zeros ? "its .scales is missing" : "its .weight_scale is missing", error);
    packed->codes = *codes;
    packed->scales = *scales;
    if (zeros != NULL)
        packed->zeros = *zeros;
    packed->stored_bytes =
        codes->bytes + scales->bytes + bytes_of(zeros) + bytes_of(order) + bytes_of(shape) + bytes_of(global);
    packed->layout = spelling->layout;
    packed->zero_add = packing->zero_add;
    packed->row_block = 1;
    packed->global = 1;
    packed->global_divides = spelling->global == divisor;
    if (spelling->layout == MODEL_PACKED_FLOATS)
        code = check_parts(file, spelling, codes, scales, error);
    if (code == ACCEL_OK && spelling->layout == MODEL_PACKED_FLOATS)
        code = set_levels(file, float_bits(codes->type), packed, error);
    if (code == ACCEL_OK && global != NULL)
        code = model_packed_read_global(file, global, packed, error);
    if (code == ACCEL_OK && spelling->shape != NULL)
        code = model_packed_read_shape(file, shape, packed, error);
    if (code == ACCEL_OK)
        code = model_packed_measure(file, packing, packed, error);
    if (code == ACCEL_OK && order != NULL)
        code = model_packed_read_order(file, order, packed, error);
    if (code == ACCEL_OK)
        code = model_packed_choose_type(file, packed, error);
    return code == ACCEL_OK ? describe_tensor(file, packed, end, out, error) : code;
}

/* ---- all matrices ---- */

/* Returns whether a tensor is another part of a matrix whose codes exist. */
static bool is_part(const struct accel_model_file *file, uint32_t folder, const char *name)
{
    for (size_t i = 0; i < SPELLINGS; i++) {
        const struct spelling *s = &spellings[i];
        const char *const ends[] = {s->scales, s->zeros, s->order, s->shape, s->global, s->input};
        for (size_t k = 0; is_possible(s, folder) && k < sizeof(ends) / sizeof(ends[0]); k++) {
            const struct accel_model_tensor *codes =
                ends[k] != NULL && ends_in(name, ends[k]) ? find_sibling(file, name, ends[k], s->codes) : NULL;
            if (codes != NULL && find_spelling(file, folder, codes) == s)
                return true;
        }
    }
    return false;
}

/* Returns whether a matrix has the type of codes of floats. */
static bool is_float_matrix(const struct accel_model_tensor *tensor)
{
    return tensor->rank == 2 && ends_in(tensor->name, ".weight") && float_bits(tensor->type) != 0;
}

static bool describes_floats(const struct model_packing *packing)
{
    for (uint32_t i = 0; i < packing->choice_count; i++)
        if (packing->choices[i].floats)
            return true;
    return false;
}

static int32_t replace_tensors(struct accel_model_file *file, const struct model_packing *packing,
                               struct accel_error *error)
{
    struct model_tensor *tensors = calloc((size_t)file->tensor_count + 1, sizeof(*tensors)), *before = file->tensors;
    const bool floats = describes_floats(packing);
    uint64_t count = 0, packed = 0;
    int32_t code =
        tensors == NULL ? model_no_memory(error, file->path, file->tensor_count * sizeof(*tensors)) : ACCEL_OK;
    for (uint64_t i = 0; i < file->tensor_count && code == ACCEL_OK; i++) {
        const struct spelling *spelling = find_spelling(file, packing->layout, &before[i].face);
        if (spelling != NULL) {
            code = create_matrix(file, packing, spelling, &before[i].face, &tensors[count++], error);
            packed++;
        } else if (floats && is_float_matrix(&before[i].face)) {
            code = model_packed_corrupt(file, &before[i].face, "its .weight_scale is missing", error);
        } else if (floats && ends_in(before[i].face.name, blocks_end) && before[i].face.type == ACCEL_U8) {
            code = model_packed_corrupt(file, &before[i].face, "its _scales is missing", error);
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
    file->tensor_capacity = file->tensor_count + 1;
    file->tensor_count = count;
    file->packed_count = packed;
    return model_container_seal(file, error);
}

/* Returns whether the file has codes of layout `folder`; 0: of any layout whose codes cannot be plain tensors. */
static bool has_codes(const struct accel_model_file *file, uint32_t folder)
{
    for (uint64_t i = 0; i < file->tensor_count; i++) {
        const struct accel_model_tensor *tensor = &file->tensors[i].face;
        if (folder != 0 ? find_spelling(file, folder, tensor) != NULL
                        : ends_in(tensor->name, ".qweight") || ends_in(tensor->name, ".weight_packed") ||
                              find_spelling(file, MODEL_PACKED_FLOATS, tensor) != NULL)
            return true;
    }
    return false;
}

static bool has_float_matrix(const struct accel_model_file *file)
{
    for (uint64_t i = 0; i < file->tensor_count; i++)
        if (is_float_matrix(&file->tensors[i].face))
            return true;
    return false;
}

static int32_t refuse_file(const struct accel_model_file *file, const char *what, struct accel_error *error)
{
    model_fault(error, ACCEL_E_UNSUPPORTED, file->path, MODEL_NO_OFFSET, "%s", what);
    return model_packed_remedy(error);
}

int32_t model_packed_replace(struct accel_model_file *file, struct accel_error *error)
{
    struct model_packing packing = {.path = file->path};
    json_t *object = NULL;
    int32_t code = ACCEL_OK;
    if (file->format != ACCEL_MODEL_SAFETENSORS || file->folder == NULL || file->packed_count != 0 ||
        file->planes_count != 0)
        return ACCEL_OK;
    code = load_object(file, "config.json", "quantization_config", &object, error);
    if (code == ACCEL_OK && object == NULL && has_codes(file, 0))
        code = load_object(file, "quantize_config.json", NULL, &object, error);
    if (code == ACCEL_OK && object == NULL && has_float_matrix(file)) {
        code = load_object(file, "hf_quant_config.json", "quantization", &object, error);
        if (code == ACCEL_OK && object != NULL && json_object_set_new(object, "quant_method", json_string("modelopt")))
            code = model_no_memory(error, file->path, 0);
    }
    if (code == ACCEL_OK && object != NULL)
        code = model_packing_read(object, &packing, error);
    else if (code == ACCEL_OK && has_codes(file, 0))
        code = refuse_file(file,
                           "has packed codes, but no quantization_config in config.json, quantize_config.json or "
                           "hf_quant_config.json",
                           error);
    if (code == ACCEL_OK && object != NULL &&
        (has_codes(file, packing.layout) || (describes_floats(&packing) && has_float_matrix(file))))
        code = replace_tensors(file, &packing, error);
    else if (code == ACCEL_OK && object != NULL && has_codes(file, 0))
        code = refuse_file(file, "has packed codes of another method than its quantization_config", error);
    json_decref(object);
    return code;
}
