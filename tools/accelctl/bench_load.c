/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nothing to the first token of a one-token prompt: discover, plan, load, one step. Each time in a process of its
 * own, forked before this one has looked at anything, so that no driver, no compiled kernel and no mapped page is left
 * over; the start of the program itself is not in it. Beside it stands what reading the bytes of the file from the page
 * cache takes.
 */
#define _GNU_SOURCE
#include "config.h"

#include "tools/accelctl/bench.h"
#include "tools/accelctl/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 1 << 20 };

/* ---- the file ---- */

struct file_reader {
    const char *path;
    uint64_t bytes;
    uint32_t failed;
};

static void read_part(void *context, uint32_t rank, uint32_t ranks)
{
    struct file_reader *reader = context;
    const uint64_t begin = reader->bytes / ranks * rank;
    const uint64_t end = rank + 1 == ranks ? reader->bytes : reader->bytes / ranks * (rank + 1);
    int handle = open(reader->path, O_RDONLY | O_CLOEXEC);
    char *piece = malloc(PIECE);
    uint64_t at = begin;

    while (handle >= 0 && piece != NULL && at < end) {
        const uint64_t wanted = end - at < PIECE ? end - at : PIECE;
        ssize_t got = pread(handle, piece, wanted, (off_t)at);

        if (got <= 0)
            break;
        at += (uint64_t)got;
    }
    if (at < end)
        reader->failed = 1;
    free(piece);
    if (handle >= 0)
        close(handle);
}

/* Asks the system to forget the file's pages; it keeps those that another process has mapped. */
static void forget_file(const char *path)
{
    int handle = open(path, O_RDONLY | O_CLOEXEC);

    if (handle < 0)
        return;
    (void)fdatasync(handle);
#ifdef POSIX_FADV_DONTNEED
    (void)posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
#endif
    close(handle);
}

/* ---- one start ---- */

/* In the child, which says its error itself. What comes after the first token is not counted: it ends without freeing.
 * Answers an exit code. */
static int start_once(const struct bench *bench, uint32_t no_cache, double *out_seconds)
{
    struct common common = bench->chosen->common;
    char threads[32];
    const struct accel_given more[] = {{"cpu.threads", threads, "accelctl bench --threads"}};
    const struct wish wish = {
        .path = bench->path, .more = more, .more_count = bench->chosen->threads != 0, .outputs = 1, .runs = 1};
    struct opened opened = {0};
    struct accel_error error = {0};
    const float *logits;
    const int32_t id = 0;
    const double begun = measure_seconds();
    int code;

    snprintf(threads, sizeof threads, "%" PRIu64, bench->chosen->threads);
    common.no_cache |= no_cache;
    code = open_model(&common, &wish, &opened);
    if (code >= 0)
        return code;
    if (accel_session_load(opened.session, &error) != ACCEL_OK ||
        accel_session_feed(opened.session, &id, 1, &logits, &error) != ACCEL_OK)
        return say_error(common.json, &error);
    *out_seconds = measure_seconds() - begun;
    return EXIT_DONE;
}

static void be_child(const struct bench *bench, uint32_t no_cache, int handle)
{
    double seconds = 0;
    int code;

    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    code = start_once(bench, no_cache, &seconds);
    if (write(handle, &seconds, sizeof seconds) != (ssize_t)sizeof seconds && code == EXIT_DONE)
        code = EXIT_FAILED;
    fflush(NULL);
    _exit(code);
}

/* Answers -1 with the time, or with bench->interrupted set, or an exit code after an error was said. */
static int start_in_child(struct bench *bench, uint32_t no_cache, double *out_seconds)
{
    const uint32_t json = bench->chosen->common.json;
    int ends[2], status = 0;
    ssize_t got = 0;
    pid_t child;

    *out_seconds = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return say(json, EXIT_FAILED, "ACCEL_E_IO", strerror(errno), NULL);
    fflush(NULL);
    child = fork();
    if (child == 0)
        be_child(bench, no_cache, ends[1]);
    close(ends[1]);
    if (child > 0)
        got = read(ends[0], out_seconds, sizeof *out_seconds);
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (working_tell(&bench->working, 0, 1) != 0) {
        bench->interrupted = 1;
        return -1;
    }
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) != EXIT_DONE)
        return WEXITSTATUS(status);
    if (got == (ssize_t)sizeof *out_seconds && *out_seconds > 0)
        return -1;
    return say(json, EXIT_FAILED, "ACCEL_E_INTERNAL", "the process that loads the model ended without an answer", NULL);
}

/* ---- the tests ---- */

/* What comes before the clock starts. */
enum before { BEFORE_NOTHING, BEFORE_FORGET_FILE, BEFORE_FORGET_CACHE };

static const struct start {
    const char *name;
    enum before before;
    uint32_t no_cache;
} starts[] = {
    {"start, cold file", BEFORE_FORGET_FILE, 0},
    {"start, first run", BEFORE_FORGET_CACHE, 0},
    {"start, second run", BEFORE_NOTHING, 0},
    {"start, no cache", BEFORE_NOTHING, 1},
};

/* An empty folder for the component cache, a new one for every first run. */
static void next_cache(const struct scratch *scratch, uint32_t number)
{
    char path[SCRATCH_PATH + 32];

    snprintf(path, sizeof path, "%s/cache%u", scratch->path, number);
    (void)mkdir(path, 0700);
    /* The library's cache, and those of drivers. */
    (void)setenv("XDG_CACHE_HOME", path, 1);
}

/* Reading the bytes, which is what starts are held against: rows of their own. Answers the least time with all threads;
 * 0: it failed. */
static double time_reading(struct bench *bench, uint64_t bytes, uint32_t threads)
{
    struct file_reader reader = {.path = bench->path, .bytes = bytes};
    struct bench_row *row = bench_row_add(bench, BENCH_LOAD, (uint32_t)bench->chosen->rounds, "file, %u thread%s",
                                          threads, threads == 1 ? "" : "s");
    double seconds;

    for (uint64_t r = 0; row != NULL && r <= bench->chosen->rounds; r++) {
        if (measure_team(threads, NULL, read_part, &reader, &seconds) != 0 || reader.failed) {
            accel_error_set(&bench->error, ACCEL_E_IO, "%s: cannot be read", bench->path);
            return 0;
        }
        if (r > 0)
            bench_row_time(row, seconds);
    }
    if (row == NULL)
        return 0;
    row->unit = "ms";
    row->cost.bytes = (double)bytes;
    row->bound = BENCH_BOUND_READ;
    bench_row_summarize(row);
    return row->time.median;
}

static int time_start(struct bench *bench, const struct start *start, const struct scratch *scratch, uint32_t *caches,
                      double reading, uint64_t bytes)
{
    struct bench_row *row = bench_row_add(bench, BENCH_LOAD, (uint32_t)bench->chosen->rounds, "%s", start->name);
    int code = -1;

    if (row == NULL)
        return say_error(bench->chosen->common.json, &bench->error);
    row->unit = "ms";
    row->cost.bytes = (double)bytes;
    row->bound = BENCH_BOUND_READ;
    row->limit = reading;
    snprintf(row->limit_name, sizeof row->limit_name, "file read");
    for (uint64_t r = 0; code < 0 && !bench->interrupted && r <= bench->chosen->rounds; r++) {
        double seconds;

        if (start->before == BEFORE_FORGET_CACHE)
            next_cache(scratch, ++*caches);
        if (start->before == BEFORE_FORGET_FILE)
            forget_file(bench->path);
        code = start_in_child(bench, start->no_cache, &seconds);
        if (code < 0 && r > 0 && seconds > 0)
            bench_row_time(row, seconds);
    }
    return code;
}

static int run_starts(struct bench *bench, const struct scratch *scratch, uint64_t bytes)
{
    const uint32_t threads =
        bench->chosen->threads != 0 ? (uint32_t)bench->chosen->threads : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t caches = 0;
    double one = time_reading(bench, bytes, 1), reading = one;
    int code = -1;

    if (one != 0 && threads > 1)
        reading = time_reading(bench, bytes, threads < MEASURE_RANKS ? threads : MEASURE_RANKS);
    if (one == 0 || reading == 0)
        return say_error(bench->chosen->common.json, &bench->error);
    next_cache(scratch, caches);
    for (uint32_t i = 0; code < 0 && !bench->interrupted && i < sizeof starts / sizeof *starts; i++)
        code = time_start(bench, &starts[i], scratch, &caches, one < reading ? one : reading, bytes);
    return code;
}

int bench_load(struct bench *bench)
{
    struct scratch scratch = {0};
    struct stat facts;
    int code;

    if (stat(bench->path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        bench_warn(bench, "load is left out: %s is a folder, not one file", bench->path);
        return -1;
    }
    if (stat(bench->path, &facts) != 0)
        return -1; /* the model's error says more */
    code = scratch_make(bench->chosen->common.json, &scratch);
    if (code >= 0)
        return code;
    working_on(&bench->working, "loading");
    code = run_starts(bench, &scratch, (uint64_t)facts.st_size);
    scratch_remove(&scratch);
    return code;
}
