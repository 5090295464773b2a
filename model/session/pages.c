/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, prefetches and drops the mapped pages of a session's weights. Neighbouring weights share pages, so ranges are
 * sorted and each page counts once. The header, tensors that no step reads, and weights that the device holds in its
 * own memory do not count.
 *
 * A page is resident if the page cache holds it (mincore), whichever process read it: this is the memory that the
 * machine has less of. The RSS of the process would differ from run to run, by the embedding rows that its tokens
 * touch. mincore reports every page as resident if the process can neither write nor owns the file.
 */
#include "model/session/pages.h"

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <accel/quant/format.h>

#include "model/session/experts.h"

/* The largest request that every system reads ahead; larger ones are silently cut to the device's read-ahead size. */
#define PREFETCH_BYTES (UINT64_C(128) << 10)

/* Bytes mapped by one MADV_POPULATE_READ, and by one whose pages are unmapped again. */
#define POPULATE_BYTES (UINT64_C(256) << 20)
#define READ_BYTES (UINT64_C(8) << 20)

/* One page of so many bytes is checked for residency before a prefetch. */
#define SAMPLE_BYTES (UINT64_C(1) << 20)

/* Pages by their number, address / page size. */
struct range {
    uint64_t first;
    uint64_t end;
};

static int compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* Values of pipeline_stage.in_place. */
enum { WHOLE = 1, LIMITED = 2 };

/* Selects all weights that are used as they are, those used in place, those uploaded to memory of the device, converted
 * ones included, or all but experts with a limit, of which the driver holds copies. */
enum which { ALL, IN_PLACE, UPLOADED, NOT_LIMITED };

static bool is_selected(const struct pipeline_stage *stage, uint32_t value, enum which which)
{
    const uint8_t in_place = stage->in_place == NULL ? WHOLE : stage->in_place[value];

    return which == ALL || (which == IN_PLACE && in_place == WHOLE) || (which == UPLOADED && in_place == 0) ||
           (which == NOT_LIMITED && in_place != LIMITED);
}

/* Returns the page ranges of weights, sorted and merged; the caller frees them. NULL if nothing is mapped or memory is
 * out. */
static struct range *list_ranges(const struct pipeline_stage *stage, enum which which, uint64_t page,
                                 uint32_t *out_count)
{
    const struct accel_graph *graph = stage->step.graph;
    struct range *ranges =
        graph == NULL ? NULL : calloc((size_t)graph->value_count * ACCEL_FORMAT_PLANES, sizeof(*ranges));
    uint32_t found = 0, merged = 0;

    *out_count = 0;
    for (uint32_t v = 0; ranges != NULL && v < graph->value_count; v++) {
        const struct accel_model_tensor *tensor;

        if (graph->values[v]->role != ACCEL_ROLE_WEIGHT || !is_selected(stage, v, which) ||
            (which != UPLOADED && weights_find_type(&stage->session->types, graph->values[v]->key) != NULL))
            continue;
        tensor = accel_model_file_find(stage->session->model->file, graph->values[v]->key);
        for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES && tensor != NULL; p++) {
            uint64_t bytes;
            uintptr_t address = (uintptr_t)accel_model_file_plane(stage->session->model->file, tensor, p, &bytes);

            if (address != 0 && bytes != 0)
                ranges[found++] = (struct range){address / page, (address + bytes + page - 1) / page};
        }
    }
    if (found != 0)
        qsort(ranges, found, sizeof(*ranges), compare);
    for (uint32_t i = 0; i < found; i++) {
        if (merged == 0 || ranges[i].first > ranges[merged - 1].end)
            ranges[merged++] = ranges[i];
        else if (ranges[i].end > ranges[merged - 1].end)
            ranges[merged - 1].end = ranges[i].end;
    }
    *out_count = merged;
    return ranges;
}

static uint64_t count_resident(const struct range *range, uint64_t page)
{
    unsigned char seen[4096];
    uint64_t resident = 0;

    for (uint64_t at = range->first; at < range->end; at += sizeof(seen)) {
        uint64_t count = range->end - at < sizeof(seen) ? range->end - at : sizeof(seen);

        if (mincore((void *)(uintptr_t)(at * page), count * page, seen) != 0)
            return resident;
        for (uint64_t i = 0; i < count; i++)
            resident += seen[i] & 1u;
    }
    return resident;
}

static uint64_t count_pages(const struct pipeline_stage *stage, enum which which, uint32_t resident_only)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pages = 0;
    uint32_t count;
    struct range *ranges = stage->source.copy ? NULL : list_ranges(stage, which, page, &count);

    for (uint32_t i = 0; ranges != NULL && i < count; i++)
        pages += resident_only ? count_resident(&ranges[i], page) : ranges[i].end - ranges[i].first;
    free(ranges);
    return pages * page;
}

/* Returns whether all sampled pages are resident. This skips the prefetch of a warm file, which would take as long as a
 * fifth of reading it. */
static bool sample_is_resident(const struct range *ranges, uint32_t count, uint64_t page)
{
    const uint64_t step = SAMPLE_BYTES / page == 0 ? 1 : SAMPLE_BYTES / page;
    unsigned char seen;

    for (uint32_t i = 0; i < count; i++)
        for (uint64_t at = ranges[i].first; at < ranges[i].end; at += step)
            if (mincore((void *)(uintptr_t)(at * page), page, &seen) != 0 || (seen & 1u) == 0)
                return false;
    return true;
}

/* Reads a range from the disk in order and maps it; `drops` leaves it in the page cache alone, since an upload that
 * follows maps each weight once, and all of them at a time would be a second copy of the model. Sequential read-ahead
 * uses huge pages if the file system has them, while MADV_WILLNEED reads small pages that stay small. Returns false if
 * the system lacks MADV_POPULATE_READ or the range exceeds half of memory. */
static int map_stream(const struct pipeline_stage *stage, const struct range *range, uint64_t page, bool drops)
{
#if defined(MADV_POPULATE_READ)
    void *all = (void *)(uintptr_t)(range->first * page);
    const uint64_t bytes = (range->end - range->first) * page, step = drops ? READ_BYTES : POPULATE_BYTES;
    int done = bytes / page < (uint64_t)sysconf(_SC_PHYS_PAGES) / 2;

    (void)madvise(all, bytes, MADV_SEQUENTIAL);
    for (uint64_t at = 0; done && at < bytes && !atomic_load(&stage->session->cancelled); at += step) {
        const uint64_t part = bytes - at < step ? bytes - at : step;

        done = madvise((char *)all + at, part, MADV_POPULATE_READ) == 0;
        if (drops)
            (void)madvise((char *)all + at, part, MADV_DONTNEED);
    }
    (void)madvise(all, bytes, MADV_NORMAL);
    return done;
#else
    (void)stage;
    (void)range;
    (void)page;
    (void)drops;
    return 0;
#endif
}

static void prefetch_pages(const struct pipeline_stage *stage, enum which which)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t step = PREFETCH_BYTES / page == 0 ? 1 : PREFETCH_BYTES / page;
    uint32_t count;
    const bool is_limited = plan_expert_limit(stage->plan) != 0;
    struct range *ranges = stage->source.copy ? NULL : list_ranges(stage, which, page, &count);

    /* This is advice: if the system ignores it, pages are read when steps touch them. */
    if (!is_limited && ranges != NULL && sample_is_resident(ranges, count, page))
        count = 0;
    for (uint32_t i = 0; ranges != NULL && i < count; i++) {
        /* Read-ahead beyond a weight would fill memory with experts. */
        if (is_limited)
            (void)madvise((void *)(uintptr_t)(ranges[i].first * page), (ranges[i].end - ranges[i].first) * page,
                          MADV_RANDOM);
        else if (map_stream(stage, &ranges[i], page, which == NOT_LIMITED))
            continue;
        for (uint64_t at = ranges[i].first; at < ranges[i].end; at += step) {
            uint64_t pages = ranges[i].end - at < step ? ranges[i].end - at : step;

            (void)madvise((void *)(uintptr_t)(at * page), pages * page, MADV_WILLNEED);
        }
    }
    free(ranges);
}

void stage_prefetch_in_place(const struct pipeline_stage *stage)
{
    prefetch_pages(stage, IN_PLACE);
}

void stage_prefetch_all(struct pipeline_stage *stage, const char *key)
{
    const struct accel_graph *graph = stage->step.graph;

    for (uint32_t v = 0; stage->in_place != NULL && v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_WEIGHT && !stage->in_place[v] &&
            strcmp(graph->values[v]->key, key) == 0 && atomic_exchange(&stage->source.prefetched, 1) == 0)
            prefetch_pages(stage, NOT_LIMITED);
}

static void advise(uint64_t first, uint64_t end, uint64_t page, int advice)
{
    if (first < end)
        (void)madvise((void *)(uintptr_t)(first * page), (end - first) * page, advice);
}

void stage_drop_uploaded(const struct pipeline_stage *stage)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t count;
    struct range *ranges = stage->source.copy ? NULL : list_ranges(stage, UPLOADED, page, &count);

    for (uint32_t i = 0; ranges != NULL && i < count; i++)
        advise(ranges[i].first, ranges[i].end, page, MADV_DONTNEED);
    free(ranges);
}

/* Splits the mapping between pages of uploaded weights and of those used in place. A fault maps the whole folio of
 * the page cache around it, up to the ends of the mapping: 2 MiB for a norm of some KiB, where the file has huge pages.
 */
static void split_mapping(const struct pipeline_stage *stage)
{
#if defined(MADV_NOHUGEPAGE)
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t uploaded_count, in_place_count, next = 0;
    struct range *uploaded = list_ranges(stage, UPLOADED, page, &uploaded_count);
    struct range *in_place = list_ranges(stage, IN_PLACE, page, &in_place_count);

    for (uint32_t i = 0; uploaded != NULL && in_place != NULL && i < uploaded_count; i++) {
        uint64_t first = uploaded[i].first;

        while (next < in_place_count && in_place[next].end <= first)
            next++;
        for (uint32_t p = next; p < in_place_count && in_place[p].first < uploaded[i].end; p++) {
            advise(first, in_place[p].first, page, MADV_NOHUGEPAGE);
            first = in_place[p].end;
        }
        advise(first, uploaded[i].end, page, MADV_NOHUGEPAGE);
    }
    free(uploaded);
    free(in_place);
#else
    (void)stage;
#endif
}

void stage_unmap_uploaded(const struct pipeline_stage *stage)
{
    stage_drop_uploaded(stage);
    if (!stage->source.copy)
        split_mapping(stage);
}

uint64_t stage_mapped_bytes(const struct pipeline_stage *stage)
{
    return count_pages(stage, ALL, 0);
}

static int compare_key(const void *key, const void *item)
{
    return strcmp(key, ((const struct accel_plan_in_place *)item)->key);
}

bool stage_is_limited(const struct pipeline_stage *stage, const char *key)
{
    const struct accel_graph *graph = stage->step.graph;

    for (uint32_t v = 0; stage->in_place != NULL && v < graph->value_count; v++)
        if (stage->in_place[v] == LIMITED && strcmp(graph->values[v]->key, key) == 0)
            return true;
    return false;
}

uint64_t stage_in_place_bytes(const struct pipeline_stage *stage)
{
    return count_pages(stage, IN_PLACE, 0);
}

int32_t stage_note_in_place(struct pipeline_stage *stage, const struct accel_plan_answers *answers,
                            uint64_t *out_streamed, struct accel_error *error)
{
    const struct accel_graph *graph = stage->step.graph;
    const uint64_t limit = plan_expert_limit(stage->plan);
    uint32_t count;
    const struct accel_plan_in_place *list = accel_plan_in_place(answers, &count);

    free(stage->in_place);
    *out_streamed = 0;
    stage->in_place = calloc((size_t)graph->value_count + 1, sizeof(*stage->in_place));
    if (stage->in_place == NULL)
        return accel_error_no_memory(error, "for the list of %u weights", count);
    for (uint32_t v = 0; count != 0 && v < graph->value_count; v++) {
        const struct accel_plan_in_place *row =
            graph->values[v]->role != ACCEL_ROLE_WEIGHT
                ? NULL
                : bsearch(graph->values[v]->key, list, count, sizeof(*list), compare_key);
        const struct accel_model_tensor *tensor =
            row == NULL ? NULL : accel_model_file_find(stage->session->model->file, row->key);

        stage->in_place[v] = row == NULL ? 0 : WHOLE;
        if (tensor != NULL && !row->looked_up)
            *out_streamed += tensor->bytes;
    }
    for (uint32_t n = 0; limit != 0 && n < graph->node_count; n++) {
        const uint32_t v = session_expert_matrix(graph->nodes[n]);

        if (v != ACCEL_NO_VALUE)
            stage->in_place[v] = LIMITED;
    }
    return ACCEL_OK;
}

/* A driver with its own copies reads the file once, during the load. */
static bool is_mapped(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == ACCEL_MEMORY_MAPPED)
            return true;
    return false;
}

bool stage_reads_file(const struct pipeline_stage *stage)
{
    return !stage->source.copy && is_mapped(stage->plan);
}

uint64_t accel_session_resident(const struct accel_session *session)
{
    uint64_t bytes = 0;

    for (uint32_t p = 0; p < session->pipeline_count; p++)
        if (is_mapped(session->pipeline[p].plan))
            bytes += count_pages(&session->pipeline[p], IN_PLACE, 1);
    return bytes;
}
