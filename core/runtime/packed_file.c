/* SPDX-License-Identifier: Apache-2.0 */
/* A file of packed weights: a header of one page, then the driver's bytes. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/boundary/import.h"
#include "core/registry/call_guard.h"
#include "core/runtime/device.h"
#include "core/runtime/packed.h"

#define PIECE (UINT64_C(4) << 20) /* bytes hashed or written per step */
#define VERSION_OF_FILE 1u

struct header {
    char magic[8];
    uint32_t version;
    uint32_t zero;
    struct accel_hash128 key;        /* key of the file name: rejects a renamed file */
    uint64_t bytes;                  /* bytes after the header */
    struct accel_hash128 content;    /* hash of the hashes of all pieces */
    char label[ACCEL_WEIGHTS_LABEL]; /* for people; zeros in files without one */
    char rest[ACCEL_PACKED_HEADER - 64 - ACCEL_WEIGHTS_LABEL];
    uint64_t check; /* hash of all members before it */
};

_Static_assert(sizeof(struct header) == ACCEL_PACKED_HEADER, "the bytes after the header begin at a page");

static const char magic[8] = {'a', 'c', 'c', 'e', 'l', 'w', '1', '\n'};

/* Copies a label, cut at a whole UTF-8 character. */
static void copy_label(char out_label[ACCEL_WEIGHTS_LABEL], const char *label)
{
    size_t length = label == NULL ? 0 : strnlen(label, ACCEL_WEIGHTS_LABEL);
    if (length == ACCEL_WEIGHTS_LABEL)
        for (length--; length > 0 && ((unsigned char)label[length] & 0xc0u) == 0x80u;)
            length--;
    if (length != 0)
        memcpy(out_label, label, length);
    out_label[length] = '\0';
}

static void fill_header(struct header *head, const struct accel_packed_place *place, const char *label, uint64_t bytes,
                        struct accel_hash128 content)
{
    memset(head, 0, sizeof(*head));
    memcpy(head->magic, magic, sizeof(magic));
    head->version = VERSION_OF_FILE;
    head->key = place->key;
    head->bytes = bytes;
    head->content = content;
    copy_label(head->label, label);
    head->check = accel_hash64(head, offsetof(struct header, check), 0);
}

static int32_t fail(const struct accel_packed_place *place, const char *what, int native, struct accel_error *error)
{
    char reason[128];
    return accel_error_native(error, ACCEL_FROM_SYSTEM, accel_file_code(native), native, "%s/%s: cannot %s: %s",
                              place->folder, place->name, what, strerror_r(native, reason, sizeof(reason)));
}

static int32_t refuse(const struct accel_packed_place *place, int32_t code, const char *what, struct accel_error *error)
{
    return accel_error_set(error, code, "%s/%s: %s", place->folder, place->name, what);
}

static int32_t refuse_size(const struct accel_packed_place *place, struct accel_error *error)
{
    return accel_error_native(error, ACCEL_FROM_SYSTEM, ACCEL_E_LIMIT, EFBIG, "%s/%s: would exceed the file size limit",
                              place->folder, place->name);
}

/* ---- hashing ---- */

/* Pieces divided over threads; each thread hashes consecutive pieces, which the system reads ahead. */
struct hashing {
    const char *bytes;
    uint64_t count;
    uint64_t *hashes;
    const struct accel_task *task;
    bool once; /* the pages are not read again after this */
    atomic_int code;
};

/* Faults the pages in first: a read error is returned and raises no signal. */
static int32_t populate(const char *memory, uint64_t bytes)
{
#if defined(MADV_POPULATE_READ)
    if (madvise((void *)(uintptr_t)memory, bytes, MADV_POPULATE_READ) != 0 && (errno == EFAULT || errno == EHWPOISON))
        return ACCEL_E_IO;
#else
    (void)memory, (void)bytes;
#endif
    return ACCEL_OK;
}

static void hash_share(void *argument, uint32_t thread, uint32_t threads)
{
    struct hashing *h = argument;
    const uint64_t pieces = (h->count + PIECE - 1) / PIECE;
    const uint64_t begin = pieces * thread / threads, end = pieces * (thread + 1) / threads;
    for (uint64_t i = begin; i < end && atomic_load(&h->code) == ACCEL_OK; i++) {
        const char *piece = h->bytes + i * PIECE;
        const uint64_t left = h->count - i * PIECE, bytes = left < PIECE ? left : PIECE;
        if (populate(piece, bytes) != ACCEL_OK)
            atomic_store(&h->code, ACCEL_E_IO);
        else
            h->hashes[i] = accel_hash64(piece, (size_t)bytes, i);
        if (h->once)
            (void)madvise((void *)(uintptr_t)piece, (size_t)bytes, MADV_DONTNEED);
        if (thread == 0 && h->task->progress(h->task, i + 1, pieces) != ACCEL_OK)
            atomic_store(&h->code, ACCEL_E_CANCELLED);
    }
}

static int32_t hash_all(const struct accel_packed_place *place, const char *bytes, uint64_t count, bool once,
                        const struct accel_task *task, struct accel_hash128 *out_hash, struct accel_error *error)
{
    const uint64_t pieces = (count + PIECE - 1) / PIECE;
    struct hashing h = {.bytes = bytes, .count = count, .task = task, .once = once};
    int32_t code = ACCEL_OK;
    h.hashes = calloc((size_t)pieces + 1, sizeof(*h.hashes));
    if (h.hashes == NULL)
        return refuse(place, ACCEL_E_MEMORY, "no memory for its hashes", error);
    atomic_init(&h.code, ACCEL_OK);
    if (pieces > 1 && task->team->threads > 1)
        code = task->team->run(task->team, task->team->threads, hash_share, &h, error);
    else
        hash_share(&h, 0, 1);
    if (code == ACCEL_OK)
        *out_hash = accel_hash128(h.hashes, (size_t)pieces * sizeof(*h.hashes), count);
    free(h.hashes);
    if (code != ACCEL_OK || (code = atomic_load(&h.code)) == ACCEL_OK)
        return code;
    return code == ACCEL_E_CANCELLED ? accel_error_set(error, code, "hashing packed weights was cancelled")
                                     : refuse(place, code, "cannot be read", error);
}

/* ---- reading ---- */

/* Opens the folder, not through a symbolic link, if no other user may write it: a descriptor, or -1 with errno. */
static int open_folder(const char *path)
{
    struct stat facts;
    int folder = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
    if (folder < 0)
        return -1;
    if (fstat(folder, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return folder;
    close(folder);
    errno = EPERM;
    return -1;
}

static int32_t check_attributes(const struct accel_packed_place *place, const struct stat *facts,
                                struct accel_error *error)
{
    if (!S_ISREG(facts->st_mode))
        return refuse(place, ACCEL_E_DENIED, "is no regular file", error);
    if (facts->st_uid != geteuid() || (facts->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse(place, ACCEL_E_DENIED, "belongs to another user, or others may write it", error);
    if (facts->st_size <= (off_t)ACCEL_PACKED_HEADER)
        return refuse(place, ACCEL_E_CORRUPT, "is damaged: too short", error);
    return ACCEL_OK;
}

/* Reads the header and checks it against the size of the file. */
static bool read_header(int file, const struct stat *facts, struct header *out_head)
{
    return pread(file, out_head, sizeof(*out_head), 0) == (ssize_t)sizeof(*out_head) &&
           memcmp(out_head->magic, magic, sizeof(magic)) == 0 &&
           out_head->check == accel_hash64(out_head, offsetof(struct header, check), 0) &&
           out_head->bytes == (uint64_t)facts->st_size - sizeof(*out_head);
}

static int32_t map_open(int file, const struct accel_packed_place *place, struct accel_packed *out_packed,
                        struct accel_error *error)
{
    struct stat facts;
    struct header head;
    void *memory;
    int32_t code;
    if (fstat(file, &facts) != 0)
        return fail(place, "inspect it", errno, error);
    code = check_attributes(place, &facts, error);
    if (code != ACCEL_OK)
        return code;
    if (!read_header(file, &facts, &head))
        return refuse(place, ACCEL_E_CORRUPT, "is damaged: its header is wrong", error);
    if (head.version != VERSION_OF_FILE || memcmp(&head.key, &place->key, sizeof(head.key)) != 0)
        return refuse(place, ACCEL_E_CORRUPT, "belongs to other weights or another version", error);
    memory = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return fail(place, "map it", errno, error);
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, (size_t)facts.st_size, MADV_HUGEPAGE);
#endif
    *out_packed = (struct accel_packed){memory, (uint64_t)facts.st_size};
    return ACCEL_OK;
}

static int32_t check_content(const struct accel_packed_place *place, const struct accel_packed *packed,
                             const struct accel_task *task, struct accel_error *error)
{
    const struct header *head = packed->memory;
    const uint64_t bytes = accel_packed_weights(packed);
    struct accel_hash128 content;
    int32_t code = populate(packed->memory, sizeof(*head));
    if (code != ACCEL_OK)
        return refuse(place, code, "cannot be read", error);
    code = hash_all(place, (const char *)(head + 1), bytes, false, task, &content, error);
    if (code == ACCEL_OK && memcmp(&content, &head->content, sizeof(content)) != 0)
        code = refuse(place, ACCEL_E_CORRUPT, "is damaged: its bytes have another hash", error);
    return code;
}

int32_t accel_packed_map(const struct accel_packed_place *place, const struct accel_task *task,
                         struct accel_packed *out_packed, struct accel_error *error)
{
    /* Most systems do not update the access time, the last use, on their own. */
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    struct accel_packed packed = {0};
    int folder = open_folder(place->folder), file;
    int32_t code;
    *out_packed = packed;
    if (folder < 0)
        return fail(place, "open its folder", errno, error);
    file = openat(folder, place->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    close(folder);
    if (file < 0)
        return fail(place, "open it", errno, error);
    code = map_open(file, place, &packed, error);
    if (code == ACCEL_OK)
        code = check_content(place, &packed, task, error);
    if (code == ACCEL_OK) {
        (void)futimens(file, times);
        *out_packed = packed;
    } else {
        accel_packed_unmap(&packed);
    }
    close(file);
    return code;
}

void accel_packed_unmap(struct accel_packed *packed)
{
    if (packed->memory != NULL)
        munmap(packed->memory, (size_t)packed->bytes);
    *packed = (struct accel_packed){0};
}

int32_t accel_weights_label_read(const char *path, char out_label[ACCEL_WEIGHTS_LABEL],
                                 struct accel_error *error) ACCEL_NOEXCEPT
{
    struct stat facts;
    struct header head;
    char reason[128];
    int32_t code = ACCEL_OK;
    int file;
    if (path == NULL || out_label == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: an argument is NULL", __func__);
    file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    out_label[0] = '\0';
    if (file < 0)
        return accel_error_by(error, ACCEL_FROM_FILE, accel_file_code(errno), "%s: cannot open: %s", path,
                              strerror_r(errno, reason, sizeof(reason)));
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
        code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED, "%s: is no regular file", path);
    else if (!read_header(file, &facts, &head) || head.version != VERSION_OF_FILE)
        code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT, "%s: has no header of packed weights", path);
    else if (memchr(head.label, '\0', sizeof(head.label)) != NULL)
        memcpy(out_label, head.label, sizeof(head.label));
    close(file);
    return code;
}

/* ---- writing ---- */

/* Receives the bytes that the driver writes. */
struct output {
    struct accel_blob_writer writer; /* first: the driver passes its address back */
    struct accel_weights *weights;
    const struct accel_packed_place *place; /* of the caller */
    const char *label;                      /* of the caller; or NULL */
    const struct accel_task *task;
    uint64_t expected, done, most; /* in bytes; `most` is the file size limit */
    int file;
    int32_t code; /* error of the core's writer, stored since the driver may ignore it */
};

static int32_t write_piece(struct output *out, const char *bytes, uint64_t count, struct accel_error *error)
{
    while (count > 0) {
        ssize_t wrote = write(out->file, bytes, (size_t)count);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return fail(out->place, "write it", wrote < 0 ? errno : ENOSPC, error);
        bytes += wrote;
        count -= (uint64_t)wrote;
        out->done += (uint64_t)wrote;
    }
    return ACCEL_OK;
}

static int32_t write_bytes(const struct accel_blob_writer *face, const void *bytes, uint64_t count,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct output *out = (struct output *)(uintptr_t)face;
    const char *at = bytes;
    if (out->code == ACCEL_OK && count > out->most - out->done)
        out->code = refuse_size(out->place, error);
    while (count > 0 && out->code == ACCEL_OK) {
        const uint64_t piece = count < PIECE ? count : PIECE;
        out->code = write_piece(out, at, piece, error);
        at += piece;
        count -= piece;
        if (out->task->progress(out->task, out->done < out->expected ? out->done : out->expected, out->expected) !=
            ACCEL_OK)
            out->code = accel_error_set(error, ACCEL_E_CANCELLED, "storing packed weights was cancelled");
    }
    return out->code;
}

/* Returns the largest file size. A file over the process limit is not begun: its signal would end the program. */
static uint64_t largest_file(uint64_t bytes)
{
    struct rlimit limit;
    uint64_t most = bytes > UINT64_MAX / 2 ? UINT64_MAX : 2 * bytes;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < most)
        most = limit.rlim_cur;
    return most;
}

/* Writes the header last: without it the file is not valid. */
static int32_t finish(struct output *out, struct accel_error *error)
{
    const size_t bytes = (size_t)out->done + ACCEL_PACKED_HEADER;
    struct accel_hash128 content;
    struct header head;
    void *memory;
    int32_t code;
    if (ftruncate(out->file, (off_t)bytes) != 0)
        return fail(out->place, "truncate it", errno, error);
    memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, out->file, 0);
    if (memory == MAP_FAILED)
        return fail(out->place, "map it", errno, error);
    code = hash_all(out->place, (const char *)memory + sizeof(head), out->done, true, out->task, &content, error);
    munmap(memory, bytes);
    if (code != ACCEL_OK)
        return code;
    fill_header(&head, out->place, out->label, out->done, content);
    if (pwrite(out->file, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || fsync(out->file) != 0)
        return fail(out->place, "write it", errno, error);
    return ACCEL_OK;
}

/* Returns the driver's error, or the error of the core's writer. */
static int32_t save(struct output *out, struct accel_error *error)
{
    struct accel_device *device = out->weights->module->device;
    struct accel_driver_weights *handle = out->weights->handle;
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "save",
                  handle->table->save(handle, &out->writer, error));
    if (out->code != ACCEL_OK)
        return out->code;
    return accel_device_import_code(device, code, "save", error);
}

static int32_t fill_file(struct output *out, struct accel_error *error)
{
    void *memory;
    int32_t code;
    if (ACCEL_PACKED_HEADER + out->expected > out->most)
        return refuse_size(out->place, error);
    /* Fails early on a full disk; if space cannot be reserved, the write reports it. */
    if (ftruncate(out->file, 0) != 0 ||
        (fallocate(out->file, 0, 0, (off_t)(ACCEL_PACKED_HEADER + out->expected)) != 0 &&
         (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) ||
        lseek(out->file, ACCEL_PACKED_HEADER, SEEK_SET) < 0)
        return fail(out->place, "write it", errno, error);
    /* Checks before the write that there is address space to hash the file in. */
    memory = mmap(NULL, (size_t)(ACCEL_PACKED_HEADER + out->expected), PROT_READ, MAP_SHARED, out->file, 0);
    if (memory == MAP_FAILED)
        return fail(out->place, "map it", errno, error);
    munmap(memory, (size_t)(ACCEL_PACKED_HEADER + out->expected));
    out->most -= ACCEL_PACKED_HEADER;
    code = save(out, error);
    if (code == ACCEL_OK && out->done == 0)
        code = refuse(out->place, ACCEL_E_INTERNAL, "the driver wrote nothing", error);
    return code == ACCEL_OK ? finish(out, error) : code;
}

/* Opens NAME.new and locks it: one process writes at a time, and the file of a killed one is overwritten. -1 with
 * errno; EWOULDBLOCK: another process is writing. A file that other users may access is not touched. */
static int open_temporary(int folder, const char *name)
{
    int file = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat opened, named;
    if (file < 0)
        return -1;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &opened) == 0 &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISREG(opened.st_mode) && opened.st_uid == geteuid() && opened.st_nlink == 1 &&
            (opened.st_mode & 077) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
            return file;
        /* Between the two calls the file was renamed or removed, or another process created it. */
        errno = opened.st_nlink == 0 || opened.st_ino != named.st_ino ? EWOULDBLOCK : EPERM;
    } else if (errno == ENOENT) {
        errno = EWOULDBLOCK;
    }
    close(file);
    return -1;
}

static int32_t store_in(int folder, struct output *out, struct accel_error *error)
{
    const struct accel_packed_place *place = out->place;
    char name[sizeof(place->name) + 8];
    int32_t code;
    snprintf(name, sizeof(name), "%s.new", place->name);
    out->file = open_temporary(folder, name);
    if (out->file < 0)
        return errno == EWOULDBLOCK ? refuse(place, ACCEL_E_BUSY, "another process is writing it", error)
                                    : fail(place, "create it", errno, error);
    code = fill_file(out, error);
    if (code == ACCEL_OK && renameat(folder, name, folder, place->name) != 0)
        code = fail(place, "rename it", errno, error);
    if (code != ACCEL_OK)
        unlinkat(folder, name, 0);
    else
        (void)fsync(folder); /* best effort: lost weights are packed again */
    close(out->file);
    return code;
}

int32_t accel_packed_store(struct accel_weights *weights, const struct accel_task *task, const char *label,
                           struct accel_error *error)
{
    const struct accel_packed_place *place = &weights->place;
    const uint64_t bytes = weights->packed_bytes;
    struct output out = {.writer = {.size = sizeof(out.writer), .write = write_bytes},
                         .weights = weights,
                         .place = place,
                         .label = label,
                         .task = task,
                         .expected = bytes,
                         .most = largest_file(bytes)};
    int32_t code = accel_file_make_folders(place->folder, 0700, error);
    int folder;
    if (code != ACCEL_OK)
        return code;
    folder = open_folder(place->folder);
    if (folder < 0)
        return fail(place, "open its folder", errno, error);
    /* Another process may have stored it meanwhile. */
    if (place->replaces || faccessat(folder, place->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        code = accel_packed_evict(folder, place->folder, bytes + ACCEL_PACKED_HEADER, error);
        if (code == ACCEL_OK)
            code = store_in(folder, &out, error);
    }
    close(folder);
    return code;
}
