/* SPDX-License-Identifier: Apache-2.0 */
/* Format of every weight type. */
#include "sdk/gpu/kernels/format.h"

#include <stddef.h>

#include <accel/types.h>

static const struct {
    uint32_t type;
    struct gpu_format format;
} formats[] = {
    {ACCEL_F32, {32, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 1}},
    {ACCEL_F16, {16, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 1}},
    {ACCEL_BF16, {16, FORMAT_BFLOAT, 1, FORMAT_NO_CODEBOOK, 1}},
    {ACCEL_Q8_0, {8, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2}},
    {ACCEL_Q4_0, {4, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2}},
    {ACCEL_Q5_0, {5, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2}},
    {ACCEL_Q4_1, {4, FORMAT_MINIMUM, 1, FORMAT_NO_CODEBOOK, 2}},
    {ACCEL_Q5_1, {5, FORMAT_MINIMUM, 1, FORMAT_NO_CODEBOOK, 2}},
    {ACCEL_IQ4_NL, {4, FORMAT_LOOKUP, 1, FORMAT_CODEBOOK_IQ4, 2}},
    {ACCEL_MXFP4, {4, FORMAT_POWERS, 1, FORMAT_CODEBOOK_MXFP4, 2}},
    {ACCEL_Q4_K, {4, FORMAT_SUPER, 1, FORMAT_NO_CODEBOOK, 3}},
    {ACCEL_Q5_K, {5, FORMAT_SUPER, 1, FORMAT_NO_CODEBOOK, 3}},
    {ACCEL_Q3_K, {3, FORMAT_SUPER16, 1, FORMAT_NO_CODEBOOK, 3}},
    {ACCEL_Q6_K, {6, FORMAT_SUPER16, 1, FORMAT_NO_CODEBOOK, 3}},
    {ACCEL_Q2_K, {2, FORMAT_SUPER16M, 1, FORMAT_NO_CODEBOOK, 3}},
    {ACCEL_IQ4_XS, {4, FORMAT_SUPERL, 1, FORMAT_CODEBOOK_IQ4, 3}},
};

static const uint32_t planar_planes[] = {2, 3, 2, 3};
static const uint32_t planar_scales[] = {FORMAT_SYMMETRIC, FORMAT_ASYMMETRIC, FORMAT_LOOKUP, FORMAT_LOOKUP};
static const uint32_t planar_codebooks[] = {FORMAT_NO_CODEBOOK, FORMAT_NO_CODEBOOK, FORMAT_CODEBOOK_NF4,
                                            FORMAT_CODEBOOK_ROW};

int32_t gpu_format_of(uint32_t type, struct gpu_format *out_format)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (formats[i].type == type) {
            *out_format = formats[i].format;
            return 1;
        }
    }
    if (!ACCEL_IS_PLANAR(type))
        return 0;
    const uint32_t bits = ACCEL_PLANAR_BITS(type), group = ACCEL_PLANAR_LOG2_GROUP(type),
                   scheme = ACCEL_PLANAR_SCHEME(type);
    if ((bits != 2 && bits != 3 && bits != 4 && bits != 8) || (group != 0 && (group < 5 || group > 9)) || scheme > 3 ||
        (scheme > 1 && bits != 4))
        return 0;
    *out_format = (struct gpu_format){bits, planar_scales[scheme], group == 0 ? 0 : 1u << (group - 5),
                                      planar_codebooks[scheme], planar_planes[scheme]};
    return 1;
}

uint64_t gpu_format_words(const struct gpu_format *format, uint32_t plane, uint64_t width)
{
    const uint64_t blocks = (width + FORMAT_BLOCK - 1) / FORMAT_BLOCK;
    const uint64_t groups = format->span == 0 ? 1 : (blocks + format->span - 1) / format->span;

    if (plane >= format->planes)
        return 0;
    if (plane == 0)
        return blocks * format->bits; /* 32 codes of n bits are n words */
    if (plane == 1)
        return format->scales == FORMAT_MINIMUM ? blocks
                                                : ((format->scales >= FORMAT_POWERS ? blocks : groups) + 1) / 2;
    if (format->codebook == FORMAT_CODEBOOK_ROW)
        return 8;
    return format->scales == FORMAT_ASYMMETRIC ? (groups + 3) / 4 : (blocks + 7) / 8;
}
