/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/watchdog.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/crash_report.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/output.h"

enum {
    NOTE_SECONDS = 5,       /* before a slow call is named */
    INTERRUPT_SECONDS = 5,  /* that an interrupted command may stay in one call */
    LIMIT_SECONDS = 30,     /* that a call without work may take: some devices take half of that to open */
    STACK_BYTES = 128 << 10 /* of the crash handler: the thread's own stack may have overflowed */
};

#define SECOND UINT64_C(1000000000) /* in nanoseconds */

/* Call in progress; of calls in several threads the last one. Accessed from signal handlers. */
static _Atomic(const char *) calling_driver; /* NULL: none */
static _Atomic(const char *) calling_slot;
static atomic_uint call_number;

static volatile pid_t watched; /* process: children that a driver forks crash as they like */
static volatile sig_atomic_t is_done;
static volatile sig_atomic_t interrupted; /* signal, or 0 */

void watchdog_note_call(void *data, const char *driver, const char *slot)
{
    (void)data;
    atomic_store_explicit(&calling_slot, slot, memory_order_relaxed);
    atomic_store_explicit(&calling_driver, driver, memory_order_relaxed);
    atomic_fetch_add_explicit(&call_number, 1, memory_order_relaxed);
}

/* Returns the remedy of a failed call. Limits of the process come first, since drivers' compilers end the process
 * if they get no memory or no files. A driver that cannot be listed stops every command; its probe runs in a
 * process of its own. */
static const char *remedy_of(const char *slot)
{
    const char *limited = limit_remedy();

    if (limited == NULL && slot != NULL &&
        (strcmp(slot, "load") == 0 || strcmp(slot, "attach") == 0 || strcmp(slot, "enumerate") == 0))
        return "--no-cache probes the driver anew and refuses it if it fails there; without its file, which accelctl "
               "plugins --no-cache lists, the other drivers go on";
    return limited != NULL ? limited : OTHER_DEVICE;
}

/* Begins the text of a report with the call in progress, or with `other` outside of drivers. `what` and `more` end
 * it. */
static void fill_report(struct crash_report *report, const char *what, const char *other, const char *more)
{
    const char *driver = atomic_load_explicit(&calling_driver, memory_order_relaxed);
    const char *slot = atomic_load_explicit(&calling_slot, memory_order_relaxed);
    const char *const named[] = {"driver ", driver, ", ", slot == NULL ? "a call" : slot, ": ", what, more, NULL};

    if (driver != NULL) {
        memcpy(report->text, named, sizeof(named));
        report->origin = "driver";
    } else {
        report->text[0] = other;
        report->text[1] = more;
    }
    report->remedy = remedy_of(driver == NULL ? NULL : slot);
}

/* ---- crashes ---- */

static void on_exit_early(void)
{
    struct crash_report report = {.code = "ACCEL_E_INTERNAL", .status = EXIT_FAILED};

    if (is_done || watched != getpid())
        return;
    fflush(output());
    fill_report(&report, "it ended the process", "a library ended the process before its work was done", NULL);
    crash_report_end(&report);
}

static const struct {
    int number;
    const char *name;
} crashes[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};

static void on_crash(int number)
{
    struct crash_report report = {.code = "ACCEL_E_INTERNAL", .status = 128 + number};
    const char *name = "a signal";

    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
        if (crashes[i].number == number)
            name = crashes[i].name;
    fill_report(&report, "the process crashes in it with ",
                "the command crashes, or a thread of a library below it, with ", name);
    if (watched == getpid())
        crash_report_print(&report);
    filter_drain();
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- interrupts ---- */

/* Ends the command at a signal that nothing else handles. SIGTERM within a driver has its own status, as when the
 * driver hangs. A child that was forked ends as if it had no handler. */
static void end_interrupted(int number)
{
    struct crash_report report = {.code = "ACCEL_E_CANCELLED", .status = EXIT_INTERRUPTED};

    if (watched != getpid()) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    fill_report(&report, "interrupted, and the command ends without it", "interrupted", NULL);
    report.origin = "caller";
    report.remedy = NULL;
    if (atomic_load_explicit(&calling_driver, memory_order_relaxed) != NULL)
        report.status = 128 + number;
    crash_report_end(&report);
}

void watchdog_begin(void)
{
    const struct sigaction ending = {.sa_handler = end_interrupted};
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    static char stack[STACK_BYTES];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const int ends[] = {SIGINT, SIGTERM};
    struct sigaction before;
    stack_t present;

    watched = getpid();
    atexit(on_exit_early);
    if (sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0)
        sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
        if (sigaction(crashes[i].number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(crashes[i].number, &action, NULL);
    for (size_t i = 0; i < 2; i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ends[i], &ending, NULL);
}

void watchdog_done(void)
{
    is_done = 1;
}

/* ---- calls that hang ---- */

/* Returns whether the slot returns quickly. All others compile, load or run, which may take minutes. */
static bool is_short(const char *slot)
{
    static const char *const slots[] = {"attach",        "enumerate", "open",    "close",        "detach",
                                        "claim",         "estimate",  "scratch", "queue_create", "state_create",
                                        "buffer_create", "map",       "memory",  "fingerprint"};

    for (size_t i = 0; slot != NULL && i < sizeof(slots) / sizeof(*slots); i++)
        if (strcmp(slots[i], slot) == 0)
            return true;
    return slot != NULL && strncmp(slot, "free of ", 8) == 0;
}

/* Ends the command within a call; `code` is what ended it: the limit, or an interrupt before. */
static void end_hanging(const char *what, const char *code, int status)
{
    struct crash_report report = {.code = code, .status = status};

    fflush(output());
    fill_report(&report, what, "a driver hung", NULL);
    report.remedy = OTHER_DEVICE;
    crash_report_end(&report);
}

_Static_assert(LIMIT_SECONDS == 30 && INTERRUPT_SECONDS == 5, "watch_calls prints 30 and 5");

/* Returns how long the main thread was ready to run and had no processor, in nanoseconds; 0 if it is not known. */
static uint64_t time_without_processor(void)
{
    FILE *file = fopen("/proc/self/schedstat", "re");
    uint64_t nanoseconds = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &nanoseconds) != 1)
        nanoseconds = 0;
    fclose(file);
    return nanoseconds;
}

static void *watch_calls(void *data)
{
    const struct timespec second = {.tv_sec = 1};
    uint32_t number = 0;
    uint64_t spent = 0, waited = 0;
    int signal_before = 0;

    (void)data;
    for (;;) {
        const uint64_t spent_before = spent, waited_before = waited;
        const char *driver, *slot;
        uint32_t now;

        /* Counts neither the time during which the process was stopped, nor that in which other programs had the
         * processors. */
        nanosleep(&second, NULL);
        waited = time_without_processor();
        now = atomic_load(&call_number);
        driver = atomic_load(&calling_driver);
        slot = atomic_load(&calling_slot);
        if (driver == NULL || now != number || interrupted != signal_before)
            spent = 0;
        else if (waited - waited_before < SECOND)
            spent += SECOND - (waited - waited_before);
        number = now;
        signal_before = interrupted;
        if (spent_before < NOTE_SECONDS * SECOND && spent >= NOTE_SECONDS * SECOND && is_short(slot))
            fprintf(error_output(), "accelctl: waiting for driver %s in %s, for %d seconds so far\n", driver, slot,
                    (int)NOTE_SECONDS);
        if (spent >= INTERRUPT_SECONDS * SECOND && interrupted != 0)
            end_hanging("interrupted, it does not end within 5 seconds, and the command ends without it",
                        "ACCEL_E_CANCELLED", 128 + interrupted);
        if (spent >= LIMIT_SECONDS * SECOND && is_short(slot))
            end_hanging("it has not come back for 30 seconds, and the command ends without it", "ACCEL_E_TIMEOUT",
                        EXIT_FAILED);
    }
    return NULL;
}

/* Starts the thread with the caller's signal mask, so that it handles a terminating signal that a driver has
 * blocked in the main thread; else the system prefers the main thread. */
void watchdog_start(void)
{
    static volatile pid_t started;
    pthread_attr_t attributes;
    pthread_t thread;

    if (started == getpid())
        return;
    started = watched = getpid();
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, watch_calls, NULL);
    pthread_attr_destroy(&attributes);
}

void watchdog_interrupt(int number)
{
    if (interrupted != 0)
        end_interrupted(number);
    interrupted = number;
}

void watchdog_rest(void)
{
    interrupted = 0;
}
