/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the AMX matmul: unpacks packed weights to rows, which decode.h reads, 16 at a time: four words of all rows
 * become four vectors, each 16 bytes of every fourth row. With 512 rows of x this takes 1 % of the time.
 */
#ifndef CPU_AMX_PANELS_H
#define CPU_AMX_PANELS_H

#include "plugins/cpu/kernels/panels/panels.h"
#include "plugins/cpu/kernels/vector/vec.h"

/* Transposes four words of 16 rows at `from` to 16 bytes of each row, `stride` bytes apart. */
CPU_INLINE void four_words_to_rows(const uint8_t *from, __m512i flip, uint8_t *out, size_t stride)
{
    __m512i v[4], a, b, c, d;
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++)
        v[i] = _mm512_xor_si512(_mm512_loadu_si512(from + i * PANEL_WORD), flip);
    a = _mm512_unpacklo_epi32(v[0], v[1]);
    b = _mm512_unpacklo_epi32(v[2], v[3]);
    c = _mm512_unpackhi_epi32(v[0], v[1]);
    d = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(a, b);
    v[1] = _mm512_unpackhi_epi64(a, b);
    v[2] = _mm512_unpacklo_epi64(c, d);
    v[3] = _mm512_unpackhi_epi64(c, d);
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++) {
        _mm_storeu_si128((__m128i *)(void *)(out + i * stride), _mm512_castsi512_si128(v[i]));
        _mm_storeu_si128((__m128i *)(void *)(out + (4 + i) * stride), _mm512_extracti32x4_epi32(v[i], 1));
        _mm_storeu_si128((__m128i *)(void *)(out + (8 + i) * stride), _mm512_extracti32x4_epi32(v[i], 2));
        _mm_storeu_si128((__m128i *)(void *)(out + (12 + i) * stride), _mm512_extracti32x4_epi32(v[i], 3));
    }
}

CPU_INLINE void block_to_rows(uint32_t type, const struct panel_format *format, const uint8_t *from, uint8_t *out,
                              size_t stride)
{
    const __m512i flip = _mm512_set1_epi8((char)format->flip);
    size_t at = 0, i = 0;
    if (format->half_at != PANEL_NO_HALF) {
        for (size_t r = 0; r < PANEL_ROWS; r++)
            memcpy(out + r * stride + format->half_at, from + 2 * r, 2);
        from += PANEL_HALF;
        at = format->half_at == 0 ? 2 : 0;
    }
    for (; at + 16 <= format->block_bytes; at += 16, i += 4)
        four_words_to_rows(from + cpu_panel_word(type, i) * PANEL_WORD, flip, out + at, stride);
    for (; at + 4 <= format->block_bytes; at += 4, i++) {
        for (size_t r = 0; r < PANEL_ROWS; r++)
            memcpy(out + r * stride + at, from + i * PANEL_WORD + 4 * r, 4);
    }
}

/* Unpacks values at .. at + count (whole blocks and groups, or the rest of a row) of panel `index` to 16 rows of codes
 * and, for planar types, scales. Words past the last four of a block are never codes, which some types require to be
 * flipped. */
static void panel_to_rows(const struct cpu_matrix *w, size_t k, size_t index, size_t at, size_t count, uint8_t *codes,
                          size_t stride, uint8_t *halves, size_t halves_stride)
{
    const struct panel_format format = cpu_panel_format(w->type);
    const uint8_t *panel = (const uint8_t *)w->packed + index * cpu_panel_bytes(&format, k);
    const uint8_t *scales = panel + cpu_panel_scales_at(&format, k);
    const size_t first = at / format.block_values, bytes = format.block_bytes * PANEL_ROWS;
    const uint8_t *next = panel + cpu_panel_bytes(&format, k);
    for (size_t b = first; b < first + count / format.block_values; b++) {
        for (size_t line = 0; line < bytes; line += 64) /* harmless past the end of a matrix */
            __builtin_prefetch(next + b * bytes + line);
        block_to_rows(w->type, &format, panel + b * bytes, codes + (b - first) * format.block_bytes, stride);
    }
    for (size_t g = 0; format.planar != 0 && g * format.planar < count; g++) {
        for (size_t r = 0; r < PANEL_ROWS; r++)
            memcpy(halves + r * halves_stride + 2 * g, scales + (at / format.planar + g) * PANEL_HALF + 2 * r, 2);
    }
}

#endif
