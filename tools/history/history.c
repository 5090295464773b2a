/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to the history. A lock file beside the history orders writers; each writes its line in one call. A
 * writer that would exceed the size limit first drops the older half: it writes a new file and renames it over the
 * old one. Readers take no lock: they read the old file or the new one, and skip a line that is still being
 * written. */
#include "config.h"

#include "tools/history/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"

/** Attempts to take the lock, one millisecond apart: a stopped writer must not block others for good. */
#define TRIES 2000u

/* ---- one line ---- */

static void put_text(struct accel_strbuf *line, const char *key, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    accel_strbuf_printf(line, ",\"%s\":", key);
    accel_strbuf_json(line, text);
}

static void put_number(struct accel_strbuf *line, const char *key, uint64_t number)
{
    if (number)
        accel_strbuf_printf(line, ",\"%s\":%" PRIu64, key, number);
}

/* Converts to whole thousandths: whole numbers read the same in every locale. */
static uint64_t thousandths(double value)
{
    return value > 0 && value < 1e15 ? (uint64_t)(value * 1000 + 0.5) : 0;
}

static void put_classes(struct accel_strbuf *line, const struct accel_history_record *record)
{
    if (record->class_count == 0)
        return;
    accel_strbuf_text(line, ",\"classes\":{");
    for (uint32_t i = 0; i < record->class_count; i++)
        accel_strbuf_printf(line, "%s\"%s\":[%" PRIu64 ",%" PRIu64 "]", i == 0 ? "" : ",",
                            accel_history_class_name(record->classes[i].memory_class), record->classes[i].planned,
                            record->classes[i].measured);
    accel_strbuf_char(line, '}');
}

static void write_line(const struct accel_history_record *record, struct accel_strbuf *line)
{
    accel_strbuf_text(line, ACCEL_HISTORY_BEGIN);
    accel_strbuf_printf(line, "\"kind\":\"%s\"", record->kind == ACCEL_HISTORY_RUN ? "run" : "bandwidth");
    put_number(line, "time", record->time ? record->time : (uint64_t)time(NULL));
    put_text(line, "device", record->device);
    put_text(line, "driver", record->driver);
    put_text(line, "model", record->model);
    put_text(line, "settings", record->settings);
    put_number(line, "threads", record->threads);
    put_number(line, "context", record->context);
    put_number(line, "planned", record->planned);
    put_number(line, "measured", record->measured);
    put_number(line, "step_bytes", record->step_bytes);
    put_number(line, "read_bytes", record->read_bytes);
    put_number(line, "prompt", record->prompt);
    put_number(line, "tokens", record->tokens);
    put_number(line, "prompt_tokens_per_1000_s", thousandths(record->prompt_speed));
    put_number(line, "tokens_per_1000_s", thousandths(record->speed));
    put_number(line, "bytes_per_1000_s", thousandths(record->bandwidth));
    put_classes(line, record);
    accel_strbuf_char(line, '}');
}

/* ---- the file ---- */

static int32_t fail(struct accel_error *error, const char *path, const char *what)
{
    int system_error = errno;
    int32_t code =
        accel_error_set(error, accel_file_code(system_error), "%.300s: %s: %s", path, what, strerror(system_error));
    if (error)
        error->native = system_error;
    return code;
}

static int32_t lock_history(const char *path, int *out_file, struct accel_error *error)
{
    const struct timespec moment = {0, 1000000};
    uint32_t tries = 0;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    *out_file = -1;
    if (file < 0)
        return fail(error, path, "cannot be opened");
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || ++tries == TRIES) {
            int32_t code = fail(error, path, "cannot be locked");
            close(file);
            return code;
        }
        nanosleep(&moment, NULL);
    }
    *out_file = file;
    return ACCEL_OK;
}

/* Reads the last bytes of the file, at most half of the size limit. */
static int32_t read_tail(const char *path, char *data, size_t *out_bytes, struct accel_error *error)
{
    const size_t most = ACCEL_HISTORY_BYTES / 2;
    struct stat facts;
    off_t from;
    ssize_t got = 1;
    int32_t code = ACCEL_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *out_bytes = 0;
    if (file < 0 || fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        code = fail(error, path, "cannot be read");
        if (file >= 0)
            close(file);
        return code;
    }
    from = facts.st_size > (off_t)most ? facts.st_size - (off_t)most : 0;
    while (got > 0 && *out_bytes < most) {
        got = pread(file, data + *out_bytes, most - *out_bytes, from + (off_t)*out_bytes);
        *out_bytes += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        code = fail(error, path, "cannot be read");
    close(file);
    return code;
}

/* Rewrites the file with its newer half, in whole lines. */
static int32_t trim(const char *path, struct accel_error *error)
{
    char *data = malloc(ACCEL_HISTORY_BYTES / 2);
    size_t bytes = 0, from = 0;
    int32_t code =
        data ? read_tail(path, data, &bytes, error) : accel_error_no_memory(error, "to shorten %.300s", path);
    /* The first line of the tail is cut, unless the tail is the whole file. */
    if (bytes == ACCEL_HISTORY_BYTES / 2)
        for (from = 1; from < bytes && data[from - 1] != '\n';)
            from++;
    if (code == ACCEL_OK)
        code = accel_file_write(path, data + from, bytes - from, 0600, error);
    free(data);
    return code;
}

static int32_t write_whole(int file, const char *path, const char *data, size_t bytes, struct accel_error *error)
{
    ssize_t written;
    do
        written = write(file, data, bytes);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return fail(error, path, "cannot be written");
    if ((size_t)written != bytes)
        return accel_error_set(error, ACCEL_E_IO, "%.300s: only a part of a record could be written", path);
    return ACCEL_OK;
}

/* Returns whether the file ends in a line end. An unfinished record of another writer must not damage the next
 * record. */
static bool ends_in_line(int file, off_t size)
{
    char last = '\n';
    return size == 0 || (pread(file, &last, 1, size - 1) == 1 && last == '\n');
}

static int32_t append(const char *path, struct accel_strbuf *line, struct accel_error *error)
{
    struct stat facts;
    int32_t code;
    int file;
    if (stat(path, &facts) == 0 && (uint64_t)facts.st_size + line->length + 2 > ACCEL_HISTORY_BYTES) {
        code = trim(path, error);
        if (code != ACCEL_OK)
            return code;
    }
    file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return fail(error, path, "cannot be opened");
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        close(file);
        return accel_error_set(error, ACCEL_E_IO, "%.300s: is no regular file", path);
    }
    if (ends_in_line(file, facts.st_size))
        code = write_whole(file, path, line->text + 1, line->length - 1, error);
    else
        code = write_whole(file, path, line->text, line->length, error);
    if (close(file) != 0 && code == ACCEL_OK)
        code = fail(error, path, "cannot be written");
    return code;
}

static int32_t append_locked(const char *path, struct accel_strbuf *line, struct accel_error *error)
{
    char *folder = NULL;
    char *lock = NULL;
    int file = -1;
    int32_t code = accel_file_user_folder(ACCEL_USER_STATE, &folder, error);
    if (code == ACCEL_OK)
        code = accel_file_make_folders(folder, 0700, error);
    if (code == ACCEL_OK && (lock = accel_file_join(folder, "history.lock")) == NULL)
        code = accel_error_no_memory(error, "for the path of the history");
    if (code == ACCEL_OK)
        code = lock_history(lock, &file, error);
    if (code == ACCEL_OK)
        code = append(path, line, error);
    if (file >= 0)
        close(file);
    free(lock);
    free(folder);
    return code;
}

int32_t history_add(const struct accel_history_record *record, struct accel_error *error)
{
    struct accel_strbuf line;
    char *path = NULL;
    int32_t code = accel_history_file(&path, error);
    if (code != ACCEL_OK)
        return code;
    /* The record begins with a line end, which is omitted if the file already ends in one. */
    accel_strbuf_init(&line, ACCEL_HISTORY_LINE);
    accel_strbuf_char(&line, '\n');
    write_line(record, &line);
    accel_strbuf_char(&line, '\n');
    if (line.failed)
        code = accel_error_set(error, ACCEL_E_LIMIT, "a record of the history has over %u bytes", ACCEL_HISTORY_LINE);
    else
        code = append_locked(path, &line, error);
    accel_strbuf_free(&line);
    free(path);
    return code;
}
