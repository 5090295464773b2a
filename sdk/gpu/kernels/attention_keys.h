/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key visibility and scores, shared by attention.k and attention_score_sum.k. The including text defines the
 * parameters, K and its constants; the local array `query` holds the query times the scale.
 *
 * Keys are numbered in the order of visibility: first the sinks, then those of the window.
 */
BUFFER_PARTS(1, K)

/* Loops over a head and over an item's part of it. Compilers for CPUs would need seconds for each size of heads. */
#ifdef HAS_SOFTWARE
#define OVER_HEAD NOT_UNROLLED for
#define OVER_MINE NOT_UNROLLED for
#else
#define OVER_HEAD for
#define OVER_MINE UNROLL for
#endif

/* Visible keys of a token of sequence s: x, number of keys; y, sinks among them; z, distance between sinks and window;
 * w, position of the token. */
FN uint4 visible_keys(POINTER(int, FIRST) POINTER(int, LENGTH) WITH_PARAMETERS uint s, uint token)
{
    const int to = FIRST[START(4) + s + 1u], length = LENGTH[START(5) + s];
    const uint place = to_uint(length - to + to_int(token));
    uint end = p.causal != 0u ? place + 1u : to_uint(length);
    end = end < p.pages * p.page ? end : p.pages * p.page;
    uint begin = p.window != 0u && place + 1u > p.window ? place + 1u - p.window : 0u;
    begin = begin < end ? begin : end;
    const uint sinks = p.window != 0u && p.sinks < begin ? p.sinks : begin;
    return make_uint4(end - begin + sinks, sinks, begin - sinks, place);
}

/* The key of a number. */
FN uint key_at(uint number, uint4 visible)
{
    return number < visible.y ? number : number + visible.z;
}

/* Returns whether the block mask of sequence s lets the query at a position attend to a key; 1 without a mask. */
FN uint is_unmasked(POINTER(int, MASK) WITH_PARAMETERS uint s, uint place, uint key)
{
    if (p.block == 0u)
        return 1u;
    const uint blocks = (p.pages * p.page + p.block - 1u) / p.block, words = (blocks + 31u) / 32u;
    const uint bit = key / p.block;
    return as_uint_of(MASK[START(7) + (s * blocks + place / p.block) * words + bit / 32u]) >> bit % 32u & 1u;
}

/* The slot of a key. */
FN uint slot_of(POINTER(int, TABLE) WITH_PARAMETERS uint s, uint key)
{
    const uint slot = to_uint(TABLE[START(3) + s * p.pages + key / p.page]) * p.page + key % p.page;
    return slot < p.slots ? slot : 0u;
}

/* Four elements of a planar row of 4 or 8 bits: a word has bytes in order, or byte j has elements j and j + 16. */
FN float4 code_values(uint word, uint bits, uint upper)
{
    if (bits == 8u)
        return make4(to_float(word & 255u) - 128.0f, to_float(word >> 8u & 255u) - 128.0f,
                     to_float(word >> 16u & 255u) - 128.0f, to_float(word >> 24u) - 128.0f);
    const uint w = word >> (4u * upper);
    return make4(to_float(w & 15u) - 8.0f, to_float(w >> 8u & 15u) - 8.0f, to_float(w >> 16u & 15u) - 8.0f,
                 to_float(w >> 24u & 15u) - 8.0f);
}

/* The score of the key in a slot. */
FN float score_of(POINTER(uint, K) LOCAL_POINTER(float, query) WITH_PARAMETERS uint slot, uint kv_head)
{
    const uint row = START(1) + slot * p.key_pitch;
    float score = 0.0f;
    if (KEY_BITS == 32u) {
        OVER_HEAD (uint i = 0u; i < SIZE; i++)
            score += query[i] * as_float(K[row + kv_head * SIZE + i]);
    } else if (KEY_BITS == 16u) {
        /* A head may begin in the middle of a word. */
        if (SIZE % 2u == 0u) {
            OVER_HEAD (uint i = 0u; i < SIZE / 2u; i++) {
                const uint word = K[row + kv_head * (SIZE / 2u) + i];
                score += query[2u * i] * half_low(word) + query[2u * i + 1u] * half_high(word);
            }
        } else {
            OVER_HEAD (uint i = 0u; i < SIZE; i++) {
                const uint at = kv_head * SIZE + i;
                score += query[i] * HALF_AT(K, row, at);
            }
        }
    } else {
        const uint scales = row + p.kv_heads * SIZE * KEY_BITS / 32u;
        OVER_HEAD (uint g = 0u; g < SIZE / KEY_SPAN; g++) {
            const uint at = kv_head * SIZE + g * KEY_SPAN, number = at / KEY_SPAN;
            float sum = 0.0f;
            OVER_HEAD (uint w = 0u; w < KEY_SPAN * KEY_BITS / 32u; w++) {
                const uint word = K[row + at * KEY_BITS / 32u + w];
                if (KEY_BITS == 8u) {
                    const float4 d = code_values(word, 8u, 0u);
                    const uint i = g * KEY_SPAN + 4u * w;
                    sum += query[i] * d.x + query[i + 1u] * d.y + query[i + 2u] * d.z + query[i + 3u] * d.w;
                } else {
                    const float4 d = code_values(word, 4u, 0u), e = code_values(word, 4u, 1u);
                    const uint i = g * KEY_SPAN + w / 4u * 32u + w % 4u * 4u;
                    sum += query[i] * d.x + query[i + 1u] * d.y + query[i + 2u] * d.z + query[i + 3u] * d.w;
                    sum += query[i + 16u] * e.x + query[i + 17u] * e.y + query[i + 18u] * e.z + query[i + 19u] * e.w;
                }
            }
            score += sum * HALF_AT(K, scales, number);
        }
    }
    if (p.softcap != 0.0f)
        score = p.softcap * tanh_of(score / p.softcap);
    return score;
}
