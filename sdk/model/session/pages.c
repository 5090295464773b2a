/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the mapped file that weights of a session lie on. Weights share pages where one ends and the next begins, so
 * the ranges are sorted and each page counts once; header and tensors that no step reads do not count, nor do weights
 * that the device keeps in memory of its own.
 *
 * Resident is what the page cache holds (mincore), whoever brought it there, since that is what the machine has less
 * of; the process's own count differs from run to run, by the rows of the embedding that its tokens happened to touch.
 * The system says "resident" of every page where the process may not write the file and does not own it.
 */
#define _GNU_SOURCE
#include "sdk/model/session/internal.h"

#include <accel/quant/format.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Systems cut one request to what a device reads ahead, and say nothing; this much every one takes. */
#define ASKED_AT_ONCE (UINT64_C(128) << 10)

/* Mapped at once. */
#define MAPPED_AT_ONCE (UINT64_C(256) << 20)

/* Bytes of which one page is looked at before anything is asked for. */
#define SAMPLED (UINT64_C(1) << 20)

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

/* Which weights: all, those that steps use in place, or those that the device pulls into memory of its own. */
enum which { ALL, IN_PLACE, PULLED };

static int is_meant(const struct accel_session *session, uint32_t value, enum which which)
{
    const int in_place = session->in_place == NULL || session->in_place[value];

    return which == ALL || in_place == (which == IN_PLACE);
}

/* The ranges of weights, sorted and joined; the caller frees them. NULL where nothing is mapped, or without memory. */
static struct range *list_ranges(const struct accel_session *session, enum which which, uint64_t page,
                                 uint32_t *out_count)
{
    const struct accel_graph *graph = session->step.graph;
    struct range *ranges =
        graph == NULL ? NULL : calloc((size_t)graph->value_count * ACCEL_FORMAT_PLANES, sizeof *ranges);
    uint32_t found = 0, kept = 0;

    *out_count = 0;
    for (uint32_t v = 0; ranges != NULL && v < graph->value_count; v++) {
        const struct accel_model_tensor *tensor;

        if (graph->values[v]->role != ACCEL_ROLE_WEIGHT || !is_meant(session, v, which) ||
            weights_find_type(&session->types, graph->values[v]->key) != NULL)
            continue;
        tensor = accel_model_file_find(session->model->file, graph->values[v]->key);
        for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES && tensor != NULL; p++) {
            uint64_t bytes;
            uintptr_t address = (uintptr_t)accel_model_file_plane(session->model->file, tensor, p, &bytes);

            if (address != 0 && bytes != 0)
                ranges[found++] = (struct range){address / page, (address + bytes + page - 1) / page};
        }
    }
    if (found != 0)
        qsort(ranges, found, sizeof *ranges, compare);
    for (uint32_t i = 0; i < found; i++) {
        if (kept == 0 || ranges[i].first > ranges[kept - 1].end)
            ranges[kept++] = ranges[i];
        else if (ranges[i].end > ranges[kept - 1].end)
            ranges[kept - 1].end = ranges[i].end;
    }
    *out_count = kept;
    return ranges;
}

static uint64_t resident_of(const struct range *range, uint64_t page)
{
    unsigned char seen[4096];
    uint64_t resident = 0;

    for (uint64_t at = range->first; at < range->end; at += sizeof seen) {
        uint64_t count = range->end - at < sizeof seen ? range->end - at : sizeof seen;

        if (mincore((void *)(uintptr_t)(at * page), count * page, seen) != 0)
            return resident;
        for (uint64_t i = 0; i < count; i++)
            resident += seen[i] & 1u;
    }
    return resident;
}

static uint64_t count_pages(const struct accel_session *session, enum which which, uint32_t resident_only)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pages = 0;
    uint32_t count;
    struct range *ranges = session->source.copy ? NULL : list_ranges(session, which, page, &count);

    for (uint32_t i = 0; ranges != NULL && i < count; i++)
        pages += resident_only ? resident_of(&ranges[i], page) : ranges[i].end - ranges[i].first;
    free(ranges);
    return pages * page;
}

/* True where every page that is looked at is in memory: one of each SAMPLED bytes. A warm file is not asked for again:
 * a call for each piece of it would take as long as a fifth of reading it does. */
static int seem_resident(const struct range *ranges, uint32_t count, uint64_t page)
{
    const uint64_t step = SAMPLED / page == 0 ? 1 : SAMPLED / page;
    unsigned char seen;

    for (uint32_t i = 0; i < count; i++)
        for (uint64_t at = ranges[i].first; at < ranges[i].end; at += step)
            if (mincore((void *)(uintptr_t)(at * page), page, &seen) != 0 || (seen & 1u) == 0)
                return 0;
    return 1;
}

/* Reads a range from the disk and maps it, in order: read ahead of a stream comes in huge pages where the file system
 * has them, while pages that are asked for without being touched come one by one and stay small for as long as they
 * are in memory. False where the system does not know how, or less memory than that is there. */
static int map_stream(const struct accel_session *session, const struct range *range, uint64_t page)
{
#if defined(MADV_POPULATE_READ)
    void *all = (void *)(uintptr_t)(range->first * page);
    const uint64_t bytes = (range->end - range->first) * page;
    int done = bytes / page < (uint64_t)sysconf(_SC_PHYS_PAGES) / 2;

    (void)madvise(all, bytes, MADV_SEQUENTIAL);
    for (uint64_t at = 0; done && at < bytes && !atomic_load(&session->cancelled); at += MAPPED_AT_ONCE)
        done = madvise((char *)all + at, bytes - at < MAPPED_AT_ONCE ? bytes - at : MAPPED_AT_ONCE,
                       MADV_POPULATE_READ) == 0;
    (void)madvise(all, bytes, MADV_NORMAL);
    return done;
#else
    (void)session;
    (void)range;
    (void)page;
    return 0;
#endif
}

static void ask_for_pages(const struct accel_session *session, enum which which)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t step = ASKED_AT_ONCE / page == 0 ? 1 : ASKED_AT_ONCE / page;
    uint32_t count;
    struct range *ranges = session->source.copy ? NULL : list_ranges(session, which, page, &count);

    /* Advice: where the system does not take it, the pages come when steps touch them. */
    if (ranges != NULL && seem_resident(ranges, count, page))
        count = 0;
    for (uint32_t i = 0; ranges != NULL && i < count; i++) {
        if (map_stream(session, &ranges[i], page))
            continue;
        for (uint64_t at = ranges[i].first; at < ranges[i].end; at += step) {
            uint64_t pages = ranges[i].end - at < step ? ranges[i].end - at : step;

            (void)madvise((void *)(uintptr_t)(at * page), pages * page, MADV_WILLNEED);
        }
    }
    free(ranges);
}

void session_ask_for_pages(const struct accel_session *session)
{
    ask_for_pages(session, IN_PLACE);
}

void session_ask_to_pull(struct accel_session *session, const char *key)
{
    const struct accel_graph *graph = session->step.graph;

    for (uint32_t v = 0; session->in_place != NULL && v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_WEIGHT && !session->in_place[v] &&
            strcmp(graph->values[v]->key, key) == 0 && atomic_exchange(&session->source.asked, 1) == 0)
            ask_for_pages(session, ALL);
}

void session_drop_pulled(const struct accel_session *session)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t count;
    struct range *ranges = session->source.copy ? NULL : list_ranges(session, PULLED, page, &count);

    for (uint32_t i = 0; ranges != NULL && i < count; i++)
        (void)madvise((void *)(uintptr_t)(ranges[i].first * page), (ranges[i].end - ranges[i].first) * page,
                      MADV_DONTNEED);
    free(ranges);
}

uint64_t session_mapped_bytes(const struct accel_session *session)
{
    return count_pages(session, ALL, 0);
}

static int compare_key(const void *key, const void *item)
{
    return strcmp(key, ((const struct accel_plan_in_place *)item)->key);
}

int32_t session_note_in_place(void *data, const struct accel_plan_in_place *list, uint32_t count, uint64_t *out_bytes,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_session *session = data;
    const struct accel_graph *graph = session->step.graph;

    free(session->in_place);
    session->streamed = 0;
    *out_bytes = 0;
    session->in_place = calloc((size_t)graph->value_count + 1, sizeof *session->in_place);
    if (session->in_place == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for a note of %u weights", count);
    for (uint32_t v = 0; count != 0 && v < graph->value_count; v++) {
        const struct accel_plan_in_place *row =
            graph->values[v]->role != ACCEL_ROLE_WEIGHT
                ? NULL
                : bsearch(graph->values[v]->key, list, count, sizeof *list, compare_key);
        const struct accel_model_tensor *tensor =
            row == NULL ? NULL : accel_model_file_find(session->model->file, row->key);

        session->in_place[v] = row != NULL;
        if (tensor != NULL && !row->looked_up)
            session->streamed += tensor->bytes;
    }
    *out_bytes = count_pages(session, IN_PLACE, 0);
    return ACCEL_OK;
}

/* Drivers that have weights of their own read the file once. */
static uint32_t is_mapped(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == ACCEL_MEMORY_MAPPED)
            return 1;
    return 0;
}

uint32_t session_reads_file(const struct accel_session *session)
{
    uint32_t reads = !session->source.copy && session->piece_count == 0 && is_mapped(session->plan);

    for (uint32_t p = 0; p < session->piece_count; p++)
        reads |= session_reads_file(session->pieces[p]);
    return reads;
}

uint64_t accel_session_resident(const struct accel_session *session)
{
    uint64_t bytes = 0;

    for (uint32_t p = 0; p < session->piece_count; p++)
        bytes += accel_session_resident(session->pieces[p]);
    return session->piece_count != 0 ? bytes : is_mapped(session->plan) ? count_pages(session, IN_PLACE, 1) : 0;
}
