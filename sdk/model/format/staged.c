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

/* How each journal begins: a file beside one that does not is somebody else's. */
#define MARK "accel-journal "

/* What has become of a piece. */
enum piece { PIECE_MISSING, PIECE_WRITTEN, PIECE_ON_DISK };

struct model_staged {
    char *path;
    char *part;    /* PATH.part */
    char *journal; /* PATH.part.journal */
    int fd;
    int journal_fd;
    uint32_t pieces;
    uint32_t resumed;
    unsigned char *state; /* [pieces], enum piece */
    uint64_t unsynced;    /* bytes of pieces that are written and not known to be on the disk */
    off_t journal_end;    /* behind its last whole line */
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

static void first_line(const struct model_staged_plan *plan, char line[LINE_BYTES])
{
    snprintf(line, LINE_BYTES, MARK "1 %016" PRIx64 " %" PRIu64 " %" PRIu32 "\n", plan->identity, plan->bytes,
             plan->pieces);
}

static FILE *open_journal(const struct model_staged *staged)
{
    int fd = dup(staged->journal_fd);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

/* Takes the pieces that the journal lists; false where it is for another file. A last line without its end was being
 * written when the process ended. It is cut off: the next line would else be read as its end. */
static bool read_journal(struct model_staged *staged, const struct model_staged_plan *plan)
{
    char wanted[LINE_BYTES], line[LINE_BYTES];
    FILE *file = open_journal(staged);
    bool same;
    if (file == NULL)
        return false;
    rewind(file);
    first_line(plan, wanted);
    same = fgets(line, sizeof(line), file) != NULL && strcmp(line, wanted) == 0;
    staged->journal_end = (off_t)strlen(wanted);
    while (same && fgets(line, sizeof(line), file) != NULL) {
        char *end;
        unsigned long piece = strtoul(line, &end, 10);
        if (end == line || *end != '\n' || piece >= plan->pieces)
            break;
        staged->journal_end += (off_t)strlen(line);
        staged->resumed += staged->state[piece] == PIECE_MISSING;
        staged->state[piece] = PIECE_ON_DISK;
    }
    fclose(file);
    return same && ftruncate(staged->journal_fd, staged->journal_end) == 0;
}

/* A disk without room is found now and not after half of the work, where the file system can tell. */
static int32_t take_room(struct model_staged *staged, uint64_t bytes, struct accel_error *error)
{
    int native = posix_fallocate(staged->fd, 0, (off_t)bytes);
    if (native == EOPNOTSUPP || native == EINVAL || native == ENOSYS)
        native = ftruncate(staged->fd, (off_t)bytes) == 0 ? 0 : errno;
    return native == 0 ? ACCEL_OK : model_fault_errno(error, staged->part, "cannot take the room it needs", native);
}

/* Begins anew: first a journal that lists nothing, so that it never tells of pieces that the file has not, and that
 * says whose the file is before anything is in it. */
static int32_t begin(struct model_staged *staged, const struct model_staged_plan *plan, struct accel_error *error)
{
    static const char begun[] = MARK "begun\n";
    char line[LINE_BYTES];
    int32_t code;
    memset(staged->state, PIECE_MISSING, plan->pieces);
    staged->resumed = 0;
    first_line(plan, line);
    code = model_write_at(staged->journal_fd, staged->journal, begun, sizeof(begun) - 1, 0, error);
    if (code != ACCEL_OK)
        return code;
    if (ftruncate(staged->journal_fd, sizeof(begun) - 1) != 0 || fdatasync(staged->journal_fd) != 0)
        return model_fault_errno(error, staged->journal, "cannot begin", errno);
    if (ftruncate(staged->fd, 0) != 0)
        return model_fault_errno(error, staged->part, "cannot truncate", errno);
    code = model_write_at(staged->fd, staged->part, plan->header, plan->header_bytes, 0, error);
    if (code == ACCEL_OK)
        code = take_room(staged, plan->bytes, error);
    if (code == ACCEL_OK && fdatasync(staged->fd) != 0)
        code = model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    if (code == ACCEL_OK)
        code = model_write_at(staged->journal_fd, staged->journal, line, strlen(line), 0, error);
    staged->journal_end = (off_t)strlen(line);
    return code;
}

/* Whether the file that was locked still has the name PATH.part. Another process may have finished it between the
 * opening and the lock; what is locked then is the file in its place. */
static bool has_name(const struct model_staged *staged)
{
    struct stat locked, named;
    return fstat(staged->fd, &locked) == 0 && stat(staged->part, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

static int32_t refuse_busy(const struct model_staged *staged, struct accel_error *error)
{
    model_fault(error, ACCEL_E_BUSY, staged->part, MODEL_NO_OFFSET, "another process is writing it");
    accel_error_remedy(error, "wait for it, or write to another name");
    return ACCEL_E_BUSY;
}

/* What lies at the place of the journal. */
enum found { FOUND_NOTHING, FOUND_OURS, FOUND_FOREIGN };

static enum found look(const char *journal)
{
    char begin[sizeof(MARK)] = "";
    int fd = open(journal, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    ssize_t got;
    if (fd < 0)
        return errno == ENOENT ? FOUND_NOTHING : FOUND_FOREIGN;
    got = pread(fd, begin, sizeof(begin) - 1, 0);
    close(fd);
    return got == 0 ? FOUND_NOTHING : strcmp(begin, MARK) == 0 ? FOUND_OURS : FOUND_FOREIGN;
}

static int32_t refuse_foreign(const char *path, struct accel_error *error)
{
    model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "is there, and no earlier run left it");
    accel_error_remedy(error, "remove it, or write to another name");
    return ACCEL_E_INVALID;
}

/* Nothing is opened for writing at a place where something else lies than what an earlier run may have left. */
static int32_t check_places(const struct model_staged *staged, struct accel_error *error)
{
    int32_t code = model_check_target(staged->path, error);
    if (code == ACCEL_OK)
        code = model_check_target(staged->part, error);
    if (code == ACCEL_OK)
        code = model_check_target(staged->journal, error);
    if (code == ACCEL_OK && look(staged->journal) == FOUND_FOREIGN)
        code = refuse_foreign(staged->journal, error);
    return code;
}

/* A file that holds something and has no journal of ours. */
static bool is_foreign(const struct model_staged *staged)
{
    struct stat status;
    return fstat(staged->fd, &status) != 0 || !S_ISREG(status.st_mode) ||
           (status.st_size > 0 && look(staged->journal) != FOUND_OURS);
}

static int32_t open_both(struct model_staged *staged, struct accel_error *error)
{
    int32_t code = check_places(staged, error);
    if (code != ACCEL_OK)
        return code;
    staged->fd = open(staged->part, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
    if (staged->fd < 0) {
        code = model_fault_errno(error, staged->part, "cannot create", errno);
        accel_error_remedy(error, "name a file in a folder that is there and that this user may write to");
        return code;
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

/* A file with its names and nothing open; NULL without memory. */
static struct model_staged *make(const struct model_staged_plan *plan)
{
    struct model_staged *staged = calloc(1, sizeof(*staged));
    if (staged == NULL)
        return NULL;
    staged->fd = staged->journal_fd = -1;
    staged->pieces = plan->pieces;
    pthread_mutex_init(&staged->mutex, NULL);
    staged->path = strdup(plan->path);
    staged->part = with_suffix(plan->path, ".part");
    staged->journal = with_suffix(plan->path, ".part.journal");
    staged->state = calloc(plan->pieces ? plan->pieces : 1, 1);
    if (staged->path && staged->part && staged->journal && staged->state)
        return staged;
    model_staged_close(staged);
    return NULL;
}

int32_t model_staged_open(const struct model_staged_plan *plan, struct model_staged **out_staged,
                          struct accel_error *error)
{
    struct model_staged *staged = make(plan);
    int32_t code;
    *out_staged = NULL;
    if (staged == NULL)
        return model_no_memory(error, plan->path, plan->pieces);
    code = open_both(staged, error);
    if (code == ACCEL_OK && !(has_size(staged, plan->bytes) && read_journal(staged, plan))) {
        code = begin(staged, plan, error);
        /* Neither file holds anything that a later run could take up. */
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

bool model_staged_has(const struct model_staged *staged, uint32_t piece)
{
    return piece < staged->pieces && staged->state[piece] == PIECE_ON_DISK;
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

/* Brings the file to the disk, then says so in the journal. The mutex is held. */
static int32_t synchronise(struct model_staged *staged, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    if (fdatasync(staged->fd) != 0)
        return model_fault_errno(error, staged->part, "cannot write to the disk", errno);
    for (uint32_t i = 0; i < staged->pieces && code == ACCEL_OK; i++) {
        char line[16];
        if (staged->state[i] != PIECE_WRITTEN)
            continue;
        snprintf(line, sizeof(line), "%" PRIu32 "\n", i);
        code = model_write_at(staged->journal_fd, staged->journal, line, strlen(line), (uint64_t)staged->journal_end,
                              error);
        if (code != ACCEL_OK)
            break;
        staged->journal_end += (off_t)strlen(line);
        staged->state[i] = PIECE_ON_DISK;
    }
    if (code == ACCEL_OK)
        staged->unsynced = 0;
    return code;
}

int32_t model_staged_piece_done(struct model_staged *staged, uint32_t piece, uint64_t bytes, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    pthread_mutex_lock(&staged->mutex);
    staged->state[piece] = PIECE_WRITTEN;
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
    free(staged->state);
    free(staged);
}
