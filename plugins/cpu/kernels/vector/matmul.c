/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul with F32 activations, and embed, for every weight type.
 * Layout: weights in place. Tile: 4 rows of W, decoded CHUNK values at a time into the L1 cache (F32, F16 and BF16 are
 * read in place), with 3 rows of x; 12 sums in registers. Up to 3 rows of x are multiplied with codes directly. Bound:
 * bytes of W for one row of x, multiply-adds for many. Measured: doc/benchmark.md, F32 matmul.
 */
#include "finish.h"
#include "gemm32.h"
#include "planar.h"

#define CHUNK 512u
#define TILE_W 4u
#define TILE_X 3u
#define X_ROWS 126u /* rows of x per decoded chunk: a multiple of the tile */

CPU_INLINE void decode_f32(const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)
{
    memcpy(out, (const char *)w->plane[0] + row * w->stride[0] + at * sizeof(float), count * sizeof(float));
}

CPU_INLINE vf load16(const int bfloat, const uint16_t *p)
{
    return bfloat ? v_load_bf16(p) : v_load_f16(p);
}

CPU_INLINE void decode16(const int bfloat, const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)
{
    const uint16_t *from = (const uint16_t *)((const char *)w->plane[0] + row * w->stride[0]) + at;
    size_t i = 0;
    for (; i + VN <= count; i += VN)
        v_store(out + i, load16(bfloat, from + i));
    if (i < count) {
        uint16_t part[VN] = {0};
        memcpy(part, from + i, (count - i) * sizeof(uint16_t));
        v_store_part(out + i, load16(bfloat, part), count - i);
    }
}

/* Loads codes i .. i + VN of a block. */
CPU_INLINE vf load_codes(const struct block32 f, const uint8_t *codes, size_t i)
{
    if (f.bits == 4)
        return v_load_u8(codes + i % 16, i < 16 ? 0 : 4, 15);
    return f.planar ? v_load_u8(codes + i, 0, 255) : v_load_i8(codes + i);
}

CPU_INLINE void decode_blocks(const struct block32 f, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                              float *out)
{
    const uint8_t *codes = codes_of(f, w, row), *scales = scales_of(f, w, row);
    const float zero = f.minimum || (f.bits == 8 && !f.planar) ? 0.0f : f.bits == 8 ? 128.0f : 8.0f;
    for (size_t b = at / CPU_BLOCK; b < (at + count) / CPU_BLOCK; b++, out += CPU_BLOCK) {
        float d = half_to_float(scales + scale_at(f, b));
        float m = f.minimum ? half_to_float(scales + scale_at(f, b) + 2) : 0;
        CPU_UNROLL
        for (size_t i = 0; i < CPU_BLOCK; i += VN) {
            vf q = load_codes(f, codes + b * f.block_bytes, i);
            v_store(out + i, f.minimum ? v_fma(q, v_set(d), v_set(m)) : (q - zero) * d);
        }
    }
}

/* `at` is a multiple of UNPACKED_VALUES. */
CPU_INLINE void decode_unpacked(const struct traits traits, const struct cpu_matrix *w, size_t row, size_t at,
                                size_t count, float *out)
{
    for (size_t end = at + count; at < end; at += UNPACKED_VALUES, out += UNPACKED_VALUES) {
        struct unpacked unpacked;
        const size_t values = least(UNPACKED_VALUES, end - at);
        unpack_span(traits, w, row, at, values, &unpacked);
        for (size_t i = 0; i < values; i += VN) {
            vf d = v_set(unpacked.d[i / 16]), q = v_load_i8((const uint8_t *)unpacked.codes + i);
            v_store(out + i, traits.minimum ? v_fma(q, d, v_set(unpacked.m[i / 16])) : q * d);
        }
    }
}

/* Returns a float of 8 bits as a half, those of f8_e4m3 divided by 256. */
CPU_INLINE uint16_t half_of_float8(uint32_t type, uint8_t byte)
{
    if (type == ACCEL_F8_E5M2)
        return (uint16_t)(byte << 8);
    const uint16_t half = (uint16_t)((byte & 0x80u) << 8 | (byte & 0x7fu) << 7);
    return (byte & 0x7fu) == 0x7fu ? half | 0x7e00u : half;
}

/* Decodes up to CPU_BLOCK floats of 8 bits as halves: exact. */
CPU_INLINE void decode_float8(uint32_t type, const uint8_t *from, float factor, size_t count, float *out)
{
    uint16_t halves[CPU_BLOCK] = {0};
    for (size_t j = 0; j < count; j++)
        halves[j] = half_of_float8(type, from[j]);
    for (size_t j = 0; j < count; j += VN) {
        const vf values = v_load_f16(halves + j) * factor;
        if (count - j >= VN)
            v_store(out + j, values);
        else
            v_store_part(out + j, values, count - j);
    }
}

CPU_INLINE void decode_float(uint32_t type, const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)
{
    const uint8_t *from = (const uint8_t *)w->plane[0] + row * w->stride[0] + at;
    for (size_t i = 0; i < count; i += CPU_BLOCK)
        decode_float8(type, from + i, type == ACCEL_F8_E4M3 ? 256.0f : 1.0f, least(CPU_BLOCK, count - i), out + i);
}

CPU_INLINE void decode_planar_float(const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)
{
    const uint8_t *codes = (const uint8_t *)w->plane[0] + row * w->stride[0] + at;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint32_t shift = group_shift(w);
    for (size_t i = 0; i < count; i += CPU_BLOCK)
        decode_float8(ACCEL_F8_E4M3, codes + i, half_to_float(scales + 2 * (((at + i) / CPU_BLOCK) >> shift)),
                      CPU_BLOCK, out + i);
}

/* How a tile reads its rows of W. */
#define READ_F32 0
#define READ_F16 1
#define READ_BF16 2
#define READ_BLOCKS 3   /* not by the tile: decoded before, or GEMV on blocks */
#define READ_UNPACKED 4 /* decoded before */

CPU_INLINE vf load_weights(const int read, const void *row, size_t at)
{
    return read == READ_F32 ? v_load((const float *)row + at) : load16(read == READ_BF16, (const uint16_t *)row + at);
}

/* Loads one weight. Mapped rows begin at any byte. */
CPU_INLINE float load_weight(const int read, const void *row, size_t at)
{
    const char *from = (const char *)row + at * (read == READ_F32 ? sizeof(float) : sizeof(uint16_t));
    uint16_t upper;
    uint32_t bits;
    float value;
    if (read == READ_F16)
        return half_to_float(from);
    memcpy(&upper, from, sizeof(upper));
    bits = (uint32_t)upper << 16;
    memcpy(&value, read == READ_F32 ? from : (const char *)&bits, sizeof(value));
    return value;
}

/*
 * Returns the prefetch distance of a tile from byte `at` of its rows. AVX-512: one kilobyte of each row, and past its
 * end the rows of the next tile (doc/benchmark.md, prefetch of weight rows). Other ISAs: see prefetch_ahead.
 */
CPU_INLINE size_t tile_ahead(size_t at, size_t w_stride)
{
#if defined(CPU_BUILD_AVX512)
    return 1024 + (at + 1024 < w_stride ? 0 : (TILE_W - 1) * w_stride);
#else
    (void)at;
    return ROWS_AHEAD * w_stride;
#endif
}

/* Adds products of `count` values of TILE_W rows of W, `w_stride` bytes apart in memory (0: decoded, in the cache),
 * with `rows` (a constant) rows of x to sums[row of x][row of W]. */
CPU_INLINE void tile(const int read, const void *const *w, size_t w_stride, const float *x, size_t stride,
                     const size_t rows, size_t count, float (*sums)[TILE_W])
{
    const size_t width = read == READ_F32 ? sizeof(float) : sizeof(uint16_t);
    vf acc[TILE_X][TILE_W] = {{{0}}};
    size_t l = 0;
    for (; l + VN <= count; l += VN) {
        vf xs[TILE_X];
        const size_t ahead = tile_ahead(l * width, w_stride);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++)
            xs[r] = v_load(x + r * stride + l);
        CPU_UNROLL
        for (size_t j = 0; j < TILE_W; j++) {
            vf weights = load_weights(read, w[j], l);
            __builtin_prefetch((const char *)w[j] + l * width + ahead);
            CPU_UNROLL
            for (size_t r = 0; r < rows; r++)
                acc[r][j] = v_fma(weights, xs[r], acc[r][j]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        CPU_UNROLL
        for (size_t j = 0; j < TILE_W; j++) {
            float sum = v_sum(acc[r][j]);
            for (size_t i = l; i < count; i++)
                sum += load_weight(read, w[j], i) * x[r * stride + i];
            sums[r][j] += sum;
        }
    }
}

CPU_INLINE void tile_rows(const int read, const void *const *w, size_t w_stride, const float *x, size_t stride,
                          size_t rows, size_t count, float (*sums)[TILE_W])
{
    for (; rows >= TILE_X; rows -= TILE_X, x += TILE_X * stride, sums += TILE_X)
        tile(read, w, w_stride, x, stride, TILE_X, count, sums);
    if (rows == 2)
        tile(read, w, w_stride, x, stride, 2, count, sums);
    else if (rows == 1)
        tile(read, w, w_stride, x, stride, 1, count, sums);
}

/* One copy for all types that are decoded first. */
static __attribute__((noinline)) void tile_rows_f32(const void *const *w, size_t w_stride, const float *x,
                                                    size_t stride, size_t rows, size_t count, float (*sums)[TILE_W])
{
    tile_rows(READ_F32, w, w_stride, x, stride, rows, count, sums);
}

/*
 * Multiplies a row of blocks with `rows` (a constant, up to TILE_X) rows of x: products with codes are scaled per
 * block, so that decoded weights need not pass through the cache.
 */
CPU_INLINE void dot_blocks(const struct block32 f, const uint8_t *codes, size_t w_stride, const uint8_t *scales,
                           const float *x, size_t stride, const size_t rows, size_t blocks, float *sums)
{
    const float zero = f.minimum || (f.bits == 8 && !f.planar) ? 0.0f : f.bits == 8 ? 128.0f : 8.0f;
    const int apart = f.minimum && (rows == 1 || VN < 16); /* sums of x: one chain of products would wait for itself */
    vf acc[TILE_X] = {{0}};
    for (size_t b = 0; b < blocks; b++, codes += f.block_bytes) {
        vf d = v_set(half_to_float(scales + scale_at(f, b))), m = v_set(0), part[TILE_X] = {{0}}, all[TILE_X] = {{0}};
        prefetch_ahead(codes, w_stride);
        if (f.minimum)
            m = v_set(half_to_float(scales + scale_at(f, b) + 2));
        CPU_UNROLL
        for (size_t i = 0; i < CPU_BLOCK; i += VN) {
            vf q = load_codes(f, codes, i) - zero;
            CPU_UNROLL
            for (size_t r = 0; r < rows; r++) {
                vf xs = v_load(x + r * stride + b * CPU_BLOCK + i);
                part[r] = v_fma(q, xs, part[r]);
                if (apart)
                    all[r] += xs;
                else if (f.minimum)
                    acc[r] = v_fma(m, xs, acc[r]);
            }
        }
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            acc[r] = v_fma(part[r], d, acc[r]);
            if (apart)
                acc[r] = v_fma(all[r], m, acc[r]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        sums[r * TILE_W] = v_sum(acc[r]);
}

/* Multiplies rows of x from i on with rows j .. j + count of W. */
CPU_INLINE void gemv_blocks(const struct block32 f, const struct cpu_matmul *call, size_t i, size_t rows, size_t j,
                            size_t count, float (*sums)[TILE_W])
{
    const float *x = call->x + i * call->x_stride;
    for (size_t r = 0; r < count; r++) {
        const uint8_t *codes = codes_of(f, &call->w, j + r), *scales = scales_of(f, &call->w, j + r);
        const size_t blocks = call->k / CPU_BLOCK;
        if (rows == 1)
            dot_blocks(f, codes, call->w.stride[0], scales, x, call->x_stride, 1, blocks, &sums[0][r]);
        else if (rows == 2)
            dot_blocks(f, codes, call->w.stride[0], scales, x, call->x_stride, 2, blocks, &sums[0][r]);
        else
            dot_blocks(f, codes, call->w.stride[0], scales, x, call->x_stride, 3, blocks, &sums[0][r]);
    }
}

/* Multiplies rows i .. i + rows of x with up to TILE_W rows of W from j on; missing rows repeat the last. */
CPU_INLINE void gemm_row4(decode_fn *decode, const int read, const struct cpu_matmul *call, size_t i, size_t rows,
                          size_t j, size_t end, float (*sums)[TILE_W])
{
    float decoded[TILE_W][CHUNK];
    const size_t width = read == READ_F32 ? sizeof(float) : sizeof(uint16_t);
    const int in_place = read < READ_BLOCKS;
    const size_t chunk = in_place ? call->k : CHUNK;
    for (size_t at = 0; at < call->k; at += chunk) {
        size_t count = least(chunk, call->k - at);
        const void *w[TILE_W];
        for (size_t r = 0; r < TILE_W; r++) {
            size_t row = least(j + r, end - 1);
            w[r] = in_place ? (const char *)call->w.plane[0] + row * call->w.stride[0] + at * width
                            : (const char *)decoded[r];
            if (!in_place)
                decode(&call->w, row, at, count, decoded[r]);
        }
        const float *x = call->x + i * call->x_stride + at;
        if (in_place && read != READ_F32)
            tile_rows(read, w, call->w.stride[0], x, call->x_stride, rows, count, sums);
        else
            tile_rows_f32(w, in_place ? call->w.stride[0] : 0, x, call->x_stride, rows, count, sums);
    }
}

/* Multiplies rows j .. j + count of F16 or BF16 with one row of x, one after the other: one memory stream. */
CPU_INLINE void gemv_stream(const int read, const struct cpu_matmul *call, size_t j, size_t count, float *sums)
{
    enum { SUMS = 8, STEP = SUMS * VN };
    for (size_t r = 0; r < count; r++) {
        const uint16_t *w = (const void *)((const char *)call->w.plane[0] + (j + r) * call->w.stride[0]);
        vf acc[SUMS] = {{0}};
        size_t l = 0;
        for (; l + STEP <= call->k; l += STEP) {
            if (call->w.streams.ahead != 0)
                prefetch_lines((const char *)(w + l) + call->w.streams.ahead, STEP * sizeof(*w));
            CPU_UNROLL
            for (size_t i = 0; i < STEP; i += VN)
                acc[i / VN] = v_fma(load_weights(read, w, l + i), v_load(call->x + l + i), acc[i / VN]);
        }
        for (size_t i = 1; i < SUMS; i++)
            acc[0] += acc[i];
        sums[r] = v_sum(acc[0]);
        for (; l < call->k; l++)
            sums[r] += load_weight(read, w, l) * call->x[l];
    }
}

/* `f` is used by READ_BLOCKS only; `read` is a constant. */
CPU_INLINE void gemv(decode_fn *decode, const int read, const struct block32 f, const struct cpu_matmul *call,
                     size_t begin, size_t end)
{
    const int stream = (read == READ_F16 || read == READ_BF16) && call->m == 1 && call->w.streams.count == 1;
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        size_t rows = least(X_ROWS, call->m - i);
        for (size_t j = begin; j < end; j += TILE_W) {
            float sums[X_ROWS][TILE_W];
            size_t count = least(TILE_W, end - j);
            memset(sums, 0, rows * sizeof(sums[0]));
            if (stream)
                gemv_stream(read, call, j, count, sums[0]);
            else if (read == READ_BLOCKS && rows <= TILE_X)
                gemv_blocks(f, call, i, rows, j, count, sums);
            else
                gemm_row4(decode, read, call, i, rows, j, end, sums);
            for (size_t r = 0; r < rows; r++)
                finish_row(call, i + r, j, count, sums[r]);
        }
    }
}

/* One copy for all types. */
static __attribute__((noinline)) void gemv_decoded(decode_fn *decode, const struct cpu_matmul *call, size_t begin,
                                                   size_t end)
{
    gemv(decode, READ_UNPACKED, block32_f32, call, begin, end);
}

static __attribute__((noinline)) void embed(decode_fn *decode, const struct cpu_matrix *table, size_t rows,
                                            size_t width, const int32_t *ids, float *y, size_t begin, size_t end)
{
    for (size_t t = begin; t < end; t++) {
        size_t row = ids[t] >= 0 && (size_t)ids[t] < rows ? (size_t)ids[t] : 0;
        decode(table, row, 0, width, y + t * width);
    }
}

/* The decoder of one type and its kernels. */
#define KERNELS(name, read, f, decoder)                                                                                \
    static void decode_row_##name(const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)         \
    {                                                                                                                  \
        decoder;                                                                                                       \
    }                                                                                                                  \
    void CPU_NAME(gemv32_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                              \
    {                                                                                                                  \
        if ((read) == READ_UNPACKED)                                                                                   \
            gemv_decoded(decode_row_##name, call, begin, end);                                                         \
        else                                                                                                           \
            gemv(decode_row_##name, read, f, call, begin, end);                                                        \
    }                                                                                                                  \
    void CPU_NAME(gemm32_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                              \
    {                                                                                                                  \
        CPU_NAME(gemm32)(decode_row_##name, call, begin, end);                                                         \
    }                                                                                                                  \
    void CPU_NAME(embed_##name)(const struct cpu_matrix *table, size_t rows, size_t width, const int32_t *ids,         \
                                float *y, size_t begin, size_t end)                                                    \
    {                                                                                                                  \
        embed(decode_row_##name, table, rows, width, ids, y, begin, end);                                              \
    }

#define KERNELS_F32(name, type) KERNELS(name, READ_F32, block32_f32, decode_f32(w, row, at, count, out))
#define KERNELS_HALF(name, type)                                                                                       \
    KERNELS(name, (type) == ACCEL_BF16 ? READ_BF16 : READ_F16, block32_##name,                                         \
            decode16((type) == ACCEL_BF16, w, row, at, count, out))
#define KERNELS_FLOAT(name, type)                                                                                      \
    KERNELS(name, READ_UNPACKED, block32_##name, decode_float(type, w, row, at, count, out))
#define KERNELS_PLAIN(name, type)                                                                                      \
    KERNELS(name, READ_BLOCKS, block32_##name, decode_blocks(block32_##name, w, row, at, count, out))
#define KERNELS_UNPACKED(name, type)                                                                                   \
    KERNELS(name, READ_UNPACKED, block32_##name, decode_unpacked(traits_##name, w, row, at, count, out))
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(KERNELS_F32, KERNELS_HALF, KERNELS_FLOAT, KERNELS_PLAIN, KERNELS_UNPACKED, name, ACCEL_##ID)
#include <accel/quant/formats.def>
#define KERNELS_OWN(ID, name) KERNELS_PLAIN(name, ACCEL_##ID)
CPU_PLANAR_OWN(KERNELS_OWN)
KERNELS(planar, READ_UNPACKED, block32_f32, decode_unpacked(traits_planar, w, row, at, count, out))
KERNELS(planar_a, READ_UNPACKED, block32_f32, decode_unpacked(traits_planar_a, w, row, at, count, out))
KERNELS(codebook, READ_UNPACKED, block32_f32, decode_codebook(w, row, at, count, out))
KERNELS(planar_f8, READ_UNPACKED, block32_f32, decode_planar_float(w, row, at, count, out))
