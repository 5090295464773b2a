/* SPDX-License-Identifier: Apache-2.0 */
/* Layout "accel 1" (quant/LAYOUT.md) in both containers. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/choose.h"
#include "convert/quantize/layout_folder.h"
#include "model/file/planes.h"
#include "model/file/pool.h"

_Static_assert(QUANTIZE_PARTS >= ACCEL_FORMAT_PLANES, "a tensor has as many parts as planes");

/* Returns whether the container cannot store the tensor unsplit. */
static bool needs_planes(const struct accel_quantize_job *job, uint64_t index)
{
    const uint32_t kind = job->rows[index].converted ? job->formats[index].kind : ACCEL_FORMAT_SCALAR;
    return kind == ACCEL_FORMAT_PLANAR ||
           (kind == ACCEL_FORMAT_INTERLEAVED && accel_model_file_format(job->file) == ACCEL_MODEL_SAFETENSORS);
}

static bool parts(const struct accel_quantize_job *job, uint64_t index, struct quantize_part parts[QUANTIZE_PARTS],
                  uint32_t *out_count)
{
    const struct accel_format *format = &job->formats[index];
    const struct model_gguf_tensor *tensor = &job->tensors[index];
    *out_count = 0;
    for (uint32_t p = 0; needs_planes(job, index) && p < format->planes; p++) {
        const char *suffix = model_planes_suffix(format, p, &parts[p].type);
        size_t row = 0;
        if (suffix == NULL ||
            accel_format_row_bytes(format->type, p, tensor->dims[tensor->rank - 1], &row) != ACCEL_OK ||
            snprintf(parts[p].name, QUANTIZE_NAME_BYTES, "%s%s", tensor->name, suffix) >= (int)QUANTIZE_NAME_BYTES)
            return false;
        memcpy(parts[p].dims, tensor->dims, tensor->rank * sizeof(*tensor->dims));
        parts[p].rank = tensor->rank;
        parts[p].dims[tensor->rank - 1] = parts[p].type == ACCEL_F16 ? row / 2 : row;
        parts[p].bytes = row;
        for (uint32_t d = 0; d + 1 < tensor->rank; d++)
            parts[p].bytes *= tensor->dims[d];
        /* GGUF has no type number for unsigned bytes. */
        if (parts[p].type == ACCEL_U8 && accel_model_file_format(job->file) == ACCEL_MODEL_GGUF)
            parts[p].type = ACCEL_I8;
        *out_count = p + 1;
    }
    return true;
}

/* Returns the key that gives the type of a tensor; the caller frees it. NULL if memory runs out. */
static char *key_of(const char *name)
{
    const size_t bytes = strlen(MODEL_PLANES_TYPE) + strlen(name) + 1;
    char *key = malloc(bytes);
    if (key != NULL)
        snprintf(key, bytes, "%s%s", MODEL_PLANES_TYPE, name);
    return key;
}

/* ---- GGUF ---- */

static struct accel_model_value text_value(const char *key, struct accel_model_text *out_text, const char *text)
{
    *out_text = (struct accel_model_text){text, strlen(text)};
    return (struct accel_model_value){.size = sizeof(struct accel_model_value),
                                      .kind = ACCEL_MODEL_TEXT,
                                      .key = key,
                                      .data = out_text,
                                      .count = 1,
                                      .width = sizeof(*out_text)};
}

static int32_t gguf_header(struct accel_quantize_job *job, struct accel_error *error)
{
    const uint32_t number = job->file_type;
    struct accel_model_value *own = calloc((size_t)job->count + 2, sizeof(*own));
    struct accel_model_text *texts = calloc((size_t)job->count + 1, sizeof(*texts));
    char **keys = calloc((size_t)job->count + 1, sizeof(*keys));
    uint64_t used = 0, named = 0;
    int32_t code = ACCEL_OK;
    if (own == NULL || texts == NULL || keys == NULL)
        code = model_no_memory(error, accel_model_file_path(job->file), job->count * sizeof(*own));
    if (code == ACCEL_OK) {
        own[used++] = (struct accel_model_value){.size = sizeof(*own),
                                                 .kind = ACCEL_MODEL_UNSIGNED,
                                                 .key = "general.file_type",
                                                 .data = &number,
                                                 .count = 1,
                                                 .width = 4};
        own[used++] = text_value(MODEL_PLANES_LAYOUT, &texts[job->count], MODEL_PLANES_VERSION);
    }
    for (uint64_t i = 0; i < job->count && code == ACCEL_OK; i++) {
        if (!needs_planes(job, i))
            continue;
        keys[named] = key_of(job->rows[i].name);
        if (keys[named] == NULL)
            code = model_no_memory(error, accel_model_file_path(job->file), strlen(job->rows[i].name));
        else
            own[used++] = text_value(keys[named], &texts[named], job->formats[i].name);
        named++;
    }
    if (code == ACCEL_OK)
        code = quantize_gguf_header(job, own, used, error);
    for (uint64_t i = 0; i < named; i++)
        free(keys[i]);
    free(keys);
    free(texts);
    free(own);
    return code;
}

/* ---- folders ---- */

static int32_t folder_header(struct accel_quantize_job *job, struct accel_error *error)
{
    json_t *metadata = json_pack("{s:s}", MODEL_PLANES_LAYOUT, MODEL_PLANES_VERSION);
    bool failed = metadata == NULL;
    int32_t code;
    for (uint64_t i = 0; i < job->count && !failed; i++) {
        char *key = needs_planes(job, i) ? key_of(job->rows[i].name) : NULL;
        if (needs_planes(job, i))
            failed = key == NULL || json_object_set_new(metadata, key, json_string(job->formats[i].name)) != 0;
        free(key);
    }
    if (failed) {
        json_decref(metadata);
        return model_no_memory(error, accel_model_file_path(job->file), job->count);
    }
    /* Readers that do not know the layout refuse its name instead of reporting missing weights. */
    code = quantize_folder_config(job, json_pack("{s:s, s:s}", "quant_method", "accel", "layout", MODEL_PLANES_VERSION),
                                  error);
    if (code == ACCEL_OK)
        return quantize_folder_header(job, metadata, error);
    json_decref(metadata);
    return code;
}

static int32_t plain_header(struct accel_quantize_job *job, struct accel_error *error)
{
    int32_t code = quantize_folder_config(job, NULL, error);
    return code == ACCEL_OK ? quantize_folder_header(job, NULL, error) : code;
}

/* ---- rows ---- */

static int32_t write_rows(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                          uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                          struct accel_error *error)
{
    const struct accel_format *format = &job->formats[index];
    const struct model_gguf_tensor *tensor = &job->tensors[index];
    unsigned char *plane;
    size_t begin = 0;
    int32_t code = ACCEL_OK;
    if (!needs_planes(job, index))
        return quantize_write_plain(job, staged, index, first, rows, data, row_bytes, error);
    plane = malloc((size_t)rows * row_bytes);
    if (plane == NULL)
        return model_no_memory(error, accel_model_file_path(job->file), rows * row_bytes);
    for (uint32_t p = 0; p < format->planes && code == ACCEL_OK; p++) {
        size_t bytes = 0;
        code = accel_format_row_bytes(format->type, p, tensor->dims[tensor->rank - 1], &bytes);
        for (uint64_t r = 0; r < rows && code == ACCEL_OK; r++)
            memcpy(plane + r * bytes, data + r * row_bytes + begin, bytes);
        if (code == ACCEL_OK)
            code = model_staged_write(staged, job->places[index].at[p] + first * bytes, plane, rows * bytes, error);
        begin += bytes;
    }
    free(plane);
    return code;
}

/* Layout "accel 1" (quant/LAYOUT.md), of a GGUF file and of a folder; and a folder without packed tensors. */
static const struct quantize_layout quantize_layout_planes_gguf = {
    .name = "accel 1", .rows = 1, .header = gguf_header, .write = write_rows, .parts = parts};

static const struct quantize_layout quantize_layout_planes_folder = {.name = "accel 1",
                                                                     .rows = 1,
                                                                     .header = folder_header,
                                                                     .folder = quantize_folder_write,
                                                                     .write = write_rows,
                                                                     .parts = parts};

static const struct quantize_layout quantize_layout_plain_folder = {.name = "safetensors",
                                                                    .rows = 1,
                                                                    .header = plain_header,
                                                                    .folder = quantize_folder_write,
                                                                    .write = quantize_write_plain};

/* ---- which one ---- */

/* Returns whether the GPTQ layout can store a packed matrix of the job. */
static bool suits_gptq(const struct accel_quantize_job *job, uint64_t index)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, index);
    return job->formats[index].kind == ACCEL_FORMAT_PLANAR && (job->rows[index].to & 15u) <= ACCEL_SCHEME_ASYMMETRIC &&
           quantize_is_linear(tensor) && tensor->dims[0] != 0 && tensor->dims[0] % 32 == 0;
}

const struct quantize_layout *quantize_layout_for(const struct accel_quantize_job *job)
{
    const bool folder = accel_model_file_format(job->file) == ACCEL_MODEL_SAFETENSORS;
    uint32_t type = ACCEL_TYPE_NONE;
    bool gptq = true, packed = false;
    for (uint64_t i = 0; i < job->count; i++) {
        if (!needs_planes(job, i))
            continue;
        gptq = gptq && suits_gptq(job, i) && (!packed || job->rows[i].to == type);
        type = job->rows[i].to;
        packed = true;
    }
    if (!folder)
        return packed ? &quantize_layout_planes_gguf : &quantize_layout_gguf;
    return !packed ? &quantize_layout_plain_folder : gptq ? &quantize_layout_gptq : &quantize_layout_planes_folder;
}
