/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile lint: checks files of profiles, and the values of variables. */
#include "config.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/accelctl/driver_options.h"
#include "tools/accelctl/profile/profile.h"

/* Collects the findings of a check. */
struct report {
    json_t *findings; /* NULL: they are printed */
    uint32_t errors;
    uint32_t warnings;
    uint32_t files;
};

static void add_finding(void *data, uint32_t level, const char *place, const char *text)
{
    struct report *report = data;
    bool is_error = level == ACCEL_LOG_ERROR;

    if (level == ACCEL_LOG_INFO) {
        if (report->findings == NULL)
            print("  remedy: %s\n", text);
        else
            json_object_set_new(json_array_get(report->findings, json_array_size(report->findings) - 1), "remedy",
                                json_text(text));
        return;
    }

    report->errors += is_error;
    report->warnings += !is_error;
    if (report->findings != NULL) {
        json_add(report->findings, json_pack("{s:s, s:o, s:o}", "level", is_error ? "error" : "warning", "place",
                                             json_text(place), "text", json_text(text)));
        return;
    }
    /* Prints in the format of compilers, so that editors find the place. */
    print("%s: %s%s:%s %s\n", place, paint(is_error ? PAINT_BAD : PAINT_HEADING), is_error ? "error" : "warning",
          paint(PAINT_PLAIN), text);
}

/* Returns the path of a profile that is given by its listed name; a file of that name has priority. */
static const char *path_of(const struct profile_files *files, const char *name)
{
    char title[512];

    for (uint32_t i = 0; access(name, F_OK) != 0 && i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        if (strcmp(name, info->name) == 0 || strcmp(name, profile_title(info, title, sizeof(title))) == 0)
            return info->path;
    }
    return name;
}

static int is_yaml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

/* Counts an invalid value of a variable as an error, since it fails every plan as a file with an error does. */
static void add_variable_finding(void *data, const char *name, const char *why, const char *listing)
{
    char place[160], remedy[280];

    snprintf(place, sizeof(place), "environment %.96s", name);
    snprintf(remedy, sizeof(remedy), "unset %.96s, or set it to a value that accelctl profile %.110s lists", name,
             listing);
    add_finding(data, ACCEL_LOG_ERROR, place, why);
    add_finding(data, ACCEL_LOG_INFO, place, remedy);
}

/* Counts a variable that nothing knows as a warning: it has no effect. */
static void add_unknown(void *data, const char *name, const char *near)
{
    char place[160], text[200];

    snprintf(place, sizeof(place), "environment %.96s", name);
    snprintf(text, sizeof(text), "unknown variable without effect%s%.96s%s", near == NULL ? "" : "; did you mean ",
             near == NULL ? "" : near, near == NULL ? "" : "?");
    add_finding(data, ACCEL_LOG_WARN, place, text);
}

/* Drivers whose options files and variables may set. They are loaded for the first option that is checked. */
struct drivers {
    const struct common *common;
    struct accel_context *context;
    bool are_loaded;
};

/* Returns whether a driver of that name, the part of a key before the first dot, has options here. */
static bool has_driver(const struct accel_context *context, const char *key)
{
    struct driver_option option;

    for (uint32_t i = 0; get_driver_option(context, i, &option); i++)
        if (strncmp(option.key, key, strcspn(option.key, ".") + 1) == 0)
            return true;
    return false;
}

static bool check_option(void *data, const char *key, const char *value, char *why, size_t size)
{
    struct drivers *drivers = data;
    struct driver_option option;
    int code;

    if (!drivers->are_loaded)
        drivers->context = open_context(drivers->common, &code);
    drivers->are_loaded = true;
    if (drivers->context == NULL || !has_driver(drivers->context, key))
        return true;
    if (find_driver_option(drivers->context, key, &option))
        return check_driver_option(&option, value, why, size);
    describe_missing_option(drivers->context, key, why, size);
    return false;
}

static int check_all(const struct profile_files *files, const struct profile_options *chosen, struct report *report)
{
    struct accel_error error = {0};

    report->files += files->count;
    if (profile_lint_files(files, add_finding, report, &error) != ACCEL_OK)
        return report_error(chosen->common.json, &error);
    return -1;
}

static int check_file(const struct profile_files *files, const struct profile_options *chosen, const char *path,
                      struct report *report)
{
    struct accel_error error = {0};

    report->files++;
    if (profile_lint_file(files, path, add_finding, report, &error) != ACCEL_OK)
        return report_error(chosen->common.json, &error);
    return -1;
}

/* Checks one of the layers of a folder of profiles. */
static int check_layer(const struct profile_files *files, const struct profile_options *chosen, const char *folder,
                       struct report *report)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_yaml, alphasort), code = -1;

    for (int i = 0; i < count; i++) {
        char path[4096];

        if (code < 0 && snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < (int)sizeof(path))
            code = check_file(files, chosen, path, report);
        free(entries[i]);
    }
    free(entries);
    return code;
}

/* Checks a folder as --profiles FOLDER would. */
static int check_folder(const struct profile_files *files, const struct profile_options *chosen, char *folder,
                        struct report *report)
{
    struct common common = chosen->common;
    struct profile_files own;
    size_t length = strlen(folder);
    const char *leaf;
    int code;

    while (length > 1 && folder[length - 1] == '/')
        folder[--length] = '\0';
    leaf = strrchr(folder, '/') != NULL ? strrchr(folder, '/') + 1 : folder;
    if (strcmp(leaf, "clients") == 0 || strcmp(leaf, "devices") == 0 || strcmp(leaf, "models") == 0)
        return check_layer(files, chosen, folder, report);
    common.profiles = folder;
    code = open_profiles(&common, &own);
    if (code >= 0)
        return code;
    own.check_option = files->check_option;
    own.check_data = files->check_data;
    code = check_all(&own, chosen, report);
    profile_files_free(&own);
    return code;
}

static int check(const struct profile_files *files, const struct profile_options *chosen, int count, char **arguments,
                 struct report *report)
{
    int code = count == 0 ? check_all(files, chosen, report) : -1;

    if (count == 0 && code < 0) {
        profile_env_errors(files, add_variable_finding, report);
        profile_unknown_variables(files, add_unknown, report);
    }
    for (int i = 0; i < count && code < 0; i++) {
        struct stat status;

        if (stat(arguments[i], &status) == 0 && S_ISDIR(status.st_mode))
            code = check_folder(files, chosen, arguments[i], report);
        else
            code = check_file(files, chosen, path_of(files, arguments[i]), report);
    }
    return code;
}

static void print_sum(const struct report *report)
{
    print("%u file%s, %s%u error%s%s, %u warning%s\n", report->files, report->files == 1 ? "" : "s",
          paint(report->errors > 0 ? PAINT_BAD : PAINT_GOOD), report->errors, report->errors == 1 ? "" : "s",
          paint(PAINT_PLAIN), report->warnings, report->warnings == 1 ? "" : "s");
}

int profile_lint(const struct profile_options *chosen, int count, char **arguments)
{
    struct report report = {.findings = chosen->common.json ? json_array() : NULL};
    struct drivers drivers = {.common = &chosen->common};
    struct profile_files files;
    int code;

    code = open_profiles(&chosen->common, &files);
    if (code >= 0) {
        json_decref(report.findings);
        return code;
    }
    files.check_option = check_option;
    files.check_data = &drivers;
    code = check(&files, chosen, count, arguments, &report);
    if (code < 0) {
        code = EXIT_DONE;
        if (chosen->common.json)
            code = print_json(json_pack("{s:s, s:i, s:i, s:i, s:O}", "origin", "file: the findings", "files",
                                        (int)report.files, "errors", (int)report.errors, "warnings",
                                        (int)report.warnings, "findings", report.findings),
                              "accelctl/profile-lint/1");
        else
            print_sum(&report);
        if (code == EXIT_DONE && (report.errors > 0 || (chosen->strict && report.warnings > 0)))
            code = EXIT_INPUT;
    }
    json_decref(report.findings);
    profile_files_free(&files);
    if (drivers.context != NULL)
        close_context(drivers.context);
    return code;
}
