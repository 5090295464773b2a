/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "plugins/cpu/experts.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <accel/ops.h>
#include <accel/quant/format.h>

/* Most uses of a layer: past them its counts are halved, so that they follow a text that changes. */
#define MOST_USES (1u << 14)
/* Direct I/O reads multiples of so many bytes at multiples of them, to memory at multiples of them. */
#define SECTOR UINT64_C(4096)
/* Bytes of one read, a multiple of SECTOR. */
#define READ_BYTES (UINT64_C(1) << 20)

const struct accel_option cpu_expert_bytes_option = {
    .size = sizeof(cpu_expert_bytes_option),
    .type = ACCEL_OPTION_INTEGER,
    .name = "expert_bytes",
    .help = "most bytes of experts in memory, or a size such as 2GiB: the driver reads experts of a mixture from the "
            "mapped file as tokens are routed to them, and evicts the least used; 0: experts are used as other weights",
    .lowest = 0,
    .highest = INT64_MAX,
};

/* An expert of a plane in the file. */
struct place {
    const char *begin; /* where it is mapped */
    uint64_t offset;   /* of `begin` in the file */
    int file;          /* open for direct I/O; -1: copies are made from the mapping */
};

struct plane {
    struct place *places; /* [layer.experts] */
    uint64_t stride;      /* bytes of an expert */
};

/* The copy of an expert of a matrix. */
struct copy {
    void *block; /* NULL: none */
    char *planes[SDK_PLANES];
};

struct cpu_expert_matrix {
    struct layer *layer;
    struct plane planes[SDK_PLANES];
    struct copy *copies; /* [layer.experts] */
    uint64_t bytes;      /* of a copy */
    uint32_t plane_count;
    uint32_t bit;  /* in masks of the layer's matrices */
    uint32_t uses; /* additions less removals; a matrix without uses stays with the others of its layer */
    uint32_t zero;
};

/* The matrices that share a router. */
struct layer {
    struct layer *next;
    uint32_t number;
    uint32_t matrix_count;
    struct cpu_expert_matrix matrices[CPU_EXPERT_MATRICES];
    uint64_t experts;
    uint32_t total; /* sum of uses */
    uint32_t *uses; /* [experts] */
};

/* A file that is open for direct I/O, or could not be opened. */
struct file {
    struct file *next;
    dev_t device;
    ino_t inode;
    int handle; /* -1: not opened */
};

/* An expert of a plane that is to be read. */
struct job {
    const struct cpu_expert_matrix *matrix;
    uint64_t expert;
    uint32_t plane;
    uint32_t zero;
};

struct cpu_experts {
    pthread_mutex_t mutex;
    const struct accel_host *host;
    struct layer *layers, *last;
    const struct sdk_tensor *last_ids;
    struct file *files;
    uint32_t layer_count;
    uint32_t job_count;
    struct job *jobs;
    uint64_t job_capacity;
    _Atomic uint64_t next_read; /* in pieces of READ_BYTES of all jobs */
    struct cpu_experts_state state;
};

struct cpu_experts *cpu_experts_create(const struct accel_host *host, uint64_t bytes)
{
    struct cpu_experts *residency = calloc(1, sizeof(*residency));

    if (residency == NULL || pthread_mutex_init(&residency->mutex, NULL) != 0) {
        free(residency);
        return NULL;
    }
    residency->host = host;
    residency->state.limit = bytes;
    return residency;
}

static void free_copies(struct cpu_experts *r, struct cpu_expert_matrix *m)
{
    for (uint64_t e = 0; e < m->layer->experts; e++) {
        r->state.held -= m->copies[e].block == NULL ? 0 : m->bytes;
        r->host->release(r->host, m->copies[e].block);
        m->copies[e].block = NULL;
    }
}

static void free_matrix(struct cpu_expert_matrix *m)
{
    for (uint32_t p = 0; p < m->plane_count; p++)
        free(m->planes[p].places);
    free(m->copies);
}

static void free_layer(struct cpu_experts *r, struct layer *layer)
{
    for (uint32_t m = 0; m < layer->matrix_count; m++) {
        free_copies(r, &layer->matrices[m]);
        free_matrix(&layer->matrices[m]);
    }
    free(layer->uses);
    free(layer);
}

void cpu_experts_free(struct cpu_experts *residency)
{
    if (residency == NULL)
        return;
    sdk_log(residency->host, ACCEL_LOG_INFO, "driver=cpu expert_bytes=%llu held=%llu read=%llu evicted=%llu",
            (unsigned long long)residency->state.limit, (unsigned long long)residency->state.held,
            (unsigned long long)residency->state.read, (unsigned long long)residency->state.evicted);
    for (struct layer *layer = residency->layers, *next; layer != NULL; layer = next) {
        next = layer->next;
        free_layer(residency, layer);
    }
    for (struct file *file = residency->files, *next; file != NULL; file = next) {
        next = file->next;
        if (file->handle >= 0)
            close(file->handle);
        free(file);
    }
    free(residency->jobs);
    pthread_mutex_destroy(&residency->mutex);
    free(residency);
}

/* ---- files ---- */

/* A mapping of /proc/self/maps. */
struct mapping {
    uintptr_t begin, end;
    uint64_t offset; /* of `begin` in the file */
    dev_t device;
    ino_t inode;
    char path[4096];
};

static bool find_mapping(const void *address, struct mapping *out_mapping)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    bool found = false;

    while (maps != NULL && !found && getline(&line, &size, maps) > 0) {
        unsigned long long begin, end, offset, inode;
        unsigned int major, minor;
        char path[4096];

        found = sscanf(line, "%llx-%llx %*s %llx %x:%x %llu %4095[^\n]", &begin, &end, &offset, &major, &minor, &inode,
                       path) == 7 &&
                (uintptr_t)address >= begin && (uintptr_t)address < end;
        if (!found)
            continue;
        *out_mapping =
            (struct mapping){(uintptr_t)begin, (uintptr_t)end, offset, makedev(major, minor), (ino_t)inode, ""};
        memcpy(out_mapping->path, path, sizeof(path));
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* Opens the file of a mapping for direct I/O. Returns -1 if its path names another file by now, or if the file system
 * has no direct I/O. */
static int open_mapped(const struct mapping *mapping)
{
    struct stat facts;
    int handle = -1;

#if defined(O_DIRECT)
    handle = open(mapping->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
#endif
    if (handle >= 0 &&
        (fstat(handle, &facts) != 0 || facts.st_dev != mapping->device || facts.st_ino != mapping->inode)) {
        close(handle);
        handle = -1;
    }
    return handle;
}

/* Finds the file of an expert of a plane. `mapping` is that of the expert before it. */
static void find_file(struct cpu_experts *r, struct place *place, struct mapping *mapping)
{
    const uintptr_t address = (uintptr_t)place->begin;
    struct file *file = r->files;

    place->file = -1;
    if ((address < mapping->begin || address >= mapping->end) && !find_mapping(place->begin, mapping))
        return;
    while (file != NULL && (file->device != mapping->device || file->inode != mapping->inode))
        file = file->next;
    if (file == NULL) {
        file = malloc(sizeof(*file));
        if (file == NULL)
            return;
        *file = (struct file){r->files, mapping->device, mapping->inode, open_mapped(mapping)};
        r->files = file;
    }
    place->file = file->handle;
    place->offset = mapping->offset + (address - mapping->begin);
}

/* ---- matrices ---- */

/* Returns where an expert of `bytes` bytes of a plane is mapped, NULL if it does not lie together. */
static const char *find_expert(const struct sdk_tensor *w, uint32_t plane, uint64_t expert, uint64_t bytes)
{
    const void *address = NULL;

    if (w->source == NULL)
        return w->planes[plane] == NULL ? NULL : (const char *)w->planes[plane] + expert * bytes;
    return w->source->map_part(w->source, w->key, plane, expert * bytes, bytes, &address, NULL) == ACCEL_OK ? address
                                                                                                            : NULL;
}

/* Returns the bytes of an expert in a plane of W; 0: W has no such plane. */
static uint64_t expert_bytes(uint32_t type, uint32_t plane, uint64_t rows, uint64_t width)
{
    struct accel_format format;
    size_t row = 0;

    if (accel_format_describe(type, &format) != ACCEL_OK || plane >= format.planes ||
        accel_format_row_bytes(type, plane, width, &row) != ACCEL_OK)
        return 0;
    return rows * row;
}

static struct cpu_expert_matrix *find_matrix(struct cpu_experts *r, uint64_t experts, const void *begin)
{
    for (struct layer *layer = r->layers; layer != NULL; layer = layer->next)
        for (uint32_t m = 0; m < layer->matrix_count; m++)
            if (layer->experts == experts && layer->matrices[m].uses != 0 &&
                layer->matrices[m].planes[0].places[0].begin == begin)
                return &layer->matrices[m];
    return NULL;
}

/* Returns the matrices of a layer that are in use, as bits. */
static uint32_t used_mask(const struct layer *layer)
{
    uint32_t mask = 0;

    for (uint32_t m = 0; m < layer->matrix_count; m++)
        mask |= layer->matrices[m].uses != 0 ? layer->matrices[m].bit : 0;
    return mask;
}

static struct layer *add_layer(struct cpu_experts *r, uint64_t experts)
{
    struct layer *layer = calloc(1, sizeof(*layer));

    if (layer == NULL)
        return NULL;
    layer->uses = calloc(experts, sizeof(*layer->uses));
    if (layer->uses == NULL) {
        free(layer);
        return NULL;
    }
    layer->experts = experts;
    layer->number = r->layer_count++;
    *(r->last == NULL ? &r->layers : &r->last->next) = layer;
    r->last = layer;
    return layer;
}

/* Bytes of the copy of `stride` bytes of a plane: whole sectors, wherever the first byte lies in one. */
static uint64_t copy_bytes(uint64_t stride)
{
    return (stride + SECTOR - 1) / SECTOR * SECTOR + SECTOR;
}

/* Returns the bytes of the copies of one expert of the matrix that a node reads; 0 if it reads none of several. */
static uint64_t node_bytes(const struct accel_graph *graph, const struct accel_node *node)
{
    const struct accel_expert_matmul *attributes = node->op == ACCEL_OP_EXPERT_MATMUL ? node->attributes : NULL;
    uint64_t sum = 0, bytes;

    if (attributes == NULL || attributes->experts < 2)
        return 0;
    for (uint32_t p = 0; p < SDK_PLANES; p++) {
        const struct accel_value *w = graph->values[node->inputs[1]];

        bytes = expert_bytes(w->type, p, w->dims[0].add / attributes->experts, w->dims[1].add);
        sum += bytes == 0 ? 0 : copy_bytes(bytes);
    }
    return sum;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

uint64_t cpu_experts_bytes(const struct cpu_experts *residency, const struct accel_graph *const *graphs,
                           uint32_t graph_count, uint64_t *out_least)
{
    uint64_t most = 0, divisor = 0, held;

    *out_least = 0;
    for (uint32_t g = 0; g < graph_count; g++) {
        uint64_t sum = 0, layer = 0;
        uint32_t ids = ACCEL_NO_VALUE;

        for (uint32_t n = 0; n < graphs[g]->node_count; n++) {
            const struct accel_node *node = graphs[g]->nodes[n];
            const uint64_t bytes = node_bytes(graphs[g], node);

            if (bytes == 0)
                continue;
            divisor = common_divisor(bytes, divisor);
            layer = node->inputs[2] == ids ? layer : 0;
            ids = node->inputs[2];
            layer += graphs[g]->values[ids]->dims[1].add * bytes;
            *out_least = layer > *out_least ? layer : *out_least;
            sum += ((const struct accel_expert_matmul *)node->attributes)->experts * bytes;
        }
        most = sum > most ? sum : most;
    }
    /* Copies are whole, and so is their sum: of equal ones it is exact. */
    held = divisor == 0 ? 0 : residency->state.limit / divisor * divisor;
    most = most < held ? most : held;
    return most > *out_least ? most : *out_least;
}

/* Reserves a job per plane of every expert of a layer. */
static bool reserve_jobs(struct cpu_experts *r, uint64_t count)
{
    struct job *jobs = count <= r->job_capacity ? r->jobs : realloc(r->jobs, count * sizeof(*jobs));

    if (jobs == NULL)
        return 0;
    r->jobs = jobs;
    r->job_capacity = count > r->job_capacity ? count : r->job_capacity;
    return 1;
}

/* Finds the experts of a plane. Returns false if memory is out, or an expert does not lie together. */
static bool add_plane(struct cpu_experts *r, struct cpu_expert_matrix *m, const struct sdk_tensor *w, uint64_t bytes)
{
    const uint64_t experts = m->layer->experts;
    struct plane *plane = &m->planes[m->plane_count];
    struct mapping mapping = {0};

    *plane = (struct plane){calloc(experts, sizeof(*plane->places)), bytes};
    if (plane->places == NULL)
        return false;
    m->plane_count++; /* from here on free_matrix frees the places */
    m->bytes += copy_bytes(bytes);
    for (uint64_t e = 0; e < experts; e++) {
        plane->places[e].begin = find_expert(w, m->plane_count - 1, e, bytes);
        if (plane->places[e].begin == NULL)
            return false;
        find_file(r, &plane->places[e], &mapping);
    }
    return true;
}

static struct cpu_expert_matrix *add_matrix(struct cpu_experts *r, const struct sdk_tensor *w, uint64_t experts,
                                            const struct sdk_tensor *ids)
{
    struct layer *layer = r->last;
    struct cpu_expert_matrix *m;
    bool is_whole = true;

    if (!reserve_jobs(r, experts * CPU_EXPERT_MATRICES * SDK_PLANES))
        return NULL;
    if (layer == NULL || r->last_ids != ids || layer->experts != experts || layer->matrix_count == CPU_EXPERT_MATRICES)
        layer = add_layer(r, experts);
    if (layer == NULL)
        return NULL;
    r->last_ids = ids;
    m = &layer->matrices[layer->matrix_count];
    *m = (struct cpu_expert_matrix){.layer = layer, .bit = 1u << layer->matrix_count};
    for (uint32_t p = 0; p < SDK_PLANES && is_whole; p++) {
        const uint64_t bytes = expert_bytes(w->type, p, w->rows / experts, w->width);

        is_whole = bytes == 0 || add_plane(r, m, w, bytes);
    }
    m->copies = calloc(experts, sizeof(*m->copies));
    if (m->copies == NULL || !is_whole) {
        free_matrix(m);
        return NULL;
    }
    layer->matrix_count++;
    return m;
}

struct cpu_expert_matrix *cpu_experts_add(struct cpu_experts *residency, const struct sdk_tensor *w, uint64_t experts,
                                          const struct sdk_tensor *ids)
{
    struct cpu_expert_matrix *matrix;

    pthread_mutex_lock(&residency->mutex);
    matrix =
        find_matrix(residency, experts, find_expert(w, 0, 0, expert_bytes(w->type, 0, w->rows / experts, w->width)));
    if (matrix == NULL)
        matrix = add_matrix(residency, w, experts, ids);
    if (matrix != NULL)
        matrix->uses++;
    pthread_mutex_unlock(&residency->mutex);
    return matrix;
}

void cpu_experts_remove(struct cpu_experts *residency, struct cpu_expert_matrix *matrix)
{
    struct layer *layer = matrix->layer, **link = &residency->layers;

    pthread_mutex_lock(&residency->mutex);
    if (--matrix->uses == 0) {
        free_copies(residency, matrix);
        residency->last_ids = NULL; /* what is added next begins a layer */
    }
    if (used_mask(layer) == 0) {
        while (*link != layer)
            link = &(*link)->next;
        *link = layer->next;
        free_layer(residency, layer);
        residency->last = residency->layers;
        while (residency->last != NULL && residency->last->next != NULL)
            residency->last = residency->last->next;
    }
    pthread_mutex_unlock(&residency->mutex);
}

/* ---- the policy ---- */

static void count_uses(struct layer *layer, const uint32_t *first)
{
    for (uint64_t e = 0; e < layer->experts; e++)
        layer->uses[e] += first[e + 1] - first[e];
    layer->total += first[layer->experts];
    if (layer->total <= MOST_USES)
        return;
    layer->total = 0;
    for (uint64_t e = 0; e < layer->experts; e++)
        layer->total += layer->uses[e] /= 2;
}

/* Returns the matrices of which an expert has copies, as bits. */
static uint32_t held_mask(const struct layer *layer, uint64_t e)
{
    uint32_t mask = 0;

    for (uint32_t m = 0; m < layer->matrix_count; m++)
        mask |= layer->matrices[m].copies[e].block != NULL ? layer->matrices[m].bit : 0;
    return mask;
}

static uint64_t sum_matrices(const struct layer *layer, uint32_t mask)
{
    uint64_t sum = 0;

    for (uint32_t m = 0; m < layer->matrix_count; m++)
        sum += (mask & layer->matrices[m].bit) != 0 ? layer->matrices[m].bytes : 0;
    return sum;
}

/* A demand: experts begin .. end of a layer with rows, and the matrices that are read. */
struct demand {
    struct layer *layer;
    const uint32_t *first;
    uint64_t begin, end;
    uint32_t mask;
};

static bool is_demanded(const struct demand *d, const struct layer *layer, uint64_t e)
{
    return layer == d->layer && e >= d->begin && e < d->end && d->first[e + 1] != d->first[e];
}

/* Finds the least used expert that has copies; of several, the one whose layer computes last, counted from this layer
 * on. */
static struct layer *find_victim(const struct cpu_experts *r, const struct demand *d, uint64_t *out_expert)
{
    struct layer *victim = NULL;
    uint32_t least = 0, farthest = 0;

    for (struct layer *layer = r->layers; layer != NULL; layer = layer->next) {
        const uint32_t distance = (layer->number + r->layer_count - d->layer->number - 1) % r->layer_count;

        for (uint64_t e = 0; e < layer->experts; e++) {
            if ((victim != NULL && (layer->uses[e] > least || (layer->uses[e] == least && distance <= farthest))) ||
                is_demanded(d, layer, e) || held_mask(layer, e) == 0)
                continue;
            victim = layer;
            *out_expert = e;
            least = layer->uses[e];
            farthest = distance;
        }
    }
    return victim;
}

/* Evicts an expert. Blocks of `bytes` move to the `spare` ones, of which there are `count`, up to CPU_EXPERT_MATRICES;
 * others are released: memory of the system is cleared page by page, which costs a third of reading it. */
struct spare {
    void *blocks[CPU_EXPERT_MATRICES];
    uint64_t bytes[CPU_EXPERT_MATRICES];
    uint32_t count;
};

static bool evict_one(struct cpu_experts *r, const struct demand *d, struct spare *spare)
{
    uint64_t expert = 0;
    struct layer *victim = find_victim(r, d, &expert);

    for (uint32_t m = 0; victim != NULL && m < victim->matrix_count; m++) {
        struct copy *copy = &victim->matrices[m].copies[expert];

        if (copy->block == NULL)
            continue;
        r->state.held -= victim->matrices[m].bytes;
        r->state.evicted += victim->matrices[m].bytes;
        if (spare->count < CPU_EXPERT_MATRICES) {
            spare->blocks[spare->count] = copy->block;
            spare->bytes[spare->count++] = victim->matrices[m].bytes;
        } else {
            r->host->release(r->host, copy->block);
        }
        copy->block = NULL;
    }
    return victim != NULL;
}

/* Returns a spare block of `bytes`, or a new one; NULL if memory is out. */
static void *take_block(struct cpu_experts *r, struct spare *spare, uint64_t bytes)
{
    void *block = NULL;

    for (uint32_t i = 0; i < spare->count; i++)
        if (spare->bytes[i] == bytes) {
            block = spare->blocks[i];
            spare->blocks[i] = spare->blocks[--spare->count];
            spare->bytes[i] = spare->bytes[spare->count];
            return block;
        }
    if (r->host->allocate(r->host, ACCEL_MEMORY_MAPPED, bytes, SECTOR, &block, NULL) != ACCEL_OK)
        return NULL;
    return block;
}

/* Sets the end of a demand: the first expert that exceeds the limit beside those before it. */
static void limit_demand(const struct cpu_experts *r, struct demand *d)
{
    uint64_t sum = 0;

    for (uint64_t e = d->begin; e < d->layer->experts; e++) {
        uint64_t bytes;

        d->end = e;
        if (d->first[e + 1] == d->first[e])
            continue;
        bytes = sum_matrices(d->layer, d->mask | held_mask(d->layer, e));
        if (sum != 0 && sum + bytes > r->state.limit)
            return;
        sum += bytes;
    }
    d->end = d->layer->experts;
}

/* Gives the copy of an expert a block, and adds a job for each plane. Without memory the expert is used in the mapped
 * file. */
static void add_jobs(struct cpu_experts *r, struct spare *spare, const struct cpu_expert_matrix *m, uint64_t e)
{
    struct copy *copy = &m->copies[e];
    char *at = copy->block = take_block(r, spare, m->bytes);

    if (at == NULL)
        return;
    r->state.held += m->bytes;
    r->state.read += m->bytes;
    for (uint32_t p = 0; p < m->plane_count; p++) {
        const struct plane *plane = &m->planes[p];

        copy->planes[p] = at + (plane->places[e].file < 0 ? 0 : plane->places[e].offset % SECTOR);
        at += copy_bytes(plane->stride);
        r->jobs[r->job_count++] = (struct job){m, e, p, 0};
    }
}

/* Evicts experts one by one as blocks are needed, so that their memory is used again. */
static void select_missing(struct cpu_experts *r, const struct demand *d)
{
    struct spare spare = {.count = 0};

    for (uint64_t e = d->begin; e < d->end; e++) {
        const uint32_t mask = is_demanded(d, d->layer, e) ? d->mask & ~held_mask(d->layer, e) : 0;

        for (uint32_t m = 0; m < d->layer->matrix_count; m++) {
            const struct cpu_expert_matrix *matrix = &d->layer->matrices[m];

            if ((mask & matrix->bit) == 0)
                continue;
            while (r->state.held + matrix->bytes > r->state.limit && evict_one(r, d, &spare))
                ;
            add_jobs(r, &spare, matrix, e);
        }
    }
    while (spare.count != 0)
        r->host->release(r->host, spare.blocks[--spare.count]);
}

uint64_t cpu_experts_acquire(struct cpu_experts *residency, struct cpu_expert_matrix *matrix, const uint32_t *first,
                             uint64_t begin)
{
    struct layer *layer = matrix->layer;
    struct demand demand = {layer, first, begin, layer->experts, 0};

    pthread_mutex_lock(&residency->mutex);
    demand.mask = used_mask(layer);
    if (begin == 0 && matrix == &layer->matrices[0])
        count_uses(layer, first);
    limit_demand(residency, &demand);
    if (begin != 0 || demand.end != layer->experts) {
        demand.mask = matrix->bit;
        limit_demand(residency, &demand);
    }
    residency->job_count = 0;
    atomic_store_explicit(&residency->next_read, 0, memory_order_relaxed);
    select_missing(residency, &demand);
    return demand.end;
}

void cpu_experts_release(struct cpu_experts *residency)
{
    pthread_mutex_unlock(&residency->mutex);
}

/* ---- reading ---- */

/* Reads bytes begin .. end of an expert of a plane, counted from the sector in which it begins. */
static void read_piece(const struct job *job, uint64_t begin, uint64_t end)
{
    const struct plane *plane = &job->matrix->planes[job->plane];
    const struct place *place = &plane->places[job->expert];
    const uint64_t shift = place->file < 0 ? 0 : place->offset % SECTOR;
    char *to = job->matrix->copies[job->expert].planes[job->plane] - shift;
    uint64_t done = begin;

    while (place->file >= 0 && done < end) {
        const ssize_t got = pread(place->file, to + done, end - done, (off_t)(place->offset - shift + done));

        if (got <= 0)
            break;
        done += (uint64_t)got;
    }
    /* The last sector of a file may be shorter. The mapping has the bytes that direct I/O does not read. */
    end = end < shift + plane->stride ? end : shift + plane->stride;
    done = done > shift ? done : shift;
    if (done < end)
        memcpy(to + done, place->begin + (done - shift), end - done);
}

void cpu_experts_read(struct cpu_experts *residency)
{
    uint64_t next = atomic_fetch_add_explicit(&residency->next_read, 1, memory_order_relaxed), at = 0;

    for (uint32_t j = 0; j < residency->job_count; j++) {
        const struct plane *plane = &residency->jobs[j].matrix->planes[residency->jobs[j].plane];
        const uint64_t bytes = copy_bytes(plane->stride), pieces = (bytes + READ_BYTES - 1) / READ_BYTES;

        for (; next < at + pieces; next = atomic_fetch_add_explicit(&residency->next_read, 1, memory_order_relaxed)) {
            const uint64_t begin = (next - at) * READ_BYTES;

            read_piece(&residency->jobs[j], begin, begin + READ_BYTES < bytes ? begin + READ_BYTES : bytes);
        }
        at += pieces;
    }
}

void cpu_experts_bind(const struct cpu_expert_matrix *matrix, uint64_t expert, struct sdk_tensor *w)
{
    const struct copy *copy = &matrix->copies[expert];

    for (uint32_t p = 0; p < matrix->plane_count; p++) {
        const struct plane *plane = &matrix->planes[p];
        const char *begin = copy->block == NULL ? plane->places[expert].begin : copy->planes[p];

        w->planes[p] = (void *)((uintptr_t)begin - expert * plane->stride);
    }
}

void cpu_experts_map(uint64_t expert, uint64_t experts, struct sdk_tensor *w)
{
    for (uint32_t p = 0; p < SDK_PLANES; p++) {
        const uint64_t bytes = expert_bytes(w->type, p, w->rows / experts, w->width);

        w->planes[p] = bytes == 0 ? NULL : (void *)((uintptr_t)find_expert(w, p, expert, bytes) - expert * bytes);
    }
}

struct cpu_experts_state cpu_experts_state_of(struct cpu_experts *residency)
{
    struct cpu_experts_state state;

    pthread_mutex_lock(&residency->mutex);
    state = residency->state;
    pthread_mutex_unlock(&residency->mutex);
    return state;
}

uint32_t cpu_experts_is_held(struct cpu_experts *residency, const struct cpu_expert_matrix *matrix, uint64_t expert)
{
    uint32_t held;

    pthread_mutex_lock(&residency->mutex);
    held = matrix->copies[expert].block != NULL;
    pthread_mutex_unlock(&residency->mutex);
    return held;
}
