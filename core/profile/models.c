/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of models: the facts that files of the folder models state, without resolving anything. */
#include "config.h"

#include <string.h>

#include "core/base/error.h"
#include "core/profile/folder.h"
#include "core/profile/language.h"
#include "core/profile/profile.h"

/* Of facts that a file states and one that it inherits states too, its own comes later and counts. */
static bool is_overruled(const struct accel_fact_statement *statement)
{
    for (const struct accel_fact_statement *later = statement->next; later; later = later->next)
        if (later->fact == statement->fact)
            return true;
    return false;
}

static int32_t hand_out(const struct accel_profile_file *file, accel_model_fact_function function, void *data)
{
    int32_t code = ACCEL_OK;
    for (const struct accel_fact_statement *s = file->facts; s && code == ACCEL_OK; s = s->next) {
        struct accel_model_fact fact = {sizeof(fact),  0,        file->name, s->fact->name, s->value,
                                        s->fact->unit, s->place, s->because};
        if (!is_overruled(s))
            code = function(data, &fact);
    }
    return code;
}

static int32_t read_one(const char *root, const char *name, accel_model_fact_function function, void *data,
                        struct accel_error *error)
{
    struct accel_profile_file file;
    int32_t code = accel_profile_file_read(&file, root, ACCEL_PROFILE_MODEL, name, error);
    if (code == ACCEL_OK)
        code = hand_out(&file, function, data);
    accel_profile_file_free(&file);
    return code;
}

/* All that can be used are handed out; the first that cannot is the error at the end. */
static int32_t read_all(const struct accel_profile_names *names, const char *root, accel_model_fact_function function,
                        void *data, struct accel_error *error)
{
    struct accel_error first = {0};
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < names->count && code == ACCEL_OK; i++) {
        struct accel_profile_file file;
        struct accel_error why = {0};
        if (accel_profile_file_read(&file, root, ACCEL_PROFILE_MODEL, names->names[i], &why) == ACCEL_OK)
            code = hand_out(&file, function, data);
        else if (first.code == ACCEL_OK)
            first = why;
        accel_profile_file_free(&file);
    }
    if (code != ACCEL_OK || first.code == ACCEL_OK)
        return code;
    /* Only a name that no file has is not found. */
    if (first.code == ACCEL_E_NOT_FOUND)
        first.code = ACCEL_E_CORRUPT;
    return accel_error_copy(error, &first);
}

int32_t accel_profile_models_read(const char *root, const char *name, accel_model_fact_function function, void *data,
                                  struct accel_error *error)
{
    struct accel_profile_names names;
    bool is_there = name == NULL;
    const char *near;
    int32_t code = accel_profile_names_read(root, ACCEL_PROFILE_MODEL, &names, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < names.count && !is_there; i++)
        is_there = strcmp(names.names[i], name) == 0;
    if (!is_there) {
        code = accel_error_set(error, ACCEL_E_NOT_FOUND, "%.300s has no file models/%.80s.yaml", root, name);
        near = accel_suggest(name, (const char *const *)names.names, names.count);
        if (near)
            accel_error_remedy(error, "did you mean %s?", near);
    } else {
        code = name ? read_one(root, name, function, data, error) : read_all(&names, root, function, data, error);
    }
    accel_profile_names_free(&names);
    return code;
}
