/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the time to the first token of a one-token prompt from a fresh start: discover, plan, load, one step.
 * Each start is a process of its own, forked before this one has opened anything, so that no driver, no compiled
 * kernel and no mapped page is left over; the start of the program itself is not included. The time to read the
 * bytes of the file from the page cache is listed for comparison. If the driver compiles kernels, two more rows
 * follow: starts without the kernels that it, or a library below it, has cached on disk, and starts that compile
 * each kernel with the set that first uses it (its option precompile). */
#define _GNU_SOURCE
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/model.h"
#include "tools/accelctl/bench/rows.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/scratch.h"

enum { PIECE = 1 << 20 };

/* Least file size for which reading bounds a start: below it, creating the processes of the probe takes longer. */
#define LEAST_BOUNDING ((uint64_t)32 << 20)

/* ---- the file ---- */

struct file_reader {
    const char *path;
    uint64_t bytes;
    uint32_t failed;
};

static void read_part(void *context, uint32_t thread, uint32_t threads)
{
    struct file_reader *reader = context;
    const uint64_t begin = reader->bytes / threads * thread;
    const uint64_t end = thread + 1 == threads ? reader->bytes : reader->bytes / threads * (thread + 1);
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

/* Evicts the file's pages from the page cache, except those that another process has mapped. */
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

/* Preparation before the clock starts. */
enum before { BEFORE_NOTHING, BEFORE_FORGET_FILE, BEFORE_FORGET_CACHE, BEFORE_FORGET_KERNELS };

struct start {
    const char *name;
    enum before before;
    uint32_t no_cache;
    uint32_t by_use; /* 1: each kernel is compiled with the set that first uses it */
    uint32_t quiet;  /* 1: the child prints nothing, not even its error */
};

/* Answer of the child to its parent. */
struct answer {
    double seconds;
    char driver[64]; /* of the device that ran */
};

static void name_driver(const struct opened *opened, struct answer *answer)
{
    const struct accel_device_info *device = accel_plan_device(accel_session_plan(opened->session));
    const char *name = device == NULL ? "" : device->name;

    snprintf(answer->driver, sizeof(answer->driver), "%.*s", (int)strcspn(name, ":"), name);
}

/* Runs one start in the child, which prints its error itself. Only the time to the first token counts; everything
 * is closed all the same, since libraries below drivers write their caches on disk by then. Answers an exit code. */
static int start_once(const struct bench *bench, const struct start *start, const char *driver, struct answer *answer)
{
    struct common common = bench->chosen->common;
    char option[96];
    struct accel_named_value more[2];
    struct wish wish = {
        .path = bench->path, .more = more, .outputs = 1, .runs = 1, .is_repeated = 1, .command = "bench"};
    struct opened opened = {0};
    struct accel_error error = {0};
    const float *logits;
    const int32_t id = 0;
    const double begun = measure_seconds();
    int code;

    snprintf(option, sizeof(option), "%s.precompile", driver);
    /* On another device --threads is the number of those that read the file alone. */
    if (common.device == NULL || strncmp(common.device, "cpu", 3) == 0)
        wish.more_count += bench_override_threads(bench, more);
    if (start->by_use)
        more[wish.more_count++] = (struct accel_named_value){option, "false", "the command bench: its test of load"};
    common.no_cache |= start->no_cache;
    code = open_model(&common, &wish, &opened);
    if (code < 0 && (load_session(&opened, &error) != ACCEL_OK ||
                     accel_session_feed(opened.session, &id, 1, &logits, &error) != ACCEL_OK))
        code = report_error(common.json, &error);
    if (code < 0) {
        answer->seconds = measure_seconds() - begun;
        name_driver(&opened, answer);
        accel_session_store(opened.session, NULL, NULL);
        code = EXIT_DONE;
    }
    close_model(&opened);
    return code;
}

static void be_child(const struct bench *bench, const struct start *start, const char *driver, int handle)
{
    struct answer answer = {0};
    int null = start->quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    int code;

    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (start->quiet && (null < 0 || dup2(null, output_file()) < 0 || dup2(null, STDERR_FILENO) < 0 ||
                         dup2(null, error_output_file()) < 0))
        _exit(EXIT_FAILED);
    code = start_once(bench, start, driver, &answer);
    if (write(handle, &answer, sizeof(answer)) != (ssize_t)sizeof(answer) && code == EXIT_DONE)
        code = EXIT_FAILED;
    fflush(NULL);
    _exit(code);
}

/* Answers -1 with the time, or with bench->interrupted set, or an exit code after an error was said. */
static int start_in_child(struct bench *bench, const struct start *start, const char *driver, struct answer *out_answer)
{
    const uint32_t json = bench->chosen->common.json;
    int ends[2], status = 0, failure;
    ssize_t got = 0;
    pid_t child;

    memset(out_answer, 0, sizeof(*out_answer));
    if (pipe2(ends, O_CLOEXEC) != 0)
        return report_error_text(json, EXIT_FAILED, "ACCEL_E_IO", strerror(errno), NULL);
    fflush(NULL);
    child = fork();
    failure = errno;
    if (child == 0)
        be_child(bench, start, driver, ends[1]);
    close(ends[1]);
    if (child > 0)
        got = read(ends[0], out_answer, sizeof(*out_answer));
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (progress_update(&bench->progress, 0, 1) != 0) {
        bench->interrupted = 1;
        return -1;
    }
    if (child < 0)
        return report_error_format(json, EXIT_FAILED, "ACCEL_E_IO",
                                   failure == EAGAIN   ? PROCESSES_REMEDY
                                   : failure == ENOMEM ? MEMORY_REMEDY
                                                       : NULL,
                                   "cannot start a process that loads the model: %s", strerror(failure));
    if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_DONE)
        return WEXITSTATUS(status);
    if (got == (ssize_t)sizeof(*out_answer) && out_answer->seconds > 0)
        return -1;
    return report_error_text(json, EXIT_FAILED, "ACCEL_E_INTERNAL",
                             "the process that loads the model ended without an answer", NULL);
}

/* ---- the tests ---- */

static const struct start starts[] = {
    {"start, cold file", BEFORE_FORGET_FILE, 0, 0, 0},
    {"start, first run", BEFORE_FORGET_CACHE, 0, 0, 0},
    {"start, second run", BEFORE_NOTHING, 0, 0, 0},
    {"start, no cache", BEFORE_NOTHING, 1, 0, 0},
};

/* Starts that only drivers with a kernel compiler have. */
static const struct start kernel_starts[] = {
    {"start, no cached kernels", BEFORE_FORGET_KERNELS, 0, 0, 0},
    {"start, first run, compiled by use", BEFORE_FORGET_CACHE, 0, 1, 0},
    {"start, second run, compiled by use", BEFORE_NOTHING, 0, 1, 0},
    {"start, no cached kernels, compiled by use", BEFORE_FORGET_KERNELS, 0, 1, 0},
};

/* Selects an empty folder for the component cache, a new one for every first run. */
static void next_cache(const struct scratch *scratch, uint32_t number)
{
    char path[SCRATCH_PATH + 32];

    snprintf(path, sizeof(path), "%s/cache%u", scratch->path, number);
    (void)mkdir(path, 0700);
    /* Both the library and the drivers cache below this folder. */
    (void)setenv("XDG_CACHE_HOME", path, 1);
}

/* Removes the kernels that drivers cache, and the caches of libraries below them beside the library's folder; the
 * library's records of drivers and devices stay. */
static void forget_kernels(void)
{
    const char *folder = getenv("XDG_CACHE_HOME");
    char path[SCRATCH_PATH + 300];
    DIR *listed = folder == NULL ? NULL : opendir(folder);
    const struct dirent *entry;

    while (listed != NULL && (entry = readdir(listed)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s%s", folder, entry->d_name,
                 strcmp(entry->d_name, "accel") == 0 ? "/kernels" : "");
        scratch_clear(path);
    }
    if (listed != NULL)
        closedir(listed);
}

/* Measures reading the bytes of the file, as rows that starts are compared with. Answers the least time with all
 * threads; 0 on failure. */
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

/* State that all starts of a run share. */
struct starting {
    const struct scratch *scratch;
    uint32_t caches; /* folders that were made */
    double reading;  /* seconds that reading the file takes */
    uint64_t bytes;  /* of it */
    char driver[64]; /* of the device that runs; known behind the first start */
};

static int time_start(struct bench *bench, const struct start *start, struct starting *starting)
{
    struct bench_row *row = bench_row_add(bench, BENCH_LOAD, (uint32_t)bench->chosen->rounds, "%s", start->name);
    int code = -1;

    if (row == NULL)
        return report_error(bench->chosen->common.json, &bench->error);
    row->unit = "ms";
    row->cost.bytes = (double)starting->bytes;
    row->bound = BENCH_BOUND_READ;
    if (starting->bytes >= LEAST_BOUNDING) {
        row->limit = starting->reading;
        snprintf(row->limit_name, sizeof(row->limit_name), "file read");
    }
    for (uint64_t r = 0; code < 0 && !bench->interrupted && r <= bench->chosen->rounds; r++) {
        struct answer answer;

        if (start->before == BEFORE_FORGET_CACHE)
            next_cache(starting->scratch, ++starting->caches);
        if (start->before == BEFORE_FORGET_KERNELS)
            forget_kernels();
        if (start->before == BEFORE_FORGET_FILE)
            forget_file(bench->path);
        code = start_in_child(bench, start, starting->driver, &answer);
        if (code < 0 && r > 0 && answer.seconds > 0)
            bench_row_time(row, answer.seconds);
        if (code < 0 && answer.seconds > 0)
            memcpy(starting->driver, answer.driver, sizeof(starting->driver));
    }
    return code;
}

/* Returns whether the driver has the option precompile: a start that sets it succeeds. Errors of other drivers are
 * not shown. */
static bool compiles_kernels(struct bench *bench, const struct starting *starting)
{
    const struct start start = {.name = "", .by_use = 1, .quiet = 1};
    struct answer answer;

    return start_in_child(bench, &start, starting->driver, &answer) < 0 && !bench->interrupted;
}

static int run_starts(struct bench *bench, const struct scratch *scratch, uint64_t bytes)
{
    const uint32_t threads = bench->chosen->threads.value != 0 ? (uint32_t)bench->chosen->threads.value
                                                               : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    double one = time_reading(bench, bytes, 1), reading = one;
    struct starting starting = {.scratch = scratch, .bytes = bytes};
    int code = -1;

    if (one != 0 && threads > 1)
        reading = time_reading(bench, bytes, threads < MEASURE_THREADS ? threads : MEASURE_THREADS);
    if (one == 0 || reading == 0)
        return report_error(bench->chosen->common.json, &bench->error);
    starting.reading = one < reading ? one : reading;
    next_cache(scratch, starting.caches);
    for (uint32_t i = 0; code < 0 && !bench->interrupted && i < sizeof(starts) / sizeof(*starts); i++)
        code = time_start(bench, &starts[i], &starting);
    if (code >= 0 || bench->interrupted || !compiles_kernels(bench, &starting))
        return code;
    for (uint32_t i = 0; code < 0 && !bench->interrupted && i < sizeof(kernel_starts) / sizeof(*kernel_starts); i++)
        code = time_start(bench, &kernel_starts[i], &starting);
    return code;
}

int bench_load(struct bench *bench)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    struct scratch scratch = {0};
    struct stat facts;
    char *before;
    int code;

    if (stat(bench->path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        bench_warn(bench, "load is left out: %s is a folder, not one file", bench->path);
        return -1;
    }
    if (stat(bench->path, &facts) != 0)
        return -1; /* the model's error is more specific */
    code = scratch_make(bench->chosen->common.json, &scratch);
    if (code >= 0)
        return code;
    before = cache == NULL ? NULL : strdup(cache);
    progress_next(&bench->progress, "loading");
    code = run_starts(bench, &scratch, (uint64_t)facts.st_size);
    /* Restores the variable, since this process would otherwise make the folder again when it writes its caches at
     * exit. */
    if (before != NULL)
        (void)setenv("XDG_CACHE_HOME", before, 1);
    else
        (void)unsetenv("XDG_CACHE_HOME");
    free(before);
    scratch_remove(&scratch);
    return code;
}
