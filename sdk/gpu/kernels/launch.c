/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of rows for launches: binds, grids, subgroups. */
#include "sdk/gpu/kernels/rows.h"

struct gpu_bind gpu_read(const struct gpu_tensor *tensor)
{
    return (struct gpu_bind){.tensor = tensor, .access = GPU_BIND_READ};
}

struct gpu_bind gpu_write(const struct gpu_tensor *tensor)
{
    return (struct gpu_bind){.tensor = tensor, .access = GPU_BIND_WRITE};
}

void gpu_bind_matrix(struct gpu_launch *launch, const struct gpu_tensor *matrix, uint32_t part)
{
    for (uint32_t plane = 0; plane < 3; plane++) {
        launch->binds[plane] = gpu_read(plane < matrix->planes ? matrix : NULL);
        launch->binds[plane].plane = plane < matrix->planes ? plane : 0;
        launch->binds[plane].part = plane < matrix->planes ? part : 0;
    }
}

uint64_t gpu_pieces(uint64_t count, uint64_t each)
{
    return (count + each - 1) / each;
}

void gpu_grid(struct gpu_launch *launch, uint64_t x, uint64_t y)
{
    const bool is_empty = x == 0 || y == 0;

    launch->groups[0] = is_empty ? 0 : x;
    launch->groups[1] = is_empty ? 0 : y;
    launch->groups[2] = !is_empty;
}

/* Requires full subgroups of a fixed size if the device supports that. Otherwise OpenCL kernels (memory is bound from
 * its beginning) query the number of subgroups at run time. */
void gpu_use_subgroups(const struct gpu_limits *limits, struct gpu_launch *launch, uint32_t index)
{
    const uint32_t group = launch->constants[0], size = limits->subgroup;
    uint32_t subgroup = 0;

    if ((limits->features & GPU_FEATURE_SUBGROUP) != 0) {
        if (limits->subgroups[1] != 0 && size > 1 && group % size == 0)
            subgroup = launch->subgroup = size;
        else if (limits->subgroups[1] == 0 && limits->alignment == 0)
            subgroup = 1;
    }
    launch->constants[index] = subgroup;
}
