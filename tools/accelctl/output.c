/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

/* Files from here on are nobody's standard input, output or error output. */
enum { FIRST_OWN = 3 };

/* The one output of the process; a handler of a signal reads `file`. */
static struct {
    FILE *stream; /* NULL: stdout is */
    volatile sig_atomic_t file;
} own = {.file = STDOUT_FILENO};

/* A file that takes nothing, in the place of a standard output that is closed. */
static int open_closed(void)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int file = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, FIRST_OWN);

    if (null >= 0)
        close(null);
    return file;
}

/* What others print: with the errors, or nowhere. Who starts a program without an error output may leave it a file
 * there that is read. */
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

void output_begin(void)
{
    int file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN);
    int closed = file < 0 ? open_closed() : -1;
    FILE *stream;

    /* A stream to write to wants a file to write to; what is closed is put in its place. */
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

void output_give_back(void)
{
    if (own.stream == NULL)
        return;
    fflush(own.stream);
    dup2(own.file, STDOUT_FILENO);
}

FILE *output(void)
{
    return own.stream == NULL ? stdout : own.stream;
}

int output_file(void)
{
    return own.file;
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
