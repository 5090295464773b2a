/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of a folder are packed, how, and whether that is read here. */
#include "config.h"

#include <accel/quant/format.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sdk/model/format/checked.h"
#include "sdk/model/format/container.h"
#include "sdk/model/format/fault.h"
#include "sdk/model/format/json.h"
#include "sdk/model/format/packed.h"
#include "sdk/model/format/text.h"

#define CONFIG_BYTES_MAX ((uint64_t)16 << 20)
#define CONFIG_DEPTH 64u
#define DIGITS_END ".qweight"

/* What the folder says of all its packed tensors. */
struct packing {
    const char *path; /* of the folder, for messages */
    uint32_t layout;
    uint32_t bits;
    uint32_t zero_add;
    uint64_t group; /* 0: a row */
};

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), bytes = strlen(end);
    return length > bytes && strcmp(name + length - bytes, end) == 0;
}

/* ---- configuration ---- */

static int32_t refuse(const struct packing *packing, const char *key, const char *value, struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    return model_fault(error, ACCEL_E_UNSUPPORTED, packing->path, MODEL_NO_OFFSET, "quantization: %s is %s, not read",
                       key, model_quote(shown, value, strlen(value)));
}

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? otherwise : text;
}

static int32_t read_layout(const json_t *object, struct packing *packing, struct accel_error *error)
{
    const char *method = text_of(object, "quant_method", "gptq"), *version;
    if (strcasecmp(method, "awq") == 0) {
        packing->layout = MODEL_PACKED_AWQ;
        version = text_of(object, "version", "gemm");
        return strcasecmp(version, "gemm") == 0 ? ACCEL_OK : refuse(packing, "version", version, error);
    }
    if (strcasecmp(method, "gptq") != 0)
        return refuse(packing, "quant_method", method, error);
    packing->layout = MODEL_PACKED_GPTQ;
    version = text_of(object, "checkpoint_format", "gptq");
    packing->zero_add = strcasecmp(version, "gptq") == 0;
    if (!packing->zero_add && strcasecmp(version, "gptq_v2") != 0)
        return refuse(packing, "checkpoint_format", version, error);
    if (json_object_size(json_object_get(object, "dynamic")) > 0)
        return refuse(packing, "dynamic", "not empty", error);
    if (json_is_true(json_object_get(object, "is_marlin_format")))
        return refuse(packing, "is_marlin_format", "true", error);
    version = text_of(object, "pack_dtype", "int32");
    return strcmp(version, "int32") == 0 ? ACCEL_OK : refuse(packing, "pack_dtype", version, error);
}

static int32_t read_packing(const json_t *object, struct packing *packing, struct accel_error *error)
{
    const json_t *bits = json_object_get(object, "bits"), *group = json_object_get(object, "group_size");
    int32_t code = read_layout(object, packing, error);
    char number[32];
    if (code != ACCEL_OK)
        return code;
    snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(bits));
    packing->bits = (uint32_t)json_integer_value(bits);
    if (packing->layout == MODEL_PACKED_AWQ ? json_integer_value(bits) != 4
                                            : !json_is_integer(bits) || strchr("2348", number[0]) == NULL || number[1])
        return refuse(packing, "bits", json_is_integer(bits) ? number : "no number", error);
    snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(group));
    if (!json_is_integer(group) || json_integer_value(group) < -1 || json_integer_value(group) % 32 > 0)
        return refuse(packing, "group_size", json_is_integer(group) ? number : "no number", error);
    packing->group = json_integer_value(group) > 0 ? (uint64_t)json_integer_value(group) : 0;
    return ACCEL_OK;
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

/* The tensor NAME.part of the same matrix as `digits`, or NULL. */
static const struct accel_model_tensor *sister(const struct accel_model_file *file,
                                               const struct accel_model_tensor *digits, const char *part)
{
    const size_t length = strlen(digits->name) - strlen(DIGITS_END);
    char *name = malloc(length + strlen(part) + 1);
    const struct accel_model_tensor *found = NULL;
    if (name != NULL) {
        memcpy(name, digits->name, length);
        strcpy(name + length, part);
        found = accel_model_file_find(file, name);
    }
    free(name);
    return found;
}

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

/* Rows and width from the digits, and the other two held against them. */
static int32_t measure(const struct accel_model_file *file, const struct packing *packing, struct model_packed *packed,
                       struct accel_error *error)
{
    const struct accel_model_tensor *digits = &packed->digits;
    const bool awq = packing->layout == MODEL_PACKED_AWQ;
    uint64_t groups;
    if (digits->type != ACCEL_I32 || digits->rank != 2 || digits->bytes == 0 ||
        (!awq && digits->dims[0] % packing->bits != 0))
        return wrong(file, digits, "is no matrix of packed digits", error);
    if (!multiply_u64(awq ? 1 : digits->dims[0] / packing->bits, awq ? digits->dims[0] : 32, &packed->width) ||
        !multiply_u64(digits->dims[1], awq ? 8 : 1, &packed->rows) || packed->width > UINT32_MAX ||
        packed->rows > UINT32_MAX)
        return wrong(file, digits, "is too large", error);
    packed->file_group = packing->group == 0 ? packed->width : packing->group;
    groups = (packed->width + packed->file_group - 1) / packed->file_group;
    if (packed->rows * packing->bits % 32 != 0 || packed->width % 32 != 0)
        return not_read(file, digits, "its rows are no whole number of words", error);
    if (!has_shape(&packed->zeros, ACCEL_I32, groups, packed->rows * packing->bits / 32))
        return wrong(file, &packed->zeros, "is no matrix of I32 that fits the digits", error);
    if (packed->scales.type != ACCEL_F16)
        return not_read(file, &packed->scales, "scales other than F16 are not read", error);
    if (!has_shape(&packed->scales, ACCEL_F16, groups, packed->rows))
        return wrong(file, &packed->scales, "does not fit the digits", error);
    for (packed->group = 512; packed->file_group % packed->group != 0 || packed->width % packed->group != 0;)
        packed->group /= 2;
    return ACCEL_OK;
}

/* Every group of a matrix in the order of its columns: anything else has to be turned while it runs. */
static int32_t check_order(const struct accel_model_file *file, const struct accel_model_tensor *order,
                           const struct model_packed *packed, struct accel_error *error)
{
    uint32_t *groups;
    int32_t code;
    if (order->type != ACCEL_I32 || order->rank != 1 || order->dims[0] != packed->width)
        return wrong(file, order, "is no list of I32 with an element for each column", error);
    groups = malloc((size_t)order->bytes);
    if (groups == NULL)
        return model_no_memory(error, file->path, order->bytes);
    code = accel_model_file_read(file, order, 0, order->bytes, groups, error);
    for (uint64_t i = 0; i < packed->width && code == ACCEL_OK; i++) {
        if (groups[i] != i / packed->file_group)
            code = not_read(file, order, "activation order (desc_act) is not run", error);
    }
    free(groups);
    return code;
}

/* Symmetric where every zero point is in the middle: such matrices have faster kernels. */
static int32_t choose_type(const struct accel_model_file *file, struct model_packed *packed, struct accel_error *error)
{
    const uint64_t words = packed->zeros.dims[1];
    uint32_t *zeros = malloc((size_t)packed->zeros.bytes + 4), scheme = ACCEL_SCHEME_SYMMETRIC, log2_group = 0;
    int32_t code = zeros == NULL ? model_no_memory(error, file->path, packed->zeros.bytes)
                                 : accel_model_file_read(file, &packed->zeros, 0, packed->zeros.bytes, zeros, error);
    for (uint64_t g = 0; g < packed->zeros.dims[0] && code == ACCEL_OK; g++)
        for (uint64_t row = 0; row < packed->rows && scheme == ACCEL_SCHEME_SYMMETRIC; row++)
            if (model_packed_zero(packed, zeros + g * words, row) != 1u << (packed->bits - 1))
                scheme = ACCEL_SCHEME_ASYMMETRIC;
    free(zeros);
    while (1u << log2_group < packed->group)
        log2_group++;
    packed->type = ACCEL_PLANAR(packed->bits, log2_group, scheme);
    return code;
}

static int32_t describe(struct accel_model_file *file, const struct model_packed *packed, struct model_tensor *out,
                        struct accel_error *error)
{
    const size_t length = strlen(packed->digits.name) - strlen(DIGITS_END);
    struct accel_format format;
    char *name = model_pool_room(&file->pool, length + strlen(".weight"));
    int32_t code = accel_format_describe(packed->type, &format);
    if (code != ACCEL_OK)
        return accel_error_set(error, ACCEL_E_INTERNAL, "%s: type 0x%x", packed->digits.name, packed->type);
    out->face = packed->digits;
    out->face.type = packed->type;
    out->face.type_name = model_pool_text(&file->pool, format.name, strlen(format.name));
    if (name == NULL || out->face.type_name == NULL)
        return model_no_memory(error, file->path, length);
    memcpy(name, packed->digits.name, length);
    strcpy(name + length, ".weight");
    out->face.name = name;
    out->face.dims[0] = packed->rows;
    out->face.dims[1] = packed->width;
    out->face.bytes = 0;
    for (uint32_t p = 0; p < packed->planes; p++)
        out->face.bytes += packed->plane_bytes[p];
    out->described_at = packed->digits.offset;
    out->packed = packed;
    return ACCEL_OK;
}

static int32_t make(struct accel_model_file *file, const struct packing *packing,
                    const struct accel_model_tensor *digits, struct model_tensor *out, struct accel_error *error)
{
    const struct accel_model_tensor *zeros = sister(file, digits, ".qzeros"), *scales = sister(file, digits, ".scales");
    const struct accel_model_tensor *order = sister(file, digits, ".g_idx");
    struct model_packed *packed = model_pool_alloc(&file->pool, 1, sizeof(*packed));
    int32_t code;
    if (packed == NULL)
        return model_no_memory(error, file->path, sizeof(*packed));
    if (zeros == NULL || scales == NULL)
        return wrong(file, digits, zeros == NULL ? "there is no .qzeros beside it" : "there is no .scales beside it",
                     error);
    *packed = (struct model_packed){.digits = *digits,
                                    .zeros = *zeros,
                                    .scales = *scales,
                                    .layout = packing->layout,
                                    .bits = packing->bits,
                                    .zero_add = packing->zero_add};
    code = measure(file, packing, packed, error);
    if (code == ACCEL_OK && order != NULL)
        code = check_order(file, order, packed, error);
    if (code == ACCEL_OK)
        code = choose_type(file, packed, error);
    if (code != ACCEL_OK)
        return code;
    packed->planes = (packed->type & 15u) == ACCEL_SCHEME_ASYMMETRIC ? 3 : 2;
    packed->plane_bytes[0] = packed->rows * (packed->width / 8 * packed->bits);
    packed->plane_bytes[1] = packed->rows * (packed->width / packed->group) * 2;
    packed->plane_bytes[2] = packed->rows * (packed->width / packed->group);
    return describe(file, packed, out, error);
}

/* ---- all of them ---- */

/* True for the other parts of a matrix whose digits are there. */
static bool is_part(const struct accel_model_file *file, const char *name)
{
    static const char *const ends[] = {".qzeros", ".scales", ".g_idx"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends_in(name, ends[i])) {
            struct accel_model_tensor digits = {0};
            char *whole = malloc(strlen(name) + sizeof(DIGITS_END));
            bool found;
            if (whole == NULL)
                return false;
            strcpy(whole, name);
            strcpy(whole + strlen(name) - strlen(ends[i]), DIGITS_END);
            digits.name = whole;
            found = sister(file, &digits, DIGITS_END) != NULL;
            free(whole);
            return found;
        }
    }
    return false;
}

static int32_t replace(struct accel_model_file *file, const struct packing *packing, struct accel_error *error)
{
    struct model_tensor *tensors = calloc((size_t)file->tensor_count + 1, sizeof(*tensors)), *before = file->tensors;
    uint64_t count = 0, packed = 0;
    int32_t code =
        tensors == NULL ? model_no_memory(error, file->path, file->tensor_count * sizeof(*tensors)) : ACCEL_OK;
    for (uint64_t i = 0; i < file->tensor_count && code == ACCEL_OK; i++) {
        if (ends_in(before[i].face.name, DIGITS_END)) {
            code = make(file, packing, &before[i].face, &tensors[count++], error);
            packed++;
        } else if (!is_part(file, before[i].face.name)) {
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

static bool has_digits(const struct accel_model_file *file)
{
    for (uint64_t i = 0; i < file->tensor_count; i++)
        if (ends_in(file->tensors[i].face.name, DIGITS_END))
            return true;
    return false;
}

int32_t model_packed_present(struct accel_model_file *file, struct accel_error *error)
{
    struct packing packing = {.path = file->path};
    json_t *object = NULL;
    int32_t code = ACCEL_OK;
    if (file->format != ACCEL_MODEL_SAFETENSORS || file->folder == NULL || file->packed_count != 0 ||
        file->planes_count != 0)
        return ACCEL_OK;
    code = load(file, "config.json", "quantization_config", &object, error);
    if (code == ACCEL_OK && object == NULL && has_digits(file))
        code = load(file, "quantize_config.json", NULL, &object, error);
    if (code == ACCEL_OK && object != NULL)
        code = read_packing(object, &packing, error);
    else if (code == ACCEL_OK && has_digits(file))
        code = model_fault(error, ACCEL_E_UNSUPPORTED, file->path, MODEL_NO_OFFSET,
                           "has packed digits, and neither quantization_config in config.json nor "
                           "quantize_config.json");
    if (code == ACCEL_OK && object != NULL && has_digits(file))
        code = replace(file, &packing, error);
    json_decref(object);
    return code;
}
