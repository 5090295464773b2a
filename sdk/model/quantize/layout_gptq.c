/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/model/quantize/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/model/format/element.h"
#include "sdk/model/format/fault.h"
#include "sdk/model/format/json.h"
#include "sdk/model/format/place.h"
#include "sdk/model/format/pool.h"
#include "sdk/model/format/text.h"

#define TEXT_BYTES_MAX ((uint64_t)64 << 20)
#define CONFIG_DEPTH 64u

/* Chunks of rows begin at multiples of this: whole words of zero points of any width. */
#define GPTQ_ROWS 32u

/* Parts of a converted tensor, and what follows its name without ".weight". */
static const char *const part_names[QUANTIZE_PARTS] = {"qweight", "qzeros", "g_idx", "scales"};

/* ---- which tensors ---- */

/* The layers that every tool with this layout packs; embeddings and heads stay as they are. */
static bool is_linear(const struct accel_model_tensor *tensor)
{
    return tensor->rank == 2 && fnmatch("*.layers.*_proj.weight", tensor->name, 0) == 0;
}

static const char *reason_against(const struct accel_quantize_job *job, const struct accel_quantize_options *options,
                                  const struct accel_model_tensor *tensor)
{
    for (uint32_t i = 0; i < options->keep_count; i++)
        if (fnmatch(options->keep[i], tensor->name, 0) == 0)
            return "kept as asked";
    if (!is_linear(tensor))
        return "no linear layer";
    if (tensor->type != ACCEL_F32 && tensor->type != ACCEL_F16 && tensor->type != ACCEL_BF16)
        return "its type cannot be decoded";
    if (tensor->dims[1] == 0 || tensor->dims[1] % job->format.block_values != 0)
        return "rows are no whole number of groups";
    return tensor->dims[0] == 0 || tensor->dims[0] % GPTQ_ROWS != 0 ? "rows are no multiple of 32" : NULL;
}

static void decide(struct accel_quantize_job *job, const struct accel_quantize_options *options, uint64_t index)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, index);
    const char *reason = reason_against(job, options, tensor);
    struct accel_quantize_row *row = &job->rows[index];
    *row = (struct accel_quantize_row){.size = sizeof(*row),
                                       .from = tensor->type,
                                       .to = reason ? tensor->type : job->format.type,
                                       .converted = reason == NULL,
                                       .from_name = tensor->type_name,
                                       .to_name = reason ? tensor->type_name : job->format.name,
                                       .elements = 1,
                                       .bytes = tensor->bytes,
                                       .name = tensor->name,
                                       .reason = reason ? reason : ""};
    for (uint32_t i = 0; i < tensor->rank; i++)
        row->elements *= tensor->dims[i];
    job->tensors[index] =
        (struct model_gguf_tensor){.name = tensor->name, .dims = tensor->dims, .rank = tensor->rank, .type = row->to};
}

/* ---- the header ---- */

/* Shape and type of a part of a converted tensor; answers its bytes. */
static uint64_t measure_part(const struct accel_quantize_job *job, uint64_t index, uint32_t part, uint64_t dims[2],
                             const char **out_type)
{
    const uint64_t rows = job->tensors[index].dims[0], width = job->tensors[index].dims[1];
    const uint64_t bits = job->format.digit_bits, groups = width / job->format.block_values;
    dims[0] = part == QUANTIZE_DIGITS ? width / 32 * bits : part == QUANTIZE_ORDER ? width : groups;
    dims[1] = part == QUANTIZE_ZEROS ? rows / 32 * bits : part == QUANTIZE_ORDER ? 1 : rows;
    *out_type = part == QUANTIZE_SCALES ? "F16" : "I32";
    return dims[0] * dims[1] * (part == QUANTIZE_SCALES ? 2 : 4);
}

static int add_entry(json_t *root, const char *name, const char *type, const uint64_t *dims, uint32_t rank,
                     uint64_t begin, uint64_t bytes)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)dims[i]));
    return json_object_set_new(root, name,
                               json_pack("{s:s, s:o, s:[I, I]}", "dtype", type, "shape", shape, "data_offsets",
                                         (json_int_t)begin, (json_int_t)(begin + bytes)));
}

static int add_parts(struct accel_quantize_job *job, json_t *root, uint64_t index, uint64_t width, uint64_t *end)
{
    const char *name = job->rows[index].name;
    const int stem = (int)(strlen(name) - strlen("weight"));
    int failed = 0;
    for (uint32_t part = 0; part < QUANTIZE_PARTS; part++) {
        char full[1024];
        const char *type;
        uint64_t dims[2], bytes = measure_part(job, index, part, dims, &type);
        if ((part == QUANTIZE_SCALES ? 2 : 4) != width)
            continue;
        if (snprintf(full, sizeof(full), "%.*s%s", stem, name, part_names[part]) >= (int)sizeof(full) ||
            json_object_get(root, full) != NULL)
            return -1;
        failed |= add_entry(root, full, type, dims, part == QUANTIZE_ORDER ? 1 : 2, *end, bytes);
        job->places[index].at[part] = *end;
        job->rows[index].bytes = part == 0 ? bytes : job->rows[index].bytes + bytes;
        *end += bytes;
    }
    return failed;
}

/* Bytes of an element, by which data are sorted so that all of them are aligned; those of parts of a byte come last. */
static uint64_t element_width(const struct accel_model_tensor *tensor)
{
    const struct model_element *element = model_element_safetensors(tensor->type_name);
    return element == NULL || element->block != 1 ? 1 : element->block_bytes;
}

static json_t *make_entries(struct accel_quantize_job *job, uint64_t *end)
{
    json_t *root = json_object();
    int failed = json_object_set_new(root, "__metadata__", json_pack("{s:s}", "format", "pt"));
    for (uint64_t width = 8; width > 0; width /= 2) {
        for (uint64_t i = 0; i < job->count && !failed; i++) {
            const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, i);
            if (job->rows[i].converted) {
                failed = add_parts(job, root, i, width, end);
            } else if (element_width(tensor) == width) {
                failed =
                    add_entry(root, tensor->name, tensor->type_name, tensor->dims, tensor->rank, *end, tensor->bytes);
                job->tensors[i].offset = *end;
                *end += tensor->bytes;
            }
        }
    }
    if (!failed)
        return root;
    json_decref(root);
    return NULL;
}

static int32_t make_header(struct accel_quantize_job *job, struct accel_error *error)
{
    uint64_t end = 0, length, padded;
    json_t *root = make_entries(job, &end);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    json_decref(root);
    length = text == NULL ? 0 : strlen(text);
    padded = (length + 7) / 8 * 8;
    job->header.data = text == NULL ? NULL : malloc((size_t)padded + 8);
    if (job->header.data == NULL) {
        free(text);
        return model_no_memory(error, accel_model_file_path(job->file), padded);
    }
    memset(job->header.data, ' ', (size_t)padded + 8);
    memcpy(job->header.data, &padded, 8);
    memcpy(job->header.data + 8, text, (size_t)length);
    free(text);
    job->header.bytes = (size_t)padded + 8;
    job->header.file_bytes = padded + 8 + end;
    for (uint64_t i = 0; i < job->count; i++) {
        job->tensors[i].offset += padded + 8;
        for (uint32_t part = 0; part < QUANTIZE_PARTS; part++)
            job->places[i].at[part] += padded + 8;
    }
    return ACCEL_OK;
}

/* ---- config.json ---- */

static json_t *packing_of(const struct accel_quantize_job *job)
{
    return json_pack("{s:s, s:I, s:I, s:b, s:b, s:b, s:s}", "quant_method", "gptq", "bits",
                     (json_int_t)job->format.digit_bits, "group_size", (json_int_t)job->format.block_values, "desc_act",
                     0, "sym", job->format.planes == 2, "lm_head", 0, "checkpoint_format", "gptq");
}

static int32_t make_config(struct accel_quantize_job *job, struct accel_error *error)
{
    const char *path = accel_model_file_path(job->file);
    json_t *root = NULL;
    char *text = NULL;
    uint64_t length = 0;
    int32_t code = accel_model_file_sibling(job->file, "config.json", TEXT_BYTES_MAX, &text, &length, error);
    if (code == ACCEL_OK)
        code = model_json_parse(path, 0, text, length, CONFIG_DEPTH, &root, error);
    if (code == ACCEL_OK && (!json_is_object(root) || json_object_get(root, "quantization_config") != NULL))
        code = model_fault(error, ACCEL_E_UNSUPPORTED, path, MODEL_NO_OFFSET,
                           "config.json says that the model is quantized already, or is no object");
    if (code == ACCEL_OK && json_object_set_new(root, "quantization_config", packing_of(job)) == 0)
        job->config = json_dumps(root, JSON_INDENT(2));
    if (code == ACCEL_OK && job->config == NULL)
        code = model_no_memory(error, path, length);
    json_decref(root);
    accel_model_text_free(text);
    return code;
}

static int32_t plan(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                    struct accel_error *error)
{
    int32_t code = make_config(job, error);
    if (code != ACCEL_OK)
        return code;
    job->places = calloc((size_t)job->count + 1, sizeof(*job->places));
    if (job->places == NULL)
        return model_no_memory(error, accel_model_file_path(job->file), job->count * sizeof(*job->places));
    for (uint64_t i = 0; i < job->count; i++)
        decide(job, options, i);
    return make_header(job, error);
}

/* ---- the folder ---- */

/* Puts a small file in its place: others see the old one or the whole new one. */
static int32_t write_small(const char *folder, const char *name, const char *text, uint64_t length,
                           struct accel_error *error)
{
    char *path = model_text_join(folder, name), *beside = NULL;
    int fd = -1;
    int32_t code = path == NULL ? model_no_memory(error, folder, strlen(name)) : model_check_target(path, error);
    if (code == ACCEL_OK)
        code = model_create_beside(path, &beside, &fd, error);
    if (code == ACCEL_OK) {
        code = model_write_all(fd, beside, text, length, error);
        if (code == ACCEL_OK && fsync(fd) != 0)
            code = model_fault_errno(error, beside, "cannot write to the disk", errno);
        code = model_replace(fd, beside, path, code, error);
    }
    free(beside);
    free(path);
    return code;
}

static int32_t write_folder(const struct accel_quantize_job *job, const char *folder, struct accel_error *error)
{
    static const char *const names[] = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "generation_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "tokenizer.model",
                                        "chat_template.jinja"};
    int32_t code = ACCEL_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return model_fault_errno(error, folder, "cannot create", errno);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && code == ACCEL_OK; i++) {
        struct accel_error inner = {0};
        char *text = NULL;
        uint64_t length = 0;
        code = accel_model_file_sibling(job->file, names[i], TEXT_BYTES_MAX, &text, &length, &inner);
        if (code == ACCEL_OK)
            code = write_small(folder, names[i], text, length, error);
        else if (code == ACCEL_E_NOT_FOUND)
            code = ACCEL_OK;
        else
            accel_error_set(error, code, "%s", inner.text);
        accel_model_text_free(text);
    }
    return code == ACCEL_OK ? write_small(folder, "config.json", job->config, strlen(job->config), error) : code;
}

/* ---- rows ---- */

/* A strip of the columns that some rows become. */
struct strip {
    uint32_t *digits; /* [width / 32 * bits][rows] */
    uint32_t *zeros;  /* [groups][rows / 32 * bits] */
    uint16_t *scales; /* [groups][rows] */
};

static void put(uint32_t *words, uint64_t stride, uint32_t bits, uint64_t index, uint32_t value)
{
    const uint64_t bit = index * bits, word = bit / 32;
    const uint32_t shift = (uint32_t)(bit % 32);
    words[word * stride] |= value << shift;
    if (shift + bits > 32)
        words[(word + 1) * stride] |= value >> (32 - shift);
}

/* Digit `index` of a planar row (accel/quant/format.h). */
static uint32_t digit_at(const unsigned char *row, uint32_t bits, uint64_t index)
{
    const unsigned char *run = row + index / 32 * 4 * bits;
    const uint32_t i = (uint32_t)(index % 32);
    if (bits == 8)
        return run[i];
    if (bits == 4)
        return run[i % 16] >> (i / 16 * 4) & 15u;
    uint32_t low = run[i % 8] >> (i / 8 * 2) & 3u;
    return bits == 2 ? low : low | (uint32_t)(run[8 + i / 8] >> i % 8 & 1) << 2;
}

static void put_row(const struct accel_format *format, const unsigned char *row, uint64_t width, uint64_t rows,
                    uint64_t r, const struct strip *strip)
{
    const uint32_t bits = format->digit_bits, most = (1u << bits) - 1;
    const uint64_t group = format->block_values, groups = width / group;
    const unsigned char *scales = row + width / 8 * bits, *zeros = scales + 2 * groups;
    for (uint64_t g = 0; g < groups; g++) {
        uint32_t zero = format->planes == 3 ? zeros[g] : 1u << (bits - 1);
        uint16_t scale = (uint16_t)(scales[2 * g] | scales[2 * g + 1] << 8);
        const bool mirrored = zero == 0;
        if (mirrored) {
            zero = most;
            scale ^= 0x8000u;
        }
        strip->scales[g * rows + r] = scale;
        put(strip->zeros + g * (rows / 32 * bits), 1, bits, r, zero - 1);
        for (uint64_t i = g * group; i < (g + 1) * group; i++) {
            uint32_t digit = digit_at(row, bits, i);
            put(strip->digits + r, rows, bits, i, mirrored ? most - digit : digit);
        }
    }
}

/* Writes `lines` lines of `bytes` bytes, each `apart` from the one before. */
static int32_t write_lines(struct model_staged *staged, uint64_t offset, const void *data, uint64_t lines,
                           uint64_t bytes, uint64_t apart, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint64_t l = 0; l < lines && code == ACCEL_OK; l++)
        code = model_staged_write(staged, offset + l * apart, (const char *)data + l * bytes, bytes, error);
    return code;
}

static int32_t write_order(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                           struct accel_error *error)
{
    const uint64_t width = job->tensors[index].dims[1];
    uint32_t *order = malloc((size_t)width * 4);
    int32_t code;
    if (order == NULL)
        return model_no_memory(error, accel_model_file_path(job->file), width * 4);
    for (uint64_t i = 0; i < width; i++)
        order[i] = (uint32_t)(i / job->format.block_values);
    code = model_staged_write(staged, job->places[index].at[QUANTIZE_ORDER], order, width * 4, error);
    free(order);
    return code;
}

static int32_t write_rows(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                          uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                          struct accel_error *error)
{
    const uint64_t all = job->tensors[index].dims[0], width = job->tensors[index].dims[1];
    const uint64_t bits = job->format.digit_bits, groups = width / job->format.block_values;
    const uint64_t *at = job->places[index].at;
    struct strip strip = {calloc((size_t)(width / 32 * bits), (size_t)rows * 4),
                          calloc((size_t)groups, (size_t)(rows / 32 * bits * 4)),
                          calloc((size_t)groups, (size_t)rows * 2)};
    int32_t code = strip.digits && strip.zeros && strip.scales
                       ? ACCEL_OK
                       : model_no_memory(error, accel_model_file_path(job->file), rows * row_bytes);
    for (uint64_t r = 0; r < rows && code == ACCEL_OK; r++)
        put_row(&job->format, data + r * row_bytes, width, rows, r, &strip);
    if (code == ACCEL_OK)
        code = write_lines(staged, at[QUANTIZE_DIGITS] + first * 4, strip.digits, width / 32 * bits, rows * 4, all * 4,
                           error);
    if (code == ACCEL_OK)
        code = write_lines(staged, at[QUANTIZE_ZEROS] + first / 8 * bits, strip.zeros, groups, rows / 8 * bits,
                           all / 8 * bits, error);
    if (code == ACCEL_OK)
        code = write_lines(staged, at[QUANTIZE_SCALES] + first * 2, strip.scales, groups, rows * 2, all * 2, error);
    if (code == ACCEL_OK && first == 0)
        code = write_order(job, staged, index, error);
    free(strip.digits);
    free(strip.zeros);
    free(strip.scales);
    return code;
}

const struct quantize_layout quantize_layout_gptq = {
    .name = "GPTQ", .rows = GPTQ_ROWS, .plan = plan, .folder = write_folder, .write = write_rows};
