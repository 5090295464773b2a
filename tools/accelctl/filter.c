/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/output.h"

/* Longer lines are written in parts of LINE_BYTES. */
enum { LINE_BYTES = 1024, REST_MS = 50 };

/* State of the pipe from drivers and the libraries below them; one per process. */
static struct {
    pthread_t thread;
    volatile sig_atomic_t reads; /* end of the pipe that is read from; 0: there is none */
    atomic_uint ends;
    pid_t process; /* that has the thread: a child that was forked has none */
} filter;

static void write_line(const char *line)
{
    char clean[LINE_BYTES + 1];
    ssize_t written;

    clean_text(line, clean, sizeof(clean));
    written = write(error_output_file(), clean, strlen(clean));
    (void)written;
}

/* Writes the lines of `text`, and the rest after the last one. Zero bytes, which would end a line early, become
 * question marks, tabs become blanks, and carriage returns new lines. */
static void write_lines(char *text, size_t bytes)
{
    ssize_t written;

    for (size_t i = 0; i < bytes; i++)
        text[i] = text[i] == '\0' ? '?' : text[i] == '\t' ? ' ' : text[i] == '\r' ? '\n' : text[i];
    text[bytes] = '\0';
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        write_line(line);
        if (end == NULL)
            break;
        written = write(error_output_file(), "\n", 1);
        (void)written;
        line = end + 1;
    }
}

/* Forwards the available bytes: 1 if more may come, 0 at the end of the pipe. */
static uint32_t pass_on(void)
{
    char text[LINE_BYTES + 1];
    ssize_t got = read(filter.reads, text, LINE_BYTES);

    if (got > 0)
        write_lines(text, (size_t)got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void *read_all(void *data)
{
    struct pollfd wait = {.fd = filter.reads, .events = POLLIN};

    (void)data;
    for (;;) {
        int ready = poll(&wait, 1, REST_MS);

        if (ready > 0 && !pass_on())
            return NULL;
        /* Does not wait for the end of the pipe, which a child process of a driver may hold open. */
        if (ready == 0 && atomic_load(&filter.ends))
            return NULL;
    }
}

void filter_begin(void)
{
    sigset_t all, before;
    int ends[2], flags, failed;

    if (filter.reads != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    flags = fcntl(ends[0], F_GETFL);
    filter.reads = ends[0];
    atomic_store(&filter.ends, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = flags < 0 || fcntl(ends[0], F_SETFL, flags | O_NONBLOCK) != 0 ||
             pthread_create(&filter.thread, NULL, read_all, NULL) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        filter.reads = 0;
        close(ends[0]);
    } else {
        filter.process = getpid();
        fflush(NULL);
        dup2(ends[1], STDOUT_FILENO);
        if (isatty(error_output_file()) == 1 && error_output_file() != STDERR_FILENO)
            dup2(ends[1], STDERR_FILENO);
    }
    close(ends[1]);
}

void filter_end(void)
{
    int reads = filter.reads;

    if (reads == 0 || filter.process != getpid())
        return;
    fflush(NULL);
    dup2(error_output_file(), STDOUT_FILENO);
    if (error_output_file() != STDERR_FILENO)
        dup2(error_output_file(), STDERR_FILENO);
    atomic_store(&filter.ends, 1);
    pthread_join(filter.thread, NULL);
    filter.reads = 0;
    close(reads);
}

void filter_drain(void)
{
    struct pollfd wait = {.fd = filter.reads, .events = POLLIN};

    if (filter.reads == 0 || filter.process != getpid())
        return;
    for (uint32_t i = 0; i < 64 && poll(&wait, 1, 0) > 0 && (wait.revents & POLLIN) != 0; i++)
        pass_on();
}
