/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/layout_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/file/container.h"
#include "model/file/element.h"
#include "model/file/fault.h"
#include "model/file/json.h"
#include "model/file/not_model.h"
#include "model/file/pool.h"
#include "model/file/replace.h"
#include "model/file/text.h"

#define TEXT_BYTES_MAX ((uint64_t)64 << 20)
#define CONFIG_DEPTH 64u

/* Alignment of the data: one cache line. */
#define DATA_ALIGNMENT 64u

/* ---- the header ---- */

/* The header under construction. */
struct entries {
    struct accel_quantize_job *job;
    json_t *root;
    uint64_t end; /* end of the data so far */
    bool failed;
};

/* Appends a tensor; returns its offset. */
static uint64_t add_entry(struct entries *entries, const char *name, const char *type, const uint64_t *dims,
                          uint32_t rank, uint64_t bytes)
{
    const uint64_t begin = entries->end;
    json_t *shape = json_array();
    for (uint32_t i = 0; i < rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)dims[i]));
    entries->end += bytes;
    entries->failed = entries->failed || json_object_get(entries->root, name) != NULL ||
                      json_object_set_new(entries->root, name,
                                          json_pack("{s:s, s:o, s:[I, I]}", "dtype", type, "shape", shape,
                                                    "data_offsets", (json_int_t)begin, (json_int_t)entries->end)) != 0;
    return begin;
}

/* Returns the bytes of an element; data is sorted by them so that every tensor is aligned. Elements smaller than a
 * byte come last. */
static uint64_t element_width(const struct model_element *element)
{
    return element == NULL || element->block != 1 ? 1 : element->block_bytes;
}

/* Adds the parts of a tensor whose elements have `width` bytes. */
static void add_parts(struct entries *entries, uint64_t index, const struct quantize_part *parts, uint32_t count,
                      uint64_t width)
{
    struct accel_quantize_job *job = entries->job;
    for (uint32_t p = 0; p < count; p++) {
        const struct model_element *element = model_element_writable(parts[p].type);
        if (element == NULL || element_width(element) != width)
            continue;
        job->places[index].at[p] =
            add_entry(entries, parts[p].name, element->name, parts[p].dims, parts[p].rank, parts[p].bytes);
        job->rows[index].bytes += parts[p].bytes;
    }
}

/* Adds an unsplit tensor if its elements have `width` bytes. */
static void add_whole(struct entries *entries, uint64_t index, uint64_t width)
{
    struct accel_quantize_job *job = entries->job;
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, index);
    const bool converted = job->rows[index].converted != 0;
    const struct model_element *element =
        converted ? model_element_writable(job->rows[index].to) : model_element_safetensors(tensor->type_name);
    if (element_width(element) != width)
        return;
    if (converted)
        job->rows[index].bytes = job->rows[index].elements * width;
    job->tensors[index].offset = add_entry(entries, tensor->name, converted ? element->name : tensor->type_name,
                                           tensor->dims, tensor->rank, job->rows[index].bytes);
}

static void make_entries(struct entries *entries)
{
    struct accel_quantize_job *job = entries->job;
    struct quantize_part *parts = calloc(QUANTIZE_PARTS, sizeof(*parts));
    entries->failed = entries->failed || parts == NULL;
    for (uint64_t width = 8; width > 0; width /= 2) {
        for (uint64_t i = 0; i < job->count && !entries->failed; i++) {
            uint32_t count = 0;
            if (job->rows[i].converted && job->layout->parts != NULL)
                entries->failed = !job->layout->parts(job, i, parts, &count);
            if (count > 0 && !entries->failed)
                add_parts(entries, i, parts, count, width);
            else if (!entries->failed)
                add_whole(entries, i, width);
        }
    }
    free(parts);
}

/* Prefixes the text with its length and pads it with blanks up to the data. */
static int32_t finish_header(struct accel_quantize_job *job, const char *text, uint64_t end, struct accel_error *error)
{
    const uint64_t length = strlen(text), begin = (length + 8 + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    const uint64_t padded = begin - 8;
    job->header.data = malloc((size_t)begin);
    if (job->header.data == NULL)
        return model_no_memory(error, accel_model_file_path(job->file), begin);
    memset(job->header.data, ' ', (size_t)begin);
    memcpy(job->header.data, &padded, 8);
    memcpy(job->header.data + 8, text, (size_t)length);
    job->header.bytes = (size_t)begin;
    job->header.file_bytes = begin + end;
    for (uint64_t i = 0; i < job->count; i++) {
        job->tensors[i].offset += begin;
        for (uint32_t part = 0; part < QUANTIZE_PARTS; part++)
            job->places[i].at[part] += begin;
    }
    return ACCEL_OK;
}

/* Refuses to copy a tensor that is packed in the source folder, since its packed parts have no single tensor to
 * copy. */
static int32_t check_copies(const struct accel_quantize_job *job, struct accel_error *error)
{
    for (uint64_t i = 0; i < job->count; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, i);
        if (job->rows[i].converted || model_element_safetensors(tensor->type_name) != NULL)
            continue;
        model_fault(error, ACCEL_E_UNSUPPORTED, accel_model_file_path(job->file), MODEL_NO_OFFSET,
                    "tensor '%s' is %s already, which can be converted and not copied", tensor->name,
                    tensor->type_name);
        return accel_error_advise(error, ACCEL_E_UNSUPPORTED, "another type for it, and no --keep");
    }
    return ACCEL_OK;
}

int32_t quantize_folder_header(struct accel_quantize_job *job, json_t *metadata, struct accel_error *error)
{
    struct entries entries = {.job = job, .root = json_object()};
    char *text = NULL;
    int32_t code = check_copies(job, error);
    if (code != ACCEL_OK) {
        json_decref(entries.root);
        json_decref(metadata);
        return code;
    }
    metadata = metadata == NULL ? json_object() : metadata;
    entries.failed = json_object_set_new(metadata, "format", json_string("pt")) != 0;
    entries.failed = json_object_set_new(entries.root, "__metadata__", metadata) != 0 || entries.failed;
    job->places = calloc((size_t)job->count + 1, sizeof(*job->places));
    entries.failed = entries.failed || job->places == NULL;
    for (uint64_t i = 0; i < job->count; i++)
        job->rows[i].bytes = job->rows[i].converted ? 0 : job->rows[i].bytes;
    if (!entries.failed)
        make_entries(&entries);
    if (!entries.failed)
        text = json_dumps(entries.root, JSON_COMPACT);
    json_decref(entries.root);
    code = text == NULL ? model_fault(error, ACCEL_E_UNSUPPORTED, accel_model_file_path(job->file), MODEL_NO_OFFSET,
                                      "names of its tensors are those of the parts of packed ones, or there "
                                      "is no memory for the header")
                        : finish_header(job, text, entries.end, error);
    free(text);
    return code;
}

/* ---- config.json ---- */

/* Sets the weight type in the configuration, if all converted tensors become a scalar type. */
static int name_scalar(json_t *root, uint32_t type)
{
    static const char *const keys[] = {"dtype", "torch_dtype"};
    const char *name = type == ACCEL_F32 ? "float32" : type == ACCEL_F16 ? "float16" : "bfloat16";
    int failed = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (json_object_get(root, keys[i]) != NULL)
            failed |= json_object_set_new(root, keys[i], json_string(name));
    return failed;
}

static int32_t refuse_config(const char *path, bool is_object, struct accel_error *error)
{
    if (!is_object)
        return model_fault(error, ACCEL_E_UNSUPPORTED, path, MODEL_NO_OFFSET, "config.json is no object");
    model_fault(error, ACCEL_E_UNSUPPORTED, path, MODEL_NO_OFFSET,
                "config.json lists a quantization: the model is quantized already");
    return accel_error_advise(error, ACCEL_E_UNSUPPORTED,
                              "quantize the model that it was made of: weights rounded twice lose more");
}

int32_t quantize_folder_config(struct accel_quantize_job *job, json_t *packing, struct accel_error *error)
{
    const char *path = accel_model_file_path(job->file);
    const bool scalar = job->type == ACCEL_F32 || job->type == ACCEL_F16 || job->type == ACCEL_BF16;
    json_t *root = NULL;
    char *text = NULL;
    uint64_t length = 0;
    int failed = 0;
    int32_t code = accel_model_file_sibling(job->file, "config.json", TEXT_BYTES_MAX, &text, &length, error);
    if (code == ACCEL_E_NOT_FOUND)
        model_remedy_config(error);
    if (code == ACCEL_OK)
        code = model_json_parse(path, 0, text, length, CONFIG_DEPTH, &root, error);
    if (code == ACCEL_OK && (!json_is_object(root) || (json_object_get(root, "quantization_config") != NULL &&
                                                       job->file->packed_count + job->file->planes_count == 0)))
        code = refuse_config(path, json_is_object(root), error);
    /* The quantization_config of the source does not describe the output. */
    if (code == ACCEL_OK)
        (void)json_object_del(root, "quantization_config");
    if (code == ACCEL_OK && packing != NULL)
        failed = json_object_set(root, "quantization_config", packing);
    if (code == ACCEL_OK && packing == NULL && scalar)
        failed = name_scalar(root, job->type);
    if (code == ACCEL_OK && failed == 0)
        job->config = json_dumps(root, JSON_INDENT(2));
    if (code == ACCEL_OK && job->config == NULL)
        code = model_no_memory(error, path, length);
    json_decref(root);
    json_decref(packing);
    accel_model_text_free(text);
    return code;
}

/* ---- the folder ---- */

/* Writes a small file atomically: readers see the old file or the whole new one. */
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

int32_t quantize_folder_write(const struct accel_quantize_job *job, const char *folder, struct accel_error *error)
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
            model_error_copy(error, &inner);
        accel_model_text_free(text);
    }
    return code == ACCEL_OK ? write_small(folder, "config.json", job->config, strlen(job->config), error) : code;
}
