/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/blame.h"

#include <accel/calling.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/say.h"
#include "tools/accelctl/space.h"
#include "tools/accelctl/verb.h"

/* Where handlers of crashes run: the stack itself may have overflowed. Registers of any machine have room in it. */
enum { STACK_BYTES = 128 << 10 };

/* What functions of atexit and handlers of signals may touch. */
static const struct accel_context *volatile watched;
static volatile pid_t own; /* 0: nothing is watched */
static volatile sig_atomic_t waits_for;
static volatile sig_atomic_t is_json;
static atomic_flag told = ATOMIC_FLAG_INIT;
static sigset_t callers_mask; /* of blame_begin, until blame_done */
static volatile sig_atomic_t is_begun;

#define OTHER_DEVICE "accelctl plugins lists the drivers; --device takes a device of another one"

static void write_to(int handle, const char *text)
{
    ssize_t written = write(handle, text, strlen(text));

    (void)written;
}

/* What is said of an end. */
struct words {
    const char *driver; /* NULL: none is in a call */
    const char *slot;
    const char *what;
    const char *signal; /* that ended it, or NULL */
    const char *code;
    const char *remedy; /* or NULL */
    int status;
};

/* Names of drivers and slots have neither quotes nor controls. */
static void write_subject(int handle, const struct words *words)
{
    if (words->driver == NULL)
        return;
    write_to(handle, "driver ");
    write_to(handle, words->driver);
    write_to(handle, ", ");
    write_to(handle, words->slot == NULL ? "a call" : words->slot);
    write_to(handle, ": ");
}

static void write_what(int handle, const struct words *words)
{
    write_subject(handle, words);
    write_to(handle, words->what);
    write_to(handle, words->signal == NULL ? "" : words->signal);
}

static void say_end(const struct words *words)
{
    write_to(STDERR_FILENO, "\naccelctl: ");
    write_what(STDERR_FILENO, words);
    write_to(STDERR_FILENO, " (");
    write_to(STDERR_FILENO, words->code);
    write_to(STDERR_FILENO, words->remedy == NULL ? ")\n" : ")\n  remedy: ");
    if (words->remedy != NULL) {
        write_to(STDERR_FILENO, words->remedy);
        write_to(STDERR_FILENO, "\n");
    }
}

/* Within a string of JSON; whoever composes a text has taken controls out of it. */
static void write_escaped(int handle, const char *text)
{
    for (size_t plain; *text != '\0'; text += plain + (text[plain] != '\0')) {
        ssize_t written;

        plain = strcspn(text, "\"\\");
        written = write(handle, text, plain);
        if (text[plain] != '\0')
            written = write(handle, text[plain] == '"' ? "\\\"" : "\\\\", 2);
        (void)written;
    }
}

/* As say() prints it. */
static void say_end_json(const struct words *words)
{
    const char digits[] = {(char)('0' + words->status / 100), (char)('0' + words->status / 10 % 10),
                           (char)('0' + words->status % 10), '\0'};

    write_to(STDOUT_FILENO, "{\n  \"schema\": \"accelctl/error/1\",\n  \"error\": {\n    \"code\": \"");
    write_to(STDOUT_FILENO, words->code);
    write_to(STDOUT_FILENO, "\",\n    \"text\": \"");
    write_what(STDOUT_FILENO, words);
    write_to(STDOUT_FILENO, "\",\n    \"remedy\": \"");
    write_escaped(STDOUT_FILENO, words->remedy == NULL ? "" : words->remedy);
    write_to(STDOUT_FILENO, "\",\n    \"exit\": ");
    write_to(STDOUT_FILENO, words->status < 10 ? digits + 2 : digits);
    write_to(STDOUT_FILENO, "\n  }\n}\n");
}

static void say_words(const struct words *words)
{
    if (is_json)
        say_end_json(words);
    else
        say_end(words);
}

/* Children that a driver has made end as they like. */
static void at_exit(void)
{
    char full[SPACE_TEXT], clean[SPACE_TEXT];
    struct words words = {.code = "ACCEL_E_INTERNAL", .remedy = OTHER_DEVICE, .status = EXIT_FAILED};

    if (own != getpid())
        return;
    fflush(stdout);
    if (space_is_short(full))
        words.remedy = clean_text(full, clean, sizeof clean);
    words.what = accel_context_calling(watched, &words.driver, &words.slot)
                     ? "it ended the process"
                     : "a library ended the process before its work was done";
    say_words(&words);
    _exit(EXIT_FAILED);
}

/* The command may be slow to end by itself: that is not the driver's fault. */
static void on_deadline(int number)
{
    struct words words = {.what = "it does not end, and the command does without it",
                          .code = "ACCEL_E_TIMEOUT",
                          .status = 128 + waits_for};

    (void)number;
    if (waits_for == 0)
        return;
    if (!accel_context_calling(watched, &words.driver, &words.slot)) {
        alarm(1);
        return;
    }
    say_words(&words);
    _exit(words.status);
}

static const struct {
    int number;
    const char *name;
} crashes[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};

static void on_crash(int number)
{
    struct words words = {
        .signal = "a signal", .code = "ACCEL_E_INTERNAL", .remedy = OTHER_DEVICE, .status = 128 + number};

    if (own == getpid()) {
        words.what = accel_context_calling(watched, &words.driver, &words.slot)
                         ? "the process crashes in it with "
                         : "the command crashes, or a thread of a library below it, with ";
        /* Threads that crash while another one tells of it wait for the end. */
        while (atomic_flag_test_and_set(&told))
            pause();
        for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
            if (crashes[i].number == number)
                words.signal = crashes[i].name;
        say_words(&words);
    }
    blame_end_by(number);
}

/* Now: what is changed in the midst of a driver's call is taken for the driver's doing and put back. What somebody else
 * handles, such as a checker of addresses, stays his. */
void blame_begin(void)
{
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK},
                           deadline = {.sa_handler = on_deadline};
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

void blame_as_json(uint32_t json)
{
    is_json = json != 0;
}

void blame_done(void)
{
    own = 0;
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
    signal(number, SIG_DFL);
    raise(number);
}

void blame_rest(void)
{
    waits_for = 0;
    alarm(0);
}
