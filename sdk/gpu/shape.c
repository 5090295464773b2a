/* SPDX-License-Identifier: Apache-2.0 */
/* Extents, pitches and parts of values on a device. */
#include <accel/quant/format.h>

#include "sdk/gpu/internal.h"

#define PADDED(bytes) (((bytes) + 3u) & ~UINT64_C(3))

static void measure_pitches(struct gpu_storage *storage)
{
    struct accel_format format;

    if (storage->layout != NULL) {
        storage->planes = storage->layout->planes;
        storage->tile = storage->layout->tile;
        for (uint32_t p = 0; p < storage->planes; p++)
            storage->pitch[p] = storage->layout->row_bytes(storage->layout, p, storage->width);
        return;
    }
    if (accel_format_describe(storage->type, &format) != ACCEL_OK || format.planes > GPU_PLANES)
        return;
    for (uint32_t p = 0; p < format.planes; p++) {
        size_t bytes = 0;

        if (accel_format_row_bytes(storage->type, p, storage->width, &bytes) != ACCEL_OK)
            return;
        storage->pitch[p] = PADDED((uint64_t)bytes);
    }
    storage->planes = format.planes;
}

/* A binding begins at a multiple of its alignment, so that something may be lost in front. */
static uint64_t most_of_part(const struct gpu_limits *limits)
{
    uint64_t most = gpu_arena_limit(limits);
    uint64_t lost = limits->alignment > GPU_ALIGNMENT ? limits->alignment : 0;

    return limits->binding_bytes - lost < most ? limits->binding_bytes - lost : most;
}

void gpu_storage_of(const struct gpu_limits *limits, uint32_t type, uint32_t rank, uint64_t rows, uint64_t width,
                    struct gpu_storage *out_storage)
{
    uint64_t most = most_of_part(limits);

    *out_storage = (struct gpu_storage){.layout = rank == 2 ? gpu_layout_find(type) : NULL,
                                        .rows = rows,
                                        .width = width,
                                        .part_rows = rows,
                                        .type = type,
                                        .tile = 1};
    measure_pitches(out_storage);
    for (uint32_t p = 0; p < out_storage->planes; p++) {
        uint64_t fit = out_storage->pitch[p] == 0 ? 0 : most / out_storage->pitch[p];

        fit -= fit % out_storage->tile;
        if (fit < out_storage->part_rows && fit < rows)
            out_storage->part_rows = fit;
    }
    if (out_storage->part_rows >= 256 && out_storage->part_rows < rows && out_storage->tile <= 256)
        out_storage->part_rows -= out_storage->part_rows % 256;
    if (out_storage->part_rows == 0 || width == 0)
        out_storage->planes = 0;
    else
        out_storage->parts = (uint32_t)((rows + out_storage->part_rows - 1) / out_storage->part_rows);
}

/* Returns the rows of a part: part_rows, or the remainder for the last part. */
static uint64_t rows_of_part(uint64_t rows, uint64_t part_rows, uint32_t part)
{
    uint64_t rest = rows - part * part_rows;

    return rest < part_rows ? rest : part_rows;
}

/* Returns the bytes of `rows` rows, the last tile padded. */
static uint64_t tiled_bytes(uint64_t rows, uint32_t tile, uint64_t pitch)
{
    return (rows + tile - 1) / tile * tile * pitch;
}

uint64_t gpu_storage_rows(const struct gpu_storage *storage, uint32_t part)
{
    return rows_of_part(storage->rows, storage->part_rows, part);
}

uint64_t gpu_storage_bytes(const struct gpu_storage *storage, uint32_t part, uint32_t plane)
{
    return tiled_bytes(gpu_storage_rows(storage, part), storage->tile, storage->pitch[plane]);
}

uint64_t gpu_storage_total(const struct gpu_storage *storage)
{
    uint64_t bytes = 0;

    for (uint32_t part = 0; part < storage->parts; part++)
        for (uint32_t p = 0; p < storage->planes; p++)
            bytes += gpu_place_bytes(gpu_storage_bytes(storage, part, p));
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
    struct gpu_storage storage;

    gpu_storage_of(limits, tensor->type, tensor->rank, tensor->rows, tensor->width, &storage);
    tensor->planes = storage.planes;
    tensor->parts = storage.parts;
    tensor->part_rows = storage.part_rows;
    tensor->tile = storage.tile;
    for (uint32_t p = 0; p < storage.planes; p++)
        tensor->pitch[p] = storage.pitch[p];
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

uint64_t gpu_part_rows(const struct gpu_tensor *tensor, uint32_t part)
{
    return rows_of_part(tensor->rows, tensor->part_rows, part);
}

uint64_t gpu_part_bytes(const struct gpu_tensor *tensor, uint32_t part, uint32_t plane)
{
    return tiled_bytes(gpu_part_rows(tensor, part), tensor->tile, tensor->pitch[plane]);
}

struct gpu_tensor gpu_work_space(uint64_t bytes)
{
    return (struct gpu_tensor){.dims = {bytes / 4},
                               .rows = 1,
                               .width = bytes / 4,
                               .most_rows = 1,
                               .pitch = {bytes},
                               .part_rows = 1,
                               .parts = 1,
                               .tile = 1,
                               .type = ACCEL_I32,
                               .rank = 1,
                               .planes = 1,
                               .value = GPU_NO_VALUE};
}
