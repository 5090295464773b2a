/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sdk/conform/text.h"

#define GRACE_NS 1000000000u /* grace period for a killed process to end; one that hangs in the kernel does not end */
#define SLICE_MS 5           /* polling interval if the kernel has no pidfd */
#define CHUNKS 256           /* chunks read of one stream at a time: a process may never stop writing */
#define FIRST_FREE 10        /* lowest descriptor that the program does not inherit */

enum { OUTPUT, COMPLAINTS, ANSWER, STREAMS };

/* The ends of the pipes; -1 where closed. */
struct pipes {
    int ours[STREAMS], theirs[STREAMS];
    int process; /* pidfd, or -1 */
};

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static int move_up(int descriptor)
{
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_FREE);

    close(descriptor);
    return moved;
}

static bool open_pipes(struct pipes *pipes)
{
    for (int i = 0; i < STREAMS; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) != 0)
            return false;
        pipes->ours[i] = move_up(ends[0]);
        pipes->theirs[i] = move_up(ends[1]);
        if (pipes->ours[i] < 0 || pipes->theirs[i] < 0 || fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK) != 0)
            return false;
    }
    return true;
}

/* Sets up the new process: a process group of its own, default signal actions, four descriptors. Calls only
 * functions that are async-signal-safe. */
static _Noreturn void become(const char *program, char *const *arguments, const struct pipes *pipes)
{
    const int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;

    setpgid(0, 0);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (nothing > 0)
        dup2(nothing, 0);
    for (int i = 0; i < STREAMS; i++)
        dup2(pipes->theirs[i], i + 1);
    if (nothing > STREAMS)
        close(nothing);
    execv(program, arguments);
    _exit(127);
}

static void store_tail(struct process_stream *stream, const char *data, size_t bytes)
{
    const size_t added = bytes < PROCESS_TAIL ? bytes : PROCESS_TAIL;
    const size_t old = stream->bytes < PROCESS_TAIL - added ? stream->bytes : PROCESS_TAIL - added;

    memmove(stream->data, stream->data + stream->bytes - old, old);
    memcpy(stream->data + old, data + bytes - added, added);
    stream->bytes = old + added;
    stream->data[stream->bytes] = '\0';
    stream->total += bytes;
}

static void keep(struct process_end *end, int stream, const char *data, size_t bytes)
{
    if (stream != ANSWER) {
        store_tail(stream == OUTPUT ? &end->output : &end->complaints, data, bytes);
    } else if (bytes > sizeof(end->answer) - end->answer_bytes) {
        end->too_much = true;
    } else {
        memcpy(end->answer + end->answer_bytes, data, bytes);
        end->answer_bytes += bytes;
    }
}

/* Reads all that the pipes hold now. */
static void drain(struct pipes *pipes, struct process_end *end)
{
    char data[4096];

    for (int i = 0; i < STREAMS; i++)
        for (int chunk = 0; chunk < CHUNKS && pipes->ours[i] >= 0; chunk++) {
            const ssize_t got = read(pipes->ours[i], data, sizeof(data));

            if (got > 0)
                keep(end, i, data, (size_t)got);
            else if (got < 0 && errno == EAGAIN)
                break;
            else if (got == 0 || errno != EINTR)
                close_one(&pipes->ours[i]);
        }
}

/* Returns whether the process ended. It stays a zombie, so its pid and process group are not reused. */
static bool has_ended(pid_t process)
{
    siginfo_t facts = {0};

    return waitid(P_PID, (id_t)process, &facts, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno != EINTR : facts.si_pid != 0;
}

static bool wait_until(struct pipes *pipes, pid_t process, uint64_t deadline, struct process_end *end)
{
    for (;;) {
        struct pollfd list[STREAMS + 1];
        const uint64_t now = clock_now();
        int rest = now >= deadline ? 0 : (int)((deadline - now) / 1000000u) + 1;
        bool is_over;

        for (int i = 0; i < STREAMS; i++)
            list[i] = (struct pollfd){pipes->ours[i], POLLIN, 0};
        list[STREAMS] = (struct pollfd){pipes->process, POLLIN, 0};
        poll(list, STREAMS + 1, pipes->process < 0 && rest > SLICE_MS ? SLICE_MS : rest);
        is_over = has_ended(process);
        drain(pipes, end);
        if (is_over || now >= deadline)
            return is_over;
    }
}

static void reap(pid_t process, struct process_end *end)
{
    int status = 0;

    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        end->signal = WTERMSIG(status);
    else
        end->status = WEXITSTATUS(status);
}

int32_t process_run(const char *program, char *const *arguments, uint32_t milliseconds, struct process_end *out_end,
                    struct accel_error *error)
{
    struct pipes pipes = {{-1, -1, -1}, {-1, -1, -1}, -1};
    const uint64_t began = clock_now();
    pid_t process = -1;

    memset(out_end, 0, sizeof(*out_end));
    signal(SIGCHLD, SIG_DFL); /* SIG_IGN would discard the exit status */
    if (open_pipes(&pipes))
        process = fork();
    if (process == 0)
        become(program, arguments, &pipes);
    if (process < 0)
        accel_error_set(error, ACCEL_E_IO, "cannot start a child process: %s", strerror(errno));
    for (int i = 0; i < STREAMS; i++)
        close_one(&pipes.theirs[i]);
    if (process > 0) {
        setpgid(process, process);
        pipes.process = (int)syscall(SYS_pidfd_open, process, 0);
        out_end->timed_out = !wait_until(&pipes, process, began + (uint64_t)milliseconds * 1000000u, out_end);
        kill(-process, SIGKILL);
        if (!out_end->timed_out || wait_until(&pipes, process, clock_now() + GRACE_NS, out_end))
            reap(process, out_end);
        out_end->nanoseconds = clock_now() - began;
    }
    close_one(&pipes.process);
    for (int i = 0; i < STREAMS; i++)
        close_one(&pipes.ours[i]);
    return process < 0 ? ACCEL_E_IO : ACCEL_OK;
}
