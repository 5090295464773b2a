/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of a container are pulled out of a source. Packing goes by bands of rows on the threads of the task:
 * straight from the source's mapping, or through a chunk of memory into which bands are read.
 */
#include "sdk/driver/program.h"

#include <string.h>

#define BAND_BYTES ((uint64_t)8 << 20)  /* packed between two reports of progress */
#define CHUNK_BYTES ((uint64_t)2 << 20) /* read at once; more only where fewer rows cannot be packed */
#define CHUNK_SHARE 8u                  /* of the largest weight, so that small models are not loaded through more */
#define CREW_BYTES ((uint64_t)1 << 20)  /* that are worth waking other threads */

struct pull {
    const struct sdk_weights *weights;
    const struct accel_source *source;
    const struct accel_task *task;
    void *chunk; /* NULL: none was needed so far */
    uint64_t chunk_bytes;
    uint64_t done; /* bytes */
};

static int32_t report(struct pull *pull, uint64_t bytes, struct accel_error *error)
{
    pull->done += bytes;
    if (pull->task == NULL || pull->task->progress(pull->task, pull->done, pull->weights->bytes) == ACCEL_OK)
        return ACCEL_OK;
    return sdk_error(error, ACCEL_E_CANCELLED, "loading weights was cancelled");
}

/* Where the source maps a plane; NULL where it has to be read. */
static int32_t map_plane(const struct pull *pull, const struct sdk_kept *kept, uint32_t plane, const void **out_address,
                         struct accel_error *error)
{
    const uint64_t bytes = kept->rows * kept->row_bytes[plane];
    const uint64_t alignment = pull->weights->device->backend->weight_alignment;
    const char *key = kept->weight.key;
    uint64_t mapped = 0;
    int32_t code = ACCEL_E_UNSUPPORTED;

    *out_address = NULL;
    if (ACCEL_CAN(pull->source, map))
        code = pull->source->map(pull->source, key, plane, out_address, &mapped, NULL);
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
    code = pull->source->map(pull->source, key, plane, out_address, &mapped, error);
    return sdk_error(error, code == ACCEL_OK ? ACCEL_E_INTERNAL : code, "weight %s: its source fails", key);
}

static int32_t read_plane(const struct pull *pull, const struct sdk_kept *kept, uint32_t plane, uint64_t row,
                          uint64_t rows, void *memory, struct accel_error *error)
{
    const uint64_t each = kept->row_bytes[plane];
    int32_t code = pull->source->read(pull->source, kept->weight.key, plane, row * each, memory, rows * each, error);

    return code == ACCEL_OK ? code : sdk_error(error, code, "weight %s: its source cannot be read", kept->weight.key);
}

/* The planes of one that is not packed, each as it is. */
static int32_t pull_planes(struct pull *pull, const struct sdk_kept *kept, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < kept->plane_count && code == ACCEL_OK; p++) {
        const uint64_t bytes = kept->rows * kept->row_bytes[p];
        const void *from;

        code = map_plane(pull, kept, p, &from, error);
        if (code == ACCEL_OK && from != NULL)
            memcpy(kept->planes[p], from, bytes);
        else if (code == ACCEL_OK)
            code = read_plane(pull, kept, p, 0, kept->rows, kept->planes[p], error);
        if (code == ACCEL_OK)
            code = report(pull, bytes, error);
    }
    return code;
}

/* Rows of one weight, cut over ranks. */
struct band {
    const struct sdk_device *device;
    const struct sdk_kept *kept;
    const char *planes[SDK_PLANES]; /* of the first row */
    uint64_t rows;
    char *out; /* of the first row */
};

static uint64_t pack_rows(const struct sdk_backend *backend)
{
    return backend->pack_rows == 0 ? 1 : backend->pack_rows;
}

static void pack_share(void *argument, uint32_t rank, uint32_t ranks)
{
    const struct band *band = argument;
    const struct sdk_backend *backend = band->device->backend;
    const void *planes[SDK_PLANES] = {NULL};
    uint64_t begin, end;

    sdk_split(band->rows, pack_rows(backend), rank, ranks, &begin, &end);
    if (begin >= end)
        return;
    for (uint32_t p = 0; p < band->kept->plane_count; p++)
        planes[p] = band->planes[p] + begin * band->kept->row_bytes[p];
    backend->pack(band->device->own, &band->kept->weight, planes, end - begin,
                  band->out + begin * sdk_kept_bytes(band->kept));
}

static int32_t pack_band(const struct pull *pull, struct band *band, struct accel_error *error)
{
    const struct accel_crew *crew = pull->task == NULL ? NULL : pull->task->crew;

    if (crew != NULL && crew->ranks > 1 && band->rows * sdk_kept_bytes(band->kept) >= CREW_BYTES)
        return crew->run(crew, crew->ranks, pack_share, band, error);
    pack_share(band, 0, 1);
    return ACCEL_OK;
}

/* Memory for bands that are read: one chunk for all weights. */
static int32_t take_chunk(struct pull *pull, struct accel_error *error)
{
    const struct sdk_weights *weights = pull->weights;
    const struct accel_host *host = weights->device->host;
    const uint64_t together = pack_rows(weights->device->backend);
    uint64_t most = 0, least = 0;

    if (pull->chunk != NULL)
        return ACCEL_OK;
    for (uint32_t w = 0; w < weights->count; w++) {
        const struct sdk_kept *kept = &weights->kept[w];
        const uint64_t rows = kept->rows < together ? kept->rows : together;

        if (kept->packed == NULL)
            continue;
        most = kept->rows * sdk_kept_bytes(kept) > most ? kept->rows * sdk_kept_bytes(kept) : most;
        least = rows * sdk_kept_bytes(kept) > least ? rows * sdk_kept_bytes(kept) : least;
    }
    most = most / CHUNK_SHARE < CHUNK_BYTES ? most / CHUNK_SHARE : CHUNK_BYTES;
    pull->chunk_bytes = most > least ? most : least;
    return host->allocate(host, ACCEL_MEMORY_HOST, pull->chunk_bytes, 64, &pull->chunk, error);
}

/* Fills the planes that are not mapped from the source. `mapped` are whole planes. */
static int32_t read_band(const struct pull *pull, struct band *band, const void *const *mapped, uint64_t row,
                         struct accel_error *error)
{
    char *at = pull->chunk;

    for (uint32_t p = 0; p < band->kept->plane_count; p++) {
        int32_t code;

        if (mapped[p] != NULL) {
            band->planes[p] = (const char *)mapped[p] + row * band->kept->row_bytes[p];
            continue;
        }
        code = read_plane(pull, band->kept, p, row, band->rows, at, error);
        if (code != ACCEL_OK)
            return code;
        band->planes[p] = at;
        at += band->rows * band->kept->row_bytes[p];
    }
    return ACCEL_OK;
}

static int32_t pull_packed(struct pull *pull, const struct sdk_kept *kept, struct accel_error *error)
{
    const struct sdk_device *device = pull->weights->device;
    const uint64_t each = sdk_kept_bytes(kept), together = pack_rows(device->backend);
    const void *mapped[SDK_PLANES] = {NULL};
    uint64_t at_once = BAND_BYTES / each / together * together;
    uint32_t is_mapped = 1;
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < kept->plane_count && code == ACCEL_OK; p++) {
        code = map_plane(pull, kept, p, &mapped[p], error);
        is_mapped &= mapped[p] != NULL;
    }
    if (code == ACCEL_OK && !is_mapped) {
        code = take_chunk(pull, error);
        at_once = pull->chunk_bytes / each / together * together;
    }
    at_once = at_once == 0 ? together : at_once;
    for (uint64_t row = 0; row < kept->rows && code == ACCEL_OK; row += at_once) {
        struct band band = {.device = device,
                            .kept = kept,
                            .rows = kept->rows - row < at_once ? kept->rows - row : at_once,
                            .out = (char *)kept->packed + row * each};

        code = read_band(pull, &band, mapped, row, error);
        if (code == ACCEL_OK)
            code = pack_band(pull, &band, error);
        if (code == ACCEL_OK)
            code = report(pull, band.rows * each, error);
    }
    return code;
}

int32_t sdk_pull(const struct sdk_weights *weights, const struct accel_source *source, const struct accel_task *task,
                 struct accel_error *error)
{
    const struct accel_host *host = weights->device->host;
    struct pull pull = {.weights = weights, .source = source, .task = task};
    int32_t code = ACCEL_OK;

    for (uint32_t w = 0; w < weights->count && code == ACCEL_OK; w++)
        code = weights->kept[w].packed != NULL ? pull_packed(&pull, &weights->kept[w], error)
                                               : pull_planes(&pull, &weights->kept[w], error);
    host->release(host, pull.chunk);
    return code;
}
