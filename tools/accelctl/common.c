/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/common.h"

#include "tools/accelctl/blame.h"
#include "tools/accelctl/waiting.h"

#include <accel/profile.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a setting of the command line that are shown as the place of its value. */
enum { SHOWN = 120 };

static void log_line(void *data, uint32_t level, const char *text)
{
    static const char *const names[] = {"", "error", "warn", "info", "debug"};

    (void)data;
    fprintf(stderr, "%s: %s\n", level < 5 ? names[level] : "log", text);
}

/* The library wants absolute paths, since a driver must not hang on where a program happens to run; a person at a
 * terminal means the folder that they are in. NULL where that is not known or memory is short. */
static char *absolute_paths(const char *paths)
{
    char *here = getcwd(NULL, 0);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = here == NULL ? NULL : open_memstream(&text, &bytes);

    for (const char *at = paths; out != NULL;) {
        size_t length = strcspn(at, ":");
        uint32_t is_relative = length != 0 && *at != '/';

        fprintf(out, "%s%s%.*s", is_relative ? here : "", is_relative ? "/" : "", (int)length, at);
        at += length;
        if (*at == '\0')
            break;
        fputc(*at++, out);
    }
    if (out != NULL)
        fclose(out);
    free(here);
    return text;
}

/* The next path of a list with : between, which may be empty; 0 at the end of the list. */
static uint32_t next_path(const char **list, char path[PATH_MAX])
{
    size_t length;

    if (*list == NULL || **list == '\0')
        return 0;
    length = strcspn(*list, ":");
    snprintf(path, PATH_MAX, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ':');
    return 1;
}

static int refuse_path(const struct common *common, const char *option, const char *path)
{
    char text[512];

    snprintf(text, sizeof text, "--%s %.400s: cannot be read", option, path);
    return say(
        common->json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND), text,
        strcmp(option, "profiles") == 0
            ? "name a folder of profiles that is there and may be read; without the option it is the installed one"
            : "name folders and files of drivers that are there and may be read, with : between them");
}

/* A file is a name that ends as libraries do; all else is a folder. */
static uint32_t is_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *end = strstr(slash == NULL ? path : slash + 1, ".so");

    return end != NULL && (end[3] == '\0' || end[3] == '.');
}

/* Of the variable the files have to be there: a folder that is not there yet is none that was meant to hold a driver.
 * What hangs on the folder in which the program runs is refused, since the library would pass over it. */
static int check_variable(const struct common *common)
{
    const char *list = secure_getenv("ACCEL_DRIVER_PATH");
    char path[PATH_MAX], text[512];

    while (next_path(&list, path)) {
        const char *fault = NULL;

        if (path[0] != '\0' && path[0] != '/')
            fault = "is no absolute path";
        else if (is_file_name(path) && access(path, R_OK) != 0)
            fault = "cannot be read";
        snprintf(text, sizeof text, "environment ACCEL_DRIVER_PATH %.400s: %s", path, fault == NULL ? "" : fault);
        if (fault != NULL)
            return say(common->json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND), text,
                       "name files and folders that are there, from / on, or unset ACCEL_DRIVER_PATH");
    }
    return -1;
}

/* A driver's file that was named and cannot be used: what runs without it shall not look as if it ran with it. */
static void warn_refused(const struct accel_context *context, const char *list)
{
    char path[PATH_MAX], text[600];

    while (next_path(&list, path)) {
        char *file = realpath(path, NULL);

        for (uint32_t i = 0; file != NULL && i < accel_plugin_count(context); i++) {
            const struct accel_plugin_info *info = accel_plugin_get(context, i);

            if (info->state == ACCEL_PLUGIN_REFUSED && strcmp(info->path, file) == 0)
                fprintf(stderr, "warn: the driver %s that was named is refused: %s\n", path,
                        clean_text(info->text, text, sizeof text));
        }
        free(file);
    }
}

/* What the command line names has to be there. `drivers` are the absolute paths of --drivers. Answers -1, or an exit
 * code. */
static int check_paths(const struct common *common, const char *drivers)
{
    const char *list = common->drivers;
    char path[PATH_MAX];

    if (common->device != NULL && common->device[strspn(common->device, ",")] == '\0')
        return say(common->json, EXIT_USAGE, "usage", "--device names no device", "accelctl devices lists them");
    if (common->profiles != NULL && access(common->profiles, R_OK) != 0)
        return refuse_path(common, "profiles", common->profiles);
    if (common->drivers != NULL && drivers == NULL)
        return refuse_path(common, "drivers", common->drivers);
    while (next_path(&list, path))
        if (path[0] != '\0' && access(path, R_OK) != 0)
            return refuse_path(common, "drivers", path);
    return -1;
}

/* A context that has taken one step; NULL after the error has been said. */
static struct accel_context *open_with(const struct common *common,
                                       int32_t (*step)(struct accel_context *context, struct accel_error *error),
                                       int *out_exit)
{
    char *drivers = common->drivers == NULL ? NULL : absolute_paths(common->drivers);
    struct accel_context_options options = {.size = sizeof options,
                                            .flags = common->no_cache ? ACCEL_CONTEXT_NO_CACHE : 0,
                                            .log = log_line,
                                            .log_level = common->verbose ? ACCEL_LOG_DEBUG : ACCEL_LOG_ERROR,
                                            .driver_path = drivers,
                                            .profile_path = common->profiles,
                                            .host_path = common->host};
    struct accel_context *context = NULL;
    struct accel_error error = {0};

    *out_exit = check_paths(common, drivers);
    if (*out_exit < 0 && step == accel_context_discover && common->host == NULL)
        *out_exit = check_variable(common);
    if (*out_exit < 0 && accel_context_create(&options, &context, &error) == ACCEL_OK) {
        blame_watch(context);
        waiting_begin(context);
        step(context, &error);
    }
    if (context != NULL && error.code == ACCEL_OK && step == accel_context_discover) {
        warn_refused(context, drivers);
        warn_refused(context, secure_getenv("ACCEL_DRIVER_PATH"));
    }
    if (error.code != ACCEL_OK) {
        *out_exit = say_error(common->json, &error);
        waiting_end();
        blame_watch(NULL);
        accel_context_free(context, NULL);
        context = NULL;
    }
    free(drivers);
    return context;
}

struct accel_context *open_context(const struct common *common, int *out_exit)
{
    return open_with(common, accel_context_discover, out_exit);
}

struct accel_context *open_profiles(const struct common *common, int *out_exit)
{
    return open_with(common, accel_profile_load, out_exit);
}

void close_context(struct accel_context *context)
{
    struct accel_error error = {0};

    waiting_end();
    blame_loaded(context);
    if (accel_context_free(context, &error) != ACCEL_OK)
        say_error(0, &error);
    blame_watch(NULL);
}

void print_recording(const struct accel_context *context)
{
    const struct accel_recording *recording = accel_context_recording(context);
    char line[1200];

    if (recording == NULL)
        return;
    snprintf(line, sizeof line, "%s%s%s", recording->path, recording->about[0] != '\0' ? ": " : "", recording->about);
    print_wrapped((uint32_t)print("recorded machine "), 2, line);
}

/* Writes `before` and `length` bytes of `text` to *at, which has room for them and moves behind their zero byte. */
static const char *keep(char **at, const char *before, const char *text, size_t length)
{
    char *begin = *at;

    *at += sprintf(begin, "%s%.*s", before, (int)length, text) + 1;
    return begin;
}

int given_settings(const struct common *common, struct accel_given given[GIVEN_MOST], uint32_t *out_count,
                   char **out_texts)
{
    size_t bytes = 64 + (common->client == NULL ? 0 : strlen(common->client));
    uint32_t count = 0;
    char *at;

    *out_count = 0;
    for (uint32_t i = 0; i < common->sets.count; i++)
        bytes += 2 * strlen(common->sets.items[i]) + sizeof "command line --set ";
    at = *out_texts = malloc(bytes);
    if (at == NULL)
        return say(common->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the settings", NULL);
    if (common->client != NULL)
        given[count++] = (struct accel_given){
            "client", common->client, keep(&at, "command line --client ", common->client, strlen(common->client))};
    for (uint32_t i = 0; i < common->sets.count; i++) {
        const char *item = common->sets.items[i];
        const char *equals = strchr(item, '=');

        if (equals == NULL || equals == item) {
            char text[256];

            snprintf(text, sizeof text, "--set wants KEY=VALUE, not '%.200s'", item);
            return say(common->json, EXIT_USAGE, "usage", text, "accelctl plan --all MODEL lists the settings");
        }
        given[count].key = keep(&at, "", item, (size_t)(equals - item));
        given[count].value = equals + 1;
        /* A long value would fill the errors that begin with where it stands. */
        given[count++].origin =
            keep(&at, "command line --set ", item, strlen(item) <= SHOWN ? strlen(item) : (size_t)(equals - item));
    }
    *out_count = count;
    return -1;
}
