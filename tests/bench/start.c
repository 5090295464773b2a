/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nothing to the first token of a one-token prompt, stage by stage, beside what reading the file's bytes takes.
 *
 *     start FILE [ROUNDS [KEY=VALUE...]]      without: 5
 *
 * Each round in a process of its own. Milliseconds of the wall, least of all rounds, and of processors in that round;
 * reading is read(2) of the whole file by one thread, piece by piece into one buffer of a MiB, in turns with the
 * starts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <accel/accel.h>
#include <accel/model/session.h>

enum { PIECE = 1 << 20, SETTINGS_MOST = 16 };

enum stage { READING, DISCOVER, OPEN, PLAN, LOAD, STEP, ALL, STAGES };

static const char *const names[STAGES] = {"read(2)",          "context, discover", "open the model", "plan, session",
                                          "load the session", "first step",        "all but reading"};

struct times {
    double wall[STAGES];
    double processors[STAGES];
};

struct clocks {
    double wall, processors;
};

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void stop_on(int32_t code, const struct accel_error *error)
{
    if (code == ACCEL_OK)
        return;
    fprintf(stderr, "start: %s (%s) %s\n", error->text, accel_error_name(code), error->remedy);
    _exit(1);
}

/* Ends a stage: its time since the one before. */
static void end(struct times *times, enum stage stage, struct clocks *clocks)
{
    struct clocks now = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};

    times->wall[stage] = now.wall - clocks->wall;
    times->processors[stage] = now.processors - clocks->processors;
    if (stage != READING) {
        times->wall[ALL] += times->wall[stage];
        times->processors[ALL] += times->processors[stage];
    }
    *clocks = now;
}

static void read_file(const char *path)
{
    static char piece[PIECE];
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;

    while (handle >= 0 && got > 0)
        got = read(handle, piece, sizeof(piece));
    if (handle < 0 || got < 0) {
        perror(path);
        _exit(1);
    }
    close(handle);
}

static void start(const char *path, const struct accel_named_value *given, uint32_t count, struct times *times)
{
    struct accel_session_options options = {.size = sizeof(options), .overrides = given, .override_count = count};
    struct clocks clocks = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
    struct accel_session *session = NULL;
    struct accel_context *context = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    const float *logits;
    const int32_t id = 1;

    stop_on(accel_context_create(NULL, &context, &error), &error);
    stop_on(accel_context_discover(context, &error), &error);
    end(times, DISCOVER, &clocks);
    stop_on(accel_model_open(path, NULL, &model, &error), &error);
    end(times, OPEN, &clocks);
    stop_on(accel_session_create(context, model, &options, &session, &error), &error);
    end(times, PLAN, &clocks);
    stop_on(accel_session_load(session, &error), &error);
    end(times, LOAD, &clocks);
    stop_on(accel_session_feed(session, &id, 1, &logits, &error), &error);
    end(times, STEP, &clocks);
}

/* In a process of its own, which ends without freeing. */
static void round_of(const char *path, const struct accel_named_value *given, uint32_t count, uint32_t reading,
                     struct times *out_times)
{
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror("start");
        exit(1);
    }
    if (child == 0) {
        struct times times = {0};
        struct clocks clocks = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};

        if (reading) {
            read_file(path);
            end(&times, READING, &clocks);
        } else {
            start(path, given, count, &times);
        }
        _exit(write(ends[1], &times, sizeof(times)) == (ssize_t)sizeof(times) ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], out_times, sizeof(*out_times)) != (ssize_t)sizeof(*out_times))
        exit(1);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void keep_least(struct times *best, const struct times *times)
{
    for (uint32_t s = 0; s < STAGES; s++)
        if (times->wall[s] > 0 && (best->wall[s] == 0 || times->wall[s] < best->wall[s])) {
            best->wall[s] = times->wall[s];
            best->processors[s] = times->processors[s];
        }
}

int main(int count, char **arguments)
{
    struct accel_named_value given[SETTINGS_MOST];
    uint32_t settings = 0;
    struct times best = {0}, times;
    uint64_t rounds = count > 2 ? strtoull(arguments[2], NULL, 10) : 5;

    if (count < 2 || rounds == 0) {
        fprintf(stderr, "usage: start FILE [ROUNDS [KEY=VALUE...]]\n");
        return 2;
    }
    for (int i = 3; i < count && settings < SETTINGS_MOST; i++) {
        char *equals = strchr(arguments[i], '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        given[settings++] = (struct accel_named_value){arguments[i], equals + 1, "benchmark's arguments"};
    }
    for (uint64_t r = 0; r < rounds; r++)
        for (uint32_t reading = 0; reading < 2; reading++) {
            round_of(arguments[1], given, settings, reading, &times);
            keep_least(&best, &times);
        }
    for (uint32_t s = 0; s < STAGES; s++)
        printf("%-18s %9.2f ms, %9.2f ms of processors\n", names[s], 1e3 * best.wall[s], 1e3 * best.processors[s]);
    printf("%-18s %9.2f\n", "all / read(2)", best.wall[ALL] / best.wall[READING]);
    return 0;
}
