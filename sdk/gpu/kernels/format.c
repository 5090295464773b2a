/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the planes of weights in kernels. */
#include "sdk/gpu/kernels/format.h"

uint64_t gpu_format_words(const struct gpu_format *format, uint32_t plane, uint64_t width)
{
    const uint64_t blocks = (width + FORMAT_BLOCK - 1) / FORMAT_BLOCK;
    const uint64_t groups = format->span == 0 ? 1 : (blocks + format->span - 1) / format->span;

    if (plane >= format->planes)
        return 0;
    if (plane == 0)
        return blocks * format->bits; /* 32 codes of n bits are n words */
    if (plane == 1 && (format->scales == FORMAT_MINIMUM || format->scales == FORMAT_PAIRS))
        return blocks;
    if (plane == 1)
        return ((format->scales >= FORMAT_POWERS ? blocks : groups) + 1) / 2;
    if (format->codebook == FORMAT_CODEBOOK_ROW)
        return 8;
    return format->scales == FORMAT_ASYMMETRIC ? (groups + 3) / 4 : (blocks + 7) / 8;
}
