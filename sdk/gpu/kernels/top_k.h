/* SPDX-License-Identifier: Apache-2.0 */
/* The order of elements, for the kernels of top_k: larger ones first, of equals the lower place first. */
#define NO_PLACE 0xffffffffu

/* An integer with the order of a float. */
FN uint key_of(float x)
{
    const uint bits = as_uint(x), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0u;
    if (magnitude == 0u)
        return 0x80000000u;
    return bits == magnitude ? bits | 0x80000000u : ~bits;
}

/* Returns whether an element comes before another; NO_PLACE with key 0 comes last. */
FN uint is_before(uint key, uint place, uint other_key, uint other_place)
{
    return key > other_key || (key == other_key && place < other_place) ? 1u : 0u;
}
