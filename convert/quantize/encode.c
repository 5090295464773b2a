/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/encode.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <accel/quant/half.h>

#include "convert/quantize/dense.h"
#include "convert/quantize/gptq_solve.h"
#include "model/file/fault.h"
#include "model/file/pool.h"
#include "model/file/rows.h"

#define HALF_LARGEST 65504.0f

/* Refinement passes over codes and scales: the first gains most, and each costs as much as two solutions. */
#define SWEEPS 1u

uint64_t quantize_width(const struct accel_quantize_job *job, uint64_t index)
{
    return model_tensor_width(accel_model_file_tensor(job->file, index));
}

int32_t quantize_buffer_grow(struct quantize_buffer *buffer, uint64_t wanted, const char *path,
                             struct accel_error *error)
{
    void *larger;
    if (wanted <= buffer->bytes)
        return ACCEL_OK;
    larger = wanted > SIZE_MAX ? NULL : malloc((size_t)wanted);
    if (larger == NULL)
        return model_no_memory(error, path, wanted);
    free(buffer->data);
    *buffer = (struct quantize_buffer){larger, (size_t)wanted};
    return ACCEL_OK;
}

void quantize_chunk_free(struct quantize_chunk *chunk)
{
    free(chunk->in.data);
    free(chunk->values.data);
    free(chunk->out.data);
    free(chunk->again.data);
    free(chunk->work.data);
    free(chunk->scratch.data);
}

/* ---- reading ---- */

int32_t quantize_read(const struct accel_quantize_job *job, struct quantize_chunk *chunk, uint64_t offset,
                      uint64_t bytes, const unsigned char **out_data, struct accel_error *error)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, chunk->tensor);
    const unsigned char *data = accel_model_file_data(job->file, tensor);
    int32_t code;
    *out_data = data != NULL ? data + offset : NULL;
    if (data != NULL)
        return ACCEL_OK;
    code = quantize_buffer_grow(&chunk->in, bytes, accel_model_file_path(job->file), error);
    *out_data = chunk->in.data;
    return code == ACCEL_OK ? accel_model_file_read(job->file, tensor, offset, bytes, chunk->in.data, error) : code;
}

/* Mapped pages count as process memory until they are released; the page cache retains the file. */
void quantize_release(const struct accel_quantize_job *job, const unsigned char *data, uint64_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)data + page - 1) / page * page,
                    end = ((uintptr_t)data + bytes) / page * page;
    for (uint32_t part = 0; part < accel_model_file_part_count(job->file); part++) {
        struct accel_model_mapping mapping;
        if (accel_model_file_mapping(job->file, part, &mapping, NULL) != ACCEL_OK)
            continue;
        const uintptr_t from = (uintptr_t)mapping.address;
        if (begin < end && begin >= from && end <= from + mapping.bytes)
            (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
}

static int32_t refuse_tensor(const struct accel_quantize_job *job, const struct quantize_chunk *chunk, int32_t code,
                             struct accel_error *error)
{
    return model_fault(error, code, accel_model_file_path(job->file), MODEL_NO_OFFSET,
                       "tensor %.100s cannot be converted", job->rows[chunk->tensor].name);
}

static int32_t refuse_encoding(const struct accel_quantize_job *job, const struct quantize_chunk *chunk, int32_t code,
                               struct accel_error *error)
{
    return accel_error_advise(error, code, "--keep '%.80s' copies it as it is", job->rows[chunk->tensor].name);
}

static int32_t refuse_values(const struct accel_quantize_job *job, const struct quantize_chunk *chunk, uint64_t at,
                             struct accel_error *error)
{
    uint64_t width = quantize_width(job, chunk->tensor);
    accel_error_set(error, ACCEL_E_CORRUPT, "%s: tensor %.100s: value %llu of row %llu is not finite",
                    accel_model_file_path(job->file), job->rows[chunk->tensor].name, (unsigned long long)(at % width),
                    (unsigned long long)(chunk->row + at / width));
    return accel_error_origin(error, ACCEL_FROM_MODEL, refuse_encoding(job, chunk, ACCEL_E_CORRUPT, error));
}

/* Returns the bits of the largest magnitude; values that are not finite are above all others. */
static uint32_t find_largest_bits(const float *values, size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = accel_f32_bits(values[i]) & 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}

static int32_t decode_rows(const struct accel_quantize_job *job, struct quantize_chunk *chunk,
                           struct accel_error *error)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, chunk->tensor);
    const unsigned char *data = accel_model_file_data(job->file, tensor);
    float *values = chunk->values.data;
    struct model_rows from;
    int32_t code = model_rows_of(tensor, tensor->type, &from);
    if (code != ACCEL_OK)
        return refuse_tensor(job, chunk, code, error);
    if (data == NULL)
        code = quantize_buffer_grow(&chunk->in, chunk->rows * from.all_bytes, accel_model_file_path(job->file), error);
    if (code == ACCEL_OK)
        code = model_rows_decode(job->file, tensor, &from, chunk->row, chunk->rows, chunk->in.data, values, error);
    if (code != ACCEL_OK)
        return code;
    if (data != NULL && from.planes == 1)
        quantize_release(job, data + chunk->row * from.all_bytes, chunk->rows * from.all_bytes);
    if (find_largest_bits(values, chunk->rows * from.width) < accel_f32_bits(INFINITY))
        return ACCEL_OK;
    for (uint64_t i = 0; i < chunk->rows * from.width; i++)
        if (!isfinite(values[i]))
            return refuse_values(job, chunk, i, error);
    return ACCEL_OK;
}

int32_t quantize_check(const struct accel_quantize_job *job, struct quantize_chunk *chunk, struct accel_error *error)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, chunk->tensor);
    const uint64_t begin = chunk->row, bytes = chunk->rows;
    struct model_rows from;
    int32_t code = ACCEL_OK;
    /* A tensor whose type cannot be decoded is copied unread. */
    if (model_rows_of(tensor, tensor->type, &from) != ACCEL_OK || from.width == 0)
        return ACCEL_OK;
    code = quantize_buffer_grow(&chunk->values, from.width * sizeof(float), accel_model_file_path(job->file), error);
    chunk->rows = 1;
    for (chunk->row = 0; chunk->row < from.rows && code == ACCEL_OK; chunk->row++)
        code = decode_rows(job, chunk, error);
    chunk->row = begin;
    chunk->rows = bytes;
    return code;
}

/* ---- encoding ---- */

static int32_t compensate(const struct accel_quantize_job *job, const struct quantize_way *way,
                          struct quantize_chunk *chunk, const struct model_rows *to, struct accel_error *error)
{
    const size_t width = (size_t)to->width;
    const char *path = accel_model_file_path(job->file);
    const struct gptq_matrix matrix = {.type = job->rows[chunk->tensor].to,
                                       .sweeps = SWEEPS,
                                       .width = width,
                                       .u = way->u,
                                       .weight = way->weight,
                                       .h = way->damped,
                                       .damping = way->damping};
    /* Twice, for measure_outputs. */
    int32_t code = quantize_buffer_grow(&chunk->work, 2 * chunk->rows * width * sizeof(float), path, error);
    if (code == ACCEL_OK)
        code = quantize_buffer_grow(&chunk->scratch, gptq_scratch_bytes(chunk->rows, width), path, error);
    if (code != ACCEL_OK)
        return code;
    memcpy(chunk->work.data, chunk->values.data, chunk->rows * width * sizeof(float));
    code = gptq_solve(&matrix, chunk->work.data, chunk->rows, chunk->out.data, to->all_bytes, chunk->scratch.data);
    if (code == ACCEL_OK)
        code = gptq_refine(&matrix, chunk->values.data, chunk->work.data, chunk->rows, chunk->out.data, to->all_bytes,
                           chunk->scratch.data);
    return code == ACCEL_OK ? ACCEL_OK : refuse_tensor(job, chunk, code, error);
}

static int32_t encode_rows(const struct accel_quantize_job *job, const struct quantize_way *way,
                           struct quantize_chunk *chunk, const struct model_rows *to, struct accel_error *error)
{
    const size_t width = (size_t)to->width;
    int32_t code = ACCEL_OK;
    if (way->method == ACCEL_QUANTIZE_METHOD_GPTQ)
        return compensate(job, way, chunk, to, error);
    for (uint64_t r = 0; r < chunk->rows && code == ACCEL_OK; r++) {
        void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        const float *values = (const float *)chunk->values.data + r * width;
        model_row_planes(to, (unsigned char *)chunk->out.data + r * to->all_bytes, planes);
        if (way->method == ACCEL_QUANTIZE_METHOD_NEAREST)
            code = accel_format_encode(to->type, values, width, planes);
        else
            code = accel_format_fit(to->type, values, way->weight, width, planes);
    }
    return code == ACCEL_OK ? ACCEL_OK : refuse_tensor(job, chunk, code, error);
}

/* ---- measuring errors ---- */

/* Returns the value of largest magnitude in the block of `at`. */
static size_t find_block_extreme(uint32_t type, const float *values, size_t at, size_t width)
{
    struct accel_format format;
    size_t block = 1, worst = at;
    if (accel_format_describe(type, &format) == ACCEL_OK && format.block_values > 0)
        block = format.kind == ACCEL_FORMAT_PLANAR && format.group == 0 ? width : format.block_values;
    for (size_t i = at / block * block; i < (at / block + 1) * block && i < width; i++)
        worst = fabsf(values[i]) > fabsf(values[worst]) ? i : worst;
    return worst;
}

/* Returns whether a value is too large for its type. Scales are halves: a larger one becomes infinite, or is clamped to
 * less than half of itself by encoders that respect the limit. Only the largest value of a block is tested: others may
 * round to zero. */
static bool is_too_large(uint32_t type, const float *values, float again, size_t at, size_t width)
{
    if (!isfinite(again))
        return true;
    return fabsf(values[at]) > HALF_LARGEST && fabsf(again) < fabsf(values[at]) / 2 &&
           find_block_extreme(type, values, at, width) == at;
}

/* Reports the value that makes the block around `at` impossible to store. */
static int32_t refuse_overflow(const struct accel_quantize_job *job, const struct quantize_chunk *chunk, uint64_t row,
                               size_t at, size_t width, struct accel_error *error)
{
    const struct accel_quantize_row *tensor = &job->rows[chunk->tensor];
    const float *values = (const float *)chunk->values.data + row * width;
    size_t worst = find_block_extreme(tensor->to, values, at, width);
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: tensor %.100s: value %zu of row %llu is %g, too large for %s",
                    accel_model_file_path(job->file), tensor->name, worst, (unsigned long long)(chunk->row + row),
                    (double)values[worst], tensor->to_name);
    return accel_error_origin(error, ACCEL_FROM_MODEL, refuse_encoding(job, chunk, ACCEL_E_UNSUPPORTED, error));
}

#define LANES 4u /* independent partial sums */

static void add_squares(const float *values, const float *again, size_t count, struct quantize_sums *sums)
{
    double difference[LANES] = {0}, power[LANES] = {0};
    for (size_t i = 0; i < count; i += LANES) {
        for (size_t j = 0; j < LANES && i + j < count; j++) {
            const double value = (double)values[i + j], d = (double)again[i + j] - value;
            difference[j] += d * d;
            power[j] += value * value;
        }
    }
    for (size_t j = 0; j < LANES; j++) {
        sums->difference += difference[j];
        sums->power += power[j];
    }
}

/* Sums squares of values and of their errors, row by row. */
static int32_t measure(const struct accel_quantize_job *job, const struct quantize_chunk *chunk,
                       const struct model_rows *to, struct quantize_sums *sums, struct accel_error *error)
{
    float *again = chunk->again.data;
    const size_t width = (size_t)to->width;
    int32_t code = ACCEL_OK;
    for (uint64_t row = 0; row < chunk->rows && code == ACCEL_OK; row++) {
        const float *values = (const float *)chunk->values.data + row * width;
        void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        model_row_planes(to, (unsigned char *)chunk->out.data + row * to->all_bytes, planes);
        code = accel_format_decode(to->type, (const void *const *)planes, width, again);
        if (code != ACCEL_OK)
            break;
        /* Only a value beyond the range of halves can be too large for a scale. */
        const bool large = find_largest_bits(values, width) > accel_f32_bits(HALF_LARGEST) ||
                           find_largest_bits(again, width) >= accel_f32_bits(INFINITY);
        for (size_t i = 0; i < width && large; i++)
            if (is_too_large(to->type, values, again[i], i, width))
                return refuse_overflow(job, chunk, row, i, width, error);
        add_squares(values, again, width, sums);
    }
    return code == ACCEL_OK ? ACCEL_OK : refuse_tensor(job, chunk, code, error);
}

/* Sums squares of the outputs of sampled rows, whose values are gathered at the beginning of the chunk. */
static void measure_outputs(const struct quantize_way *way, struct quantize_chunk *chunk, const struct model_rows *to,
                            struct quantize_sums *sums)
{
    const size_t width = (size_t)to->width;
    float *differences = chunk->work.data, *values = chunk->values.data;
    size_t count = 0;
    for (uint64_t row = 0; row < chunk->rows; row++) {
        void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        if ((chunk->row + row) % way->sampled != 0)
            continue;
        model_row_planes(to, (unsigned char *)chunk->out.data + row * to->all_bytes, planes);
        accel_format_decode(to->type, (const void *const *)planes, width, differences + count * width);
        memmove(values + count * width, values + row * width, width * sizeof(*values));
        for (size_t i = 0; i < width; i++)
            differences[count * width + i] -= values[count * width + i];
        count++;
    }
    if (count == 0)
        return;
    float *product = differences + chunk->rows * width;
    sums->output_difference = dense_quadratic(differences, count, width, way->moments, product, chunk->scratch.data);
    sums->output_power = dense_quadratic(values, count, width, way->moments, product, chunk->scratch.data);
}

int32_t quantize_encode(const struct accel_quantize_job *job, const struct quantize_way *way,
                        struct quantize_chunk *chunk, size_t *out_row_bytes, struct quantize_sums *out_sums,
                        struct accel_error *error)
{
    const char *path = accel_model_file_path(job->file);
    struct model_rows to;
    int32_t code = model_rows_of(accel_model_file_tensor(job->file, chunk->tensor), job->rows[chunk->tensor].to, &to);
    *out_row_bytes = to.all_bytes;
    *out_sums = (struct quantize_sums){0};
    if (code != ACCEL_OK)
        return refuse_tensor(job, chunk, code, error);
    code = quantize_buffer_grow(&chunk->values, chunk->rows * to.width * sizeof(float), path, error);
    if (code == ACCEL_OK)
        code = quantize_buffer_grow(&chunk->out, chunk->rows * to.all_bytes, path, error);
    if (code == ACCEL_OK)
        code = quantize_buffer_grow(&chunk->again, to.width * sizeof(float), path, error);
    if (code == ACCEL_OK)
        code = decode_rows(job, chunk, error);
    if (code == ACCEL_OK)
        code = encode_rows(job, way, chunk, &to, error);
    if (code == ACCEL_OK)
        code = measure(job, chunk, &to, out_sums, error);
    if (code == ACCEL_OK && way->sampled > 0)
        measure_outputs(way, chunk, &to, out_sums);
    return code;
}
