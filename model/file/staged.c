/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/file/fault.h"
#include "model/file/pool.h"
#include "model/file/replace.h"

/* Bytes written between syncs: the most that is written twice after a kill. */
#define SYNC_BYTES ((uint64_t)16 << 20)
#define LINE_BYTES 96

/* First bytes of every journal: a file without them belongs to another program. */
#define MARK "accel-journal "

/* States of a block. */
enum block { BLOCK_MISSING, BLOCK_WRITTEN, BLOCK_ON_DISK };

struct model_staged {
    char *path;
    char *part;    /* PATH.part */
    char *journal; /* PATH.part.journal */
    int fd;
    int journal_fd;
    uint32_t blocks;
    uint32_t resumed;
    unsigned char *state; /* [blocks], enum block */
    uint64_t unsynced;    /* bytes of written blocks that may not be on disk yet */
    off_t journal_end;    /* end of its last complete line */
    pthread_mutex_t mutex;
};

static char *with_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    char *text = malloc(length + strlen(suffix) + 1);
    if (text != NULL) {
        memcpy(text, path, length);
        memcpy(text + length, suffix, strlen(suffix) + 1);
    }
    return text;
}

static void format_first_line(const struct model_staged_plan *plan, char line[LINE_BYTES])
{
    snprintf(line, LINE_BYTES, MARK "1 %016" PRIx64 " %" PRIu64 " %" PRIu32 "\n", plan->identity, plan->bytes,
             plan->blocks);
}

static FILE *open_journal(const struct model_staged *staged)
{
    int fd = dup(staged->journal_fd);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

/* Reads the blocks that the journal lists; returns false if it belongs to another file. An incomplete last line, from a
 * killed process, is cut off: the next line would continue it. */
static bool read_journal(struct model_staged *staged, const struct model_staged_plan *plan)
{
    char expected[LINE_BYTES], line[LINE_BYTES];
    FILE *file = open_journal(staged);
    bool same;
    if (file == NULL)
        return false;
    rewind(file);
    format_first_line(plan, expected);
    same = fgets(line, sizeof(line), file) != NULL && strcmp(line, expected) == 0;
    staged->journal_end = (off_t)strlen(expected);
    while (same && fgets(line, sizeof(line), file) != NULL) {
        char *end;
        unsigned long block = strtoul(line, &end, 10);
        if (end == line || *end != '\n' || block >= plan->blocks)
            break;
        staged->journal_end += (off_t)strlen(line);
        staged->resumed += staged->state[block] == BLOCK_MISSING;
        staged->state[block] = BLOCK_ON_DISK;
    }
    fclose(file);
    return same && ftruncate(staged->journal_fd, staged->journal_end) == 0;
}

/* Reserves disk space before any work, so that a full disk is detected early if the file system supports it. */
static int32_t reserve_space(struct model_staged *staged, uint64_t bytes, struct accel_error *error)
{
    int native = posix_fallocate(staged->fd, 0, (off_t)bytes);
    if (native == EOPNOTSUPP || native == EINVAL || native == ENOSYS)
        native = ftruncate(staged->fd, (off_t)bytes) == 0 ? 0 : errno;
    return native == 0 ? ACCEL_OK : model_fault_errno(error, staged->part, "cannot reserve its disk space", native);
}

/* Starts the file anew. The empty journal comes first: it never lists missing blocks, and it marks the file as ours
 * before the file has content. */
static int32_t start_file(struct model_staged *staged, const struct model_staged_plan *plan, struct accel_error *error)
{
    static const char begun[] = MARK "begun\n";
    char line[LINE_BYTES];
    int32_t code;
    memset(staged->state, BLOCK_MISSING, plan->blocks);
    staged->resumed = 0;
    format_first_line(plan, line);
    code = model_write_at(staged->journal_fd, staged->journal, begun, sizeof(begun) - 1, 0, error);
    if (code != ACCEL_OK)
        return code;
    if (ftruncate(staged->journal_fd, sizeof(begun) - 1) != 0 || fdatasync(staged->journal_fd) != 0)
        return model_fault_errno(error, staged->journal, "cannot begin", errno);
    if (ftruncate(staged->fd, 0) != 0)
        return model_fault_errno(error, staged->part, "cannot truncate", errno);
    code = model_write_at(staged->fd, staged->part, plan->header, plan->header_bytes, 0, error);
    if (code == ACCEL_OK)
        code = reserve_space(staged, plan->bytes, error);
    if (code == ACCEL_OK && fdatasync(staged->fd) != 0)
        code = model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    if (code == ACCEL_OK)
        code = model_write_at(staged->journal_fd, staged->journal, line, strlen(line), 0, error);
    staged->journal_end = (off_t)strlen(line);
    return code;
}

/* Returns whether PATH.part is still the file we locked: another process may have finished and renamed it before the
 * lock. */
static bool has_name(const struct model_staged *staged)
{
    struct stat locked, named;
    return fstat(staged->fd, &locked) == 0 && stat(staged->part, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

static int32_t refuse_busy(const struct model_staged *staged, struct accel_error *error)
{
    model_fault(error, ACCEL_E_BUSY, staged->part, MODEL_NO_OFFSET, "another process is writing it");
    return accel_error_advise(error, ACCEL_E_BUSY, "wait for it, or write to another name");
}

/* Result of probing the journal's path. */
enum journal_kind { JOURNAL_NONE, JOURNAL_OURS, JOURNAL_FOREIGN };

static enum journal_kind probe_journal(const char *journal)
{
    char start_file[sizeof(MARK)] = "";
    int fd = open(journal, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    ssize_t got;
    if (fd < 0)
        return errno == ENOENT ? JOURNAL_NONE : JOURNAL_FOREIGN;
    got = pread(fd, start_file, sizeof(start_file) - 1, 0);
    close(fd);
    return got == 0 ? JOURNAL_NONE : strcmp(start_file, MARK) == 0 ? JOURNAL_OURS : JOURNAL_FOREIGN;
}

static int32_t refuse_foreign(const char *path, struct accel_error *error)
{
    model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "exists and is not from an earlier run");
    return accel_error_advise(error, ACCEL_E_INVALID, "remove it, or write to another name");
}

/* Refuses paths that hold other files than those of an earlier run, before anything is opened for writing. */
static int32_t check_places(const struct model_staged *staged, struct accel_error *error)
{
    int32_t code = model_check_target(staged->path, error);
    if (code == ACCEL_OK)
        code = model_check_target(staged->part, error);
    if (code == ACCEL_OK)
        code = model_check_target(staged->journal, error);
    if (code == ACCEL_OK && probe_journal(staged->journal) == JOURNAL_FOREIGN)
        code = refuse_foreign(staged->journal, error);
    return code;
}

/* Returns whether the file has content but no journal of ours. */
static bool is_foreign(const struct model_staged *staged)
{
    struct stat status;
    return fstat(staged->fd, &status) != 0 || !S_ISREG(status.st_mode) ||
           (status.st_size > 0 && probe_journal(staged->journal) != JOURNAL_OURS);
}

static int32_t open_both(struct model_staged *staged, struct accel_error *error)
{
    int32_t code = check_places(staged, error);
    if (code != ACCEL_OK)
        return code;
    staged->fd = open(staged->part, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
    if (staged->fd < 0) {
        code = model_fault_errno(error, staged->part, "cannot create", errno);
        return accel_error_advise(error, code, "name a file in an existing folder that this user can write to");
    }
    if (flock(staged->fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? refuse_busy(staged, error)
                                    : model_fault_errno(error, staged->part, "cannot lock", errno);
    if (!has_name(staged))
        return refuse_busy(staged, error);
    if (is_foreign(staged))
        return refuse_foreign(staged->part, error);
    staged->journal_fd = open(staged->journal, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
    return staged->journal_fd >= 0 ? ACCEL_OK : model_fault_errno(error, staged->journal, "cannot create", errno);
}

static bool has_size(const struct model_staged *staged, uint64_t bytes)
{
    struct stat status;
    return fstat(staged->fd, &status) == 0 && (uint64_t)status.st_size == bytes;
}

/* Allocates a staged file with its paths, nothing open; NULL if memory is out. */
static struct model_staged *allocate_staged(const struct model_staged_plan *plan)
{
    struct model_staged *staged = calloc(1, sizeof(*staged));
    if (staged == NULL)
        return NULL;
    staged->fd = staged->journal_fd = -1;
    staged->blocks = plan->blocks;
    pthread_mutex_init(&staged->mutex, NULL);
    staged->path = strdup(plan->path);
    staged->part = with_suffix(plan->path, ".part");
    staged->journal = with_suffix(plan->path, ".part.journal");
    staged->state = calloc(plan->blocks ? plan->blocks : 1, 1);
    if (staged->path && staged->part && staged->journal && staged->state)
        return staged;
    model_staged_close(staged);
    return NULL;
}

int32_t model_staged_open(const struct model_staged_plan *plan, struct model_staged **out_staged,
                          struct accel_error *error)
{
    struct model_staged *staged = allocate_staged(plan);
    int32_t code;
    *out_staged = NULL;
    if (staged == NULL)
        return model_no_memory(error, plan->path, plan->blocks);
    code = open_both(staged, error);
    if (code == ACCEL_OK && !(has_size(staged, plan->bytes) && read_journal(staged, plan))) {
        code = start_file(staged, plan, error);
        /* Neither file has content that a later run could resume. */
        if (code != ACCEL_OK) {
            unlink(staged->part);
            unlink(staged->journal);
        }
    }
    if (code == ACCEL_OK)
        *out_staged = staged;
    else
        model_staged_close(staged);
    return code;
}

bool model_staged_has(const struct model_staged *staged, uint32_t block)
{
    return block < staged->blocks && staged->state[block] == BLOCK_ON_DISK;
}

uint32_t model_staged_resumed(const struct model_staged *staged)
{
    return staged->resumed;
}

int32_t model_staged_write(struct model_staged *staged, uint64_t offset, const void *data, uint64_t bytes,
                           struct accel_error *error)
{
    return model_write_at(staged->fd, staged->part, data, bytes, offset, error);
}

/* Syncs the file, then appends the new blocks to the journal. The caller holds the mutex. */
static int32_t sync_blocks(struct model_staged *staged, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    if (fdatasync(staged->fd) != 0)
        return model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    for (uint32_t i = 0; i < staged->blocks && code == ACCEL_OK; i++) {
        char line[16];
        if (staged->state[i] != BLOCK_WRITTEN)
            continue;
        snprintf(line, sizeof(line), "%" PRIu32 "\n", i);
        code = model_write_at(staged->journal_fd, staged->journal, line, strlen(line), (uint64_t)staged->journal_end,
                              error);
        if (code != ACCEL_OK)
            break;
        staged->journal_end += (off_t)strlen(line);
        staged->state[i] = BLOCK_ON_DISK;
    }
    if (code == ACCEL_OK)
        staged->unsynced = 0;
    return code;
}

int32_t model_staged_complete_block(struct model_staged *staged, uint32_t block, uint64_t bytes,
                                    struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    pthread_mutex_lock(&staged->mutex);
    staged->state[block] = BLOCK_WRITTEN;
    staged->unsynced += bytes;
    if (staged->unsynced >= SYNC_BYTES)
        code = sync_blocks(staged, error);
    pthread_mutex_unlock(&staged->mutex);
    return code;
}

int32_t model_staged_finish(struct model_staged *staged, struct accel_error *error)
{
    if (fsync(staged->fd) != 0)
        return model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    if (rename(staged->part, staged->path) != 0)
        return model_fault_errno(error, staged->path, "cannot replace", errno);
    staged->unsynced = 0;
    unlink(staged->journal);
    model_sync_folder(staged->path);
    return ACCEL_OK;
}

void model_staged_discard(struct model_staged *staged)
{
    staged->unsynced = 0;
    unlink(staged->part);
    unlink(staged->journal);
}

void model_staged_close(struct model_staged *staged)
{
    if (staged == NULL)
        return;
    /* Saves the last blocks; a failure here is not reported. */
    if (staged->unsynced > 0)
        sync_blocks(staged, NULL);
    if (staged->journal_fd >= 0)
        close(staged->journal_fd);
    if (staged->fd >= 0)
        close(staged->fd);
    pthread_mutex_destroy(&staged->mutex);
    free(staged->path);
    free(staged->part);
    free(staged->journal);
    free(staged->state);
    free(staged);
}
