/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile lint: are files of profiles sound? */
#include "config.h"

#include "tools/accelctl/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the findings of a check go into. */
struct report {
    json_t *findings; /* NULL: they are printed */
    uint32_t errors;
    uint32_t warnings;
};

static void take_finding(void *data, uint32_t level, const char *place, const char *text)
{
    struct report *report = data;
    uint32_t is_error = level == ACCEL_LOG_ERROR;

    if (level == ACCEL_LOG_INFO) {
        if (report->findings == NULL)
            printf("  remedy: %s\n", text);
        else
            json_object_set_new(json_array_get(report->findings, json_array_size(report->findings) - 1), "remedy",
                                json_string(text));
        return;
    }

    report->errors += is_error;
    report->warnings += !is_error;
    if (report->findings != NULL) {
        json_array_append_new(report->findings, json_pack("{s:s, s:s, s:s}", "level", is_error ? "error" : "warning",
                                                          "place", place, "text", text));
        return;
    }
    /* As compilers write it, so that editors find the place. */
    printf("%s: %s%s:%s %s\n", place, paint(is_error ? PAINT_BAD : PAINT_HEADING), is_error ? "error" : "warning",
           paint(PAINT_PLAIN), text);
}

/* A name of the list stands for its file, where there is no file of that name. */
static const char *path_of(const struct accel_context *context, const char *name)
{
    char title[512];

    for (uint32_t i = 0; access(name, F_OK) != 0 && i < accel_profile_count(context); i++) {
        const struct accel_profile_info *info = accel_profile_get(context, i);

        if (strcmp(name, info->name) == 0 || strcmp(name, profile_title(info, title, sizeof title)) == 0)
            return info->path;
    }
    return name;
}

static int check(const struct accel_context *context, const struct profile_options *chosen, int count, char **arguments,
                 struct report *report)
{
    struct accel_error error = {0};
    int32_t code = ACCEL_OK;

    if (count == 0)
        code = accel_profile_lint(context, take_finding, report, NULL, &error);
    for (int i = 0; i < count && code == ACCEL_OK; i++)
        code = accel_profile_lint_file(context, path_of(context, arguments[i]), take_finding, report, NULL, &error);
    return code == ACCEL_OK ? -1 : say_error(chosen->common.json, &error);
}

static void print_sum(const struct report *report, uint32_t files)
{
    printf("%u file%s, %s%u error%s%s, %u warning%s\n", files, files == 1 ? "" : "s",
           paint(report->errors > 0 ? PAINT_BAD : PAINT_GOOD), report->errors, report->errors == 1 ? "" : "s",
           paint(PAINT_PLAIN), report->warnings, report->warnings == 1 ? "" : "s");
}

int profile_lint(const struct profile_options *chosen, int count, char **arguments)
{
    struct report report = {.findings = chosen->common.json ? json_array() : NULL};
    struct accel_context *context;
    uint32_t files;
    int code;

    context = open_profiles(&chosen->common, &code);
    if (context == NULL) {
        json_decref(report.findings);
        return code;
    }
    files = count > 0 ? (uint32_t)count : accel_profile_count(context);
    code = check(context, chosen, count, arguments, &report);
    if (code < 0) {
        code = EXIT_DONE;
        if (chosen->common.json)
            code = print_json(json_pack("{s:i, s:i, s:i, s:O}", "files", (int)files, "errors", (int)report.errors,
                                        "warnings", (int)report.warnings, "findings", report.findings),
                              "accelctl/profile-lint/1");
        else
            print_sum(&report, files);
        if (code == EXIT_DONE && (report.errors > 0 || (chosen->strict && report.warnings > 0)))
            code = EXIT_INPUT;
    }
    json_decref(report.findings);
    close_context(context);
    return code;
}
