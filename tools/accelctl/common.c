/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/common.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/elapsed.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/watchdog.h"

static void log_line(void *data, uint32_t level, const char *text)
{
    static const char *const names[] = {"", "error", "warn", "info", "debug"};

    (void)data;
    fprintf(error_output(), "%s: %s\n", level < 5 ? names[level] : "log", text);
}

/* Makes paths absolute. The library requires absolute paths, since a driver must not depend on the working
 * directory; at the command line a relative path means the working directory. NULL if that is unknown or memory is
 * short. */
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

/* Copies the next path of a list separated by ':', which may be empty; 0 at the end of the list. */
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
    return report_error_format(
        common->json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND),
        strcmp(option, "profiles") == 0
            ? "name a folder of profiles that is there and may be read; without the option it is the installed one"
            : "name folders and files of drivers that are there and may be read, with : between them",
        "--%s %.400s: cannot be read", option, path);
}

/* Returns true for names that end as libraries do; all others are folders. */
static bool is_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *end = strstr(slash == NULL ? path : slash + 1, ".so");

    return end != NULL && (end[3] == '\0' || end[3] == '.');
}

/* Reports a path of the environment that cannot be used: wrong usage, as a wrong setting of the environment. */
static int refuse_variable(const struct common *common, const char *name, const char *path, const char *fault,
                           const char *remedy)
{
    return report_error_format(common->json, EXIT_USAGE, accel_error_name(ACCEL_E_INVALID), remedy,
                               "environment %s %.400s: %s", name, path, fault);
}

/* Checks the files of ACCEL_DRIVER_PATH: each has to exist, since a missing file cannot be meant to be a driver.
 * Relative paths are refused, since the library would ignore them. ACCEL_PROBE has to be a program. */
static int check_driver_variables(const struct common *common)
{
    const char *list = secure_getenv("ACCEL_DRIVER_PATH"), *probe = secure_getenv("ACCEL_PROBE");
    char path[PATH_MAX];

    while (next_path(&list, path)) {
        const char *fault = NULL;

        if (path[0] != '\0' && path[0] != '/')
            fault = "is no absolute path";
        else if (is_file_name(path) && access(path, R_OK) != 0)
            fault = "cannot be read";
        if (fault != NULL)
            return refuse_variable(common, "ACCEL_DRIVER_PATH", path, fault,
                                   "name files and folders that are there, from / on, or unset ACCEL_DRIVER_PATH");
    }
    if (probe != NULL && probe[0] != '\0' && (probe[0] != '/' || access(probe, X_OK) != 0))
        return refuse_variable(common, "ACCEL_PROBE", probe,
                               probe[0] != '/' ? "is no absolute path" : "is no program that may be run",
                               "name the program accel-probe, from / on, or unset ACCEL_PROBE");
    return -1;
}

/* Checks that the folder of profiles that the user named has profiles. */
static int check_profiles(const struct common *common)
{
    const char *named = common->profiles != NULL ? common->profiles : secure_getenv("ACCEL_PROFILE_PATH");
    char path[PATH_MAX];

    if (named == NULL || named[0] == '\0' || snprintf(path, sizeof(path), "%s/base.yaml", named) >= (int)sizeof(path) ||
        access(path, R_OK) == 0)
        return -1;
    if (common->profiles == NULL)
        return refuse_variable(common, "ACCEL_PROFILE_PATH", named, "holds no profiles: base.yaml cannot be read",
                               "set ACCEL_PROFILE_PATH to the folder that holds base.yaml, or unset it");
    return report_error_format(common->json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND),
                               "name the folder that holds base.yaml; without the option it is the installed one",
                               "--profiles %.400s: holds no profiles: base.yaml cannot be read", named);
}

/* Warns of folders of ACCEL_DRIVER_PATH that cannot be read: they may be for another machine. */
static void warn_missing(void)
{
    const char *list = secure_getenv("ACCEL_DRIVER_PATH");
    char path[PATH_MAX], text[600];

    while (next_path(&list, path))
        if (path[0] != '\0' && access(path, R_OK | X_OK) != 0)
            fprintf(error_output(), "warn: environment ACCEL_DRIVER_PATH: no driver is searched in %s: %s\n",
                    clean_text(path, text, sizeof(text)), strerror(errno));
}

/* Warns of a named driver file that cannot be used, since the run would otherwise seem to use it. */
static void warn_refused(const struct accel_context *context, const char *list)
{
    char path[PATH_MAX], text[600];

    while (next_path(&list, path)) {
        char *file = realpath(path, NULL);

        for (uint32_t i = 0; file != NULL && i < accel_plugin_count(context); i++) {
            const struct accel_plugin_info *info = accel_plugin_get(context, i);

            if (info->state == ACCEL_PLUGIN_REFUSED && strcmp(info->path, file) == 0)
                fprintf(error_output(), "warn: the driver %s that was named is refused: %s\n", path,
                        clean_text(info->text, text, sizeof(text)));
        }
        free(file);
    }
}

/* Checks that the paths on the command line exist. `drivers` are the absolute paths of --drivers. Answers -1, or
 * an exit code. */
static int check_paths(const struct common *common, const char *drivers)
{
    const char *list = common->drivers;
    char path[PATH_MAX];

    if (common->device != NULL && common->device[strspn(common->device, ",")] == '\0')
        return report_error_text(common->json, EXIT_USAGE, "usage", "--device names no device",
                                 "accelctl devices lists them");
    if (common->profiles != NULL && access(common->profiles, R_OK) != 0)
        return refuse_path(common, "profiles", common->profiles);
    if (common->drivers != NULL && drivers == NULL)
        return refuse_path(common, "drivers", common->drivers);
    while (next_path(&list, path))
        if (path[0] != '\0' && access(path, R_OK) != 0)
            return refuse_path(common, "drivers", path);
    return -1;
}

/* Opens a context and discovers devices if `discover`; NULL after an error has been printed. Without `profiled` the
 * folder of profiles may be empty. */
static struct accel_context *open_with(const struct common *common, bool discover, bool profiled, int *out_exit)
{
    char *drivers = common->drivers == NULL ? NULL : absolute_paths(common->drivers);
    struct accel_context_options options = {.size = sizeof(options),
                                            .flags = common->no_cache ? ACCEL_CONTEXT_NO_CACHE : 0,
                                            .log = log_line,
                                            .log_level = common->verbose ? ACCEL_LOG_DEBUG : ACCEL_LOG_ERROR,
                                            .driver_path = drivers,
                                            .profile_path = common->profiles,
                                            .calling = watchdog_note_call,
                                            .host_path = common->host};
    struct accel_context *context = NULL;
    struct elapsed elapsed = {0};
    struct accel_error error = {0};

    *out_exit = check_paths(common, drivers);
    if (*out_exit < 0 && discover && common->host == NULL)
        *out_exit = check_driver_variables(common);
    if (*out_exit < 0 && profiled)
        *out_exit = check_profiles(common);
    if (*out_exit < 0 && accel_context_create(&options, &context, &error) == ACCEL_OK) {
        filter_begin();
        watchdog_start();
    }
    if (context != NULL && discover) {
        if (!common->verbose)
            elapsed_begin(&elapsed, "finding devices", 0);
        accel_context_discover(context, &error);
        elapsed_end(&elapsed);
    }
    if (context != NULL && error.code == ACCEL_OK && discover) {
        warn_refused(context, drivers);
        warn_refused(context, secure_getenv("ACCEL_DRIVER_PATH"));
        if (common->host == NULL)
            warn_missing();
    }
    if (error.code != ACCEL_OK) {
        *out_exit = report_error(common->json, &error);
        accel_context_free(context, NULL);
        context = NULL;
    }
    free(drivers);
    return context;
}

struct accel_context *open_context(const struct common *common, int *out_exit)
{
    return open_with(common, true, true, out_exit);
}

struct accel_context *open_to_diagnose(const struct common *common, int *out_exit)
{
    return open_with(common, true, false, out_exit);
}

struct accel_context *open_undiscovered(const struct common *common, int *out_exit)
{
    /* A folder without base.yaml is what profile lint reports; a variable is wrong for it as well. */
    return open_with(common, false, common->profiles == NULL, out_exit);
}

void close_context(struct accel_context *context)
{
    struct accel_error error = {0};

    fflush(output());
    if (accel_context_free(context, &error) != ACCEL_OK)
        report_error(0, &error);
}

void print_recording(const struct accel_context *context)
{
    const struct accel_recording *recording = accel_context_recording(context);
    char line[1200];

    if (recording == NULL)
        return;
    snprintf(line, sizeof(line), "%s%s%s", recording->path, recording->about[0] != '\0' ? ": " : "", recording->about);
    print_wrapped((uint32_t)print("recorded machine "), 2, line);
}
