/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tuning tables by kind of device. The software tables were measured on PoCL and lavapipe; those of GPUs follow their
 * subgroups of 32 or 64 and are not measured yet.
 */
#include <stdbool.h>

#include "sdk/gpu/kernels/rows.h"

/* OpenCL on CPUs: an item is a thread's worth of work in vectors of 8. */
static const struct gpu_arrangement vectors = {
    .matmul = "matmul_vec8",
    .lanes = 1,
    .slices = 1,
    .rows = 2,
    .row_group = 16,
    .element_group = 64,
    .attention = 16,
    .parts = 1,
    .vector = 8,
    .tile = {"matmul_tile8", .group = 1, .lanes = 1, .side = 1, .m = 3, .steps = 16, .depth = 2, .quads = 8, .from = 6},
};

/* Vulkan on CPUs: items are lanes of vectors, and each pays for a load of its own. The lanes of a matmul are a subgroup
 * where that is 4 or 8, which hands x round (matmul_vec.k); with 16 they are none. */
#define LANES(source, count, most, rows_of_vector)                                                                     \
    {                                                                                                                  \
        .matmul = (source), .lanes = (count), .slices = 1, .rows = (most), .row_group = 8, .element_group = 64,        \
        .attention = 8, .parts = 1, .vector = (rows_of_vector)                                                         \
    }

static const struct gpu_arrangement lanes4 = LANES("matmul_vec4", 4, 4, 4);
static const struct gpu_arrangement lanes8 = LANES("matmul_vec4", 8, 4, 4);
static const struct gpu_arrangement lanes16 = LANES("matmul_vec", 16, 4, 1);

static const struct gpu_arrangement small = {
    .matmul = "matmul_vec",
    .lanes = 32,
    .slices = 4,
    .rows = 4,
    .row_group = 64,
    .element_group = 64,
    .attention = 64,
    .parts = 1,
    .heads = 4,
    .tile = {"matmul_tile", .group = 64, .lanes = 8, .side = 1, .m = 4, .steps = 1, .depth = 1, .quads = 4, .from = 8},
    .dot = {"matmul_dot", .group = 64, .lanes = 8, .side = 1, .m = 4, .steps = 1, .depth = 2, .quads = 4, .from = 8},
    .halves = {"matmul_half", .group = 64, .lanes = 8, .side = 1, .m = 4, .steps = 1, .depth = 2, .quads = 4,
               .from = 8},
    .matrix_from = 16,
    .vector = 1,
};

static const struct gpu_arrangement gpu = {
    .matmul = "matmul_vec",
    .lanes = 32,
    .slices = 8,
    .rows = 4,
    .row_group = 256,
    .element_group = 256,
    .attention = 64,
    .parts = 8,
    .heads = 4,
    .tile = {"matmul_tile", .group = 256, .lanes = 16, .side = 2, .m = 4, .steps = 1, .depth = 1, .quads = 2,
             .from = 8},
    .dot = {"matmul_dot", .group = 256, .lanes = 16, .side = 2, .m = 4, .steps = 1, .depth = 2, .quads = 4, .from = 8},
    .halves = {"matmul_half", .group = 256, .lanes = 16, .side = 2, .m = 4, .steps = 1, .depth = 2, .quads = 4,
               .from = 8},
    .matrix_from = 16,
    .vector = 1,
};

/* Local memory of the tiles of `gpu`, rounded up. */
#define TILE_BYTES 20480u

bool gpu_is_arranged_for_cpu(const struct gpu_limits *limits)
{
    return limits->arrangement == GPU_ARRANGE_SOFTWARE ||
           (limits->arrangement == GPU_ARRANGE_AUTO && (limits->features & GPU_FEATURE_SOFTWARE) != 0);
}

static const struct gpu_arrangement *kind_of(const struct gpu_limits *limits)
{
    /* Only OpenCL binds memory from its beginning. */
    if (gpu_is_arranged_for_cpu(limits))
        return limits->alignment == 0  ? &vectors
               : limits->subgroup == 4 ? &lanes4
               : limits->subgroup == 8 ? &lanes8
                                       : &lanes16;
    return limits->arrangement == GPU_ARRANGE_SMALL || limits->group_items < 256 || limits->local_bytes < TILE_BYTES
               ? &small
               : &gpu;
}

static void tune(uint32_t *number, uint32_t tuned)
{
    if (tuned != 0)
        *number = tuned;
}

struct gpu_arrangement gpu_arrange(const struct gpu_limits *limits)
{
    struct gpu_arrangement arrangement = *kind_of(limits);
    const uint32_t *tuning = limits->tuning;

    /* Kernels for CPUs have one item where others have slices. */
    if (arrangement.slices > 1)
        tune(&arrangement.slices, tuning[GPU_TUNE_SLICES]);
    tune(&arrangement.rows, tuning[GPU_TUNE_ROWS]);
    tune(&arrangement.row_group, tuning[GPU_TUNE_ROW_GROUP]);
    tune(&arrangement.element_group, tuning[GPU_TUNE_ELEMENT_GROUP]);
    tune(&arrangement.attention, tuning[GPU_TUNE_ATTENTION]);
    tune(&arrangement.parts, tuning[GPU_TUNE_PARTS]);
    tune(&arrangement.tile.from, tuning[GPU_TUNE_TILE_FROM]);
    tune(&arrangement.dot.from, tuning[GPU_TUNE_TILE_FROM]);
    tune(&arrangement.halves.from, tuning[GPU_TUNE_TILE_FROM]);
    if (arrangement.matrix_from != 0)
        tune(&arrangement.matrix_from, tuning[GPU_TUNE_TILE_FROM]);
    return arrangement;
}
