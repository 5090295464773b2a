/* SPDX-License-Identifier: Apache-2.0 */
/* Linux: memfd for the input, so that writing it neither blocks nor signals; pidfd to wait for the end together
 * with the pipes. */
#include "config.h"

#include "core/plugin/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"

extern char **environ;

/* Maximum time to wait for a killed child: one that hangs in a kernel driver cannot be killed. */
#define GRACE_NS 1000000000u
/* Interval between calls of the job's stop. */
#define STOP_MS 100
/* Interval of polls for the end if the kernel has no pidfd. */
#define SLICE_MS 5
/* First descriptor after input, output, error, answer and the extra one of the child. */
#define FIRST_FREE 5

enum { STREAM_OUTPUT, STREAM_COMPLAINTS, STREAM_ANSWER, STREAM_COUNT };

const char *accel_signal_name(int32_t number)
{
    static const char *const names[] = {
        [SIGSEGV] = "SIGSEGV", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
        [SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP", [SIGSYS] = "SIGSYS",   [SIGKILL] = "SIGKILL",
        [SIGTERM] = "SIGTERM", [SIGPIPE] = "SIGPIPE", [SIGXCPU] = "SIGXCPU", [SIGALRM] = "SIGALRM"};
    const bool is_listed = number > 0 && (size_t)number < sizeof(names) / sizeof(names[0]) && names[number];
    return is_listed ? names[number] : "a signal";
}

/* Descriptors of one run; -1 if closed. */
struct pipes {
    int input;
    int ours[STREAM_COUNT];
    int theirs[STREAM_COUNT];
    int process; /* pidfd */
};

static int32_t fail_system(struct accel_error *error, const char *what, int system_error)
{
    char reason[128];
    int32_t code =
        accel_error_by(error, ACCEL_FROM_SYSTEM, accel_file_code(system_error), "cannot start a child process: %s: %s",
                       what, strerror_r(system_error, reason, sizeof(reason)));
    if (system_error == EMFILE)
        accel_error_remedy(error, "let the process open more files (ulimit -n)");
    else if (system_error == ENFILE)
        accel_error_remedy(error, "close programs: the system has too many open files");
    else if (system_error == EAGAIN)
        accel_error_remedy(error, "let the user have more processes (ulimit -u)");
    else if (system_error == ENOMEM)
        accel_error_remedy(error, "free memory, or let the process have more (ulimit -v)");
    return code;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Moves a descriptor after the five of the child, so that creating those overwrites none of ours. */
static int move_up(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (fd >= 0)
        close(fd);
    return moved;
}

/* Uses a pipe for input that fits into it, else -1: a file would be refused under a file size limit (ulimit -f). */
static int make_pipe_input(const void *data, size_t bytes)
{
    int ends[2] = {-1, -1};
    ssize_t wrote = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        wrote = write(ends[1], data, bytes);
    close(ends[1]);
    if (wrote >= 0 && (size_t)wrote == bytes)
        return move_up(ends[0]);
    close(ends[0]);
    return -1;
}

static int make_input(const void *data, size_t bytes)
{
    int fd = make_pipe_input(data, bytes);
    size_t done = 0;
    if (fd >= 0)
        return fd;
    fd = move_up(memfd_create("accel-probe-input", MFD_CLOEXEC));
    while (fd >= 0 && done < bytes) {
        ssize_t wrote = write(fd, (const char *)data + done, bytes - done);
        if (wrote < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        if (wrote > 0)
            done += (size_t)wrote;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static int32_t open_pipes(const struct accel_child_job *job, struct pipes *pipes, struct accel_error *error)
{
    pipes->input = make_input(job->input, job->input_bytes);
    if (pipes->input < 0)
        return fail_system(error, "input", errno);
    for (int i = 0; i < STREAM_COUNT; i++) {
        int ends[2] = {-1, -1};
        if (pipe2(ends, O_CLOEXEC) != 0)
            return fail_system(error, "pipe", errno);
        pipes->ours[i] = move_up(ends[0]);
        pipes->theirs[i] = move_up(ends[1]);
        /* Makes only our end non-blocking, since it is read until nothing is left. */
        if (pipes->ours[i] < 0 || pipes->theirs[i] < 0 || fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK) != 0)
            return fail_system(error, "pipe", errno);
    }
    return ACCEL_OK;
}

static void close_pipes(struct pipes *pipes)
{
    close_one(&pipes->input);
    close_one(&pipes->process);
    for (int i = 0; i < STREAM_COUNT; i++) {
        close_one(&pipes->ours[i]);
        close_one(&pipes->theirs[i]);
    }
}

/* Gives the child its own process group, no blocked signal, and default signal actions. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int failure;
    sigemptyset(&none);
    sigfillset(&all);
    failure = posix_spawnattr_setsigmask(attributes, &none);
    if (failure == 0)
        failure = posix_spawnattr_setsigdefault(attributes, &all);
    if (failure == 0)
        failure = posix_spawnattr_setpgroup(attributes, 0);
    if (failure == 0)
        failure = posix_spawnattr_setflags(attributes,
                                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return failure;
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct pipes *pipes, int extra)
{
    int failure = posix_spawn_file_actions_adddup2(actions, pipes->input, 0);
    for (int i = 0; i < STREAM_COUNT && failure == 0; i++)
        failure = posix_spawn_file_actions_adddup2(actions, pipes->theirs[i], i + 1);
    if (failure == 0 && extra > 0)
        failure = posix_spawn_file_actions_adddup2(actions, extra, STREAM_COUNT + 1);
    return failure;
}

static int32_t start(const struct accel_child_job *job, struct pipes *pipes, pid_t *out_process,
                     struct accel_error *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0)
        return fail_system(error, job->program, failure);
    failure = posix_spawnattr_init(&attributes);
    if (failure == 0) {
        failure = set_attributes(&attributes);
        if (failure == 0)
            failure = set_actions(&actions, pipes, job->extra);
        if (failure == 0)
            failure = posix_spawn(out_process, job->program, &actions, &attributes, job->arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        return fail_system(error, job->program, failure);
    close_one(&pipes->input);
    for (int i = 0; i < STREAM_COUNT; i++)
        close_one(&pipes->theirs[i]);
    pipes->process = (int)syscall(SYS_pidfd_open, *out_process, 0);
    return ACCEL_OK;
}

/* Stores the last bytes. */
static void store_tail(struct accel_child_stream *stream, const char *data, size_t bytes)
{
    stream->total += bytes;
    if (bytes >= ACCEL_CHILD_TAIL) {
        memcpy(stream->data, data + bytes - ACCEL_CHILD_TAIL, ACCEL_CHILD_TAIL);
        stream->bytes = ACCEL_CHILD_TAIL;
    } else {
        size_t old = stream->bytes < ACCEL_CHILD_TAIL - bytes ? stream->bytes : ACCEL_CHILD_TAIL - bytes;
        memmove(stream->data, stream->data + stream->bytes - old, old);
        memcpy(stream->data + old, data, bytes);
        stream->bytes = old + bytes;
    }
    stream->data[stream->bytes] = '\0';
}

static void store(struct accel_child_end *end, int which, const char *data, size_t bytes)
{
    if (which == STREAM_OUTPUT) {
        store_tail(&end->output, data, bytes);
    } else if (which == STREAM_COMPLAINTS) {
        store_tail(&end->complaints, data, bytes);
    } else if (bytes > sizeof(end->answer) - end->answer_bytes) {
        end->too_much = true;
    } else {
        memcpy(end->answer + end->answer_bytes, data, bytes);
        end->answer_bytes += bytes;
    }
}

/* Reads available data, 1 MiB at most, so that a child that never stops writing cannot block us. */
static void drain(struct pipes *pipes, int which, struct accel_child_end *end)
{
    char chunk[4096];
    for (int i = 0; i < 256 && pipes->ours[which] >= 0; i++) {
        ssize_t got = read(pipes->ours[which], chunk, sizeof(chunk));
        if (got > 0)
            store(end, which, chunk, (size_t)got);
        else if (got < 0 && errno == EINTR)
            continue;
        else if (got < 0 && errno == EAGAIN)
            return;
        else
            close_one(&pipes->ours[which]);
    }
}

/* Returns whether the child has ended. It stays a zombie, so that its process id and group id are not reused. */
static bool has_ended(pid_t process, struct accel_child_end *end)
{
    siginfo_t facts;
    int result;
    memset(&facts, 0, sizeof(facts));
    do
        result = waitid(P_PID, (id_t)process, &facts, WEXITED | WNOHANG | WNOWAIT);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        end->lost = true;
    return result != 0 || facts.si_pid != 0;
}

/* Returns how long the first thread of a process was ready to run and had no processor; 0 if it is not known. */
static uint64_t time_without_processor(pid_t process)
{
    char path[48], *text = NULL;
    uint64_t nanoseconds = 0;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)process);
    if (accel_file_read(path, 256, &text, NULL, NULL) == ACCEL_OK)
        nanoseconds = strtoull(text + strcspn(text, " "), NULL, 10);
    free(text);
    return nanoseconds;
}

/* Waits for data or for the end, until the job, if any, is to stop, or until `deadline`. The deadline of a job moves by
 * the time that its process waited for a processor, so that a driver that works on a busy machine does not time out. */
static bool wait_for_end(const struct accel_child_job *job, struct pipes *pipes, pid_t process, uint64_t deadline,
                         struct accel_child_end *end)
{
    bool may_stop = job != NULL && job->stop != NULL;
    uint64_t waited = 0;
    for (;;) {
        struct pollfd list[STREAM_COUNT + 1];
        uint64_t now = accel_clock_ns();
        if (job != NULL && now >= deadline + waited)
            waited = time_without_processor(process);
        int rest = now >= deadline + waited ? 0 : (int)((deadline + waited - now) / 1000000u) + 1;
        for (int i = 0; i < STREAM_COUNT; i++)
            list[i] = (struct pollfd){pipes->ours[i], POLLIN, 0};
        list[STREAM_COUNT] = (struct pollfd){pipes->process, POLLIN, 0};
        if (pipes->process < 0 && rest > SLICE_MS)
            rest = SLICE_MS;
        if (may_stop && rest > STOP_MS)
            rest = STOP_MS;
        poll(list, STREAM_COUNT + 1, rest);
        for (int i = 0; i < STREAM_COUNT; i++)
            drain(pipes, i, end);
        if (has_ended(process, end)) {
            for (int i = 0; i < STREAM_COUNT; i++)
                drain(pipes, i, end);
            return true;
        }
        if (may_stop && job->stop(job->data))
            end->stopped = true;
        if (now >= deadline + waited || (may_stop && end->stopped))
            return false;
    }
}

/* Reaps a child that has ended and reads its status. */
static void reap(pid_t process, struct accel_child_end *end)
{
    int status = 0;
    pid_t got;
    do
        got = waitpid(process, &status, 0);
    while (got < 0 && errno == EINTR);
    if (got != process) {
        end->lost = true;
        return;
    }
    if (WIFSIGNALED(status))
        end->signal = WTERMSIG(status);
    else
        end->status = WEXITSTATUS(status);
}

int32_t accel_child_run(const struct accel_child_job *job, struct accel_child_end *out_end, struct accel_error *error)
{
    struct pipes pipes = {-1, {-1, -1, -1}, {-1, -1, -1}, -1};
    uint64_t began = accel_clock_ns();
    pid_t process = -1;
    bool ended;
    int32_t code;
    memset(out_end, 0, offsetof(struct accel_child_end, answer));
    code = open_pipes(job, &pipes, error);
    if (code == ACCEL_OK)
        code = start(job, &pipes, &process, error);
    if (code != ACCEL_OK) {
        close_pipes(&pipes);
        return code;
    }
    ended = wait_for_end(job, &pipes, process, began + (uint64_t)job->milliseconds * 1000000u, out_end);
    out_end->timed_out = !ended && !out_end->stopped;
    /* If another part of the process has reaped the child, its process id may have been reused. */
    if (!out_end->lost)
        kill(-process, SIGKILL);
    if (!ended)
        ended = wait_for_end(NULL, &pipes, process, accel_clock_ns() + GRACE_NS, out_end);
    if (ended && !out_end->lost)
        reap(process, out_end);
    out_end->nanoseconds = accel_clock_ns() - began;
    close_pipes(&pipes);
    return ACCEL_OK;
}
