/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"

#define PREFIX "attaching."
/* Beyond these something makes marks that is no discovery. */
#define MOST_MARKS 64u
/* After these seconds a mark of elsewhere is in nobody's use. */
#define OLD_SECONDS (24u * 60u * 60u)

/* A process that may not write files of this size would be ended by a signal if it tried. */
static bool may_write(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

/* Where this process is known by its number: another boot, host or container counts its own. Never 0. */
static uint64_t this_place(void)
{
    char text[256];
    uint64_t sum = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    sum = accel_hash64(text, got > 0 ? (size_t)got : 0, sum);
    got = readlink("/proc/self/ns/pid", text, sizeof(text));
    sum = accel_hash64(text, got > 0 ? (size_t)got : 0, sum);
    if (gethostname(text, sizeof(text)) == 0)
        sum = accel_hash64(text, strnlen(text, sizeof(text)), sum);
    return sum == 0 ? 1 : sum;
}

/* When a process began, in ticks after the boot; 0 where that is not known. */
static uint64_t begin_of(long process)
{
    char name[64], text[1024];
    char *at;
    int fd;
    ssize_t got;
    snprintf(name, sizeof(name), "/proc/%ld/stat", process);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    /* The name of the program, in brackets, may have spaces and brackets; after it comes the third field of 22. */
    at = strrchr(text, ')');
    for (uint32_t field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

/* Written, not only made longer: a mapped page that finds no room on the disk would be a bus error. */
static struct accel_mark_page *map_new(int fd)
{
    struct accel_mark_page *page = calloc(1, sizeof(*page));
    if (page != NULL) {
        page->place = this_place();
        page->begun = begin_of((long)getpid());
    }
    bool wrote = page != NULL && write(fd, page, sizeof(*page)) == (ssize_t)sizeof(*page);
    free(page);
    page = wrote ? mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    return page == MAP_FAILED ? NULL : page;
}

static void open_mark(struct accel_mark *mark, const char *folder)
{
    char name[64];
    int fd;
    snprintf(name, sizeof(name), PREFIX "%ld.XXXXXX", (long)getpid());
    if (!may_write(sizeof(*mark->page)) || accel_file_make_folders(folder, 0700, NULL) != ACCEL_OK)
        return;
    mark->file = accel_file_join(folder, name);
    fd = mark->file == NULL ? -1 : mkostemp(mark->file, O_CLOEXEC);
    if (fd < 0) {
        free(mark->file);
        mark->file = NULL;
        return;
    }
    mark->page = map_new(fd);
    close(fd);
    if (mark->page == NULL)
        accel_mark_close(mark);
}

static uint64_t this_thread(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

/* The owner of a mark that says nothing any more: no thread's address. */
#define NOBODY_EVER UINT64_MAX

void accel_mark_set(struct accel_mark *mark, const char *folder, const char *path, const char *slot)
{
    uint64_t nobody = 0;
    if (folder == NULL || !atomic_compare_exchange_strong(&mark->owner, &nobody, this_thread()))
        return;
    if (mark->page == NULL)
        open_mark(mark, folder);
    if (mark->page == NULL || strlen(path) >= sizeof(mark->page->path))
        return;
    memcpy(mark->page->path, path, strlen(path) + 1);
    mark->page->since = (uint64_t)time(NULL);
    snprintf(mark->page->slot, sizeof(mark->page->slot), "%s", slot);
    /* A handler in another thread may have unmarked it meanwhile. */
    if (atomic_load(&mark->owner) == NOBODY_EVER)
        mark->page->slot[0] = '\0';
    /* Whoever ends this process reads nothing back: without this the writes might be left out. */
    atomic_signal_fence(memory_order_seq_cst);
}

void accel_mark_clear(struct accel_mark *mark)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load(&mark->owner) != this_thread())
        return;
    if (mark->page != NULL)
        mark->page->slot[0] = '\0';
    atomic_store(&mark->owner, 0);
}

void accel_mark_forget(struct accel_mark *mark)
{
    /* From here on no thread sets it, and none takes the page away. */
    atomic_store(&mark->owner, NOBODY_EVER);
    atomic_signal_fence(memory_order_seq_cst);
    if (mark->page != NULL)
        mark->page->slot[0] = '\0';
}

void accel_mark_close(struct accel_mark *mark)
{
    if (mark->page != NULL)
        munmap(mark->page, sizeof(*mark->page));
    if (mark->file != NULL)
        unlink(mark->file);
    free(mark->file);
    mark->page = NULL;
    mark->file = NULL;
}

void accel_mark_rest(struct accel_mark *mark)
{
    uint64_t nobody = 0;
    if (!atomic_compare_exchange_strong(&mark->owner, &nobody, this_thread()))
        return;
    accel_mark_close(mark);
    atomic_store(&mark->owner, 0);
}

/* ---- what others left ---- */

static bool read_page(const char *file, struct accel_mark_page *page)
{
    struct stat facts;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
                facts.st_size == (off_t)sizeof(*page) && read(fd, page, sizeof(*page)) == (ssize_t)sizeof(*page) &&
                memchr(page->slot, '\0', sizeof(page->slot)) != NULL &&
                memchr(page->path, '\0', sizeof(page->path)) != NULL;
    if (fd >= 0)
        close(fd);
    return good;
}

/* Slots that are called before a device is opened, and take no time of their own. */
static bool is_early(const char *slot)
{
    return strcmp(slot, ACCEL_MARK_LOADING) == 0 || strcmp(slot, "attach") == 0 || strcmp(slot, "enumerate") == 0;
}

/* False where another process has the number by now, too. */
static bool is_alive(long process, const struct accel_mark_page *page)
{
    uint64_t begun;
    if (process == (long)getpid())
        return true;
    if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
        return false;
    begun = begin_of(process);
    return begun == 0 || page->begun == 0 || begun == page->begun;
}

/* Of elsewhere, or no mark at all. */
static void take_old(const char *file, uint64_t now)
{
    struct stat facts;
    if (lstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && (uint64_t)facts.st_mtime + OLD_SECONDS < now)
        unlink(file);
}

/* True when the file is a mark of `place` that says something; one whose process has ended is taken away. */
static bool judge(const char *file, uint64_t place, long process, uint32_t milliseconds, struct accel_mark_page *page)
{
    uint64_t now = (uint64_t)time(NULL);
    bool ended;
    if (!read_page(file, page) || page->place != place) {
        take_old(file, now);
        return false;
    }
    ended = !is_alive(process, page);
    if (ended)
        unlink(file);
    if (page->slot[0] == '\0')
        return false;
    return ended || (is_early(page->slot) && now > page->since + 1 + milliseconds / 1000);
}

static bool keep(struct accel_arena *arena, const struct accel_mark_page *page, struct accel_mark_left *left)
{
    left->path = accel_arena_strdup(arena, page->path);
    left->slot = accel_arena_strdup(arena, page->slot);
    left->early = is_early(page->slot);
    return left->path != NULL && left->slot != NULL;
}

uint32_t accel_mark_collect(const char *folder, uint32_t milliseconds, struct accel_arena *arena,
                            struct accel_mark_left **out_list)
{
    DIR *entries = opendir(folder);
    struct accel_mark_page page;
    struct dirent *entry;
    uint32_t count = 0;
    uint64_t place = 0;
    *out_list = NULL;
    while (entries != NULL && count < MOST_MARKS && (entry = readdir(entries)) != NULL) {
        long process;
        char *file;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        if (place == 0)
            place = this_place();
        process = strtol(entry->d_name + strlen(PREFIX), NULL, 10);
        file = accel_file_join(folder, entry->d_name);
        if (process > 0 && file != NULL && judge(file, place, process, milliseconds, &page)) {
            if (*out_list == NULL)
                *out_list = accel_arena_array(arena, MOST_MARKS, sizeof(**out_list));
            if (*out_list != NULL && keep(arena, &page, &(*out_list)[count]))
                count++;
        }
        free(file);
    }
    if (entries != NULL)
        closedir(entries);
    return count;
}
