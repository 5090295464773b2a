/* SPDX-License-Identifier: Apache-2.0 */
/* Puts planar bytes together from packed tensors, which lie the other way round: a band of rows is a band of columns
 * of theirs. */
#include "config.h"

#include "sdk/model/format/packed.h"

#include <stdlib.h>
#include <string.h>

#include "sdk/model/format/pool.h"

/* Rows of a band: whole words of any width, and runs long enough to be read one by one from a file. */
#define BAND 256u

/* Where column c of eight stands in a word of AWQ. */
static const unsigned char awq_place[8] = {0, 4, 1, 5, 2, 6, 3, 7};

/* A band of columns of a packed tensor: `lines` lines of `stride` bytes. */
struct band {
    unsigned char *bytes;
    uint64_t lines;
    uint64_t stride;
};

static inline uint32_t stream_digit(const uint32_t *words, uint64_t stride, uint32_t bits, uint64_t index)
{
    const uint64_t bit = index * bits, word = bit / 32;
    const uint32_t shift = (uint32_t)(bit % 32);
    uint32_t digit = words[word * stride] >> shift;
    if (shift + bits > 32)
        digit |= words[(word + 1) * stride] << (32 - shift);
    return digit & ((1u << bits) - 1);
}

uint32_t model_packed_zero(const struct model_packed *packed, const uint32_t *line, uint64_t row)
{
    uint32_t zero = packed->layout == MODEL_PACKED_AWQ ? line[row / 8] >> 4 * awq_place[row % 8] & 15u
                                                       : stream_digit(line, 1, packed->bits, row);
    return (zero + packed->zero_add) & ((1u << packed->bits) - 1);
}

/* ---- one run of 32 digits ---- */

static inline void put_run(const uint32_t bits, const uint8_t digits[32], uint8_t *out)
{
    if (bits == 8) {
        memcpy(out, digits, 32);
    } else if (bits == 4) {
        for (uint32_t j = 0; j < 16; j++)
            out[j] = (uint8_t)(digits[j] | digits[j + 16] << 4);
    } else {
        for (uint32_t j = 0; j < 8; j++)
            out[j] = (uint8_t)((digits[j] & 3) | (digits[j + 8] & 3) << 2 | (digits[j + 16] & 3) << 4 |
                               (digits[j + 24] & 3) << 6);
    }
    for (uint32_t k = 0; bits == 3 && k < 4; k++) {
        uint32_t third = 0;
        for (uint32_t i = 0; i < 8; i++)
            third |= (uint32_t)(digits[8 * k + i] >> 2) << i;
        out[8 + k] = (uint8_t)third;
    }
}

static inline void row_of_streams(const uint32_t bits, const uint32_t *column, uint64_t runs, uint8_t *out)
{
    for (uint64_t run = 0; run < runs; run++, column += (size_t)bits * BAND, out += 4 * bits) {
        uint8_t digits[32];
        for (uint32_t i = 0; i < 32; i++)
            digits[i] = (uint8_t)stream_digit(column, BAND, bits, i);
        put_run(bits, digits, out);
    }
}

/* Digits of row `row` of the band, as plane 0 has them. */
static void put_digits(const struct model_packed *packed, const struct band *band, uint64_t row, uint8_t *out)
{
    const uint32_t *words = (const uint32_t *)(const void *)band->bytes;
    const uint64_t runs = packed->width / 32;
    if (packed->layout == MODEL_PACKED_AWQ) {
        const uint32_t *column = words + row / 8, shift = 4u * awq_place[row % 8];
        for (uint64_t run = 0; run < runs; run++, column += (size_t)32 * BAND / 8, out += 16) {
            uint8_t digits[32];
            for (uint32_t i = 0; i < 32; i++)
                digits[i] = column[(size_t)i * BAND / 8] >> shift & 15u;
            put_run(4, digits, out);
        }
    } else if (packed->bits == 4) {
        row_of_streams(4, words + row, runs, out);
    } else if (packed->bits == 8) {
        row_of_streams(8, words + row, runs, out);
    } else if (packed->bits == 3) {
        row_of_streams(3, words + row, runs, out);
    } else {
        row_of_streams(2, words + row, runs, out);
    }
}

/* Scales, or zero points, of row `row` of the band. */
static void put_groups(const struct model_packed *packed, const struct band *band, uint32_t plane, uint64_t row,
                       uint8_t *out)
{
    for (uint64_t at = 0; at < packed->width; at += packed->group) {
        const unsigned char *line = band->bytes + at / packed->file_group * band->stride;
        if (plane == 1) {
            memcpy(out, line + 2 * row, 2);
            out += 2;
        } else {
            *out++ = (uint8_t)model_packed_zero(packed, (const uint32_t *)(const void *)line, row);
        }
    }
}

/* ---- bands ---- */

static const struct accel_model_tensor *tensor_of(const struct model_packed *packed, uint32_t plane)
{
    return plane == 0 ? &packed->digits : plane == 1 ? &packed->scales : &packed->zeros;
}

/* Bytes that `rows` columns take in a line. */
static uint64_t line_bytes(const struct model_packed *packed, uint32_t plane, uint64_t rows)
{
    if (plane == 1)
        return 2 * rows;
    return plane == 0 && packed->layout == MODEL_PACKED_GPTQ ? 4 * rows : rows * packed->bits / 8;
}

static int32_t make_band(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                         struct band *band, struct accel_error *error)
{
    band->lines = tensor_of(packed, plane)->dims[0];
    band->stride = line_bytes(packed, plane, BAND);
    band->bytes = calloc((size_t)band->lines + 1, (size_t)band->stride);
    return band->bytes == NULL ? model_no_memory(error, accel_model_file_path(file), band->lines * band->stride)
                               : ACCEL_OK;
}

static int32_t load_band(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                         uint64_t first, uint64_t rows, const struct band *band, struct accel_error *error)
{
    const struct accel_model_tensor *tensor = tensor_of(packed, plane);
    const uint64_t line = line_bytes(packed, plane, packed->rows), begin = line_bytes(packed, plane, first);
    int32_t code = ACCEL_OK;
    for (uint64_t l = 0; l < band->lines && code == ACCEL_OK; l++)
        code = accel_model_file_read(file, tensor, l * line + begin, line_bytes(packed, plane, rows),
                                     band->bytes + l * band->stride, error);
    return code;
}

/* Bytes offset .. offset + bytes of one plane. */
static int32_t read_plane(const struct accel_model_file *file, const struct model_packed *packed, uint32_t plane,
                          uint64_t offset, uint64_t bytes, unsigned char *out, struct accel_error *error)
{
    const uint64_t row_bytes = packed->plane_bytes[plane] / packed->rows, end = offset + bytes;
    unsigned char *row = malloc((size_t)row_bytes);
    struct band band = {0};
    int32_t code = row == NULL ? model_no_memory(error, accel_model_file_path(file), row_bytes)
                               : make_band(file, packed, plane, &band, error);
    uint64_t first = offset / row_bytes / BAND * BAND;
    for (; code == ACCEL_OK && first * row_bytes < end; first += BAND) {
        uint64_t rows = packed->rows - first < BAND ? packed->rows - first : BAND;
        code = load_band(file, packed, plane, first, rows, &band, error);
        for (uint64_t r = 0; r < rows && code == ACCEL_OK; r++) {
            const uint64_t begins = (first + r) * row_bytes, ends = begins + row_bytes;
            const uint64_t low = begins > offset ? begins : offset, high = ends < end ? ends : end;
            if (low >= high)
                continue;
            if (plane == 0)
                put_digits(packed, &band, r, row);
            else
                put_groups(packed, &band, plane, r, row);
            memcpy(out + (low - offset), row + (low - begins), (size_t)(high - low));
        }
    }
    free(band.bytes);
    free(row);
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
