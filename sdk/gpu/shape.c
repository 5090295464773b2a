/* SPDX-License-Identifier: Apache-2.0 */
/* Extents, pitches and parts of values on a device. */
#include "sdk/gpu/room.h"

#include <accel/quant/format.h>
#include <string.h>

#define PADDED(bytes) (((bytes) + 3u) & ~UINT64_C(3))

uint32_t gpu_weight_planes(uint32_t type)
{
    const struct gpu_layout *layout = gpu_layout_find(type);
    struct accel_format format;

    if (layout != NULL)
        return layout->planes;
    return accel_format_describe(type, &format) == ACCEL_OK ? format.planes : 0;
}

uint64_t gpu_weight_pitch(uint32_t type, uint64_t width, uint32_t plane)
{
    const struct gpu_layout *layout = gpu_layout_find(type);
    size_t bytes = 0;

    if (layout != NULL)
        return plane < layout->planes ? PADDED(layout->row_bytes(layout, plane, width)) : 0;
    if (plane >= gpu_weight_planes(type) || accel_format_row_bytes(type, plane, width, &bytes) != ACCEL_OK)
        return 0;
    return PADDED((uint64_t)bytes);
}

uint64_t gpu_weight_part_rows(const struct gpu_limits *limits, uint32_t type, uint64_t rows, uint64_t width,
                              uint32_t *out_parts)
{
    uint64_t most = gpu_arena_limit(limits);
    uint64_t part = rows;

    /* A binding begins at a multiple of its alignment, so that something may be lost in front. */
    if (limits->binding_bytes < most)
        most = limits->binding_bytes - (limits->alignment > GPU_ALIGNMENT ? limits->alignment : 0);
    for (uint32_t p = 0; p < gpu_weight_planes(type); p++) {
        uint64_t pitch = gpu_weight_pitch(type, width, p);
        uint64_t fit = pitch == 0 ? rows : most / pitch;

        part = fit < part ? fit : part;
    }
    if (part >= 256 && part < rows)
        part &= ~UINT64_C(255);
    *out_parts = part == 0 ? 0 : (uint32_t)((rows + part - 1) / part);
    return part;
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
    tensor->planes = gpu_weight_planes(tensor->type);
    for (uint32_t p = 0; p < tensor->planes && p < GPU_PLANES; p++)
        tensor->pitch[p] = gpu_weight_pitch(tensor->type, tensor->width, p);
    tensor->part_rows = gpu_weight_part_rows(limits, tensor->type, tensor->rows, tensor->width, &tensor->parts);
}

void gpu_tensor_measure(const struct gpu_limits *limits, struct gpu_tensor *tensor, const struct accel_graph *graph,
                        uint32_t value, const uint64_t *symbols, uint32_t most)
{
    const struct accel_value *shape = graph->values[value];

    tensor->rows = 1;
    for (uint32_t d = 0; d < shape->rank; d++) {
        tensor->dims[d] = sdk_extent(&shape->dims[d], symbols, graph->symbol_count);
        if (d + 1 < shape->rank)
            tensor->rows *= tensor->dims[d];
    }
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
    tensor->part_rows = tensor->rows;
    tensor->pitch[0] = shape->role == ACCEL_ROLE_STATE ? gpu_state_pitch(shape->type, tensor->width)
                                                       : sdk_row_bytes(shape->type, tensor->width);
}

uint64_t gpu_tensor_bytes(const struct gpu_tensor *tensor)
{
    return tensor->rows * tensor->pitch[0];
}
