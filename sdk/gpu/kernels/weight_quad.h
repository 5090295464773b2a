/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes four values of a matrix at a time, for kernels that read few of them. Uses weights.h. */

/* Quad i of block b of a row, from planes that begin at the words d0, s0, z0. */
FN float4 weight_quad(POINTER(uint, D) POINTER(uint, S) POINTER(uint, Z) uint d0, uint s0, uint z0, uint row, uint b,
                      uint i, uint blocks)
{
    const uint tile = row / 32u, lane = row % 32u;
    const uint d = d0 + (tile * blocks + b) * BLOCK_WORDS * 32u + lane;
    if (BITS == 32u)
        return make4(as_float(D[d + (4u * i) * 32u]), as_float(D[d + (4u * i + 1u) * 32u]),
                     as_float(D[d + (4u * i + 2u) * 32u]), as_float(D[d + (4u * i + 3u) * 32u]));
    if (BITS == 16u) {
        const uint a = D[d + (2u * i) * 32u], c = D[d + (2u * i + 1u) * 32u];
        if (SCALES == BFLOAT)
            return make4(as_float(a << 16u), as_float(a & 0xffff0000u), as_float(c << 16u), as_float(c & 0xffff0000u));
        return make4(half_low(a & 0xffffu), half_low(a >> 16u), half_low(c & 0xffffu), half_low(c >> 16u));
    }
    const uint low = D[d + i / (8u / LOW_WORDS) * 32u];
    uint high = low;
    if (HIGH_WORDS > 0u)
        high = D[d + (LOW_WORDS + (HIGH_WORDS > 1u ? i / 4u : 0u)) * 32u];
    const uint others = z0 + tile * other_words(blocks) * 32u + lane;
    const uint s = S[s0 + (tile * scale_words(blocks) + scale_word(b)) * 32u + lane];
    uint z = s;
    if (SCALES == ASYMMETRIC || SCALES >= SUPER)
        z = Z[others + other_word(b) * 32u];
    const float scale = scale_of(s, z, b, i / 4u);
    float offset = 0.0f;
    if (HAS_OFFSET != 0u)
        offset = offset_of(scale, s, z, b, i / 4u);
    return make4(scale * code_value(PASS(Z) low, high, i, 0u, others) + offset,
                 scale * code_value(PASS(Z) low, high, i, 1u, others) + offset,
                 scale * code_value(PASS(Z) low, high, i, 2u, others) + offset,
                 scale * code_value(PASS(Z) low, high, i, 3u, others) + offset);
}
