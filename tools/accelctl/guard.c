/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/verb.h"

/* Files that a command has open at a time; those beyond go unguarded. */
#define GUARDED_MOST 128

/* The one piece of state that a signal handler needs: which mappings belong to which file. */
static const struct accel_model_file *volatile guarded[GUARDED_MOST];
static const char *volatile remedies[GUARDED_MOST];
static struct sigaction before; /* what bus errors met before the first guard */
static atomic_flag told = ATOMIC_FLAG_INIT;
static volatile sig_atomic_t is_json;

static void write_text(int handle, const char *text)
{
    ssize_t written = write(handle, text, strlen(text));

    (void)written;
}

/* Text within quotes of a document: what is not ASCII, or a control, is a question mark. */
static void write_quoted(const char *text)
{
    for (; *text != '\0'; text++) {
        const char letter[] = {*text >= ' ' && *text < 127 ? *text : '?', '\0'};

        write_text(STDOUT_FILENO, *text == '"' || *text == '\\' ? "\\" : "");
        write_text(STDOUT_FILENO, letter);
    }
}

#define SHRANK ": the file shrank while it was in use, or its disk failed"

static void say_shrunk(const char *path, const char *remedy)
{
    write_text(STDERR_FILENO, "\naccelctl: ");
    write_text(STDERR_FILENO, path);
    write_text(STDERR_FILENO, SHRANK " (ACCEL_E_IO)\n  remedy: ");
    write_text(STDERR_FILENO, remedy);
    write_text(STDERR_FILENO, "\n");
}

/* As say() prints it. */
static void say_shrunk_json(const char *path, const char *remedy)
{
    _Static_assert(EXIT_INPUT == 3, "the status below");

    write_text(STDOUT_FILENO, "{\n  \"schema\": \"accelctl/error/1\",\n  \"error\": {\n    \"code\": \"ACCEL_E_IO\",\n"
                              "    \"text\": \"");
    write_quoted(path);
    write_text(STDOUT_FILENO, SHRANK "\",\n    \"remedy\": \"");
    write_quoted(remedy);
    write_text(STDOUT_FILENO, "\",\n    \"exit\": 3\n  }\n}\n");
}

static void end_if_inside(const struct accel_model_file *file, const char *remedy, const char *at)
{
    struct accel_model_mapping mapping;

    for (uint32_t i = 0; file != NULL && accel_model_file_mapping(file, i, &mapping, NULL) == ACCEL_OK; i++) {
        const char *begin = mapping.address;

        if (at < begin || at >= begin + mapping.bytes)
            continue;
        /* Threads that fault while another one tells of it wait for the end. */
        while (atomic_flag_test_and_set(&told))
            pause();
        if (is_json)
            say_shrunk_json(mapping.path, remedy);
        else
            say_shrunk(mapping.path, remedy);
        _exit(EXIT_INPUT);
    }
}

/* Only what may be called in a signal handler. A fault elsewhere is another one's. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < GUARDED_MOST; i++)
        end_if_inside(guarded[i], remedies[i], info->si_addr);
    sigaction(number, &before, NULL);
    raise(number);
}

void guard_as_json(uint32_t json)
{
    is_json = json != 0;
}

void guard_mappings(const struct accel_model_file *file, const char *remedy)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, now;
    size_t at = 0;

    while (at < GUARDED_MOST && guarded[at] != NULL)
        at++;
    if (file == NULL || at == GUARDED_MOST)
        return;
    remedies[at] = remedy;
    guarded[at] = file;
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_bus_error)
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

void guard_end(const struct accel_model_file *file)
{
    for (size_t i = 0; i < GUARDED_MOST; i++) {
        if (file == NULL || guarded[i] != file)
            continue;
        guarded[i] = NULL;
        return;
    }
}
