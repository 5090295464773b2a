/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/layout_folder.h"
#include "model/file/pool.h"

/* Chunks of rows begin at multiples of this: zero points of any width fill whole words. */
#define GPTQ_ROWS 32u

/* Parts of a converted tensor. */
enum { CODES, ZEROS, ORDER, SCALES };

/* Returns the packed type of the job, which all packed matrices share; NULL if no matrix is packed. */
static const struct accel_format *packed_format(const struct accel_quantize_job *job)
{
    for (uint64_t i = 0; i < job->count; i++)
        if (job->rows[i].converted && job->formats[i].kind == ACCEL_FORMAT_PLANAR)
            return &job->formats[i];
    return NULL;
}

/* Returns the values of a group; a group that spans the row has its width. */
static uint64_t group_of(const struct accel_format *format, uint64_t width)
{
    return format->group == 0 ? width : format->group;
}

static bool parts(const struct accel_quantize_job *job, uint64_t index, struct quantize_part parts[QUANTIZE_PARTS],
                  uint32_t *out_count)
{
    /* Suffixes of the parts, which replace "weight" in the tensor name. */
    static const char *const names[QUANTIZE_PARTS] = {"qweight", "qzeros", "g_idx", "scales"};
    const struct accel_format *format = &job->formats[index];
    const char *name = job->rows[index].name;
    const uint64_t rows = job->tensors[index].dims[0], width = job->tensors[index].dims[job->tensors[index].rank - 1];
    const uint64_t bits = format->digit_bits;
    uint64_t groups;
    *out_count = 0;
    if (format->kind != ACCEL_FORMAT_PLANAR)
        return true;
    groups = width / group_of(format, width);
    for (uint32_t p = 0; p < QUANTIZE_PARTS; p++) {
        const int stem = (int)(strlen(name) - strlen("weight"));
        if (snprintf(parts[p].name, QUANTIZE_NAME_BYTES, "%.*s%s", stem, name, names[p]) >= (int)QUANTIZE_NAME_BYTES)
            return false;
        parts[p].type = p == SCALES ? ACCEL_F16 : ACCEL_I32;
        parts[p].rank = p == ORDER ? 1 : 2;
        parts[p].dims[0] = p == CODES ? width / 32 * bits : p == ORDER ? width : groups;
        parts[p].dims[1] = p == ZEROS ? rows / 32 * bits : p == ORDER ? 1 : rows;
        parts[p].bytes = parts[p].dims[0] * parts[p].dims[1] * (p == SCALES ? 2 : 4);
    }
    *out_count = QUANTIZE_PARTS;
    return true;
}

static int32_t header(struct accel_quantize_job *job, struct accel_error *error)
{
    const struct accel_format *format = packed_format(job);
    json_t *packing =
        json_pack("{s:s, s:I, s:I, s:b, s:b, s:b, s:s}", "quant_method", "gptq", "bits", (json_int_t)format->digit_bits,
                  "group_size", format->group == 0 ? (json_int_t)-1 : (json_int_t)format->group, "desc_act", 0, "sym",
                  format->planes == 2, "lm_head", 0, "checkpoint_format", format->planes == 2 ? "gptq" : "gptq_v2");
    int32_t code = quantize_folder_config(job, packing, error);
    return code == ACCEL_OK ? quantize_folder_header(job, NULL, error) : code;
}

/* ---- rows ---- */

/* Output columns for a range of rows of a matrix. */
struct strip {
    uint32_t *codes;  /* [width / 32 * bits][rows] */
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

/* Returns code `index` of a planar row (accel/quant/format.h). */
static uint32_t code_at(const unsigned char *row, uint32_t bits, uint64_t index)
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
    const uint32_t bits = format->digit_bits, less = format->planes == 2;
    const uint64_t group = group_of(format, width), groups = width / group;
    const unsigned char *scales = row + width / 8 * bits, *zeros = scales + 2 * groups;
    for (uint64_t g = 0; g < groups; g++) {
        uint32_t zero = format->planes == 3 ? zeros[g] : 1u << (bits - 1);
        uint16_t scale = (uint16_t)(scales[2 * g] | scales[2 * g + 1] << 8);
        strip->scales[g * rows + r] = scale;
        put(strip->zeros + g * (rows / 32 * bits), 1, bits, r, zero - less);
        for (uint64_t i = g * group; i < (g + 1) * group; i++) {
            put(strip->codes + r, rows, bits, i, code_at(row, bits, i));
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
    const uint64_t width = job->tensors[index].dims[1], group = group_of(&job->formats[index], width);
    uint32_t *order = malloc((size_t)width * 4);
    int32_t code;
    if (order == NULL)
        return model_no_memory(error, accel_model_file_path(job->file), width * 4);
    for (uint64_t i = 0; i < width; i++)
        order[i] = (uint32_t)(i / group);
    code = model_staged_write(staged, job->places[index].at[ORDER], order, width * 4, error);
    free(order);
    return code;
}

static int32_t write_packed(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                            uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                            struct accel_error *error)
{
    const uint64_t all = job->tensors[index].dims[0], width = job->tensors[index].dims[1];
    const struct accel_format *format = &job->formats[index];
    const uint64_t bits = format->digit_bits, groups = width / group_of(format, width);
    const uint64_t *at = job->places[index].at;
    struct strip strip = {calloc((size_t)(width / 32 * bits), (size_t)rows * 4),
                          calloc((size_t)groups, (size_t)(rows / 32 * bits * 4)),
                          calloc((size_t)groups, (size_t)rows * 2)};
    int32_t code = strip.codes && strip.zeros && strip.scales
                       ? ACCEL_OK
                       : model_no_memory(error, accel_model_file_path(job->file), rows * row_bytes);
    for (uint64_t r = 0; r < rows && code == ACCEL_OK; r++)
        put_row(format, data + r * row_bytes, width, rows, r, &strip);
    if (code == ACCEL_OK)
        code = write_lines(staged, at[CODES] + first * 4, strip.codes, width / 32 * bits, rows * 4, all * 4, error);
    if (code == ACCEL_OK)
        code = write_lines(staged, at[ZEROS] + first / 8 * bits, strip.zeros, groups, rows / 8 * bits, all / 8 * bits,
                           error);
    if (code == ACCEL_OK)
        code = write_lines(staged, at[SCALES] + first * 2, strip.scales, groups, rows * 2, all * 2, error);
    if (code == ACCEL_OK && first == 0)
        code = write_order(job, staged, index, error);
    free(strip.codes);
    free(strip.zeros);
    free(strip.scales);
    return code;
}

static int32_t write_rows(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                          uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                          struct accel_error *error)
{
    return (job->formats[index].kind == ACCEL_FORMAT_PLANAR ? write_packed : quantize_write_plain)(
        job, staged, index, first, rows, data, row_bytes, error);
}

const struct quantize_layout quantize_layout_gptq = {.name = "GPTQ",
                                                     .rows = GPTQ_ROWS,
                                                     .header = header,
                                                     .folder = quantize_folder_write,
                                                     .write = write_rows,
                                                     .parts = parts};
