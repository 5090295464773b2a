/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of tuning: how kernels are cut, by kind of device. Measured on PoCL and lavapipe for the software rows; the
 * rows of GPUs follow their subgroups of 32 or 64 and want measuring on each.
 */
#include "sdk/gpu/kernels/rows.h"

/* OpenCL on CPUs: an item is a thread's worth of work in vectors of 8. */
static const struct gpu_arrangement vectors = {"matmul_vec8", 1, 1, 2, 16, 64, 16, 1, 0};
/* Vulkan on CPUs: items are lanes of vectors, and each pays for a load of its own. The lanes of a matmul are a subgroup
 * where that is 4 or 8, which hands x round (matmul_vec.k); with 16 they are none. */
static const struct gpu_arrangement lanes4 = {"matmul_vec", 4, 1, 4, 8, 64, 8, 1, 0};
static const struct gpu_arrangement lanes8 = {"matmul_vec", 8, 1, 4, 8, 64, 8, 1, 0};
static const struct gpu_arrangement lanes16 = {"matmul_vec", 16, 1, 4, 8, 64, 8, 1, 0};
static const struct gpu_arrangement small = {"matmul_vec", 32, 4, 4, 64, 64, 64, 1, 4};
static const struct gpu_arrangement gpu = {"matmul_vec", 32, 8, 8, 256, 256, 64, 8, 4};

const struct gpu_arrangement *gpu_arrange(const struct gpu_limits *limits)
{
    const uint32_t software = (limits->features & GPU_FEATURE_SOFTWARE) != 0;

    /* Only OpenCL binds memory from its beginning. */
    if (limits->arrangement == GPU_ARRANGE_SOFTWARE || (limits->arrangement == GPU_ARRANGE_AUTO && software))
        return limits->alignment == 0  ? &vectors
               : limits->subgroup == 4 ? &lanes4
               : limits->subgroup == 8 ? &lanes8
                                       : &lanes16;
    return limits->arrangement == GPU_ARRANGE_SMALL || limits->group_items < 256 ? &small : &gpu;
}
