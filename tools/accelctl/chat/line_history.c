/* SPDX-License-Identifier: Apache-2.0 */
/* Stores one entry a line; backslashes and ends of lines are escaped (\\ and \n). Writers lock the file. A writer
 * that finds it too long writes the newer entries to a new file and renames that; whoever waited for the lock
 * therefore checks whether the name still refers to the locked file. */
#include "config.h"

#include "tools/accelctl/chat/line_history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits in bytes: the file is shortened beyond the first; entries longer than the second are not stored. */
enum { FILE_MOST = 1 << 20, ENTRY_MOST = 16 << 10 };

static int find_path(char path[PATH_MAX])
{
    const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
    int used = -1;

    if (state != NULL && state[0] == '/')
        used = snprintf(path, PATH_MAX, "%s/accel/chat_history", state);
    else if (home != NULL && home[0] == '/')
        used = snprintf(path, PATH_MAX, "%s/.local/state/accel/chat_history", home);
    return used < 0 || used >= PATH_MAX ? ENOENT : 0;
}

static int make_folders(const char *path)
{
    char folder[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return errno;
    }
    return 0;
}

/* Opens the file, no link in its place and no file of another user. Answers a handle, or -1 with errno. */
static int open_own(const char *path, int flags)
{
    int handle = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status;

    if (handle < 0)
        return -1;
    if (fstat(handle, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
        close(handle);
        errno = EACCES;
        return -1;
    }
    if ((status.st_mode & 077) != 0)
        fchmod(handle, 0600);
    return handle;
}

/* Opens and locks the file, again if it was replaced while waiting for the lock. */
static int open_locked(const char *path)
{
    for (int tries = 0; tries < 10; tries++) {
        int handle = open_own(path, O_RDWR | O_APPEND | O_CREAT);
        struct stat mine, named;

        if (handle < 0)
            return -1;
        while (flock(handle, LOCK_EX) != 0)
            if (errno != EINTR) {
                close(handle);
                return -1;
            }
        if (fstat(handle, &mine) == 0 && lstat(path, &named) == 0 && mine.st_ino == named.st_ino &&
            mine.st_dev == named.st_dev)
            return handle;
        close(handle);
    }
    errno = EAGAIN;
    return -1;
}

/* Reads the last FILE_MOST bytes, from the beginning of an entry. The caller frees them. */
static char *read_tail(int handle, size_t *out_bytes)
{
    struct stat status;
    off_t from;
    char *text = malloc(FILE_MOST + 1), *begin;
    ssize_t got = 1;

    *out_bytes = 0;
    if (text == NULL || fstat(handle, &status) != 0) {
        free(text);
        return NULL;
    }
    from = status.st_size > FILE_MOST ? status.st_size - FILE_MOST : 0;
    while (got > 0 && *out_bytes < FILE_MOST) {
        got = pread(handle, text + *out_bytes, FILE_MOST - *out_bytes, from + (off_t)*out_bytes);
        *out_bytes += got > 0 ? (size_t)got : 0;
    }
    text[*out_bytes] = '\0';
    begin = from == 0 ? text : memchr(text, '\n', *out_bytes);
    if (begin != NULL && begin != text) {
        begin++;
        *out_bytes -= (size_t)(begin - text);
        memmove(text, begin, *out_bytes + 1);
    }
    return text;
}

/* Finds the beginning of the newest entries. */
static const char *newest(const char *text, size_t bytes, int most)
{
    const char *at = text + bytes;

    if (at > text && at[-1] == '\n')
        at--;
    while (at > text)
        if (at[-1] == '\n' && --most == 0)
            break;
        else
            at--;
    return at;
}

static void decode(char *line)
{
    char *to = line;

    for (const char *from = line; *from != '\0'; from++)
        if (*from == '\\' && from[1] != '\0')
            *to++ = *++from == 'n' ? '\n' : *from;
        else
            *to++ = *from;
    *to = '\0';
}

int line_history_read(void (*take)(void *data, const char *entry), void *data)
{
    char path[PATH_MAX];
    char *text, *line;
    size_t bytes;
    int handle, code = find_path(path);

    if (code != 0)
        return code;
    handle = open_own(path, O_RDONLY);
    if (handle < 0)
        return errno == ENOENT ? 0 : errno;
    text = read_tail(handle, &bytes);
    close(handle);
    if (text == NULL)
        return ENOMEM;
    line = text + (newest(text, bytes, LINE_HISTORY_MOST) - text);
    while (*line != '\0') {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        decode(line);
        if (*line != '\0')
            take(data, line);
        if (end == NULL)
            break;
        line = end + 1;
    }
    free(text);
    return 0;
}

static int write_whole(int handle, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(handle, text, bytes);

        if (written < 0 && errno != EINTR)
            return errno;
        text += written < 0 ? 0 : written;
        bytes -= written < 0 ? 0 : (size_t)written;
    }
    return 0;
}

/* Replaces the file by the newer half of its entries; the caller holds the lock. */
static int shorten(int handle, const char *path)
{
    char beside[PATH_MAX];
    size_t bytes;
    char *text = read_tail(handle, &bytes);
    const char *from;
    int fresh = -1, code = 0;

    if (text == NULL)
        return ENOMEM;
    from = newest(text, bytes, LINE_HISTORY_MOST / 2);
    if ((size_t)(text + bytes - from) > FILE_MOST / 2)
        from = text + bytes - FILE_MOST / 2 + strcspn(text + bytes - FILE_MOST / 2, "\n");
    from += *from == '\n';
    if (snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= (int)sizeof(beside) || (fresh = mkstemp(beside)) < 0)
        code = fresh < 0 ? errno : ENAMETOOLONG;
    if (code == 0)
        code = write_whole(fresh, from, (size_t)(text + bytes - from));
    if (code == 0 && (fsync(fresh) != 0 || rename(beside, path) != 0))
        code = errno;
    if (fresh >= 0) {
        close(fresh);
        if (code != 0)
            unlink(beside);
    }
    free(text);
    return code;
}

/* Encodes an entry as a line, which the caller frees. Begins with an end of line if the last write was cut short. */
static char *encode(int handle, const char *entry, size_t *out_bytes)
{
    char *line = malloc(2 * strlen(entry) + 3), *to = line, last = '\n';
    struct stat status;

    if (line == NULL)
        return NULL;
    if (fstat(handle, &status) == 0 && status.st_size > 0 && pread(handle, &last, 1, status.st_size - 1) == 1 &&
        last != '\n')
        *to++ = '\n';
    for (; *entry != '\0'; entry++) {
        if (*entry == '\\' || *entry == '\n')
            *to++ = '\\';
        *to++ = *entry == '\n' ? 'n' : *entry;
    }
    *to++ = '\n';
    *out_bytes = (size_t)(to - line);
    return line;
}

int line_history_add(const char *entry)
{
    char path[PATH_MAX];
    struct stat status;
    char *line;
    size_t bytes;
    int handle, code = find_path(path);

    if (code != 0 || strlen(entry) > ENTRY_MOST)
        return code;
    code = make_folders(path);
    if (code != 0)
        return code;
    handle = open_locked(path);
    if (handle < 0)
        return errno;
    line = encode(handle, entry, &bytes);
    code = line == NULL ? ENOMEM : write_whole(handle, line, bytes);
    free(line);
    if (code == 0 && fstat(handle, &status) == 0 && status.st_size > FILE_MOST)
        code = shorten(handle, path);
    close(handle);
    return code;
}
