/* SPDX-License-Identifier: Apache-2.0 */
/* Assembles planar bytes, or decoded values, from packed tensors. GPTQ and AWQ tensors are transposed: a band of rows
 * is a band of their columns. */
#include "model/file/packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "model/file/container.h"
#include "model/file/part.h"
#include "model/file/pool.h"

/* A multiple of 32, so whole words of any width, and long enough for efficient reads. */
#define BAND MODEL_PACKED_BAND

/* Position of column c of eight in a word of AWQ. */
static const unsigned char awq_place[8] = {0, 4, 1, 5, 2, 6, 3, 7};

/* A band of rows, or of columns of a transposed tensor: lines of `stride` bytes. */
struct band {
    unsigned char *bytes;
    uint64_t stride;
};

/* Buffers for reading a plane: bands of codes, scales and zero points, and a row. */
struct work {
    struct band band[3];
    unsigned char *row;
    float *scale;  /* of a row, by group; for decoding only */
    int32_t *zero; /* of a row, by group; for decoding only */
};

/* Returns whether the layout stores rows contiguously. */
static bool is_by_rows(const struct model_packed *packed)
{
    return packed->layout != MODEL_PACKED_GPTQ && packed->layout != MODEL_PACKED_AWQ;
}

static inline uint32_t stream_code(const uint32_t *words, uint64_t stride, uint32_t bits, uint64_t index)
{
    const uint64_t bit = index * bits, word = bit / 32;
    const uint32_t shift = (uint32_t)(bit % 32);
    uint32_t code = words[word * stride] >> shift;
    if (shift + bits > 32)
        code |= words[(word + 1) * stride] << (32 - shift);
    return code & ((1u << bits) - 1);
}

uint64_t model_packed_zero_stride(const struct model_packed *packed)
{
    return packed->layout == MODEL_PACKED_BYTES ? packed->groups : 4 * packed->zeros.dims[1];
}

uint32_t model_packed_zero(const struct model_packed *packed, const unsigned char *bytes, uint64_t stride,
                           uint64_t group, uint64_t row)
{
    const uint32_t *words = (const uint32_t *)(const void *)bytes;
    uint32_t zero;
    if (packed->layout == MODEL_PACKED_BYTES)
        return packed->one_scale ? bytes[0] ^ 0x80u : bytes[row * stride + group] ^ 0x80u;
    if (packed->layout == MODEL_PACKED_WORDS)
        return stream_code(words + group, stride / 4, packed->bits, row);
    words += group * (stride / 4);
    zero = packed->layout == MODEL_PACKED_AWQ ? words[row / 8] >> 4 * awq_place[row % 8] & 15u
                                              : stream_code(words, 1, packed->bits, row);
    return (zero + packed->zero_add) & ((1u << packed->bits) - 1);
}

uint32_t model_packed_scale_bytes(uint32_t type)
{
    switch (type) {
    case ACCEL_F32:
        return 4;
    case ACCEL_F16:
    case ACCEL_BF16:
        return 2;
    case ACCEL_F8_E4M3:
    case ACCEL_U8:
        return 1;
    default:
        return 0;
    }
}

float model_packed_scale(const struct model_packed *packed, const unsigned char *bytes)
{
    const void *planes[] = {bytes};
    float scale = NAN;
    uint16_t half;

    switch (packed->scales.type) {
    case ACCEL_F32:
        memcpy(&scale, bytes, sizeof(scale));
        break;
    case ACCEL_F16:
        memcpy(&half, bytes, sizeof(half));
        scale = accel_f16_to_f32(half);
        break;
    case ACCEL_BF16:
        memcpy(&half, bytes, sizeof(half));
        scale = accel_bf16_to_f32(half);
        break;
    case ACCEL_U8:
        if (bytes[0] != 255)
            scale = ldexpf(1, bytes[0] - 127);
        break;
    default:
        accel_format_decode(packed->scales.type, planes, 1, &scale);
    }
    if (packed->global == 1)
        return scale;
    return (float)(packed->global_divides ? (double)scale / packed->global : (double)scale * packed->global);
}

/* ---- one block of 32 codes ---- */

static inline void write_block(const uint32_t bits, const uint8_t codes[32], uint8_t *out)
{
    if (bits == 8) {
        memcpy(out, codes, 32);
    } else if (bits == 4) {
        for (uint32_t j = 0; j < 16; j++)
            out[j] = (uint8_t)(codes[j] | codes[j + 16] << 4);
    } else {
        for (uint32_t j = 0; j < 8; j++)
            out[j] = (uint8_t)((codes[j] & 3) | (codes[j + 8] & 3) << 2 | (codes[j + 16] & 3) << 4 |
                               (codes[j + 24] & 3) << 6);
    }
    for (uint32_t k = 0; bits == 3 && k < 4; k++) {
        uint32_t third = 0;
        for (uint32_t i = 0; i < 8; i++)
            third |= (uint32_t)(codes[8 * k + i] >> 2) << i;
        out[8 + k] = (uint8_t)third;
    }
}

static inline void write_stream_row(const uint32_t bits, const uint32_t *column, uint64_t blocks, uint8_t *out)
{
    for (uint64_t block = 0; block < blocks; block++, column += (size_t)bits * BAND, out += 4 * bits) {
        uint8_t codes[32];
        for (uint32_t i = 0; i < 32; i++)
            codes[i] = (uint8_t)stream_code(column, BAND, bits, i);
        write_block(bits, codes, out);
    }
}

/* Writes the codes of row `row` of the band as plane 0 has them, from layouts stored by columns. */
static void write_column_codes(const struct model_packed *packed, const struct band *band, uint64_t row, uint8_t *out)
{
    const uint32_t *words = (const uint32_t *)(const void *)band->bytes;
    const uint64_t blocks = packed->width / 32;
    if (packed->layout == MODEL_PACKED_AWQ) {
        const uint32_t *column = words + row / 8, shift = 4u * awq_place[row % 8];
        for (uint64_t block = 0; block < blocks; block++, column += (size_t)32 * BAND / 8, out += 16) {
            uint8_t codes[32];
            for (uint32_t i = 0; i < 32; i++)
                codes[i] = column[(size_t)i * BAND / 8] >> shift & 15u;
            write_block(4, codes, out);
        }
    } else if (packed->bits == 4) {
        write_stream_row(4, words + row, blocks, out);
    } else if (packed->bits == 8) {
        write_stream_row(8, words + row, blocks, out);
    } else if (packed->bits == 3) {
        write_stream_row(3, words + row, blocks, out);
    } else {
        write_stream_row(2, words + row, blocks, out);
    }
}

/* Returns a code of any layout, without its offset. */
static uint32_t code_at(const struct model_packed *packed, const struct band *band, uint64_t row, uint64_t index)
{
    const uint32_t *words = (const uint32_t *)(const void *)band->bytes;
    switch (packed->layout) {
    case MODEL_PACKED_GPTQ:
        return stream_code(words + row, BAND, packed->bits, index);
    case MODEL_PACKED_AWQ:
        return words[index * (BAND / 8) + row / 8] >> 4u * awq_place[row % 8] & 15u;
    case MODEL_PACKED_WORDS:
        return stream_code(words + row * (band->stride / 4), 1, packed->bits, index);
    case MODEL_PACKED_FLOATS:
        return packed->bits == 8 ? band->bytes[row * band->stride + index]
                                 : band->bytes[row * band->stride + index / 2] >> 4 * (index % 2) & 15u;
    default:
        return band->bytes[row * band->stride + index] ^ 0x80u;
    }
}

static void write_row_codes(const struct model_packed *packed, const struct band *band, uint64_t row, uint8_t *out)
{
    for (uint64_t at = 0; at < packed->width; at += 32, out += 4 * packed->bits) {
        uint8_t codes[32];
        for (uint32_t i = 0; i < 32; i++)
            codes[i] = (uint8_t)code_at(packed, band, row, at + i);
        write_block(packed->bits, codes, out);
    }
}

static const unsigned char *scale_at(const struct model_packed *packed, const struct band *band, uint64_t row,
                                     uint64_t group)
{
    const uint64_t bytes = model_packed_scale_bytes(packed->scales.type);
    if (packed->one_scale)
        return band->bytes;
    return band->bytes + (is_by_rows(packed) ? row / packed->row_block * band->stride + group * bytes
                                             : group * band->stride + row * bytes);
}

/* Writes codes of a group, two in each of 2 * half bytes: neighbours become those that are half a group apart. */
static void write_group(const uint8_t *in, uint64_t half, uint8_t *out)
{
    for (uint64_t i = 0; i < half; i++) {
        out[2 * i] = (uint8_t)((in[i] & 15) | in[i + half] << 4);
        out[2 * i + 1] = (uint8_t)(in[i] >> 4 | (in[i + half] & 240));
    }
}

/* Writes row `row` of the bands as blocks of MXFP4 or NVFP4: scales of one or four groups, then their codes. */
static void write_blocks(const struct model_packed *packed, const struct work *work, uint64_t row, uint8_t *out)
{
    const uint8_t *in = work->band[0].bytes + row * work->band[0].stride;
    const uint8_t *scales = work->band[1].bytes + row * work->band[1].stride;
    const uint64_t together = packed->type == ACCEL_NVFP4 ? 4 : 1, bytes = packed->file_group / 2;

    for (uint64_t g = 0; g < packed->groups; g++, in += bytes, out += bytes) {
        if (g % together == 0) {
            memcpy(out, scales + g, together);
            out += together;
        }
        write_group(in, bytes / 2, out);
    }
}

/* Writes the scales or zero points of row `row` of the band. */
static void write_groups(const struct model_packed *packed, const struct band *band, uint32_t plane, uint64_t row,
                         uint8_t *out)
{
    for (uint64_t at = 0; at < packed->width; at += packed->group) {
        const uint64_t group = at / packed->file_group;
        if (plane == 1) {
            const unsigned char *scale = scale_at(packed, band, row, group);
            uint16_t half;
            if (packed->levels != NULL)
                half = accel_f16_from_f32(model_packed_scale(packed, scale) * MODEL_PACKED_FLOAT8_UNIT);
            else if (packed->scales.type != ACCEL_F16)
                half = accel_f16_from_f32(model_packed_scale(packed, scale));
            else
                memcpy(&half, scale, sizeof(half));
            memcpy(out, &half, sizeof(half));
            out += 2;
        } else {
            *out++ = (uint8_t)model_packed_zero(packed, band->bytes, band->stride, group, row);
        }
    }
}

/* Decodes row `row` of the bands. */
static void write_values(const struct model_packed *packed, const struct work *work, uint64_t row, uint8_t *out)
{
    for (uint64_t g = 0; g < packed->groups; g++) {
        work->scale[g] = model_packed_scale(packed, scale_at(packed, &work->band[1], row, g));
        work->zero[g] = packed->zeros.name == NULL
                            ? 1 << (packed->bits - 1)
                            : (int32_t)model_packed_zero(packed, work->band[2].bytes, work->band[2].stride, g, row);
    }
    for (uint64_t i = 0; i < packed->width; i++) {
        const uint64_t g = packed->order ? packed->order[i] : i / packed->file_group;
        const uint32_t code = code_at(packed, &work->band[0], row, i);
        const float level = packed->levels ? packed->levels[code] : (float)((int32_t)code - work->zero[g]);
        const float value = work->scale[g] * level;
        const uint16_t half = packed->type == ACCEL_BF16 ? accel_bf16_from_f32(value) : accel_f16_from_f32(value);
        if (packed->type == ACCEL_F32)
            memcpy(out + 4 * i, &value, sizeof(value));
        else
            memcpy(out + 2 * i, &half, sizeof(half));
    }
}

/* ---- bands ---- */

static const struct accel_model_tensor *tensor_of(const struct model_packed *packed, uint32_t plane)
{
    return plane == 0 ? &packed->codes : plane == 1 ? &packed->scales : &packed->zeros;
}

/* Returns the bytes that `rows` columns take in a line of a layout stored by columns. */
static uint64_t line_bytes(const struct model_packed *packed, uint32_t plane, uint64_t rows)
{
    if (plane == 1)
        return model_packed_scale_bytes(packed->scales.type) * rows;
    return plane == 0 && packed->layout == MODEL_PACKED_GPTQ ? 4 * rows : rows * packed->bits / 8;
}

/* Returns the number of lines before row `row` in a layout stored by rows; a stream down the columns has fewer lines
 * than rows, and so have scales of blocks of rows. */
static uint64_t lines_before(const struct model_packed *packed, uint32_t plane, uint64_t row)
{
    if (plane == 1)
        return (row + packed->row_block - 1) / packed->row_block;
    return plane == 2 && packed->layout == MODEL_PACKED_WORDS ? (row * packed->bits + 31) / 32 : row;
}

static int32_t allocate_band(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                             struct band *band, struct accel_error *error)
{
    const struct accel_model_tensor *tensor = tensor_of(packed, plane);
    uint64_t lines = tensor->dims[0];
    if (!is_by_rows(packed))
        band->stride = line_bytes(packed, plane, BAND);
    else if (packed->one_scale && plane > 0)
        band->stride = tensor->bytes;
    else
        band->stride = tensor->bytes / lines_before(packed, plane, packed->rows);
    if (is_by_rows(packed))
        lines = BAND < packed->rows ? BAND : packed->rows;
    band->bytes = calloc((size_t)lines + 1, (size_t)band->stride);
    return band->bytes == NULL ? model_no_memory(error, accel_model_file_path(file), lines * band->stride) : ACCEL_OK;
}

/* Reads raw bytes of a tensor. Needed because int-quantized codes have the name of the matrix that replaces them. */
static int32_t read_raw(const struct accel_model_file *file, const struct accel_model_tensor *tensor, uint64_t offset,
                        uint64_t bytes, void *out, struct accel_error *error)
{
    return model_part_read(&file->parts[tensor->part], tensor->offset + offset, bytes, out, error);
}

static int32_t load_band(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                         uint64_t first, uint64_t rows, const struct band *band, struct accel_error *error)
{
    const struct accel_model_tensor *tensor = tensor_of(packed, plane);
    int32_t code = ACCEL_OK;
    if (is_by_rows(packed) && packed->one_scale && plane > 0)
        return read_raw(file, tensor, 0, tensor->bytes, band->bytes, error);
    if (is_by_rows(packed)) {
        const uint64_t begin = lines_before(packed, plane, first), end = lines_before(packed, plane, first + rows);
        return read_raw(file, tensor, begin * band->stride, (end - begin) * band->stride, band->bytes, error);
    }
    const uint64_t line = line_bytes(packed, plane, packed->rows), begin = line_bytes(packed, plane, first);
    for (uint64_t l = 0; l < tensor->dims[0] && code == ACCEL_OK; l++)
        code = read_raw(file, tensor, l * line + begin, line_bytes(packed, plane, rows), band->bytes + l * band->stride,
                        error);
    return code;
}

/* Returns whether a plane is assembled from this tensor. */
static bool needs_tensor(const struct model_packed *packed, uint32_t plane, uint32_t tensor)
{
    return packed->dense || packed->blocks ? tensor < 2 || packed->zeros.name != NULL : tensor == plane;
}

static int32_t allocate_work(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                             uint64_t row_bytes, struct work *work, struct accel_error *error)
{
    const uint64_t groups = packed->dense ? packed->groups : 1;
    int32_t code = ACCEL_OK;
    work->row = malloc((size_t)row_bytes);
    work->scale = calloc((size_t)groups, sizeof(*work->scale));
    work->zero = calloc((size_t)groups, sizeof(*work->zero));
    if (work->row == NULL || work->scale == NULL || work->zero == NULL)
        code = model_no_memory(error, accel_model_file_path(file), row_bytes + groups * 8);
    for (uint32_t t = 0; t < 3 && code == ACCEL_OK; t++)
        if (needs_tensor(packed, plane, t))
            code = allocate_band(file, packed, t, &work->band[t], error);
    return code;
}

static void free_work(struct work *work)
{
    for (uint32_t t = 0; t < 3; t++)
        free(work->band[t].bytes);
    free(work->row);
    free(work->scale);
    free(work->zero);
}

static void assemble_row(const struct model_packed *packed, const struct work *work, uint32_t plane, uint64_t row)
{
    if (packed->dense)
        write_values(packed, work, row, work->row);
    else if (packed->blocks)
        write_blocks(packed, work, row, work->row);
    else if (plane > 0)
        write_groups(packed, &work->band[plane], plane, row, work->row);
    else if (is_by_rows(packed))
        write_row_codes(packed, &work->band[0], row, work->row);
    else
        write_column_codes(packed, &work->band[0], row, work->row);
}

/* Reads bytes offset .. offset + bytes of one plane. */
static int32_t read_plane(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                          uint64_t offset, uint64_t bytes, unsigned char *out, struct accel_error *error)
{
    const uint64_t row_bytes = packed->plane_bytes[plane] / packed->rows, end = offset + bytes;
    struct work work = {0};
    int32_t code = allocate_work(file, packed, plane, row_bytes, &work, error);
    uint64_t first = offset / row_bytes / BAND * BAND;
    for (; code == ACCEL_OK && first * row_bytes < end; first += BAND) {
        uint64_t rows = packed->rows - first < BAND ? packed->rows - first : BAND;
        for (uint32_t t = 0; t < 3 && code == ACCEL_OK; t++)
            if (needs_tensor(packed, plane, t))
                code = load_band(file, packed, t, first, rows, &work.band[t], error);
        for (uint64_t r = 0; r < rows && code == ACCEL_OK; r++) {
            const uint64_t begins = (first + r) * row_bytes, ends = begins + row_bytes;
            const uint64_t low = begins > offset ? begins : offset, high = ends < end ? ends : end;
            if (low >= high)
                continue;
            assemble_row(packed, &work, plane, r);
            memcpy(out + (low - offset), work.row + (low - begins), (size_t)(high - low));
        }
    }
    free_work(&work);
    return code;
}

int32_t model_packed_read(const struct accel_model_file *file, const struct model_packed *packed, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error)
{
    unsigned char *to = out;
    uint64_t begin = 0;
    int32_t code = ACCEL_OK;
    for (uint32_t plane = 0; plane < packed->planes && bytes > 0 && code == ACCEL_OK; plane++) {
        const uint64_t all = packed->plane_bytes[plane];
        if (offset < begin + all) {
            const uint64_t count = begin + all - offset < bytes ? begin + all - offset : bytes;
            code = read_plane(file, packed, plane, offset - begin, count, to, error);
            to += count;
            offset += count;
            bytes -= count;
        }
        begin += all;
    }
    return code;
}
