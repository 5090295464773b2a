/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights on the device: planes of parts in few memories, rows padded to 4 bytes or packed by a layout. Bytes go
 * through the staging memory, or are written in place if the host can map the device's memory.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "sdk/gpu/internal.h"

/* A plane that the source does not map is read at once up to this size, since sources that convert make it whole. */
#define READ_BYTES (UINT64_C(1) << 32)

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct gpu_weight *)a)->key, ((const struct gpu_weight *)b)->key);
}

int64_t gpu_weights_find(const struct gpu_container *container, const char *key)
{
    const struct gpu_weight *weights = container->weights;
    uint32_t low = 0, high = container->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(weights[middle].key, key);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static int32_t weights_free(struct accel_driver_weights *base) ACCEL_NOEXCEPT
{
    struct gpu_container *container = (struct gpu_container *)base;
    struct gpu_device_state *gpu = container->gpu;

    gpu_arena_free(gpu, &container->arena);
    gpu_release(gpu, container->places);
    gpu_release(gpu, container);
    atomic_fetch_sub(&gpu->children, 1);
    return ACCEL_OK;
}

/* ---- pull ---- */

/* The planes of one weight as the source provides them. */
struct loader {
    struct gpu_container *container;
    const struct gpu_weight *weight;
    const void *planes[GPU_PLANES];
    uint64_t file_rows[GPU_PLANES]; /* bytes of a row in the source */
    uint32_t file_planes;
    uint32_t zero;
    char *row; /* buffer for one packed row, all planes */
    struct gpu_stage *stage;
};

static void locate_row(const struct loader *loader, uint64_t row, const void *from[GPU_PLANES])
{
    for (uint32_t p = 0; p < loader->file_planes; p++)
        from[p] = (const char *)loader->planes[p] + row * loader->file_rows[p];
}

/* Word j of row r of a tile becomes word j * tile + r. `to` is zeroed. */
static void pack_tiled(const struct loader *loader, uint64_t first, uint64_t count, char *const *to)
{
    const struct gpu_storage *storage = &loader->weight->storage;

    for (uint64_t r = 0; r < count; r++) {
        const void *from[GPU_PLANES] = {NULL};
        void *packed[GPU_PLANES] = {NULL};
        char *at = loader->row;

        locate_row(loader, first + r, from);
        for (uint32_t p = 0; p < storage->planes; p++) {
            packed[p] = at;
            at += storage->pitch[p];
        }
        memset(loader->row, 0, (size_t)(at - loader->row));
        storage->layout->pack(storage->layout, storage->width, from, packed);
        for (uint32_t p = 0; p < storage->planes; p++) {
            uint64_t words = storage->pitch[p] / 4;
            uint32_t *target =
                (uint32_t *)(void *)to[p] + r / storage->tile * words * storage->tile + r % storage->tile;

            for (uint64_t j = 0; j < words; j++)
                target[j * storage->tile] = ((const uint32_t *)packed[p])[j];
        }
    }
}

/* Packs `count` rows from `first` on to one range for each plane. */
static void pack_rows(const struct loader *loader, uint64_t first, uint64_t count, char *const *to)
{
    const struct gpu_storage *storage = &loader->weight->storage;
    uint64_t tiled = (count + storage->tile - 1) / storage->tile * storage->tile;

    for (uint32_t p = 0; p < storage->planes; p++)
        memset(to[p], 0, tiled * storage->pitch[p]);
    if (storage->layout != NULL) {
        pack_tiled(loader, first, count, to);
        return;
    }
    for (uint64_t r = 0; r < count; r++) {
        const void *from[GPU_PLANES] = {NULL};

        locate_row(loader, first + r, from);
        for (uint32_t p = 0; p < storage->planes; p++)
            memcpy(to[p] + r * storage->pitch[p], from[p], loader->file_rows[p]);
    }
}

static const struct gpu_place *place_of(const struct loader *loader, uint32_t part, uint32_t plane)
{
    return &loader->container->places[loader->weight->places + (uint64_t)part * loader->weight->storage.planes + plane];
}

/* Writes the rows of a part in place if the host can map the device's memory. */
static bool load_in_place(const struct loader *loader, uint32_t part)
{
    const struct gpu_container *container = loader->container;
    const struct gpu_storage *storage = &loader->weight->storage;
    char *to[GPU_PLANES] = {NULL};

    for (uint32_t p = 0; p < storage->planes; p++) {
        const struct gpu_place *place = place_of(loader, part, p);
        char *mapped = container->gpu->api->memory_address(container->arena.chunks[place->chunk]);

        if (mapped == NULL)
            return false;
        to[p] = mapped + place->offset;
    }
    pack_rows(loader, part * storage->part_rows, gpu_storage_rows(storage, part), to);
    return true;
}

/* Packs rows row .. row + count of a part into the staging memory and copies them. */
static int32_t load_batch(const struct loader *loader, uint32_t part, uint64_t row, uint64_t count,
                          struct accel_error *error)
{
    struct gpu_device_state *gpu = loader->container->gpu;
    const struct gpu_storage *storage = &loader->weight->storage;
    uint64_t tiled = (count + storage->tile - 1) / storage->tile * storage->tile;
    struct gpu_operation copies[GPU_PLANES];
    char *to[GPU_PLANES] = {NULL};
    uint64_t at = 0;

    for (uint32_t p = 0; p < storage->planes; p++) {
        const struct gpu_place *place = place_of(loader, part, p);

        to[p] = loader->stage->address + at;
        copies[p] = (struct gpu_operation){.kind = GPU_COPY,
                                           .source = loader->stage->memory,
                                           .source_offset = at,
                                           .target = loader->container->arena.chunks[place->chunk],
                                           .target_offset = place->offset + row * storage->pitch[p],
                                           .bytes = tiled * storage->pitch[p]};
        at += tiled * storage->pitch[p];
    }
    pack_rows(loader, part * storage->part_rows + row, count, to);
    return gpu_transfer_run(gpu, copies, storage->planes, error);
}

/* Room for all weights, but not more than GPU_STAGING_BYTES unless a tile of the widest rows needs it. */
static uint64_t stage_bytes(const struct gpu_container *container)
{
    uint64_t most = 0, least = 0;

    for (uint32_t w = 0; w < container->count; w++) {
        const struct gpu_storage *storage = &container->weights[w].storage;
        uint64_t tile = 0;

        for (uint32_t p = 0; p < storage->planes; p++)
            tile += storage->pitch[p] * storage->tile;
        least = tile > least ? tile : least;
        most = gpu_storage_total(storage) > most ? gpu_storage_total(storage) : most;
    }
    most = most < GPU_STAGING_BYTES ? most : GPU_STAGING_BYTES;
    return most > least ? most : least;
}

static int32_t load_staged(const struct loader *loader, uint32_t part, struct accel_error *error)
{
    struct gpu_device_state *gpu = loader->container->gpu;
    const struct gpu_storage *storage = &loader->weight->storage;
    uint64_t rows = gpu_storage_rows(storage, part), row_bytes = 0, batch;
    int32_t code = ACCEL_OK;

    if (loader->stage->memory == NULL)
        code = gpu_stage_make(gpu, stage_bytes(loader->container), loader->stage, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t p = 0; p < storage->planes; p++)
        row_bytes += storage->pitch[p];
    batch = loader->stage->bytes / row_bytes;
    batch -= batch % storage->tile;
    for (uint64_t row = 0; code == ACCEL_OK && row < rows; row += batch)
        code = load_batch(loader, part, row, rows - row < batch ? rows - row : batch, error);
    return code;
}

/* The plane where the source maps it, or a copy that *out_copy holds. */
static int32_t map_or_read_plane(struct gpu_device_state *gpu, const struct accel_source *source,
                                 const struct gpu_weight *weight, uint32_t plane, uint64_t bytes,
                                 const void **out_plane, void **out_copy, struct accel_error *error)
{
    uint64_t mapped = 0;
    int32_t code = ACCEL_E_UNSUPPORTED;

    *out_plane = NULL;
    *out_copy = NULL;
    if (ACCEL_CAN(source, map))
        code = source->map(source, weight->key, plane, out_plane, &mapped, NULL);
    if (code == ACCEL_OK && mapped != bytes)
        return sdk_error(error, ACCEL_E_CORRUPT, "weight %s: plane %u has %llu bytes, its type and shape say %llu",
                         weight->key, plane, (unsigned long long)mapped, (unsigned long long)bytes);
    if (code == ACCEL_OK && *out_plane != NULL)
        return ACCEL_OK;
    if (bytes > READ_BYTES)
        return sdk_error(error, ACCEL_E_LIMIT, "weight %s: plane %u of %llu bytes is not mapped", weight->key, plane,
                         (unsigned long long)bytes);
    code = gpu_allocate(gpu, ACCEL_MEMORY_HOST, bytes, out_copy, error);
    if (code == ACCEL_OK)
        code = source->read(source, weight->key, plane, 0, *out_copy, bytes, error);
    *out_plane = *out_copy;
    return code == ACCEL_OK ? ACCEL_OK : sdk_error(error, code, "weight %s: its source cannot be read", weight->key);
}

static int32_t load_parts(const struct loader *loader, struct accel_error *error)
{
    for (uint32_t part = 0; part < loader->weight->storage.parts; part++) {
        int32_t code = load_in_place(loader, part) ? ACCEL_OK : load_staged(loader, part, error);

        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

static int32_t allocate_row(struct loader *loader, struct accel_error *error)
{
    const struct gpu_storage *storage = &loader->weight->storage;
    uint64_t bytes = 0;
    void *memory = NULL;
    int32_t code;

    for (uint32_t p = 0; p < storage->planes; p++)
        bytes += storage->pitch[p];
    code = gpu_allocate(loader->container->gpu, ACCEL_MEMORY_HOST, bytes, &memory, error);
    loader->row = memory;
    return code;
}

static int32_t load_weight(struct gpu_container *container, const struct gpu_weight *weight,
                           const struct accel_source *source, struct gpu_stage *stage, struct accel_error *error)
{
    struct loader loader = {.container = container, .weight = weight, .stage = stage};
    void *copies[GPU_PLANES] = {NULL};
    struct accel_format format;
    int32_t code = accel_format_describe(weight->storage.type, &format);

    if (code != ACCEL_OK || format.planes > GPU_PLANES)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "weight %s has the type 0x%x", weight->key, weight->storage.type);
    loader.file_planes = format.planes;
    code = allocate_row(&loader, error);
    for (uint32_t p = 0; p < format.planes && code == ACCEL_OK; p++) {
        size_t row = 0;

        code = accel_format_row_bytes(weight->storage.type, p, weight->storage.width, &row);
        loader.file_rows[p] = row;
        if (code == ACCEL_OK)
            code = map_or_read_plane(container->gpu, source, weight, p, row * weight->storage.rows, &loader.planes[p],
                                     &copies[p], error);
    }
    if (code == ACCEL_OK)
        code = load_parts(&loader, error);
    for (uint32_t p = 0; p < GPU_PLANES; p++)
        gpu_release(container->gpu, copies[p]);
    gpu_release(container->gpu, loader.row);
    return code == ACCEL_OK ? ACCEL_OK : sdk_error(error, code, "weight %s cannot be loaded", weight->key);
}

static int32_t weights_load(struct accel_driver_weights *base, const struct accel_source *source,
                            const struct accel_task *task, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_container *container = (struct gpu_container *)base;

    struct gpu_stage stage = {NULL, NULL, 0};
    int32_t code = ACCEL_OK;

    for (uint32_t w = 0; w < container->count && code == ACCEL_OK; w++) {
        code = load_weight(container, &container->weights[w], source, &stage, error);
        if (code == ACCEL_OK && task != NULL && task->progress(task, w + 1, container->count) != ACCEL_OK)
            code = sdk_error(error, ACCEL_E_CANCELLED, "loading weights was cancelled");
    }
    gpu_stage_free(container->gpu, &stage);
    return code;
}

/* ---- create ---- */

static const struct accel_weights_table weights_table = {
    .size = sizeof(weights_table), .free = weights_free, .pull = weights_load};

static int32_t describe_weight(const struct gpu_device_state *gpu, const struct accel_weight *from,
                               struct gpu_weight *weight, char **text, struct accel_error *error)
{
    size_t length = strlen(from->key) + 1;
    uint64_t rows = 1;

    memcpy(*text, from->key, length);
    weight->key = *text;
    *text += length;
    for (uint32_t d = 0; d + 1 < from->rank; d++)
        rows *= from->dims[d];
    gpu_storage_of(&gpu->limits, from->type, from->rank, rows, from->rank == 0 ? 1 : from->dims[from->rank - 1],
                   &weight->storage);
    if (weight->storage.planes == 0)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "weight %s: type 0x%x with rows of %llu does not fit the device",
                         weight->key, weight->storage.type, (unsigned long long)weight->storage.width);
    return ACCEL_OK;
}

static int32_t place_all(struct gpu_container *container, struct accel_error *error)
{
    void *memory = NULL;
    uint64_t places = 0;
    int32_t code;

    for (uint32_t w = 0; w < container->count; w++) {
        container->weights[w].places = places;
        places += (uint64_t)container->weights[w].storage.parts * container->weights[w].storage.planes;
    }
    code = gpu_allocate(container->gpu, ACCEL_MEMORY_HOST, places * sizeof(struct gpu_place), &memory, error);
    if (code != ACCEL_OK)
        return code;
    container->places = memory;
    code = gpu_arena_init(container->gpu, &container->arena, ACCEL_MEMORY_WEIGHTS, places, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t w = 0; w < container->count; w++) {
        const struct gpu_weight *weight = &container->weights[w];

        for (uint32_t i = 0; i < weight->storage.parts * weight->storage.planes; i++)
            container->places[weight->places + i] =
                gpu_arena_place(&container->arena, gpu_storage_bytes(&weight->storage, i / weight->storage.planes,
                                                                     i % weight->storage.planes));
    }
    return gpu_arena_fill(container->gpu, &container->arena, error);
}

int32_t gpu_weights_create(struct accel_driver_device *base, const struct accel_weight *const *list, uint32_t count,
                           struct accel_driver_weights **out_weights, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct gpu_device_state *gpu = (struct gpu_device_state *)base;
    struct gpu_container *container;
    uint64_t bytes = sizeof(*container) + count * sizeof(struct gpu_weight);
    void *memory = NULL;
    char *text;
    int32_t code = ACCEL_OK;

    *out_weights = NULL;
    for (uint32_t w = 0; w < count && code == ACCEL_OK; w++) {
        code = sdk_check_size(list[w], ACCEL_END_OF(struct accel_weight, key), "accel_weight", error);
        bytes += code == ACCEL_OK ? strlen(list[w]->key) + 1 : 0;
    }
    if (code == ACCEL_OK)
        code = gpu_allocate(gpu, ACCEL_MEMORY_HOST, bytes, &memory, error);
    if (code != ACCEL_OK)
        return code;
    container = memory;
    container->base.table = &weights_table;
    container->gpu = gpu;
    container->weights = (struct gpu_weight *)(container + 1);
    container->count = count;
    text = (char *)(container->weights + count);
    atomic_fetch_add(&gpu->children, 1);
    for (uint32_t w = 0; w < count && code == ACCEL_OK; w++)
        code = describe_weight(gpu, list[w], &container->weights[w], &text, error);
    if (code == ACCEL_OK) {
        qsort(container->weights, count, sizeof(*container->weights), compare_keys);
        code = place_all(container, error);
    }
    if (code != ACCEL_OK) {
        weights_free(&container->base);
        return code;
    }
    *out_weights = &container->base;
    return ACCEL_OK;
}
