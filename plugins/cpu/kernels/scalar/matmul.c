/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul and embed in plain C, for every type through the reference decoder of accel/quant.
 * Layout: weights in place. Tile: one row of W, decoded 512 values at a time, with 4 rows of x; sums in double. Bound:
 * operations (decoding). References of the vector kernels, not optimized.
 */
#include <stdbool.h>

#include "scalar.h"

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#define CHUNK 512u /* a multiple of every block */
#define ROWS 4u
#define INLINE static inline __attribute__((always_inline))

/* Finds the bytes of the values from `at` on of a row. */
static void planes_at(const struct accel_format *format, const struct cpu_matrix *w, size_t row, size_t at,
                      const void *out_planes[3])
{
    for (size_t p = 0; p < 3; p++) {
        size_t offset = row * w->stride[p] + at / format->block_values * format->plane_bytes[p];
        out_planes[p] = p < format->planes ? (const char *)w->plane[p] + offset : NULL;
    }
}

static void decode(const struct accel_format *format, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                   float *out)
{
    const void *planes[3];
    planes_at(format, w, row, at, planes);
    (void)accel_format_decode(format->type, planes, count, out);
}

/* Applies bias, function and residual to one value. */
static void finish(const struct cpu_matmul *call, size_t i, size_t j, double sum)
{
    float value = (float)(sum + (call->bias ? (double)call->bias[j] : 0));
    value = cpu_function_scalar(call->function, value);
    if (call->residual)
        value += call->residual[i * call->residual_stride + j];
    call->y[i * call->y_stride + j] = value;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Reads 32 codes of a row as signed numbers, their scale and their minimum: value = d * code + m. */
static void read_codes(const struct accel_format *format, const void *const *planes, size_t within, int32_t *out,
                       float *out_d, float *out_m)
{
    const uint8_t *block = planes[0];
    bool interleaved = format->kind == ACCEL_FORMAT_INTERLEAVED;
    const uint8_t *scale = interleaved ? block : planes[1];
    const uint8_t *bytes =
        interleaved ? block + (format->type == ACCEL_Q4_1 ? 4 : 2) : block + within * format->digit_bits / 8;
    *out_d = accel_f16_to_f32((uint16_t)(scale[0] | scale[1] << 8));
    *out_m = format->type == ACCEL_Q4_1 ? accel_f16_to_f32((uint16_t)(block[2] | block[3] << 8)) : 0;
    for (uint32_t i = 0; i < CPU_BLOCK; i++) {
        if (format->type == ACCEL_Q8_0)
            out[i] = (int8_t)bytes[i];
        else if (format->digit_bits == 8)
            out[i] = bytes[i] - 128;
        else
            out[i] = (bytes[i % 16] >> (i / 16 * 4) & 15) - (format->type == ACCEL_Q4_1 ? 0 : 8);
    }
}

/* Multiplies act_q8 with codes of one row of W: the sum of a block is an exact integer. */
static void sum_row8(const struct accel_format *format, const struct cpu_matmul *call, size_t i, size_t rows, size_t j,
                     double *sums)
{
    size_t blocks = call->k / CPU_BLOCK;
    for (size_t b = 0; b < blocks; b++) {
        int32_t w[CPU_BLOCK];
        float d, m;
        const void *planes[3];
        planes_at(format, &call->w, j, b * CPU_BLOCK, planes);
        read_codes(format, planes, b * CPU_BLOCK % format->block_values, w, &d, &m);
        for (size_t r = 0; r < rows; r++) {
            const int8_t *x = call->act_q8.q + (i + r) * call->k + b * CPU_BLOCK;
            size_t at = (i + r) * blocks + b;
            int32_t dot = 0;
            for (size_t l = 0; l < CPU_BLOCK; l++)
                dot += w[l] * x[l];
            sums[r] += (double)d * call->act_q8.scale[at] * dot + (double)m * call->act_q8.sum[at];
        }
    }
}

/* Returns whether read_codes supports a format. */
static bool can_read_codes(const struct accel_format *format)
{
    if (format->kind == ACCEL_FORMAT_PLANAR)
        return ACCEL_PLANAR_SCHEME(format->type) == ACCEL_SCHEME_SYMMETRIC && format->digit_bits >= 4;
    return format->type == ACCEL_Q8_0 || format->type == ACCEL_Q4_0 || format->type == ACCEL_Q4_1;
}

/* Returns value l of row r of x as it was staged. */
INLINE double x_value(const struct cpu_matmul *call, const int rounded, size_t r, size_t l)
{
    return rounded ? (double)call->act_q8.scale[(r * call->k + l) / CPU_BLOCK] * call->act_q8.q[r * call->k + l]
                   : call->x[r * call->x_stride + l];
}

/* Multiplies decoded weights of one row of W with rows i .. i + rows of x. */
INLINE void sum_decoded(const struct accel_format *format, const struct cpu_matmul *call, const int rounded, size_t i,
                        size_t rows, size_t j, double *sums)
{
    for (size_t at = 0; at < call->k; at += CHUNK) {
        float weights[CHUNK];
        size_t count = least(CHUNK, call->k - at);
        decode(format, &call->w, j, at, count, weights);
        for (size_t r = 0; r < rows; r++) {
            for (size_t l = 0; l < count; l++)
                sums[r] += (double)weights[l] * x_value(call, rounded, i + r, at + l);
        }
    }
}

/* `rounded` (a constant): x is act_q8. */
INLINE void matmul(const struct cpu_matmul *call, const int rounded, size_t begin, size_t end)
{
    struct accel_format format;
    (void)accel_format_describe(call->w.type, &format);
    const bool read = rounded && can_read_codes(&format);
    for (size_t j = begin; j < end; j++) {
        for (size_t i = 0; i < call->m; i += ROWS) {
            double sums[ROWS] = {0};
            size_t rows = least(ROWS, call->m - i);
            if (read)
                sum_row8(&format, call, i, rows, j, sums);
            else
                sum_decoded(&format, call, rounded, i, rows, j, sums);
            for (size_t r = 0; r < rows; r++)
                finish(call, i + r, j, sums[r]);
        }
    }
}

void cpu_matmul_scalar(const struct cpu_matmul *call, size_t begin, size_t end)
{
    matmul(call, 0, begin, end);
}

void cpu_matmul8_scalar(const struct cpu_matmul *call, size_t begin, size_t end)
{
    matmul(call, 1, begin, end);
}

void cpu_embed_scalar(const struct cpu_matrix *table, size_t rows, size_t width, const int32_t *ids, float *y,
                      size_t begin, size_t end)
{
    struct accel_format format;
    (void)accel_format_describe(table->type, &format);
    for (size_t t = begin; t < end; t++) {
        size_t row = ids[t] >= 0 && (size_t)ids[t] < rows ? (size_t)ids[t] : 0;
        decode(&format, table, row, 0, width, y + t * width);
    }
}

void cpu_fill_scalar(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_scalar;
#define CPU_VECTOR(type, slot, name)
#include "plugins/cpu/kernels/kernels.def"
    for (uint32_t w = 0; w < CPU_WEIGHTS; w++) {
        table->product[CPU_SCALAR32][w] = cpu_matmul_scalar;
        table->embed[w] = cpu_embed_scalar;
    }
#define CODES(ID, name) table->product[CPU_SCALAR8][CPU_##ID] = cpu_matmul8_scalar;
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_NOTHING, CPU_NOTHING, CPU_NOTHING, CODES, CODES, ID, name)
#include <accel/quant/formats.def>
    CPU_PLANAR_OWN(CODES)
    CPU_PLANAR_CODES(CODES)
}
