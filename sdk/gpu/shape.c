/* SPDX-License-Identifier: Apache-2.0 */
/* Extents, pitches and parts of values on a device. */
#include "sdk/gpu/room.h"

#include <accel/quant/format.h>

#define PADDED(bytes) (((bytes) + 3u) & ~UINT64_C(3))

static void measure_pitches(struct gpu_lie *lie)
{
    struct accel_format format;

    if (lie->layout != NULL) {
        lie->planes = lie->layout->planes;
        lie->tile = lie->layout->tile;
        for (uint32_t p = 0; p < lie->planes; p++)
            lie->pitch[p] = lie->layout->row_bytes(lie->layout, p, lie->width);
        return;
    }
    if (accel_format_describe(lie->type, &format) != ACCEL_OK || format.planes > GPU_PLANES)
        return;
    for (uint32_t p = 0; p < format.planes; p++) {
        size_t bytes = 0;

        if (accel_format_row_bytes(lie->type, p, lie->width, &bytes) != ACCEL_OK)
            return;
        lie->pitch[p] = PADDED((uint64_t)bytes);
    }
    lie->planes = format.planes;
}

/* A binding begins at a multiple of its alignment, so that something may be lost in front. */
static uint64_t most_of_part(const struct gpu_limits *limits)
{
    uint64_t most = gpu_arena_limit(limits);
    uint64_t lost = limits->alignment > GPU_ALIGNMENT ? limits->alignment : 0;

    return limits->binding_bytes - lost < most ? limits->binding_bytes - lost : most;
}

void gpu_lie_of(const struct gpu_limits *limits, uint32_t type, uint32_t rank, uint64_t rows, uint64_t width,
                struct gpu_lie *out_lie)
{
    uint64_t most = most_of_part(limits);

    *out_lie = (struct gpu_lie){.layout = rank == 2 ? gpu_layout_find(type) : NULL,
                                .rows = rows,
                                .width = width,
                                .part_rows = rows,
                                .type = type,
                                .tile = 1};
    measure_pitches(out_lie);
    for (uint32_t p = 0; p < out_lie->planes; p++) {
        uint64_t fit = out_lie->pitch[p] == 0 ? 0 : most / out_lie->pitch[p];

        fit -= fit % out_lie->tile;
        if (fit < out_lie->part_rows && fit < rows)
            out_lie->part_rows = fit;
    }
    if (out_lie->part_rows >= 256 && out_lie->part_rows < rows && out_lie->tile <= 256)
        out_lie->part_rows -= out_lie->part_rows % 256;
    if (out_lie->part_rows == 0 || width == 0)
        out_lie->planes = 0;
    else
        out_lie->parts = (uint32_t)((rows + out_lie->part_rows - 1) / out_lie->part_rows);
}

uint64_t gpu_lie_rows(const struct gpu_lie *lie, uint32_t part)
{
    uint64_t rest = lie->rows - part * lie->part_rows;

    return rest < lie->part_rows ? rest : lie->part_rows;
}

uint64_t gpu_lie_bytes(const struct gpu_lie *lie, uint32_t part, uint32_t plane)
{
    return (gpu_lie_rows(lie, part) + lie->tile - 1) / lie->tile * lie->tile * lie->pitch[plane];
}

uint64_t gpu_lie_all(const struct gpu_lie *lie)
{
    uint64_t bytes = 0;

    for (uint32_t part = 0; part < lie->parts; part++)
        for (uint32_t p = 0; p < lie->planes; p++)
            bytes += gpu_place_bytes(gpu_lie_bytes(lie, part, p));
    return bytes;
}

uint64_t gpu_state_pitch(uint32_t type, uint64_t width)
{
    uint64_t bytes = 0;
    struct accel_format format;

    if (accel_format_describe(type, &format) != ACCEL_OK)
        return PADDED(sdk_row_bytes(type, width));
    for (uint32_t p = 0; p < format.planes; p++) {
        size_t plane = 0;

        if (accel_format_row_bytes(type, p, width, &plane) != ACCEL_OK)
            return 0;
        bytes += plane;
    }
    return PADDED(bytes);
}

static void measure_weight(const struct gpu_limits *limits, struct gpu_tensor *tensor)
{
    struct gpu_lie lie;

    gpu_lie_of(limits, tensor->type, tensor->rank, tensor->rows, tensor->width, &lie);
    tensor->planes = lie.planes;
    tensor->parts = lie.parts;
    tensor->part_rows = lie.part_rows;
    tensor->tile = lie.tile;
    for (uint32_t p = 0; p < lie.planes; p++)
        tensor->pitch[p] = lie.pitch[p];
}

void gpu_tensor_measure(const struct gpu_limits *limits, struct gpu_tensor *tensor, const struct accel_graph *graph,
                        uint32_t value, const uint64_t *symbols, uint32_t most)
{
    const struct accel_value *shape = graph->values[value];

    tensor->rows = sdk_extents(shape, symbols, graph->symbol_count, tensor->dims);
    tensor->width = tensor->dims[shape->rank - 1];
    tensor->type = shape->type;
    tensor->rank = shape->rank;
    tensor->value = value;
    if (most)
        tensor->most_rows = tensor->rows;
    if (shape->role == ACCEL_ROLE_WEIGHT) {
        measure_weight(limits, tensor);
        return;
    }
    tensor->planes = 1;
    tensor->parts = 1;
    tensor->tile = 1;
    tensor->part_rows = tensor->rows;
    tensor->pitch[0] = shape->role == ACCEL_ROLE_STATE ? gpu_state_pitch(shape->type, tensor->width)
                                                       : sdk_row_bytes(shape->type, tensor->width);
}

uint64_t gpu_tensor_bytes(const struct gpu_tensor *tensor)
{
    return tensor->rows * tensor->pitch[0];
}
