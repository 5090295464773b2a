/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the vector kernels: planar weights of any width, group and scheme in the form of unpack.h, and the one way
 * into both. What is not a constant (width and group) is looked at once for a run of 256 weights.
 */
#ifndef CPU_VECTOR_PLANAR_H
#define CPU_VECTOR_PLANAR_H

#include "unpack.h"

static const struct kind kind_planar = {ACCEL_PLANAR(0u, 0u, ACCEL_SCHEME_SYMMETRIC), 32, 0, 0, 0};
static const struct kind kind_planar_a = {ACCEL_PLANAR(0u, 0u, ACCEL_SCHEME_ASYMMETRIC), 32, 0, 1, 0};

CPU_INLINE int is_planar(const struct kind kind)
{
    return kind.block_bytes == 0;
}

/* Digits of 32 weights as they are stored, without sign. `bits` is a constant. */
CPU_INLINE __m256i planar_digits(const uint32_t bits, const uint8_t *p)
{
    if (bits == 8)
        return load32(p);
    if (bits == 4)
        return nibbles(p);
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    __m256i pairs = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), _mm256_setr_epi64x(0, 2, 4, 6));
    pairs = _mm256_and_si256(pairs, _mm256_set1_epi8(3));
    return bits == 2 ? pairs : _mm256_or_si256(pairs, _mm256_srli_epi16(fifth_bits(word_at(p + 8)), 2));
}

/* The number that digits are taken from so that they fit into 8 bits with a sign: the zero point wherever it fits. */
CPU_INLINE int digit_offset(const uint32_t bits, const struct kind kind, int zero)
{
    const int most = 112;
    if (bits == 8 || !kind.minimum)
        return 1 << (bits - 1);
    return zero < most ? zero : most;
}

CPU_INLINE void planar_blocks(const uint32_t bits, const struct kind kind, const struct cpu_matrix *w, size_t row,
                              size_t block, size_t count, struct run *out)
{
    const uint8_t *digits = (const uint8_t *)w->plane[0] + row * w->stride[0] + block * 4 * bits;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint8_t *zeros = kind.minimum ? (const uint8_t *)w->plane[2] + row * w->stride[2] : NULL;
    const uint32_t shift = (w->type >> 4 & 15u) - 5;
    for (size_t g = 0; g < count; g++, digits += 4 * bits) {
        const size_t group = (block + g) >> shift;
        const float d = half_to_float(scales + 2 * group);
        const int zero = kind.minimum ? zeros[group] : 0, offset = digit_offset(bits, kind, zero);
        __m256i signless = planar_digits(bits, digits);
        set_two(out->d + 2 * g, d);
        if (kind.minimum)
            set_two(out->m + 2 * g, d * (float)(offset - zero));
        store32(out->digits + 32 * g, _mm256_sub_epi8(signless, _mm256_set1_epi8((char)offset)));
    }
}

CPU_INLINE void unpack_planar(const struct kind kind, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                              struct run *out)
{
    switch (w->type >> 8 & 0xffu) {
    case 2:
        planar_blocks(2, kind, w, row, at / 32, count / 32, out);
        break;
    case 3:
        planar_blocks(3, kind, w, row, at / 32, count / 32, out);
        break;
    case 4:
        planar_blocks(4, kind, w, row, at / 32, count / 32, out);
        break;
    default:
        planar_blocks(8, kind, w, row, at / 32, count / 32, out);
        break;
    }
}

/* Takes apart `count` weights of a row, a multiple of 32 and of the kind's block, from weight `at` on, which is a
 * multiple of RUN_VALUES. */
CPU_INLINE void take_apart(const struct kind kind, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                           struct run *out)
{
    if (is_planar(kind))
        unpack_planar(kind, w, row, at, count, out);
    else
        unpack(kind, (const uint8_t *)w->plane[0] + row * w->stride[0], at, count, out);
}

/* Bytes of plane 0 before weight `at` of a row. */
CPU_INLINE size_t bytes_before(const struct kind kind, const struct cpu_matrix *w, size_t at)
{
    return is_planar(kind) ? at / 8 * (w->type >> 8 & 0xffu) : at / kind.block_values * kind.block_bytes;
}

CPU_INLINE int is_asymmetric(const struct cpu_matrix *w)
{
    return (w->type & 15u) == ACCEL_SCHEME_ASYMMETRIC;
}

#endif
