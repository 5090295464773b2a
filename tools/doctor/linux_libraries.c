/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds libraries the way the loader of this system would, without loading them: in LD_LIBRARY_PATH, the cache of
 * ldconfig and the default folders; in addition, in folders of a vendor that the loader does not search.
 *
 * The cache is a file of the C library: 20 bytes of magic "glibc-ld.so.cache1.1", the number of entries, the bytes of
 * its strings, 20 bytes more, then entries of 24 bytes (flags, offset of the name, offset of the path, the rest).
 * Offsets count from the magic. A table in the older format may precede it.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/checked.h"
#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "tools/doctor/gather.h"

#define CACHE_LIMIT ((size_t)64 << 20)
#define CACHE_HEADER ((size_t)48)
#define CACHE_ENTRY ((size_t)24)
#define ENTRY_NAME 4u /* offset of the name's offset in an entry */
#define ENTRY_PATH 8u
#define SUFFIX ".so."

/* Reads class and machine of an ELF file; false if the file is no ELF file. */
static bool read_kind(const char *path, unsigned char *out_class, uint16_t *out_machine)
{
    unsigned char head[offsetof(Elf64_Ehdr, e_machine) + sizeof(uint16_t)]; /* the fields up to e_machine are equal
                                                                             * in both classes */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool read_all = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head);
    if (fd >= 0)
        close(fd);
    if (!read_all || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    *out_class = head[EI_CLASS];
    memcpy(out_machine, head + offsetof(Elf64_Ehdr, e_machine), sizeof(*out_machine));
    return true;
}

/* Returns whether a library has the class and machine of this process: the cache also lists libraries for other
 * processors and word sizes. */
static bool fits_us(const char *path)
{
    unsigned char ours_class, its_class;
    uint16_t ours, its;
    return read_kind(path, &its_class, &its) && read_kind("/proc/self/exe", &ours_class, &ours) &&
           its_class == ours_class && its == ours;
}

/* Keeps the newest of the files that fit, since a pattern may match several versions. */
static void offer(char **best, const char *path)
{
    char *copy;
    if (!fits_us(path) || (*best && strverscmp(path, *best) <= 0))
        return;
    copy = strdup(path);
    if (copy == NULL)
        return;
    free(*best);
    *best = copy;
}

static uint32_t word_at(const char *data, size_t offset)
{
    uint32_t word;
    memcpy(&word, data + offset, sizeof(word));
    return word;
}

/* Returns a string of the cache that ends inside of it, or NULL. */
static const char *string_at(const char *data, size_t bytes, uint32_t offset)
{
    return offset < bytes && memchr(data + offset, 0, bytes - offset) ? data + offset : NULL;
}

static void search_cache(const char *pattern, char **best)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    char *file = NULL;
    const char *data;
    size_t bytes = 0;
    if (accel_file_read("/etc/ld.so.cache", CACHE_LIMIT, &file, &bytes, NULL) != ACCEL_OK)
        return;
    data = memmem(file, bytes, magic, sizeof(magic) - 1);
    bytes = data ? bytes - (size_t)(data - file) : 0;
    if (bytes >= CACHE_HEADER) {
        uint32_t count = word_at(data, sizeof(magic) - 1);
        for (uint32_t i = 0; i < count && accel_within_u64(CACHE_HEADER + i * CACHE_ENTRY, CACHE_ENTRY, bytes); i++) {
            const char *entry = data + CACHE_HEADER + i * CACHE_ENTRY;
            const char *name = string_at(data, bytes, word_at(entry, ENTRY_NAME));
            const char *path = string_at(data, bytes, word_at(entry, ENTRY_PATH));
            if (name && path && fnmatch(pattern, name, 0) == 0)
                offer(best, path);
        }
    }
    free(file);
}

static void search_folder(const char *folder, size_t length, const char *pattern, char **best)
{
    struct accel_strbuf path = {0};
    glob_t found = {0};
    accel_strbuf_printf(&path, "%.*s/%s", (int)length, folder, pattern);
    if (length > 0 && folder[0] == '/' && !path.failed && glob(path.text, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            offer(best, found.gl_pathv[i]);
    globfree(&found);
    accel_strbuf_free(&path);
}

/* Searches a list of folders separated by ':'. */
static void search_list(const char *list, const char *pattern, char **best)
{
    for (const char *at = list; at && *best == NULL;) {
        size_t length = strcspn(at, ":;");
        search_folder(at, length, pattern, best);
        at = at[length] != '\0' ? at + length + 1 : NULL;
    }
}

/* Returns "535.104.05" of "/usr/lib/libexample.so.535.104.05"; empty if nothing follows ".so". */
static const char *version_of(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *suffix = name ? strstr(name, SUFFIX) : NULL;
    return suffix ? suffix + sizeof(SUFFIX) - 1 : "";
}

void accel_doctor_gather_library(struct accel_evidence *evidence, const char *pattern,
                                 const struct accel_doctor_words *folders)
{
    static const char *const defaults[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
    struct accel_evidence_item *item = accel_evidence_add(evidence, "library", pattern);
    char *best = NULL;
    char real[PATH_MAX];
    bool by_loader;
    search_list(accel_env_get("LD_LIBRARY_PATH", NULL), pattern, &best);
    if (best == NULL)
        search_cache(pattern, &best);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]) && best == NULL; i++)
        search_folder(defaults[i], strlen(defaults[i]), pattern, &best);
    by_loader = best != NULL;
    for (uint32_t i = 0; i < folders->count && best == NULL; i++)
        search_folder(folders->items[i], strlen(folders->items[i]), pattern, &best);
    accel_evidence_flag(evidence, item, "found", best != NULL);
    if (best) {
        accel_evidence_put(evidence, item, "path", best);
        accel_evidence_flag(evidence, item, "loader", by_loader);
        if (realpath(best, real))
            accel_evidence_put(evidence, item, "version", version_of(real));
    }
    free(best);
}
