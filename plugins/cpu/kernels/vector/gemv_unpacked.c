/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gemv of act_q8 for the formats of unpack.h and planar.h: a function unpacks each of them, and types whose scales are
 * alike share the rest.
 * Layout: weights in place. Tile: 8 spans of 256 weights of one row of W are unpacked into the L1 cache and multiplied
 * with 2 rows of x at a time; sums of 32 products are exact integers, scaled in float.
 * Bound: operations.
 */
#include "finish.h"
#include "gemv.h"

#define SPANS 8u   /* spans of a row of W unpacked at a time: 3 KiB */
#define X_ROWS 64u /* rows of x per unpacked span */
#define PAIR 2u

/* Unpacks `values` weights of row j from `at` on. */
typedef void unpack_row_fn(const struct cpu_matrix *w, size_t j, size_t at, size_t values,
                           struct unpacked spans[SPANS]);

/* Parts of unpacked weights beside codes and scales; constants. */
struct parts {
    int minimum;
    int codebook;
};

/* Multiplies a block of a span with x. */
CPU_INLINE __m256i dot_block(const struct parts parts, const struct unpacked *unpacked, size_t g, __m256i x)
{
    __m256i products = dot32s(load32(unpacked->codes + 32 * g), x);
    if (parts.codebook)
        products = _mm256_add_epi32(_mm256_slli_epi32(products, 8), dot32s(load32(unpacked->low + 32 * g), x));
    return products;
}

/* Returns both minima of block g times the sums of x; `scale` is the scale of x. */
CPU_INLINE __m256 minimum_part(const struct unpacked *unpacked, size_t g, __m256i x, __m256 scale)
{
    __m256i sums = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), x), _mm256_set1_epi16(1));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_mul_ps(two_floats(unpacked->m + 2 * g), scale));
}

/* Adds `count` blocks of 32 to the sums of `rows` (a constant) rows of x. */
CPU_INLINE void accumulate_block(const struct parts parts, const struct unpacked *unpacked, const struct act_rows *x,
                                 size_t block, size_t count, const size_t rows, __m256 acc[PAIR])
{
    for (size_t g = 0; g < count; g++) {
        const __m256 d = two_floats(unpacked->d + 2 * g);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const size_t at = r * x->blocks + block + g;
            __m256i q = load32(x->q + r * x->k + (block + g) * 32);
            __m256 scale = _mm256_broadcast_ss(x->scale + at);
            acc[r] =
                _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot_block(parts, unpacked, g, q)), _mm256_mul_ps(d, scale), acc[r]);
            if (parts.minimum)
                acc[r] = _mm256_add_ps(acc[r], minimum_part(unpacked, g, q, scale));
        }
    }
}

/* Multiplies `values` unpacked weights of one row of W with `rows` (a constant) rows of x and adds to `sums`,
 * FINISH_COLUMNS apart per row of x. */
CPU_INLINE void accumulate(const struct parts parts, const struct unpacked *spans, size_t values,
                           const struct act_rows *x, const size_t rows, float *sums)
{
    __m256 acc[PAIR];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        acc[r] = _mm256_setzero_ps();
    for (size_t at = 0; at < values; at += UNPACKED_VALUES, spans++) {
        const size_t count = least(UNPACKED_VALUES, values - at) / 32;
        accumulate_block(parts, spans, x, at / 32, count, rows, acc);
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        sums[r * FINISH_COLUMNS] += sum8(acc[r]);
}

/* Unpacks `values` weights of row j from `at` on. */
CPU_INLINE void unpack_row(const struct traits traits, const struct cpu_matrix *w, size_t j, size_t at, size_t values,
                           struct unpacked spans[SPANS])
{
    const uint8_t *row = (const uint8_t *)w->plane[0] + j * w->stride[0];
    for (size_t done = 0; done < values; done += UNPACKED_VALUES) {
        prefetch_ahead(row + bytes_before(traits, w, at + done), w->stride[0]);
        prefetch_ahead(row + bytes_before(traits, w, at + done) + 64, w->stride[0]);
        unpack_span(traits, w, j, at + done, least(UNPACKED_VALUES, values - done), spans++);
    }
}

/* Multiplies one row of W with rows i .. i + rows of x: one column of `sums`. */
CPU_INLINE void one_row(const struct parts parts, unpack_row_fn *unpack_row, const struct cpu_matmul *call, size_t i,
                        size_t rows, size_t j, float *sums)
{
    const size_t blocks = call->k / 32;
    for (size_t at = 0; at < call->k; at += SPANS * UNPACKED_VALUES) {
        struct unpacked spans[SPANS];
        size_t values = least(SPANS * UNPACKED_VALUES, call->k - at), r = 0;
        unpack_row(&call->w, j, at, values, spans);
        for (; r < rows; r += PAIR) {
            size_t first = (i + r) * blocks + at / 32;
            const struct act_rows x = {call->act_q8.q + (i + r) * call->k + at, call->act_q8.scale + first, NULL,
                                       call->k, blocks};
            if (rows - r >= PAIR)
                accumulate(parts, spans, values, &x, PAIR, sums + r * FINISH_COLUMNS);
            else
                accumulate(parts, spans, values, &x, 1, sums + r * FINISH_COLUMNS);
        }
    }
}

CPU_INLINE void gemv(const struct parts parts, unpack_row_fn *unpack_row, const struct cpu_matmul *call, size_t begin,
                     size_t end)
{
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        const size_t rows = least(X_ROWS, call->m - i);
        for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
            float sums[X_ROWS * FINISH_COLUMNS];
            const size_t count = least(FINISH_COLUMNS, end - j);
            memset(sums, 0, rows * FINISH_COLUMNS * sizeof(sums[0]));
            for (size_t c = 0; c < count; c++)
                one_row(parts, unpack_row, call, i, rows, j + c, sums + c);
            for (size_t r = 0; r < rows; r++)
                finish_row(call, i + r, j, count, sums + r * FINISH_COLUMNS);
        }
    }
}

/* Chooses the copy for a type. */
static void gemv_any(const struct parts parts, unpack_row_fn *unpack_row, const struct cpu_matmul *call, size_t begin,
                     size_t end)
{
    if (parts.codebook)
        gemv((struct parts){0, 1}, unpack_row, call, begin, end);
    else if (parts.minimum)
        gemv((struct parts){1, 0}, unpack_row, call, begin, end);
    else
        gemv((struct parts){0, 0}, unpack_row, call, begin, end);
}

#define KERNEL(ID, name)                                                                                               \
    static void unpack_row_##name(const struct cpu_matrix *w, size_t j, size_t at, size_t values,                      \
                                  struct unpacked spans[SPANS])                                                        \
    {                                                                                                                  \
        unpack_row(traits_##name, w, j, at, values, spans);                                                            \
    }                                                                                                                  \
    void CPU_NAME(gemv_unpacked_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                       \
    {                                                                                                                  \
        const struct parts parts = {(int)traits_##name.minimum, traits_have_codebook(traits_##name)};                  \
        gemv_any(parts, unpack_row_##name, call, begin, end);                                                          \
    }
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_NOTHING, CPU_NOTHING, CPU_NOTHING, CPU_NOTHING, KERNEL, ID, name)
#include <accel/quant/formats.def>
CPU_PLANAR_CODES(KERNEL)
