/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: the driver of second.h as a plugin over the file MOCK_UNDER, which does in a slot what MOCK_HOSTILE says:
 * SLOT=exit, =abort, =bus, =deep (of calls), =late (crashes when the process ends), =hang, =busy (hangs and computes),
 * =deaf (hangs with all signals blocked), =mask, =print, =terminal, =nan (of run), =many (of estimate), or =CODE, a
 * number that is answered without a text. compile=slow is none: it takes a minute and asks whether to go on. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mock/second.h"

#define NOTE "abi_major=0\nabi_minor=2\nabi_lowest=2\nname=second\nversion=1.0\nlicence=Apache-2.0\neffects=threads\n"

_Static_assert(ACCEL_ABI_MAJOR == 0 && ACCEL_ABI_MINOR == 2, "the note names the version");

static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[8];
    char text[sizeof(NOTE)];
} note __attribute__((__section__(".note.accel"), __used__, __aligned__(4))) = {6, sizeof(NOTE) - 1, 1, "accel", NOTE};

/* Makes the file that MOCK_HANGS names: a test sends its signal then. */
static void tell_hanging(void)
{
    const char *path = getenv("MOCK_HANGS");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL)
        fclose(file);
}

/* Calls itself until the stack is full. */
static uint32_t go_deep(uint32_t depth)
{
    volatile char frame[4096];
    frame[depth % sizeof(frame)] = 1;
    return depth == UINT32_MAX ? 0 : go_deep(depth + 1) + (uint32_t)frame[depth % sizeof(frame)];
}

static void crash(void)
{
    raise(SIGSEGV);
}

/* As libraries of vendors do, by both ways. */
static void print(const char *slot)
{
    static const char words[] = "\tthe vendor's runtime says \033]0;title\a\033[31mhello\n";
    printf("in %s, ", slot);
    fflush(stdout);
    if (write(STDOUT_FILENO, words, sizeof(words) - 1) < 0)
        abort();
    printf("and once more, which stays in the buffer\n");
}

static int32_t before(const char *slot, struct accel_error *error)
{
    const char *how = getenv("MOCK_HOSTILE");
    size_t length = strlen(slot);
    sigset_t all;
    if (how == NULL || strncmp(how, slot, length) != 0 || how[length] != '=')
        return ACCEL_OK;
    how += length + 1;
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "bus") == 0)
        raise(SIGBUS);
    if (strcmp(how, "deep") == 0)
        return (int32_t)go_deep(0);
    if (strcmp(how, "late") == 0)
        return atexit(crash) == 0 ? ACCEL_OK : ACCEL_E_MEMORY;
    if (strcmp(how, "complain") == 0)
        fprintf(stderr, "in %s, an error of the vendor's runtime \033[31mred\n", slot);
    if (strcmp(how, "print") == 0) {
        print(slot);
        return ACCEL_OK;
    }
    if (strcmp(how, "deaf") == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
        how = "hang";
    }
    if (strcmp(how, "hang") == 0 || strcmp(how, "busy") == 0 || strcmp(how, "slow") == 0)
        tell_hanging();
    while (strcmp(how, "busy") == 0)
        ;
    if (strcmp(how, "slow") == 0 || strcmp(how, "team") == 0 || strcmp(how, "nan") == 0 || strcmp(how, "many") == 0)
        return ACCEL_OK;
    while (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "mask") == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    error->code = atoi(how);
    if (strcmp(how, "terminal") == 0) {
        error->code = ACCEL_E_IO;
        snprintf(error->text, sizeof(error->text), "\x1b[31mred\xc2\x9b\xe2\x80\xae\xff");
    }
    return error->code;
}

static void count_thread(void *argument, uint32_t thread, uint32_t threads)
{
    (void)thread, (void)threads;
    atomic_fetch_add((atomic_uint *)argument, 1);
}

/* Twice: the threads of the first time do for the second. */
static int32_t tell_team(const struct accel_team *team, struct accel_error *error)
{
    atomic_uint ran = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (team->run(team, team->threads, count_thread, &ran, error) != ACCEL_OK)
            return error->code;
    error->code = ACCEL_E_REFUSED;
    snprintf(error->text, sizeof(error->text), "of %u threads %u ran twice", team->threads, (unsigned)ran / 2);
    return ACCEL_E_REFUSED;
}

/* run=nan: a computation that is wrong. */
static void spoil(const char *slot, float *values, uint64_t count)
{
    const char *how = getenv("MOCK_HOSTILE");
    (void)slot;
    for (uint64_t i = 0; i < count && how != NULL && strcmp(how, "run=nan") == 0; i++)
        values[i] = NAN;
}

/* estimate=many: two million lines, whatever the sink answers. */
static void estimate_much(const struct accel_estimate_sink *sink)
{
    const char *how = getenv("MOCK_HOSTILE");
    struct accel_error error = {0};
    for (uint32_t i = 0; i < 2000000 && how != NULL && strcmp(how, "estimate=many") == 0; i++)
        sink->bytes(sink, 0, ACCEL_MEMORY_SCRATCH, 1, 1, "a line of many", &error);
}

static int32_t compiling(const struct accel_task *task, struct accel_error *error)
{
    const char *how = getenv("MOCK_HOSTILE");
    int32_t code = ACCEL_OK;
    if (how != NULL && strcmp(how, "compile=team") == 0)
        return tell_team(task->team, error);
    for (uint32_t i = 0; how != NULL && strcmp(how, "compile=slow") == 0 && i < 600 && code == ACCEL_OK; i++) {
        code = task->progress(task, i, 600);
        usleep(100000);
    }
    if (code != ACCEL_OK) {
        error->code = code;
        snprintf(error->text, sizeof(error->text), "compiling was stopped");
    }
    return code;
}

__attribute__((__visibility__("default"))) int32_t
accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver, struct accel_error *error);
__attribute__((__visibility__("default"))) int32_t
accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver, struct accel_error *error)
{
    const char *under = getenv("MOCK_UNDER");
    (void)major;
    (void)minor;
    *out_driver = under == NULL ? NULL : second_load(under);
    second.before = before;
    second.compiling = compiling;
    second.after = spoil;
    second.estimating = estimate_much;
    return *out_driver != NULL ? ACCEL_OK : (error->code = ACCEL_E_NOT_FOUND);
}
