/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/model.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int open_model(const struct common *common, const char *path, const struct accel_given *more, uint32_t more_count,
               uint32_t flags, uint32_t outputs, struct opened *opened)
{
    struct accel_given given[2 * LIST_MOST];
    struct accel_session_options options = {
        .size = sizeof options, .flags = flags, .device = common->device, .given = given, .outputs = outputs};
    struct accel_error error = {0};
    int code = given_settings(common, given, &opened->texts);

    if (code >= 0)
        return code;
    options.given_count = common->sets.count;
    for (uint32_t i = 0; i < more_count; i++)
        given[options.given_count++] = more[i];
    opened->context = open_context(common, &code);
    if (opened->context == NULL)
        return code;
    if (accel_model_open(path, NULL, &opened->model, &error) != ACCEL_OK)
        return say_error(&error);
    guard_mappings(opened->model);
    if (accel_session_create(opened->context, opened->model, &options, &opened->session, &error) != ACCEL_OK)
        return say_error(&error) == EXIT_SHORT ? EXIT_SHORT : EXIT_REFUSED;
    return -1;
}

void close_model(struct opened *opened)
{
    accel_session_free(opened->session);
    guard_mappings(NULL);
    accel_model_close(opened->model);
    if (opened->context != NULL)
        close_context(opened->context);
    free(opened->texts);
}

/* The one piece of state that a signal handler needs: which mappings belong to which file. */
static const struct accel_model_file *volatile guarded;

static void write_text(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

/* Only what may be called in a signal handler. A fault elsewhere gets the default action back. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    const struct accel_model_file *file = guarded;
    struct accel_model_mapping mapping;

    (void)context;
    for (uint32_t i = 0; file != NULL && accel_model_file_mapping(file, i, &mapping, NULL) == ACCEL_OK; i++) {
        const char *begin = mapping.address;
        const char *at = info->si_addr;

        if (at < begin || at >= begin + mapping.bytes)
            continue;
        write_text("accelctl: ");
        write_text(mapping.path);
        write_text(": the file shrank while it was in use, or its disk failed (ACCEL_E_IO)\n"
                   "remedy: leave model files alone while they run, or use --set weights.load=read\n");
        _exit(EXIT_INPUT);
    }
    signal(number, SIG_DFL);
    raise(number);
}

void guard_mappings(const struct accel_model *model)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    guarded = model == NULL ? NULL : accel_model_file_of(model);
    if (guarded != NULL)
        sigaction(SIGBUS, &action, NULL);
}
