/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the 8-bit matmuls: turns 16 rows of weights into a panel in which the rows lie side by side, four digits of
 * a row at a time, so that one vector instruction serves 8 or 16 rows with the same four digits of x.
 * For each block of 32: 8 runs of 64 bytes; run c holds digits 4c .. 4c + 3 of row 0, then those of row 1 and so on.
 * Only 256-bit integer instructions: both levels share it.
 */
#ifndef CPU_VECTOR_PANEL_H
#define CPU_VECTOR_PANEL_H

#include "vec.h"

#define PANEL_ROWS 16u
#define PANEL_BLOCKS 16u
#define RUN_BYTES 64u
#define BLOCK_BYTES (8u * RUN_BYTES)

struct panel {
    uint8_t digits[PANEL_BLOCKS * BLOCK_BYTES]; /* unsigned: 4 bits as stored, 8 bits + 128 */
    float d[PANEL_BLOCKS][PANEL_ROWS];
    float m[PANEL_BLOCKS][PANEL_ROWS]; /* value = d * digit + m */
};

/* Pointers of 16 rows from j on; rows from `end` on repeat the last, whose results nobody stores. */
struct panel_rows {
    const uint8_t *digits[PANEL_ROWS];
    const uint8_t *scales[PANEL_ROWS];
};

CPU_INLINE void panel_rows_set(const struct layout f, const struct cpu_matrix *w, size_t j, size_t end,
                               struct panel_rows *out)
{
    for (size_t r = 0; r < PANEL_ROWS; r++) {
        size_t row = least(j + r, end - 1);
        out->digits[r] = digits_of(f, w, row);
        out->scales[r] = scales_of(f, w, row);
    }
}

/* Four vectors, each 16 bytes of row r and of row r + 4, to four vectors of one dword of each of the 8 rows. */
CPU_INLINE void transpose_dwords(__m256i v[4])
{
    __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpacklo_epi32(v[2], v[3]);
    __m256i c = _mm256_unpackhi_epi32(v[0], v[1]), d = _mm256_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm256_unpacklo_epi64(a, b);
    v[1] = _mm256_unpackhi_epi64(a, b);
    v[2] = _mm256_unpacklo_epi64(c, d);
    v[3] = _mm256_unpackhi_epi64(c, d);
}

/* The 16 bytes at `offset` of rows 8h .. 8h + 7, transposed. */
CPU_INLINE void load_transposed(const struct panel_rows *rows, size_t h, size_t offset, __m256i v[4])
{
    CPU_UNROLL
    for (size_t r = 0; r < 4; r++) {
        __m128i low = _mm_loadu_si128((const __m128i *)(rows->digits[8 * h + r] + offset));
        __m128i high = _mm_loadu_si128((const __m128i *)(rows->digits[8 * h + r + 4] + offset));
        v[r] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
    transpose_dwords(v);
}

CPU_INLINE void panel_digits4(const struct panel_rows *rows, size_t offset, uint8_t *out)
{
    const __m256i low = _mm256_set1_epi8(15);
    CPU_UNROLL
    for (size_t h = 0; h < 2; h++) {
        __m256i v[4];
        load_transposed(rows, h, offset, v);
        CPU_UNROLL
        for (size_t c = 0; c < 4; c++) {
            __m256i high = _mm256_and_si256(_mm256_srli_epi16(v[c], 4), low);
            _mm256_storeu_si256((__m256i *)(out + c * RUN_BYTES + 32 * h), _mm256_and_si256(v[c], low));
            _mm256_storeu_si256((__m256i *)(out + (c + 4) * RUN_BYTES + 32 * h), high);
        }
    }
}

/*
 * `flip` is 0x80 for signed digits, to which 128 is added, 0 for those stored with the offset. Split: the low four bits
 * of all digits, then as many bytes with the high four, for instructions that cannot hold products of eight bits.
 */
CPU_INLINE void panel_digits8(const struct panel_rows *rows, size_t offset, int flip, int split, uint8_t *out)
{
    const __m256i sign = _mm256_set1_epi8((char)flip), low = _mm256_set1_epi8(15);
    CPU_UNROLL
    for (size_t h = 0; h < 4; h++) {
        __m256i v[4];
        load_transposed(rows, h % 2, offset + h / 2 * 16, v);
        CPU_UNROLL
        for (size_t c = 0; c < 4; c++) {
            uint8_t *at = out + (c + h / 2 * 4) * RUN_BYTES + 32 * (h % 2);
            __m256i digit = _mm256_xor_si256(v[c], sign);
            if (split) {
                __m256i high = _mm256_and_si256(_mm256_srli_epi16(digit, 4), low);
                _mm256_storeu_si256((__m256i *)(at + BLOCK_BYTES), high);
                digit = _mm256_and_si256(digit, low);
            }
            _mm256_storeu_si256((__m256i *)at, digit);
        }
    }
}

/* 16 halves, one of each row, widened. */
CPU_INLINE void panel_halves(const uint8_t *const *rows, size_t offset, float *out)
{
    uint16_t half[PANEL_ROWS];
    CPU_UNROLL
    for (size_t r = 0; r < PANEL_ROWS; r++)
        memcpy(&half[r], rows[r] + offset, 2);
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)half)));
    _mm256_storeu_ps(out + 8, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + 8))));
}

CPU_INLINE void panel_scales(const struct layout f, const struct panel_rows *rows, size_t block, float *d, float *m)
{
    size_t at = scale_at(f, block);
    panel_halves(rows->scales, at, d);
    if (f.minimum) {
        panel_halves(rows->scales, at + 2, m);
        return;
    }
    float offset = f.bits == 4 ? -8.0f : -128.0f;
    for (size_t r = 0; r < PANEL_ROWS; r++)
        m[r] = d[r] * offset;
}

/* Blocks first .. first + count of 16 rows; with `split` a block of 8-bit digits takes twice BLOCK_BYTES. */
CPU_INLINE void panel_fill(const struct layout f, int split, const struct panel_rows *rows, size_t first, size_t count,
                           struct panel *out)
{
    uint8_t *digits = out->digits;
    for (size_t b = 0; b < count; b++) {
        size_t offset = (first + b) * f.block_bytes;
        if (f.bits == 4)
            panel_digits4(rows, offset, digits);
        else
            panel_digits8(rows, offset, f.planar ? 0 : 0x80, split, digits);
        digits += f.bits == 8 && split ? 2 * BLOCK_BYTES : BLOCK_BYTES;
        panel_scales(f, rows, first + b, out->d[b], out->m[b]);
    }
}

#endif
