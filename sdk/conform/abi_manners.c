/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the process state before and after each slot: a driver must not change state that belongs to the
 * application. The core restores only the floating-point mode and the signal mask, so nothing else detects other
 * changes. */
#include "config.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/hash.h"
#include "sdk/conform/list.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

extern char **environ;

#define SIGNALS 65

/* Process state that a driver must leave unchanged. */
struct manners {
    sigset_t mask;
    struct sigaction actions[SIGNALS];
    int rounding;
    uint32_t float_mode;
    char locale[256];
    locale_t thread_locale;
    unsigned long processors[128]; /* affinity mask, in the kernel's layout */
    char folder[4096];
    uint64_t environment;
    mode_t file_mode;
    uint32_t threads, descriptors;
};

static uint32_t entries(const char *path)
{
    DIR *folder = opendir(path);
    uint32_t count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static uint32_t float_mode(void)
{
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3fu; /* without the sticky flags */
#else
    return 0;
#endif
}

static void look(struct manners *manners)
{
    memset(manners, 0, sizeof(*manners));
    pthread_sigmask(SIG_BLOCK, NULL, &manners->mask);
    for (int i = 1; i < SIGNALS; i++)
        sigaction(i, NULL, &manners->actions[i]);
    manners->rounding = fegetround();
    manners->float_mode = float_mode();
    snprintf(manners->locale, sizeof(manners->locale), "%s", setlocale(LC_ALL, NULL));
    manners->thread_locale = uselocale((locale_t)0);
    sched_getaffinity(0, sizeof(manners->processors), (cpu_set_t *)manners->processors);
    if (getcwd(manners->folder, sizeof(manners->folder)) == NULL)
        manners->folder[0] = '\0';
    for (char **at = environ; at != NULL && *at != NULL; at++)
        manners->environment = XXH3_64bits_withSeed(*at, strlen(*at), manners->environment);
    manners->file_mode = umask(0);
    umask(manners->file_mode);
    manners->threads = entries("/proc/self/task");
    manners->descriptors = entries("/proc/self/fd");
}

/* Returns the flags of a signal action without the one that the C library adds. */
static int flags_of(const struct sigaction *action)
{
    return action->sa_flags & ~0x04000000;
}

static void compare(struct conform *conform, const struct manners *before, const struct manners *after,
                    const char *effects)
{
    if (memcmp(&before->mask, &after->mask, sizeof(before->mask)) != 0)
        conform_fail(conform, "the signal mask was changed");
    for (int i = 1; i < SIGNALS; i++)
        if ((before->actions[i].sa_handler != after->actions[i].sa_handler ||
             flags_of(&before->actions[i]) != flags_of(&after->actions[i])) &&
            strstr(effects, "signals") == NULL)
            conform_fail(conform, "the handler of signal %d was changed", i);
    if (before->rounding != after->rounding || before->float_mode != after->float_mode)
        conform_fail(conform, "the floating-point mode was changed: MXCSR 0x%x before, 0x%x after", before->float_mode,
                     after->float_mode);
    if (strcmp(before->locale, after->locale) != 0)
        conform_fail(conform, "the locale was changed from %s to %s", before->locale, after->locale);
    if (before->thread_locale != after->thread_locale)
        conform_fail(conform, "the locale of the calling thread was changed");
    if (memcmp(before->processors, after->processors, sizeof(before->processors)) != 0)
        conform_fail(conform, "the processors of the calling thread were changed");
    if (strcmp(before->folder, after->folder) != 0)
        conform_fail(conform, "the working folder was changed to %s", after->folder);
    if (before->environment != after->environment)
        conform_fail(conform, "the environment was changed");
    if (before->file_mode != after->file_mode)
        conform_fail(conform, "the umask was changed");
    if (after->threads > before->threads && strstr(effects, "threads") == NULL)
        conform_fail(conform, "%u threads were started, and effects of the note do not say so",
                     after->threads - before->threads);
}

/* Sets a floating-point mode that is not the default, so that a driver that resets it to the default is detected. */
static void unusual(void)
{
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    fesetround(FE_UPWARD);
    setlocale(LC_ALL, "C.UTF-8");
    if (chdir("/") != 0)
        return;
    umask(027);
}

static void manners(struct conform *conform)
{
    struct manners before, after;
    struct direct direct;
    char effects[256];

    unusual();
    conform_case(conform, "load and query");
    look(&before);
    conform_begin(conform, CONFORM_DRIVER);
    look(&after);
    conform_note(conform, "effects", effects, sizeof(effects));
    compare(conform, &before, &after, effects);
    if (!direct_begin(&direct, conform))
        return;
    for (uint32_t stage = 0; stage < DIRECT_END; stage++) {
        conform_case(conform, "%s", direct_stage_name(stage));
        look(&before);
        if (direct_do(&direct, stage) != ACCEL_OK) {
            conform_fail(conform, "%s", direct.error.text);
            break;
        }
        look(&after);
        compare(conform, &before, &after, effects);
    }
    for (uint32_t stage = DIRECT_END; stage > 0; stage--) {
        conform_case(conform, "the end of %s", direct_stage_name(stage - 1));
        look(&before);
        direct_undo(&direct, stage - 1);
        look(&after);
        compare(conform, &before, &after, effects);
    }
    direct_end(&direct);
}

/* A driver closes every descriptor that it opens. Counted over whole lifecycles, since the first one may load
 * libraries that stay loaded. */
static void leaks(struct conform *conform)
{
    struct direct direct;
    uint32_t counts[4] = {0};

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "descriptors of four lives");
    for (uint32_t life = 0; life < 4; life++) {
        direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_END);
        direct_undo_stages(&direct, DIRECT_END, DIRECT_ATTACH);
        counts[life] = entries("/proc/self/fd");
    }
    if (counts[3] > counts[2] && counts[2] > counts[1])
        conform_fail(conform, "%u, %u, %u, %u descriptors are open after them", counts[0], counts[1], counts[2],
                     counts[3]);
    direct_end(&direct);
}

/* ---- threads ---- */

#define THREADS 4u
#define LAPS 6u

struct worker {
    pthread_t thread;
    struct direct direct; /* the threads share instance and device */
    char fault[600];
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct direct *direct = &worker->direct;

    for (uint32_t lap = 0; lap < LAPS && worker->fault[0] == '\0'; lap++) {
        for (uint32_t stage = DIRECT_CLAIM; stage < DIRECT_END && worker->fault[0] == '\0'; stage++)
            if (direct_do(direct, stage) != ACCEL_OK)
                snprintf(worker->fault, sizeof(worker->fault), "%s: %s", direct_stage_name(stage), direct->error.text);
        direct_undo_stages(direct, DIRECT_END, DIRECT_CLAIM);
    }
    return NULL;
}

/* Several threads create modules, sets and queues on one device and run steps concurrently, each on its own
 * objects. */
static void threads(struct conform *conform)
{
    struct worker workers[THREADS] = {0};
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "%u threads, one device", THREADS);
    if (!direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_CLAIM))
        return;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (!direct_begin(&workers[i].direct, conform))
            return;
        workers[i].direct.instance = direct.instance;
        workers[i].direct.device = direct.device;
    }
    for (uint32_t i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            conform_fail(conform, "no thread could be started");
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].fault[0] != '\0')
            conform_fail(conform, "thread %u: %s", i, workers[i].fault);
        workers[i].direct.instance = NULL;
        workers[i].direct.device = NULL;
        direct_end(&workers[i].direct);
    }
    direct_end(&direct);
}

void conform_add_manners(struct conform_list *list)
{
    conform_add(list, CONFORM_FILE, 0, manners, "manners/process");
    conform_add(list, CONFORM_DRIVER, 0, leaks, "manners/descriptors");
    conform_add(list, CONFORM_DRIVER, 0, threads, "threads/device");
}
