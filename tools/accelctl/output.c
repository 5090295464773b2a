/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

/* First descriptor that is not the standard input, output or error output of any process. */
enum { FIRST_OWN = 3 };

/* Streams of the command; the signal handler reads `file`. A stream that is NULL is stdout or stderr. */
static struct stream {
    FILE *stream;
    volatile sig_atomic_t file;
} own = {.file = STDOUT_FILENO}, own_errors = {.file = STDERR_FILENO};

/* Opens a file that refuses writes, in place of a closed standard output. */
static int open_closed(void)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int file = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, FIRST_OWN);

    if (null >= 0)
        close(null);
    return file;
}

/* Redirects the prints of drivers and libraries to the error output, or to /dev/null. The caller of a program
 * without an error output may have left a file there that is only readable. */
static void lead_others_away(void)
{
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    int null;

    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO)
        return;
    null = open("/dev/null", O_RDWR);
    if (null >= 0 && null != STDOUT_FILENO) {
        dup2(null, STDOUT_FILENO);
        close(null);
    }
}

static void begin_output(void)
{
    /* A command that starts another program for a caller without standard output leaves it a file that is only
     * readable, see open_closed. */
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    bool writable = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    int file = writable ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN) : -1;
    int closed = file < 0 ? open_closed() : -1;
    FILE *stream;

    /* fdopen requires an open file, so the error output stands in until the closed one is put in its place. */
    if (closed >= 0)
        file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN);
    stream = file < 0 ? NULL : fdopen(file, "w");
    if (stream == NULL) {
        if (file >= 0)
            close(file);
        if (closed >= 0)
            close(closed);
        return;
    }
    if (closed >= 0) {
        dup3(closed, file, O_CLOEXEC);
        close(closed);
    }
    own.stream = stream;
    own.file = file;
    lead_others_away();
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static void begin_errors(void)
{
    int file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");

    if (stream == NULL) {
        if (file >= 0)
            close(file);
        return;
    }
    setvbuf(stream, NULL, _IONBF, 0);
    own_errors.stream = stream;
    own_errors.file = file;
}

void output_begin(void)
{
    begin_errors();
    begin_output();
}

void output_give_back(void)
{
    if (own.stream != NULL) {
        fflush(own.stream);
        dup2(own.file, STDOUT_FILENO);
    }
    if (own_errors.stream != NULL)
        dup2(own_errors.file, STDERR_FILENO);
}

FILE *output(void)
{
    return own.stream == NULL ? stdout : own.stream;
}

int output_file(void)
{
    return own.file;
}

FILE *error_output(void)
{
    return own_errors.stream == NULL ? stderr : own_errors.stream;
}

int error_output_file(void)
{
    return own_errors.file;
}

int print(const char *format, ...)
{
    va_list values;
    int count;

    va_start(values, format);
    count = vfprintf(output(), format, values);
    va_end(values);
    return count;
}

int print_char(int character)
{
    return putc(character, output());
}
