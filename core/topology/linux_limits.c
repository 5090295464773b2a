/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on Linux: control groups of both versions, /proc/meminfo, /proc/thread-self/status. A group is limited by
 * itself and by each of its parents, so every level up to the mount point is read. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/topology/limits.h"

#define FILE_LIMIT ((size_t)1 << 20)

/* Version 1 reports "no limit" as the largest number of whole pages. */
#define NO_LIMIT ((uint64_t)1 << 60)

struct reader {
    const char *root;
    struct accel_arena *arena;
    struct accel_host_limits *limits;
    bool no_memory;
};

/* Files of one version of control groups; NULL if the version lacks the file. */
struct memory_files {
    const char *limits[3];
    const char *used;
    const char *cache_key; /* key in memory.stat of pages that the system drops on demand */
};

static const struct memory_files memory_v2 = {{"memory.max", "memory.high", NULL}, "memory.current", "inactive_file"};
static const struct memory_files memory_v1 = {
    {"memory.limit_in_bytes", NULL, NULL}, "memory.usage_in_bytes", "total_inactive_file"};

/* Reads the text of a file in a folder below the root, or returns NULL. The caller frees it. */
static char *read_text(const struct reader *reader, const char *folder, const char *name)
{
    struct accel_strbuf path = {0};
    char *text = NULL;
    accel_strbuf_printf(&path, "%s%s/%s", reader->root, strcmp(folder, "/") ? folder : "", name);
    if (!path.failed)
        accel_file_read(path.text, FILE_LIMIT, &text, NULL, NULL);
    accel_strbuf_free(&path);
    return text;
}

static const char *copy_origin(struct reader *reader, const char *folder, const char *name)
{
    struct accel_strbuf path = {0};
    const char *origin = NULL;
    accel_strbuf_printf(&path, "%s/%s", folder, name);
    if (!path.failed)
        origin = accel_arena_strdup(reader->arena, path.text);
    if (origin == NULL)
        reader->no_memory = true;
    accel_strbuf_free(&path);
    return origin;
}

/* Parses a decimal number and white space; "max" and negative numbers, which mean no limit, are rejected. */
static bool parse_number(const char *text, uint64_t *out_value)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *out_value = strtoull(text, &end, 10);
    return errno == 0 && (*end == '\0' || *end == '\n' || *end == ' ');
}

/* Parses the number after "key" at the start of a line, as in memory.stat and meminfo. */
static bool find_number(const char *text, const char *key, uint64_t *out_value)
{
    size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, length) != 0 || (line[length] != ' ' && line[length] != ':'))
            continue;
        line += length + strspn(line + length, ": \t");
        return parse_number(line, out_value);
    }
    return false;
}

static bool read_number(const struct reader *reader, const char *folder, const char *name, uint64_t *out_value)
{
    char *text = read_text(reader, folder, name);
    bool found = parse_number(text, out_value);
    free(text);
    return found;
}

/* Stores the quota if it allows fewer processors: a/b < c/d without rounding. */
static void offer_quota(struct reader *reader, uint64_t quota, uint64_t period, const char *folder, const char *name)
{
    struct accel_cpu_quota *best = &reader->limits->cpu;
    const uint64_t largest = UINT32_MAX;
    if (quota == 0 || period == 0 || quota > largest || period > largest)
        return;
    if (best->origin && quota * best->period >= best->quota * period)
        return;
    best->quota = quota;
    best->period = period;
    best->origin = copy_origin(reader, folder, name);
}

static void read_quota_v2(struct reader *reader, const char *folder)
{
    char *text = read_text(reader, folder, "cpu.max");
    uint64_t quota, period;
    if (parse_number(text, &quota) && strchr(text, ' ') && parse_number(strchr(text, ' ') + 1, &period))
        offer_quota(reader, quota, period, folder, "cpu.max");
    free(text);
}

static void read_quota_v1(struct reader *reader, const char *folder)
{
    uint64_t quota, period;
    if (read_number(reader, folder, "cpu.cfs_quota_us", &quota) &&
        read_number(reader, folder, "cpu.cfs_period_us", &period))
        offer_quota(reader, quota, period, folder, "cpu.cfs_quota_us");
}

/* Returns the bytes counted against the limit, without those that the system would reclaim first. */
static uint64_t memory_used(const struct reader *reader, const char *folder, const struct memory_files *files)
{
    uint64_t used, cache;
    char *stat = read_text(reader, folder, "memory.stat");
    if (!find_number(stat, files->cache_key, &cache))
        cache = 0;
    free(stat);
    return read_number(reader, folder, files->used, &used) && used > cache ? used - cache : 0;
}

static void read_memory(struct reader *reader, const char *folder, const struct memory_files *files)
{
    struct accel_amount *limit = &reader->limits->memory_limit;
    struct accel_amount *headroom = &reader->limits->memory_headroom;
    for (uint32_t i = 0; files->limits[i]; i++) {
        uint64_t bytes, used, left;
        if (!read_number(reader, folder, files->limits[i], &bytes) || bytes >= NO_LIMIT)
            continue;
        used = memory_used(reader, folder, files);
        left = bytes > used ? bytes - used : 0;
        if (limit->origin == NULL || bytes < limit->bytes)
            *limit = (struct accel_amount){bytes, copy_origin(reader, folder, files->limits[i])};
        if (headroom->origin == NULL || left < headroom->bytes)
            *headroom = (struct accel_amount){left, copy_origin(reader, folder, files->limits[i])};
    }
}

static void read_memory_v1(struct reader *reader, const char *folder)
{
    read_memory(reader, folder, &memory_v1);
}

static void read_v2(struct reader *reader, const char *folder)
{
    read_quota_v2(reader, folder);
    read_memory(reader, folder, &memory_v2);
}

/* Returns whether a list such as "cpu,cpuacct" contains the word. */
static bool list_has(const char *list, size_t bytes, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = 0; at <= bytes;) {
        const char *comma = memchr(list + at, ',', bytes - at);
        size_t part = comma ? (size_t)(comma - list) - at : bytes - at;
        if (part == length && memcmp(list + at, word, length) == 0)
            return true;
        at += part + 1;
    }
    return false;
}

/* Finds the path of this process in one hierarchy: line "number:controllers:path" of /proc/self/cgroup. Version 2
 * has number 0 and no controllers (`controller` NULL). The caller frees it. */
static char *group_path(const char *groups, const char *controller)
{
    for (const char *line = groups; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        size_t bytes = strcspn(line, "\n");
        const char *first = memchr(line, ':', bytes);
        const char *second = first ? memchr(first + 1, ':', bytes - (size_t)(first + 1 - line)) : NULL;
        size_t names;
        if (second == NULL)
            continue;
        names = (size_t)(second - first - 1);
        if (controller ? !list_has(first + 1, names, controller) : names != 0)
            continue;
        return strndup(second + 1, bytes - (size_t)(second + 1 - line));
    }
    return NULL;
}

/* Decodes white space and backslashes in paths of mountinfo, which are octal escapes of three characters. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* One mount of a control group hierarchy. */
struct mount {
    char *root;  /* folder of the hierarchy that is mounted */
    char *point; /* mount point */
};

/* Parses a line "id parent major:minor root point options [optional fields] - type source super-options". Returns
 * whether it is the requested hierarchy. */
static bool parse_mount(const char *line, size_t bytes, const char *controller, struct mount *out_mount)
{
    char *copy = strndup(line, bytes);
    char *dash = copy ? strstr(copy, " - ") : NULL;
    char *fields[5] = {0};
    const char *options;
    char *type, *next = copy;
    bool found = false;
    for (uint32_t i = 0; dash && i < 5; i++)
        fields[i] = strsep(&next, " ");
    if (dash && fields[4] && next && next < dash) {
        next = dash + 3;
        type = strsep(&next, " ");
        strsep(&next, " ");
        options = next ? next : "";
        found = controller ? strcmp(type, "cgroup") == 0 && list_has(options, strlen(options), controller)
                           : strcmp(type, "cgroup2") == 0;
    }
    if (found) {
        unescape(fields[3]);
        unescape(fields[4]);
        out_mount->root = strdup(fields[3]);
        out_mount->point = strdup(fields[4]);
    }
    free(copy);
    return found;
}

static bool find_mount(const char *mounts, const char *controller, struct mount *out_mount)
{
    for (const char *line = mounts; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (parse_mount(line, strcspn(line, "\n"), controller, out_mount))
            return out_mount->root && out_mount->point;
    return false;
}

/* Returns the folder of the group under the mount point. In a container the mount may start at the group itself,
 * and the path may lie outside of the mount ("/../..."); then only the mount point is visible. */
static char *group_folder(const struct mount *mount, const char *path)
{
    struct accel_strbuf folder = {0};
    size_t root = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
    bool inside = strncmp(path, mount->root, root) == 0 && (path[root] == '/' || path[root] == '\0');
    accel_strbuf_text(&folder, mount->point);
    if (inside && strstr(path, "/..") == NULL && strcmp(path + root, "/") != 0)
        accel_strbuf_text(&folder, path + root);
    return accel_strbuf_detach(&folder);
}

static void walk(struct reader *reader, const char *groups, const char *mounts, const char *controller,
                 void (*visit)(struct reader *reader, const char *folder))
{
    struct mount mount = {0};
    char *path = group_path(groups, controller);
    char *folder = NULL;
    if (path && find_mount(mounts, controller, &mount))
        folder = group_folder(&mount, path);
    while (folder) {
        char *slash = strrchr(folder, '/');
        visit(reader, folder);
        if (strlen(folder) <= strlen(mount.point) || slash == NULL)
            break;
        *slash = '\0';
    }
    free(folder);
    free(path);
    free(mount.root);
    free(mount.point);
}

static void read_groups(struct reader *reader)
{
    char *groups = read_text(reader, "/proc/self", "cgroup");
    char *mounts = read_text(reader, "/proc/self", "mountinfo");
    if (groups && mounts) {
        walk(reader, groups, mounts, NULL, read_v2);
        walk(reader, groups, mounts, "cpu", read_quota_v1);
        walk(reader, groups, mounts, "memory", read_memory_v1);
    }
    free(groups);
    free(mounts);
}

static void read_meminfo(struct reader *reader)
{
    char *text = read_text(reader, "/proc", "meminfo");
    uint64_t kib;
    if (text && find_number(text, "MemTotal", &kib) && kib < NO_LIMIT / 1024)
        reader->limits->memory_total = (struct accel_amount){kib * 1024, "/proc/meminfo MemTotal"};
    if (text && find_number(text, "MemAvailable", &kib) && kib < NO_LIMIT / 1024)
        reader->limits->memory_available = (struct accel_amount){kib * 1024, "/proc/meminfo MemAvailable"};
    free(text);
}

/* Reads the affinity of the calling thread, since taskset and similar tools bind threads. Kernels before 3.17
 * report that of the process only. */
static void read_affinity(struct reader *reader)
{
    static const char key[] = "Cpus_allowed_list:";
    const char *origin = "/proc/thread-self/status Cpus_allowed_list";
    char *text = read_text(reader, "/proc/thread-self", "status");
    char *line;
    if (text == NULL) {
        origin = "/proc/self/status Cpus_allowed_list";
        text = read_text(reader, "/proc/self", "status");
    }
    line = text ? strstr(text, key) : NULL;
    if (line) {
        line += strlen(key);
        line += strspn(line, " \t");
        reader->limits->cpus = accel_arena_strndup(reader->arena, line, strcspn(line, "\n"));
        reader->limits->cpus_origin = origin;
        reader->no_memory = reader->no_memory || reader->limits->cpus == NULL;
    }
    free(text);
}

/* Lowers the known free memory to the rest of `limit` after `used`. */
static void offer_headroom(struct reader *reader, rlim_t limit, uint64_t used, const char *origin)
{
    struct accel_amount *headroom = &reader->limits->memory_headroom;
    uint64_t bytes = limit > used ? (uint64_t)limit - used : 0;
    if (limit == RLIM_INFINITY || (headroom->origin && headroom->bytes <= bytes))
        return;
    /* Reports one byte if nothing is left: zero would mean unknown. */
    *headroom = (struct accel_amount){bytes ? bytes : 1, origin};
}

/* Reads limits of the process itself, on the live system only: a recorded root belongs to another one. */
static void read_process(struct reader *reader)
{
    const char *as = "RLIMIT_AS (ulimit -v), minus the use of the process";
    const char *data = "RLIMIT_DATA (ulimit -d), minus the use of the process";
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long size = 0, heap = 0;
    struct rlimit limit;
    char *text;
    if (reader->root[0] != '\0')
        return;
    text = read_text(reader, "/proc/self", "statm");
    if (text && sscanf(text, "%llu %*u %*u %*u %*u %llu", &size, &heap) != 2)
        size = heap = 0;
    free(text);
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        offer_headroom(reader, limit.rlim_cur, size * page, as);
    if (getrlimit(RLIMIT_DATA, &limit) == 0)
        offer_headroom(reader, limit.rlim_cur, heap * page, data);
}

int32_t accel_limits_read(const char *root, struct accel_arena *arena, struct accel_host_limits *out_limits,
                          struct accel_error *error)
{
    struct reader reader = {.root = root, .arena = arena, .limits = out_limits};
    memset(out_limits, 0, sizeof(*out_limits));
    read_groups(&reader);
    read_meminfo(&reader);
    read_affinity(&reader);
    read_process(&reader);
    if (reader.no_memory)
        return accel_error_set(error, ACCEL_E_MEMORY, "out of memory while reading the limits of the process");
    return ACCEL_OK;
}
