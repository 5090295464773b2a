/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of a context: finds their folder and reads them before any decision. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/paths.h"
#include "core/profile/profile.h"
#include "core/registry/rank.h"

/* Finds the folder, and a remedy for a folder without profiles. */
static int32_t find_folder(const struct accel_context *context, char **out_folder, const char **out_remedy,
                           struct accel_error *error)
{
    const char *named = context->options.profile_path;
    const char *set = accel_env_get("ACCEL_PROFILE_PATH", NULL);
    if (named == NULL && set == NULL) {
        *out_remedy = "install the profiles, or set ACCEL_PROFILE_PATH to the folder that holds base.yaml";
        return accel_paths_profiles(out_folder, error);
    }
    *out_remedy = named ? "the folder of profiles must contain base.yaml"
                        : "set ACCEL_PROFILE_PATH to the folder that holds base.yaml, or unset it";
    *out_folder = strdup(named ? named : set);
    return *out_folder ? ACCEL_OK : accel_error_no_memory(error, "for the folder of profiles");
}

int32_t accel_profile_folder(const struct accel_context *context, char **out_folder, struct accel_error *error)
{
    const char *remedy;
    if (out_folder)
        *out_folder = NULL;
    if (context == NULL || out_folder == NULL)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_profile_folder needs a context and a place for the folder");
    return find_folder(context, out_folder, &remedy, error);
}

static int32_t read_models(const struct accel_context *context, const struct accel_profile_search *search,
                           accel_model_fact_function function, void *data, struct accel_error *error)
{
    char *folder = NULL;
    int32_t code;
    if (context == NULL || function == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "facts of models need a context and a function");
    code = accel_profile_folder(context, &folder, error);
    if (code == ACCEL_OK)
        code = accel_profile_models_read(folder, search, function, data, error);
    free(folder);
    return code;
}

int32_t accel_model_facts_read(const struct accel_context *context, const char *name,
                               accel_model_fact_function function, void *data, struct accel_error *error) ACCEL_NOEXCEPT
{
    return read_models(context, &(struct accel_profile_search){.name = name}, function, data, error);
}

int32_t accel_model_facts_search(const struct accel_context *context, const char *member, uint64_t number,
                                 accel_model_fact_function function, void *data,
                                 struct accel_error *error) ACCEL_NOEXCEPT
{
    return read_models(context, &(struct accel_profile_search){.member = member, .number = number}, function, data,
                       error);
}

/* Reads the profiles. A machine without profiles works: settings have built-in values. */
int32_t accel_context_profile_open(struct accel_context *context, struct accel_error *error)
{
    struct accel_error *why = &context->profile_error;
    const char *remedy;
    char *folder = NULL;
    int32_t code;
    accel_error_clear(why);
    code = find_folder(context, &folder, &remedy, why);
    if (code == ACCEL_OK)
        code = accel_profile_create(folder, &context->profile, why);
    if (code == ACCEL_E_NOT_FOUND)
        accel_error_remedy(why, "%s", remedy);
    if (code == ACCEL_OK)
        code = accel_profile_add_sites(context->profile, context->options.site_path, why);
    if (code != ACCEL_OK && code != ACCEL_E_MEMORY)
        accel_log_write(&context->log, ACCEL_LOG_WARN, "device", "profile=\"%s\" text=\"%s\"", folder ? folder : "",
                        why->text);
    free(folder);
    return code == ACCEL_E_MEMORY ? accel_error_set(error, code, "%s", why->text) : ACCEL_OK;
}

void accel_context_profile_close(struct accel_context *context)
{
    accel_profile_free(context->profile);
    context->profile = NULL;
}
