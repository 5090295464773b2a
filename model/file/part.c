/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/file/checked.h"
#include "model/file/fault.h"
#include "model/file/pool.h"

/* Most bytes of one pread, so that a signal is handled soon. */
#define READ_CHUNK ((uint64_t)1 << 30)

int32_t model_path_open(const char *path, int *out_fd, struct stat *out_stat, struct accel_error *error)
{
    int fd, native;
    do {
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return model_fault_errno(error, path, "cannot open", errno);
    if (fstat(fd, out_stat) != 0) {
        native = errno;
        close(fd);
        return model_fault_errno(error, path, "cannot examine", native);
    }
    *out_fd = fd;
    return ACCEL_OK;
}

const char *model_mode_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a folder";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "something else";
    }
}

int32_t model_part_adopt(struct model_part *part, const char *path, int fd, const struct stat *status,
                         struct accel_error *error)
{
    *part = MODEL_PART_NONE;
    part->fd = fd;
    part->path = strdup(path);
    if (part->path == NULL) {
        model_part_close(part);
        return model_no_memory(error, path, strlen(path) + 1);
    }
    if (!S_ISREG(status->st_mode)) {
        model_part_close(part);
        return model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "is %s, not a regular file",
                           model_mode_name(status->st_mode));
    }
    if (status->st_size <= 0) {
        model_part_close(part);
        return model_fault(error, ACCEL_E_CORRUPT, path, 0, "the file is empty");
    }
    part->bytes = (uint64_t)status->st_size;
    part->written = status->st_mtim;
    return ACCEL_OK;
}

int32_t model_part_open(struct model_part *part, const char *path, struct accel_error *error)
{
    struct stat status;
    int fd;
    int32_t code = model_path_open(path, &fd, &status, error);
    *part = MODEL_PART_NONE;
    if (code != ACCEL_OK)
        return code;
    return model_part_adopt(part, path, fd, &status, error);
}

int32_t model_part_memory(struct model_part *part, const char *name, const void *bytes, uint64_t length,
                          struct accel_error *error)
{
    *part = MODEL_PART_NONE;
    if (length == 0)
        return model_fault(error, ACCEL_E_CORRUPT, name, 0, "the file is empty");
    part->path = strdup(name);
    if (part->path == NULL)
        return model_no_memory(error, name, strlen(name) + 1);
    part->data = bytes;
    part->bytes = length;
    return ACCEL_OK;
}

/* Advises huge pages before the mapping is touched: file systems that support them then read and map huge pages. Cached
 * pages stay small. */
static void advise_huge_pages(void *memory, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

int32_t model_part_map(struct model_part *part, struct accel_error *error)
{
    void *memory;
    if (part->data != NULL)
        return ACCEL_OK;
    memory = mmap(NULL, (size_t)part->bytes, PROT_READ, MAP_SHARED, part->fd, 0);
    if (memory == MAP_FAILED)
        return model_fault_errno(error, part->path, "cannot map", errno);
    advise_huge_pages(memory, part->bytes);
    part->data = memory;
    part->mapped = true;
    return ACCEL_OK;
}

int32_t model_part_check(const struct model_part *part, struct accel_error *error)
{
    struct stat status;
    const char *what = NULL;
    int32_t code;
    if (part->fd < 0)
        return ACCEL_OK;
    if (fstat(part->fd, &status) != 0)
        return model_fault_errno(error, part->path, "cannot examine", errno);
    if ((uint64_t)status.st_size < part->bytes)
        what = "the file shrank while it was in use";
    else if (status.st_mtim.tv_sec != part->written.tv_sec || status.st_mtim.tv_nsec != part->written.tv_nsec)
        what = "the file was written to while it was in use";
    if (what == NULL)
        return ACCEL_OK;
    code = model_fault(error, ACCEL_E_CORRUPT, part->path, MODEL_NO_OFFSET, "%s", what);
    accel_error_remedy(
        error, "write a new file and rename it over the old one: processes that have it open keep the old content");
    return code;
}

static int32_t read_file(const struct model_part *part, uint64_t offset, uint64_t bytes, unsigned char *out,
                         struct accel_error *error)
{
    while (bytes > 0) {
        ssize_t got = pread(part->fd, out, (size_t)(bytes < READ_CHUNK ? bytes : READ_CHUNK), (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return model_fault_errno(error, part->path, "cannot read", errno);
        if (got == 0)
            return model_fault(error, ACCEL_E_CORRUPT, part->path, offset,
                               "the file ends here, it had %llu bytes when it was opened: it shrank",
                               (unsigned long long)part->bytes);
        out += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return ACCEL_OK;
}

int32_t model_part_read(const struct model_part *part, uint64_t offset, uint64_t bytes, void *out,
                        struct accel_error *error)
{
    uint64_t end;
    if (!add_u64(offset, bytes, &end) || end > part->bytes)
        return model_fault(error, ACCEL_E_CORRUPT, part->path, offset, "%llu bytes are needed, the file has %llu",
                           (unsigned long long)bytes, (unsigned long long)part->bytes);
    if (bytes == 0)
        return ACCEL_OK;
    if (part->data != NULL && !part->mapped) {
        memcpy(out, part->data + offset, (size_t)bytes);
        return ACCEL_OK;
    }
    return read_file(part, offset, bytes, out, error);
}

void model_part_close(struct model_part *part)
{
    if (part->mapped)
        munmap((void *)(uintptr_t)part->data, (size_t)part->bytes);
    if (part->fd >= 0)
        close(part->fd);
    free(part->path);
    *part = MODEL_PART_NONE;
}
