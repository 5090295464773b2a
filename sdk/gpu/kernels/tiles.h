/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of rank 2 in F32, whose rows are interleaved in tiles of 32 as those of all matrices (weights.h), for kernels
 * that read them as plain values. */

/* The word of element `at`, counted by rows of `width` elements. */
FN uint place_in_tiles(uint at, uint width)
{
    const uint row = at / width, blocks = (width + 31u) / 32u;
    return (row / 32u * blocks * 32u + at % width) * 32u + row % 32u;
}
