/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights on the device: planes of parts in few memories, rows padded to 4 bytes or packed as a layout says. Bytes
 * stream through the staging memory, or are written in place where the host sees the device's memory.
 */
#include "sdk/gpu/room.h"

#include <accel/quant/format.h>
#include <stdlib.h>
#include <string.h>

/* A plane that the source does not map is read at once up to this size, since sources that convert make it whole. */
#define READ_BYTES (UINT64_C(1) << 32)

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct gpu_kept *)a)->key, ((const struct gpu_kept *)b)->key);
}

int64_t gpu_weights_find(const struct gpu_container *container, const char *key)
{
    const struct gpu_kept *kept = container->kept;
    uint32_t low = 0, high = container->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(kept[middle].key, key);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static uint64_t rows_of_part(const struct gpu_kept *kept, uint32_t part)
{
    uint64_t rest = kept->rows - part * kept->part_rows;

    return rest < kept->part_rows ? rest : kept->part_rows;
}

uint64_t gpu_weights_bytes(const struct gpu_limits *limits, uint32_t type, uint64_t rows, uint64_t width)
{
    struct gpu_kept kept = {.rows = rows};
    uint64_t bytes = 0;

    kept.part_rows = gpu_weight_part_rows(limits, type, rows, width, &kept.parts);
    for (uint32_t part = 0; part < kept.parts; part++)
        for (uint32_t p = 0; p < gpu_weight_planes(type); p++)
            bytes += (rows_of_part(&kept, part) * gpu_weight_pitch(type, width, p) + GPU_ALIGNMENT - 1) &
                     ~(uint64_t)(GPU_ALIGNMENT - 1);
    return bytes;
}

static int32_t weights_free(struct accel_driver_weights *base) ACCEL_NOEXCEPT
{
    struct gpu_container *container = (struct gpu_container *)base;
    struct gpu_room *room = container->room;

    gpu_arena_free(room, &container->arena);
    gpu_give(room, container->places);
    gpu_give(room, container);
    atomic_fetch_sub(&room->children, 1);
    return ACCEL_OK;
}

/* ---- pull ---- */

/* The planes of one weight as the source gives them, and how rows of them become rows on the device. */
struct pull {
    struct gpu_container *container;
    const struct gpu_kept *kept;
    const struct gpu_layout *layout;
    const void *planes[GPU_PLANES];
    uint64_t file_rows[GPU_PLANES]; /* bytes of a row in the source */
    uint64_t pitch[GPU_PLANES];     /* on the device */
    uint32_t file_planes;
    uint32_t zero;
};

static void pack_row(const struct pull *pull, uint64_t row, void *const *to)
{
    const void *from[GPU_PLANES] = {NULL};

    for (uint32_t p = 0; p < pull->file_planes; p++)
        from[p] = (const char *)pull->planes[p] + row * pull->file_rows[p];
    if (pull->layout != NULL) {
        pull->layout->pack(pull->layout, pull->kept->width, from, to);
        return;
    }
    for (uint32_t p = 0; p < pull->file_planes; p++)
        memcpy(to[p], from[p], pull->file_rows[p]);
}

/* Packs `count` rows from `first` on to one range for each plane. */
static void pack_rows(const struct pull *pull, uint64_t first, uint64_t count, char *const *to)
{
    uint32_t planes = pull->kept->planes;

    if (pull->layout == NULL && planes == 1 && pull->pitch[0] == pull->file_rows[0]) {
        memcpy(to[0], (const char *)pull->planes[0] + first * pull->file_rows[0], count * pull->file_rows[0]);
        return;
    }
    for (uint32_t p = 0; p < planes; p++)
        memset(to[p], 0, count * pull->pitch[p]);
    for (uint64_t row = 0; row < count; row++) {
        void *rows[GPU_PLANES] = {NULL};

        for (uint32_t p = 0; p < planes; p++)
            rows[p] = to[p] + row * pull->pitch[p];
        pack_row(pull, first + row, rows);
    }
}

/* Rows of a part where the host sees the device's memory: written where they stay. */
static uint32_t pull_in_place(const struct pull *pull, uint32_t part)
{
    const struct gpu_container *container = pull->container;
    char *to[GPU_PLANES] = {NULL};

    for (uint32_t p = 0; p < pull->kept->planes; p++) {
        const struct gpu_place *place = &container->places[pull->kept->places + part * pull->kept->planes + p];
        char *seen = container->room->api->memory_address(container->arena.chunks[place->chunk]);

        if (seen == NULL)
            return 0;
        to[p] = seen + place->offset;
    }
    pack_rows(pull, part * pull->kept->part_rows, rows_of_part(pull->kept, part), to);
    return 1;
}

static int32_t pull_staged(const struct pull *pull, uint32_t part, struct accel_error *error)
{
    const struct gpu_container *container = pull->container;
    struct gpu_room *room = container->room;
    uint32_t planes = pull->kept->planes;
    uint64_t rows = rows_of_part(pull->kept, part), row_bytes = 0, batch;
    void *staging = NULL;
    int32_t code;

    for (uint32_t p = 0; p < planes; p++)
        row_bytes += pull->pitch[p];
    batch = GPU_STAGING_BYTES / row_bytes;
    if (batch == 0)
        return sdk_error(error, ACCEL_E_LIMIT, "weight %s: a row of %llu bytes is larger than the staging memory",
                         pull->kept->key, (unsigned long long)row_bytes);
    code = gpu_transfer_begin(room, &staging, error);
    for (uint64_t row = 0; code == ACCEL_OK && row < rows; row += batch) {
        uint64_t count = rows - row < batch ? rows - row : batch, at = 0;
        struct gpu_operation copies[GPU_PLANES];
        char *to[GPU_PLANES] = {NULL};

        for (uint32_t p = 0; p < planes; p++) {
            const struct gpu_place *place = &container->places[pull->kept->places + part * planes + p];

            to[p] = (char *)staging + at;
            copies[p] = (struct gpu_operation){.kind = GPU_COPY,
                                               .source = room->transfer.staging,
                                               .source_offset = at,
                                               .target = container->arena.chunks[place->chunk],
                                               .target_offset = place->offset + row * pull->pitch[p],
                                               .bytes = count * pull->pitch[p]};
            at += count * pull->pitch[p];
        }
        pack_rows(pull, part * pull->kept->part_rows + row, count, to);
        code = gpu_transfer_run(room, copies, planes, error);
        if (code != ACCEL_OK || row + batch >= rows)
            break;
    }
    if (staging != NULL)
        gpu_transfer_end(room);
    return code;
}

/* The plane where the source maps it, or a copy that *out_copy holds. */
static int32_t plane_of(struct gpu_room *room, const struct accel_source *source, const struct gpu_kept *kept,
                        uint32_t plane, uint64_t bytes, const void **out_plane, void **out_copy,
                        struct accel_error *error)
{
    uint64_t mapped = 0;
    int32_t code = ACCEL_E_UNSUPPORTED;

    *out_plane = NULL;
    *out_copy = NULL;
    if (ACCEL_CAN(source, map))
        code = source->map(source, kept->key, plane, out_plane, &mapped, NULL);
    if (code == ACCEL_OK && mapped != bytes)
        return sdk_error(error, ACCEL_E_CORRUPT, "weight %s: plane %u has %llu bytes, its type and shape say %llu",
                         kept->key, plane, (unsigned long long)mapped, (unsigned long long)bytes);
    if (code == ACCEL_OK && *out_plane != NULL)
        return ACCEL_OK;
    if (bytes > READ_BYTES)
        return sdk_error(error, ACCEL_E_LIMIT, "weight %s: plane %u of %llu bytes is not mapped", kept->key, plane,
                         (unsigned long long)bytes);
    code = gpu_take(room, ACCEL_MEMORY_HOST, bytes, out_copy, error);
    if (code == ACCEL_OK)
        code = source->read(source, kept->key, plane, 0, *out_copy, bytes, error);
    *out_plane = *out_copy;
    return code == ACCEL_OK ? ACCEL_OK : sdk_error(error, code, "weight %s: its source cannot be read", kept->key);
}

static int32_t pull_parts(const struct pull *pull, struct accel_error *error)
{
    for (uint32_t part = 0; part < pull->kept->parts; part++) {
        int32_t code = pull_in_place(pull, part) ? ACCEL_OK : pull_staged(pull, part, error);

        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

static int32_t pull_weight(struct gpu_container *container, const struct gpu_kept *kept,
                           const struct accel_source *source, struct accel_error *error)
{
    struct pull pull = {.container = container, .kept = kept, .layout = gpu_layout_find(kept->type)};
    void *copies[GPU_PLANES] = {NULL};
    struct accel_format format;
    int32_t code = accel_format_describe(kept->type, &format);

    if (code != ACCEL_OK || format.planes > GPU_PLANES)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "weight %s has the type 0x%x", kept->key, kept->type);
    pull.file_planes = format.planes;
    for (uint32_t p = 0; p < kept->planes; p++)
        pull.pitch[p] = gpu_weight_pitch(kept->type, kept->width, p);
    for (uint32_t p = 0; p < format.planes && code == ACCEL_OK; p++) {
        size_t row = 0;

        code = accel_format_row_bytes(kept->type, p, kept->width, &row);
        pull.file_rows[p] = row;
        if (code == ACCEL_OK)
            code = plane_of(container->room, source, kept, p, row * kept->rows, &pull.planes[p], &copies[p], error);
    }
    if (code == ACCEL_OK)
        code = pull_parts(&pull, error);
    for (uint32_t p = 0; p < GPU_PLANES; p++)
        gpu_give(container->room, copies[p]);
    return code == ACCEL_OK ? ACCEL_OK : sdk_error(error, code, "weight %s cannot be loaded", kept->key);
}

static int32_t weights_pull(struct accel_driver_weights *base, const struct accel_source *source,
                            const struct accel_task *task, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_container *container = (struct gpu_container *)base;

    for (uint32_t w = 0; w < container->count; w++) {
        int32_t code = pull_weight(container, &container->kept[w], source, error);

        if (code != ACCEL_OK)
            return code;
        if (task != NULL && task->progress(task, w + 1, container->count) != ACCEL_OK)
            return sdk_error(error, ACCEL_E_CANCELLED, "loading weights was cancelled");
    }
    return ACCEL_OK;
}

/* ---- create ---- */

static const struct accel_weights_table weights_table = {
    .size = sizeof weights_table, .free = weights_free, .pull = weights_pull};

static int32_t keep(const struct gpu_room *room, const struct accel_weight *weight, struct gpu_kept *kept, char **text,
                    struct accel_error *error)
{
    size_t length = strlen(weight->key) + 1;

    memcpy(*text, weight->key, length);
    kept->key = *text;
    *text += length;
    kept->type = weight->type;
    kept->rows = 1;
    for (uint32_t d = 0; d + 1 < weight->rank; d++)
        kept->rows *= weight->dims[d];
    kept->width = weight->rank == 0 ? 1 : weight->dims[weight->rank - 1];
    kept->planes = gpu_weight_planes(weight->type);
    kept->part_rows = gpu_weight_part_rows(&room->limits, kept->type, kept->rows, kept->width, &kept->parts);
    if (kept->planes == 0 || kept->parts == 0 || gpu_weight_pitch(kept->type, kept->width, 0) == 0)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "weight %s: type 0x%x with rows of %llu does not fit the device",
                         kept->key, kept->type, (unsigned long long)kept->width);
    return ACCEL_OK;
}

static int32_t place_all(struct gpu_container *container, struct accel_error *error)
{
    void *memory = NULL;
    uint64_t places = 0;
    int32_t code;

    for (uint32_t w = 0; w < container->count; w++) {
        container->kept[w].places = (uint32_t)places;
        places += (uint64_t)container->kept[w].parts * container->kept[w].planes;
    }
    code = gpu_take(container->room, ACCEL_MEMORY_HOST, places * sizeof(struct gpu_place), &memory, error);
    if (code != ACCEL_OK)
        return code;
    container->places = memory;
    code = gpu_arena_init(container->room, &container->arena, places, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t w = 0; w < container->count; w++) {
        const struct gpu_kept *kept = &container->kept[w];

        for (uint32_t i = 0; i < kept->parts * kept->planes; i++)
            container->places[kept->places + i] =
                gpu_arena_place(&container->arena, rows_of_part(kept, i / kept->planes) *
                                                       gpu_weight_pitch(kept->type, kept->width, i % kept->planes));
    }
    return gpu_arena_fill(container->room, &container->arena, error);
}

int32_t gpu_weights_create(struct accel_driver_device *base, const struct accel_weight *const *list, uint32_t count,
                           struct accel_driver_weights **out_weights, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_room *room = (struct gpu_room *)base;
    struct gpu_container *container;
    uint64_t bytes = sizeof *container + count * sizeof(struct gpu_kept);
    void *memory = NULL;
    char *text;
    int32_t code;

    *out_weights = NULL;
    for (uint32_t w = 0; w < count; w++)
        bytes += strlen(list[w]->key) + 1;
    code = gpu_take(room, ACCEL_MEMORY_HOST, bytes, &memory, error);
    if (code != ACCEL_OK)
        return code;
    container = memory;
    container->base.table = &weights_table;
    container->room = room;
    container->kept = (struct gpu_kept *)(container + 1);
    container->count = count;
    text = (char *)(container->kept + count);
    atomic_fetch_add(&room->children, 1);
    for (uint32_t w = 0; w < count && code == ACCEL_OK; w++)
        code = keep(room, list[w], &container->kept[w], &text, error);
    if (code == ACCEL_OK) {
        qsort(container->kept, count, sizeof *container->kept, by_key);
        code = place_all(container, error);
    }
    if (code != ACCEL_OK) {
        weights_free(&container->base);
        return code;
    }
    *out_weights = &container->base;
    return ACCEL_OK;
}
