/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices as kernels see them: every type is stored as codes of BITS bits in blocks of 32 values and a scheme of
 * scales, SCALES. sdk/gpu/kernels/pack.c writes this layout.
 *
 * Layout. Tiles of 32 rows: word j of a plane of lane r is word j * 32 + r. Planes are D (codes), S (scales) and Z
 * (zero points and others). In D, the 32 values of a block are stored four at a time in the four bytes of a word (a
 * quad):
 *  - 8 bits: 8 words, quad i in word i, two's complement;
 *  - 4 bits: 4 words, quad i in word i / 2, shifted left by 4 (i % 2);
 *  - 2 bits: 2 words, quad i in word i / 4, shifted left by 2 (i % 4);
 *  - 1 bit more (3 and 5 bits): one word behind the lower bits, quad i shifted left by i;
 *  - 2 bits more (6 bits): two words behind the lower bits, as 2 bits;
 *  - 16 bits: 16 words of two halves or bfloats; 32 bits: 32 words. Rows are padded with zeros to whole blocks.
 * Value = scale * code + offset, or scale * codebook[code]:
 */
#define SYMMETRIC 0u  /* S: a half for each SPAN blocks (0: for the row); codes count from their middle */
#define ASYMMETRIC 1u /* S as before; Z: a byte for each SPAN blocks, the zero point */
#define MINIMUM 2u    /* S: a word for each block, scale and offset as halves */
#define LOOKUP 3u     /* S as SYMMETRIC; codes are entries of the table CODEBOOK */
#define PAIRS 4u      /* S: a word for each block, the scales of 16 values as halves; codes as LOOKUP */
#define POWERS 5u     /* S: a bfloat for each block; codes are entries of the table CODEBOOK */
#define SUPER 6u      /* S: two bytes for each block, scale and minimum; Z: their halves for each 8 blocks */
#define SUPER16 7u    /* S: two signed bytes for each block, the scales of 16 values; Z: a half for each 8 blocks */
#define SUPER16M 8u   /* S: two bytes for each block: scale and minimum of 16 values in 4 bits each; Z as SUPER */
#define SUPERL 9u     /* S: a signed byte for each block, in 2 bytes; Z as SUPER16; entries of CODEBOOK */
#define SUPER16L 10u  /* S as SUPER16; Z: a float for each 8 blocks; entries of CODEBOOK */
#define BFLOAT 11u    /* 16-bit values are the upper half of a float, not halves */

/* CODEBOOK */
#define CODEBOOK_IQ4 1u
#define CODEBOOK_NF4 2u
#define CODEBOOK_MXFP4 3u
#define CODEBOOK_ROW 4u /* Z: 16 halves for each row */
#define CODEBOOK_IQ1 5u /* eight entries, as of IQ2 */
#define CODEBOOK_IQ2 6u
#define CODEBOOK_IQ3_XXS 7u
#define CODEBOOK_IQ3_S 8u
#define CODEBOOK_E4M3 9u /* no table: floats of 8 bits, divided by 256 */

CONST(LOW_WORDS, (BITS >= 32u ? 32u : BITS >= 16u ? 16u : BITS >= 8u ? 8u : BITS >= 4u ? 4u : 2u))
CONST(HIGH_WORDS, (BITS == 6u ? 2u : BITS == 5u ? 1u : BITS == 3u ? 1u : 0u))
CONST(BLOCK_WORDS, (LOW_WORDS + HIGH_WORDS))
/* Set if values have an offset: signed 8-bit codes and codebooks have none. A bit mask, since glslc 2023.2 compiles
 * long chains of || over specialization constants to invalid code. */
CONST(OFFSETS, (1u << ASYMMETRIC | 1u << MINIMUM | 1u << SUPER | 1u << SUPER16 | 1u << SUPER16M))
CONST(HAS_OFFSET, ((OFFSETS | (BITS < 8u ? 1u << SYMMETRIC : 0u)) >> SCALES & 1u))

/* Set if the two halves of a block have scales of their own. */
CONST(HAS_HALVES, ((1u << PAIRS | 1u << SUPER16 | 1u << SUPER16M | 1u << SUPER16L) >> SCALES & 1u))

TABLE16(codebook_iq4, -127.0f, -104.0f, -83.0f, -65.0f, -49.0f, -35.0f, -22.0f, -10.0f, 1.0f, 13.0f, 25.0f, 38.0f,
        53.0f, 69.0f, 89.0f, 113.0f)
TABLE16(codebook_nf4, -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
        -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f,
        0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f,
        1.0f)
TABLE16(codebook_mxfp4, 0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 6.0f, 8.0f, 12.0f, 0.0f, -1.0f, -2.0f, -3.0f, -4.0f, -6.0f, -8.0f,
        -12.0f)
TABLE16(codebook_iq1, -9.0f, -7.0f, -1.0f, 1.0f, 7.0f, 9.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f)
TABLE16(codebook_iq2, -43.0f, -25.0f, -8.0f, 8.0f, 25.0f, 43.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
        0.0f)
TABLE16(codebook_iq3_xxs, -62.0f, -52.0f, -44.0f, -36.0f, -28.0f, -20.0f, -12.0f, -4.0f, 4.0f, 12.0f, 20.0f, 28.0f,
        36.0f, 44.0f, 52.0f, 62.0f)
TABLE16(codebook_iq3_s, -15.0f, -13.0f, -11.0f, -9.0f, -7.0f, -5.0f, -3.0f, -1.0f, 1.0f, 3.0f, 5.0f, 7.0f, 9.0f, 11.0f,
        13.0f, 15.0f)

/* Returns value c of quad i from the words with its low and high bits; `codebook` is the offset of the row's codebook.
 */
FN vfloat code_value(POINTER(uint, Z) vuint low, vuint high, uint i, uint c, uint codebook)
{
    if (CODEBOOK == CODEBOOK_E4M3) {
        /* A half with these bits has an exponent biased by 8 more; all ones are no number. */
        const vuint code = (low >> (8u * c)) & 255u, magnitude = code & 127u;

        return vhalf((code & 128u) << 8u | magnitude << 7u | ((magnitude + 1u) >> 7u) * 0x7e00u);
    }
    if (BITS == 8u)
        return VFLOAT(VINT(low << (24u - 8u * c)) >> 24);
    vuint q;
    if (BITS == 2u || BITS == 3u)
        q = (low >> (2u * (i % 4u) + 8u * c)) & 3u;
    else
        q = (low >> (4u * (i % 2u) + 8u * c)) & 15u;
    if (BITS == 3u)
        q |= ((high >> (i + 8u * c)) & 1u) << 2u;
    if (BITS == 5u)
        q |= ((high >> (i + 8u * c)) & 1u) << 4u;
    if (BITS == 6u)
        q |= ((high >> (2u * (i % 4u) + 8u * c)) & 3u) << 4u;
    if (CODEBOOK == CODEBOOK_IQ4)
        return VLOOKUP(codebook_iq4, q);
    if (CODEBOOK == CODEBOOK_NF4)
        return VLOOKUP(codebook_nf4, q);
    if (CODEBOOK == CODEBOOK_MXFP4)
        return VLOOKUP(codebook_mxfp4, q);
    if (CODEBOOK == CODEBOOK_ROW)
        return VGATHER(Z, codebook, q);
    if (CODEBOOK == CODEBOOK_IQ1)
        return VLOOKUP(codebook_iq1, q);
    if (CODEBOOK == CODEBOOK_IQ2)
        return VLOOKUP(codebook_iq2, q);
    if (CODEBOOK == CODEBOOK_IQ3_XXS)
        return VLOOKUP(codebook_iq3_xxs, q);
    if (CODEBOOK == CODEBOOK_IQ3_S)
        return VLOOKUP(codebook_iq3_s, q);
    return VFLOAT(q);
}

#ifdef UNSCALED
/* Returns the codebook entry of a code as a byte, for codebooks of integers. */
FN uint codebook_byte(uint q)
{
    if (CODEBOOK == CODEBOOK_IQ4)
        return as_uint_of(to_int(codebook_iq4[q])) & 255u;
    if (CODEBOOK == CODEBOOK_IQ1)
        return as_uint_of(to_int(codebook_iq1[q])) & 255u;
    if (CODEBOOK == CODEBOOK_IQ2)
        return as_uint_of(to_int(codebook_iq2[q])) & 255u;
    if (CODEBOOK == CODEBOOK_IQ3_XXS)
        return as_uint_of(to_int(codebook_iq3_xxs[q])) & 255u;
    if (CODEBOOK == CODEBOOK_IQ3_S)
        return as_uint_of(to_int(codebook_iq3_s[q])) & 255u;
    return as_uint_of(to_int(codebook_mxfp4[q])) & 255u;
}

/* Quad i as four signed bytes. */
FN uint packed_codes(uint low, uint high, uint i)
{
    if (BITS == 8u)
        return low;
    uint q;
    if (BITS == 2u || BITS == 3u)
        q = (low >> (2u * (i % 4u))) & 0x03030303u;
    else
        q = (low >> (4u * (i % 2u))) & 0x0f0f0f0fu;
    if (BITS == 3u)
        q |= ((high >> i) & 0x01010101u) << 2u;
    if (BITS == 5u)
        q |= ((high >> i) & 0x01010101u) << 4u;
    if (BITS == 6u)
        q |= ((high >> (2u * (i % 4u))) & 0x03030303u) << 4u;
    if (CODEBOOK != 0u)
        q = codebook_byte(q & 15u) | codebook_byte(q >> 8u & 15u) << 8u | codebook_byte(q >> 16u & 15u) << 16u |
            codebook_byte(q >> 24u & 15u) << 24u;
    return q;
}
#endif

/* Words of a row in S and Z. */
FN uint scale_words(uint blocks)
{
    if (BITS >= 16u)
        return 0u;
    if (SCALES == MINIMUM || SCALES == PAIRS)
        return blocks;
    if (SCALES >= POWERS)
        return (blocks + 1u) / 2u;
    return SPAN == 0u ? 1u : ((blocks + SPAN - 1u) / SPAN + 1u) / 2u;
}

FN uint other_words(uint blocks)
{
    if (CODEBOOK == CODEBOOK_ROW)
        return 8u;
    if (SCALES == ASYMMETRIC)
        return SPAN == 0u ? 1u : ((blocks + SPAN - 1u) / SPAN + 3u) / 4u;
    return SCALES >= SUPER && SCALES <= SUPER16L ? (blocks + 7u) / 8u : 0u;
}

/* Which word of S and Z a block reads. */
FN uint scale_word(uint b)
{
    if (SCALES == MINIMUM || SCALES == PAIRS)
        return b;
    if (SCALES >= POWERS)
        return b / 2u;
    return SPAN == 0u ? 0u : b / SPAN / 2u;
}

FN uint other_word(uint b)
{
    if (SCALES == ASYMMETRIC)
        return SPAN == 0u ? 0u : b / SPAN / 4u;
    return b / 8u;
}

/* The 16 bits of a block in a word of S. */
FN vuint scale_bits(vuint s, uint b)
{
    if (SCALES >= POWERS)
        return (s >> (b % 2u * 16u)) & 0xffffu;
    return (s >> ((SPAN == 0u ? 0u : b / SPAN % 2u) * 16u)) & 0xffffu;
}

/* The scale of values 16 part .. of block b from its words of S and Z. */
FN vfloat scale_of(vuint s, vuint z, uint b, uint part)
{
    if (SCALES == MINIMUM)
        return vhalf(s & 0xffffu);
    if (SCALES == PAIRS)
        return vhalf((s >> (16u * part)) & 0xffffu);
    const vuint bits = scale_bits(s, b);
    if (SCALES == POWERS)
        return VBITS(bits << 16u);
    if (SCALES == SUPER)
        return vhalf(z & 0xffffu) * VFLOAT(bits & 255u);
    if (SCALES == SUPER16)
        return vhalf(z & 0xffffu) * VFLOAT(VINT(bits << (24u - 8u * part)) >> 24);
    if (SCALES == SUPER16M)
        return vhalf(z & 0xffffu) * VFLOAT((bits >> (8u * part)) & 15u);
    if (SCALES == SUPER16L)
        return VBITS(z) * VFLOAT(VINT(bits << (24u - 8u * part)) >> 24);
    if (SCALES == SUPERL)
        return vhalf(z & 0xffffu) * VFLOAT(VINT(bits << 24u) >> 24);
    return vhalf(bits);
}

/* The offset beside it. */
FN vfloat offset_of(vfloat scale, vuint s, vuint z, uint b, uint part)
{
    if (SCALES == MINIMUM)
        return vhalf(s >> 16u);
    if (SCALES == ASYMMETRIC) {
        const vuint zero = (z >> ((SPAN == 0u ? 0u : b / SPAN % 4u) * 8u)) & 255u;
        return -scale * (BITS == 8u ? VFLOAT(zero) - 128.0f : VFLOAT(zero));
    }
    if (SCALES == SUPER)
        return -vhalf(z >> 16u) * VFLOAT(scale_bits(s, b) >> 8u);
    if (SCALES == SUPER16M)
        return -vhalf(z >> 16u) * VFLOAT((scale_bits(s, b) >> (8u * part + 4u)) & 15u);
    return scale * -to_float(1u << (BITS - 1u));
}
