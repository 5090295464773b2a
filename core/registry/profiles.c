/* SPDX-License-Identifier: Apache-2.0 */
/* Profile files of a context, and their checks. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <accel/profile.h>

#include "core/base/error.h"
#include "core/profile/list.h"
#include "core/registry/context.h"

void accel_context_profiles_forget(struct accel_context *context)
{
    if (context->profiles)
        accel_profile_list_free(context->profiles);
    free(context->profiles);
    context->profiles = NULL;
}

int32_t accel_profile_load(struct accel_context *context, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_profile_list *list;
    char *folder = NULL;
    int32_t code;
    if (context == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_profile_load needs a context");
    code = accel_profile_folder(context, &folder, error);
    if (code != ACCEL_OK)
        return code;
    list = calloc(1, sizeof(*list));
    code = list ? accel_profile_list_read(list, folder, context->options.site_path, error)
                : accel_error_no_memory(error, "for the list of profiles");
    free(folder);
    if (code != ACCEL_OK) {
        if (list)
            accel_profile_list_free(list);
        free(list);
        return code;
    }
    accel_context_profiles_forget(context);
    context->profiles = list;
    return ACCEL_OK;
}

uint32_t accel_profile_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context && context->profiles ? context->profiles->count : 0;
}

const struct accel_profile_info *accel_profile_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    return index < accel_profile_count(context) ? &context->profiles->files[index] : NULL;
}

uint32_t accel_variable_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context && context->profiles ? context->profiles->variable_count : 0;
}

const struct accel_variable *accel_variable_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    return index < accel_variable_count(context) ? &context->profiles->variables[index] : NULL;
}

/* ---- checks ---- */

int32_t accel_profile_check(const char *path, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_error why = {0};
    uint32_t errors = 0;
    int32_t code;
    if (path == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_profile_check needs a path");
    code = accel_profile_lint_path(NULL, path, NULL, NULL, &errors, &why, error);
    return code == ACCEL_OK ? accel_error_copy(error, &why) : code;
}

static int32_t lint(const struct accel_profile_list *list, const char *path, accel_profile_finding finding, void *data,
                    uint32_t *errors, struct accel_error *error)
{
    struct accel_error why = {0};
    return accel_profile_lint_path(list, path, finding, data, errors, &why, error);
}

int32_t accel_profile_lint_file(const struct accel_context *context, const char *path, accel_profile_finding finding,
                                void *data, uint32_t *out_errors, struct accel_error *error) ACCEL_NOEXCEPT
{
    uint32_t errors = 0;
    int32_t code;
    if (path == NULL || finding == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_profile_lint_file needs a path and a function");
    code = lint(context ? context->profiles : NULL, path, finding, data, &errors, error);
    if (out_errors)
        *out_errors = errors;
    return code;
}

int32_t accel_profile_lint(const struct accel_context *context, accel_profile_finding finding, void *data,
                           uint32_t *out_errors, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_profile_list *list = context ? context->profiles : NULL;
    uint32_t errors = 0;
    int32_t code = ACCEL_OK;
    if (list == NULL || finding == NULL)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_profile_lint needs a function, and a context that has loaded its profiles");
    for (uint32_t i = 0; i < list->count && code == ACCEL_OK; i++) {
        const struct accel_profile_info *file = &list->files[i];
        /* A file that must not be read is not read for a check either. */
        if (file->code == ACCEL_E_DENIED) {
            size_t path = strlen(file->path);
            bool repeats = strncmp(file->text, file->path, path) == 0 && strncmp(file->text + path, ": ", 2) == 0;
            finding(data, ACCEL_LOG_ERROR, file->path, file->text + (repeats ? path + 2 : 0));
            errors++;
        } else {
            code = lint(list, file->path, finding, data, &errors, error);
        }
    }
    if (code == ACCEL_OK && list->variables_path)
        code = lint(list, list->variables_path, finding, data, &errors, error);
    if (out_errors)
        *out_errors = errors;
    return code;
}
