/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit GEMM: fills panels (gemm.h) from weights of each type. 256-bit integer instructions only: all
 * x86 ISAs share them. With 512 rows of x this is 2 to 5 % of a matmul's time.
 */
#ifndef CPU_VECTOR_GEMM_FILL_H
#define CPU_VECTOR_GEMM_FILL_H

#include "gemm_fill_k.h"
#include "planar.h"

/* Stores codes that a core of 16-bit sums cannot hold: magnitudes and signs, or zero point 128 if four bytes are summed
 * in 32 bits. */
CPU_INLINE void panel_wide(const uint8_t *const rows[PANEL_ROWS], size_t offset, int flip, size_t block,
                           struct gemm_panel *out)
{
#if defined(CPU_DOT_SIGNED)
    panel_bytes(rows, offset, flip, out->codes + block * BLOCK_BYTES);
#elif defined(CPU_DOT32)
    panel_bytes(rows, offset, flip ? 0 : 128, out->codes + block * BLOCK_BYTES);
#else
    panel_signed(rows, offset, flip, out->codes + 2 * block * BLOCK_BYTES);
#endif
}

/* Fills a panel from rows of the types of struct block32: 4-bit codes with zero point 8, and 8-bit codes. */
CPU_INLINE void fill_rows(const struct block32 f, const struct gemm_rows *w, size_t first, size_t count,
                          struct gemm_panel *out)
{
    const uint8_t *codes[PANEL_ROWS], *scales[PANEL_ROWS];
    panel_rows(w->w, 0, w->rows, codes);
    panel_rows(w->w, f.planar ? 1 : 0, w->rows, scales);
    for (size_t b = 0; b < count; b++) {
        const size_t offset = (first + b) * f.block_bytes + f.codes_at;
        if (f.bits == 4)
            panel_nibbles(codes, offset, out->codes + b * BLOCK_BYTES);
        else
            panel_wide(codes, offset, f.planar ? 0x80 : 0, b, out);
        panel_halves(scales, scale_at(f, first + b), out->d[b]);
        if (f.minimum)
            panel_halves(scales, scale_at(f, first + b) + 2, out->m[b][0]);
    }
}

/* Stores a block of packed codes, which are interleaved already. */
CPU_INLINE void spread_words(const struct block32 f, const uint8_t *words, size_t block, struct gemm_panel *out)
{
    uint8_t *codes = out->codes + block * BLOCK_BYTES;
    CPU_UNROLL
    for (size_t at = 0; at < 4 * f.bits / 4 * PANEL_WORD; at += 32) {
        const __m256i v = load32(words + at);
        if (f.bits == 4) {
            const __m256i low = _mm256_set1_epi8(15);
            store32((int8_t *)codes + at, _mm256_and_si256(v, low));
            store32((int8_t *)codes + at + 4 * WORD_BYTES, _mm256_and_si256(_mm256_srli_epi16(v, 4), low));
            continue;
        }
#if defined(CPU_DOT_SIGNED)
        store32((int8_t *)codes + at, _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80)));
#elif defined(CPU_DOT32)
        store32((int8_t *)codes + at, v);
#else
        const __m256i code = _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80));
        int8_t *to =
            (int8_t *)out->codes + 2 * block * BLOCK_BYTES + at / WORD_BYTES * 2 * WORD_BYTES + at % WORD_BYTES;
        store32(to, _mm256_abs_epi8(code));
        store32(to + WORD_BYTES, code);
#endif
    }
}

/* Widens 16 halves `step` (a constant: 2 or 4) bytes apart. */
CPU_INLINE void spread_halves(const uint8_t *p, const size_t step, float *out)
{
    if (step == 2) {
        for (size_t r = 0; r < PANEL_ROWS; r += 8)
            _mm256_storeu_ps(out + r, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 2 * r))));
        return;
    }
    for (size_t r = 0; r < PANEL_ROWS; r++)
        out[r] = half_to_float(p + 4 * r);
}

/* Fills a panel from packed weights of these types. */
CPU_INLINE void fill_words(const struct block32 f, const struct gemm_rows *w, size_t first, size_t count,
                           struct gemm_panel *out)
{
    for (size_t b = 0; b < count; b++) {
        const uint8_t *block = w->panel + (first + b) * f.block_bytes * PANEL_ROWS;
        spread_words(f, block + f.codes_at * PANEL_ROWS, b, out);
        if (f.minimum) {
            spread_halves(block, 4, out->d[b]);
            spread_halves(block + 2, 4, out->m[b][0]);
        } else {
            spread_halves(f.planar ? w->scales + (first + b) / f.group_blocks * PANEL_HALF : block, 2, out->d[b]);
        }
    }
}

CPU_INLINE void fill_block32(const struct block32 f, const struct gemm_rows *w, size_t first, size_t count,
                             struct gemm_panel *out)
{
    if (w->panel == NULL)
        fill_rows(f, w, first, count, out);
    else
        fill_words(f, w, first, count, out);
}

/* 16 rows of UNPACKED_VALUES unpacked weights. */
struct staged {
    struct unpacked unpacked[PANEL_ROWS];
    const uint8_t *codes[PANEL_ROWS];
};

CPU_INLINE void stage(const struct traits traits, const struct cpu_matrix *w, const size_t rows[PANEL_ROWS],
                      size_t block, size_t count, struct staged *out)
{
    for (size_t r = 0; r < PANEL_ROWS; r++) {
        unpack_span(traits, w, rows[r], block * CPU_BLOCK, count * CPU_BLOCK, &out->unpacked[r]);
        out->codes[r] = (const uint8_t *)out->unpacked[r].codes;
    }
}

/* Stores scales and minima of a staged block; the zero point `back` is folded into the minimum. */
CPU_INLINE void staged_scales(const struct traits traits, const struct staged *from, size_t b, float back, float *d,
                              float (*m)[PANEL_ROWS])
{
    for (size_t r = 0; r < PANEL_ROWS; r++) {
        const struct unpacked *unpacked = &from->unpacked[r];
        if (d != NULL)
            d[r] = unpacked->d[2 * b];
        if (!traits.minimum)
            continue;
        m[0][r] = unpacked->m[2 * b] + back * unpacked->d[2 * b];
        m[1][r] = unpacked->m[2 * b + 1];
    }
}

/* Fills a panel of any format with a scale per 32: `center` of the core, 0 for signed 8-bit codes; `low` is the lowest
 * code. */
CPU_INLINE void fill_staged(const struct traits traits, const int center, const int low, const struct cpu_matrix *w,
                            const size_t rows[PANEL_ROWS], size_t first, size_t count, struct gemm_panel *out)
{
    for (size_t at = 0; at < count; at += UNPACKED_VALUES / CPU_BLOCK) {
        const size_t blocks = least(UNPACKED_VALUES / CPU_BLOCK, count - at);
        struct staged staged;
        stage(traits, w, rows, first + at, blocks, &staged);
        for (size_t b = 0; b < blocks; b++) {
            if (center == 0)
                panel_wide(staged.codes, b * CPU_BLOCK, 0, at + b, out);
            else
                panel_bytes(staged.codes, b * CPU_BLOCK, -low, out->codes + (at + b) * BLOCK_BYTES);
            staged_scales(traits, &staged, b, center == 0 ? 0 : (float)(center + low), out->d[at + b], out->m[at + b]);
        }
    }
}

/* Stores planar codes of up to 4 bits: symmetric ones with zero point 8, asymmetric ones as stored. */
CPU_INLINE void planar_panel(const uint32_t bits, const int add, const uint8_t *const from[PANEL_ROWS], size_t first,
                             size_t count, struct gemm_panel *out)
{
    uint8_t raw[PANEL_ROWS][CPU_BLOCK];
    const uint8_t *rows[PANEL_ROWS];
    for (size_t b = 0; b < count; b++) {
        for (size_t r = 0; r < PANEL_ROWS; r++) {
            store32((int8_t *)raw[r], planar_codes(bits, from[r] + (first + b) * 4 * bits));
            rows[r] = raw[r];
        }
        panel_bytes(rows, 0, add, out->codes + b * BLOCK_BYTES);
    }
}

CPU_INLINE void planar_scales(const int asymmetric, const struct cpu_matrix *w, const size_t rows[PANEL_ROWS],
                              size_t first, size_t count, struct gemm_panel *out)
{
    const uint32_t shift = group_shift(w);
    const uint8_t *scales[PANEL_ROWS], *zeros[PANEL_ROWS];
    panel_rows(w, 1, rows, scales);
    if (asymmetric)
        panel_rows(w, 2, rows, zeros);
    for (size_t b = 0; b < count; b++) {
        const size_t group = (first + b) >> shift;
        panel_halves(scales, 2 * group, out->d[b]);
        for (size_t r = 0; asymmetric && r < PANEL_ROWS; r++)
            out->m[b][0][r] = -out->d[b][r] * (float)zeros[r][group];
    }
}

CPU_INLINE void fill_narrow(const int asymmetric, const struct cpu_matrix *w, const size_t rows[PANEL_ROWS],
                            size_t first, size_t count, struct gemm_panel *out)
{
    const uint8_t *from[PANEL_ROWS];
    panel_rows(w, 0, rows, from);
    switch (ACCEL_PLANAR_BITS(w->type)) {
    case 2:
        planar_panel(2, asymmetric ? 0 : 6, from, first, count, out);
        break;
    case 3:
        planar_panel(3, asymmetric ? 0 : 4, from, first, count, out);
        break;
    default:
        planar_panel(4, 0, from, first, count, out);
        break;
    }
    planar_scales(asymmetric, w, rows, first, count, out);
}

#endif
