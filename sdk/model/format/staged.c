/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/model/format/staged.h"

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

#include "sdk/model/format/fault.h"
#include "sdk/model/format/place.h"
#include "sdk/model/format/pool.h"

/* Bytes after which written pieces are brought to the disk: at most so much is written twice after a kill. */
#define SYNC_BYTES ((uint64_t)16 << 20)
#define LINE_BYTES 96

struct model_staged {
    char *path;
    char *part;    /* PATH.part */
    char *journal; /* PATH.part.journal */
    int fd;
    int journal_fd;
    uint32_t pieces;
    uint32_t resumed;
    unsigned char *done; /* of each piece: 1 on the disk, 2 written since the last synchronisation */
    uint64_t unsynced;
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

static int32_t write_at(int fd, const char *path, const void *data, uint64_t bytes, uint64_t offset,
                        struct accel_error *error)
{
    const unsigned char *at = data;
    while (bytes > 0) {
        ssize_t done = pwrite(fd, at, bytes < (1u << 30) ? (size_t)bytes : (size_t)1 << 30, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return model_fault_errno(error, path, "cannot write", errno);
        at += done;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return ACCEL_OK;
}

static void first_line(const struct model_staged_plan *plan, char line[LINE_BYTES])
{
    snprintf(line, LINE_BYTES, "accel-journal 1 %016" PRIx64 " %" PRIu64 " %" PRIu32 "\n", plan->identity, plan->bytes,
             plan->pieces);
}

/* Takes the pieces that the journal lists; false where it is for another file. A last line without its end was being
 * written when the process ended. */
static bool read_journal(struct model_staged *staged, const struct model_staged_plan *plan)
{
    char wanted[LINE_BYTES], line[LINE_BYTES];
    int fd = dup(staged->journal_fd);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    bool same;
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    rewind(file);
    first_line(plan, wanted);
    same = fgets(line, sizeof(line), file) != NULL && strcmp(line, wanted) == 0;
    while (same && fgets(line, sizeof(line), file) != NULL) {
        char *end;
        unsigned long piece = strtoul(line, &end, 10);
        if (end == line || *end != '\n' || piece >= plan->pieces)
            break;
        staged->resumed += staged->done[piece] == 0;
        staged->done[piece] = 1;
    }
    fclose(file);
    return same;
}

/* A disk without room is found now and not after half of the work, where the file system can tell. */
static int32_t take_room(struct model_staged *staged, uint64_t bytes, struct accel_error *error)
{
    int native = posix_fallocate(staged->fd, 0, (off_t)bytes);
    if (native == EOPNOTSUPP || native == EINVAL || native == ENOSYS)
        native = ftruncate(staged->fd, (off_t)bytes) == 0 ? 0 : errno;
    return native == 0 ? ACCEL_OK : model_fault_errno(error, staged->part, "cannot take the room it needs", native);
}

/* Begins anew: an empty journal first, so that it never tells of pieces that the file has not. */
static int32_t begin(struct model_staged *staged, const struct model_staged_plan *plan, struct accel_error *error)
{
    char line[LINE_BYTES];
    int32_t code;
    memset(staged->done, 0, plan->pieces);
    staged->resumed = 0;
    first_line(plan, line);
    if (ftruncate(staged->journal_fd, 0) != 0)
        return model_fault_errno(error, staged->journal, "cannot truncate", errno);
    if (ftruncate(staged->fd, 0) != 0)
        return model_fault_errno(error, staged->part, "cannot truncate", errno);
    code = write_at(staged->fd, staged->part, plan->header, plan->header_bytes, 0, error);
    if (code == ACCEL_OK)
        code = take_room(staged, plan->bytes, error);
    if (code == ACCEL_OK && fdatasync(staged->fd) != 0)
        code = model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    if (code == ACCEL_OK)
        code = write_at(staged->journal_fd, staged->journal, line, strlen(line), 0, error);
    return code;
}

static int32_t open_both(struct model_staged *staged, struct accel_error *error)
{
    staged->fd = open(staged->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
    if (staged->fd < 0)
        return model_fault_errno(error, staged->part, "cannot create", errno);
    if (flock(staged->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            return model_fault_errno(error, staged->part, "cannot lock", errno);
        model_fault(error, ACCEL_E_BUSY, staged->part, MODEL_NO_OFFSET, "another process is writing it");
        accel_error_remedy(error, "wait for it, or write to another name");
        return ACCEL_E_BUSY;
    }
    staged->journal_fd = open(staged->journal, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
    return staged->journal_fd >= 0 ? ACCEL_OK : model_fault_errno(error, staged->journal, "cannot create", errno);
}

static bool has_size(const struct model_staged *staged, uint64_t bytes)
{
    struct stat status;
    return fstat(staged->fd, &status) == 0 && (uint64_t)status.st_size == bytes;
}

int32_t model_staged_open(const struct model_staged_plan *plan, struct model_staged **out_staged,
                          struct accel_error *error)
{
    struct model_staged *staged = calloc(1, sizeof(*staged));
    int32_t code;
    *out_staged = NULL;
    if (staged == NULL)
        return model_no_memory(error, plan->path, sizeof(*staged));
    staged->fd = staged->journal_fd = -1;
    staged->pieces = plan->pieces;
    pthread_mutex_init(&staged->mutex, NULL);
    staged->path = strdup(plan->path);
    staged->part = with_suffix(plan->path, ".part");
    staged->journal = with_suffix(plan->path, ".part.journal");
    staged->done = calloc(plan->pieces ? plan->pieces : 1, 1);
    if (!staged->path || !staged->part || !staged->journal || !staged->done)
        code = model_no_memory(error, plan->path, plan->pieces);
    else
        code = open_both(staged, error);
    if (code == ACCEL_OK && !(has_size(staged, plan->bytes) && read_journal(staged, plan)))
        code = begin(staged, plan, error);
    if (code != ACCEL_OK) {
        /* Nothing was there, and nothing has come of it. */
        if (code != ACCEL_E_BUSY && staged->journal_fd >= 0) {
            unlink(staged->part);
            unlink(staged->journal);
        }
        model_staged_close(staged);
        return code;
    }
    *out_staged = staged;
    return ACCEL_OK;
}

bool model_staged_has(const struct model_staged *staged, uint32_t piece)
{
    return piece < staged->pieces && staged->done[piece] == 1;
}

uint32_t model_staged_resumed(const struct model_staged *staged)
{
    return staged->resumed;
}

int32_t model_staged_write(struct model_staged *staged, uint64_t offset, const void *data, uint64_t bytes,
                           struct accel_error *error)
{
    return write_at(staged->fd, staged->part, data, bytes, offset, error);
}

/* Brings the file to the disk, then says so in the journal. The mutex is held. */
static int32_t synchronise(struct model_staged *staged, struct accel_error *error)
{
    off_t end = lseek(staged->journal_fd, 0, SEEK_END);
    int32_t code = ACCEL_OK;
    if (end < 0)
        return model_fault_errno(error, staged->journal, "cannot seek", errno);
    if (fdatasync(staged->fd) != 0)
        return model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    for (uint32_t i = 0; i < staged->pieces && code == ACCEL_OK; i++) {
        char line[16];
        if (staged->done[i] != 2)
            continue;
        snprintf(line, sizeof(line), "%" PRIu32 "\n", i);
        code = write_at(staged->journal_fd, staged->journal, line, strlen(line), (uint64_t)end, error);
        end += (off_t)strlen(line);
        staged->done[i] = 1;
    }
    staged->unsynced = 0;
    return code;
}

int32_t model_staged_piece_done(struct model_staged *staged, uint32_t piece, uint64_t bytes, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    pthread_mutex_lock(&staged->mutex);
    staged->done[piece] = 2;
    staged->unsynced += bytes;
    if (staged->unsynced >= SYNC_BYTES)
        code = synchronise(staged, error);
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

void model_staged_close(struct model_staged *staged)
{
    if (staged == NULL)
        return;
    /* What was written last is worth keeping; that it cannot be is no further failure. */
    if (staged->unsynced > 0)
        synchronise(staged, NULL);
    if (staged->journal_fd >= 0)
        close(staged->journal_fd);
    if (staged->fd >= 0)
        close(staged->fd);
    pthread_mutex_destroy(&staged->mutex);
    free(staged->path);
    free(staged->part);
    free(staged->journal);
    free(staged->done);
    free(staged);
}
