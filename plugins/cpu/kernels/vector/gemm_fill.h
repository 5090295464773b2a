/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit GEMM: fills panels (gemm.h) from weights of each type, VN rows at a time. With 512 rows of x
 * this is 2 to 5 % of a matmul's time.
 */
#ifndef CPU_VECTOR_GEMM_FILL_H
#define CPU_VECTOR_GEMM_FILL_H

#include "lanes.h"
#include "planar.h"

/* A block of VN rows: in place, or words of a packed panel. */
struct block_rows {
    const uint8_t *const *rows; /* NULL: packed */
    size_t offset;              /* offset of the block in a row */
    const uint8_t *words;
    uint32_t type; /* of packed rows */
};

/* Transposes the 16 bytes at `offset` of VN rows to four words. */
CPU_INLINE void transpose_rows(const uint8_t *const *rows, size_t offset, vi words[4])
{
#if defined(CPU_BUILD_NEON)
    int32x4_t v[4];
    for (size_t r = 0; r < 4; r++)
        v[r] = vreinterpretq_s32_u8(vld1q_u8(rows[r] + offset));
    const int64x2_t a = vreinterpretq_s64_s32(vzip1q_s32(v[0], v[1])),
                    b = vreinterpretq_s64_s32(vzip1q_s32(v[2], v[3]));
    const int64x2_t c = vreinterpretq_s64_s32(vzip2q_s32(v[0], v[1])),
                    d = vreinterpretq_s64_s32(vzip2q_s32(v[2], v[3]));
    words[0] = vreinterpretq_s32_s64(vzip1q_s64(a, b));
    words[1] = vreinterpretq_s32_s64(vzip2q_s64(a, b));
    words[2] = vreinterpretq_s32_s64(vzip1q_s64(c, d));
    words[3] = vreinterpretq_s32_s64(vzip2q_s64(c, d));
#else
    __m256i v[VN / 8][4];
    CPU_UNROLL
    for (size_t h = 0; h < VN / 8; h++)
        load_transposed(rows + 8 * h, offset, v[h]);
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++) {
#if defined(CPU_BUILD_AVX512)
        words[c] = (vi)_mm512_inserti64x4(_mm512_castsi256_si512(v[0][c]), v[1][c], 1);
#else
        words[c] = (vi)v[0][c];
#endif
    }
#endif
}

/* Loads and widens the half at `offset` of VN rows. */
CPU_INLINE vf load_row_halves(const uint8_t *const *rows, size_t offset)
{
#if defined(CPU_BUILD_NEON)
    uint16_t halves[4];
    for (size_t r = 0; r < 4; r++)
        memcpy(&halves[r], rows[r] + offset, 2);
    return v_load_f16(halves);
#elif defined(CPU_BUILD_AVX512)
    return (vf)_mm512_cvtph_ps(
        _mm256_inserti128_si256(_mm256_castsi128_si256(eight_halves(rows, offset)), eight_halves(rows + 8, offset), 1));
#else
    return _mm256_cvtph_ps(eight_halves(rows, offset));
#endif
}

CPU_INLINE vf load_halves(const uint8_t *p)
{
    return v_load_f16((const uint16_t *)(const void *)p);
}

/* Loads four words of each row from byte `at` of the block on, a multiple of 4 in packed weights. */
CPU_INLINE void load_words(const struct block_rows *from, size_t at, vi words[4])
{
    if (from->rows != NULL) {
        transpose_rows(from->rows, from->offset + at, words);
        return;
    }
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++)
        words[c] = load_word(from->words + cpu_panel_word(from->type, at / 4 + c) * PANEL_WORD, 0);
}

/* Stores word c of the unsigned codes of VN rows; `to`: the first row's place in the first word of the block. */
CPU_INLINE void put_word(vi word, size_t c, uint8_t *to)
{
    memcpy(to + c * WORD_BYTES, &word, sizeof(word));
}

/* Stores codes of 32 bytes (of 16, the lower nibbles first, if `bits` is 4) of each row as unsigned codes, `add` added.
 */
CPU_INLINE void put_narrow(const uint32_t bits, const struct block_rows *from, const int add, uint8_t *to)
{
    CPU_UNROLL
    for (size_t h = 0; h < bits / 4; h++) {
        vi words[4];
        load_words(from, 16 * h, words);
        CPU_UNROLL
        for (size_t c = 0; c < 4; c++) {
            if (bits == 4) {
                put_word(moved(words[c], 0, 15), c, to);
                put_word(moved(words[c], -4, 15), c + 4, to);
            } else {
                put_word((vi)((vb)words[c] + (int8_t)add), 4 * h + c, to);
            }
        }
    }
}

/* Stores 8-bit codes, which a core of 16-bit sums cannot hold, of VN rows from `lane` on of a block: magnitudes and
 * signs, or zero point 128 if four bytes are summed in 32 bits. `flip`: 0x80 if the codes have zero point 128, else 0.
 */
CPU_INLINE void put_wide(const struct block_rows *from, const int flip, size_t block, size_t lane,
                         struct gemm_panel *out)
{
    CPU_UNROLL
    for (size_t h = 0; h < 2; h++) {
        vi words[4];
        load_words(from, 16 * h, words);
        CPU_UNROLL
        for (size_t c = 0; c < 4; c++) {
            const vi code = words[c] ^ v_set_word((int)((unsigned)flip * 0x01010101u));
#if defined(CPU_DOT_SIGNED)
            put_word(code, 4 * h + c, out->codes + block * BLOCK_BYTES + 4 * lane);
#elif defined(CPU_DOT32)
            put_word(code ^ v_set_word((int)0x80808080), 4 * h + c, out->codes + block * BLOCK_BYTES + 4 * lane);
#else
            uint8_t *to = out->codes + 2 * block * BLOCK_BYTES + 4 * lane;
            put_word((vi)_mm256_abs_epi8((__m256i)code), 8 * h + 2 * c, to);
            put_word(code, 8 * h + 2 * c + 1, to);
#endif
        }
    }
}

/* Fills blocks of VN rows from `lane` on of the types of struct block32: 4-bit codes with zero point 8, and 8-bit
 * codes. `codes`, `scales`: starts of the rows; NULL (a constant): packed. */
CPU_INLINE void fill_lanes32(const struct block32 f, const struct gemm_rows *w, const uint8_t *const *codes,
                             const uint8_t *const *scales, size_t b, size_t first, const size_t lane,
                             struct gemm_panel *out)
{
    const size_t at = scale_at(f, first + b);
    struct block_rows from = {codes, (first + b) * f.block_bytes + f.codes_at, NULL, f.type};
    vf d, m = v_set(0);
    if (codes == NULL) {
        const uint8_t *block = w->panel + (first + b) * f.block_bytes * PANEL_ROWS;
        from = (struct block_rows){NULL, 0, block + f.codes_at * PANEL_ROWS + 4 * lane, f.type};
        if (f.minimum)
            two_halves_of(load_word(block + 4 * lane, 0), &d, &m);
        else
            d = load_halves((f.planar ? w->scales + at * PANEL_ROWS : block) + 2 * lane);
    } else {
        d = load_row_halves(scales, at);
        if (f.minimum)
            m = load_row_halves(scales, at + 2);
    }
    if (f.bits == 4)
        put_narrow(4, &from, 0, out->codes + b * BLOCK_BYTES + 4 * lane);
    else
        put_wide(&from, f.planar || codes == NULL ? 0x80 : 0, b, lane, out);
    v_store(out->d[b] + lane, d);
    if (f.minimum)
        v_store(out->m[b][0] + lane, m);
}

/* Returns the layout of a symmetric planar type of 8 bits. */
CPU_INLINE struct block32 block32_of(const struct cpu_matrix *w)
{
    return (struct block32){8, CPU_BLOCK, 0, 1, 0, 1u << group_shift(w), w->type};
}

CPU_INLINE void fill_block32(const struct block32 f, const struct gemm_rows *w, size_t first, size_t count,
                             struct gemm_panel *out)
{
    const uint8_t *codes[PANEL_ROWS], *scales[PANEL_ROWS];
    if (w->panel != NULL) {
        for (size_t b = 0; b < count; b++) {
            CPU_UNROLL
            for (size_t lane = 0; lane < PANEL_ROWS; lane += VN)
                fill_lanes32(f, w, NULL, NULL, b, first, lane, out);
        }
        return;
    }
    panel_rows(w->w, 0, w->rows, codes);
    panel_rows(w->w, f.planar ? 1 : 0, w->rows, scales);
    for (size_t b = 0; b < count; b++) {
        CPU_UNROLL
        for (size_t lane = 0; lane < PANEL_ROWS; lane += VN)
            fill_lanes32(f, w, codes + lane, scales + lane, b, first, lane, out);
    }
}

/* ---- blocks of 256 weights ---- */

/* Returns group i in the order in which groups that share bytes follow each other. */
CPU_INLINE size_t k_group_at(const uint32_t type, const size_t i)
{
    return type == ACCEL_Q6_K ? i / 4 * 4 + i % 4 / 2 + i % 2 * 2 : i;
}

/* Stores codes 16 * `half` .. 16 * `half` + 15 of each group of VN rows; `to`: the first row's place in the first word.
 * The bytes are transposed as stored and unpacked afterwards: a third of the time of unpacking row by row
 * (doc/benchmark.md, filling panels). */
CPU_INLINE void fill_k_codes(const uint32_t type, const struct block_rows *from, const struct k_head *head,
                             const size_t half, uint8_t *to)
{
    vi low[4], high[4];
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++)
        high[c] = v_set_word(0);
    CPU_UNROLL
    for (size_t i = 0; i < 8; i++) {
        const size_t g = k_group_at(type, i);
        const struct k_place at = k_place_of(type, g), last = k_place_of(type, k_group_at(type, i == 0 ? 0 : i - 1));
        if (i == 0 || at.low != last.low)
            load_words(from, at.low + 16 * half, low);
        if (at.above != 0 && (i == 0 || at.high != last.high))
            load_words(from, at.high + 16 * half, high);
        CPU_UNROLL
        for (size_t c = 0; c < 4; c++) {
            const vi word = k_word_of(type, g, low[c], high[c]);
            put_word(is_folded(type) ? fold_scale(type, word, head->scales[g / 2], g % 2 * 2 + half) : word,
                     4 * half + c, to + g * BLOCK_BYTES);
        }
    }
}

/* Loads the header of VN rows; `half`: in packed weights the 2 bytes that are no word. In rows the loads of q2_k and
 * q3_k start within the codes and end with the block. */
CPU_INLINE void load_head(const uint32_t type, const struct block_rows *from, const uint8_t *half, struct k_head *out)
{
    const bool rows = from->rows != NULL;
    vi words[4], last[4];
    load_words(from, type == ACCEL_Q3_K ? (rows ? 94 : 92) : type == ACCEL_Q6_K ? 192 : 0, words);
    if (type == ACCEL_Q2_K) {
        load_words(from, 68, last);
        two_halves_of(last[3], &out->d, &out->dmin);
    } else if (type == ACCEL_Q3_K || type == ACCEL_Q6_K) {
        out->d =
            rows ? load_row_halves(from->rows, from->offset + (type == ACCEL_Q3_K ? 108 : 208)) : load_halves(half);
    } else {
        two_halves_of(words[0], &out->d, &out->dmin);
    }
    CPU_UNROLL
    for (size_t i = 0; type == ACCEL_Q3_K && i < 3; i++)
        words[i] = rows ? (vi)((vu)words[i] >> 16) | words[i + 1] << 16 : words[i + 1];
    split_head(type, words, out);
}

/* Stores integer scales and minima of eight blocks of VN rows from `lane` on; see gemm.h for `center`. */
CPU_INLINE void put_k_scales(const struct traits traits, const int center, const struct k_head *head, size_t at,
                             size_t lane, struct gemm_panel *out)
{
    const size_t scales = traits.fine ? 16 : 8;
    CPU_UNROLL
    for (size_t i = 0; i < scales; i++) {
        const size_t block = at + (traits.fine ? i / 2 : i), half = traits.fine ? i % 2 : 0;
        if (!is_folded(traits.type)) {
            const factor by = factor_of(head->scales[i / 4], i % 4, !traits.minimum);
            memcpy(out->factor[block][half] + lane, &by, sizeof(by));
        }
        if (!traits.minimum)
            continue;
        vf m = to_floats(byte_of(head->minima[i / 4], i % 4, 0)) * -head->dmin;
        if (center)
            m = v_fma(to_floats(byte_of(head->scales[i / 4], i % 4, 0)), head->d * (float)center, m);
        v_store(out->m[block][half] + lane, m);
    }
    v_store(out->d[at / 8] + lane, traits.type == ACCEL_Q3_K && is_folded(traits.type) ? -head->d : head->d);
}

/* Fills a panel from blocks of 256 with integer scales per 16 or 32; formats with minima fold the zero point `center`
 * into them. */
CPU_INLINE void fill_super(const struct traits traits, const int center, const struct gemm_rows *w, size_t first,
                           size_t count, struct gemm_panel *out)
{
    const uint8_t *rows[PANEL_ROWS];
    if (w->panel == NULL)
        panel_rows(w->w, 0, w->rows, rows);
    for (size_t at = 0; at < count; at += 8) {
        const size_t offset = (first + at) / 8 * traits.block_bytes;
        const uint8_t *block = w->panel == NULL ? NULL : w->panel + offset * PANEL_ROWS;
        for (size_t lane = 0; lane < PANEL_ROWS; lane += VN) {
            struct block_rows from = {rows + lane, offset, NULL, traits.type};
            struct k_head head;
            if (block != NULL)
                from = (struct block_rows){NULL, 0, block + (traits.block_bytes % 4 ? PANEL_HALF : 0) + 4 * lane,
                                           traits.type};
            load_head(traits.type, &from, block == NULL ? NULL : block + 2 * lane, &head);
            for (size_t half = 0; half < 2; half++)
                fill_k_codes(traits.type, &from, &head, half, out->codes + at * BLOCK_BYTES + 4 * lane);
            put_k_scales(traits, center, &head, at, lane, out);
        }
    }
}

/* ---- all others ---- */

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
            CPU_UNROLL
            for (size_t lane = 0; lane < PANEL_ROWS; lane += VN) {
                const struct block_rows from = {staged.codes + lane, b * CPU_BLOCK, NULL, 0};
                if (center == 0)
                    put_wide(&from, 0, at + b, lane, out);
                else
                    put_narrow(8, &from, -low, out->codes + (at + b) * BLOCK_BYTES + 4 * lane);
            }
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
        CPU_UNROLL
        for (size_t lane = 0; lane < PANEL_ROWS; lane += VN)
            put_narrow(8, &(struct block_rows){rows + lane, 0, NULL, 0}, add, out->codes + b * BLOCK_BYTES + 4 * lane);
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
        CPU_UNROLL
        for (size_t lane = 0; lane < PANEL_ROWS; lane += VN)
            v_store(out->d[b] + lane, load_row_halves(scales + lane, 2 * group));
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
