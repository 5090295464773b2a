/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the weights of a container from a source. Weights are packed in bands of rows on the threads of the task,
 * straight from the source's mapping, or through a chunk of memory into which bands are read.
 */
#include <string.h>

#include "sdk/driver/program.h"

#define BAND_BYTES ((uint64_t)8 << 20)  /* packed between two reports of progress */
#define CHUNK_BYTES ((uint64_t)2 << 20) /* read at once; more only where fewer rows cannot be packed */
#define CHUNK_SHARE 8u                  /* of the largest weight, so that small models are not loaded through more */
#define TEAM_BYTES ((uint64_t)1 << 20)  /* that are worth waking other threads */

struct loader {
    const struct sdk_weights *weights;
    const struct accel_source *source;
    const struct accel_task *task;
    void *chunk; /* NULL: none was needed so far */
    uint64_t chunk_bytes;
    uint64_t done; /* bytes */
};

static int32_t report(struct loader *loader, uint64_t bytes, struct accel_error *error)
{
    loader->done += bytes;
    if (loader->task == NULL || loader->task->progress(loader->task, loader->done, loader->weights->bytes) == ACCEL_OK)
        return ACCEL_OK;
    return sdk_error(error, ACCEL_E_CANCELLED, "loading weights was cancelled");
}

/* Returns the source's mapping of a plane, or NULL if the plane has to be read. */
static int32_t map_plane(const struct loader *loader, const struct sdk_weight_entry *entry, uint32_t plane,
                         const void **out_address, struct accel_error *error)
{
    const uint64_t bytes = entry->rows * entry->row_bytes[plane];
    const uint64_t alignment = loader->weights->device->backend->weight_alignment;
    const char *key = entry->weight.key;
    uint64_t mapped = 0;
    int32_t code = ACCEL_E_UNSUPPORTED;

    *out_address = NULL;
    if (ACCEL_CAN(loader->source, map))
        code = loader->source->map(loader->source, key, plane, out_address, &mapped, NULL);
    if (code == ACCEL_OK && mapped != bytes)
        return sdk_error(error, ACCEL_E_CORRUPT, "weight %s: plane %u has %llu bytes, its type and shape say %llu", key,
                         plane, (unsigned long long)mapped, (unsigned long long)bytes);
    if (code == ACCEL_OK && *out_address != NULL &&
        (alignment == 0 || (uintptr_t)*out_address % (uintptr_t)alignment == 0))
        return ACCEL_OK;
    *out_address = NULL;
    if (code == ACCEL_OK || code == ACCEL_E_UNSUPPORTED)
        return ACCEL_OK;
    /* Again, for the text: a source that cannot map is no failure, one that lacks the weight is. */
    code = loader->source->map(loader->source, key, plane, out_address, &mapped, error);
    return sdk_error(error, code == ACCEL_OK ? ACCEL_E_INTERNAL : code, "weight %s: its source fails", key);
}

static int32_t read_plane(const struct loader *loader, const struct sdk_weight_entry *entry, uint32_t plane,
                          uint64_t row, uint64_t rows, void *memory, struct accel_error *error)
{
    const uint64_t each = entry->row_bytes[plane];
    int32_t code =
        loader->source->read(loader->source, entry->weight.key, plane, row * each, memory, rows * each, error);

    return code == ACCEL_OK ? code : sdk_error(error, code, "weight %s: its source cannot be read", entry->weight.key);
}

/* The planes of one that is not packed, each as it is. */
static int32_t load_planes(struct loader *loader, const struct sdk_weight_entry *entry, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < entry->plane_count && code == ACCEL_OK; p++) {
        const uint64_t bytes = entry->rows * entry->row_bytes[p];
        const void *from;

        code = map_plane(loader, entry, p, &from, error);
        if (code == ACCEL_OK && from != NULL)
            memcpy(entry->planes[p], from, bytes);
        else if (code == ACCEL_OK)
            code = read_plane(loader, entry, p, 0, entry->rows, entry->planes[p], error);
        if (code == ACCEL_OK)
            code = report(loader, bytes, error);
    }
    return code;
}

/* Rows of one weight, split over threads. */
struct band {
    const struct sdk_device *device;
    const struct sdk_weight_entry *entry;
    const char *planes[SDK_PLANES]; /* of the first row */
    uint64_t rows;
    char *out; /* of the first row */
};

static uint64_t pack_rows(const struct sdk_backend *backend)
{
    return backend->pack_rows == 0 ? 1 : backend->pack_rows;
}

static void pack_share(void *argument, uint32_t thread, uint32_t threads)
{
    const struct band *band = argument;
    const struct sdk_backend *backend = band->device->backend;
    const void *planes[SDK_PLANES] = {NULL};
    uint64_t begin, end;

    sdk_split(band->rows, pack_rows(backend), thread, threads, &begin, &end);
    if (begin >= end)
        return;
    for (uint32_t p = 0; p < band->entry->plane_count; p++)
        planes[p] = band->planes[p] + begin * band->entry->row_bytes[p];
    backend->pack(band->device->own, &band->entry->weight, planes, end - begin,
                  band->out + begin * sdk_entry_row_bytes(band->entry));
}

static int32_t pack_band(const struct loader *loader, struct band *band, struct accel_error *error)
{
    const struct accel_team *team = loader->task == NULL ? NULL : loader->task->team;

    if (team != NULL && team->threads > 1 && band->rows * sdk_entry_row_bytes(band->entry) >= TEAM_BYTES)
        return team->run(team, team->threads, pack_share, band, error);
    pack_share(band, 0, 1);
    return ACCEL_OK;
}

/* Memory for bands that are read: one chunk for all weights. */
static int32_t allocate_chunk(struct loader *loader, struct accel_error *error)
{
    const struct sdk_weights *weights = loader->weights;
    const struct accel_host *host = weights->device->host;
    const uint64_t together = pack_rows(weights->device->backend);
    uint64_t most = 0, least = 0;

    if (loader->chunk != NULL)
        return ACCEL_OK;
    for (uint32_t w = 0; w < weights->count; w++) {
        const struct sdk_weight_entry *entry = &weights->entries[w];
        const uint64_t rows = entry->rows < together ? entry->rows : together;

        if (entry->packed == NULL)
            continue;
        most = entry->rows * sdk_entry_row_bytes(entry) > most ? entry->rows * sdk_entry_row_bytes(entry) : most;
        least = rows * sdk_entry_row_bytes(entry) > least ? rows * sdk_entry_row_bytes(entry) : least;
    }
    most = most / CHUNK_SHARE < CHUNK_BYTES ? most / CHUNK_SHARE : CHUNK_BYTES;
    loader->chunk_bytes = most > least ? most : least;
    return host->allocate(host, ACCEL_MEMORY_HOST, loader->chunk_bytes, 64, &loader->chunk, error);
}

/* Fills the planes that are not mapped from the source. `mapped` are whole planes. */
static int32_t read_band(const struct loader *loader, struct band *band, const void *const *mapped, uint64_t row,
                         struct accel_error *error)
{
    char *at = loader->chunk;

    for (uint32_t p = 0; p < band->entry->plane_count; p++) {
        int32_t code;

        if (mapped[p] != NULL) {
            band->planes[p] = (const char *)mapped[p] + row * band->entry->row_bytes[p];
            continue;
        }
        code = read_plane(loader, band->entry, p, row, band->rows, at, error);
        if (code != ACCEL_OK)
            return code;
        band->planes[p] = at;
        at += band->rows * band->entry->row_bytes[p];
    }
    return ACCEL_OK;
}

static int32_t load_packed(struct loader *loader, const struct sdk_weight_entry *entry, struct accel_error *error)
{
    const struct sdk_device *device = loader->weights->device;
    const uint64_t each = sdk_entry_row_bytes(entry), together = pack_rows(device->backend);
    const void *mapped[SDK_PLANES] = {NULL};
    uint64_t at_once = BAND_BYTES / each / together * together;
    bool is_mapped = true;
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < entry->plane_count && code == ACCEL_OK; p++) {
        code = map_plane(loader, entry, p, &mapped[p], error);
        is_mapped &= mapped[p] != NULL;
    }
    if (code == ACCEL_OK && !is_mapped) {
        code = allocate_chunk(loader, error);
        at_once = loader->chunk_bytes / each / together * together;
    }
    at_once = at_once == 0 ? together : at_once;
    for (uint64_t row = 0; row < entry->rows && code == ACCEL_OK; row += at_once) {
        struct band band = {.device = device,
                            .entry = entry,
                            .rows = entry->rows - row < at_once ? entry->rows - row : at_once,
                            .out = (char *)entry->packed + row * each};

        code = read_band(loader, &band, mapped, row, error);
        if (code == ACCEL_OK)
            code = pack_band(loader, &band, error);
        if (code == ACCEL_OK)
            code = report(loader, band.rows * each, error);
    }
    return code;
}

int32_t sdk_load_weights(const struct sdk_weights *weights, const struct accel_source *source,
                         const struct accel_task *task, struct accel_error *error)
{
    const struct accel_host *host = weights->device->host;
    struct loader loader = {.weights = weights, .source = source, .task = task};
    int32_t code = ACCEL_OK;

    for (uint32_t w = 0; w < weights->count && code == ACCEL_OK; w++)
        code = weights->entries[w].packed != NULL ? load_packed(&loader, &weights->entries[w], error)
                                                  : load_planes(&loader, &weights->entries[w], error);
    host->release(host, loader.chunk);
    return code;
}
