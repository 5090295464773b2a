/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/blame.h"

#include <accel/calling.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/end_now.h"
#include "tools/accelctl/ending.h"
#include "tools/accelctl/say.h"
#include "tools/accelctl/space.h"
#include "tools/accelctl/verb.h"

/* Where handlers of crashes run: the stack itself may have overflowed. Registers of any machine have room in it. */
enum { STACK_BYTES = 128 << 10 };
/* Names beyond are not told. */
enum { LOADED_BYTES = 256 };

/* What functions of atexit and handlers of signals may touch. */
static const struct accel_context *volatile watched;
static volatile pid_t own; /* 0: nothing is watched */
static volatile sig_atomic_t is_done;
static char loaded[LOADED_BYTES]; /* names of the drivers whose files are in the process, with commas between them */
static volatile sig_atomic_t waits_for;
static sigset_t callers_mask; /* of blame_begin, until blame_done */
static volatile sig_atomic_t is_begun;

/* Compilers end the process where they get no memory or cannot open a file: limits of the process are named before
 * the driver is doubted. */
static const char *crash_remedy(void)
{
    const char *limited = limit_remedy();

    return limited != NULL ? limited : OTHER_DEVICE;
}

/* Puts the driver that is in a call in front of the text of an end; 0 where none is. */
static uint32_t name_driver(struct ending *ending)
{
    const char *driver, *slot;

    if (!accel_context_calling(watched, &driver, &slot))
        return 0;
    ending->text[0] = "driver ";
    ending->text[1] = driver;
    ending->text[2] = ", ";
    ending->text[3] = slot == NULL ? "a call" : slot;
    ending->text[4] = ": ";
    return 1;
}

/* What names no driver begins with `what`, else it follows the name; `more` is the text's end, or NULL. */
static void say_what(struct ending *ending, const char *what, const char *more)
{
    uint32_t at = ending->text[0] == NULL ? 0 : 5;

    ending->text[at] = what;
    ending->text[at + 1] = more;
    ending_say(ending);
}

/* Somebody ends the process who is not asked to. */
static void say_exit(void)
{
    char full[SPACE_TEXT];
    struct ending ending = {.code = "ACCEL_E_INTERNAL", .remedy = crash_remedy(), .status = EXIT_FAILED};

    fflush(output());
    if (space_is_short(full))
        ending.remedy = full;
    say_what(&ending,
             name_driver(&ending) ? "it ended the process" : "a library ended the process before its work was done",
             NULL);
}

/* Children that a driver has made end as they like. */
static void at_exit(void)
{
    if (is_done || own != getpid())
        return;
    say_exit();
    end_now(EXIT_FAILED);
}

void blame_thread(void)
{
    struct ending ending = {.code = "ACCEL_E_INTERNAL", .remedy = crash_remedy(), .status = EXIT_FAILED};

    say_what(&ending,
             name_driver(&ending) ? "it ended the thread that called it"
                                  : "a library ended the thread of the command before its work was done",
             NULL);
}

uint32_t blame_exit(void)
{
    const char *driver, *slot;

    if (is_done || own != getpid() || !accel_context_calling(watched, &driver, &slot))
        return 0;
    say_exit();
    return 1;
}

/* The command may be slow to end by itself: that is not the driver's fault. */
static void on_deadline(int number)
{
    struct ending ending = {.code = "ACCEL_E_TIMEOUT", .status = 128 + waits_for};

    (void)number;
    if (waits_for == 0)
        return;
    if (!name_driver(&ending)) {
        alarm(1);
        return;
    }
    say_what(&ending, "it does not end, and the command does without it", NULL);
    accel_context_unmark(watched);
    end_now(ending.status);
}

static const struct {
    int number;
    const char *name;
} crashes[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};

static void end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* What a driver and the libraries below it leave to be done when the process ends. */
static void say_late(struct ending *ending, const char *name)
{
    ending->text[0] = "the work is done, and a library crashes while the process ends, with ";
    ending->text[1] = name;
    if (loaded[0] != '\0') {
        ending->text[2] = "; drivers that were loaded: ";
        ending->text[3] = loaded;
    }
    ending_say(ending);
}

static void on_crash(int number)
{
    struct ending ending = {.code = "ACCEL_E_INTERNAL", .remedy = crash_remedy(), .status = 128 + number};
    const char *name = "a signal";

    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (crashes[i].number == number)
            name = crashes[i].name;
    if (is_done && own == getpid()) {
        /* A document has been printed already. */
        ending_as_json(0);
        say_late(&ending, name);
    } else if (own == getpid()) {
        say_what(&ending,
                 name_driver(&ending) ? "the process crashes in it with "
                                      : "the command crashes, or a thread of a library below it, with ",
                 name);
    }
    end_by(number);
}

/* The user's signals, which end the command wherever it is. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void blame_spare(sigset_t *mask)
{
    sigset_t present;

    sigdelset(mask, SIGALRM);
    pthread_sigmask(SIG_BLOCK, NULL, &present);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigismember(&present, ends[i]))
            sigdelset(mask, ends[i]);
}

/* Now: what is changed in the midst of a driver's call is taken for the driver's doing and put back. What somebody else
 * handles, such as a checker of addresses, stays his; what the caller ignores, as nohup does, stays ignored. */
void blame_begin(void)
{
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK},
                           deadline = {.sa_handler = on_deadline}, end = {.sa_handler = blame_end_by};
    static char stack[STACK_BYTES];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction before;
    stack_t present;
    sigset_t needed;

    if (sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0)
        sigaltstack(&other, NULL);

    /* A caller may have blocked what ends the command: the mask is inherited. */
    sigemptyset(&needed);
    sigaddset(&needed, SIGALRM);
    sigaddset(&needed, SIGINT);
    sigaddset(&needed, SIGTERM);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaddset(&needed, crashes[i].number);
    is_begun = pthread_sigmask(SIG_UNBLOCK, &needed, &callers_mask) == 0;
    sigaction(SIGALRM, &deadline, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (sigaction(crashes[i].number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(crashes[i].number, &action, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ends[i], &end, NULL);
}

void blame_watch(const struct accel_context *context)
{
    static int is_registered;

    watched = context;
    if (context == NULL)
        return;
    if (!is_registered && atexit(at_exit) == 0)
        is_registered = 1;
    own = getpid();
}

void blame_loaded(const struct accel_context *context)
{
    size_t used = 0;

    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *info = accel_plugin_get(context, i);
        void *file = info->state == ACCEL_PLUGIN_LOADED ? dlopen(info->path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        int count;

        if (file == NULL)
            continue;
        dlclose(file);
        count = snprintf(loaded + used, sizeof loaded - used, "%s%.60s", used == 0 ? "" : ", ", info->name);
        used += count > 0 && (size_t)count < sizeof loaded - used ? (size_t)count : 0;
    }
}

void blame_done(void)
{
    is_done = 1;
    if (is_begun)
        pthread_sigmask(SIG_SETMASK, &callers_mask, NULL);
    is_begun = 0;
}

void blame_wait(int number)
{
    if (waits_for != 0)
        blame_end_by(number);
    waits_for = number;
    alarm(BLAME_SECONDS);
}

void blame_end_by(int number)
{
    if (own == getpid())
        accel_context_unmark(watched);
    end_by(number);
}

void blame_rest(void)
{
    waits_for = 0;
    alarm(0);
}
