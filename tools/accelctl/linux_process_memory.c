/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/process_memory.h"

/* One loadable segment of a shared object, as page addresses. */
struct segment {
    uint64_t begin, end;
};

/* Segments of the shared objects that were loaded after the first `skip` ones. */
struct segments {
    struct segment *items;
    size_t count, capacity;
    uint32_t skip, seen;
    bool failed;
};

static uint32_t objects_at_start;

static int count_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    ++*(uint32_t *)data;
    return 0;
}

void process_memory_begin(void)
{
    objects_at_start = 0;
    dl_iterate_phdr(count_object, &objects_at_start);
}

static void add_segment(struct segments *segments, uint64_t begin, uint64_t end)
{
    if (array_reserve(&segments->items, &segments->capacity, segments->count + 1, sizeof(*segments->items)))
        segments->items[segments->count++] = (struct segment){begin, end};
    else
        segments->failed = true;
}

/* Adds the segments of an object; the loader lists objects in load order. */
static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct segments *segments = data;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    (void)size;
    if (segments->seen++ < segments->skip)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const uint64_t begin = (uint64_t)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            add_segment(segments, begin / page * page, begin + info->dlpi_phdr[i].p_memsz);
    }
    return segments->failed;
}

static bool is_inside(const struct segments *segments, uint64_t address)
{
    for (size_t i = 0; i < segments->count; i++)
        if (address >= segments->items[i].begin && address < segments->items[i].end)
            return true;
    return false;
}

/* Parses the bytes of a line "NAME: 123 kB". */
static bool read_kilobytes(const char *line, const char *name, uint64_t *out_bytes)
{
    const size_t length = strlen(name);

    if (strncmp(line, name, length) != 0 || sscanf(line + length, "%" SCNu64 " kB", out_bytes) != 1)
        return false;
    *out_bytes *= 1024;
    return true;
}

static uint64_t read_peak(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    uint64_t bytes = UINT64_MAX;
    char line[256];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL && !read_kilobytes(line, "VmHWM:", &bytes))
        continue;
    if (file != NULL)
        fclose(file);
    return bytes;
}

/* Sums the resident bytes of mappings. A mapping begins with "BEGIN-END "; lines of a name, a colon and a number
 * belong to it. */
static uint64_t sum_resident(const struct segments *segments)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    uint64_t sum = 0, begin, end, bytes;
    bool counts = false;
    char *line = NULL;
    size_t size = 0;

    if (file == NULL)
        return UINT64_MAX;
    while (getline(&line, &size, file) > 0) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2)
            counts = is_inside(segments, begin);
        else if (counts && read_kilobytes(line, "Rss:", &bytes))
            sum += bytes;
    }
    free(line);
    fclose(file);
    return sum;
}

void process_memory_read(struct process_memory *out_memory)
{
    struct segments segments = {.skip = objects_at_start};

    dl_iterate_phdr(add_object, &segments);
    out_memory->peak = read_peak();
    out_memory->driver_libraries = segments.failed ? UINT64_MAX : sum_resident(&segments);
    free(segments.items);
}

uint64_t process_disk_read(void)
{
    FILE *file = fopen("/proc/self/io", "re");
    uint64_t bytes = UINT64_MAX;
    char line[128];

    while (file != NULL && bytes == UINT64_MAX && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "read_bytes:", 11) == 0)
            bytes = strtoull(line + 11, NULL, 10);
    if (file != NULL)
        fclose(file);
    return bytes;
}
